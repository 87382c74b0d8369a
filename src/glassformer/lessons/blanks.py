"""Fill in the blank and say the next word: one sentence, one place, and exactly what each can know of it.

The language is that of `leak`: its rules are known, so that both probabilities can be worked out.
"""

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
    Slider,
    Text,
    Transfer,
)

PEOPLE = (
    Text("国王", "king"),
    Text("女王", "queen"),
    Text("男人", "man"),
    Text("女人", "woman"),
    Text("王子", "prince"),
    Text("公主", "princess"),
    Text("男孩", "boy"),
    Text("女孩", "girl"),
)
FIRST = (
    Text("年长的", "old"),
    Text("睿智的", "wise"),
    Text("年幼的", "young"),
    Text("淘气的", "naughty"),
    Text("英俊的", "handsome"),
    Text("长胡子的", "bearded"),
    Text("优雅的", "graceful"),
    Text("淑女般的", "ladylike"),
)
VERBS = (
    Text("命令", "commands"),
    Text("嘉奖", "honours"),
    Text("检阅", "inspects"),
    Text("喂养", "feeds"),
    Text("刷洗", "washes"),
    Text("租用", "hires"),
)
WHOSE = (Text("他的", "his"), Text("她的", "her"))
PLACES = (
    Text("1 怎样的", "1 how"),
    Text("2 谁", "2 who"),
    Text("3 做什么", "3 does"),
    Text("4 谁的", "4 whose"),
    Text("5 动物", "5 animal"),
)
ROYAL, MALE, GROWN = (
    [1, 1, 0, 0, 1, 1, 0, 0],
    [1, 0, 1, 0, 1, 0, 1, 0],
    [1, 1, 1, 1, 0, 0, 0, 0],
)
"""Of each of PEOPLE."""
HORSE, KING, WORDS = 0, 0, 35
"""The animal of every sentence here; the answer of the first; and how many words the language has."""
WHO, DOES = 1, 2
"""Places, from 0."""
OLD_KING = {"first": [[0]], "who": [[KING]], "verb": [[0]], "whose": [[0]]}
YOUNG_GIRL = {"first": [[2]], "who": [[7]], "verb": [[3]], "whose": [[1]]}
TORN = {"first": [[4]], "who": [[KING]], "verb": [[0]], "whose": [[1]]}
"""Sentences, by the places of their words in the lists above."""


def _belongs(traits: list[list[int]], each: int) -> list[list[float]]:
    """Which words go with whom: `each` words for those that have a trait, then as many for the others."""
    columns = [x for trait in traits for x in (trait, [1 - has for has in trait]) for _ in range(each)]
    return [[float(x) for x in row] for row in zip(*columns, strict=True)]


SHEET = Sheet()
for name, place in OLD_KING.items():
    SHEET.const(name, place)
SHEET.const("s", 0.1)
SHEET.const("one", 1)
SHEET.const("two", 2)
SHEET.const("minus", -1)
SHEET.const("belongs_first", _belongs([GROWN, MALE], 2))
SHEET.const("belongs_verb", _belongs([ROYAL], 3))
SHEET.const("belongs_whose", _belongs([MALE], 1))
SHEET.const("share_first", [[0.3] * 4 + [0.2] * 4])
SHEET.const("third", 1 / 3)

# p(word | who): of the words that go with somebody, or, in a share s of sentences, of the others.
SHEET.mul("twice", "two", "s")
SHEET.sub("more", "one", "twice")
for table, share in (("first", "share_first"), ("verb", "third"), ("whose", "one")):
    SHEET.mul(f"usual_{table}", f"belongs_{table}", "more")
    SHEET.add(f"even_{table}", f"usual_{table}", "s")
    SHEET.mul(f"P_{table}", f"even_{table}", share)

# What each of the people makes of the words that stand there.
for table, count in (("first", len(FIRST)), ("verb", len(VERBS)), ("whose", len(WHOSE))):
    SHEET.onehot(f"is_{table}", table, count)
    SHEET.transpose(f"at_{table}", f"is_{table}")
    SHEET.matmul(f"fits_{table}", f"P_{table}", f"at_{table}")
