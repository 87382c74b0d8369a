"""The main lesson: four tokens, two heads with hand-written projections, and the causal mask; and beside
them the heads of a model that learned whom such a pronoun means, see `trained/pronoun.py`."""

from ..sheet import Sheet
from .lesson import (
    Edits,
    Formula,
    Heading,
    Kind,
    Label,
    Ledger,
    Lesson,
    Matrices,
    Mistake,
    Preset,
    Presets,
    Prose,
    Query,
    Question,
    Sentence,
    Shown,
    Text,
    Transfer,
)
from .trained import learned

WORDS: tuple[Label, ...] = (
    Text("猫", "cat"),
    Text("追", "chases"),
    Text("老鼠", "mouse"),
    Text("它", "it"),
)

# How much of a noun; how much it needs one; the place in the sentence as a point that turns by 45° a word,
# rounded to one decimal.
X = [[1.0, 0.0, 1.0, 0.0], [0.0, 0.8, 0.7, 0.7], [0.8, 0.0, 0.0, 1.0], [0.2, 1.0, -0.7, 0.7]]
EVERYONE = [[1, 1, 1, 1]] * 4
CAUSAL = [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]
PROJECTIONS = {
    # Head 1: who wants a noun asks for one, and a little for the front of the sentence.
    "W_Q1": [[0, 0], [4, 1], [0, 0], [0, 0]],
    "W_K1": [[1, 0], [0, 0], [0, 1], [0, 0]],
    "W_V1": [[1, 0], [0, 1], [0, 0], [0, 0]],
    # Head 2: the query is the word's place turned back by 45° (and longer), so it meets the word before.
    "W_Q2": [[0, 0], [0, 0], [1, -1], [1, 1]],
    "W_K2": [[0, 0], [0, 0], [4, 0], [0, 4]],
    "W_V2": [[0, 0], [0, 0], [1, 0], [0, 1]],
}
START: Edits = {"X": X, "M": EVERYONE, **PROJECTIONS}

SHEET = Sheet()
SHEET.const("X", X)
SHEET.const("M", EVERYONE)
SHEET.const("d_k", [[2]])
SHEET.sqrt("root_d_k", "d_k")
for name, values in PROJECTIONS.items():
    SHEET.const(name, values)
for h in "12":
    SHEET.matmul(f"Q{h}", "X", f"W_Q{h}")
    SHEET.matmul(f"K{h}", "X", f"W_K{h}")
    SHEET.matmul(f"V{h}", "X", f"W_V{h}")
    SHEET.transpose(f"K{h}_T", f"K{h}")
    SHEET.matmul(f"P{h}", f"Q{h}", f"K{h}_T")
    SHEET.div(f"S{h}", f"P{h}", "root_d_k")
    SHEET.mask(f"masked{h}", f"S{h}", "M")
    SHEET.softmax(f"A{h}", f"masked{h}")
    SHEET.matmul(f"O{h}", f"A{h}", f"V{h}")
SHEET.concat("O", "O1", "O2")

# Both masks for as many words as there are now, whichever is in force.
SHEET.const("zero", [[0]])
SHEET.less("nothing", "X", "X")
SHEET.exp("filled", "nothing")
SHEET.slice("ones", "filled", columns=(0, 1))
SHEET.transpose("ones_T", "ones")
SHEET.matmul("everyone", "ones", "ones_T")
SHEET.sum("n", "ones", over="all")
SHEET.range("place", "n")
SHEET.transpose("place_T", "place")
SHEET.less("future", "place", "place_T")
SHEET.sub("causal", "everyone", "future")
SHEET.sum("keys_open", "everyone")
SHEET.sum("keys_causal", "causal")

# Weights without a mask, with the causal one, and with futures taken out too late; and other wrong turns.
SHEET.softmax("open1", "S1")
SHEET.softmax("open2", "S2")
SHEET.sub("difference", "open1", "open2")
SHEET.mul("square", "difference", "difference")
SHEET.max("largest", "square", over="all")
SHEET.less("differ", "zero", "largest")
SHEET.mask("causal_scores1", "S1", "causal")
SHEET.softmax("causal1", "causal_scores1")
SHEET.mul("late1", "open1", "causal")
SHEET.div("P2_over_d", "P2", "d_k")

