"""The whole block. Attention, feed-forward network, residuals and norms, in both orders."""

from typing import Literal

from ..sheet import Sheet
from .cost import times
from .lesson import (
    Chart,
    Code,
    Facts,
    Flow,
    Flows,
    Formula,
    Heading,
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

ATTENTION = Text("注意力", "attention")
FFN = Text("前馈网络", "feed-forward")

W_O: list[list[float]] = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0.5, 0], [0, 1, 0, 0.5]]
W_2: list[list[float]] = [
    [0.5, 0, 0, 0],
    [0, 0.5, 0, 0],
    [0, 0, 0.5, 0],
    [0, 0, 0, 0.5],
    [0, 1, 0, 0],
    [0, 0, 1, 0],
    [1, 0, 0, 0],
    [0, 0, 0, -1],
]

SHEET = Sheet()
SHEET.const("X", [[2, 0, 1, 1], [0, 2, 0, -1], [1, 0, 2, 0]])
SHEET.const("W_Q", [[1, 0, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 1]])
SHEET.const("W_K", [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 1], [0, 0, 0, 1]])
SHEET.const("W_V", [[1, 0, 0, 0], [0, 1, 0, 1], [0, 0, 1, 0], [1, 0, 0, 1]])
SHEET.const("W_O", W_O)
SHEET.const(
    "W_1",
    [
        [1, 0, 0, 0, -1, 0, 0, 0],
        [0, 1, 0, 0, 0, -1, 0, 0],
        [0, 0, 1, 0, 0, 0, -1, 1],
        [0, 0, 0, 1, 1, 0, 0, -1],
    ],
)
SHEET.const("b_1", [[0, 0, 0, 0, 0, 0, 0.5, -0.5]])
SHEET.const("W_2", W_2)
SHEET.const("b_2", [[0, 0, 0, 0.5]])
for _name, _value in {"one": 1, "two": 2, "three": 3, "four": 4, "hundred": 100, "eps": 1e-5}.items():
    SHEET.const(_name, _value)
SHEET.sqrt("root", "four")


def _attention(end: str, x: str) -> None:
    """a = softmax(QKᵀ/√4) V W^O: one head as wide as the block."""
    for name in "QKV":
        SHEET.matmul(f"{name}_{end}", x, f"W_{name}")
    SHEET.transpose(f"Kᵀ_{end}", f"K_{end}")
    SHEET.matmul(f"QKᵀ_{end}", f"Q_{end}", f"Kᵀ_{end}")
    SHEET.div(f"S_{end}", f"QKᵀ_{end}", "root")
    SHEET.softmax(f"A_{end}", f"S_{end}")
    SHEET.matmul(f"AV_{end}", f"A_{end}", f"V_{end}")
    SHEET.matmul(f"a_{end}", f"AV_{end}", "W_O")


def _feed_forward(end: str, x: str) -> None:
    """f = ReLU(x W_1 + b_1) W_2 + b_2."""
    SHEET.matmul(f"xW_1_{end}", x, "W_1")
    SHEET.add(f"xW_1 + b_1_{end}", f"xW_1_{end}", "b_1")
    SHEET.relu(f"H_{end}", f"xW_1 + b_1_{end}")
    SHEET.matmul(f"HW_2_{end}", f"H_{end}", "W_2")
    SHEET.add(f"f_{end}", f"HW_2_{end}", "b_2")


def _moments(name: str, x: str, over: Literal["columns", "rows"], size: str) -> None:
    """Mean and variance over `size` columns, one for each row, or over rows, one for each column."""
    SHEET.sum(f"sum {name}", x, over=over)
    SHEET.div(f"mean {name}", f"sum {name}", size)
    SHEET.sub(f"centred {name}", x, f"mean {name}")
    SHEET.mul(f"squares {name}", f"centred {name}", f"centred {name}")
    SHEET.sum(f"sum of squares {name}", f"squares {name}", over=over)
    SHEET.div(f"variance {name}", f"sum of squares {name}", size)