SHEET.onehot("is_who", "who", len(PEOPLE))

# Next word: what stands before. Blank: that, times how well each explains what comes after.
SHEET.const("prior", 1 / len(PEOPLE))
SHEET.mul("prior_fits", "fits_first", "prior")
SHEET.sum("total_before", "prior_fits", over="all")
SHEET.div("p_next", "prior_fits", "total_before")
SHEET.mul("p_after", "fits_verb", "fits_whose")
SHEET.mul("joint", "p_next", "p_after")
SHEET.sum("total", "joint", over="all")
SHEET.div("p_fill", "joint", "total")

# The other places: who is known there, and all else depends on that alone. A sentence may also begin with a
# food.
SHEET.const("begins", [[0.1] * len(PEOPLE)])
SHEET.matmul("first_of_people", "begins", "P_first")
SHEET.const("foods", [[0.1, 0.1]])
SHEET.concat("next_0", "first_of_people", "foods")
SHEET.matmul("fill_0", "is_who", "P_first")
SHEET.transpose("next_1", "p_next")
SHEET.transpose("fill_1", "p_fill")
SHEET.const("animals", [[1 / 3] * 3])
for k, table in ((2, "P_verb"), (3, "P_whose")):
    SHEET.matmul(f"next_{k}", "is_who", table)
SHEET.const("nothing", [[0, 0]])
SHEET.concat("is_first_or_food", "is_first", "nothing")
SHEET.const("is_animal", [[1, 0, 0]])

# At each place: the entropy, and what the word that does stand there costs, -ln p.
_OF = {
    "next": ("next_0", "next_1", "next_2", "next_3", "animals"),
    "fill": ("fill_0", "fill_1", "next_2", "next_3", "animals"),
}
_IS = {
    "next": ("is_first_or_food", "is_who", "is_verb", "is_whose", "is_animal"),
    "fill": ("is_first", "is_who", "is_verb", "is_whose", "is_animal"),
}
for way, rows in _OF.items():
    for k, row in enumerate(rows):
        SHEET.log(f"ln_{way}_{k}", row)
        SHEET.mul(f"p_ln_{way}_{k}", row, f"ln_{way}_{k}")
        SHEET.sum(f"sum_{way}_{k}", f"p_ln_{way}_{k}", over="all")
        SHEET.mul(f"H_{way}_{k}", f"sum_{way}_{k}", "minus")
        SHEET.mul(f"at_{way}_{k}", f"ln_{way}_{k}", _IS[way][k])
        SHEET.sum(f"ln_p_{way}_{k}", f"at_{way}_{k}", over="all")
        SHEET.mul(f"cost_{way}_{k}", f"ln_p_{way}_{k}", "minus")
    for what in ("H", "cost"):
        SHEET.concat(f"{what}_{way}", *(f"{what}_{way}_{k}" for k in range(len(rows))), axis="rows")
    SHEET.sum(f"sentence_{way}", f"cost_{way}", over="all")
SHEET.mul("ln_sentence", "sentence_next", "minus")
SHEET.exp("p_sentence", "ln_sentence")
SHEET.const("many", 100_000)
SHEET.mul("in_many", "p_sentence", "many")
SHEET.sub("saved", "H_next", "H_fill")
SHEET.const("hair", 1e-9)
SHEET.less("helps", "hair", "saved")

# What may be used for place 2, and what is learned from n words.
SHEET.const("uses", [[1, 0, 0, 0, 0], [1, 0, 1, 1, 1]])
SHEET.const("n", 512)
SHEET.const("chosen", 0.15)
SHEET.const("hide", 0.8)
SHEET.const("swap", 0.1)
SHEET.sub("not_hidden", "one", "hide")
SHEET.sub("stay", "not_hidden", "swap")
SHEET.mul("asked", "n", "chosen")
for name in ("hide", "swap", "stay"):
    SHEET.mul(f"asked_{name}", "asked", name)
SHEET.div("passes", "one", "chosen")

