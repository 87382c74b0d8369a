"""The gates of an LSTM, its direct path beside the whole gradient and an RNN's; and the GRU, a relative."""

from ..sheet import Sheet
from .lesson import (
    Chart,
    Edits,
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
    Query,
    Question,
    Shown,
    Slider,
    Text,
    Transfer,
)
from .recurrence import constants, norms, products, states
from .rnn import TURN, WORDS

SHORT, STEPS = len(WORDS), 33

SHEET = Sheet()
constants(SHEET)
SHEET.const("c_0", [[0], [0]])
SHEET.const("zero", 0)
SHEET.const("tiny", 1e-9)
SHEET.const("X", [[1, 0, 0.5, -0.3, 0.2], [1, 0, 0, 0, 0]])

# Rows: the gates f, i, o and the candidate, two cells each; columns: h_{t-1}, then x_t.
SHEET.const(
    "W",
    [
        [0.5, 0, 0, 0],
        [0, 0.5, 0, 0],
        [0.5, -0.5, 0, 6],
        [0, 0.5, 0, 6],
        [0.5, 0, 0, 0],
        [0, 0.5, 0, 0],
        [0.4, -0.3, 2, 0],
        [0.3, 0.4, 2, 0],
    ],
)
SHEET.const("b_f", 3)
SHEET.const("b_others", [[0], [0], [-3], [-3], [1], [1], [0], [0]])
SHEET.const("at_f", [[1], [0], [0], [0], [0], [0], [0], [0]])
SHEET.mul("b_f_placed", "at_f", "b_f")
SHEET.add("b", "b_others", "b_f_placed")

# The sentence, and then its last four words again and again.
SHEET.const("word", [[t if t < SHORT else 1 + (t - 1) % (SHORT - 1)] for t in range(STEPS)])
SHEET.onehot("which_word", "word", SHORT)
SHEET.transpose("read", "which_word")
SHEET.matmul("X_read", "X", "read")

for _t in range(1, STEPS + 1):
    SHEET.slice(f"x_{_t}", "X_read", columns=(_t - 1, _t))
    SHEET.concat(f"hx_{_t}", f"h_{_t - 1}", f"x_{_t}", axis="rows")
    SHEET.matmul(f"Whx_{_t}", "W", f"hx_{_t}")
    SHEET.add(f"a_{_t}", f"Whx_{_t}", "b")
    for _k, _gate in enumerate(("f", "i", "o")):
        SHEET.slice(f"a_{_gate}_{_t}", f"a_{_t}", rows=(2 * _k, 2 * _k + 2))
        SHEET.sigmoid(f"{_gate}_{_t}", f"a_{_gate}_{_t}")
    SHEET.slice(f"a_c_{_t}", f"a_{_t}", rows=(6, 8))
    SHEET.tanh(f"c̃_{_t}", f"a_c_{_t}")
    SHEET.mul(f"fc_{_t}", f"f_{_t}", f"c_{_t - 1}")
    SHEET.mul(f"ic_{_t}", f"i_{_t}", f"c̃_{_t}")
    SHEET.add(f"c_{_t}", f"fc_{_t}", f"ic_{_t}")
    SHEET.tanh(f"squashed_{_t}", f"c_{_t}")
    SHEET.mul(f"h_{_t}", f"o_{_t}", f"squashed_{_t}")

for _name, _of in {"F": "f", "In": "i", "O": "o", "Candidate": "c̃", "C": "c", "H": "h"}.items():
    SHEET.concat(_name, *(f"{_of}_{t}" for t in range(1, SHORT + 1)))


def _by_time(name: str, of: str, start: int = 1) -> None:
    """Of columns `of`_1, …: one column over time for each cell, name_1 and name_2."""
    SHEET.concat(f"{name}_side", *(f"{of}_{t}" for t in range(start, STEPS + 1)))
    SHEET.transpose(f"{name}_down", f"{name}_side")
    for k in range(2):
        SHEET.slice(f"{name}_{k + 1}", f"{name}_down", columns=(k, k + 1))


_by_time("memory", "c")

# The direct path, ∂c_t/∂c_1 with every gate held fast: the product of the f.
SHEET.const("direct_1", [[1], [1]])
for _t in range(2, STEPS + 1):
    SHEET.mul(f"direct_{_t}", f"f_{_t}", f"direct_{_t - 1}")
_by_time("path", "direct")

