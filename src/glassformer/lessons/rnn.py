"""A recurrent network step by step, and why its gradient fades: its Jacobians multiplied, and their bound."""

from ..sheet import Sheet
from .lesson import (
    Chart,
    Edits,
    Facts,
    Formula,
    Heading,
    Label,
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
from .recurrence import constants, norms, products, states

WORDS: tuple[Label, ...] = (
    Text("猫", "cat"),
    Text("追", "chases"),
    Text("老鼠", "mouse"),
    Text("它", "it"),
    Text("跑", "runs"),
)
UNITS: tuple[Label, ...] = (Text("单元 1", "unit 1"), Text("单元 2", "unit 2"))
SHORT, STEPS = len(WORDS), 41

X = [[1, 0, 0.8, 0.3, 0], [0, 1, 0, 0, 0.9]]
SILENCE = [[0] * SHORT] * 2
B = [[0.1], [-0.1]]
TURN = [[0.8, -0.6], [0.6, 0.8]]
SHEAR = [[0.5, 1], [0, 0.5]]
START: Edits = {"X": X, "b": B, "W": TURN, "sigma": [[0.9]]}
ABOVE: Edits = {**START, "sigma": [[1.2]]}

SHEET = Sheet()
constants(SHEET)
SHEET.const("X", X)
SHEET.const("W_x", [[0.5, -0.25], [0.25, 0.5]])
SHEET.const("b", B)
SHEET.const("W", TURN)
SHEET.const("sigma", [[0.9]])
SHEET.const("zero", 0)

# W says in which directions, sigma how much: the largest singular value of W_h is sigma. Of W = 0 it is 0.
norms(SHEET, "norm_W", ["W"])
SHEET.less("some_W", "zero", "norm_W")
SHEET.sub("no_W", "one", "some_W")
SHEET.add("divisor", "norm_W", "no_W")
SHEET.div("gain", "sigma", "divisor")
SHEET.mul("W_h", "gain", "W")
norms(SHEET, "norm_W_h", ["W_h"])

# The five words again and again: the first five steps are the sentence.
SHEET.const("word", [[t % SHORT] for t in range(STEPS)])
SHEET.onehot("which_word", "word", SHORT)
SHEET.transpose("read", "which_word")
SHEET.matmul("X_read", "X", "read")
SHEET.matmul("W_xX", "W_x", "X_read")
SHEET.add("U_read", "W_xX", "b")
HIDDEN = states(SHEET, "", "U_read", STEPS)
SHEET.slice("U", "U_read", columns=(0, SHORT))
SHEET.concat("H", *HIDDEN[:SHORT])

# ∂h_t/∂h_1, its norm, and the bound of it, ‖W_h‖₂ to the power of the distance.
norms(SHEET, "norm", products(SHEET, HIDDEN))
SHEET.range("steps", STEPS)
SHEET.const("bound_0", 1)
for _t in range(1, STEPS):
    SHEET.mul(f"bound_{_t}", f"bound_{_t - 1}", "norm_W_h")
SHEET.concat("bound", *(f"bound_{t}" for t in range(STEPS)), axis="rows")
SHEET.concat("slopes", *(f"slope_{t}" for t in range(2, SHORT + 1)))
SHEET.const("distance", 4)
SHEET.onehot("chosen", "distance", STEPS)
SHEET.matmul("norm_here", "chosen", "norm")
SHEET.matmul("bound_here", "chosen", "bound")

# What the questions ask for: another second word, the norm far away, four steps taken for a sum, weights.
SHEET.const("nudge", [[0, 1, 0, 0, 0], [0, 0, 0, 0, 0]])
SHEET.add("X_other", "X", "nudge")
SHEET.matmul("W_xX_other", "W_x", "X_other")
SHEET.add("U_other", "W_xX_other", "b")
SHEET.concat("H_other", *states(SHEET, "_other", "U_other", SHORT))
SHEET.sub("moves", "H_other", "H")
SHEET.mul("moves_squared", "moves", "moves")
SHEET.sum("moved", "moves_squared", over="rows")
SHEET.less("differ", "zero", "moved")
SHEET.sum("how_many", "differ", over="all")
SHEET.slice("farthest", "norm", rows=(STEPS - 1, STEPS))
SHEET.slice("farthest_bound", "bound", rows=(STEPS - 1, STEPS))
SHEET.less("explodes", "one", "farthest")
SHEET.less("bound_explodes", "one", "farthest_bound")
SHEET.const("four", 4)
SHEET.const("five", 5)
SHEET.const("ten", 10)
SHEET.mul("four_times", "four", "sigma")
for _name in ("W_h", "W_x", "b"):
    SHEET.mul(f"nothing_{_name}", _name, "zero")
    SHEET.exp(f"ones_{_name}", f"nothing_{_name}")
    SHEET.sum(f"count_{_name}", f"ones_{_name}", over="all")
SHEET.add("count_W", "count_W_h", "count_W_x")
SHEET.add("weights", "count_W", "count_b")
SHEET.mul("weights_ten", "weights", "ten")

PREDICT = (
    Question(
        key="later",
        ask=Text(
            "五个词从左到右读进去，每读一个就有一个新状态 $h_1, …, h_5$。如果把第 **2** 个词换掉，五个状态里"
            "有几个会变？",
            "Five words are read from left to right, and each gives a new state, $h_1, …, h_5$. The **2nd** "
            "word is replaced. How many of the five states change?",
        ),
        answer=("how_many", 0, 0),
        decimals=0,
        mistakes=(
            Mistake(
                ("one", 0, 0),
                Text(
                    "$h_2$ 变了，$h_3$ 要用 $h_2$ 来算，也就跟着变，后面的也一样。",
                    "$h_2$ changes. But $h_3$ is made of $h_2$, so it changes as well, and so on.",
                ),
            ),
            Mistake(
                ("five", 0, 0),
                Text(
                    "$h_1$ 在读第 2 个词之前就算好了，后面的词改不了它。",
                    "$h_1$ was there before the 2nd word was read. What comes later cannot change it.",
                ),
            ),
        ),
        why=Text(
            "从 $h_2$ 起，每个状态都由前一个状态算出来，改动就一路传下去：«how_many[0,0]:0» 个。"
            "前面的状态不会变。",
            "From $h_2$ on, each state is made from the one before and hands the change on: "
            "«how_many[0,0]:0» of them. Those before stay.",
        ),
    ),
    Question(
        key="above",
        ask=Text(
            "每走一步，旧状态先乘一个矩阵 $W_h$，一点小改动最多被它放大 $σ$ 倍（$σ$ 是它的**最大奇异值**，下"
            "面会讲），再过一次 $\\tanh$。设 $σ = 1.2$，走 40 步：$h_1$ 的一点小改动，传到 $h_{41}$ 时会被放"
            "大吗？",
            "In each step the old state is multiplied by a matrix $W_h$, which enlarges a small change at "
            "most $σ$ times (its **largest singular value**, of which more below), and then goes through "
            "tanh. Let $σ$ be 1.2, and take 40 steps. Does a small change of $h_1$ arrive at $h_{41}$ "
            "enlarged?",
        ),
        answer=("explodes", 0, 0),
        under=ABOVE,
        options=((Text("会", "yes"), 1.0), (Text("不会", "no"), 0.0)),
        mistakes=(
            Mistake(
                ("bound_explodes", 0, 0),
                Text(
                    "$1.2^{40}$ 是 «farthest_bound[0,0]:0»，可这只是上界。每一步还要乘以 $\\tanh$ 的斜率 "
                    "$1 - h^2$，它不超过 1。",
                    "$1.2^{40}$ is «farthest_bound[0,0]:0», but that is a bound. Every step is also "
                    "multiplied by the slope of tanh, $1 - h^2$, which is at most 1.",
                ),
            ),
        ),
        why=Text(
            "放大倍数最多是 «farthest[0,0]:2»，上界却是 «farthest_bound[0,0]:0»。"
            "大于 1 是爆炸的**必要**条件，不是充分条件。",
            "It arrives at most «farthest[0,0]:2» times as large, while the bound is "
            "«farthest_bound[0,0]:0». Above 1 is **necessary** for an explosion, not sufficient.",
        ),
    ),
)

UNROLLED = (
    Prose(
        Text(
            "**循环神经网络**（RNN）一个词一个词地读。它有一个**状态** $h$，读第 $t$ 个词 $x_t$ 时，把旧状态"
            "和新词合成新状态。每一步用的都是**同一组权重** $W_h$、$W_x$、$b$，所以句子多长都能读。"
            "开始时 $h_0 = 0$。\n\n"
            "这里按循环网络的习惯用**列向量**：$W_h h$ 是矩阵乘一列，下面的 $X$ 和 $H$ 一列是一个词。"
            "讲注意力的各页用**行向量**，一行一个词，矩阵乘在右边。",
            "A **recurrent network** (RNN) reads word by word. It has a **state** $h$. When it reads the "
            "word $x_t$, it makes a new state of the old one and the word. Every step uses the **same "
            "weights** $W_h$, $W_x$ and $b$, so it can read sentences of any length. It begins with $h_0 = "
            "0$.\n\n"
            "As usual for recurrent networks, vectors are **columns** here: $W_h h$ is a matrix times a "
            "column, and each column of $X$ and $H$ below is a word. The pages on attention use **rows**: "
            "a row for each word, and matrices stand on the right.",
        )
    ),
    Formula(r"h_t = \tanh(W_h h_{t-1} + W_x x_t + b)"),
    Presets(
        Text("试一试", "Try"),
        (
            Preset("start", Text("一开始的数", "as at first"), START),
            Preset("above", Text("σ 大于 1", "σ above 1"), ABOVE),
            Preset(
                "silent",
                Text("σ 大于 1，输入全是 0", "σ above 1, no input"),
                {**ABOVE, "X": SILENCE, "b": [[0], [0]]},
            ),
            Preset(
                "shear",
                Text("再换一个 $W$", "the same with another $W$"),
                {**ABOVE, "X": SILENCE, "b": [[0], [0]], "W": SHEAR},
            ),
        ),
    ),
    Matrices(
        (
            Shown("X", "X", "features", "words", decimals=1),
            Shown("W_x", "W_x", "units", "features"),
            Shown("W_h", "W_h", "units", "units"),
            Shown("b", "b", "units"),
        ),
        Text("输入和权重", "The input and the weights"),
    ),
    Matrices(
        (
            Shown("U", r"u_t = W_x x_t + b", "units", "words", "scores"),
            Shown("H", r"H", "units", "words", "scores", 4),
        ),
        Text("五步展开：每一列是读完那个词之后的状态", "Unrolled: each column is the state after that word"),
    ),
    Prose(
        Text(
            "点开 $X$ 第 1 列的一个数，改掉它：后面**每一个**状态都变了，格子里的小字是变了多少，大体上离得越"
            "远变得越少。再改最后一列：只有 $h_5$ 变。\n\n"
            "下面把一个单元一步步算出来：$Wh_t$ 是 $W_h h_{t-1}$，加上 $u_t$ 得到 $a_t$，再取 $\\tanh$ 就是 "
            "$h_t$。",
            "Open a number in the first column of $X$ and change it. **Every** later state changes; the "
            "small figures say by how much, and on the whole it is less the further away. Now change the "
            "last column: only $h_5$ does.\n\n"
            "Here is one unit step by step: $Wh_t$ is $W_h h_{t-1}$, with $u_t$ added it is $a_t$, and the "
            "tanh of that is $h_t$.",
        )
    ),
    Query(
        "units",
        Text("看哪个单元？", "Which unit?"),
        (
            "a_1",
            "h_1",
            *(f"{name}_{t}" for t in range(2, SHORT + 1) for name in ("Wh", "a", "h")),
        ),
    ),
    Ledger(
        (
            ("X", "X", Text("输入：一列一个词", "the input, one word a column")),
            ("W_x", "W_x", Text("读词的权重，每一步都是它", "weights for the word, the same at every step")),
            ("W_h", "W_h", Text("读旧状态的权重，每一步都是它", "weights for the old state, the same too")),
            ("b", "b", Text("偏置，每一步都是它", "the bias, the same too")),
            ("H", "H", Text("状态：一列一步", "the states, one step a column")),
            ("J_2", "J_t", Text("第 $t$ 步的雅可比矩阵", "the Jacobian of step $t$")),
        )
    ),
)

GRADIENT = (
    Heading(Text("梯度：一步一个矩阵，连乘", "The gradient: a matrix a step, multiplied")),
    Prose(
        Text(
            "训练时，后面的误差要传回前面的词（**随时间反向传播**，BPTT）。传得回多少，就看前面的状态动一点"
            "点，后面的状态动多少。一步的答案是**雅可比矩阵** $J_t$：先乘 $W_h$，再乘 $\\tanh$ 的斜率 "
            "$1 - h_t^2$。隔着几步，就把几个 $J$ 乘起来。",
            "In training, an error at a late word has to go back to early ones (**back-propagation through "
            "time**, BPTT). How much of it arrives is how far a late state moves when an early one moves a "
            "little. For one step that is the **Jacobian** $J_t$: times $W_h$, then times the slope of "
            "tanh, $1 - h_t^2$. Over several steps, their $J$ are multiplied.",
        )
    ),
    Formula(r"J_t = \frac{\partial h_t}{\partial h_{t-1}} = \text{diag}(1 - h_t^2)\, W_h"),
    Formula(r"\frac{\partial h_t}{\partial h_k} = J_t\, J_{t-1} \cdots J_{k+1}"),
    Matrices(
        (Shown("slopes", r"1 - h_t^2", "units", "later", "weights"),),
        Text("斜率：一列一步，都不超过 1", "The slopes, one step a column: none above 1"),
    ),
    Matrices(
        tuple(Shown(f"J_{t}", f"J_{t}", "units", "units", "scores") for t in range(2, SHORT + 1)),
        Text("每一步的雅可比矩阵", "The Jacobian of each step"),
    ),
    Matrices(
        tuple(
            Shown(
                f"P_{t}",
                rf"\frac{{\partial h_{t}}}{{\partial h_1}} = {' '.join(f'J_{k}' for k in range(t, 1, -1))}",
                "units",
                "units",
                "scores",
                4,
            )
            for t in (3, SHORT)
        ),
        Text("连乘", "Multiplied"),
    ),
    Heading(Text("隔得越远，剩得越少", "The further, the less is left")),
    Prose(
        Text(
            "一个矩阵能把向量拉长多少倍，最多就是它的**最大奇异值**，也叫**谱范数**，记作 $‖·‖_2$。乘积的谱"
            "范数不超过谱范数的乘积，而斜率不超过 1，所以有上界 $‖W_h‖_2^{t-k}$。2 × 2 矩阵的最大奇异值有现"
            "成的公式，这一页就是这样算的，不是近似。\n\n"
            "这里 $W_h$ 由 $W$ 缩放而来，最大奇异值正好是 $σ$。拉动滑块：$σ < 1$ 时梯度必然**消失**；"
            "$σ > 1$ 时它**可能**爆炸，也可能不会。为了看得远，五个词反复地读，一共 41 步。",
            "How many times longer a matrix can make a vector is its **largest singular value**, or "
            "**spectral norm**, written $‖·‖_2$. That of a product is at most the product of the norms, and "
            "slopes are at most 1. Hence the bound $‖W_h‖_2^{t-k}$. For 2 × 2 matrices there is a "
            "formula for the largest singular value, which this page uses: no approximation.\n\n"
            "$W_h$ is $W$, scaled so that its largest singular value is $σ$. Move the slider. With $σ < 1$ "
            "the gradient must **vanish**. With $σ > 1$ it **may** explode, or not. To see far, the five "
            "words are read again and again, for 41 steps.",
        )
    ),
    Formula(r"\left\| \frac{\partial h_t}{\partial h_k} \right\|_2 \le \|W_h\|_2^{\,t-k}"),
    Formula(r"\left\|\begin{pmatrix} a & b \\ c & d \end{pmatrix}\right\|_2 = \frac{\sqrt{p} + \sqrt{q}}{2}"),
    Formula(r"p = (a+d)^2 + (c-b)^2"),
    Formula(r"q = (a-d)^2 + (b+c)^2"),
    Slider("sigma", Text("最大奇异值 $σ = ‖W_h‖_2$", "Largest singular value $σ = ‖W_h‖_2$"), 0.1, 3, 0.05),
    Slider("distance", Text("隔几步：$t - k$，$k = 1$", "Distance $t - k$, with $k = 1$"), 0, STEPS - 1),
    Matrices(
        (Shown("W", "W", "units", "units"),),
        Text("$W$ 定方向，$σ$ 定大小", "$W$ sets the directions, $σ$ the size"),
    ),
    Facts(
        (
            (Text("$‖W_h‖_2$，由 $W_h$ 算出", "$‖W_h‖_2$, worked out from $W_h$"), ("norm_W_h", 0, 0), 4),
            (
                Text("隔这么远时的 $‖∂h_t/∂h_k‖_2$", "$‖∂h_t/∂h_k‖_2$ at this distance"),
                ("norm_here", 0, 0),
                9,
            ),
            (Text("上界 $‖W_h‖_2^{t-k}$", "the bound $‖W_h‖_2^{t-k}$"), ("bound_here", 0, 0), 9),
        ),
    ),
    Chart(
        Text("$‖∂h_t/∂h_1‖_2$ 随距离的变化（对数轴）", "$‖∂h_t/∂h_1‖_2$ by distance (log axis)"),
        x="steps",
        x_label=Text("$t - 1$", "$t - 1$"),
        y_label=Text("谱范数", "spectral norm"),
        lines=(
            Line("norm", Text("梯度", "the gradient")),
            Line("bound", Text("上界 $σ^{t-1}$", "the bound $σ^{t-1}$")),
        ),
        marks=(("distance", "norm_here"), ("distance", "bound_here")),
        log_y=True,
    ),
    Prose(
        Text(
            "用“试一试”那几个按钮比一比。“σ 大于 1”：上界往上走，梯度却往下走，因为状态大了，斜率就小。"
            "“输入全是 0”：状态一直是 0，斜率恰好是 1，这个 $W$ 又把每个方向都拉长 $σ$ 倍，于是梯度贴着上界"
            "**爆炸**。“再换一个 $W$”：斜率还是 1，$σ$ 也还是 1.2，可是被拉长的方向下一步就不再被拉长，梯度照"
            "样消失。所以 $σ > 1$ 是爆炸的必要条件，不是充分条件。\n\n"
            "爆炸有简单的对策：梯度太长就按比例缩短（**梯度裁剪**）。消失没有这么简单：剩下的已经太少，"
            "放大了也分不清。下一课用门来对付它。",
            "Compare the buttons of “Try”. “σ above 1”: the bound goes up, the gradient goes down, for "
            "larger states have smaller slopes. “No input”: states stay 0, slopes are exactly 1, this $W$ "
            "makes every direction $σ$ times longer, and the gradient **explodes** along its bound. "
            "“Another $W$”: slopes are still 1 and $σ$ is still 1.2, but the direction that is made longer "
            "is not made longer again in the next step, and the gradient vanishes. So $σ > 1$ is necessary "
            "for an explosion, not sufficient.\n\n"
            "Against explosion there is a simple remedy: make a gradient that is too long shorter "
            "(**clipping**). Vanishing has none as simple: too little is left to tell one cause from "
            "another, however much it is enlarged. The next lesson meets it with gates.",
        )
    ),
)

CHECK = (
    Question(
        key="jacobian",
        ask=Text(
            "$h_1$ 的单元 1 动一点点，$h_2$ 的单元 2 动它的多少倍？用 $W_h$ 和斜率算。",
            "Unit 1 of $h_1$ moves a little. How many times as far does unit 2 of $h_2$ move? Use $W_h$ and "
            "the slopes.",
        ),
        answer=("J_2", 1, 0),
        mistakes=(
            Mistake(
                ("W_h", 1, 0),
                Text(
                    "这只是权重。$\\tanh$ 的斜率 $1 - h^2$ 也要乘上去。",
                    "That is the weight alone. Multiply by the slope of tanh, $1 - h^2$.",
                ),
            ),
            Mistake(
                ("J_2", 0, 1),
                Text(
                    "行和列弄反了：行是动的结果（$h_2$ 的单元），列是动的原因（$h_1$ 的单元）。",
                    "Row and column are swapped: rows are what moves (units of $h_2$), columns what makes it "
                    "move (units of $h_1$).",
                ),
            ),
        ),
        why=Text(
            "$J_2$ 的第 2 行第 1 列：斜率 «slope_2[1,0]:4» 乘以权重 «W_h[1,0]:4»，得 «J_2[1,0]:4»。",
            "Row 2, column 1 of $J_2$: the slope «slope_2[1,0]:4» times the weight «W_h[1,0]:4» is "
            "«J_2[1,0]:4».",
        ),
    ),
    Question(
        key="bound",
        ask=Text(
            "$‖W_h‖_2 = 0.5$。不管输入是什么，$‖∂h_5/∂h_1‖_2$ 最大是多少？",
            "$‖W_h‖_2 = 0.5$. Whatever the input is, how large can $‖∂h_5/∂h_1‖_2$ be at most?",
        ),
        answer=("bound", 4, 0),
        under={"sigma": [[0.5]]},
        decimals=4,
        mistakes=(
            Mistake(("bound", 1, 0), Text("这是一步。", "That is one step.")),
            Mistake(
                ("bound", 5, 0),
                Text(
                    "从 $h_1$ 到 $h_5$ 是四步，不是五步。", "From $h_1$ to $h_5$ it is four steps, not five."
                ),
            ),
            Mistake(
                ("four_times", 0, 0),
                Text(
                    "四步是四个 0.5 相**乘**，不是相加。",
                    "Over four steps, four times 0.5 are **multiplied**, not added.",
                ),
            ),
        ),
        why=Text(
            "$0.5^4 =$ «bound[4,0]:4»。再过四步，又要乘上这么多。",
            "$0.5^4 =$ «bound[4,0]:4». And over four more steps, by as much again.",
        ),
    ),
    Question(
        key="weights",
        ask=Text(
            "句子从 5 个词变成 10 个词。$W_h$、$W_x$ 和 $b$ 里一共要有多少个数？",
            "The sentence becomes 10 words long instead of 5. How many numbers are needed in $W_h$, $W_x$ "
            "and $b$ together?",
        ),
        answer=("weights", 0, 0),
        decimals=0,
        mistakes=(
            Mistake(
                ("weights_ten", 0, 0),
                Text(
                    "那是每一步各有一组权重。循环网络每一步用的是同一组。",
                    "So many it would be with weights of its own for each step. All steps use the same.",
                ),
            ),
        ),
        why=Text(
            "«count_W_h[0,0]:0» + «count_W_x[0,0]:0» + «count_b[0,0]:0» = «weights[0,0]:0»，和句子长短无关。",
            "«count_W_h[0,0]:0» + «count_W_x[0,0]:0» + «count_b[0,0]:0» = «weights[0,0]:0», whatever the "
            "length of the sentence.",
        ),
    ),
)

LESSON = Lesson(
    slug="rnn",
    title=Text("循环神经网络，一步一步", "A recurrent network, step by step"),
    insight=Text(
        "同一组权重一步步读下去；梯度是每一步矩阵的连乘，最大奇异值小于 1 就必然消失，大于 1 才可能爆炸。",
        "One set of weights reads step by step. The gradient is a product of one matrix a step: with a "
        "largest singular value below 1 it vanishes, and only above 1 can it explode.",
    ),
    question=Text(
        "一句话一个词一个词地读，只带着一个状态往下走。读到最后，还记得开头吗？训练时，错误又传得回开头吗？",
        "A sentence is read word by word, with nothing but a state to carry on. At the end, is the beginning "
        "still remembered? And in training, does an error find its way back to it?",
    ),
    sheet=SHEET,
    axes={
        "words": WORDS,
        "later": WORDS[1:],
        "units": UNITS,
        "features": (Text("名词", "noun"), Text("动词", "verb")),
    },
    predict=PREDICT,
    body=UNROLLED + GRADIENT,
    check=CHECK,
    boundary=Text(
        "这里的权重是手写的，只有两个单元，输入也只有两个数。上界对任意宽度的 $\\tanh$ 网络都成立，"
        "但它说的是**谱范数**：换一种范数，数字就不同。\n\n"
        "这里量的是状态对状态的导数，也就是对**微小**改动的反应。它消失，不等于网络一定记不住：状态里可以留"
        "下信息，只是靠梯度很难**学会**去留。损失的梯度还要再乘别的因子；真正训练长文本时，误差往往只往回传"
        "固定的若干步（**截断**的 BPTT），再远就一点也传不到了。",
        "The weights here are written by hand, for two units and inputs of two numbers. The bound holds for "
        "tanh networks of any width, but it speaks of the **spectral norm**: another norm gives other "
        "numbers.\n\n"
        "What is measured is the derivative of a state with respect to a state, the answer to **small** "
        "changes. That it vanishes does not mean that a network cannot remember: a state may well hold "
        "something. It means that gradients can hardly **teach** it to. The gradient of a loss has further "
        "factors; and in training on long texts, errors are often sent back a fixed number of steps only "
        "(**truncated** BPTT), and beyond that nothing arrives at all.",
    ),
    transfer=Transfer(
        Text(
            "一个 50 层的前馈网络，每层也是 $x ← \\tanh(Wx)$，但各层的 $W$ 不同。它的梯度会遇到同样的问题吗？"
            "如果每层改成 $x ← x + \\tanh(Wx)$ 呢？",
            "A feed-forward network of 50 layers computes $x ← \\tanh(Wx)$ in each, with another $W$ in "
            "every layer. Does its gradient meet the same problem? And with $x ← x + \\tanh(Wx)$ in each "
            "layer?",
        ),
        Text(
            "会。从最后一层到第一层，梯度也是 50 个 $\\text{diag}(1 - h^2)\\,W$ 的连乘，只不过每个 $W$ 不同，"
            "上界是各层最大奇异值的乘积。\n\n"
            "改成相加以后，每层的雅可比矩阵是 $I + \\text{diag}(1 - h^2)\\,W$：就算后一项很小，还有 $I$ "
            "这条直路，梯度不必逐层缩小。这就是**残差**连接，Transformer 的每个块里都有。",
            "It does. From the last layer to the first, the gradient is a product of 50 factors "
            "$\\text{diag}(1 - h^2)\\,W$ as well, only that each has its own $W$: the bound is the product "
            "of the layers' largest singular values.\n\n"
            "With the sum, the Jacobian of a layer is $I + \\text{diag}(1 - h^2)\\,W$. Even where the second "
            "term is small, there is the straight way $I$, and gradients need not shrink at every layer. "
            "That is a **residual** connection; every Transformer block has them.",
        ),
    ),
    claims=("C2",),
)