# Post-norm, as in 2017.
_attention("post", "X")
SHEET.add("r_post", "X", "a_post")
SHEET.layernorm("m_post", "r_post")
_feed_forward("post", "m_post")
SHEET.add("s_post", "m_post", "f_post")
SHEET.layernorm("y_post", "s_post")

# Pre-norm, with the same weights.
SHEET.layernorm("n_pre", "X")
_attention("pre", "n_pre")
SHEET.add("r_pre", "X", "a_pre")
SHEET.layernorm("m_pre", "r_pre")
_feed_forward("pre", "m_pre")
SHEET.add("y_pre", "r_pre", "f_pre")
SHEET.sub("change_pre", "y_pre", "X")
SHEET.add("written_pre", "a_pre", "f_pre")

for _name in ("X", "r_post", "m_post", "y_post", "y_pre"):
    _moments(_name, _name, "columns", "four")
    SHEET.concat(f"moments_{_name}", f"mean {_name}", f"variance {_name}")


def _batchnorm(name: str, x: str) -> None:
    """In training mode: each column by its own mean and variance over the rows."""
    _moments(name, x, "rows", "three")
    SHEET.add(f"variance + eps {name}", f"variance {name}", "eps")
    SHEET.sqrt(f"deviation {name}", f"variance + eps {name}")
    SHEET.div(name, f"centred {name}", f"deviation {name}")


# The same input but for its third row, and how far each part's output moves, row by row.
SHEET.const("other", [[-1, 1, 0, 2]])
SHEET.slice("X 0:2", "X", rows=(0, 2))
SHEET.concat("X_other", "X 0:2", "other", axis="rows")
SHEET.layernorm("n_other", "X_other")
_batchnorm("batch", "X")
_batchnorm("batch_other", "X_other")
_feed_forward("alone", "X")
_feed_forward("other", "X_other")
_attention("other", "X_other")
for _name, _before, _after in (
    ("LayerNorm", "n_pre", "n_other"),
    ("FFN", "f_alone", "f_other"),
    ("BatchNorm", "batch", "batch_other"),
    ("attention", "a_post", "a_other"),
):
    SHEET.sub(f"{_name} moves", _after, _before)
    SHEET.mul(f"{_name} moves²", f"{_name} moves", f"{_name} moves")
    SHEET.sum(f"{_name} distance²", f"{_name} moves²")
    SHEET.sqrt(f"{_name} distance", f"{_name} distance²")
SHEET.concat("moved", "LayerNorm distance", "FFN distance", "BatchNorm distance", "attention distance")

# Parameters by part: of a block's weight matrices, then of a whole model with all that it has.
SHEET.const("d", 768)
SHEET.const("layers", 12)
SHEET.const("vocabulary", 50257)
SHEET.const("context", 1024)
SHEET.const("ratio", 4)
SHEET.const("half", 0.5)
SHEET.const("zero", 0)
SHEET.const("minus_one", -1)
times(SHEET, "attention_matrices", "four", "d", "d")
times(SHEET, "ffn_matrices", "two", "ratio", "d", "d")
SHEET.div("ffn_to_attention", "ffn_matrices", "attention_matrices")
SHEET.add("block_matrices", "attention_matrices", "ffn_matrices")
times(SHEET, "attention_biases", "four", "d")
SHEET.add("ratio + 1", "ratio", "one")
times(SHEET, "ffn_biases", "ratio + 1", "d")
SHEET.add("attention_block", "attention_matrices", "attention_biases")
SHEET.add("ffn_block", "ffn_matrices", "ffn_biases")
times(SHEET, "norms_block", "four", "d")
SHEET.add("two_parts", "attention_block", "ffn_block")
SHEET.add("block", "two_parts", "norms_block")
times(SHEET, "token_embedding", "vocabulary", "d")
times(SHEET, "position_embedding", "context", "d")
times(SHEET, "final_norm", "two", "d")
SHEET.add("embeddings", "token_embedding", "position_embedding")
SHEET.add("outside", "embeddings", "final_norm")
SHEET.range("layers_all", 96, start=1)