# The whole ∂c_t/∂c_1. Of all steps one under the other: ∂c_t/∂h_{t-1} = diag(c' f(1-f)) W_f +
# diag(c̃ i(1-i)) W_i + diag(i(1-c̃²)) W_c through the gates, ∂h_t/∂c_t = diag(o(1-tanh² c)), and
# ∂h_t/∂h_{t-1} at fixed c_t = diag(tanh c · o(1-o)) W_o.
for _name, _of in {"f": "f", "i": "i", "o": "o", "candidate": "c̃", "squashed": "squashed"}.items():
    SHEET.concat(f"all_{_name}", *(f"{_of}_{t}" for t in range(1, STEPS + 1)), axis="rows")
SHEET.concat("all_before", *(f"c_{t}" for t in range(STEPS)), axis="rows")
for _name in ("f", "i", "o"):
    SHEET.sub(f"shut_{_name}", "one", f"all_{_name}")
    SHEET.mul(f"slope_{_name}", f"all_{_name}", f"shut_{_name}")
for _name in ("candidate", "squashed"):
    SHEET.mul(f"square_{_name}", f"all_{_name}", f"all_{_name}")
    SHEET.sub(f"slope_{_name}", "one", f"square_{_name}")
SHEET.mul("by_f", "all_before", "slope_f")
SHEET.mul("by_i", "all_candidate", "slope_i")
SHEET.mul("by_o", "all_squashed", "slope_o")
SHEET.mul("by_candidate", "all_i", "slope_candidate")
SHEET.mul("shown", "all_o", "slope_squashed")
SHEET.const("cell", [[k % 2] for k in range(2 * STEPS)])
SHEET.onehot("which_cell", "cell", 2)
for _k, _name in enumerate(("f", "i", "o", "candidate")):
    SHEET.slice(f"W_{_name}", "W", rows=(2 * _k, 2 * _k + 2), columns=(0, 2))
    SHEET.matmul(f"tiled_{_name}", "which_cell", f"W_{_name}")
    SHEET.mul(f"via_{_name}", f"by_{_name}", f"tiled_{_name}")
SHEET.add("via_f_i", "via_f", "via_i")
SHEET.add("via_h", "via_f_i", "via_candidate")
SHEET.slice("shown_1", "shown", rows=(0, 2))
SHEET.mul("K_1", "shown_1", "I")  # ∂h_1/∂c_1
_whole = ["I"]
for _t in range(2, STEPS + 1):
    for _name in ("via_h", "via_o", "shown"):
        SHEET.slice(f"{_name}_{_t}", _name, rows=(2 * _t - 2, 2 * _t))
    SHEET.mul(f"fG_{_t}", f"f_{_t}", _whole[-1])
    SHEET.matmul(f"indirect_{_t}", f"via_h_{_t}", f"K_{_t - 1}")
    _whole.append(SHEET.add(f"G_{_t}", f"fG_{_t}", f"indirect_{_t}"))
    SHEET.mul(f"shownG_{_t}", f"shown_{_t}", f"G_{_t}")
    SHEET.matmul(f"onward_{_t}", f"via_o_{_t}", f"K_{_t - 1}")
    SHEET.add(f"K_{_t}", f"shownG_{_t}", f"onward_{_t}")
norms(SHEET, "whole", _whole)

# An RNN on the same words; the largest singular value of its W_h is `size`.
SHEET.const("turn", TURN)
SHEET.const("size", 0.9)
SHEET.mul("W_h", "size", "turn")
SHEET.const("W_x", [[0.5, 0.25], [0.25, 0.5]])
SHEET.matmul("U", "W_x", "X_read")
norms(SHEET, "rnn", products(SHEET, states(SHEET, "_rnn", "U", STEPS)))

SHEET.range("steps", STEPS)
for _name in ("path_1", "path_2", "whole", "rnn", "memory_1"):
    SHEET.slice(f"{_name}_last", _name, rows=(STEPS - 1, STEPS))
SHEET.slice("f_last", f"f_{STEPS}", rows=(0, 1))

