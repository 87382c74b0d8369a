"""Masks. What leaks without one, a row that may look nowhere, and −10⁵ in place of −∞."""

from ..sheet import Sheet
from .lesson import (
    Facts,
    Formula,
    Heading,
    Lesson,
    Matrices,
    Mistake,
    Preset,
    Presets,
    Prose,
    Query,
    Question,
    Shown,
    Text,
    Transfer,
)

OPEN = [[1, 1, 1, 1]] * 4
CAUSAL = [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]
PADDING = [[0, 1, 1, 1]] * 4
BOTH = [[0, 0, 0, 0], [0, 1, 0, 0], [0, 1, 1, 0], [0, 1, 1, 1]]
USUAL, LARGE = [[1.0]], [[100_000.0]]
LOW = -1e5
LAST_PLUS_1 = [[0, 0], [0, 0], [0, 0], [1, 0]]

SHEET = Sheet()
SHEET.const("S", [[-2.0, 1.0, 0.0, 1.0], [1.0, 2.0, 0.0, 1.5], [0.0, 2.0, 1.0, 0.0], [0.5, 1.0, 2.0, 1.0]])
SHEET.const("c", USUAL)
SHEET.const("M", OPEN)
SHEET.const("V", [[9, 9], [2, 0], [0, 2], [1, 3]])
SHEET.mul("cS", "S", "c")
SHEET.mask("masked", "cS", "M")
SHEET.softmax("A", "masked")
SHEET.matmul("O", "A", "V")

# The same with a large negative number in place of −∞.
SHEET.mask("low", "cS", "M", fill=LOW)
SHEET.softmax("B", "low")
SHEET.matmul("O_B", "B", "V")

# How much weight lies on what must not be looked at, and how far A and B are apart.
SHEET.const("one", [[1]])
SHEET.const("ones", OPEN)
SHEET.mask("allowed", "ones", "M", fill=0)
SHEET.sub("forbidden", "one", "allowed")
for weights in "AB":
    SHEET.sum(f"total_{weights}", weights)
    SHEET.mul(f"{weights}_forbidden", weights, "forbidden")
    SHEET.sum(f"stray_{weights}", f"{weights}_forbidden")
    SHEET.sum(f"stray_all_{weights}", f"stray_{weights}", over="all")
SHEET.sub("A_less_B", "A", "B")
SHEET.mul("square", "A_less_B", "A_less_B")
SHEET.max("largest_square", "square", over="all")
SHEET.sqrt("gap", "largest_square")

# The future: how much weight lies on it, and whether a change of the last value is felt before it.
SHEET.range("place", 4)
SHEET.transpose("place_T", "place")
SHEET.less("future", "place", "place_T")
SHEET.mul("A_future", "A", "future")
SHEET.sum("leak", "A_future")
SHEET.sub("not_leak", "one", "leak")
SHEET.const("change_V", LAST_PLUS_1)
SHEET.add("V_new", "V", "change_V")
SHEET.matmul("O_new", "A", "V_new")
SHEET.sub("change_O", "O_new", "O")

# Softmax first and the mask after it, and what no mask would give.
SHEET.softmax("unmasked", "cS")
SHEET.mul("late", "unmasked", "allowed")
SHEET.sum("late_total", "late")
SHEET.sub("late_lost", "one", "late_total")
SHEET.matmul("change_O_unmasked", "unmasked", "change_V")