def _share(name: str, part: str, whole: str) -> None:
    SHEET.div(f"share {name}", part, whole)
    SHEET.mul(f"percent_{name}", f"share {name}", "hundred")


for _end, _layers in {"": "layers", "_all": "layers_all"}.items():
    times(SHEET, f"attention_model{_end}", _layers, "attention_block")
    times(SHEET, f"ffn_model{_end}", _layers, "ffn_block")
    times(SHEET, f"blocks_model{_end}", _layers, "block")
    SHEET.add(f"model{_end}", f"blocks_model{_end}", "outside")
    _share(f"ffn{_end}", f"ffn_model{_end}", f"model{_end}")
    _share(f"attention{_end}", f"attention_model{_end}", f"model{_end}")
    _share(f"embeddings{_end}", "embeddings", f"model{_end}")
_share("matrices", "ffn_matrices", "block_matrices")
_share("block", "ffn_block", "block")
SHEET.slice("shallow", "percent_ffn_all", rows=(0, 1))
SHEET.slice("deep", "percent_ffn_all", rows=(95, 96))
SHEET.less("grows", "shallow", "deep")
SHEET.less("shrinks", "deep", "shallow")
SHEET.sub("trend", "grows", "shrinks")


def _model(d: int, layers: int) -> dict[str, dict[tuple[int, int], float]]:
    cells = {"d": d, "layers": layers, "vocabulary": 50257, "ratio": 4}
    return {name: {(0, 0): value} for name, value in cells.items()}