# GRU, on the five words: r and z from [h_{t-1}, x_t], the reset acting after the product, as in PyTorch.
SHEET.const("W_rz", [[0.5, 0, 1, 0], [0, 0.5, 0, 1], [0, 0.5, 0.5, -2], [0.5, 0, 0.5, -2]])
SHEET.const("b_rz", [[0], [0], [1], [1]])
SHEET.const("W_nx", [[1, 0.5], [-1, 1]])
SHEET.const("b_nx", [[0], [0]])
SHEET.const("W_nh", [[0.5, -0.5], [0.5, 0.5]])
SHEET.const("b_nh", [[0.2], [0]])
SHEET.const("g_0", [[0], [0]])
for _t in range(1, SHORT + 1):
    SHEET.concat(f"gx_{_t}", f"g_{_t - 1}", f"x_{_t}", axis="rows")
    SHEET.matmul(f"Wgx_{_t}", "W_rz", f"gx_{_t}")
    SHEET.add(f"a_rz_{_t}", f"Wgx_{_t}", "b_rz")
    for _k, _gate in enumerate(("r", "z")):
        SHEET.slice(f"a_{_gate}_{_t}", f"a_rz_{_t}", rows=(2 * _k, 2 * _k + 2))
        SHEET.sigmoid(f"{_gate}_{_t}", f"a_{_gate}_{_t}")
    SHEET.matmul(f"Wg_{_t}", "W_nh", f"g_{_t - 1}")
    SHEET.add(f"past_{_t}", f"Wg_{_t}", "b_nh")
    SHEET.mul(f"reset_{_t}", f"r_{_t}", f"past_{_t}")
    SHEET.matmul(f"Wx_{_t}", "W_nx", f"x_{_t}")
    SHEET.add(f"new_{_t}", f"Wx_{_t}", "b_nx")
    SHEET.add(f"a_n_{_t}", f"new_{_t}", f"reset_{_t}")
    SHEET.tanh(f"n_{_t}", f"a_n_{_t}")
    SHEET.sub(f"open_{_t}", "one", f"z_{_t}")
    SHEET.mul(f"taken_{_t}", f"open_{_t}", f"n_{_t}")
    SHEET.mul(f"stays_{_t}", f"z_{_t}", f"g_{_t - 1}")
    SHEET.add(f"g_{_t}", f"taken_{_t}", f"stays_{_t}")
for _name in ("r", "z", "n", "g"):
    SHEET.concat(f"{_name.upper()}_gru", *(f"{_name}_{t}" for t in range(1, SHORT + 1)))

# What the questions ask for: 100 steps at 0.99, half after 100 steps, wrong turns.
SHEET.const("almost", 0.99)
SHEET.const("hundred", 100)
SHEET.const("half", 0.5)
SHEET.log("log_almost", "almost")
SHEET.mul("log_left", "hundred", "log_almost")
SHEET.exp("left", "log_left")
SHEET.log("log_half", "half")
SHEET.div("log_needed", "log_half", "hundred")
SHEET.exp("needed", "log_needed")
SHEET.div("half_each", "half", "hundred")
SHEET.sub("needed_linear", "one", "half_each")
SHEET.mul("direct_diagonal", f"direct_{SHORT}", "I")
SHEET.sub("further", f"G_{SHORT}", "direct_diagonal")
norms(SHEET, "further_norm", ["further"])
SHEET.less("more", "tiny", "further_norm")
SHEET.add("unforgotten", "c_2", "ic_3")
SHEET.mul("taken_wrong", "z_2", "n_2")
SHEET.mul("stays_wrong", "open_2", "g_1")
SHEET.add("g_wrong", "taken_wrong", "stays_wrong")


def _forget(b_f: float) -> Edits:
    return {"b_f": [[b_f]]}


