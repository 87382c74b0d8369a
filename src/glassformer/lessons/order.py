"""Order. Attention alone is blind to it; sinusoids, rotation and the causal mask bring it in."""

from ..sheet import Sheet
from .lesson import (
    Chart,
    Facts,
    Formula,
    Heading,
    Lesson,
    Line,
    Matrices,
    Mistake,
    Preset,
    Presets,
    Prose,
    Question,
    Shown,
    Slider,
    Text,
    Transfer,
)

SWAPPED = {"order": [[2], [1], [0]]}
SHIFTED = {"shift": [[5]]}

SHEET = Sheet()
SHEET.const("order", SWAPPED["order"])
SHEET.const("X", [[1, 0, 0.5, 0], [0, 1, 0, 0.5], [0, 0.5, 1, -0.5]])
SHEET.const("W_Q", [[1, 0, 0, 1], [0, 1, 1, 0], [1, 0, -1, 0], [0, 1, 0, 1]])
SHEET.const("W_K", [[0, 1, 1, 0], [1, 0, 0, 1], [1, 1, 0, 0], [0, 0, 1, -1]])
SHEET.const("W_V", [[2, 0], [0, 2], [-1, 1], [1, 0]])
SHEET.const("allowed", [[1, 0, 0], [1, 1, 0], [1, 1, 1]])
SHEET.const("base", 10000)
SHEET.const("shift", 0)
SHEET.const("pos", 5)
SHEET.const("delta", 3)

SHEET.const("zero", 0)
SHEET.const("one", 1)
SHEET.const("two", 2)
SHEET.const("tiny", 1e-9)
SHEET.log("log_base", "base")
SHEET.range("place", 3)
SHEET.add("place_shifted", "place", "shift")