# The trained model's heads, layer by layer: where they look, and what the answer loses without an edge.
LEARNED = learned("pronoun")
READ, TWIN = LEARNED["sentence"], LEARNED["twin"]
HEADS = ("11", "12", "21", "22")
"""Layer and head."""
AT_CAT, AT_MOUSE, AT_BECAUSE, AT_IT = (READ["words"].index(word) for word in ("猫", "老鼠", "因为", "它"))
for name, values in zip(HEADS, READ["weights"], strict=True):
    SHEET.const(f"T{name}", values)
    for of, row in (("it", AT_IT), ("end", len(values) - 1)):
        SHEET.slice(f"{of}{name}", f"T{name}", rows=(row, row + 1))
for of in ("it", "end"):
    SHEET.concat(of, *(f"{of}{name}" for name in HEADS), axis="rows")
SHEET.const("p", [READ["chances"], TWIN["chances"]])
SHEET.slice("p_cat", "p", rows=(0, 1), columns=(0, 1))
for way in ("cut", "zeroed"):
    SHEET.const(f"change_{way}", READ[way])
    SHEET.exp(f"factor_{way}", f"change_{way}")
    SHEET.mul(f"p_{way}", f"factor_{way}", "p_cat")
SHEET.sub("lost", "p_cat", "p_cut")
SHEET.slice("lost_because", "lost", columns=(AT_BECAUSE, AT_BECAUSE + 1))
SHEET.transpose("lost_because_T", "lost_because")
SHEET.argmax("costliest", "lost_because_T")
SHEET.range("head", len(HEADS))


def _read() -> tuple[Label, ...]:
    """The words that the trained model read, and what they are in English."""
    (_, *words), (start, *english) = READ["words"], LEARNED["english"]
    return Text("开始", start), *(Text(*both) for both in zip(words, english, strict=True))


def _pair(name: str, symbol: str, kind: Kind = "numbers") -> Matrices:
    """The same matrix of both heads side by side; `{h}` stands for the head. Scores and weights are of words
    for words."""
    columns = "" if kind == "numbers" else "words"
    return Matrices(tuple(Shown(name + h, symbol.replace("{h}", h), "words", columns, kind) for h in "12"))


def _head(h: str, title: Text) -> tuple[Matrices, Matrices]:
    """What a head is given, and what it makes of X."""
    given = tuple(Shown(f"W_{m}{h}", f"W^{{{m}\\,({h})}}", rows="width", decimals=1) for m in ("Q", "K", "V"))
    made = tuple(Shown(m + h, f"{m}^{{({h})}} = X W^{{{m}\\,({h})}}", rows="words") for m in ("Q", "K", "V"))
    return Matrices(given, title), Matrices(made)