PREDICT = (
    Question(
        key="left",
        ask=Text(
            "一个记忆单元每走一步都乘以它的**遗忘门** $f$，也就是“留下多少”。如果每步 $f = 0.99$，走 100 步以"
            "后，最初的内容还剩下几分之几？（写成 0 到 1 的小数）",
            "At every step, a memory cell is multiplied by its **forget gate** $f$: how much of it stays. "
            "With $f = 0.99$ in each of 100 steps, what share of the first content is left (from 0 to 1)?",
        ),
        answer=("left", 0, 0),
        mistakes=(
            Mistake(
                ("zero", 0, 0),
                Text(
                    "每步丢的是**剩下的**百分之一，不是最初的百分之一，所以不会丢光。",
                    "Each step loses one hundredth of what is **left**, not of the beginning, so some "
                    "remains.",
                ),
            ),
            Mistake(("almost", 0, 0), Text("这是一步之后。", "That is after one step.")),
        ),
        why=Text(
            "100 个 0.99 相乘：«left[0,0]:4»。比 RNN 好得多，可是仍在衰减：$f < 1$ 就还是指数，只是慢。",
            "0.99 a hundred times over: «left[0,0]:4». Far better than an RNN, and still decay: with $f < 1$ "
            "it stays exponential, only slow.",
        ),
    ),
    Question(
        key="more",
        ask=Text(
            "新记忆 = 遗忘门 × 旧记忆 + 新写入的。现在让旧记忆动一点点。传到后面的影响，全都是各步遗忘门的"
            "乘积吗？别忘了门自己要读 $h_{t-1}$，而它是从旧记忆来的。",
            "The new memory is the forget gate times the old one, plus what is written. Let the old one move "
            "a little. Is the product of the forget gates all that arrives later? Mind that gates read "
            "$h_{t-1}$, which comes from the old memory.",
        ),
        answer=("more", 0, 0),
        options=((Text("全都是", "that is all"), 0.0), (Text("还有别的", "there is more"), 1.0)),
        mistakes=(
            Mistake(
                ("zero", 0, 0),
                Text(
                    "旧记忆变了，$h_{t-1}$ 就变；门读了它，也跟着变。这些绕路也传递影响。",
                    "When the old memory moves, so does $h_{t-1}$, and with it the gates that read it. These "
                    "ways round carry something as well.",
                ),
            ),
        ),
        why=Text(
            "遗忘门的乘积是**直接路径**。此外还有经过 $h_{t-1}$ 的路径：四步之后，两者之差的谱范数是 "
            "«further_norm[0,0]:4»，不是 0。",
            "The product of the forget gates is the **direct path**. There are further ones through "
            "$h_{t-1}$: after four steps, the two differ by «further_norm[0,0]:4» in spectral norm, not by "
            "0.",
        ),
    ),
)