PREDICT = (
    Question(
        key="past",
        ask=Text(
            "加上因果掩码，再把最后一个词的值的第 1 个数加 1，别的都不动。第 2 个词的输出，第 1 "
            "个数会变多少？",
            "With the causal mask, the first number of the last word's value grows by 1 and nothing else "
            "changes. By how much does the first number of the second word's output change?",
        ),
        answer=("change_O", 1, 0),
        under={"M": CAUSAL, "c": USUAL, "change_V": LAST_PLUS_1},
        mistakes=(
            Mistake(
                ("change_O_unmasked", 1, 0),
                Text(
                    "没有掩码时才会变这么多。第 2 个词看不到最后一个词，给它的权重是 0。",
                    "So much without a mask. The second word does not see the last one: its weight there is "
                    "0.",
                ),
            ),
        ),
        why=Text(
            "输出只由看得到的值混成。对后面的词，权重恰好是 0，它们怎么变都传不过来。",
            "The output mixes only values that may be seen. The weights on later words are exactly 0, so "
            "whatever happens to these does not arrive.",
        ),
    ),
    Question(
        key="nowhere",
        ask=Text(
            "几句话一起算时，短的要用空位［填充］补齐，补上的位置谁也不许看。这句话的左边有一个［填充］，再"
            "加上因果掩码，它这一行就什么也不许看，分数全是 −∞。在这一页上，这一行的权重加起来是多少？",
            "Texts that are worked on together are filled up to one length with [pad]s, which nobody may "
            "look at. Here one stands on the left. With the causal mask as well, its row may look nowhere: "
            "all scores are −∞. What do the weights of that row add up to on this page?",
        ),
        answer=("total_A", 0, 0),
        under={"M": BOTH, "c": USUAL},
        mistakes=(
            Mistake(
                ("total_B", 0, 0),
                Text(
                    "平时每一行都加到 1，可这一行没有词可分。",
                    "Other rows add up to 1, but this one has no word to give anything to.",
                ),
            ),
        ),
        why=Text(
            "照公式算是 0 ÷ 0，没有意义；程序不小心就会得到 NaN，再传给后面的每一步。"
            "所以要有约定：这里规定权重和输出都是 0。",
            "By the formula it is 0 ÷ 0, which has no value; a careless program gets NaN and hands it on to "
            "all that follows. So it has to be settled, and here it is: weights and output are 0.",
        ),
    ),
    Question(
        key="low",
        ask=Text(
            "还是这一行。有人不填 −∞，改填 −10⁵，心想反正 e 的 −10⁵ 次方就是 0。这时落在不许看的词上的权重，"
            "一共是多少？",
            "The same row. Someone fills in −10⁵ instead of −∞, since e to the −10⁵ is 0 anyway. How much "
            "weight is then on words that must not be looked at, all together?",
        ),
        answer=("stray_B", 0, 0),
        under={"M": BOTH, "c": USUAL},
        mistakes=(
            Mistake(
                ("stray_A", 0, 0),
                Text(
                    "填 −∞ 时才是这样。softmax 只看分数之间的差：四个 −10⁵ 彼此相等。",
                    "So it is with −∞. Softmax sees only differences between scores, and four times −10⁵ "
                    "are equal.",
                ),
            ),
            Mistake(
                ("B", 0, 0),
                Text(
                    "这是落在一个词上的。这样的词有四个，一共是多少？",
                    "That is on one of these words. There are four of them.",
                ),
            ),
        ),
        why=Text(
            "softmax 先减去这一行最大的分数：−10⁵ 减 −10⁵ 是 0。四个分数相等，"
            "权重就均匀分给了四个不许看的词。程序不报错，数字看上去也正常。",
            "Softmax takes off the row's largest score first, and −10⁵ less −10⁵ is 0. Four equal scores "
            "make four equal weights, all on words that must not be seen. Nothing fails, and the numbers "
            "look fine.",
        ),
    ),
)