PREDICT = (
    Question(
        key="keys",
        ask=Text(
            "不加掩码时，第 1 个词可以读几个键？",
            "With no mask, how many keys may the word at position 1 read?",
        ),
        answer=("keys_open", 0, 0),
        decimals=0,
        mistakes=(
            Mistake(
                ("keys_causal", 0, 0),
                Text(
                    "那是加了因果掩码的情形。不加掩码时，后面的词也可以读。",
                    "That is with the causal mask. With none, it may read the words after it as well.",
                ),
            ),
        ),
        why=Text(
            "每个词都可以读所有的键，包括自己和后面的词：现在这句话有 «n[0,0]:0» 个词，就有 "
            "«keys_open[0,0]:0» 个键。",
            "Every word may read all keys, its own and later ones included: the sentence now has «n[0,0]:0» "
            "words, so there are «keys_open[0,0]:0» keys.",
        ),
    ),
    Question(
        key="future",
        ask=Text(
            "**因果掩码**不许一个词读它后面的词。加上它以后，第 3 个词可以读第 4 个词吗？",
            "A **causal mask** lets no word read the words after it. With it, may position 3 read position "
            "4?",
        ),
        answer=("causal", 2, 3),
        options=((Text("可以", "yes"), 1.0), (Text("不可以", "no"), 0.0)),
        mistakes=(
            Mistake(
                ("causal", 3, 2),
                Text(
                    "反过来才可以：第 4 个词可以读第 3 个词。行是发问的词，列是被读的词。",
                    "The other way round it may: position 4 reads position 3. Rows ask, columns are read.",
                ),
            ),
        ),
        why=Text(
            "第 4 个词在后面，是“未来”。因果掩码第 3 行第 4 列是 «causal[2,3]:0»：分数换成 −∞，权重恰好是 "
            "0。",
            "Position 4 comes later: it is the future. Row 3, column 4 of the causal mask is "
            "«causal[2,3]:0», so the score becomes −∞ and the weight exactly 0.",
        ),
    ),
    Question(
        key="same",
        ask=Text(
            "两个头读的是同一个 $X$。输入相同，能保证两个头的权重也相同吗？",
            "Both heads read the same $X$. Does the same input guarantee the same weights in both?",
        ),
        answer=("differ", 0, 0),
        options=((Text("能", "yes"), 0.0), (Text("不能", "no"), 1.0)),
        under=START,
        mistakes=(
            Mistake(
                ("zero", 0, 0),
                Text(
                    "输入相同，但每个头有自己的 $W^Q$ 和 $W^K$。投影不同，查询和键就不同。",
                    "The input is the same, but each head has a $W^Q$ and a $W^K$ of its own. Other "
                    "projections, other queries and keys.",
                ),
            ),
        ),
        why=Text(
            "两个头的投影不同，分数和权重就可以不同。这一页一开始的数字就是反例：一处不同，就谈不上保证。",
            "The heads project differently, so scores and weights may differ. The numbers this page starts "
            "with are an example: one is enough to rule out a guarantee.",
        ),
    ),
)

