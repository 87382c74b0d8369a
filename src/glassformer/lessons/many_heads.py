"""Many heads. The same numbers as one wide head, cut into narrow ones that each weigh anew."""

from ..sheet import Sheet
from .cost import times
from .lesson import (
    Chart,
    Code,
    Facts,
    Formula,
    Heading,
    Ledger,
    Lesson,
    Line,
    Matrices,
    Mistake,
    Preset,
    Presets,
    Prose,
    Query,
    Question,
    Shown,
    Slider,
    Text,
    Transfer,
)

TOKENS = (Text("猫", "cat"), Text("追", "chases"), Text("老鼠", "mouse"), Text("它", "it"))
IT, CAT, CHASES = 3, 0, 1

W_Q: list[list[float]] = [[0, 0.5, 0, 0], [0.5, 0, 0, 0.5], [0, 0, 0, 0], [1, 1, 1, 0]]
W_K: list[list[float]] = [[1, 0, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 1]]
W_O: list[list[float]] = [[1, 0, 0, 0.5], [0, 0, 1, 0], [0, 1, 0, 0.5], [-0.5, 0, 0, 1]]

SHEET = Sheet()
SHEET.const("X", [[2, 0, 1, 0], [0, 2, 0, 1], [2, 0, -1, 0], [0, 0, 1, 2]])
SHEET.const("W_Q", W_Q)
SHEET.const("W_K", W_K)
SHEET.const("W_V", [[1, 0, 0, 1], [0, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]])
SHEET.const("W_O", W_O)
SHEET.const("d_k", 2)
SHEET.const("d_wide", 4)


def _attention(end: str, width: str) -> None:
    """Attention with the projections W_Q, W_K, W_V of this ending, `width` columns each."""
    for name in "QKV":
        SHEET.matmul(f"{name}{end}", "X", f"W_{name}{end}")
    SHEET.transpose(f"Kᵀ{end}", f"K{end}")
    SHEET.matmul(f"QKᵀ{end}", f"Q{end}", f"Kᵀ{end}")
    SHEET.sqrt(f"√{width}{end}", width)
    SHEET.div(f"S{end}", f"QKᵀ{end}", f"√{width}{end}")
    SHEET.softmax(f"A{end}", f"S{end}")
    SHEET.matmul(f"O{end}", f"A{end}", f"V{end}")


HALVES = {"_1": (0, 2), "_2": (2, 4)}
for _head, _half in HALVES.items():
    for _name in "QKV":
        SHEET.slice(f"W_{_name}{_head}", f"W_{_name}", columns=_half)
    _attention(_head, "d_k")
SHEET.concat("C", "O_1", "O_2")
SHEET.matmul("Y", "C", "W_O")

# The same as a sum over the heads, and how far the two are apart.
for _head, _half in HALVES.items():
    SHEET.slice(f"W_O{_head}", "W_O", rows=_half)
    SHEET.matmul(f"Y{_head}", f"O{_head}", f"W_O{_head}")
SHEET.add("Y_sum", "Y_1", "Y_2")
SHEET.sub("apart", "Y", "Y_sum")
SHEET.mul("apart squared", "apart", "apart")
SHEET.max("largest squared", "apart squared", over="all")
SHEET.sqrt("gap", "largest squared")

# One wide head with the same projections, uncut, and what each gives to two words.
_attention("", "d_wide")
for _name, _row, _column in (
    ("to_cat_1", "A_1", CAT),
    ("to_chases_2", "A_2", CHASES),
    ("to_cat", "A", CAT),
    ("to_chases", "A", CHASES),
):
    SHEET.slice(_name, _row, (IT, IT + 1), (_column, _column + 1))
SHEET.add("both_heads", "to_cat_1", "to_chases_2")
SHEET.add("both_wide", "to_cat", "to_chases")
SHEET.const("one", 1)
SHEET.sub("left", "one", "to_cat_1")

# The ledger, for any n, d and h. Powers of two are looked up, so that they are exact.
SHEET.const("half", 0.5)
SHEET.const("two", 2)
SHEET.const("three", 3)
SHEET.const("four", 4)
SHEET.const("d", 512)
SHEET.const("log_n", 9)
SHEET.const("log_h", 3)
SHEET.const("powers", [[2.0**k] for k in range(14)])
for _name in "nh":
    SHEET.onehot(f"chosen {_name}", f"log_{_name}", 14)
    SHEET.matmul(_name, f"chosen {_name}", "powers")