BODY = (
    Prose(
        Text(
            "掩码 $M$ 规定谁能看谁：行是发问的词，列是被看的词，1 可以看，0 不许看。"
            "不许看的地方，分数在 softmax **之前**换成 −∞；e 的 −∞ 次方是 0，权重就恰好是 0，"
            "其余的权重照样加到 1。\n\n"
            "**因果掩码**挡住后面的词，生成文字的模型用它。**填充掩码**挡住为了凑齐长度而补的［填充］。"
            "两种一起用时，两边都允许才算允许。$M$ 里的每一格都可以直接改成 0 或 1。",
            "A mask $M$ says who may look at whom: rows ask, columns are looked at, 1 is allowed and 0 is "
            "not. Where it is not, the score becomes −∞ **before** softmax. As e to the −∞ is 0, the weight "
            "is exactly 0, and the others still add up to 1.\n\n"
            "A **causal mask** hides later words; models that write text use it. A **padding mask** hides "
            "the [pad]s that only make texts equally long. Together, a place is open where both allow it. "
            "You can set any cell of $M$ to 0 or 1.",
        )
    ),
    Formula(r"\tilde{s}_{ij} = \begin{cases} c\,s_{ij} & m_{ij} = 1 \\ -\infty & m_{ij} = 0 \end{cases}"),
    Presets(
        Text("掩码", "The mask"),
        (
            Preset("open", Text("不加掩码", "none"), {"M": OPEN, "c": USUAL}),
            Preset("causal", Text("因果", "causal"), {"M": CAUSAL, "c": USUAL}),
            Preset("padding", Text("填充", "padding"), {"M": PADDING, "c": USUAL}),
            Preset("both", Text("因果 + 填充", "causal and padding"), {"M": BOTH, "c": USUAL}),
            Preset("large", Text("因果，分数极大", "causal, huge scores"), {"M": CAUSAL, "c": LARGE}),
        ),
    ),
    Query("words", Text("谁在发问？", "Who asks?"), ("masked", "A", "O")),
    Matrices(
        (
            Shown("S", "S", "words", "words", "scores", 1),
            Shown("c", "c", decimals=0, note=Text("所有分数都乘以它", "all scores are multiplied by it")),
            Shown("M", "M", "words", "words", "mask", 0),
            Shown("V", "V", "words", decimals=1),
        ),
        Text("给定", "Given"),
    ),
    Matrices(
        (
            Shown("masked", r"\tilde{S}", "words", "words", "scores", 1),
            Shown("A", r"A = \text{softmax}(\tilde{S})", "words", "words", "weights"),
            Shown("O", "O = AV", "words"),
        ),
        Text("算出来的", "Worked out"),
    ),
    Prose(
        Text(
            "试试“因果 + 填充”：［填充］前面没有别的词，自己又不许看，这一行什么也看不到。"
            "它的权重和输出都是 0，而不是 NaN。",
            "Try “causal and padding”: there is no word before [pad], and [pad] itself is closed, so its "
            "row may look nowhere. Its weights and its output are 0, not NaN.",
        )
    ),
    Heading(Text("不加掩码，未来怎样泄漏", "How the future leaks without a mask")),
    Prose(
        Text(
            "训练生成模型时，每个位置都要猜下一个词。要是它能看到后面，答案就在眼前。"
            "第一个表是每一行落在未来的权重。后两个表做一个实验：只改最后一个词的值，看谁的输出跟着动。",
            "In training, a model that writes has to guess the next word at every position. If it sees "
            "ahead, the answer lies before it. The first table shows how much of each row's weight lies on "
            "the future. The other two are an experiment: only the last word's value changes. Whose output "
            "moves?",
        )
    ),
    Matrices(
        (
            Shown("leak", r"\sum_{j>i} a_{ij}", "words", decimals=4),
            Shown("change_V", r"\Delta V", "words", decimals=1),
            Shown("change_O", r"\Delta O", "words", decimals=4),
        ),
    ),
    Prose(
        Text(
            "换成因果掩码，前三行的 $ΔO$ 恰好是 0，不是“很小”：被挡住的值一点也进不来。",
            "Under the causal mask the first three rows of $ΔO$ are exactly 0, not merely small: nothing of "
            "a masked value gets in.",
        )
    ),
    Heading(Text("用 −10⁵ 代替 −∞，行不行？", "Is −10⁵ as good as −∞?")),
    Prose(
        Text(
            "有些程序不填 −∞，而填一个很大的负数。下面每一对表，前一个填 −∞，后一个填 −10⁵。把每个预设都按一"
            "遍，看两边什么时候一样，什么时候不一样。",
            "Some programs fill in a large negative number instead of −∞. In each pair of tables below, the "
            "first has −∞ and the second −10⁵. Go through the buttons above and see when both sides agree, "
            "and when not.",
        )
    ),
    Matrices(
        (
            Shown("masked", r"\tilde{S}", "words", "words", "scores", 1),
            Shown("low", r"\tilde{S}_{-10^5}", "words", "words", "scores", 1),
        ),
        Text("分数", "Scores"),
    ),
    Matrices(
        (
            Shown("A", "A", "words", "words", "weights"),
            Shown("B", r"B = \text{softmax}(\tilde{S}_{-10^5})", "words", "words", "weights"),
        ),
        Text("权重", "Weights"),
    ),
    Matrices((Shown("O", "O", "words"), Shown("O_B", "BV", "words")), Text("输出", "Outputs")),
    Facts(
        (
            (Text("两边权重最大的差", "largest difference between the weights"), ("gap", 0, 0), 4),
            (
                Text(
                    "填 −∞：落在不许看的位置上的权重，所有行合计",
                    "−∞: weight on forbidden words, all rows together",
                ),
                ("stray_all_A", 0, 0),
                4,
            ),
            (
                Text(
                    "填 −10⁵：落在不许看的位置上的权重，所有行合计",
                    "−10⁵: weight on forbidden words, all rows together",
                ),
                ("stray_all_B", 0, 0),
                4,
            ),
        )
    ),
    Prose(
        Text(
            "平常两边一模一样，所以这个毛病很难发现。它在两种情形下露出来：**一整行都不许看**，softmax 只看"
            "分数之间的差，而 −10⁵ 彼此没有差；或者**看得到的分数比 −10⁵ 还低**，那么不许看的反而成了最高"
            "分。−∞ 没有这两个问题，只需要把“什么也看不到”的行规定为 0。",
            "As a rule both sides are the same to the last digit, which is why the fault is hard to find. "
            "It shows in two cases. **A row may look nowhere**: softmax sees differences only, and among "
            "equal −10⁵ there are none. Or **the scores that may be seen are lower than −10⁵**: then the "
            "forbidden ones are the highest. With −∞ neither happens; only rows that may look nowhere have "
            "to be set to 0.",
        )
    ),
)

