"""Bahdanau's attention: for each word to write, where in the source to look; additive scores, learned.

Both models are our own; see `trained/alignment.py`. The sheet computes one whole step of the decoder, from
the attention to the next word.
"""

from ..sheet import Sheet
from .lesson import (
    Facts,
    Formula,
    Heading,
    Label,
    Lesson,
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
from .trained import learned

LEARNED = learned("alignment")
BANK, RIVER = LEARNED["sentences"]
STRING = LEARNED["string"]
WORDS = LEARNED["vocabulary"]
D = len(LEARNED["bank"]["W"])
END = WORDS[-1]

SOURCE, TARGET = BANK["source"], BANK["target"]
M, N, PLACES = len(SOURCE), len(TARGET), len(BANK["memory"])
"""Words of the source, of the target with END, and places with those that hold nothing."""
AT_BANK, AT_SENSE = SOURCE.index("bank"), TARGET.index("银行")
CHOICES = ("银行", "河岸", "商店", "学校", "办公室")
"""Words whose chances are shown."""
REAL = [[1.0] * M + [0.0] * (PLACES - M)]
WITHOUT = [[*(float(j != AT_BANK) for j in range(M)), *REAL[0][M:]]]
ONLY = [[*(float(j == AT_BANK) for j in range(M)), *REAL[0][M:]]]
EVERYWHERE = [[1.0] * PLACES]


def _shown(words: list[str], more: int = 0) -> tuple[Label, ...]:
    """Tokens as labels of an axis, and so many places of padding."""
    named = [Text("完", "END") if word == END else word for word in words]
    return (*named, *(Text(f"填充 {k}", f"pad {k}") for k in range(1, more + 1)))


SHEET = Sheet()
SHEET.const("t", AT_SENSE + 1)
SHEET.const("M", REAL)
SHEET.const("H", BANK["memory"])
SHEET.const("S", BANK["before"])
SHEET.const("Y", BANK["inputs"])
for name in ("W", "U", "v", "W_x", "W_h", "b_x", "b_h", "W_r", "b_r", "W_o"):
    SHEET.const(name, LEARNED["bank"][name])
SHEET.const("zero", 0)
SHEET.const("one", 1)
SHEET.const("n", N)
SHEET.const("half", 0.5)

# The chosen step: scores, weights and context from the state before it.
SHEET.sub("which", "t", "one")
SHEET.onehot("chosen", "which", "n")
SHEET.matmul("s", "chosen", "S")
SHEET.matmul("y", "chosen", "Y")
SHEET.matmul("keys", "H", "U")
SHEET.matmul("query", "s", "W")
SHEET.add("together", "keys", "query")
SHEET.tanh("T", "together")
SHEET.matmul("e_T", "T", "v")
SHEET.transpose("e", "e_T")
SHEET.mask("e_masked", "e", "M")
SHEET.softmax("a", "e_masked")
SHEET.matmul("c", "a", "H")
SHEET.softmax("a_open", "e")
SHEET.slice("a_pad", "a_open", columns=(M, PLACES))
SHEET.sum("leak", "a_pad")

# The rest of the step: a GRU goes on from [y; c], and what it and c say together becomes the next word.
SHEET.concat("x", "y", "c")
SHEET.matmul("x_W", "x", "W_x")
SHEET.add("from_x", "x_W", "b_x")
SHEET.matmul("s_W", "s", "W_h")
SHEET.add("from_s", "s_W", "b_h")
for k, gate in enumerate(("r", "z", "n")):
    SHEET.slice(f"x_{gate}", "from_x", columns=(k * D, (k + 1) * D))
    SHEET.slice(f"s_{gate}", "from_s", columns=(k * D, (k + 1) * D))
for gate in ("r", "z"):
    SHEET.add(f"sum_{gate}", f"x_{gate}", f"s_{gate}")
    SHEET.sigmoid(gate, f"sum_{gate}")
SHEET.mul("kept", "r", "s_n")
SHEET.add("sum_n", "x_n", "kept")
SHEET.tanh("candidate", "sum_n")
SHEET.sub("not_z", "one", "z")
SHEET.mul("new_part", "not_z", "candidate")
SHEET.mul("old_part", "z", "s")
SHEET.add("s_t", "new_part", "old_part")
SHEET.concat("read", "s_t", "c")
SHEET.matmul("read_W", "read", "W_r")
SHEET.add("read_b", "read_W", "b_r")
SHEET.tanh("readout", "read_b")
SHEET.matmul("logits", "readout", "W_o")
SHEET.softmax("p_all", "logits")
for k, word in enumerate(CHOICES):
    SHEET.slice(f"p_{k}", "p_all", columns=(WORDS.index(word), WORDS.index(word) + 1))
SHEET.concat("p", *(f"p_{k}" for k in range(len(CHOICES))))
SHEET.less("below_half", "p_0", "half")


def _rows(name: str, memory: str, states: str, mask: str | None, of: str, count: int) -> None:
    """The weights of every step, a row each: `name`. `of` ends the names of W, U and v."""
    SHEET.matmul(f"keys@{name}", memory, f"U{of}")
    for t in range(count):
        SHEET.slice(f"s@{name}{t}", states, rows=(t, t + 1))
        SHEET.matmul(f"query@{name}{t}", f"s@{name}{t}", f"W{of}")
        SHEET.add(f"together@{name}{t}", f"keys@{name}", f"query@{name}{t}")
        SHEET.tanh(f"T@{name}{t}", f"together@{name}{t}")
        SHEET.matmul(f"e_T@{name}{t}", f"T@{name}{t}", f"v{of}")
        SHEET.transpose(f"e@{name}{t}", f"e_T@{name}{t}")
    SHEET.concat(f"E_{name}", *(f"e@{name}{t}" for t in range(count)), axis="rows")
    if mask:
        SHEET.mask(f"masked_{name}", f"E_{name}", mask)
    SHEET.softmax(f"A_{name}", f"masked_{name}" if mask else f"E_{name}")


_rows("bank", "H", "S", "M", "", N)
SHEET.argmax("largest", "A_bank")
SHEET.range("place", M)

# The other sense, by the same model; and letters written backwards, by another.
SHEET.const("H_river", RIVER["memory"][: len(RIVER["source"])])
SHEET.const("S_river", RIVER["before"])
_rows("river", "H_river", "S_river", None, "", len(RIVER["target"]))
for name in ("W", "U", "v"):
    SHEET.const(f"{name}_back", LEARNED["backwards"][name])
SHEET.const("H_back", STRING["memory"])
SHEET.const("S_back", STRING["before"])
_rows("back", "H_back", "S_back", None, "_back", len(STRING["target"]))

# What was measured on many, a row for each sense: the weight on "bank"; how likely the right word is as it
# is, without "bank", and with "bank" alone.
_MEASURED = [LEARNED["measured"][sense] for sense in CHOICES[:2]]
SHEET.const("measured", [[found["weights"]["bank"], *found["chances"]] for found in _MEASURED])
SHEET.const("counts", [[found["largest_on_bank"], found["sentences"]] for found in _MEASURED])
SHEET.const("money", LEARNED["measured"]["银行"]["weights"]["money"])
SHEET.const("held_out", [LEARNED["measured"]["held_out"]])
_BACK = LEARNED["measured_backwards"]
SHEET.const("measured_back", [[_BACK["weight"], _BACK["largest"][0] / _BACK["largest"][1]]])
SHEET.const("held_out_back", [_BACK["held_out"]])

LESSON = Lesson(
    slug="alignment",
    title=Text("Bahdanau 的对齐", "Bahdanau's alignment"),
    insight=Text(
        "每写一个词，先给原文的每个位置打分，再按权重取一份混合；看哪里，是自己学会的。",
        "For each word to write, score every place of the source and read a mixture by these weights. Where "
        "to look is learned.",
    ),
    question=Text(
        "上一课的瓶颈是：读完的句子全压在一个向量里。2014 年 Bahdanau 等人的办法是不扔掉中间的状态 "
        "$h_1, …, h_m$，解码器每写一个词都重新看一遍，自己决定看哪里。写“银行”的时候，它看的是 bank 吗？",
        "The bottleneck: a source that was read is squeezed into one vector. Bahdanau et al. (2014) keep "
        "the states $h_1, …, h_m$ instead, and let the decoder look at them anew for each word that it "
        "writes, and choose where. When it writes 银行, the bank of money, does it look at “bank”?",
    ),
    sheet=SHEET,
    axes={
        "source": _shown(SOURCE, PLACES - M),
        "target": _shown(TARGET),
        "source_river": _shown(RIVER["source"]),
        "target_river": _shown(RIVER["target"]),
        "source_back": _shown(STRING["source"]),
        "target_back": _shown(STRING["target"]),
        "choices": CHOICES,
        "step": (Text("这一步", "this step"),),
        "senses": CHOICES[:2],
        "cuts": (
            Text("bank 权重", "weight"),
            Text("照常", "as it is"),
            Text("不读 bank", "without bank"),
            Text("只读 bank", "bank alone"),
        ),
    },
    predict=(
        Question(
            key="where",
            ask=Text(
                "原文是 they borrowed money from the bank，译文是“他们 从 银行 借了 钱”。写“银行”的那一步，"
                "训练好的模型把最大的权重放在哪个词上？",
                "The source is “they borrowed money from the bank”, the translation 他们 从 银行 借了 钱. "
                "At the step that writes 银行, on which word does the trained model put the largest weight?",
            ),
            answer=("largest", AT_SENSE, 0),
            under={"M": REAL},
            options=tuple((SOURCE[j], float(j)) for j in (0, 2, 3, AT_BANK)),
            mistakes=(
                Mistake(
                    ("place", 2, 0),
                    Text(
                        "有道理，它也占了不少：«A_bank[2,2]»。但最大的在别处。",
                        "There is reason in it, and its weight is «A_bank[2,2]». But the largest is "
                        "elsewhere.",
                    ),
                ),
                Mistake(
                    ("place", 0, 0),
                    Text(
                        "写“他们”的那一步才看它。",
                        "That is where it looks to write 他们, “they”.",
                    ),
                ),
                Mistake(
                    ("place", 3, 0),
                    Text(
                        "位置相同不等于对齐：两种语言的词序不一样。",
                        "The same position is no alignment: the two languages have other orders.",
                    ),
                ),
            ),
            why=Text(
                "“bank”得到 «A_bank[2,5]»，“money”得到 «A_bank[2,2]»，其余的几乎没有。没有人告诉过模型哪个词"
                "对应哪个词。",
                "“Bank” gets «A_bank[2,5]», “money” «A_bank[2,2]», the others next to nothing. Nobody ever "
                "told the model which word goes with which.",
            ),
        ),
        Question(
            key="cut",
            ask=Text(
                "照常，这一步写“银行”的概率是 0.94。现在不许读“money”，只在这一步；“bank”照样可以读。写“银"
                "行”的概率还会超过一半吗？",
                "As it is, this step writes 银行 with probability 0.94. Now “money” must not be read, at "
                "this step only; “bank” can be. Is the probability of 银行 still above one half?",
            ),
            answer=("below_half", 0, 0),
            under={"t": [[AT_SENSE + 1]], "M": {(0, 2): 0.0}},
            options=((Text("是", "yes"), 0.0), (Text("不是", "no"), 1.0)),
            mistakes=(
                Mistake(
                    ("zero", 0, 0),
                    Text(
                        "“bank”的权重确实还升高了，可是解码器读到的是混合 $c_t$；少了一份，混合就变了。",
                        "The weight of “bank” does rise. But what the decoder reads is the mixture $c_t$, "
                        "and with a part of it gone that is another one.",
                    ),
                ),
            ),
            why=Text(
                "“bank”的权重升到 «a[0,5]»，写“银行”的概率却只有 «p[0,0]»，“办公室”是 «p[0,4]»。权重小的那一"
                "份也在起作用：看权重的大小，猜不出遮掉的后果，只能去量。",
                "The weight of “bank” rises to «a[0,5]», and yet 银行 has «p[0,0]» only, and 办公室, "
                "“office”, has «p[0,4]». The smaller share did its work, too. From the size of a weight one "
                "cannot tell what cutting it does; it has to be measured.",
            ),
        ),
    ),
    body=(
        Prose(
            Text(
                "第 $t$ 步，解码器手里是写完前一个词之后的状态 $s_{t-1}$。它给原文每个位置打一个**加性**分"
                "数：两边各乘一个矩阵，相加，过 tanh，再和向量 $v$ 求点积。softmax 把分数变成权重 $α_{tj}$，"
                "按权重混合各个 $h_j$，就是这一步的**上下文** $c_t$。$W$、$U$、$v$ 和别的参数一起训练，对齐"
                "没有单独教过。\n\n"
                "注意下标。2014 年的论文用的是 $s_{t-1}$，这里也是：先看，再更新状态，$c_t$ 是算 $s_t$ 的输"
                "入。许多讲义写成 $s_t$，那是先更新、再看（Luong 等 2015），是另一种次序。",
                "At step $t$ the decoder has the state after the word before, $s_{t-1}$. It gives each "
                "place of the source an **additive** score: each side times a matrix, added, through tanh, "
                "then the product with a vector $v$. Softmax makes the scores weights $α_{tj}$, and the "
                "$h_j$ mixed by these weights are the **context** $c_t$ of this step. $W$, $U$ and $v$ are "
                "trained along with all the rest; alignment is not taught by itself.\n\n"
                "Mind the index. The paper of 2014 has $s_{t-1}$, and so has this page: look first, then "
                "update the state, for which $c_t$ is an input. Many notes write $s_t$. That is to update "
                "first and then look (Luong et al. 2015), another order.",
            )
        ),
        Formula(r"e_{tj} = \tanh(s_{t-1} W + h_j U)\, v"),
        Formula(r"\alpha_t = \text{softmax}(e_t) \qquad c_t = \sum_j \alpha_{tj} h_j"),
        Prose(
            Text(
                "这里写的是行向量；论文写列向量，$e_{tj} = v^\\top \\tanh(W s_{t-1} + U h_j)$，是同一个式"
                "子。\n\n"
                "下面全是一个训练好的小模型（宽 12）自己的数：一个词是一个词元，学的是 720 个编出来的句子中"
                "的八成，没学过的 «held_out[0,1]:0» 句里译对了 «held_out[0,0]:0» 句。“bank”有时是“银行”，有"
                "时是“河岸”；别的句子在同样的位置说商店、学校、小岛、桥，所以不看那个词就写不对。\n\n"
                "批量处理时，短的句子要**填充**到一样长。填充的位置必须在 softmax **之前**遮住，否则它们也会"
                "分走权重。",
                "These are row vectors. The paper has columns, $e_{tj} = v^\\top \\tanh(W s_{t-1} + U h_j)$"
                ", which is the same.\n\n"
                "All numbers below are those of a small trained model (12 wide). A token is a word. It "
                "learned from four in five of 720 sentences that were made up, and of the other "
                "«held_out[0,1]:0» it translates «held_out[0,0]:0» without a mistake. “Bank” is at times 银"
                "行 (of money), at times 河岸 (of a river); other sentences name a shop, a school, an "
                "island, a bridge in the same place, so nobody gets it right without looking at that word."
                "\n\n"
                "In a batch, shorter sentences are **padded** to one length. Padding has to be masked "
                "**before** the softmax, or else it takes a share of the weight.",
            )
        ),
        Slider("t", Text("第几步（写第几个词）", "step, the number of the word to write"), 1, N),
        Presets(
            Text("可以读谁", "What may be read"),
            (
                Preset("real", Text("原文", "the source"), {"M": REAL}),
                Preset("without", Text("不读 bank", "without bank"), {"M": WITHOUT}),
                Preset("only", Text("只读 bank", "bank alone"), {"M": ONLY}),
                Preset("padding", Text("连填充也读", "padding, too"), {"M": EVERYWHERE}),
            ),
        ),
        Matrices(
            (
                Shown("H", "H", "source", kind="scores"),
                Shown("s", r"s_{t-1}", "step", kind="scores"),
            ),
            Text("原文的状态，和解码器的状态", "The states of the source, and that of the decoder"),
        ),
        Matrices(
            (
                Shown("W", "W", kind="scores", small=True),
                Shown("U", "U", kind="scores", small=True),
                Shown("v", "v", kind="scores", small=True),
            ),
            Text("学到的参数", "Learned parameters"),
        ),
        Matrices(
            (
                Shown("query", r"s_{t-1} W", "step", kind="scores"),
                Shown("keys", "H U", "source", kind="scores"),
                Shown("T", r"\tanh(s_{t-1} W + H U)", "source", kind="scores"),
            ),
            Text("比较", "Compare"),
        ),
        Matrices(
            (
                Shown("e", r"e_t", "step", "source", "scores", 3),
                Shown(
                    "M",
                    "M",
                    "step",
                    "source",
                    "mask",
                    0,
                    note=Text(
                        "1 可以读，0 不许读；点一下就换", "1: may be read, 0: must not; click to change"
                    ),
                ),
                Shown("e_masked", r"\tilde{e}_t", "step", "source", "scores", 3),
                Shown("a", r"\alpha_t = \text{softmax}(\tilde{e}_t)", "step", "source", "weights", 3),
                Shown("c", r"c_t = \alpha_t H", "step", kind="scores"),
            ),
            Text("打分，遮住，取权重，混合", "Score, mask, weigh, mix"),
        ),
        Facts(
            (
                (
                    Text("如果不遮，填充一共分走的权重", "weight that padding would take, if not masked"),
                    ("leak", 0, 0),
                    4,
                ),
            )
        ),
        Heading(Text("然后写一个词", "Then write a word")),
        Prose(
            Text(
                "GRU 读前一个词的向量 $y_{t-1}$ 和 $c_t$，从 $s_{t-1}$ 走到 $s_t$；$s_t$ 和 $c_t$ 一起决定下"
                "一个词。整个一步都在这一页上算，点开 $p$ 就能一直追到上面的权重。改 $M$，看看这一步写什么："
                "遮住一个词，分数变成 −∞，其余的权重重新归一。",
                "A GRU reads the vector of the word before, $y_{t-1}$, and $c_t$, and goes from $s_{t-1}$ "
                "to $s_t$; $s_t$ and $c_t$ together decide on the next word. The whole step is computed on "
                "this page: open $p$ and follow it back to the weights above. Change $M$ and see what is "
                "written: the score of a masked word is −∞, and the other weights share what it had.",
            )
        ),
        Formula(r"s_t = \text{GRU}([\,y_{t-1} \;\; c_t\,], s_{t-1})"),
        Formula(r"p = \text{softmax}(\tanh([\,s_t \;\; c_t\,] W_r + b_r)\, W_o)"),
        Matrices(
            (
                Shown("s_t", r"s_t", "step", kind="scores"),
                Shown(
                    "p",
                    "p",
                    "step",
                    "choices",
                    "weights",
                    3,
                    note=Text(f"{len(WORDS)} 个词元里的五个", f"five of the {len(WORDS)} tokens"),
                ),
            ),
        ),
        Heading(Text("整张对齐", "The whole alignment")),
        Prose(
            Text(
                "一行是一步，一列是原文的一个词。“他们”看 they，“借了”看 borrowed。“银行”多半看 bank，也看 "
                "money。但写“钱”的时候，权重落在 the（«A_bank[4,4]»）和 bank（«A_bank[4,5]»）上，money 只有 "
                "«A_bank[4,2]»，“钱”照样写对了：权重不是一本词典。最后一步写的是“完”，表示句子结束。",
                "A row is a step, a column a word of the source. 他们, “they”, looks at “they”; 借了 looks "
                "at “borrowed”. 银行 looks at “bank” most of all, and at “money”. But to write 钱, “money”, "
                "it looks at “the” («A_bank[4,4]») and “bank” («A_bank[4,5]»), with «A_bank[4,2]» for "
                "“money”, and is right all the same: weights are no dictionary. The last step writes END, "
                "and the sentence is over.",
            )
        ),
        Matrices((Shown("A_bank", r"\alpha", "target", "source", "weights"),)),
        Matrices(
            (Shown("A_river", r"\alpha", "target_river", "source_river", "weights"),),
            Text("同一个模型，另一个 bank", "The same model, the other bank"),
        ),
        Prose(
            Text(
                "一句话可能是碰巧，所以量了全部有 bank 的句子，每种意思 «counts[0,1]:0» 句。写“银行”时，"
                "bank 平均得到 «measured[0,0]»，money 得到 «money[0,0]»；«counts[0,0]:0» 句里最大的权重在 "
                "bank 上。写“河岸”时，bank 得到 «measured[1,0]»，«counts[1,0]:0» 句里都是最大。\n\n"
                "旁边是**后果**：写对的平均概率，照常是多少，这一步不许读 bank 是多少，只许读 bank 又是多"
                "少。对“银行”，两样都要：拿掉 bank，概率掉到 «measured[0,2]»；只留 bank，掉到 "
                "«measured[0,3]»。对“河岸”，拿掉权重最大的 bank，平均还有 «measured[1,2]»：它读到的别的位置"
                "里也有线索，双向编码器让每个 $h_j$ 都知道一点全句。",
                "One sentence may be chance, so all sentences with “bank” were measured, «counts[0,1]:0» of "
                "each sense. To write 银行, “bank” gets «measured[0,0]» in the mean and “money” «money[0,0]»"
                "; in «counts[0,0]:0» of them the largest weight is on “bank”. To write 河岸, “bank” gets "
                "«measured[1,0]» and is largest in «counts[1,0]:0».\n\n"
                "Beside it stands the **effect**: the mean probability of the right word, as it is, when "
                "this step cannot read “bank”, and when it can read nothing else. For 银行 it takes both: "
                "without “bank” it falls to «measured[0,2]», with “bank” alone to «measured[0,3]». For 河岸"
                ", without “bank”, which had the largest weight, there is still «measured[1,2]»: other "
                "places hold hints as well, for an encoder that reads both ways lets each $h_j$ know a "
                "little of the whole sentence.",
            )
        ),
        Matrices(
            (Shown("measured", r"\text{mean}", "senses", "cuts", "weights", 3),),
            Text(
                "权重的平均，和写对的平均概率", "The mean weight, and the mean probability of the right word"
            ),
        ),
        Heading(Text("对齐已知的任务", "A task whose alignment is known")),
        Prose(
            Text(
                "倒着写字母，哪个字母来自哪里是确知的：应当是从右上到左下的一条斜线。另一个小模型学了这件"
                "事，没学过的 «held_out_back[0,1]:0» 串全写对了。权重确实沿着斜线走，却不是干干净净的 1：平"
                "均 «measured_back[0,0]» 在真正的那个字母上，最大的权重落在它上面的占 «measured_back[0,1]»，"
                "其余的，在这个例子里多半在旁边一格。$h_j$ 里本来就有邻居的信息，看偏一格也写得对，所以没有"
                "什么逼它看准。",
                "Of letters written backwards it is known where each comes from: it should be a line from "
                "the upper right to the lower left. Another small model learned this, and writes all of "
                "«held_out_back[0,1]:0» unseen strings without a mistake. Its weights do follow the line, "
                "but they are no clean ones: «measured_back[0,0]» in the mean on the true letter, which has "
                "the largest weight in «measured_back[0,1]» of all steps; in this example the rest is "
                "mostly one place beside. Each $h_j$ knows of its neighbours, one place off is good enough "
                "to be right, and nothing forces it to look any closer.",
            )
        ),
        Matrices((Shown("A_back", r"\alpha", "target_back", "source_back", "weights"),)),
    ),
    check=(
        Question(
            key="score",
            ask=Text(
                "写“银行”的那一步，“bank”的分数 $e$ 是多少？用 tanh 那张表里 bank 的一行和 $v$ 算，或者点开"
                "来看。",
                "At the step that writes 银行, what is the score $e$ of “bank”? Work it out from the row of "
                "“bank” in the table of tanh and $v$, or open the cell.",
            ),
            answer=("e", 0, AT_BANK),
            under={"t": [[AT_SENSE + 1]]},
            mistakes=(
                Mistake(
                    ("a", 0, AT_BANK),
                    Text(
                        "这是权重，已经过了 softmax。",
                        "That is the weight, after softmax.",
                    ),
                ),
                Mistake(("e", 0, 2), Text("这是 money 的分数。", "That is the score of “money”.")),
            ),
            why=Text(
                "12 项之和，«e[0,5]»。分数可以是任何数；softmax 看的是它们之差。",
                "A sum of 12 terms, «e[0,5]». Scores may be any number; softmax goes by their differences.",
            ),
        ),
        Question(
            key="leak",
            ask=Text(
                "写第 1 个词的时候，如果忘了遮，两个填充位置一共分走多少权重？",
                "At the 1st word, how much weight would the two places of padding take together, were they "
                "not masked?",
            ),
            answer=("leak", 0, 0),
            under={"t": [[1]], "M": REAL},
            mistakes=(
                Mistake(
                    ("a", 0, M),
                    Text(
                        "遮住以后恰好是 0。问的是忘了遮。",
                        "Masked, it is exactly 0. The question is what happens without.",
                    ),
                ),
                Mistake(
                    ("a_pad", 0, 0),
                    Text("这是一个填充位置的，有两个。", "That is one of them; there are two."),
                ),
            ),
            why=Text(
                "«leak[0,0]:4»。填充的 $h$ 是 0，可是分数 $\\tanh(s W)v$ 不是 −∞。先做 softmax 再乘以 0 也不"
                "行：剩下的权重加起来就不到 1 了。",
                "«leak[0,0]:4». The $h$ of padding is 0, but its score, $\\tanh(s W)v$, is not −∞. To "
                "multiply by 0 after softmax is wrong, too: what is left would not add up to 1.",
            ),
        ),
        Question(
            key="alone",
            ask=Text(
                "写“银行”的那一步只许读 bank，$α$ 全在它上面。写“银行”的概率是多少？",
                "At the step that writes 银行, let only “bank” be read, so that all of $α$ is on it. How "
                "likely is 银行?",
            ),
            answer=("p", 0, 0),
            under={"t": [[AT_SENSE + 1]], "M": ONLY},
            mistakes=(
                Mistake(
                    ("a", 0, AT_BANK),
                    Text(
                        "这是 bank 的权重，不是写“银行”的概率。",
                        "That is the weight of “bank”, not the chance of 银行.",
                    ),
                ),
            ),
            why=Text(
                "只有 «p[0,0]:3»；“办公室”是 «p[0,4]:3»，“河岸”是 «p[0,1]:3»。是钱还是河，$s_{t-1}$ 已经知道"
                "（它刚写完“从”）；但这个模型要 bank 和 money 合起来的那份混合，才认得出是“银行”。",
                "«p[0,0]:3» only; 办公室, “office”, has «p[0,4]:3» and 河岸 «p[0,1]:3». Money or river, "
                "$s_{t-1}$ knows already, having just written 从. But it takes the mixture of “bank” and "
                "“money” for this model to make out that it is 银行.",
            ),
        ),
    ),
    boundary=Text(
        "权重说的是从哪里取了多少，不是“模型认为这个词译自那个词”。这里把权重最大的位置拿掉，有时照样写对；"
        "把较小的一份拿掉，反而写错了。所以凡是看权重，就该同时看拿掉它的后果。\n\n"
        "这里的语言是编的，只有七十来个词，两个模型各训练了一次。换一个种子，权重的分布很可能不同，写得对不"
        "对却未必变。真实翻译里的对齐更乱。\n\n"
        "遮住只改了这一步的 $α$。之前各步读过的 bank，已经在 $s_{t-1}$ 里了。",
        "A weight says how much was taken from where, and not that the model holds this word to be the "
        "translation of that one. Here the place with the largest weight can be taken away and the word is "
        "at times still right; take away a smaller share, and it goes wrong. Wherever weights are looked "
        "at, look at the effect of removing them as well.\n\n"
        "This language is made up and has some seventy words, and each of the two models was trained once. "
        "From another seed weights may well come out otherwise, which need not change what is written. In "
        "real translations alignments are less tidy.\n\n"
        "The mask changes $α$ at this one step. What earlier steps read of “bank” is in $s_{t-1}$ already.",
    ),
    transfer=Transfer(
        Text(
            "把查询从 $s_{t-1}$ 换成原文自己的各个 $h_i$，让每个位置都去看所有的位置，得到的是什么？加性分数"
            "里的哪一部分，可以对所有的查询只算一次？",
            "Take the $h_i$ of the source itself for queries in place of $s_{t-1}$, and let every place "
            "look at all places. What is that? And which part of the additive score needs to be computed "
            "only once for all queries?",
        ),
        Text(
            "是自注意力：查询和键来自同一句话，于是所有的位置可以同时算，不必一步等一步。$h_j U$ 与查询无"
            "关，只算一次（这就是后来说的“键”）；tanh 却要对每一对 $(i, j)$ 各算一遍。点积分数 $q_i · k_j$ "
            "没有这一步，所有的分数合起来是一次矩阵乘法，这是后来换成它的主要原因。\n\n"
            "下一课就从点积注意力里最小的一个开始：一个查询，两个值。",
            "It is self-attention: queries and keys come from one text, so that all places can be computed "
            "at once, with no step waiting for another. $h_j U$ has nothing to do with the query and is "
            "computed once (it is what came to be called the key). The tanh, though, is taken anew for "
            "every pair $(i, j)$. A dot product $q_i · k_j$ has no such thing: all scores together are one "
            "product of matrices, the main reason why it took over.\n\n"
            "The next lesson begins with the smallest attention of that kind: one query, two values.",
        ),
    ),
    claims=("C5",),
)