SHEET.div("width", "d", "h")
times(SHEET, "wide_parameters", "four", "d", "d")
times(SHEET, "head_parameters", "three", "d", "width")
times(SHEET, "all_projections", "h", "head_parameters")
times(SHEET, "mixing_parameters", "d", "d")
SHEET.add("heads_parameters", "all_projections", "mixing_parameters")
times(SHEET, "wide_operations", "two", "n", "n", "d")
times(SHEET, "head_operations", "two", "n", "n", "width")
times(SHEET, "heads_operations", "h", "head_operations")
times(SHEET, "wide_weights", "n", "n")
times(SHEET, "heads_weights", "h", "n", "n")
SHEET.div("parameters_ratio", "heads_parameters", "wide_parameters")
SHEET.div("weights_ratio", "heads_weights", "wide_weights")
SHEET.slice("h_all", "powers", rows=(0, 7))
SHEET.div("width_all", "d", "h_all")
times(SHEET, "operations_all", "two", "n", "n", "width_all", "h_all")
times(SHEET, "weights_all", "n", "n", "h_all")

TWO_HEADS = {"log_h": {(0, 0): 1.0}}


def _twice(matrix: list[list[float]]) -> list[list[float]]:
    """Head 1's columns for both heads."""
    return [[*row[:2], *row[:2]] for row in matrix]


def _shown_head(k: int) -> tuple[Matrices, Matrices]:
    return (
        Matrices(
            tuple(Shown(f"{name}_{k}", f"{name}_{k} = XW^{name}_{k}", "tokens") for name in "QKV"),
            Text(f"头 {k}：查询、键、值", f"Head {k}: queries, keys, values"),
        ),
        Matrices(
            (
                Shown(f"S_{k}", rf"S_{k} = Q_{k}K_{k}^\top / \sqrt{{2}}", "tokens", "tokens", "scores"),
                Shown(f"A_{k}", rf"A_{k} = \text{{softmax}}(S_{k})", "tokens", "tokens", "weights"),
                Shown(f"O_{k}", f"O_{k} = A_{k}V_{k}", "tokens"),
            ),
            Text(f"头 {k}：分数、权重、混合", f"Head {k}: scores, weights, mixture"),
        ),
    )