BODY = (
    Prose(
        Text(
            "模型处理的单位叫**词元**（token），可以是一个词、一个字，或者词的一部分；这里一个词就是一个词"
            "元。\n\n"
            "四个词，每个词 4 个数。前两个数是内容：有多像名词，有多需要找一个名词。后两个数是位置：圆上的一"
            "个点，每往后一个词转 45°，四舍五入到一位小数。位置已经写进 $X$，不用另加。\n\n"
            "每个头用自己的三个矩阵，把同一个 $X$ 投影成查询、键和值，各 2 个数宽，然后照上一课那样计算；只"
            "是在 softmax 之前，掩码 $M$ 不许看的分数要换成 −∞，换过的分数记作 $\\tilde{S}$。最后把两个头的"
            "输出左右拼接，又是 4 个数宽。",
            "What a model reads and writes are **tokens**: a token is a word, a character, or a part of a "
            "word. Here each word is one token.\n\n"
            "Four words of 4 numbers each. The first two are content: how much of a noun the word is, and "
            "how much it needs one. The last two are its position: a point on a circle that turns by 45° "
            "with each word, rounded to one decimal. Positions are in $X$ already.\n\n"
            "Each head has three matrices of its own, which project the same $X$ to queries, keys and "
            "values, 2 numbers wide. From there on it computes as in the lesson before, but for one thing: "
            "before softmax, scores that the mask $M$ forbids become −∞. Scores so changed are written "
            "$\\tilde{S}$. At the end the outputs of both heads are put side by side: 4 wide again.",
        )
    ),
    Formula(
        r"S^{(h)} = \frac{Q^{(h)} K^{(h)\top}}{\sqrt{2}}"
        r"\qquad O^{(h)} = \text{softmax}(\tilde{S}^{(h)})\, V^{(h)}"
    ),
    Formula(r"O = [\,O^{(1)} \;\; O^{(2)}\,]"),
    Presets(
        Text("谁能看谁", "Who may look at whom"),
        (
            Preset("open", Text("不加掩码", "no mask"), {"M": EVERYONE}),
            Preset("causal", Text("因果掩码", "causal mask"), {"M": CAUSAL}),
        ),
    ),
    Query("words", Text("谁在发问？", "Who asks?"), ("P1", "S1", "A1", "O1", "P2", "S2", "A2", "O2"), 3),
    Matrices(
        (
            Shown("X", "X", "words", "width", decimals=1),
            Shown(
                "M",
                "M",
                "words",
                "words",
                "mask",
                0,
                note=Text("1 可以看，0 不许看", "1: may look, 0: must not"),
            ),
        ),
        Text("输入和掩码", "The input and the mask"),
    ),
    Sentence("words", "X", ("M",)),
    *_head("1", Text("头 1：找名词", "Head 1: looks for a noun")),
    *_head("2", Text("头 2：看前一个词", "Head 2: looks at the word before")),
    Heading(Text("两个头并排", "Both heads, side by side")),
    _pair("P", r"Q^{({h})} K^{({h})\top}", "scores"),
    _pair("S", r"S^{({h})} = Q^{({h})} K^{({h})\top} / \sqrt{2}", "scores"),
    _pair("masked", r"\tilde{S}^{({h})}", "scores"),
    _pair("A", r"A^{({h})} = \text{softmax}(\tilde{S}^{({h})})", "weights"),
    _pair("O", r"O^{({h})} = A^{({h})} V^{({h})}"),
    Matrices((Shown("O", r"O = [\,O^{(1)} \;\; O^{(2)}\,]", "words"),), Text("拼接", "Side by side")),
    Prose(
        Text(
            "看第 4 个词，原句里是“它”。头 1 给第 1、2、3 个词的权重是 «A1[3,0]»、«A1[3,1]»、«A1[3,2]»，头 "
            "2 给的是 «A2[3,0]»、«A2[3,1]»、«A2[3,2]»。按原来的句子和数字，头 1 找名词，更偏向句首的“猫”；"
            "头 2 只管位置，看的是前一个词“老鼠”。两份混合也就不同：头 1 带回“有多像名词”，头 2 "
            "带回“在哪里”。\n\n"
            "再看方向。头 2 里，第 4 个词给第 3 个词 «A2[3,2]»，第 3 个词给第 4 个词 «A2[2,3]»。"
            "查询和键来自不同的矩阵，“我看你”和“你看我”是两回事。\n\n"
            "也有词什么都不想找：原句里“猫”和“老鼠”在头 1 的查询是 $(0, 0)$，分数全是 0，"
            "权重就均匀地分给所有能看的词。softmax 没有“谁也不看”这个选项。",
            "Look at position 4, which is “it” in the original sentence. Head 1 gives positions 1, 2 and 3 "
            "the weights «A1[3,0]», «A1[3,1]» and «A1[3,2]»; head 2 gives them «A2[3,0]», «A2[3,1]» and "
            "«A2[3,2]». With the original sentence and numbers, head 1 looks for a noun and leans to the "
            "front, to “cat”; head 2 goes by position alone and looks at the word before, “mouse”. So the "
            "mixtures differ: head 1 brings back how much of a noun was found, head 2 where.\n\n"
            "Now the direction. In head 2, position 4 gives position 3 «A2[3,2]», and position 3 gives "
            "position 4 «A2[2,3]». Queries and keys come from different matrices: “I look at you” and “you "
            "look at me” are two things.\n\n"
            "Some words look for nothing: in the original, “cat” and “mouse” have the query $(0, 0)$ in "
            "head 1. All their scores are 0, and the weights are spread evenly over all that they may see. "
            "Softmax has no way to look at nobody.",
        )
    ),
    Prose(
        Text(
            "这个玩具省去了最后一步 $W^O$。完整的模型在拼接之后再乘一个矩阵 $W^O$，"
            "让各个头的结果能够互相混合。",
            "This toy leaves out $W^O$. A full model multiplies the joined outputs by one more matrix, "
            "$W^O$, so that what the heads found can be mixed.",
        )
    ),
    Ledger(
        (
            (
                "X",
                "X",
                Text("输入：一行一个词，位置已在其中", "the input, one word a row, positions included"),
            ),
            (
                "W_Q1",
                r"W^{Q\,(h)}, W^{K\,(h)}, W^{V\,(h)}",
                Text("每个头自己的三个投影", "three projections of each head's own"),
            ),
            ("Q1", "Q^{(h)}, K^{(h)}, V^{(h)}", Text("查询、键、值", "queries, keys, values")),
            ("S1", "S^{(h)}", Text("每个词对每个词的分数", "a score for each word by each word")),
            ("M", "M", Text("掩码：谁能看谁，两个头共用", "the mask, the same for both heads")),
            ("A1", "A^{(h)}", Text("权重：每一行加起来是 1", "weights; each row adds up to 1")),
            ("O1", "O^{(h)}", Text("一个头的输出", "the output of one head")),
            ("O", "O", Text("两个头拼接，和 $X$ 一样宽", "both side by side, as wide as $X$")),
        )
    ),
    Heading(Text("训练出来的头", "Heads that were trained")),
    Prose(
        Text(
            f"上面的头是手写的。再看一个训练出来的小 GPT：两层，每层两个头，{LEARNED['parameters']:,} 个参数"
            "。它学的是我们生成的句子，里面的“它”指谁由结构决定：“因为”后面的“它”是做事的一方，“所以”后面"
            "的是承受的一方。猫对老鼠做什么的句子它一句也没学过，照样答得对：读完“猫追老鼠，因为它饿了。谁饿了"
            "？”，下一个词是“猫”的概率是 «p[0,0]:3»；把“因为”换成“所以”，“老鼠”的概率是 «p[1,1]:3»。\n\n"
            "下面是它读这句话时四个头的权重，越深越大。行是发问的词，列是被看的词。",
            "The heads above are written by hand. Here is a small GPT that was trained: two layers of two "
            f"heads, {LEARNED['parameters']:,} parameters. It learned from sentences of ours, where the "
            "structure decides whom “it” means: after “because” the one who acts, after “so” the one acted "
            "upon. It never read of a cat doing anything to a mouse, and gets that right all the same: after "
            "“cat chases mouse, because it is hungry; who is hungry?” the next word is “cat” with a "
            "probability of «p[0,0]:3». With “so” for “because” it is “mouse”, with «p[1,1]:3». "
            "(It read Chinese; the words are put into English here.)\n\n"
            "These are the weights of its four heads on that sentence, the darker the larger. Rows ask, "
            "columns are read.",
        )
    ),
    Matrices(
        tuple(Shown(f"T{h}", f"A^{{({h[0]}.{h[1]})}}", "read", "read", "weights", small=True) for h in HEADS),
        Text("层.头", "layer.head"),
    ),
    Prose(
        Text(
            "手写的头 1 里，“它”最看重“猫”：«A1[3,0]»。这里，“它”在四个头里给“猫”的权重是 "
            f"«it[0,{AT_CAT}]»、«it[1,{AT_CAT}]»、«it[2,{AT_CAT}]»、«it[3,{AT_CAT}]»，给“老鼠”的也差不多。"
            "这个模型不在“它”那里找答案，要到末尾的“？”才找。下面是“？”那一行在四个头里的权重，"
            "以及切断一条边（分数换成 −∞，其余重新归一）或者把它置零（权重换成 0，不再归一）以后，"
            "答“猫”的概率；原来是 «p_cat[0,0]»。",
            "In the hand-written head 1, “it” looks most at “cat”: «A1[3,0]». Here “it” gives “cat” the "
            f"weights «it[0,{AT_CAT}]», «it[1,{AT_CAT}]», «it[2,{AT_CAT}]» and «it[3,{AT_CAT}]» in the four "
            "heads, and “mouse” not much more. This model does not look for the answer at “it”, but at the "
            "“?” in the end. Below is the row of “?” in the four heads, and the probability of “cat” once an "
            "edge is cut (its score becomes −∞, the rest is renormalised) or zeroed (its weight becomes 0, "
            "nothing is renormalised). It was «p_cat[0,0]».",
        )
    ),
    Matrices((Shown("end", r"A_{?}", "heads", "read", "weights"),), Text("“？”看谁", "Where “?” looks")),
    Question(
        key="costliest",
        ask=Text(
            f"三个头几乎只看“因为”：1.2 给它 «end[1,{AT_BECAUSE}]»，2.1 给 «end[2,{AT_BECAUSE}]»，2.2 给 "
            f"«end[3,{AT_BECAUSE}]»。三条边只切断一条，切断哪个头的，“猫”的概率掉得最多？",
            "Three heads look at hardly anything but “because”: 1.2 gives it "
            f"«end[1,{AT_BECAUSE}]», 2.1 «end[2,{AT_BECAUSE}]», 2.2 «end[3,{AT_BECAUSE}]». Of these three "
            "edges one is cut. In which head does that cost “cat” the most probability?",
        ),
        answer=("costliest", 0, 0),
        options=(("1.2", 1.0), ("2.1", 2.0), ("2.2", 3.0)),
        mistakes=tuple(
            Mistake(
                ("head", i, 0),
                Text(
                    f"切断它，还剩 «p_cut[{i},{AT_BECAUSE}]»。",
                    f"Without it, «p_cut[{i},{AT_BECAUSE}]» is left.",
                ),
            )
            for i in (1, 3)
        ),
        why=Text(
            f"切断 2.1，只剩 «p_cut[2,{AT_BECAUSE}]»，模型改口了；切断 1.2 或 2.2，还有 "
            f"«p_cut[1,{AT_BECAUSE}]» 和 «p_cut[3,{AT_BECAUSE}]»。权重几乎一样，后果天差地别：从权重看不出"
            "来，只有切断了再算一遍才知道。",
            f"Without 2.1 there is «p_cut[2,{AT_BECAUSE}]» left, and the model changes its answer; without "
            f"1.2 or 2.2 it is «p_cut[1,{AT_BECAUSE}]» and «p_cut[3,{AT_BECAUSE}]». The weights are all but "
            "equal, the consequences are worlds apart. Weights do not tell: one has to cut and compute "
            "again.",
        ),
    ),
    Matrices((Shown("p_cut", r"p_{\text{cut}}", "heads", "read"),), Text("切断一条边", "One edge cut")),
    Matrices((Shown("p_zeroed", r"p_0", "heads", "read"),), Text("一条边置零", "One edge zeroed")),
    Prose(
        Text(
            f"再看 1.1：它看着两只动物，给“老鼠”«end[0,{AT_MOUSE}]»，给“猫”只有 «end[0,{AT_CAT}]»，"
            "答案却是“猫”。权重大的不一定是答案，权重相同的不一定同样要紧。",
            f"Then look at 1.1, which sees both animals: «end[0,{AT_MOUSE}]» for “mouse”, only "
            f"«end[0,{AT_CAT}]» for “cat”, and yet the answer is “cat”. What weighs most need not be the "
            "answer, and equal weights need not matter equally.",
        )
    ),
)