# The frequency of each column, for every width in use. J turns each pair by a quarter: (x, y) J = (-y, x).
for d in (4, 8, 32):
    SHEET.const(f"pair_{d}", [[j // 2 for j in range(d)]])
    SHEET.const(f"even_{d}", [[1 - j % 2 for j in range(d)]])
    SHEET.const(f"odd_{d}", [[j % 2 for j in range(d)]])
    SHEET.const(f"rate_{d}", -2 / d)
    SHEET.mul(f"log_rate_{d}", f"rate_{d}", "log_base")
    SHEET.mul(f"log_omega_{d}", f"log_rate_{d}", f"pair_{d}")
    SHEET.exp(f"omega_{d}", f"log_omega_{d}")
    SHEET.const(
        f"J_{d}", [[(j == i + 1 and j % 2) - (j == i - 1 and i % 2) for j in range(d)] for i in range(d)]
    )


def _waves(name: str, positions: str, d: int) -> None:
    """cos and sin of position times frequency: a row for each position, a column for each of d."""
    SHEET.mul(f"angle_{name}", positions, f"omega_{d}")
    SHEET.sin(f"sin_{name}", f"angle_{name}")
    SHEET.cos(f"cos_{name}", f"angle_{name}")


def _sinusoids(name: str, positions: str, d: int) -> None:
    _waves(name, positions, d)
    SHEET.mul(f"sines_{name}", f"sin_{name}", f"even_{d}")
    SHEET.mul(f"cosines_{name}", f"cos_{name}", f"odd_{d}")
    SHEET.add(name, f"sines_{name}", f"cosines_{name}")


def _turned(name: str, x: str, waves: str, d: int) -> None:
    """Rotary positions: rows of x turned by the angles of `waves`."""
    SHEET.matmul(f"quarter_{name}", x, f"J_{d}")
    SHEET.mul(f"along_{name}", x, f"cos_{waves}")
    SHEET.mul(f"across_{name}", f"quarter_{name}", f"sin_{waves}")
    SHEET.add(name, f"along_{name}", f"across_{name}")


def _attention(end: str, x: str, *, turn: str = "", masked: bool = False) -> None:
    """Attention of x: from Q to O, each name with this end. `turn` are the waves that rotate Q and K."""
    for part in "QKV":
        SHEET.matmul(f"{part}{end}", x, f"W_{part}")
    q, k = f"Q{end}", f"K{end}"
    if turn:
        _turned(f"Q_turned{end}", q, turn, 4)
        _turned(f"K_turned{end}", k, turn, 4)
        q, k = f"Q_turned{end}", f"K_turned{end}"
    SHEET.transpose(f"K_T{end}", k)
    SHEET.matmul(f"QK{end}", q, f"K_T{end}")
    SHEET.div(f"S{end}", f"QK{end}", "two")  # √d_k for d_k = 4
    if masked:
        SHEET.mask(f"M{end}", f"S{end}", "allowed")
    SHEET.softmax(f"A{end}", f"M{end}" if masked else f"S{end}")
    SHEET.matmul(f"O{end}", f"A{end}", f"V{end}")


def _largest(name: str, x: str) -> None:
    """The largest absolute value."""
    SHEET.mul(f"{name}_squares", x, x)
    SHEET.max(f"{name}_square", f"{name}_squares", over="all")
    SHEET.sqrt(name, f"{name}_square")


def _compare(kind: str) -> None:
    """Shuffle after attention, P·O, and before it, O_P: how they differ, and whether they do."""
    SHEET.matmul(f"PO{kind}", "P", f"O{kind}")
    SHEET.sub(f"difference{kind}", f"O_P{kind}", f"PO{kind}")
    _largest(f"gap{kind}", f"difference{kind}")
    SHEET.less(f"follows{kind}", f"gap{kind}", "tiny")


# (a) Shuffled before and after.
SHEET.onehot("P", "order", 3)
SHEET.matmul("PX", "P", "X")
_attention("", "X")
_attention("_P", "PX")
_compare("")
SHEET.sum("total", "O", over="rows")
SHEET.sum("total_P", "O_P", over="rows")

_sinusoids("PE_3", "place", 4)
SHEET.add("X_added", "X", "PE_3")
SHEET.add("PX_added", "PX", "PE_3")
_attention("_added", "X_added")
_attention("_P_added", "PX_added")
_compare("_added")

_attention("_causal", "X", masked=True)
_attention("_P_causal", "PX", masked=True)
_compare("_causal")

_attention("_rotary", "X", turn="PE_3")
_attention("_P_rotary", "PX", turn="PE_3")
_compare("_rotary")

# Without positions: 0 the rows stay where they were, 1 they follow their tokens, 2 neither.
SHEET.sub("moved", "O_P", "O")
_largest("moved_most", "moved")
SHEET.less("stays", "moved_most", "tiny")
SHEET.sub("leaves", "one", "stays")
SHEET.sub("neither", "two", "follows")
SHEET.mul("outcome", "leaves", "neither")
SHEET.slice("first", "order", rows=(0, 1))
SHEET.add("first_row", "first", "one")

# (b) The table: as numbers, 8 wide; as a picture, 32 wide, with the products of its rows.
SHEET.range("positions", 8)
_sinusoids("PE", "positions", 8)
SHEET.range("many", 32)
_sinusoids("PE_wide", "many", 32)
SHEET.transpose("PE_wide_T", "PE_wide")
SHEET.matmul("products", "PE_wide", "PE_wide_T")

# (c) A step by delta is a rotation, the same from every position.
SHEET.const("I_8", [[int(i == j) for j in range(8)] for i in range(8)])
SHEET.add("pos_after", "pos", "delta")
_sinusoids("here", "pos", 8)
_sinusoids("there", "pos_after", 8)
_waves("step", "delta", 8)
SHEET.mul("R_along", "I_8", "cos_step")
SHEET.mul("R_across", "J_8", "sin_step")
SHEET.sub("R", "R_along", "R_across")
SHEET.matmul("here_R", "here", "R")
SHEET.sub("miss", "here_R", "there")
_largest("error", "miss")
SHEET.transpose("there_T", "there")
SHEET.matmul("product", "here", "there_T")
SHEET.transpose("here_T", "here")
SHEET.matmul("own_product", "here", "here_T")
SHEET.const("eight", 8)

SHEET.range("distance", 64)
SHEET.add("pos_onward", "pos", "distance")
_sinusoids("onward", "pos_onward", 8)
SHEET.matmul("product_by_distance", "onward", "here_T")
_waves("formula", "distance", 8)
SHEET.sum("formula_sum", "cos_formula")
SHEET.div("formula_by_distance", "formula_sum", "two")  # each frequency stands in two columns

# (d) All positions shifted by the same number, rotary beside added.
_waves("shifted", "place_shifted", 4)
_attention("_rotary_shifted", "X", turn="shifted")
SHEET.sub("change_rotary", "S_rotary_shifted", "S_rotary")
_sinusoids("PE_3_shifted", "place_shifted", 4)
SHEET.add("X_added_shifted", "X", "PE_3_shifted")
_attention("_added_shifted", "X_added_shifted")
SHEET.sub("change_added", "S_added_shifted", "S_added")
_largest("change_rotary_most", "change_rotary")
_largest("change_added_most", "change_added")
SHEET.sub("change_V_rotary", "V_rotary", "V")
SHEET.sub("change_V_added", "V_added", "V")

# The score of the first query and the last key, by how far behind the query the key stands.
SHEET.slice("q", "Q", rows=(0, 1))
SHEET.slice("k", "K", rows=(2, 3))
_waves("q_place", "shift", 4)
SHEET.range("behind", 48)
SHEET.add("k_places", "shift", "behind")
_waves("k_places_w", "k_places", 4)
_turned("q_here", "q", "q_place", 4)
_turned("k_anywhere", "k", "k_places_w", 4)
SHEET.transpose("q_here_T", "q_here")
SHEET.matmul("qk_by_distance", "k_anywhere", "q_here_T")
SHEET.div("score_by_distance", "qk_by_distance", "two")

LESSON = Lesson(
    slug="order",
    title=Text("词序从哪里来", "Where order comes from"),
    insight=Text(
        "没有位置、没有掩码的注意力分不清词序：打乱输入，输出的各行只是跟着换位置；位置编码和因果掩码各自打"
        "破这一点。",
        "Attention without positions or a mask is blind to order: shuffle its input, and its output rows "
        "are shuffled alike. Positions break that, and so does a causal mask.",
    ),
    question=Text(
        "“猫追狗”和“狗追猫”用的是同样三个词。注意力怎么知道谁在追谁？",
        "“Cat chases dog” and “dog chases cat” are the same three words. How does attention know who chases "
        "whom?",
    ),
    sheet=SHEET,
    axes={
        "tokens": (Text("猫", "cat"), Text("追", "chases"), Text("狗", "dog")),
        "places": (Text("第 1 位", "1st"), Text("第 2 位", "2nd"), Text("第 3 位", "3rd")),
        "width_2": ("0", "1"),
        "width_4": ("0", "1", "2", "3"),
        "width_8": tuple(f"{j} {('sin', 'cos')[j % 2]}" for j in range(8)),
        "positions": tuple(str(i) for i in range(8)),
    },
    predict=(
        Question(
            key="shuffle",
            ask=Text(
                "没有位置，也没有掩码。把“猫追狗”换成“狗追猫”，注意力输出的三行会怎样？",
                "There are no positions and no mask. “Cat chases dog” becomes “dog chases cat”. What "
                "becomes of the three rows that attention puts out?",
            ),
            answer=("outcome", 0, 0),
            under=SWAPPED,
            options=(
                (Text("每个位置上的行都不变", "the row at each place stays as it was"), 0.0),
                (Text("还是这三行，各自跟着自己的词走", "the same rows, each moves with its token"), 1.0),
                (Text("三行都变成新的数", "all three become other numbers"), 2.0),
            ),
            mistakes=(
                Mistake(
                    ("zero", 0, 0),
                    Text(
                        "第 1 位现在是“狗”，它的查询是狗的查询。不变的是每个**词**的那一行，"
                        "不是每个位置的那一行。",
                        "In 1st place now stands the dog, with the dog's query. What stays is the row of "
                        "each **token**, not of each place.",
                    ),
                ),
                Mistake(
                    ("two", 0, 0),
                    Text(
                        "每个词看到的还是同样三个词，分数一样，权重一样，混出来的也一样。",
                        "Each token still sees the same three tokens: the same scores, weights and mixture.",
                    ),
                ),
            ),
            why=Text(
                "一个词的输出是对所有词的加权和，而求和不管先后。所以“猫”的那一行还是那一行，只是换了地方。",
                "A token's output is a weighted sum over all tokens, and a sum does not ask for order. So "
                "the row of “cat” is the same row, in another place.",
            ),
        ),
        Question(
            key="causal",
            ask=Text(
                "还是没有位置，但加上因果掩码：每个词只看自己和前面的词。同样打乱，各行还会原样跟着词走吗？",
                "Still no positions, but a causal mask: each token sees itself and those before. Shuffled "
                "in the same way, do the rows still move with their tokens unchanged?",
            ),
            answer=("follows_causal", 0, 0),
            under=SWAPPED,
            options=((Text("会", "yes"), 1.0), (Text("不会", "no"), 0.0)),
            mistakes=(
                Mistake(
                    ("one", 0, 0),
                    Text(
                        "没有位置，可是有掩码：换了地方，看得见的词就变了。",
                        "There are no positions, but there is a mask: in another place, a token sees other "
                        "tokens.",
                    ),
                ),
            ),
            why=Text(
                "“猫”在第 1 位时只看得见自己，到了第 3 位就看得见三个词。看见的不同，输出就不同。",
                "In 1st place “cat” sees itself alone, in 3rd place all three tokens. It sees other tokens, "
                "so its output is another.",
            ),
        ),
    ),
    body=(
        Heading(Text("打乱词序", "Shuffle the words")),
        Prose(
            Text(
                "$X$ 的每一行是一个词，里面没有任何位置信息。$P$ 是置换矩阵，每行一个 1，"
                "说明哪个词站在这一位：$PX$ 就是打乱后的句子。\n\n"
                "比较两件事：先打乱再做注意力，和先做注意力再打乱。",
                "Each row of $X$ is a token and holds nothing about its place. $P$ is a permutation: the 1 "
                "in each row says which token stands there, and $PX$ is the shuffled sentence.\n\n"
                "Compare two things: shuffling before attention, and shuffling after it.",
            )
        ),
        Formula(r"D = \text{Attention}(PX) - P \cdot \text{Attention}(X)"),
        Presets(
            Text("词序", "Order"),
            (
                Preset("swapped", Text("狗追猫", "dog chases cat"), SWAPPED),
                Preset("verb", Text("追猫狗", "chases cat dog"), {"order": [[1], [0], [2]]}),
                Preset(
                    "same", Text("猫追狗（不打乱）", "cat chases dog (as it was)"), {"order": [[0], [1], [2]]}
                ),
            ),
        ),
        Matrices(
            (
                Shown("X", "X", "tokens", "width_4", decimals=1),
                Shown("P", "P", "places", "tokens", "weights", 0),
                Shown("PX", "PX", "places", "width_4", decimals=1),
            ),
            Text("句子", "The sentence"),
        ),
        Matrices(
            (
                Shown("W_Q", "W^Q", decimals=0),
                Shown("W_K", "W^K", decimals=0),
                Shown("W_V", "W^V", decimals=0),
            ),
            Text("投影，两边用的是同一套", "The projections, the same for both"),
        ),
        Matrices(
            (
                Shown("A", "A(X)", "tokens", "tokens", "weights"),
                Shown("A_P", "A(PX)", "places", "places", "weights"),
            ),
            Text("权重：行和列跟着换了次序", "Weights: rows and columns are shuffled alike"),
        ),
        Matrices(
            (
                Shown("O", r"\text{Attention}(X)", "tokens", "width_2", decimals=4),
                Shown("PO", r"P \cdot \text{Attention}(X)", "places", "width_2", decimals=4),
                Shown("O_P", r"\text{Attention}(PX)", "places", "width_2", decimals=4),
                Shown(
                    "difference",
                    "D",
                    "places",
                    "width_2",
                    "scores",
                    4,
                ),
            ),
            Text("没有位置，没有掩码：$D = 0$", "No positions, no mask: $D = 0$"),
        ),
        Prose(
            Text(
                "改投影、改 $X$ 都一样，$D$ 总是 0（至多剩下 $10^{-16}$ 上下的舍入误差），也就是 "
                "$\\text{Attention}(PX) = P · \\text{Attention}(X)$。这叫**置换等变**。"
                "它不等于“两句话的输出一模一样”：各行跟着自己的词换了位置。但除此之外什么也没变，"
                "所以凡是不管次序的用法，比如把各行加起来，都分不出这两句话。",
                "Change the projections or $X$ as you like: $D$ is 0, but for rounding near $10^{-16}$, so "
                "$\\text{Attention}(PX) = P · \\text{Attention}(X)$. Attention is "
                "**permutation-equivariant**. That does not mean that both sentences give identical "
                "outputs: each row has moved with its token. But nothing else has happened, so whatever "
                "uses the rows regardless of order, their sum for one, cannot tell the sentences apart.",
            )
        ),
        Matrices(
            (
                Shown("total", r"\sum_i \text{Attention}(X)_i", columns="width_2", decimals=4),
                Shown("total_P", r"\sum_i \text{Attention}(PX)_i", columns="width_2", decimals=4),
            ),
            Text("各行之和", "The sums of the rows"),
        ),
        Heading(Text("两种打破它的办法", "Two things that break it")),
        Prose(
            Text(
                "**加上位置**：第 $i$ 位的词加上只属于这一位的向量 $PE_i$，词换了位置，"
                "加上的就是另一个向量。**因果掩码**：第 $i$ 位只看前 $i$ 位，词换了位置，"
                "看见的就是另一些词。两种情形下，打乱之后，$D$ 一般就不再是 0。",
                "**Positions added**: the token in place $i$ gets a vector $PE_i$ that belongs to this "
                "place. In another place, it gets another one. **A causal mask**: place $i$ sees the first "
                "$i$ places. In another place, a token sees other tokens. Either way, in another order $D$ "
                "is no longer 0 in general.",
            )
        ),
        Matrices(
            (
                Shown("PO_added", r"P \cdot \text{Attention}(X + PE)", "places", "width_2", decimals=4),
                Shown("O_P_added", r"\text{Attention}(PX + PE)", "places", "width_2", decimals=4),
                Shown("difference_added", "D", "places", "width_2", "scores", 4),
            ),
            Text("加上位置", "Positions added"),
        ),
        Matrices(
            (
                Shown(
                    "PO_causal",
                    r"P \cdot \text{Attention}_{\text{causal}}(X)",
                    "places",
                    "width_2",
                    decimals=4,
                ),
                Shown("O_P_causal", r"\text{Attention}_{\text{causal}}(PX)", "places", "width_2", decimals=4),
                Shown("difference_causal", "D", "places", "width_2", "scores", 4),
            ),
            Text("因果掩码，没有位置", "A causal mask, no positions"),
        ),
        Facts(
            (
                (Text("没有位置，没有掩码", "no positions, no mask"), ("gap", 0, 0), 6),
                (Text("加上位置", "positions added"), ("gap_added", 0, 0), 6),
                (Text("因果掩码", "causal mask"), ("gap_causal", 0, 0), 6),
            ),
            Text("$D$ 的最大绝对值", "The largest absolute value of $D$"),
        ),
        Heading(Text("正弦位置编码", "Sinusoidal positions")),
        Prose(
            Text(
                "2017 年的做法：每个位置一个固定的向量，由正弦和余弦组成。第 $2i$ 和 $2i+1$ 两维是一对，"
                "共用一个频率 $ω_i$：一个取正弦，一个取余弦。像钟的指针，有的转得快，有的转得慢。\n\n"
                "$d = 8$ 时有四对，第一对每走一位转 1 弧度，最后一对只转 0.001 弧度。",
                "As done in 2017, each position has a fixed vector of sines and cosines. Dimensions $2i$ "
                "and $2i+1$ are a pair and share one frequency $ω_i$: a sine and a cosine of the same "
                "angle. They are like the hands of a clock, some quick and some slow.\n\n"
                "For $d = 8$ there are four pairs. The first turns by 1 radian at each position, the last "
                "by 0.001.",
            )
        ),
        Formula(
            r"PE_{pos,2i} = \sin(pos\,\omega_i) \qquad PE_{pos,2i+1} = \cos(pos\,\omega_i)"
            r" \qquad \omega_i = 10000^{-2i/d}"
        ),
        Matrices(
            (
                Shown("omega_8", r"\omega", columns="width_8", decimals=3),
                Shown("PE", "PE", "positions", "width_8", "scores"),
            ),
            Text("$d = 8$，位置 0 到 7", "$d = 8$, positions 0 to 7"),
        ),
        Matrices(
            (
                Shown(
                    "PE_wide",
                    "PE",
                    kind="scores",
                    small=True,
                    note=Text(
                        "一行一个位置，一列一维。左边变得快，右边变得慢。",
                        "A row for each position, a column for each dimension: quick on the left, slow on "
                        "the right.",
                    ),
                ),
                Shown(
                    "products",
                    r"PE \cdot PE^\top",
                    kind="scores",
                    small=True,
                    note=Text(
                        "每两个位置的点积。每条斜线上颜色相同：只跟相隔多远有关。",
                        "The products of every two positions. Along each diagonal the colour is the same: "
                        "only the distance counts.",
                    ),
                ),
            ),
            Text("$d = 32$，位置 0 到 31", "$d = 32$, positions 0 to 31"),
        ),
        Heading(Text("往后走 Δ 位，就是转一个角度", "A step by Δ is a rotation")),
        Prose(
            Text(
                "由两角和公式，$PE_{pos+Δ}$ 等于 $PE_{pos}$ 乘以一个矩阵 $R_Δ$：每一对自己转 $Δω_i$，"
                "互不相干，所以 $R_Δ$ 的对角线上是一个个 2 × 2 的小块，其余全是 0。\n\n"
                "拉动两个滑块：$R_Δ$ 只跟着 $Δ$ 变，$pos$ 与它无关。",
                "By the angle sum formulas, $PE_{pos+Δ}$ is $PE_{pos}$ times a matrix $R_Δ$. Each pair "
                "turns by its own $Δω_i$ and leaves the others alone, so $R_Δ$ has 2 × 2 blocks along its "
                "diagonal and 0 elsewhere.\n\n"
                "Move both sliders: $R_Δ$ changes with $Δ$ only and has nothing to do with $pos$.",
            )
        ),
        Formula(
            r"(\sin a, \cos a)"
            r" \begin{pmatrix} \cos\delta & -\sin\delta \\ \sin\delta & \cos\delta \end{pmatrix}"
            r" = (\sin(a + \delta), \cos(a + \delta))"
        ),
        Slider("pos", Text("位置 $pos$", "position $pos$"), 0, 60),
        Slider("delta", Text("步长 $Δ$", "step $Δ$"), 0, 40),
        Matrices((Shown("R", r"R_\Delta", "width_8", "width_8", "scores"),)),
        Matrices(
            (
                Shown("here", r"PE_{pos}", columns="width_8", kind="scores", decimals=4),
                Shown("here_R", r"PE_{pos} R_\Delta", columns="width_8", kind="scores", decimals=4),
                Shown("there", r"PE_{pos+\Delta}", columns="width_8", kind="scores", decimals=4),
            ),
            Text("乘出来的，和表里的", "As multiplied, and as in the table"),
        ),
        Facts(
            (
                (Text("两者之差的最大绝对值", "largest absolute difference of the two"), ("error", 0, 0), 12),
                (Text("$PE_{pos} · PE_{pos+Δ}$", "$PE_{pos} · PE_{pos+Δ}$"), ("product", 0, 0), 6),
            ),
        ),
        Prose(
            Text(
                "所以点积也只跟 $Δ$ 有关：每一对贡献 $\\cos(Δω_i)$。移动 $pos$，下面的曲线一动不动。",
                "So the product depends on $Δ$ alone as well: each pair gives $\\cos(Δω_i)$. Move $pos$, "
                "and the curve below stands still.",
            )
        ),
        Chart(
            Text("$PE_{pos} · PE_{pos+Δ}$", "$PE_{pos} · PE_{pos+Δ}$"),
            x="distance",
            x_label=Text("$Δ$", "$Δ$"),
            y_label=Text("点积", "product"),
            lines=(
                Line("product_by_distance", Text("由表算出", "from the table")),
                Line("formula_by_distance", Text("$\\sum_i \\cos(Δω_i)$", "$\\sum_i \\cos(Δω_i)$")),
            ),
            marks=(("delta", "product"),),
        ),
        Heading(Text("RoPE：转动查询和键", "RoPE: turn queries and keys")),
        Prose(
            Text(
                "既然移位就是旋转，不如直接转：旋转位置编码（RoPE）不往词向量上加任何东西，而是把第 $m$ "
                "位的查询和第 $n$ 位的键，一对一对地各转 $mω_i$ 和 $nω_i$。写成矩阵，就是右乘 $U_m$ 和 "
                "$U_n$。两个一起多转同样的角度，点积不变，所以分数里剩下的只有 $n - m$。",
                "If a shift is a rotation, why not rotate. Rotary positions (RoPE) add nothing to the "
                "embeddings. They turn the query in place $m$ and the key in place $n$, pair by pair, by "
                "$mω_i$ and $nω_i$; as matrices, $U_m$ and $U_n$. Turning both further by the same angle "
                "leaves their product alone, so all that remains in a score is $n - m$.",
            )
        ),
        Formula(r"(q U_m)(k U_n)^\top = q U_m U_n^\top k^\top = q U_{m-n} k^\top"),
        Slider("shift", Text("三个词一起往后挪几位", "Shift all three tokens by"), 0, 50),
        Matrices(
            (
                Shown("Q", "Q", "tokens", "width_4"),
                Shown("Q_turned_rotary_shifted", r"\tilde{Q}", "tokens", "width_4"),
                Shown("K", "K", "tokens", "width_4"),
                Shown("K_turned_rotary_shifted", r"\tilde{K}", "tokens", "width_4"),
            ),
            Text("$Q$ 和 $K$，转动之前和之后", "$Q$ and $K$ before and after they are turned"),
        ),
        Matrices(
            (
                Shown(
                    "S_rotary_shifted",
                    r"S = \tilde{Q}\tilde{K}^\top/\sqrt{d_k}",
                    "tokens",
                    "tokens",
                    "scores",
                    4,
                ),
                Shown("A_rotary_shifted", "A", "tokens", "tokens", "weights", 4),
                Shown("O_rotary_shifted", "O", "tokens", "width_2", decimals=4),
            ),
            Text("RoPE 的注意力：不随挪动而变", "Attention with RoPE: shifting does not change it"),
        ),
        Matrices(
            (
                Shown(
                    "change_rotary", r"\Delta S", "tokens", "tokens", "scores", 4, note=Text("RoPE", "RoPE")
                ),
                Shown(
                    "change_added",
                    r"\Delta S",
                    "tokens",
                    "tokens",
                    "scores",
                    4,
                    note=Text("加上正弦编码", "sinusoids added"),
                ),
            ),
            Text("挪动之后，分数变了多少", "By how much shifting changes the scores"),
        ),
        Prose(
            Text(
                "加法就没有这个保证。$PE$ 自己的点积只看距离，但它先加到词上，又经过 $W^Q$ 和 $W^K$，"
                "分数里于是混进了绝对位置。加法还会进到值里：$V = (X + PE)W^V$；RoPE 不碰 $V$。\n\n"
                "RoPE 同样打破置换等变，因为打乱词序就改变了谁在谁前面多远。按上面选的词序，$D$ "
                "的最大绝对值是 «gap_rotary[0,0]:4»。",
                "Adding gives no such guarantee. Products of $PE$ with itself know distances only, but here "
                "$PE$ is added to tokens and then goes through $W^Q$ and $W^K$, and absolute positions get "
                "into the scores. It also gets into the values, $V = (X + PE)W^V$, while RoPE leaves $V$ "
                "alone.\n\n"
                "RoPE breaks permutation equivariance too, for shuffling changes who stands how far ahead "
                "of whom. In the order chosen above, the largest absolute value of $D$ is "
                "«gap_rotary[0,0]:4».",
            )
        ),
        Chart(
            Text("“猫”对“狗”的分数，RoPE", "Score of “cat” for “dog” with RoPE"),
            x="behind",
            x_label=Text("“狗”在“猫”后面几位", "places from “cat” on to “dog”"),
            y_label=Text("分数", "score"),
            lines=(Line("score_by_distance", Text("$q · k / \\sqrt{d_k}$", "$q · k / \\sqrt{d_k}$")),),
        ),
    ),
    check=(
        Question(
            key="row",
            ask=Text(
                "没有位置，没有掩码。按现在选的词序，$\\text{Attention}(PX)$ 的第 1 行等于 "
                "$\\text{Attention}(X)$ 的第几行？",
                "No positions, no mask. In the order chosen above, which row of $\\text{Attention}(X)$ is "
                "the first of $\\text{Attention}(PX)$?",
            ),
            answer=("first_row", 0, 0),
            options=(
                (Text("第 1 行（猫）", "the 1st (cat)"), 1.0),
                (Text("第 2 行（追）", "the 2nd (chases)"), 2.0),
                (Text("第 3 行（狗）", "the 3rd (dog)"), 3.0),
            ),
            mistakes=(
                Mistake(
                    ("one", 0, 0),
                    Text(
                        "那是打乱之前的第 1 位。打乱之后站在第 1 位的，是另一个词。",
                        "That token was first before the shuffle. Another stands in 1st place now.",
                    ),
                ),
                Mistake(
                    ("two", 0, 0),
                    Text(
                        "看 $P$ 的第 1 行：1 在哪一列？",
                        "See the first row of $P$: in which column is its 1?",
                    ),
                ),
            ),
            why=Text(
                "看 $P$ 的第 1 行：1 在哪一列，站在第 1 位的就是哪个词，输出也就是那个词的那一行。",
                "See the first row of $P$: the column of its 1 is the token in 1st place, and the output "
                "there is that token's row.",
            ),
        ),
        Question(
            key="own",
            ask=Text(
                "$d = 8$，任取一个位置，$PE_{pos} · PE_{pos}$ 是多少？",
                "For $d = 8$ and any position, what is $PE_{pos} · PE_{pos}$?",
            ),
            answer=("own_product", 0, 0),
            mistakes=(
                Mistake(
                    ("eight", 0, 0),
                    Text(
                        "8 维是 4 对。每一对合起来才是 $\\sin^2 + \\cos^2 = 1$。",
                        "8 dimensions are 4 pairs, and it takes a pair to make $\\sin^2 + \\cos^2 = 1$.",
                    ),
                ),
                Mistake(
                    ("one", 0, 0),
                    Text(
                        "这是一对的贡献。$d = 8$ 时有 4 对。",
                        "That is what one pair gives. For $d = 8$ there are 4.",
                    ),
                ),
            ),
            why=Text(
                "每一对给出 $\\sin^2 + \\cos^2 = 1$，共 $d/2$ 对，得 «own_product[0,0]:0»。"
                "所有位置的编码一样长。",
                "Each pair gives $\\sin^2 + \\cos^2 = 1$, and there are $d/2$ of them: "
                "«own_product[0,0]:0». All positions have vectors of the same length.",
            ),
        ),
        Question(
            key="shift",
            ask=Text(
                "用 RoPE，三个词都在原位时，“猫”对“狗”的分数是 «S_rotary[0,2]:2»。三个词一起往后挪 5 位，"
                "它变成多少？",
                "With RoPE and all tokens in their first places, the score of “cat” for “dog” is "
                "«S_rotary[0,2]:2». All three move 5 places on. What is it then?",
            ),
            answer=("S_rotary_shifted", 0, 2),
            under=SHIFTED,
            mistakes=(
                Mistake(
                    ("S_added_shifted", 0, 2),
                    Text(
                        "这是把正弦编码加到词上时的分数。RoPE 不加，只转。",
                        "That is the score with sinusoids added. RoPE adds nothing, it turns.",
                    ),
                ),
            ),
            why=Text(
                "“猫”和“狗”还是相隔 2 位，查询和键多转的角度相同，点积不变。",
                "“Cat” and “dog” are still 2 places apart. Query and key turn by the same angle more, and "
                "their product stays.",
            ),
        ),
    ),
    boundary=Text(
        "正弦编码和旋转对任何整数位置都**算得出来**，第十万位也行。但算得出来，不等于模型在那里**管用**：训"
        "练时没有见过的位置和距离，模型会怎么应对，公式说了不算，只能去量。\n\n"
        "另外，“点积只看距离”说的是 $PE$ 自己和 RoPE 的分数。训练好的模型拿它做什么，这一页没有说。\n\n"
        "还有两种常用的办法，这一页没有算：**学出来的位置表**，每个位置一行参数，超出表的长度就没有数可用；"
        "**相对偏置**（T5），按两个词相隔多远，给分数加上一个学出来的数。",
        "Sinusoids and rotations can be **computed** for any position, the hundred-thousandth as well. That "
        "does not mean that a model **works** there. What it does with positions and distances it never met "
        "in training is for no formula to say; it has to be measured.\n\n"
        "And “distance alone” holds for products of $PE$ with itself and for scores under RoPE. What a "
        "trained model makes of them, this page does not say.\n\n"
        "Two more ways are in use and not computed here. A **learned table** has a row of parameters for "
        "each position, and nothing past its end. A **relative bias** (T5) adds a learned number to each "
        "score, by how far apart the two tokens are.",
    ),
    transfer=Transfer(
        Text(
            "一个只有因果掩码、没有任何位置编码的语言模型，有没有可能分辨词序？去掉掩码呢？",
            "A language model has a causal mask and no positions of any kind. Can it tell orders apart at "
            "all? And without the mask?",
        ),
        Text(
            "有可能。因果掩码让第 $t$ 位只看前 $t$ 位，换一种次序，看见的词就变了，输出也就不同，"
            "这一页的差不是 0。能不能学好是另一回事。去掉掩码就不可能了：每一层都置换等变，叠多少层也一样，"
            "打乱输入永远只是打乱输出。至多能看出，你去读的那一位站着哪个词。",
            "It can. Under the mask place $t$ sees the first $t$ places, so in another order it sees other "
            "tokens and the output differs, as on this page. How well that can be learned is another "
            "matter. Without the mask it cannot: every layer is permutation-equivariant, so a stack of them "
            "is, and shuffling the input never does more than shuffle the output. All it can give away is "
            "which token stands at the place you read.",
        ),
    ),
    claims=("C10", "C11"),
)