GATES = (
    Prose(
        Text(
            "**LSTM**（长短期记忆网络）在状态 $h$ 之外另设一份**记忆** $c$，由三个**门**管着。门是 0 到 1 "
            "之间的数：遗忘门 $f$ 管留下多少旧的，输入门 $i$ 管写进多少新的，输出门 $o$ 管拿出多少给 $h$。"
            "要写的内容叫**候选值** $\\tilde{c}$。四样东西都由 $[h_{t-1}, x_t]$ 算出来：旧状态和新词上下叠"
            "成一列，乘以各自的权重。\n\n"
            "$⊙$ 是逐个单元相乘：每个单元有自己的门，互不相干；但每个门都读**所有**单元的 $h$。向量仍是**列"
            "向量**，注意力各页才用行向量。",
            "An **LSTM** (long short-term memory) has a **memory** $c$ beside the state $h$, kept by three "
            "**gates**. A gate is a number between 0 and 1: the forget gate $f$ says how much of the old "
            "stays, the input gate $i$ how much of the new is written, the output gate $o$ how much is "
            "handed to $h$. What may be written is the **candidate** $\\tilde{c}$. All four are made from "
            "$[h_{t-1}, x_t]$, the old state above the new word in one column, each with weights of its "
            "own.\n\n"
            "$⊙$ multiplies cell by cell: each cell has its own gates. But every gate reads $h$ of **all** "
            "cells. Vectors are **columns** again; the pages on attention use rows.",
        )
    ),
    Formula(r"f_t = \sigma(W_f [h_{t-1}, x_t] + b_f)"),
    Formula(r"i_t = \sigma(W_i [h_{t-1}, x_t] + b_i)"),
    Formula(r"o_t = \sigma(W_o [h_{t-1}, x_t] + b_o)"),
    Formula(r"\tilde{c}_t = \tanh(W_c [h_{t-1}, x_t] + b_c)"),
    Formula(r"\sigma(x) = \frac{1}{1 + e^{-x}}"),
    Formula(r"c_t = f_t \odot c_{t-1} + i_t \odot \tilde{c}_t"),
    Formula(r"h_t = o_t \odot \tanh(c_t)"),
    Presets(
        Text("单元 1 的遗忘门", "The forget gate of cell 1"),
        (
            Preset("mostly", Text("大致开着", "mostly open"), _forget(3)),
            Preset("half", Text("半开", "half open"), _forget(0)),
            Preset("shut", Text("关着", "shut"), _forget(-4)),
            Preset("wide", Text("几乎全开", "all but wide open"), _forget(6)),
        ),
    ),
    Slider("b_f", Text("单元 1 遗忘门的偏置", "Bias of cell 1's forget gate"), -4, 8, 0.5),
    Matrices(
        (
            Shown(
                "X",
                "X",
                "features",
                "words",
                decimals=1,
                note=Text("“写”为 1 时，输入门打开", "where “write” is 1, the input gates open"),
            ),
        ),
        Text("输入：一列一个词", "The input, one word a column"),
    ),
    Matrices(
        (Shown("W", "W", "gates", "read", decimals=1), Shown("b", "b", "gates", decimals=1)),
        Text(
            "权重，每一步都是同一组：f 的两行是 $W_f$，其余类推",
            "The weights, the same at every step: the rows f are $W_f$, and so on",
        ),
    ),
    Matrices(
        (
            Shown("F", "f", "cells", "words", "weights"),
            Shown("In", "i", "cells", "words", "weights"),
            Shown("O", "o", "cells", "words", "weights"),
        ),
        Text("门", "The gates"),
    ),
    Matrices(
        (
            Shown("Candidate", r"\tilde{c}", "cells", "words", "scores"),
            Shown("C", "c", "cells", "words", "scores", 4),
            Shown("H", "h", "cells", "words", "scores", 4),
        ),
        Text("候选值、记忆、状态", "Candidate, memory, state"),
    ),
    Prose(
        Text(
            "下面把一个单元一步步算出来：$fc_t$ 是留下的 $f_t ⊙ c_{t-1}$，$ic_t$ 是写入的 "
            "$i_t ⊙ \\tilde{c}_t$，两者之和是 $c_t$。",
            "Here is one cell step by step: $fc_t$ is what stays, $f_t ⊙ c_{t-1}$, and $ic_t$ what is "
            "written, $i_t ⊙ \\tilde{c}_t$; their sum is $c_t$.",
        )
    ),
    Query(
        "cells",
        Text("看哪个单元？", "Which cell?"),
        tuple(f"{name}_{t}" for t in (1, 2) for name in ("f", "i", "o", "c̃", "fc", "ic", "c", "h")),
    ),
    Heading(Text("记忆能留多久", "How long a memory lasts")),
    Prose(
        Text(
            "第 1 个词让两个单元记下同一个数，后面四个词反复地读，一共 33 步，不再写。单元 2 的遗忘门偏置"
            "是 0，约半开，几步就忘光；单元 1 的由你来拉。\n\n"
            "拉到最右，$f$ 接近 1，记忆几乎不丢；可是输入门从不完全关死，零碎的新东西也越积越多。遗忘不是毛"
            "病，是用来腾地方的。再把 $X$ 里别的词的“写”改成 1，看看记忆怎样被改写。",
            "The first word makes both cells note the same number. The other four are read again and again, "
            "for 33 steps, and write nothing more. The forget gate of cell 2 has bias 0: about half open, it "
            "forgets within a few steps. That of cell 1 is yours to drag.\n\n"
            "At the far right $f$ is near 1 and hardly anything is lost. But input gates never shut "
            "completely, and scraps pile up. Forgetting is no fault: it makes room. Then set “write” to 1 "
            "for another word in $X$, and see the memory written over.",
        )
    ),
    Chart(
        Text("记忆 $c_t$", "The memory $c_t$"),
        x="steps",
        x_label=Text("$t - 1$", "$t - 1$"),
        y_label=Text("$c_t$", "$c_t$"),
        lines=(Line("memory_1", Text("单元 1", "cell 1")), Line("memory_2", Text("单元 2", "cell 2"))),
    ),
)