CHECK = (
    Question(
        key="weight",
        ask=Text(
            "头 2 里，第 4 个词的输出中，第 3 个词的值占多大的份额？",
            "In head 2, how large a share of the value at position 3 goes into the output at position 4?",
        ),
        answer=("A2", 3, 2),
        mistakes=(
            Mistake(
                ("A2", 2, 3),
                Text(
                    "行和列弄反了：这是第 3 个词给第 4 个词的权重。先找发问的那一行，再找被读的那一列。",
                    "Row and column are swapped: this is the weight that position 3 gives to position 4. "
                    "First find the row that asks, then the column that is read.",
                ),
            ),
            Mistake(
                ("S2", 3, 2),
                Text(
                    "这是分数，还没有经过 softmax。份额要看权重。",
                    "That is the score, before softmax. Shares are weights.",
                ),
            ),
            Mistake(("A1", 3, 2), Text("格子找对了，但这是头 1 的权重。", "The right cell, but of head 1.")),
        ),
        why=Text(
            "第 4 行是发问的词，第 3 列是被读的词：$A^{(2)}$ 的这一格是 «A2[3,2]:4»。",
            "Row 4 asks, column 3 is read: that cell of $A^{(2)}$ is «A2[3,2]:4».",
        ),
    ),
    Question(
        key="score",
        ask=Text(
            "头 2 里，第 4 个词对第 3 个词的分数 $S^{(2)}$ 是多少？用 $Q^{(2)}$ 和 $K^{(2)}$ 算。",
            "In head 2, what is the score $S^{(2)}$ of position 4 for position 3? Work it out from "
            "$Q^{(2)}$ and $K^{(2)}$.",
        ),
        answer=("S2", 3, 2),
        mistakes=(
            Mistake(
                ("P2", 3, 2),
                Text(
                    "点积对了，忘了除以 $\\sqrt{d_k}$，这里 $d_k = 2$。",
                    "The dot product is right, but it has to be divided by $\\sqrt{d_k}$; here $d_k = 2$.",
                ),
            ),
            Mistake(
                ("P2_over_d", 3, 2),
                Text("除以的是 $\\sqrt{d_k}$，不是 $d_k$。", "It is divided by $\\sqrt{d_k}$, not by $d_k$."),
            ),
            Mistake(
                ("S2", 2, 3),
                Text(
                    "行和列弄反了：这里用了第 3 个词的查询和第 4 个词的键。",
                    "Row and column are swapped: this takes the query of position 3 and the key of position "
                    "4.",
                ),
            ),
            Mistake(
                ("A2", 3, 2),
                Text(
                    "这是 softmax 之后的权重。问的是分数。",
                    "That is the weight, after softmax. The score was asked for.",
                ),
            ),
        ),
        why=Text(
            "$Q^{(2)}$ 的第 4 行和 $K^{(2)}$ 的第 3 行，点积是 «P2[3,2]:4»，除以 $\\sqrt{2}$ 得 "
            "«S2[3,2]:4»。",
            "Row 4 of $Q^{(2)}$ and row 3 of $K^{(2)}$ have the dot product «P2[3,2]:4»; over $\\sqrt{2}$ "
            "it is «S2[3,2]:4».",
        ),
    ),
    Question(
        key="order",
        ask=Text(
            "加上因果掩码后，头 1 里第 2 个词给第 1 个词的权重是多少？",
            "With the causal mask, what weight does position 2 give to position 1 in head 1?",
        ),
        answer=("causal1", 1, 0),
        mistakes=(
            Mistake(
                ("late1", 1, 0),
                Text(
                    "这是没加掩码时的权重。先做 softmax、再把未来清零，就会停在这个数：这一行加起来不到 1。"
                    "掩码要放在 softmax **之前**。",
                    "That is the weight without a mask. Softmax first, then 0 for the future, stops "
                    "at this number, with a row that adds up to less than 1. The mask comes **before** "
                    "softmax.",
                ),
            ),
            Mistake(
                ("S1", 1, 0),
                Text("这是分数，还没有经过 softmax。", "That is the score, before softmax."),
            ),
        ),
        why=Text(
            "未来的分数先变成 −∞，softmax 再只在前 2 个词之间分配，所以是 «causal1[1,0]:4»，"
            "不是清零之后剩下的 «late1[1,0]:4»。",
            "Scores of the future become −∞ first; then softmax shares out among the first 2 words alone. "
            "So it is «causal1[1,0]:4», not the «late1[1,0]:4» that setting the future to 0 afterwards "
            "would leave.",
        ),
    ),
    Question(
        key="mixture",
        ask=Text(
            "头 2 里，第 4 个词的输出，第 2 个数是多少？",
            "In head 2, what is the second number of the output at position 4?",
        ),
        answer=("O2", 3, 1),
        mistakes=(
            Mistake(
                ("V2", 2, 1),
                Text(
                    "这是第 3 个词自己的值。注意力不是只挑一个词，而是按权重把能看的词都混进来。",
                    "That is the value of position 3 alone. Attention does not pick one word: it mixes all "
                    "that may be seen, by their weights.",
                ),
            ),
            Mistake(("O1", 3, 1), Text("这是头 1 的输出。", "That is the output of head 1.")),
        ),
        why=Text(
            "$A^{(2)}$ 的第 4 行乘以 $V^{(2)}$ 的第 2 列，再加起来：«O2[3,1]:4»。",
            "Row 4 of $A^{(2)}$ times the second column of $V^{(2)}$, added up: «O2[3,1]:4».",
        ),
    ),
)