LESSON = Lesson(
    slug="many-heads",
    title=Text("多头注意力", "Many heads"),
    insight=Text(
        "把一个宽头切成几个窄头，参数不变，计算量差不多，同一个词却能同时做几种不同的混合。",
        "Cut one wide head into narrow ones: as many parameters, about as much arithmetic, but several "
        "mixtures at once.",
    ),
    question=Text(
        "“它”既想知道指的是谁，又想知道发生了什么。一行权重只能做一种混合，怎么办？",
        "“It” needs to know who is meant, and also what happened. One row of weights makes one mixture. "
        "What can be done?",
    ),
    sheet=SHEET,
    axes={"tokens": TOKENS, "in": ("1", "2", "3", "4")},
    predict=(
        Question(
            key="parameters",
            ask=Text(
                "把一个宽 $d$ 的头切成 2 个宽 $d/2$ 的头，$W^O$ 照旧。参数总数怎么变？",
                "One head of width $d$ is cut into 2 of width $d/2$; $W^O$ stays. What becomes of the "
                "number of parameters?",
            ),
            answer=("parameters_ratio", 0, 0),
            under=TWO_HEADS,
            options=(
                (Text("减半", "half"), 0.5),
                (Text("不变", "the same"), 1.0),
                (Text("翻倍", "double"), 2.0),
            ),
            mistakes=(
                Mistake(
                    ("weights_ratio", 0, 0),
                    Text(
                        "头是多了一倍，可是每个头的投影也窄了一半。",
                        "There are twice as many heads, but each one's projections are half as wide.",
                    ),
                ),
                Mistake(
                    ("half", 0, 0),
                    Text(
                        "每个头确实窄了一半，可是头也多了一倍。",
                        "Each head is half as wide, but there are twice as many.",
                    ),
                ),
            ),
            why=Text(
                "每个头的投影只有 $3d·(d/h)$ 个参数，$h$ 个头合起来还是 $3d^2$，再加上 $W^O$ 的 $d^2$。",
                "A head's projections hold $3d·(d/h)$ parameters, those of $h$ heads $3d^2$ as before, and "
                "$W^O$ another $d^2$.",
            ),
        ),
        Question(
            key="weights",
            ask=Text(
                "那么要算的注意力权重（所有头的 $A$ 里的数）总共怎么变？",
                "And what becomes of the number of attention weights, the cells of $A$ in all heads?",
            ),
            answer=("weights_ratio", 0, 0),
            under=TWO_HEADS,
            options=(
                (Text("减半", "half"), 0.5),
                (Text("不变", "the same"), 1.0),
                (Text("翻倍", "double"), 2.0),
            ),
            mistakes=(
                Mistake(
                    ("parameters_ratio", 0, 0),
                    Text(
                        "参数确实不变，但 $A$ 的大小只看词数 $n$，和头的宽度无关。",
                        "That holds for the parameters. The size of $A$ depends on $n$ alone, not on how "
                        "wide a head is.",
                    ),
                ),
                Mistake(
                    ("half", 0, 0),
                    Text(
                        "$A$ 的大小和头的宽度无关：每个头都是 $n × n$。",
                        "How wide a head is does not matter to $A$: every head has $n × n$.",
                    ),
                ),
            ),
            why=Text(
                "每个头都有自己的 $n × n$ 权重，头再窄也不会变小。$h$ 个头就是 $h$ 张。",
                "Each head has $n × n$ weights of its own, however narrow it is. With $h$ heads, there are "
                "$h$ such matrices.",
            ),
        ),
    ),
    body=(
        Prose(
            Text(
                "先切。$W^Q$、$W^K$、$W^V$ 都是 4 × 4，前两列归头 1，后两列归头 2。每个头都读完整的 $x$，"
                "只是各自投影到 2 维，然后各做各的注意力：各有各的分数、权重和混合。\n\n"
                "这里的数字都是手写的，每个词看得见所有词（没有掩码）。",
                "First, cut. $W^Q$, $W^K$ and $W^V$ are 4 × 4; their first two columns are head 1, the "
                "other two head 2. Each head reads all of $x$, projects it to 2 numbers of its own, and "
                "attends on its own: own scores, own weights, own mixture.\n\n"
                "All numbers here are written by hand, and every word sees every word (no mask).",
            )
        ),
        Formula(
            r"O_i = \text{softmax}\!\left(\frac{Q_i K_i^\top}{\sqrt{d_k}}\right) V_i"
            r"\qquad i = 1, \dots, h \qquad d_k = d / h"
        ),
        Presets(
            Text("两个头的查询和键", "Queries and keys of the two heads"),
            (
                Preset("different", Text("各不相同", "different"), {"W_Q": W_Q, "W_K": W_K}),
                Preset(
                    "same",
                    Text("头 2 照抄头 1", "head 2 copies head 1"),
                    {"W_Q": _twice(W_Q), "W_K": _twice(W_K)},
                ),
            ),
        ),
        Matrices(
            (
                Shown("X", "X", "tokens"),
                Shown("W_Q", "W^Q", "in"),
                Shown("W_K", "W^K", "in"),
                Shown("W_V", "W^V", "in"),
            ),
            Text("给定", "Given"),
        ),
        *_shown_head(1),
        *_shown_head(2),
        Query(
            "tokens",
            Text("选一个查询，逐步计算", "Choose a query, step by step"),
            ("S_1", "A_1", "O_1", "S_2", "A_2", "O_2", "Y"),
        ),
        Heading(Text("拼接，再乘 $W^O$", "Concatenate, then $W^O$")),
        Prose(
            Text(
                "两个头的输出左右**拼接**，又回到 4 维。$W^O$ 再把它们混到一起，写回每个词。",
                "The heads' outputs side by side are 4 wide again. $W^O$ mixes them and writes the result "
                "back for each word.",
            )
        ),
        Matrices(
            (
                Shown("C", r"C = [O_1\; O_2]", "tokens"),
                Shown("W_O", "W^O", "in"),
                Shown("Y", "Y = CW^O", "tokens", decimals=3),
            )
        ),
        Prose(
            Text(
                "换一种看法：$C$ 的前两列只碰到 $W^O$ 的前两行，后两列只碰到后两行。"
                "所以“拼接再相乘”就是各头分别乘自己那几行，然后相加。每个头都独立地往结果里写一份。",
                "Seen otherwise: the first two columns of $C$ meet only the first two rows of $W^O$, the "
                "others only the other rows. So concatenating and multiplying is the same as multiplying "
                "each head by its own rows and adding up. Each head writes its own part into the result.",
            )
        ),
        Formula(r"C W^O = \sum_{i=1}^{h} O_i W^O_i"),
        Matrices(
            (
                Shown("Y_1", "O_1W^O_1", "tokens", decimals=3),
                Shown("Y_2", "O_2W^O_2", "tokens", decimals=3),
                Shown("Y_sum", "O_1W^O_1 + O_2W^O_2", "tokens", decimals=3),
            )
        ),
        Facts(
            (
                (
                    Text("$Y$ 和这个和之间最大的差", "The largest difference between $Y$ and this sum"),
                    ("gap", 0, 0),
                    12,
                ),
            )
        ),
        Heading(Text("一个宽头做不到的事", "What one wide head cannot do")),
        Prose(
            Text(
                "同样的投影，不切开，就是一个宽 4 的头。它的分数恰好是两个头的分数之和除以 $\\sqrt{2}$，"
                "softmax 之后只有**一行**权重，4 列输出都按这一行混合。\n\n"
                "无论投影怎么选，一行权重的和都是 1。给“猫”«A_1[3,0]»，就最多剩下 «left[0,0]» 给“追”。"
                "两个头却各有一个 1 可以分：头 1 给“猫”«A_1[3,0]»，头 2 给“追”«A_2[3,1]»，"
                "加起来 «both_heads[0,0]»，可以超过 1。",
                "The same projections, uncut, are one head of width 4. Its scores are exactly the two "
                "heads' scores added and divided by $\\sqrt{2}$, and its softmax gives **one** row of "
                "weights for all four columns of the output.\n\nWhatever the projections, a row of "
                "weights adds up to 1. With «A_1[3,0]» on “cat”, at most «left[0,0]» is left for "
                "“chases”. Two heads have a 1 each to spend: head 1 gives «A_1[3,0]» to “cat”, head 2 "
                "«A_2[3,1]» to “chases”, together «both_heads[0,0]», and that may exceed 1.",
            )
        ),
        Formula(r"S = \frac{QK^\top}{\sqrt{4}} = \frac{S_1 + S_2}{\sqrt{2}}"),
        Matrices(
            (
                Shown("S", r"S = QK^\top / \sqrt{4}", "tokens", "tokens", "scores"),
                Shown("A", r"A = \text{softmax}(S)", "tokens", "tokens", "weights"),
                Shown("O", "O = AV", "tokens"),
            ),
            Text("一个宽头", "One wide head"),
        ),
        Facts(
            (
                (Text("“它”看“猫”，头 1", "From “it” to “cat”, head 1"), ("to_cat_1", 0, 0), 3),
                (Text("“它”看“追”，头 2", "From “it” to “chases”, head 2"), ("to_chases_2", 0, 0), 3),
                (Text("两个头合计", "The two together"), ("both_heads", 0, 0), 3),
                (Text("“它”看“猫”，宽头", "From “it” to “cat”, wide head"), ("to_cat", 0, 0), 3),
                (Text("“它”看“追”，宽头", "From “it” to “chases”, wide head"), ("to_chases", 0, 0), 3),
                (
                    Text("宽头合计（绝不超过 1）", "Together in the wide head (never above 1)"),
                    ("both_wide", 0, 0),
                    3,
                ),
            )
        ),
        Heading(Text("算一笔账", "The ledger")),
        Prose(
            Text(
                "现在换成真实模型的大小。一次乘法和一次加法合称一次**乘加**。分数 $QK^\\top$ 和混合 $AV$ 在"
                "宽头里各要 $n^2d$ 次乘加；一个窄头各要 $n^2·d/h$ 次，$h$ 个头合起来还是 $n^2d$。\n\n"
                "真正变多的是注意力权重：$n × n$ 的矩阵有 $h$ 张，而不是一张。softmax 要算的数也就是原来的 "
                "$h$ 倍，所以说“花费差不多”，而不是“完全一样”。",
                "Now with sizes as in practice. One multiplication with one addition is a **multiply-add**. "
                "The scores $QK^\\top$ and the mixture $AV$ take $n^2d$ multiply-adds each in a wide head; "
                "$n^2·d/h$ each in a narrow one, and in $h$ of them $n^2d$ again.\n\n"
                "What does grow is the number of attention weights: $h$ matrices of $n × n$ instead of one, "
                "and softmax has $h$ times as many numbers to work out. So the cost is about the same, not "
                "exactly.",
            )
        ),
        Slider("log_n", Text("词数 $n = 2^k$ = «n[0,0]:0»，$k$", "words $n = 2^k$ = «n[0,0]:0», $k$"), 4, 13),
        Slider("d", Text("宽度 $d$", "width $d$"), 64, 4096, 64),
        Slider("log_h", Text("头数 $h = 2^k$ = «h[0,0]:0»，$k$", "heads $h = 2^k$ = «h[0,0]:0», $k$"), 0, 6),
        Facts(
            (
                (Text("词数 $n$", "Words $n$"), ("n", 0, 0), 0),
                (Text("头数 $h$", "Heads $h$"), ("h", 0, 0), 0),
                (Text("每个头的宽度 $d/h$", "Width of a head $d/h$"), ("width", 0, 0), 0),
                (
                    Text("参数，一个宽头：$4d^2$", "Parameters, one wide head: $4d^2$"),
                    ("wide_parameters", 0, 0),
                    0,
                ),
                (
                    Text("参数，$h$ 个头：$h·3d(d/h) + d^2$", "Parameters, $h$ heads: $h·3d(d/h) + d^2$"),
                    ("heads_parameters", 0, 0),
                    0,
                ),
                (
                    Text("分数和混合的乘加，一个宽头", "Multiply-adds, scores and mixture, one wide head"),
                    ("wide_operations", 0, 0),
                    0,
                ),
                (
                    Text("分数和混合的乘加，$h$ 个头", "Multiply-adds, scores and mixture, $h$ heads"),
                    ("heads_operations", 0, 0),
                    0,
                ),
                (
                    Text("注意力权重，一个宽头：$n^2$", "Attention weights, one wide head: $n^2$"),
                    ("wide_weights", 0, 0),
                    0,
                ),
                (
                    Text("注意力权重，$h$ 个头：$hn^2$", "Attention weights, $h$ heads: $hn^2$"),
                    ("heads_weights", 0, 0),
                    0,
                ),
            )
        ),
        Chart(
            Text("头数改变什么", "What the number of heads changes"),
            "h_all",
            Text("头数 $h$", "heads $h$"),
            Text("个数", "count"),
            (
                Line("operations_all", Text("乘加：$2n^2d$", "multiply-adds: $2n^2d$")),
                Line("weights_all", Text("注意力权重：$hn^2$", "attention weights: $hn^2$")),
            ),
            marks=(("h", "heads_operations"), ("h", "heads_weights")),
            log_x=True,
            log_y=True,
        ),
        Ledger(
            (
                ("X", "X", Text("每个词一行", "one row for each word")),
                ("W_Q", "W^Q", Text("两个头的投影并排", "both heads' projections side by side")),
                ("W_Q_1", "W^Q_1", Text("头 1 的那几列", "the columns of head 1")),
                ("Q_1", "Q_1", Text("头 1 的查询", "head 1's queries")),
                ("A_1", "A_1", Text("头 1 的权重", "head 1's weights")),
                ("O_1", "O_1", Text("头 1 的混合", "head 1's mixture")),
                ("C", "C", Text("拼接之后", "concatenated")),
                ("W_O_1", "W^O_1", Text("头 1 用到的那几行", "the rows that head 1 meets")),
                ("Y", "Y", Text("输出，和 $X$ 一样大", "output, as large as $X$")),
            )
        ),
        Code(
            """\
import torch
from glassformer.lessons.many_heads import SHEET
from glassformer.nn.attention import MultiHeadAttention

values = {name: torch.from_numpy(x) for name, x in SHEET.evaluate().items()}
layer = MultiHeadAttention(4, n_heads=2, bias=False).double()
for part, name in {"query": "W_Q", "key": "W_K", "value": "W_V", "output": "W_O"}.items():
    getattr(layer, part).weight.data = values[name].T
y = layer(values["X"][None])[0]
print([round(x, 3) for x in y[3].tolist()])
""",
            "[1.77, 1.699, 0.883, 1.985]\n",
        ),
    ),
    check=(
        Question(
            key="without-head-2",
            ask=Text(
                "如果头 2 的输出全部换成 0，“它”的结果 $Y$ 的第 1 个数（现在是 «Y[3,0]:3»）会变成多少？",
                "If head 2's output were all 0, what would the first number of $Y$ for “it” be, "
                "which is «Y[3,0]:3» now?",
            ),
            answer=("Y_1", IT, 0),
            mistakes=(
                Mistake(
                    ("Y_2", IT, 0),
                    Text(
                        "这是头 2 写进去的那一份，也就是少掉的部分。",
                        "That is head 2's part: what goes missing.",
                    ),
                ),
                Mistake(
                    ("Y", IT, 0),
                    Text(
                        "结果是各头之和，少了一个头，它的那一份就没有了。",
                        "The result is a sum over the heads: without one of them, its part is gone.",
                    ),
                ),
            ),
            why=Text(
                "$Y = O_1W^O_1 + O_2W^O_2$。头 2 那一份是 «Y_2[3,0]:3»，去掉它，剩下头 1 的 «Y_1[3,0]:3»。",
                "$Y = O_1W^O_1 + O_2W^O_2$. Head 2's part is «Y_2[3,0]:3»; without it, head 1's "
                "«Y_1[3,0]:3» is left.",
            ),
        ),
        Question(
            key="left",
            ask=Text(
                "一个宽头如果像头 1 那样给“猫”«A_1[3,0]»，它最多还能给“追”多少？",
                "A single wide head that gives “cat” «A_1[3,0]», as head 1 does: how much can it give "
                "“chases” at most?",
            ),
            answer=("left", 0, 0),
            mistakes=(
                Mistake(
                    ("A_2", IT, CHASES),
                    Text(
                        "这是头 2 给“追”的权重。它和头 1 不在同一行里，所以两者的和不受 1 的限制。",
                        "That is what head 2 gives. It stands in another row than head 1's, so the two need "
                        "not share a 1.",
                    ),
                ),
                Mistake(
                    ("A_1", IT, CHASES),
                    Text(
                        "这是头 1 现在给“追”的。问的是最多能给多少：其他词都给 0 的时候。",
                        "That is what head 1 gives now. The question is how much it could: with nothing for "
                        "the others.",
                    ),
                ),
            ),
            why=Text(
                "一行权重都不小于 0，和是 1，所以最多剩下 «left[0,0]»。",
                "The weights of a row are not below 0 and add up to 1, so at most «left[0,0]» is left.",
            ),
        ),
    ),
    boundary=Text(
        "这里的分工是手写出来的。训练好的模型里，各个头是否真的分工、怎么分工，要靠测量，不能从这一页推出来。"
        "头也不是越多越好：每个头只剩 $d/h$ 维来比较查询和键，$S_i$ 的秩最多是 $d/h$。",
        "The division of labour here was written by hand. Whether the heads of a trained model divide their "
        "work, and how, has to be measured and does not follow from this page. Nor are more heads always "
        "better: each has only $d/h$ numbers by which to compare query and key, so $S_i$ has rank $d/h$ at "
        "most.",
    ),
    transfer=Transfer(
        Text(
            "如果不切开，而是让 $h$ 个头每个都宽 $d$，参数和乘加会是多少？",
            "Suppose that nothing is cut and each of $h$ heads is $d$ wide. How many parameters and "
            "multiply-adds does that take?",
        ),
        Text(
            "每个头的三个投影是 $3d^2$，拼接之后宽 $hd$，$W^O$ 就是 $hd × d$。一共 $4hd^2$ 个参数；"
            "分数和混合要 $2hn^2d$ 次乘加。都是原来的 $h$ 倍。切窄，正是为了不付这个价钱。",
            "Each head's three projections are $3d^2$; the outputs side by side are $hd$ wide, so $W^O$ is "
            "$hd × d$. In all $4hd^2$ parameters, and $2hn^2d$ multiply-adds for scores and mixture: $h$ "
            "times as much of both. Heads are made narrow so as not to pay for that.",
        ),
    ),
    claims=("C9", "C21", "C22"),
)