CHECK = (
    Question(
        key="leak",
        ask=Text(
            "不加掩码时，第 2 个词有多少权重落在未来，也就是它后面的词上？",
            "Without a mask, how much of the second word's weight lies on the future: the words after it?",
        ),
        answer=("leak", 1, 0),
        under={"M": OPEN},
        mistakes=(
            Mistake(
                ("A", 1, 2),
                Text(
                    "这只是紧跟着的那一个词。后面的词都要算。",
                    "That is only the very next word. All later ones count.",
                ),
            ),
            Mistake(
                ("not_leak", 1, 0),
                Text("这是落在过去和自己身上的部分。", "That is what lies on the past and on itself."),
            ),
        ),
        why=Text(
            "把第 2 行里它后面各列的权重加起来。因果掩码会把这一部分变成恰好 0。",
            "Add up the weights of row 2 in the columns after it. The causal mask makes this exactly 0.",
        ),
    ),
    Question(
        key="late",
        ask=Text(
            "有人先做 softmax，再按因果掩码把未来的权重改成 0。第 2 行剩下的权重加起来是多少？",
            "Someone does softmax first and then sets the weights on the future to 0, by the causal mask. "
            "What do the remaining weights of row 2 add up to?",
        ),
        answer=("late_total", 1, 0),
        under={"M": CAUSAL},
        mistakes=(
            Mistake(
                ("total_A", 1, 0),
                Text(
                    "先掩码、后 softmax 才会加到 1。顺序反了，剩下的权重没有人重新分配。",
                    "They add up to 1 when the mask comes first. The other way round, nobody shares out "
                    "what was set to 0.",
                ),
            ),
            Mistake(
                ("late_lost", 1, 0),
                Text(
                    "这是被清零的那部分，问的是剩下的。",
                    "That is what was set to 0; what remains was asked for.",
                ),
            ),
        ),
        why=Text(
            "未来的词仍然参加了 softmax 的分母，清零之后也没有补回来。所以掩码要放在 softmax 之前。",
            "The future still took part in the sum that softmax divides by, and setting it to 0 does not "
            "give that back. So the mask comes before softmax.",
        ),
    ),
    Question(
        key="large",
        ask=Text(
            "因果掩码，所有分数乘以 $c = 100000$，不许看的位置填 −10⁵。第 1 行有多少权重落在不许看的词上？",
            "Causal mask, all scores times $c = 100000$, and −10⁵ where looking is forbidden. How much of "
            "the first row's weight is on forbidden words?",
        ),
        answer=("stray_B", 0, 0),
        under={"M": CAUSAL, "c": LARGE},
        mistakes=(
            Mistake(
                ("stray_A", 0, 0),
                Text(
                    "填 −∞ 才有这个保证。拿这一行看得到的分数和 −10⁵ 比一比。",
                    "Only −∞ guarantees that. Compare the score that this row may see with −10⁵.",
                ),
            ),
        ),
        why=Text(
            "第 1 行只能看自己，分数是 $c s_{11}$。它若比 −10⁵ 低得多，不许看的词分数反而更高，"
            "权重就全跑到那里；若高得多，就不会。“足够小”要看别的分数有多小。",
            "The first row sees only itself, with the score $c s_{11}$. Where that is far below −10⁵, the "
            "forbidden words score higher and take all the weight; where it is far above, they take none. "
            "Whether a number is low enough depends on the others.",
        ),
    ),
)