GRADIENT = (
    Heading(Text("梯度走的路", "The ways a gradient takes")),
    Prose(
        Text(
            "RNN 每退一步都要乘一个矩阵和 $\\tanh$ 的斜率。LSTM 的记忆有一条**直接路径**：$c_t$ 里的 "
            "$f_t ⊙ c_{t-1}$。只看这一项，$c$ 对前一步 $c$ 的导数是 $\\text{diag}(f_t)$，隔几步就是各步 "
            "$f$ 的乘积，没有矩阵，也没有斜率。$f$ 接近 1，它就能走很远。\n\n"
            "**完整的**梯度还有别的路：$c_{t-1}$ 经过 $h_{t-1}$ 影响四样东西，再影响 $c_t$。这一页把所有的"
            "路都算进去了。",
            "Each step back through an RNN multiplies by a matrix and by slopes of tanh. The memory of an "
            "LSTM has a **direct path**: the $f_t ⊙ c_{t-1}$ in $c_t$. By this term alone, the derivative of "
            "$c$ with respect to the $c$ before is $\\text{diag}(f_t)$, and over several steps the product "
            "of the $f$: no matrix, no slopes. With $f$ near 1 it reaches far.\n\n"
            "The **whole** gradient has further paths: $c_{t-1}$ acts through $h_{t-1}$ on all four, and so "
            "on $c_t$. This page takes all of them in.",
        )
    ),
    Formula(
        r"\frac{\partial c_t}{\partial c_k} = \text{diag}(f_t \odot f_{t-1} \odot \cdots \odot f_{k+1})"
        r" + \cdots"
    ),
    Matrices(
        (
            Shown(
                "direct_diagonal",
                r"\text{diag}(f_5 \odot f_4 \odot f_3 \odot f_2)",
                "cells",
                "cells",
                "scores",
                4,
            ),
            Shown("G_5", r"\frac{\partial c_5}{\partial c_1}", "cells", "cells", "scores", 4),
            Shown(
                "further",
                r"\frac{\partial c_5}{\partial c_1} - \text{diag}(\cdots)",
                "cells",
                "cells",
                "scores",
                4,
            ),
        ),
        Text(
            "隔四步：直接路径、完整的梯度、其余的路", "Over four steps: the direct path, the whole, the rest"
        ),
    ),
    Slider("size", Text("RNN 的 $‖W_h‖_2$", "$‖W_h‖_2$ of the RNN"), 0.5, 1.5, 0.05),
    Chart(
        Text("梯度随距离的变化（对数轴）", "The gradient by distance (log axis)"),
        x="steps",
        x_label=Text("$t - 1$", "$t - 1$"),
        y_label=Text("谱范数", "spectral norm"),
        lines=(
            Line(
                "path_1",
                Text("单元 1 的直接路径：$f$ 的乘积", "direct path of cell 1: the product of its $f$"),
            ),
            Line("whole", Text("完整的 $‖∂c_t/∂c_1‖_2$", "the whole $‖∂c_t/∂c_1‖_2$")),
            Line("rnn", Text("RNN 的 $‖∂h_t/∂h_1‖_2$", "the RNN's $‖∂h_t/∂h_1‖_2$")),
        ),
        log_y=True,
    ),
    Facts(
        (
            (Text("单元 1 的 $f$，最后一步", "$f$ of cell 1 at the last step"), ("f_last", 0, 0), 4),
            (Text("单元 1 的直接路径", "direct path of cell 1"), ("path_1_last", 0, 0), 12),
            (Text("单元 2 的直接路径", "direct path of cell 2"), ("path_2_last", 0, 0), 12),
            (Text("完整的 $‖∂c_{33}/∂c_1‖_2$", "the whole $‖∂c_{33}/∂c_1‖_2$"), ("whole_last", 0, 0), 12),
            (Text("RNN 的 $‖∂h_{33}/∂h_1‖_2$", "the RNN's $‖∂h_{33}/∂h_1‖_2$"), ("rnn_last", 0, 0), 12),
        ),
        Text("隔 32 步", "Over 32 steps"),
    ),
    Prose(
        Text(
            "消失得到了**缓解**，没有**根治**：只要 $f < 1$，直接路径就还是指数衰减，在对数轴上是一条往下的"
            "线，只是平缓得多；而 $f$ 要开多大，是网络自己从 $[h_{t-1}, x_t]$ 学的。初始化时常把遗忘门的偏"
            "置设成 1，让它一开始就开着一半多。",
            "Vanishing is **mitigated**, not **cured**. With $f < 1$ the direct path still decays "
            "exponentially: on the log axis it is a line that goes down, only less steeply. And how far $f$ "
            "opens, the network has to learn from $[h_{t-1}, x_t]$. The bias of forget gates often starts at "
            "1, so that they are more than half open from the beginning.",
        )
    ),
)