LESSON = Lesson(
    slug="two-heads",
    title=Text("四个词，两个头", "Four tokens, two heads"),
    insight=Text(
        "同一个输入，不同的投影，就有不同的权重：每个头看到自己的一面。",
        "One input, different projections, different weights: each head sees a side of its own.",
    ),
    question=Text(
        "“猫追老鼠，它……”：把注意力同时做两份，每一份叫一个**头**。同一句话，两个头会看到同样的东西吗？",
        "“cat chases mouse, it …”: attention is done twice over, and each time is called a **head**. Do two "
        "heads see the same in one sentence?",
    ),
    sheet=SHEET,
    axes={
        "words": WORDS,
        "width": (
            Text("名词", "noun"),
            Text("找名词", "wants one"),
            Text("位置 cos", "place, cos"),
            Text("位置 sin", "place, sin"),
        ),
        "read": _read(),
        "heads": tuple(f"{h[0]}.{h[1]}" for h in HEADS),
    },
    predict=PREDICT,
    body=BODY,
    check=CHECK,
    boundary=Text(
        "权重大，只说明按这些参数，那个词的值被多混进来一些；不等于模型“明白了”它就是猫。前两个头的数字是手写"
        "的，“找名词”“看前一个词”也是先想好再写进矩阵的。训练出来的头没有这样的说明书，只看权重不够，还要切断"
        "连接，量一量结果变了多少；而这里量的只是一句话、一个小模型。",
        "A large weight says that with these parameters more of that value is mixed in. It does not say "
        "that anything understood “it” to be the cat. The numbers of the first two heads are written by "
        "hand, and what each is for was decided before its matrices. Trained heads come without such a "
        "description, and weights alone are not enough: cut the connection, and measure how much the "
        "result changes. Even so, this is one sentence and one small model.",
    ),
    transfer=Transfer(
        Text(
            "4 个词变成 $n$ 个词：训练时哪些可以并行？生成时哪些必须等待？"
            "为什么计算量是 $O(n^2 d)$ **加上** $O(nd^2)$？",
            "4 tokens become $n$: what is parallel in training, what must wait in generation, and why is "
            "the cost $O(n^2 d)$ **plus** $O(nd^2)$?",
        ),
        Text(
            "训练时整句话已知，所有行的查询、键、值、分数和输出都是矩阵乘法，彼此不用等；"
            "因果掩码保证每一行没有偷看后面。\n\n"
            "生成时，下一个词要等上一个词选出来才知道，所以一步一个词，必须按顺序等待。\n\n"
            "计算量来自两处：每一对词都要比较和混合，共 $n^2$ 对，每对大约 $d$ 次乘法，是 $O(n^2 d)$；"
            "每个词都要乘 $d × d$ 大小的投影矩阵，共 $n$ 个词，是 $O(nd^2)$。句子短时后者为主，"
            "$n$ 远大于 $d$ 时前者为主，所以两项都要写。",
            "In training the whole text is known. Queries, keys, values, scores and outputs of all rows are "
            "matrix products, and no row waits for another; the causal mask sees to it that none peeks "
            "ahead.\n\n"
            "In generation a token is not known before the one in front of it has been chosen. So it goes "
            "one step a token, and each step waits for the last.\n\n"
            "The cost has two sources. Each pair of tokens is compared and mixed: $n^2$ pairs at about $d$ "
            "multiplications, $O(n^2 d)$. Each token is multiplied with projections of about $d × d$: $n$ "
            "tokens, $O(nd^2)$. In short texts the second is larger, and where $n$ is far above $d$ the "
            "first, so both have to be written.",
        ),
    ),
    claims=("C19",),
)