LESSON = Lesson(
    slug="masks",
    title=Text("掩码：谁能看谁", "Masks: who may look at whom"),
    insight=Text(
        "掩码在 softmax 之前把分数变成 −∞，权重就恰好是 0；“很大的负数”不能代替它。",
        "A mask turns scores into −∞ before softmax, so weights are exactly 0; a large negative number will "
        "not do.",
    ),
    question=Text(
        "怎样让一个词绝对看不到另一个词？“差不多看不到”够不够？",
        "How do you make sure that one word cannot see another? Is “hardly” enough?",
    ),
    sheet=SHEET,
    axes={
        "words": (
            Text("［填充］", "[pad]"),
            Text("猫", "cat"),
            Text("追", "chases"),
            Text("老鼠", "mouse"),
        )
    },
    predict=PREDICT,
    body=BODY,
    check=CHECK,
    boundary=Text(
        "这里的分数是手写的，改的也只是值。在模型里改动一个词，它的查询、键、值都会变；但只要每一层都用因果"
        "掩码，前面各行依然一点不变，因为它们从不读后面的词。这一页也没有训练模型：偷看未来会让训练损失低得"
        "不真实，生成却变差，下一课训练一次来看。",
        "Scores are written by hand here, and only a value is changed. Change a word in a model, and its "
        "query, key and value all change; yet as long as every layer has the causal mask, the rows before "
        "it stay the same, for they never read it. Nothing is trained here either: that a leak makes the "
        "training loss too good and the generated text bad is measured in the next lesson.",
    ),
    transfer=Transfer(
        Text(
            "三种场合各用什么掩码：给整句话分类的编码器、逐词生成的解码器、翻译时解码器读原文的交叉注意力？",
            "Which mask belongs where: an encoder that classifies a whole text, a decoder that writes word "
            "by word, and a translator's decoder reading the source through cross-attention?",
        ),
        Text(
            "编码器：整句话本来就是已知的，前后都可以看，只挡填充。解码器：因果掩码，有填充时再加填充掩码。"
            "交叉注意力：原文早已完整，不需要因果掩码，只挡原文里的填充。\n\n"
            "判断的办法只有一条：真正使用时，这个位置那时知道什么，训练时就只让它看什么。",
            "The encoder has the whole text from the start and may look both ways: only padding is hidden. "
            "The decoder has the causal mask, and the padding mask where there is padding. In "
            "cross-attention the source is complete, so nothing is hidden but its padding.\n\n"
            "One rule decides: in training a position may see what it will know when the model is used, and "
            "no more.",
        ),
    ),
)