GRU = (
    Heading(Text("更简单的亲戚：GRU", "A simpler relative: the GRU")),
    Prose(
        Text(
            "**GRU** 只有 $h$，没有单独的记忆，门也只有两个。更新门 $z$ 一身二任：留下旧状态的 $z$，其余 "
            "$1 - z$ 写进新的。重置门 $r$ 管候选值 $n$ 看得见多少过去。直接路径是各步 $z$ 的乘积。\n\n"
            "约定有两种，读公式时要看清：这里和 PyTorch 一样，$z = 1$ 是**保留**，重置门在乘完矩阵**之后**"
            "才起作用；也有文献把 $z$ 反过来写，原论文则让重置门在乘矩阵之前起作用。",
            "A **GRU** has no memory apart from $h$, and two gates. The update gate $z$ does two things: it "
            "keeps $z$ of the old state and lets in $1 - z$ of the new. The reset gate $r$ says how much of "
            "the past the candidate $n$ sees. The direct path is the product of the $z$.\n\n"
            "There are two conventions, so look twice at a formula. Here, as in PyTorch, $z = 1$ **keeps**, "
            "and the reset acts **after** the matrix. Some write $z$ the other way round, and in the first "
            "paper the reset acts before the matrix.",
        )
    ),
    Formula(r"r_t = \sigma(W_r [h_{t-1}, x_t] + b_r)"),
    Formula(r"z_t = \sigma(W_z [h_{t-1}, x_t] + b_z)"),
    Formula(r"n_t = \tanh(W_x x_t + b_x + r_t \odot (W_h h_{t-1} + b_h))"),
    Formula(r"h_t = (1 - z_t) \odot n_t + z_t \odot h_{t-1}"),
    Matrices(
        (
            Shown("W_rz", "W_{rz}", "gates_gru", "read", decimals=1),
            Shown("b_rz", "b_{rz}", "gates_gru", decimals=1),
            Shown("W_nx", "W_x", "cells", "features", decimals=1),
            Shown("b_nx", "b_x", "cells", decimals=1),
            Shown("W_nh", "W_h", "cells", "cells", decimals=1),
            Shown("b_nh", "b_h", "cells", decimals=1),
        ),
        Text("权重", "The weights"),
    ),
    Matrices(
        (
            Shown("R_gru", "r", "cells", "words", "weights"),
            Shown("Z_gru", "z", "cells", "words", "weights"),
            Shown("N_gru", "n", "cells", "words", "scores"),
            Shown("G_gru", "h", "cells", "words", "scores", 4),
        ),
        Text("同样五个词", "The same five words"),
    ),
)

CHECK = (
    Question(
        key="memory",
        ask=Text(
            "读完第 3 个词，单元 1 的记忆是多少？用 $f$、$i$、$\\tilde{c}$ 的第 3 列和 $c$ 的第 2 列来算。",
            "What is the memory of cell 1 after the 3rd word? Use the third columns of $f$, $i$ and "
            "$\\tilde{c}$ and the second of $c$.",
        ),
        answer=("c_3", 0, 0),
        mistakes=(
            Mistake(
                ("fc_3", 0, 0),
                Text(
                    "这只是留下的旧记忆，还要加上写入的。",
                    "That is what stays of the old. Add what is written.",
                ),
            ),
            Mistake(
                ("ic_3", 0, 0),
                Text(
                    "这只是写入的，还要加上留下的旧记忆。",
                    "That is what is written. Add what stays of the old.",
                ),
            ),
            Mistake(
                ("unforgotten", 0, 0),
                Text("旧记忆要先乘以遗忘门。", "The old memory has to be multiplied by the forget gate."),
            ),
        ),
        why=Text(
            "$f × c_2 + i × \\tilde{c}$：«fc_3[0,0]:4» + «ic_3[0,0]:4» = «c_3[0,0]:4»。",
            "$f × c_2 + i × \\tilde{c}$: «fc_3[0,0]:4» + «ic_3[0,0]:4» = «c_3[0,0]:4».",
        ),
    ),
    Question(
        key="needed",
        ask=Text(
            "要让直接路径在 100 步之后还剩一半，每一步的 $f$ 要多大？",
            "For the direct path to have half left after 100 steps, how large must $f$ be in each?",
        ),
        answer=("needed", 0, 0),
        decimals=3,
        mistakes=(
            Mistake(
                ("needed_linear", 0, 0),
                Text(
                    "这是把一半平摊到 100 步，每步减去一样多。可是每步是**乘**。",
                    "That shares out the half over 100 steps, taking as much off in each. But each step "
                    "**multiplies**.",
                ),
            ),
            Mistake(
                ("half", 0, 0),
                Text("这样一步就只剩一半了。", "With that, half is left after one step."),
            ),
        ),
        why=Text(
            "$f^{100} = 1/2$，所以 $f = (1/2)^{1/100} =$ «needed[0,0]:4»。",
            "$f^{100} = 1/2$, so $f = (1/2)^{1/100} =$ «needed[0,0]:4».",
        ),
    ),
    Question(
        key="gru",
        ask=Text(
            "GRU 读完第 2 个词，单元 1 的 $h$ 是多少？用 $z$ 和 $n$ 的第 2 列和 $h$ 的第 1 列来算。",
            "In the GRU, what is $h$ of cell 1 after the 2nd word? Use the second columns of $z$ and $n$ and "
            "the first of $h$.",
        ),
        answer=("g_2", 0, 0),
        mistakes=(
            Mistake(
                ("g_wrong", 0, 0),
                Text(
                    "$z$ 弄反了：这里 $z$ 是**保留**旧状态的份额。",
                    "$z$ is the wrong way round: here it is the share of the old state that **stays**.",
                ),
            ),
            Mistake(
                ("n_2", 0, 0),
                Text("这是候选值，只有一部分写进来。", "That is the candidate. Only a part of it goes in."),
            ),
        ),
        why=Text(
            "$(1 - z) × n + z × h_1$：«taken_2[0,0]:4» + «stays_2[0,0]:4» = «g_2[0,0]:4»。",
            "$(1 - z) × n + z × h_1$: «taken_2[0,0]:4» + «stays_2[0,0]:4» = «g_2[0,0]:4».",
        ),
    ),
)