# A chosen place shows the word w: left as it is, or put there by chance?
SHEET.const("V", WORDS)
SHEET.matmul("p_w", "is_who", "p_fill")
SHEET.mul("left_so", "stay", "p_w")
SHEET.div("each", "swap", "V")
SHEET.mul("by_chance", "each", "p_w")
SHEET.add("right_and_seen", "left_so", "by_chance")
SHEET.add("seen", "left_so", "each")
SHEET.div("trust", "right_and_seen", "seen")

YES_NO = ((Text("会", "yes"), 1.0), (Text("不会", "no"), 0.0))


LESSON = Lesson(
    slug="blanks",
    title=Text("填空与接下一个词", "Fill in the blank, say the next word"),
    insight=Text(
        "猜同一个词，接词只能用前面，填空前后都能用：填空的概率，就是接词的概率按“后文说不说得通”重新加权。",
        "Of one and the same word, next-word prediction may use what stands before, a blank both sides: its "
        "probability is that of the next word, weighed anew by how well the rest of the text agrees.",
    ),
    question=Text(
        "GPT 练的是接下一个词，BERT 练的是填空。“年长的 ＿ 命令 他的 马”：同一句话，同一个位置，两种练法各能"
        "知道多少？后文到底帮了多大的忙？",
        "A GPT learns to say the next word, a BERT to fill in blanks. “old ＿ commands his horse”: one "
        "sentence, one place. How much can each know of the word, and how much does the rest of the sentence "
        "help?",
    ),
    sheet=SHEET,
    axes={
        "people": PEOPLE,
        "firsts": FIRST,
        "verbs": VERBS,
        "owners": WHOSE,
        "places": PLACES,
        "ways": (Text("接词", "next word"), Text("填空", "blank")),
    },
    predict=(
        Question(
            key="next",
            ask=Text(
                "八种人一样常见。十句里有九句，“年长的”和“睿智的”说的是四种大人之一，剩下一句是四种孩子之一"
                "。读到“年长的”，接下来是“国王”的概率是多少？",
                "The eight kinds of people are equally frequent. In nine sentences of ten, “old” is said of "
                "one of the four grown-ups, in the tenth of one of the four children. After “old”, how "
                "likely is “king”?",
            ),
            answer=("p_next", KING, 0),
            decimals=3,
            mistakes=(
                Mistake(
                    ("prior", 0, 0),
                    Text(
                        "这是什么都没读到时的八分之一。“年长的”已经说了些什么。",
                        "That is one in eight, as if nothing had been read. “Old” does say something.",
                    ),
                ),
                Mistake(
                    ("p_fill", KING, 0),
                    Text(
                        "这用到了后文，而后文还没有。", "That uses what comes after, which is not there yet."
                    ),
                ),
            ),
            why=Text(
                "0.9 由四种大人平分：«p_next[0,0]:3»。",
                "Four grown-ups share 0.9: «p_next[0,0]:3».",
            ),
        ),
        Question(
            key="fill",
            ask=Text(
                "现在后面也看得到：“年长的 ＿ 命令 他的 马”。“命令”十有八九（0.9）是王室做的，“他的”十有八九"
                "是男的。空格里是“国王”的概率是多少？",
                "Now the rest is in sight: “old ＿ commands his horse”. Nine times in ten it is the royal "
                "who command, and “his” is said of those who are male. How likely is “king” in the blank?",
            ),
            answer=("p_fill", KING, 0),
            decimals=3,
            mistakes=(
                Mistake(
                    ("p_next", KING, 0),
                    Text("这还只用了前面的“年长的”。", "That still uses “old” alone."),
                ),
                Mistake(
                    ("p_after", KING, 0),
                    Text(
                        "这是“是国王的话，后文有多可能”；还要乘上前文给的概率，再除以总和。",
                        "That is how likely the rest is, given a king. It is still to be multiplied with "
                        "what stands before, and divided by the sum.",
                    ),
                ),
            ),
            why=Text(
                "0.9 · 0.9 · 0.9：三条线索都指向国王，«p_fill[0,0]:3»。",
                "0.9 · 0.9 · 0.9: all three clues point to the king, «p_fill[0,0]:3».",
            ),
        ),
        Question(
            key="verb",
            ask=Text(
                "换一个位置：“年长的 国王 ＿ 他的 马”。看得到后面的“他的 马”，会不会让这里更容易猜（熵更小）"
                "？",
                "Another place: “old king ＿ his horse”. Does it make the word easier to tell, the entropy "
                "smaller, that “his horse” is in sight?",
            ),
            answer=("helps", DOES, 0),
            options=YES_NO,
            mistakes=(
                Mistake(
                    ("one", 0, 0),
                    Text(
                        "“他的”说的是谁，可是谁已经读到了：国王。它对做什么没有新的消息。",
                        "“His” tells who it is; but that has been read already. Of what he does it says "
                        "nothing new.",
                    ),
                ),
            ),
            why=Text(
                "在这种语言里，知道了是谁，做什么和谁的马就互不相干：两边看和只看前面，熵都是 "
                "«H_fill[2,0]:3»。后文有没有用，要看它跟空格里的词有没有关系。",
                "In this language what somebody does and whose horse it is have nothing to do with each "
                "other once it is known who: the entropy is «H_fill[2,0]:3» either way. What comes after "
                "helps only where it depends on the missing word.",
            ),
        ),
    ),
    body=(
        Prose(
            Text(
                "语言就是“泄漏”那一课的那种：规则是我们定的，所以两种概率都算得**准**，不用训练。一句话五个"
                "词：怎样的、谁、做什么、谁的、动物。一个人配哪些词，见下表；有一份 $s$ 的词偏偏取自不配的那"
                "一边。\n\n要猜的是第 2 个词。**接词**（下一词预测，GPT）只能用第 1 个；**填空**（掩码语言模"
                "型，BERT）还能用第 3、4、5 个。",
                "The language is that of the lesson on the leak: its rules are ours, so that both "
                "probabilities can be worked out **exactly**, and nothing is trained. A sentence has five "
                "words: how, who, does, whose, animal. Which words go with whom is given below; a share $s$ "
                "of them is taken from the other side all the same.\n\nThe second word is to be told. The **"
                "next word** (GPT, a causal language model) may use the first alone; the **blank** (BERT, a "
                "masked language model) may use the third, fourth and fifth as well.",
            )
        ),
        Matrices(
            (Shown("uses", r"\text{uses}", "ways", "places", "mask", 0),),
            Text("猜第 2 个词，各能用什么", "What each may use to tell the second word"),
        ),
        Matrices(
            (
                Shown("belongs_first", r"\text{how}", "people", "firsts", "mask", 0),
                Shown("belongs_verb", r"\text{does}", "people", "verbs", "mask", 0),
                Shown("belongs_whose", r"\text{whose}", "people", "owners", "mask", 0),
            ),
            Text("谁配哪些词", "Which words go with whom"),
        ),
        Slider("s", Text("不配的一份 $s$", "share $s$ from the other side"), 0.02, 0.5, 0.02),
        Presets(
            Text("哪一句", "Which sentence"),
            (
                Preset("king", Text("年长的 ＿ 命令 他的 马", "old ＿ commands his horse"), OLD_KING),
                Preset("girl", Text("年幼的 ＿ 喂养 她的 马", "young ＿ feeds her horse"), YOUNG_GIRL),
                Preset("torn", Text("英俊的 ＿ 命令 她的 马", "handsome ＿ commands her horse"), TORN),
            ),
        ),
        Heading(Text("同一个空，两种概率", "One blank, two probabilities")),
        Prose(
            Text(
                "$p_{\\text{next}}$ 只看第 1 个词。$p(\\text{after})$ 是：如果空格里是这个人，后面那几个词有"
                "多可能。两者相乘，除以总和，就是填空的概率 $p_{\\text{fill}}$（贝叶斯公式）。动物谁都一样可"
                "能，约掉了。",
                "$p_{\\text{next}}$ sees the first word alone. $p(\\text{after})$ says how likely the words "
                "that follow are if this is who stands in the blank. Their product, divided by its sum, is "
                "the probability of the blank, $p_{\\text{fill}}$: Bayes' rule. The animals are equally "
                "likely for everybody and cancel out.",
            )
        ),
        Formula(
            r"p_{\text{fill}}(w) = \frac{p_{\text{next}}(w)\; p(\text{after} \mid w)}"
            r"{\sum_u p_{\text{next}}(u)\; p(\text{after} \mid u)}"
        ),
        Query("people", Text("空格里是谁？", "Who is in the blank?"), ("p_next", "joint", "p_fill")),
        Matrices(
            (
                Shown("p_next", r"p_{\text{next}}", "people", kind="weights", decimals=3),
                Shown("p_after", r"p(\text{after})", "people", decimals=3),
                Shown("joint", r"p_{\text{next}} \cdot p(\text{after})", "people", decimals=4),
                Shown("p_fill", r"p_{\text{fill}}", "people", kind="weights", decimals=3),
            ),
        ),
        Facts(
            (
                (Text("接词的熵（奈特）", "entropy of the next word, in nats"), ("H_next", WHO, 0), 3),
                (Text("填空的熵", "entropy of the blank"), ("H_fill", WHO, 0), 3),
                (Text("后文省下的", "what the rest saves"), ("saved", WHO, 0), 3),
            )
        ),
        Prose(
            Text(
                "把 $s$ 拖到 0.5：词和人不再相干，两种概率一样平。拖到接近 0：三条线索就够定下一个人，填空几"
                "乎没有疑问。再看“英俊的 ＿ 命令 她的 马”：线索互相打架，后文改变了概率，熵却一点没省。平均"
                "起来，后文只会有帮助；在某一句里，却可能没有，甚至更糊涂。",
                "Drag $s$ to 0.5: words and people have nothing to do with each other, and both "
                "distributions are flat. Drag it towards 0: three clues settle who it is, and the blank has "
                "next to no doubt left. Then look at “handsome ＿ commands her horse”, whose clues "
                "contradict each other: the rest changes the probabilities and saves nothing. In the mean "
                "the rest of a text can only help; in one sentence it may not, or even confuse.",
            )
        ),
        Heading(Text("每个位置都挖一次空", "A blank at every place")),
        Prose(
            Text(
                "五个位置，一次挖一个。$H$ 是熵，$-\\ln p$ 是原文那个词的代价。第 1 个词，接词什么也不知道，"
                "填空却知道是谁；第 2 个见上；从第 3 个起，“谁”已经读到，后文再没有新的消息。",
                "Five places, one blank at a time. $H$ is the entropy, $-\\ln p$ what the word of the text "
                "costs. Of the first word, who says the next one knows nothing, while the blank knows who "
                "it is of; the second is the one above; from the third on it has been read who, and the "
                "rest holds no more news.",
            )
        ),
        Matrices(
            (
                Shown("H_next", r"H_{\text{next}}", "places", decimals=3),
                Shown("H_fill", r"H_{\text{fill}}", "places", decimals=3),
                Shown("saved", r"H_{\text{next}} - H_{\text{fill}}", "places", decimals=3),
                Shown("cost_next", r"-\ln p_{\text{next}}", "places", decimals=3),
                Shown("cost_fill", r"-\ln p_{\text{fill}}", "places", decimals=3),
            ),
        ),
        Facts(
            (
                (
                    Text("接词：五个代价之和", "next word: the five costs together"),
                    ("sentence_next", 0, 0),
                    3,
                ),
                (Text("填空：五个代价之和", "blanks: the five costs together"), ("sentence_fill", 0, 0), 3),
            )
        ),
        Prose(
            Text(
                "接词的五个概率乘起来，正好是这句话的概率（链式法则），所以接词的模型能**写**：一个词一个词"
                "地抽，抽出来的就是这种语言。填空的五个乘起来什么也不是：每一个都看过了别的答案。",
                "The five probabilities of the next word multiply to the probability of the sentence: that "
                "is the chain rule, and why such a model can **write**. Draw word by word, and what comes "
                "out is this language. The five of the blanks multiply to nothing of the kind: each of them "
                "has seen the other answers.",
            )
        ),
        Heading(Text("读一遍，学几处", "How much is learned from one reading")),
        Prose(
            Text(
                "接词：每个位置都是一道题，读 $n$ 个词就学 $n$ 处。填空：挖掉的要少，否则就没有上下文了；"
                "BERT 每遍挑 15 %，所以同样的文字要读好几遍才有一样多的题。挑中的，80 % 换成 `[MASK]`，10 % "
                "换成随便一个词，10 % 不动。",
                "Next word: every place is a task, $n$ of them in $n$ words. Blanks must be few, or there "
                "is no context left: a BERT chooses 15 % in each pass, and has to read the text several "
                "times for as many tasks. Of those that are chosen, 80 % become `[MASK]`, 10 % any word at "
                "all, and 10 % stay as they are.",
            )
        ),
        Slider("n", Text("读到的词 $n$", "words read, $n$"), 64, 1024, 64),
        Facts(
            (
                (Text("接词学到的位置", "places learned from, next word"), ("n", 0, 0), 0),
                (Text("填空学到的位置", "places learned from, blanks"), ("asked", 0, 0), 1),
                (Text("其中换成 `[MASK]`", "of these behind `[MASK]`"), ("asked_hide", 0, 0), 1),
                (Text("其中换成随便一个词", "of these another word"), ("asked_swap", 0, 0), 1),
                (Text("其中不动", "of these as they are"), ("asked_stay", 0, 0), 1),
                (Text("一样多的题要读几遍", "readings for as many tasks"), ("passes", 0, 0), 2),
            )
        ),
        Prose(
            Text(
                "为什么不全换成 `[MASK]`？真正使用时没有 `[MASK]`。只在 `[MASK]` 处学，模型就不必理会别的位"
                "置。现在挑中的位置也可能是个平常的词，它得问：这个词可信吗？下表按两种来历算：本来就是它，"
                "或者是随手换上的（共 «V[0,0]:0» 个词，机会均等）。",
                "Why not `[MASK]` for all? In use there is none. A model that learned at masks alone would "
                "not have to care for any other place. As it is, a chosen place may show an ordinary word, "
                "and the model has to ask whether to believe it. The table weighs the two ways in which the "
                "word of the sentence may have come there: it was left, or put there by chance, each of the "
                "«V[0,0]:0» words alike.",
            )
        ),
        Facts(
            (
                (Text("上下文给这个词的概率", "what the context gives the word"), ("p_w", 0, 0), 3),
                (
                    Text("看见它写在那里，它就是原文", "that it is the original, seen there"),
                    ("trust", 0, 0),
                    3,
                ),
            )
        ),
        Heading(Text("各自拿来做什么", "What each is used for")),
        Prose(
            Text(
                "**接词**：续写、对话、给一句话打分，凡是要写的都是它。**填空**：每个位置的向量都看过前后文"
                "，适合分类、检索、标注、挑错字；它不写文章，写也不知道先写哪一个。",
                "**Next word**: to continue, to answer, to rate a sentence, whatever is to be written. "
                "**Blanks**: the vector at every place has seen both sides, which serves to classify, to "
                "retrieve, to label, to spot a wrong word. It does not write; it would not know which word "
                "first.",
            )
        ),
    ),
    check=(
        Question(
            key="saved",
            ask=Text(
                "“年长的 ＿ 命令 他的 马”，$s = 0.1$。后文让空格的熵少了多少奈特？",
                "“old ＿ commands his horse”, $s = 0.1$. By how many nats does the rest lower the entropy of "
                "the blank?",
            ),
            answer=("saved", WHO, 0),
            under=OLD_KING | {"s": [[0.1]]},
            mistakes=(
                Mistake(("H_next", WHO, 0), Text("这是接词的熵。", "That is the entropy of the next word.")),
                Mistake(("H_fill", WHO, 0), Text("这是填空剩下的熵。", "That is what is left in the blank.")),
            ),
            why=Text(
                "«H_next[1,0]:3» − «H_fill[1,0]:3» = «saved[1,0]:3»。",
                "«H_next[1,0]:3» − «H_fill[1,0]:3» = «saved[1,0]:3».",
            ),
        ),
        Question(
            key="sentence",
            ask=Text(
                "“年长的 国王 命令 他的 马”这句话的 $-\\ln p$ 是多少奈特？",
                "What is $-\\ln p$ of the sentence “old king commands his horse”, in nats?",
            ),
            answer=("sentence_next", 0, 0),
            under=OLD_KING | {"s": [[0.1]]},
            mistakes=(
                Mistake(
                    ("sentence_fill", 0, 0),
                    Text(
                        "填空的五个加起来小得不真实：每一个都看过别的答案，消息数了两遍。",
                        "The five of the blanks are too good: each has seen the other answers, and what they "
                        "tell is counted twice.",
                    ),
                ),
            ),
            why=Text(
                "接词的五个代价加起来：«sentence_next[0,0]:3»，十万句里平均有 «in_many[0,0]:0» 句是它。",
                "The five costs of the next word together: «sentence_next[0,0]:3». That is "
                "«in_many[0,0]:0» sentences in 100,000.",
            ),
        ),
        Question(
            key="places",
            ask=Text(
                "读 512 个词，填空平均学几处？",
                "From 512 words, how many places does filling in blanks learn from, in the mean?",
            ),
            answer=("asked", 0, 0),
            decimals=1,
            under={"n": [[512]]},
            mistakes=(
                Mistake(
                    ("n", 0, 0), Text("那是接词：处处都学。", "That is the next word: it learns everywhere.")
                ),
                Mistake(
                    ("asked_hide", 0, 0),
                    Text(
                        "这只是换成 `[MASK]` 的。换成别的词和不动的，也要猜。",
                        "Those are behind `[MASK]`. The ones that were changed or left are asked as well.",
                    ),
                ),
            ),
            why=Text(
                "$512 · 0.15 =$ «asked[0,0]:1»，不到接词的六分之一。",
                "$512 · 0.15 =$ «asked[0,0]:1», less than a sixth of what the next word learns from.",
            ),
        ),
    ),
    boundary=Text(
        "概率是从规则里精确算出来的，不是模型猜的：模型要靠训练去接近它们，有限的文字和有限的宽度都会留下差"
        "距。这种语言里，后文只对前两个词有用；真实的文字里，几乎处处都有一点用，也没有人算得出它的熵。\n\n"
        "一次只挖一个空。BERT 一次挖 15 %，别的空也看不见，猜起来更难；几个空各猜各的，凑在一起不一定说得通"
        "。“学的位置多”也不等于“学得好”：填空的每道题知道得更多，得到的向量也不同。",
        "The probabilities come exactly from the rules and are no model's guess: a model has to learn its "
        "way towards them, and a limited text and a limited width leave a gap. In this language the rest of "
        "a sentence tells something of the first two words alone; in real text it tells a little nearly "
        "everywhere, and nobody can work out the entropy.\n\nHere there is one blank at a time. A BERT "
        "hides 15 % at once: the others are out of sight as well, and several blanks that are filled each "
        "for itself need not agree. Nor does learning from more places mean learning better: each blank "
        "knows more, and the vectors that come of it are others.",
    ),
    transfer=Transfer(
        Text(
            "要做一个改错字的工具：用户打完一整句，指出最可疑的一个字。用接词的模型，还是填空的？怎样用？只"
            "有另一种模型时，有什么办法？",
            "A tool is to find the most suspicious word of a finished sentence. Would you take a model of "
            "the next word or one of blanks, and how? And what if you only have the other?",
        ),
        Text(
            "填空：每个位置轮流挖空，看原来的字在前后文里概率多大，最小的最可疑；80/10/10 里那 10 % 的乱换，"
            "练的正是这个。\n\n只有接词的模型：不能只看那个字在前文之后的概率，因为证据常在后面。把候选字逐"
            "个代进去，比较**整句**的概率：链式法则把后文的证据也算进来了，这正是本课的公式，只是每个候选都"
            "要算一遍整句。",
            "Blanks: hide each place in turn and see how likely its own word is between both sides; the "
            "least likely is the most suspicious. The 10 % that are changed at random train just that.\n\n"
            "With a model of the next word it will not do to look at the word after what stands before, "
            "since the evidence often comes later. Put each candidate in its place and compare the "
            "probabilities of the **whole** sentence: by the chain rule they hold what comes after as well. "
            "That is the formula of this page, at the price of one pass for each candidate.",
        ),
    ),
)
