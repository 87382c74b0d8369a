"""Build a GPT. What training is, in numbers to check, and then a training of one's own."""

from ..sheet import Sheet
from .lesson import (
    Chart,
    Code,
    Facts,
    Formula,
    Heading,
    Lesson,
    Line,
    Live,
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

VOCABULARY = (Text("小", "the"), Text("猫", "cat"), Text("叫", "ran"), Text("狗", "dog"))
CONTEXTS, TARGETS = [0, 1, 2, 0, 3], [1, 2, 0, 3, 2]  # 小猫叫小狗叫: each token and the one after it
PLACES = len(CONTEXTS)
RATES = 41  # 0, 1, ..., 40: those of the chart
W = [[0, 2, 0.5, -0.5], [0.5, 0, 1, 0], [1, 0.5, 0, 0], [0, 0.5, 0.5, 0]]

SHEET = Sheet()
for _name, _value in {"zero": 0, "one": 1, "V": len(VOCABULARY), "n": PLACES}.items():
    SHEET.const(_name, _value)
SHEET.const("W", W)
SHEET.const("eta", 2)
SHEET.const("x", [[token] for token in CONTEXTS])
SHEET.const("y", [[token] for token in TARGETS])
SHEET.onehot("X", "x", "V")
SHEET.onehot("Y", "y", "V")


def losses(logits: str, truth: str, mark: str = "") -> str:
    """The loss −ln p of every row of logits; the matrices on the way carry a mark."""
    SHEET.softmax(f"P{mark}", logits)
    SHEET.mul(f"PY{mark}", f"P{mark}", truth)
    SHEET.sum(f"p{mark}", f"PY{mark}")
    SHEET.log(f"ln p{mark}", f"p{mark}")
    return SHEET.sub(f"loss{mark}", "zero", f"ln p{mark}")


def mean(name: str, losses: str) -> str:
    SHEET.sum(f"{name} · n", losses, over="rows")
    return SHEET.div(name, f"{name} · n", "n")


SHEET.matmul("Z", "X", "W")
mean("L", losses("Z", "Y"))
SHEET.div("uniform", "one", "V")
SHEET.log("ln_V", "V")
SHEET.exp("perplexity", "L")

# The gradient: of each place's loss by its logits, and of the mean by the numbers of W.
SHEET.sub("D", "P", "Y")
SHEET.transpose("X_T", "X")
SHEET.matmul("G · n", "X_T", "D")
SHEET.div("G", "G · n", "n")
SHEET.less("raises", "G", "zero")
SHEET.mul("G²", "G", "G")
SHEET.sum("slope", "G²", over="all")

# One step, and what it does.
SHEET.mul("step", "eta", "G")
SHEET.sub("W_after", "W", "step")
SHEET.matmul("Z_after", "X", "W_after")
mean("L_after", losses("Z_after", "Y", "_after"))
SHEET.sub("change", "L_after", "L")
SHEET.mul("falls", "eta", "slope")
SHEET.sub("predicted", "zero", "falls")
SHEET.less("worse", "L", "L_after")

# The same step at every rate of the chart: the places one below the other, each with all rates.
SHEET.range("eta_all", RATES)
SHEET.const("place", [[place] for place in range(PLACES) for _ in range(RATES)])
SHEET.onehot("places", "place", PLACES)
SHEET.concat("eta_places", *["eta_all"] * PLACES, axis="rows")
SHEET.matmul("Z_places", "places", "Z")
SHEET.matmul("XG", "X", "G")
SHEET.matmul("XG_places", "places", "XG")
SHEET.mul("steps", "eta_places", "XG_places")
SHEET.sub("Z_steps", "Z_places", "steps")
SHEET.matmul("Y_places", "places", "Y")
losses("Z_steps", "Y_places", "_steps")
_sum = SHEET.slice("loss_1", "loss_steps", rows=(0, RATES))
for _place in range(1, PLACES):
    _loss = SHEET.slice(f"loss_{_place + 1}", "loss_steps", rows=(_place * RATES, (_place + 1) * RATES))
    _sum = SHEET.add(f"loss_1 … {_place + 1}", _sum, _loss)
SHEET.div("L_all", _sum, "n")
SHEET.mul("0 · eta_all", "zero", "eta_all")
SHEET.add("ln_V_all", "0 · eta_all", "ln_V")

# The best that any W can reach: the text's own shares of what follows each token.
SHEET.matmul("counts", "X_T", "Y")
SHEET.sum("times", "counts")
SHEET.div("shares", "counts", "times")
SHEET.matmul("Q", "X", "shares")
SHEET.mul("QY", "Q", "Y")
SHEET.sum("q", "QY")
SHEET.log("ln q", "q")
SHEET.sub("loss_best", "zero", "ln q")
mean("best", "loss_best")

LESSON = Lesson(
    slug="build",
    title=Text("造一个 GPT", "Build a GPT"),
    insight=Text(
        "训练就是一遍遍问“下一个词元是什么”：损失是 $-\\ln p$，梯度是 $p - y$，每一步都沿着梯度的反方向走一"
        "点，让损失变小。",
        "Training asks, over and over, which token comes next: the loss is $-\\ln p$, its gradient $p - y$, "
        "and each step goes a little against the gradient, to a lower loss.",
    ),
    question=Text(
        "模型一开始什么也不知道。一段文字怎样教会它？我们先算清楚一步，再用你自己的文字训练一个。",
        "A model begins knowing nothing. How does a text teach it? First one step in numbers, then a whole "
        "training on a text of your own.",
    ),
    sheet=SHEET,
    axes={
        "before": VOCABULARY,
        "next": VOCABULARY,
        "places": tuple(
            Text(*(f"{a} → {b}" for a, b in zip(VOCABULARY[x], VOCABULARY[y], strict=True)))
            for x, y in zip(CONTEXTS, TARGETS, strict=True)
        ),
        "loss": ("−ln p",),
    },
    predict=(
        Question(
            key="nothing",
            ask=Text(
                "词表里有 $V$ = «V[0,0]:0» 个词元。什么也不知道的模型，给每个词元同样的概率。它的损失 "
                "$-\\ln p$ 是多少？",
                "The vocabulary has $V$ = «V[0,0]:0» tokens. A model that knows nothing gives all of them "
                "the same probability. What is its loss, $-\\ln p$?",
            ),
            answer=("ln_V", 0, 0),
            mistakes=(
                Mistake(
                    ("uniform", 0, 0),
                    Text(
                        "这是概率 $p = 1/V$。损失是 $-\\ln p$。",
                        "That is the probability, $p = 1/V$. The loss is $-\\ln p$.",
                    ),
                ),
            ),
            why=Text(
                "$p = 1/V$，所以损失是 $\\ln V$。训练要从这里往下走；比它还高，就是错得比瞎猜还厉害。",
                "$p = 1/V$, so the loss is $\\ln V$. Training starts here and goes down; a loss above it is "
                "worse than guessing.",
            ),
        ),
        Question(
            key="direction",
            ask=Text(
                "文字是“小猫叫小狗叫”。“小”后面一次是“猫”，一次是“狗”；模型却给“猫”«P[0,1]» 的概率。softmax "
                "把分数变成概率，这里的分数叫 **logit**。走一步梯度下降之后，“小”后面“猫”的 logit 会怎样？",
                "The text is “the cat ran the dog ran”. “the” is followed by “cat” once and by “dog” once, "
                "and the model gives “cat” the probability «P[0,1]». Softmax makes probabilities of scores, "
                "which are called **logits** here. After one step of gradient descent, what has become of "
                "the logit of “cat” after “the”?",
            ),
            answer=("raises", 0, 1),
            options=(
                (Text("变大：文字里真的出现了“猫”", "larger: “cat” does occur in the text"), 1.0),
                (Text("变小：给它的概率已经太高", "smaller: its probability is too high already"), 0.0),
            ),
            mistakes=(
                Mistake(
                    ("one", 0, 0),
                    Text(
                        "“猫”是出现了，可“小”后面只有一半是“猫”。模型给它的概率比一半多还是少？",
                        "“cat” does occur, but only half of the time after “the”. Did the model give it "
                        "more than half, or less?",
                    ),
                ),
            ),
            why=Text(
                "两处的 $p - y$ 加在一起：一处是 $p - 1$，一处是 $p$。$p$ 超过 ½，和就是正的，往下走就要减。"
                "训练要的不是“对”，而是概率和文字里的比例一致。",
                "The two places add their $p - y$: one is $p - 1$, the other $p$. With $p$ above ½ the sum "
                "is positive, and downhill means less. Training does not want to be right; it wants the "
                "text's own shares.",
            ),
        ),
    ),
    body=(
        Heading(Text("五道题", "Five questions")),
        Prose(
            Text(
                "最小的语言模型只看前一个词元：$W$ 的每一行写着，在这个词元之后，每个词元的 logit 是多少。"
                "GPT 用许多层注意力来算 logit，但从 logit 往后，一切都和这里一样。\n\n"
                "文字“小猫叫小狗叫”给出五道题：每个词元之后，下一个是什么。$X$ 的每一行挑出前一个词元，$Y$ "
                "的每一行标出真正的下一个。",
                "The smallest language model looks at one token only: each row of $W$ holds the logits of "
                "every token after this one. A GPT works its logits out with layers of attention, but from "
                "the logits on everything is as it is here.\n\n"
                "The text “the cat ran the dog ran” asks five questions: after each token, which is next? A "
                "row of $X$ picks the token before, a row of $Y$ marks the one that really came.",
            )
        ),
        Formula(
            r"p = \text{softmax}(z) \qquad \ell = -\ln p_y \qquad \frac{\partial \ell}{\partial z} = p - y"
        ),
        Presets(
            Text("开始时", "At the start"),
            (
                Preset("first", Text("有点偏心", "a little biased"), {"W": W}),
                Preset("nothing", Text("什么也不知道", "knowing nothing"), {"W": [[0.0] * 4] * 4}),
                Preset(
                    "wrong",
                    Text("很有把握，但错了", "sure, and wrong"),
                    {"W": [[4, 0, 0, 0], [4, 0, 0, 0], [0, 0, 4, 0], [4, 0, 0, 0]]},
                ),
            ),
        ),
        Matrices(
            (
                Shown(
                    "W",
                    "W",
                    "before",
                    "next",
                    note=Text("行：前一个词元；列：下一个", "row: token before; column: next"),
                ),
                Shown("Y", "Y", "places", "next", "mask", 0),
            ),
            Text("给定的 $W$，和文字里的答案", "$W$ as given, and the text's answers"),
        ),
        Matrices(
            (
                Shown("Z", r"Z = XW", "places", "next", "scores"),
                Shown("P", r"P = \text{softmax}(Z)", "places", "next", "weights"),
                Shown("loss", r"\ell = -\ln p_y", "places", "loss", decimals=4),
            ),
            Text("预测和损失", "Prediction and loss"),
        ),
        Query("places", Text("逐步计算", "Step by step"), ("Z", "P", "loss")),
        Facts(
            (
                (Text("平均损失 $L$", "Mean loss $L$"), ("L", 0, 0), 4),
                (Text("什么也不知道：$\\ln V$", "Knowing nothing: $\\ln V$"), ("ln_V", 0, 0), 4),
                (Text("这段文字能达到的最低", "The lowest that this text allows"), ("best", 0, 0), 4),
                (
                    Text(
                        "困惑度 $e^L$：好像在几个词元里猜", "Perplexity $e^L$: as if guessing among so many"
                    ),
                    ("perplexity", 0, 0),
                    2,
                ),
            ),
            Text("损失", "The loss"),
        ),
        Heading(Text("往下走一步", "One step downhill")),
        Prose(
            Text(
                "每道题告诉 logit 该往哪边动：概率给多了的减下来，真正的下一个词元加上去。$P - Y$ 的每一行加"
                "起来是 0。$G$ 把同一个前词元的各处加在一起，再除以 $n$：这就是平均损失对 $W$ 的梯度。梯度下"
                "降从 $W$ 里减去 $η$ 倍的 $G$。",
                "Each question says where its logits should go: down where too much probability was given, "
                "up for the token that came. Each row of $P - Y$ adds up to 0. $G$ adds the places that "
                "share a token before, and divides by $n$: the gradient of the mean loss by $W$. Gradient "
                "descent takes $η$ times $G$ off $W$.",
            )
        ),
        Slider("eta", Text("学习率 $η$", "learning rate $η$"), 0, RATES - 1, 0.5),
        Matrices(
            (
                Shown("D", r"P - Y", "places", "next", "scores"),
                Shown("G", r"G = X^\top (P - Y) / n", "before", "next", "scores", 3),
            ),
            Text("梯度", "The gradient"),
        ),
        Matrices(
            (
                Shown("W_after", r"W' = W - \eta G", "before", "next"),
                Shown("P_after", r"P' = \text{softmax}(XW')", "places", "next", "weights"),
                Shown("loss_after", r"\ell'", "places", "loss", decimals=4),
            ),
            Text("一步之后", "After the step"),
        ),
        Facts(
            (
                (Text("一步之后的平均损失 $L'$", "Mean loss after the step, $L'$"), ("L_after", 0, 0), 4),
                (Text("损失真正的变化 $L' - L$", "How far it really moved, $L' - L$"), ("change", 0, 0), 4),
                (
                    Text(
                        "梯度预告的变化 $-η‖G‖^2$",
                        "How far the gradient promised, $-η‖G‖^2$",
                    ),
                    ("predicted", 0, 0),
                    4,
                ),
            ),
            Text("这一步", "The step"),
        ),
        Chart(
            Text(
                "一步之后的损失，随学习率变化；点是现在的 $η$",
                "The loss after one step, by its rate; the point is yours",
            ),
            "eta_all",
            Text("学习率 $η$", "learning rate $η$"),
            Text("损失", "loss"),
            (
                Line("L_all", Text("一步之后的损失", "loss after the step")),
                Line("ln_V_all", Text("什么也不知道：$\\ln V$", "knowing nothing: $\\ln V$")),
            ),
            marks=(("eta", "L_after"),),
        ),
        Prose(
            Text(
                "步子小，损失的下降就和梯度预告的差不多；步子大，坡度一路在变，预告就不准了；再大，就会冲过"
                "谷底，甚至比原来还糟。所以真正的训练走几百上千小步，步长先升后降。",
                "A small step lowers the loss about as much as the gradient promised. On a larger one the "
                "slope changes on the way, and the promise no longer holds. A larger one still overshoots "
                "the valley and may end up worse than before. So a real training takes hundreds of small "
                "steps, of a length that rises first and then falls.",
            )
        ),
        Code(
            """\
import torch
import torch.nn.functional as F

W = torch.tensor([[0, 2, 0.5, -0.5], [0.5, 0, 1, 0], [1, 0.5, 0, 0], [0, 0.5, 0.5, 0]]).double()
W.requires_grad_()
x, y = torch.tensor([0, 1, 2, 0, 3]), torch.tensor([1, 2, 0, 3, 2])
loss = F.cross_entropy(W[x], y)
loss.backward()
print(f"L {loss:.4f}")
print(f"G, first row: {[round(g, 3) for g in W.grad[0].tolist()]}")
print(f"L' {F.cross_entropy((W - 2 * W.grad)[x], y):.4f}")
""",
            "L 1.2199\nG, first row: [0.038, 0.078, 0.062, -0.177]\nL' 1.0231\n",
        ),
        Heading(Text("现在轮到你的文字", "Now a text of your own")),
        Prose(
            Text(
                "下面训练的是真正的 GPT：同样的损失，同样的 $p - y$，只是 logit 由几层注意力算出，$W$ 换成了"
                "几万到几十万个数。训练时留出文字的最后十分之一不学，用来验证。观察句在最多二十个时刻被读一"
                "遍，每个头的权重都存下来：你可以看着一个头从什么也不会，到学会看某个地方。",
                "What is trained below is a real GPT: the same loss, the same $p - y$, but logits from "
                "layers of attention, and tens or hundreds of thousands of numbers in place of $W$. The "
                "last tenth of your text is held out and never learned from. At up to twenty moments the "
                "model reads your probe sentence and the weights of every head are kept: so you can watch a "
                "head learn where to look.",
            )
        ),
        Live("build"),
    ),
    check=(
        Question(
            key="gradient",
            ask=Text(
                "第 4 道题：“小”后面真正来的是“狗”，模型给它的概率是 «P[3,3]:3»。这一处的损失对“狗”的 "
                "logit 的梯度是多少？（三位小数）",
                "Question 4: after “the” came “dog”, to which the model gave «P[3,3]:3». What is the "
                "gradient of this place's loss by the logit of “dog”? (Three decimals.)",
            ),
            answer=("D", 3, 3),
            decimals=3,
            mistakes=(
                Mistake(
                    ("P", 3, 3),
                    Text(
                        "这是 $p$。真正的下一个词元还要减 1。",
                        "That is $p$. For the token that came, take 1 off.",
                    ),
                ),
            ),
            why=Text(
                "$p - y$，而真正的下一个词元 $y = 1$：«P[3,3]:3» − 1 = «D[3,3]:3»。概率越小，推力越大，但不"
                "会超过 1。",
                "$p - y$ with $y = 1$ for the token that came: «P[3,3]:3» − 1 = «D[3,3]:3». The smaller the "
                "probability, the stronger the push, but never more than 1.",
            ),
        ),
        Question(
            key="overshoot",
            ask=Text(
                "把学习率调到 40，只走一步。平均损失会比走之前高吗？",
                "At a learning rate of 40, one step. Is the mean loss higher than before it?",
            ),
            answer=("worse", 0, 0),
            options=((Text("会", "yes"), 1.0), (Text("不会", "no"), 0.0)),
            under={"eta": {(0, 0): 40.0}},
            mistakes=(
                Mistake(
                    ("zero", 0, 0),
                    Text(
                        "看上面那张图：曲线在 40 处比在 0 处高还是低？",
                        "See the chart above: is the curve higher at 40 than at 0?",
                    ),
                ),
            ),
            why=Text(
                "一步之后是 «L_after[0,0]:4»，之前是 «L[0,0]:4»。梯度只说往哪边走，不说能走多远。",
                "«L_after[0,0]:4» after the step, «L[0,0]:4» before. The gradient tells where downhill is, "
                "not for how long.",
            ),
        ),
        Question(
            key="floor",
            ask=Text(
                "不管 $W$ 取什么数，这段文字的平均损失最低能到多少？",
                "Whatever the numbers in $W$: how low can the mean loss on this text get?",
            ),
            answer=("best", 0, 0),
            mistakes=(
                Mistake(
                    ("zero", 0, 0),
                    Text(
                        "“小”后面有时是“猫”，有时是“狗”。只看“小”，谁也不可能总猜中。",
                        "After “the” comes “cat” or “dog”. From “the” alone, nobody can always tell.",
                    ),
                ),
            ),
            why=Text(
                "“小”后面最好是各给 ½，那两处的损失都是 $\\ln 2$；其余三处可以是 0。平均 $2\\ln 2 / 5$ = "
                "«best[0,0]:4»。想更低，就要看得更远，这正是注意力的用处。",
                "The best after “the” is ½ each, a loss of $\\ln 2$ at two places; the other three can go "
                "to 0. The mean is $2\\ln 2 / 5$ = «best[0,0]:4». To get lower one must look further back, "
                "and that is what attention is for.",
            ),
        ),
    ),
    boundary=Text(
        "这张表上的模型只有 16 个数，只看前一个词元，走的是最朴素的梯度下降。真正的训练用更讲究的步法（Muon "
        "和 AdamW），一步看许多段文字，梯度要经过每一层传回去。损失低也不等于懂：训练损失降到底，可能只是背"
        "下来了，所以要看留出的那一部分。一个头的权重变得整齐，说明它看哪里，没有说明模型因此才答对；那要切"
        "断这条连接再量一次。",
        "The model of this sheet has 16 numbers, sees one token and takes plain gradient steps. A real "
        "training steps with more care (by Muon and AdamW), sees many stretches of text at a step, and "
        "carries the gradient back through every layer. Nor is a low loss understanding: the training loss "
        "may only have learned the text by heart, which is why some text is held out. And a head whose "
        "weights turn orderly shows where it looks, not that the model is right because of it; for that, "
        "cut the connection and measure again.",
    ),
    transfer=Transfer(
        Text(
            "设你的文字有 65 种字符，一个字符算一个词元。训练开始时损失大约是多少？后来训练损失是 0.9，验证"
            "损失是 1.6，而且还在往上走：这说明什么？模型在没见过的文字上，好像是在几个字符里猜？",
            "A text has 65 different characters, and each is a token. What is the loss at the start, "
            "roughly? Later the training loss is 0.9, the validation loss 1.6 and rising. What does that "
            "say, and among how many characters does the model guess on text that it has not seen?",
        ),
        Text(
            "开始时大约是 $\\ln 65 ≈ 4.17$。两条曲线分开，说明模型开始背训练文字，学到的东西不再适用于没见过"
            "的部分；这时该停下，或者给更多文字、用更小的模型。$e^{1.6} ≈ 5$：好像在 5 个字符里猜。",
            "About $\\ln 65 ≈ 4.17$ at the start. The curves part because the model has begun to learn the "
            "text by heart, which no longer helps with what it has not seen: time to stop, or for more "
            "text, or a smaller model. $e^{1.6} ≈ 5$: as if among 5 characters.",
        ),
    ),
)