LESSON = Lesson(
    slug="lstm",
    title=Text("LSTM 的门", "The gates of an LSTM"),
    insight=Text(
        "门决定记忆留多少、写多少；梯度沿记忆直走，只乘遗忘门，消失得慢了，但没有根治。",
        "Gates say what a memory keeps and what is written. Along it a gradient meets the forget gates "
        "alone: vanishing is slowed down, not cured.",
    ),
    question=Text(
        "RNN 的状态每一步都被改写一遍，很难把一件事记住几十步。能不能让网络自己决定：这个留着，那个忘掉？",
        "An RNN writes its state anew at every step and can hardly keep anything for long. Could a network "
        "decide for itself what to keep and what to forget?",
    ),
    sheet=SHEET,
    axes={
        "words": WORDS,
        "cells": (Text("单元 1", "cell 1"), Text("单元 2", "cell 2")),
        "features": (Text("内容", "content"), Text("写", "write")),
        "gates": tuple(f"{gate} {k}" for gate in ("f", "i", "o", "c̃") for k in (1, 2)),
        "gates_gru": tuple(f"{gate} {k}" for gate in ("r", "z") for k in (1, 2)),
        "read": ("h 1", "h 2", Text("内容", "content"), Text("写", "write")),
    },
    predict=PREDICT,
    body=GATES + GRADIENT + GRU,
    check=CHECK,
    boundary=Text(
        "这里的权重是手写的，好让门各司其职；训练出来的门很少这样整齐，一个门开着，也不说明那个单元代表什么。"
        "图上的“完整梯度”是 $c$ 对 $c$ 的，两个单元，这一串输入；换了输入，门就变，梯度也变。\n\n"
        "门管的是**记多久**，管不了**记多少**：句子再长，也只有这么几个数可以装。而且一步还是要等上一步，"
        "训练时也一样。",
        "The weights here are written by hand, so that each gate has its task. Trained gates are seldom as "
        "tidy, and an open gate does not say what its cell stands for. The whole gradient in the chart is "
        "that of $c$ with respect to $c$, for two cells and this input: with another one, gates and "
        "gradient are others.\n\n"
        "Gates see to **how long** something is kept, not to **how much**: however long the sentence, there "
        "are only these few numbers to hold it. And steps still wait for each other, in training as well.",
    ),
    transfer=Transfer(
        Text(
            "把遗忘门和输入门都固定为 1，记忆就变成 $c_t = c_{t-1} + \\tilde{c}_t$。它的直接路径的导数是多"
            "少？如果“步”不是时间，而是网络的**层**，这像什么？",
            "Fix the forget and the input gate at 1, and the memory is $c_t = c_{t-1} + \\tilde{c}_t$. "
            "What is the derivative of its direct path? And if steps are not time but the **layers** of a "
            "network, what does it resemble?",
        ),
        Text(
            "导数恒为 1，走多远都不衰减；代价是什么也忘不掉，记忆只增不减地累加下去。\n\n"
            "换成层，就是 $x ← x + f(x)$：**残差**连接。Transformer 的每个子层都这样把结果加回去，"
            "所以几十层也训练得动。两者是同一个办法：给梯度留一条只做加法的路。",
            "It is 1 at any distance, with no decay. The price is that nothing is ever forgotten: everything "
            "is added up.\n\n"
            "In layers it is $x ← x + f(x)$, the **residual** connection. Every sub-layer of a Transformer "
            "adds its result back in this way, so that dozens of layers can be trained. Both are the same "
            "remedy: a way for gradients on which there is nothing but addition.",
        ),
    ),
    claims=("C3",),
)