LESSON = Lesson(
    slug="block",
    title=Text("完整的块", "The whole block"),
    insight=Text(
        "注意力在词之间传递，前馈网络在每个词上单独加工；残差让两者把结果加回去，归一化管住数的大小。",
        "Attention carries between words, the feed-forward network works on each alone; residuals add their "
        "results back, norms keep the numbers in size.",
    ),
    question=Text(
        "注意力只会混合。一个 Transformer 块里还有什么，各管什么，参数又主要在哪里？",
        "Attention can only mix. What else is in a Transformer block, what is it for, and where are most of "
        "the parameters?",
    ),
    sheet=SHEET,
    axes={
        "tokens": (Text("猫", "cat"), Text("追", "chases"), Text("老鼠", "mouse")),
        "moments": (Text("均值", "mean"), Text("方差", "variance")),
        "third": (Text("第 3 个词", "3rd word"),),
        "part": (
            Text("LayerNorm", "LayerNorm"),
            Text("前馈网络", "feed-forward"),
            Text("BatchNorm", "BatchNorm"),
            Text("注意力", "attention"),
        ),
    },
    predict=(
        Question(
            key="alone",
            ask=Text(
                "前馈网络对每一行做同样的事：乘一个矩阵，负数变成 0，再乘一个矩阵。把 $X$ 直接送进去，只改"
                "第 3 个词，第 1 个词的输出会移动多远？",
                "A feed-forward network does the same to every row: times a matrix, negative numbers to 0, "
                "times another matrix. $X$ goes straight in. If only the 3rd word changes, how far does the "
                "output of the 1st word move?",
            ),
            answer=("moved", 0, 1),
            mistakes=(
                Mistake(
                    ("moved", 0, 3),
                    Text(
                        "注意力才会移动这么远：它在词之间传递。",
                        "So far it moves in attention, which carries between words.",
                    ),
                ),
            ),
            why=Text(
                "前馈网络对每一行单独计算，第 1 行的输出只取决于第 1 行，所以一点不动。",
                "The feed-forward network works on each row alone. What it makes of row 1 depends on row 1 "
                "only, so it does not move.",
            ),
        ),
        Question(
            key="ratio",
            ask=Text(
                "内层宽 $4d$ 时，前馈网络两个矩阵里的参数，是注意力四个矩阵的几倍？",
                "With an inner width of $4d$, how many times as many parameters are in the feed-forward "
                "network's two matrices as in attention's four?",
            ),
            answer=("ffn_to_attention", 0, 0),
            under={"ratio": {(0, 0): 4.0}},
            options=(
                (Text("一半", "half as many"), 0.5),
                (Text("一样多", "as many"), 1.0),
                (Text("2 倍", "2"), 2.0),
                (Text("4 倍", "4"), 4.0),
            ),
            mistakes=(
                Mistake(
                    ("ratio", 0, 0),
                    Text(
                        "一个矩阵是 $4d^2$，前馈网络有两个；可是注意力有四个 $d × d$ 的矩阵。",
                        "One of its matrices is $4d^2$ and there are two, but attention has four of $d × d$.",
                    ),
                ),
                Mistake(
                    ("half", 0, 0),
                    Text(
                        "反过来了：注意力四个 $d × d$ 的矩阵是 $4d^2$，前馈网络的两个更大。",
                        "The other way round: attention's four matrices of $d × d$ are $4d^2$, the other "
                        "two are larger.",
                    ),
                ),
                Mistake(
                    ("one", 0, 0),
                    Text(
                        "注意力是 $4d^2$。前馈网络有两个矩阵，**每个**都是 $4d^2$。",
                        "Attention has $4d^2$. The feed-forward network has two matrices of $4d^2$ **each**.",
                    ),
                ),
            ),
            why=Text(
                "前馈网络 $d·4d + 4d·d = 8d^2$，注意力 $W^Q, W^K, W^V, W^O$ 一共 $4d^2$。"
                "所以前馈网络占三分之二。",
                "Feed-forward: $d·4d + 4d·d = 8d^2$. Attention: $W^Q, W^K, W^V, W^O$, together $4d^2$. So "
                "the feed-forward network holds two thirds.",
            ),
        ),
    ),
    body=(
        Prose(
            Text(
                "一个块有两个子层：先是注意力，再是前馈网络。每个子层都配一条**残差**（把输入加回到输出上）"
                "和一个归一化，**LayerNorm**（把一行的数移到均值 0、缩放到方差 1）。归一化放在哪里，有两种做"
                "法：\n\n"
                "**post-norm**（2017 年的论文）先相加，再归一化。**pre-norm**（如今常用）先归一化，再进子"
                "层，最后相加。下面用同一组参数把两种都算一遍。",
                "A block has two sub-layers, attention and then a feed-forward network. Each comes with a "
                "**residual**, which adds the input back to the output, and a norm, **LayerNorm**, which "
                "brings a row's numbers to mean 0 and variance 1. The norm can stand in two places:\n\n"
                "**post-norm**, as in the paper of 2017, adds and then normalises. **pre-norm**, usual "
                "today, normalises, runs the sub-layer and then adds. Both are worked out below with the "
                "same parameters.",
            )
        ),
        Formula(
            r"\text{post:}\quad x' = \text{LN}(x + \text{Attn}(x)) \qquad y = \text{LN}(x' + \text{FFN}(x'))"
        ),
        Formula(
            r"\text{pre:}\quad x' = x + \text{Attn}(\text{LN}(x)) \qquad y = x' + \text{FFN}(\text{LN}(x'))"
        ),
        Formula(r"\text{FFN}(x) = \text{ReLU}(x W_1 + b_1)\, W_2 + b_2"),
        Flows(
            Text("整个块，自下而上", "The whole block, from bottom to top"),
            (
                Flow(
                    Text("post-norm（2017）", "post-norm (2017)"),
                    ("x", ATTENTION, "+", "LayerNorm", FFN, "+", "LayerNorm", "y"),
                ),
                Flow(
                    Text("pre-norm（现在常用）", "pre-norm (usual today)"),
                    ("x", "LayerNorm", ATTENTION, "+", "LayerNorm", FFN, "+", "y"),
                    skips=3,
                ),
            ),
        ),
        Matrices(
            (
                Shown("X", "X", "tokens"),
                Shown("W_Q", "W^Q"),
                Shown("W_K", "W^K"),
                Shown("W_V", "W^V"),
                Shown("W_O", "W^O"),
            ),
            Text("给定：输入和注意力", "Given: input and attention"),
        ),
        Matrices(
            (Shown("W_1", "W_1"), Shown("b_1", "b_1"), Shown("W_2", "W_2"), Shown("b_2", "b_2")),
            Text("给定：前馈网络", "Given: feed-forward network"),
        ),
        Prose(
            Text(
                "数字都是手写的。为了看得清，注意力只有一个头，没有掩码；前馈网络的内层宽 8，即 $2d$，"
                "而通常是 $4d$。LayerNorm 在真实的模型里还有可学的增益和偏移，这里取 1 和 0。"
                "公式都按行向量写。",
                "All numbers are written by hand. To keep them readable, attention has one head and no "
                "mask, and the feed-forward network is 8 wide inside, which is $2d$; usual is $4d$. In a "
                "model LayerNorm also has a gain and a bias that are learned; here they are 1 and 0. "
                "Vectors are rows.",
            )
        ),
        Query(
            "tokens",
            Text("选一个词，逐步计算（post-norm）", "Choose a word, step by step (post-norm)"),
            ("a_post", "m_post", "H_post", "f_post", "y_post"),
        ),
        Heading(Text("post-norm：先加，再归一化", "Post-norm: add, then normalise")),
        Matrices(
            (
                Shown("A_post", "A", "tokens", "tokens", "weights"),
                Shown("a_post", r"a = AVW^O", "tokens"),
                Shown("r_post", "x + a", "tokens"),
                Shown("m_post", r"x' = \text{LN}(x + a)", "tokens"),
            ),
            Text("注意力、残差、归一化", "Attention, residual, norm"),
        ),
        Matrices(
            (
                Shown("H_post", r"H = \text{ReLU}(x'W_1 + b_1)", "tokens"),
                Shown("f_post", "f = HW_2 + b_2", "tokens"),
                Shown("s_post", "x' + f", "tokens"),
                Shown("y_post", r"y = \text{LN}(x' + f)", "tokens"),
            ),
            Text("前馈网络、残差、归一化", "Feed-forward network, residual, norm"),
        ),
        Heading(Text("pre-norm：先归一化，再进子层", "Pre-norm: normalise, then the sub-layer")),
        Matrices(
            (
                Shown("n_pre", r"\text{LN}(x)", "tokens"),
                Shown("A_pre", "A", "tokens", "tokens", "weights"),
                Shown("a_pre", "a = AVW^O", "tokens"),
                Shown("r_pre", "x' = x + a", "tokens"),
            ),
            Text("归一化、注意力、残差", "Norm, attention, residual"),
        ),
        Matrices(
            (
                Shown("m_pre", r"\text{LN}(x')", "tokens"),
                Shown("H_pre", r"H", "tokens"),
                Shown("f_pre", "f = HW_2 + b_2", "tokens"),
                Shown("y_pre", "y = x' + f", "tokens"),
            ),
            Text("归一化、前馈网络、残差", "Norm, feed-forward network, residual"),
        ),
        Heading(Text("残差流", "The residual stream")),
        Prose(
            Text(
                "在 pre-norm 里，从输入到输出有一条不经过任何归一化的直路，叫**残差流**。"
                "子层从它那里读，再把结果加回去，所以 $y - x$ 恰好是注意力和前馈网络写进去的 $a + f$。\n\n"
                "post-norm 没有这条直路：每次相加之后，整行都被重新缩放。",
                "In pre-norm a straight path leads from input to output with no norm on it, the **residual "
                "stream**. Sub-layers read from it and add to it, so $y - x$ is exactly what attention and "
                "the feed-forward network wrote, $a + f$.\n\n"
                "Post-norm has no such path: after each addition the whole row is rescaled.",
            )
        ),
        Matrices(
            (
                Shown("change_pre", "y - x", "tokens"),
                Shown("written_pre", "a + f", "tokens"),
            ),
            Text("pre-norm", "Pre-norm"),
        ),
        Heading(Text("LayerNorm：每个词单独归一化", "LayerNorm: each word by itself")),
        Formula(
            r"\text{LN}(x) = \frac{x - \mu}{\sqrt{\sigma^2 + \varepsilon}} \qquad"
            r"\mu = \frac{1}{d}\sum_i x_i \qquad \sigma^2 = \frac{1}{d}\sum_i (x_i - \mu)^2"
        ),
        Prose(
            Text(
                "均值和方差都只取自这个词自己的 $d$ 个数。归一化之后每行均值是 0，方差是 1"
                "（$ε = 10^{-5}$ 会让它略小于 1；一行的数若全相等，方差就是 0）。"
                "pre-norm 的输出没有归一化，均值和方差可以是任何数。",
                "Mean and variance are taken over this word's own $d$ numbers. After the norm each row has "
                "mean 0 and variance 1 (a little less for $ε = 10^{-5}$; and 0 if all numbers of a row are "
                "equal). Pre-norm's output is not normalised and may have any mean and variance.",
            )
        ),
        Matrices(
            (
                Shown("moments_X", "x", "tokens", "moments", decimals=4),
                Shown("moments_r_post", "x + a", "tokens", "moments", decimals=4),
                Shown("moments_m_post", r"\text{LN}(x + a)", "tokens", "moments", decimals=4),
                Shown("moments_y_post", r"y_\text{post}", "tokens", "moments", decimals=4),
                Shown("moments_y_pre", r"y_\text{pre}", "tokens", "moments", decimals=4),
            ),
            Text("每行的均值和方差", "Mean and variance of each row"),
        ),
        Heading(Text("谁会看别的词", "What looks at other words")),
        Prose(
            Text(
                "把 $X$ 送进四种计算，再把第 3 个词换成下面这一行，重新送一遍。表里是每个词的输出移动了多"
                "远。\n\n"
                "LayerNorm 和前馈网络只会动第 3 行：每个词自己算自己的。注意力会动别的行，这正是它的用处。训"
                "练模式的 BatchNorm 也会：它按列取均值和方差，一个词的结果取决于同一批里还有谁。（换上的若和"
                "原来一样，就什么都不动。）",
                "Put $X$ through four computations, then replace the 3rd word by the row below and do it "
                "again. The table says how far each word's output moves.\n\n"
                "LayerNorm and the feed-forward network can move row 3 only: each word by itself. Attention "
                "moves other rows, and that is what it is for. BatchNorm in training mode does so too: it "
                "takes mean and variance down each column, so what becomes of a word depends on who else is "
                "in the batch. (If the new word is the old one, nothing moves.)",
            )
        ),
        Matrices(
            (
                Shown("other", "x_3", "third"),
                Shown("moved", r"\|\Delta\|", "tokens", "part", decimals=4),
            ),
        ),
        Heading(Text("参数在哪里", "Where the parameters are")),
        Prose(
            Text(
                "只看一个块里的矩阵，不算偏置：注意力 $4d^2$，前馈网络 $2rd^2$，$r$ 是内层与 $d$ 之比。"
                "$r = 4$ 时前馈网络占 2/3。\n\n"
                "整个模型还有偏置、归一化，以及嵌入表：词表大小 × $d$，再加 1024 个位置 × $d$（输出层与词嵌"
                "入共用一张表，只算一次）。模型浅而词表大时，嵌入占去很大一块，前馈网络在全模型里可能不到一"
                "半。",
                "Of a block's matrices, attention has $4d^2$ and the feed-forward network $2rd^2$, where "
                "$r$ is its inner width over $d$. With $r = 4$ that is 2/3.\n\n"
                "A whole model also has biases, norms, and tables of embeddings: vocabulary × $d$ and 1024 "
                "positions × $d$ (the output layer shares the table of words, which counts once). Where the "
                "model is shallow and the vocabulary large, embeddings take a large part, and the "
                "feed-forward networks can be less than half of the model.",
            )
        ),
        Presets(
            Text("模型", "Model"),
            (
                Preset("small", Text("GPT-2 124M", "GPT-2 124M"), _model(768, 12)),
                Preset("xl", Text("GPT-2 1.5B", "GPT-2 1.5B"), _model(1600, 48)),
            ),
        ),
        Slider("d", Text("宽度 $d$", "width $d$"), 64, 12288, 64),
        Slider("layers", Text("层数", "layers"), 1, 96),
        Slider("vocabulary", Text("词表大小", "vocabulary"), 257, 256257, 1000),
        Slider("ratio", Text("内层是 $d$ 的几倍，$r$", "inner width over $d$, $r$"), 1, 8),
        Facts(
            (
                (
                    Text("一个块的矩阵：注意力 $4d^2$", "Matrices of a block: attention, $4d^2$"),
                    ("attention_matrices", 0, 0),
                    0,
                ),
                (
                    Text("一个块的矩阵：前馈网络 $2rd^2$", "Matrices of a block: feed-forward, $2rd^2$"),
                    ("ffn_matrices", 0, 0),
                    0,
                ),
                (
                    Text("前馈网络占这些矩阵的 %", "Feed-forward network, % of these matrices"),
                    ("percent_matrices", 0, 0),
                    2,
                ),
                (
                    Text("连偏置和归一化一起，占块的 %", "With biases and norms, % of the block"),
                    ("percent_block", 0, 0),
                    2,
                ),
                (Text("全模型参数", "Parameters of the model"), ("model", 0, 0), 0),
                (
                    Text("前馈网络占全模型的 %", "Feed-forward networks, % of the model"),
                    ("percent_ffn", 0, 0),
                    1,
                ),
                (Text("注意力占全模型的 %", "Attention, % of the model"), ("percent_attention", 0, 0), 1),
                (Text("嵌入占全模型的 %", "Embeddings, % of the model"), ("percent_embeddings", 0, 0), 1),
            )
        ),
        Chart(
            Text("各部分占全模型的百分比", "Parts of the whole model, in %"),
            "layers_all",
            Text("层数", "layers"),
            Text("%", "%"),
            (
                Line("percent_ffn_all", Text("前馈网络", "feed-forward")),
                Line("percent_attention_all", Text("注意力", "attention")),
                Line("percent_embeddings_all", Text("嵌入", "embeddings")),
            ),
            marks=(
                ("layers", "percent_ffn"),
                ("layers", "percent_attention"),
                ("layers", "percent_embeddings"),
            ),
        ),
        Code(
            """\
import torch
from glassformer.models.gpt import GPT, GPTConfig

shape = GPTConfig(
    50257, 1024, n_layers=12, n_heads=12, d_model=768, norm="layernorm", positions="learned", bias=True
)
with torch.device("meta"):  # shapes alone, no numbers
    model = GPT(shape)
total = sum(p.numel() for p in model.parameters())
ffn = sum(p.numel() for name, p in model.named_parameters() if ".ffn." in name)
print(total, f"{100 * ffn / total:.1f} %")
""",
            "124439808 45.5 %\n",
        ),
    ),
    check=(
        Question(
            key="mean",
            ask=Text(
                "post-norm 的块以 LayerNorm 结尾。输出的第 1 行，4 个数的均值是多少？",
                "A post-norm block ends in LayerNorm. What is the mean of the 4 numbers in the first row of "
                "its output?",
            ),
            answer=("moments_y_post", 0, 0),
            mistakes=(
                Mistake(
                    ("moments_y_pre", 0, 0),
                    Text(
                        "这是 pre-norm 的输出：最后一步是相加，没有归一化。",
                        "That is pre-norm's output, whose last step is an addition, with no norm after it.",
                    ),
                ),
                Mistake(
                    ("moments_y_post", 0, 1),
                    Text("这是方差。均值先被减掉了。", "That is the variance. The mean has been taken away."),
                ),
            ),
            why=Text(
                "LayerNorm 先从每一行减去这一行的均值，剩下的均值就是 0。",
                "LayerNorm takes each row's own mean away from it, and what is left has mean 0.",
            ),
        ),
        Question(
            key="stream",
            ask=Text(
                "pre-norm：$x$ 的第 1 行第 1 个数是 «X[0,0]»，注意力写入 «a_pre[0,0]:3»，前馈网络写入 "
                "«f_pre[0,0]:3»。块的输出里这个数是多少？",
                "Pre-norm: the first number of $x$ is «X[0,0]», attention writes «a_pre[0,0]:3» and the "
                "feed-forward network «f_pre[0,0]:3». What is this number at the block's output?",
            ),
            answer=("y_pre", 0, 0),
            mistakes=(
                Mistake(
                    ("f_pre", 0, 0),
                    Text(
                        "别忘了残差：前馈网络的输出是加上去的。",
                        "Mind the residual: that is only what is added.",
                    ),
                ),
                Mistake(
                    ("written_pre", 0, 0),
                    Text(
                        "这是写进去的，还要加上原来就在流里的 $x$。",
                        "That is what is written; $x$ was in the stream before.",
                    ),
                ),
                Mistake(
                    ("y_post", 0, 0),
                    Text(
                        "这是 post-norm 的输出，每次相加之后又归一化了。",
                        "That is post-norm's output, normalised after each addition.",
                    ),
                ),
            ),
            why=Text(
                "残差流只做加法：$y = x + a + f$ = «y_pre[0,0]:3»。",
                "The stream only adds: $y = x + a + f$ = «y_pre[0,0]:3».",
            ),
        ),
        Question(
            key="depth",
            ask=Text(
                "$d$、词表和 $r$ 都不变，层数从 1 加到 96。前馈网络占全模型的比例怎么变？",
                "With $d$, vocabulary and $r$ as they are, layers go from 1 to 96. What becomes of the "
                "feed-forward networks' share of the model?",
            ),
            answer=("trend", 0, 0),
            options=(
                (Text("变大", "it grows"), 1.0),
                (Text("不变", "it stays"), 0.0),
                (Text("变小", "it shrinks"), -1.0),
            ),
            mistakes=(
                Mistake(
                    ("zero", 0, 0),
                    Text(
                        "在一个块里的比例不变，可是全模型里还有嵌入，它不随层数增加。",
                        "Within a block it stays. But the model also has embeddings, which do not grow with "
                        "the layers.",
                    ),
                ),
                Mistake(
                    ("minus_one", 0, 0),
                    Text(
                        "每加一层，前馈网络都多一份，嵌入却不变。",
                        "Every layer brings another feed-forward network, while the embeddings stay.",
                    ),
                ),
            ),
            why=Text(
                "嵌入只有一份，块却越来越多。比例从 «shallow[0,0]:1» % 升到 «deep[0,0]:1» %，"
                "逐渐接近它在一个块里的比例 «percent_block[0,0]:1» %。",
                "There is one set of embeddings and ever more blocks. The share goes from «shallow[0,0]:1» "
                "% to «deep[0,0]:1» %, towards that within a block, «percent_block[0,0]:1» %.",
            ),
        ),
    ),
    boundary=Text(
        "这里的参数是手写的，这一页只说明数字怎样流过一个块。哪种顺序更容易训练，要比较真正的训练，这里看不"
        "出来。参数多也不等于作用大，更不等于耗时多。",
        "The parameters are written by hand, and the page shows only how numbers flow through a block. "
        "Which order trains more easily takes real training to compare. And many parameters need not mean "
        "that a part matters more, or takes more time.",
    ),
    transfer=Transfer(
        Text(
            "把 $N$ 个 pre-norm 块叠起来，最后还要再加一个 LayerNorm 才接输出层；post-norm 却不用。为什么？",
            "When $N$ pre-norm blocks are stacked, one more LayerNorm follows before the output layer. "
            "Post-norm needs none. Why?",
        ),
        Text(
            "pre-norm 的残差流是 $x$ 加上 $2N$ 次写入，路上没有归一化，大小没有人管，"
            "所以读出之前要归一化一次。post-norm 的每个块本来就以 LayerNorm 结尾。",
            "The stream of pre-norm is $x$ plus $2N$ additions with no norm on the way. Nothing holds its "
            "size, so it is normalised once before it is read. Each post-norm block already ends in a "
            "LayerNorm.",
        ),
    ),
    claims=("C13", "C14", "C18"),
)
