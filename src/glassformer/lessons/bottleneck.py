"""The bottleneck: an encoder-decoder without attention has one vector for a text of any length.

Both models are our own, trained on letters to be written backwards; see `trained/bottleneck.py`.
"""

import math

from ..sheet import Sheet
from .lesson import (
    Chart,
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
    Question,
    Shown,
    Slider,
    Text,
    Transfer,
)
from .trained import learned

LEARNED = learned("bottleneck")
LENGTHS, EACH = LEARNED["lengths"], LEARNED["settings"]["each"]
D, LETTERS = 32, 8
SHORT, MIDDLE, LONG = LEARNED["states"]
"""The three texts whose last states are shown."""
Z = 1.96
"""Standard deviations to each side of 95 %."""
SHORTEST, EIGHT, LONGEST = 0, LENGTHS.index(8), len(LENGTHS) - 1

SHEET = Sheet()

# What the encoder leaves: of the memory H the last row of the way right, the first row of the way back.
SHEET.const("H", LEARNED["states"][MIDDLE]["memory"])
SHEET.const("zero", 0)
SHEET.const("one", 1)
SHEET.slice("H_1", "H", columns=(0, 1))
SHEET.mul("nothing", "H_1", "zero")
SHEET.exp("ones", "nothing")
SHEET.sum("m", "ones", over="all")
SHEET.sub("last", "m", "one")
SHEET.onehot("pick", "last", "m")
SHEET.matmul("end", "pick", "H")
SHEET.slice("right", "end", columns=(0, D // 2))
SHEET.slice("left", "H", rows=(0, 1), columns=(D // 2, D))
SHEET.concat("s_0", "right", "left")

# How much there is to keep, and how many numbers there are to keep it in.
SHEET.const("n", 12)
SHEET.const("d", D)
SHEET.const("bits_a_letter", math.log2(LETTERS))
SHEET.mul("bits", "n", "bits_a_letter")
SHEET.div("bits_a_number", "bits", "d")
SHEET.mul("memory", "n", "d")

# What was measured: right answers of EACH, and right letters of all, a row for each length.
SHEET.const("lengths", [[n] for n in LENGTHS])
SHEET.const("each", EACH)
SHEET.mul("letters_asked", "lengths", "each")
SHEET.const("z2_over_n", Z**2 / EACH)
SHEET.const("z2_over_2n", Z**2 / (2 * EACH))
SHEET.const("z2_over_4n2", Z**2 / (4 * EACH**2))
SHEET.const("z", Z)
SHEET.add("narrowed", "one", "z2_over_n")
for which in ("none", "additive"):
    SHEET.const(f"right_{which}", [[x] for x in LEARNED["right"][which]])
    SHEET.div(f"share_{which}", f"right_{which}", "each")
    # Wilson's interval, which does not leave 0 to 1 and is not empty at its ends.
    SHEET.add(f"moved_{which}", f"share_{which}", "z2_over_2n")
    SHEET.div(f"centre_{which}", f"moved_{which}", "narrowed")
    SHEET.sub(f"wrong_{which}", "one", f"share_{which}")
    SHEET.mul(f"spread_{which}", f"share_{which}", f"wrong_{which}")
    SHEET.div(f"variance_{which}", f"spread_{which}", "each")
    SHEET.add(f"widened_{which}", f"variance_{which}", "z2_over_4n2")
    SHEET.sqrt(f"root_{which}", f"widened_{which}")
    SHEET.mul(f"reach_{which}", "z", f"root_{which}")
    SHEET.div(f"half_{which}", f"reach_{which}", "narrowed")
    SHEET.sub(f"low_{which}", f"centre_{which}", f"half_{which}")
    SHEET.add(f"high_{which}", f"centre_{which}", f"half_{which}")
    SHEET.concat(f"table_{which}", f"share_{which}", f"low_{which}", f"high_{which}")
    # All letters right, if each were right by chances of its own.
    SHEET.const(f"letters_{which}", [[x] for x in LEARNED["letters"][which]])
    SHEET.div(f"letter_{which}", f"letters_{which}", "letters_asked")
    SHEET.log(f"log_{which}", f"letter_{which}")
    SHEET.mul(f"powers_{which}", "lengths", f"log_{which}")
    SHEET.exp(f"apart_{which}", f"powers_{which}")
SHEET.less("separate", "high_none", "low_additive")
SHEET.concat("letters", "letter_none", "apart_none", "share_none")

_P = LEARNED["parameters"]
SHEET.const("parameters", [[_P["none"], _P["additive"]]])

_COLUMNS = (Text("比例", "share"), Text("下限", "from"), Text("上限", "to"))

LESSON = Lesson(
    slug="bottleneck",
    title=Text("瓶颈", "The bottleneck"),
    insight=Text(
        "没有注意力的编码器–解码器把任何长度的句子都压进同样大小的一个向量：句子越长，丢得越多。",
        "Without attention an encoder–decoder squeezes a text of any length into one vector of one size. "
        "The longer the text, the more is lost.",
    ),
    question=Text(
        "翻译要先读完一句，再写另一句。2014 年的办法是：一个循环网络读原文，读完时的**状态**就是它对这句"
        "话的全部记忆；另一个循环网络从这个状态开始写。三个字的句子和三十个字的句子，得到的是同样大小的一个"
        "向量。够用吗？",
        "To translate, read one sentence, then write another. The way of 2014: a recurrent network "
        "reads the source, and its **state** at the end is all that it remembers; a second one starts from "
        "that state and writes. A sentence of three words and one of thirty get a vector of the same size. "
        "Is that enough?",
    ),
    sheet=SHEET,
    axes={
        "lengths": tuple(str(n) for n in LENGTHS),
        "counts": _COLUMNS,
        "letter": (
            Text("单个字母", "a letter"),
            Text("各自独立", "if independent"),
            Text("量出来的", "measured"),
        ),
        "state": (Text("状态", "state"),),
    },
    predict=(
        Question(
            key="numbers",
            ask=Text(
                "编码器的状态宽 32。原文有 12 个字母，没有注意力时，解码器从原文得到多少个数？",
                "The encoder's state is 32 wide, and the source has 12 letters. Without attention, how many "
                "numbers does the decoder get from the source?",
            ),
            answer=("d", 0, 0),
            under={"n": [[12]], "d": [[D]]},
            decimals=0,
            mistakes=(
                Mistake(
                    ("memory", 0, 0),
                    Text(
                        "每个字母确实都算出了 32 个数，但解码器只得到最后的状态。",
                        "True, 32 numbers were computed at every letter. But the decoder gets the last "
                        "state only.",
                    ),
                ),
                Mistake(
                    ("n", 0, 0),
                    Text("这是字母的个数。", "That is the number of letters."),
                ),
            ),
            why=Text(
                "32 个，不管原文有多长。",
                "32, however long the source is.",
            ),
        ),
        Question(
            key="long",
            ask=Text(
                "两个小模型学了同样多：把 1 到 12 个字母倒过来写。拿 200 串没见过的、12 个字母的来考，**没有"
                "**注意力的那个写对多少串？（4 个字母时，200 串对了 199 串。）",
                "Two small models have learned equally long to write 1 to 12 letters backwards. Asked for "
                "200 unseen strings of 12 letters, how many does the one **without** attention get right? "
                "(With 4 letters, 199 of 200.)",
            ),
            answer=("right_none", LONGEST, 0),
            options=tuple((str(int(x)), float(x)) for x in (LEARNED["right"]["none"][k] for k in (0, 4, 8))),
            mistakes=(
                Mistake(
                    ("right_none", SHORTEST, 0),
                    Text(
                        "那是 4 个字母时的成绩。长度变成三倍，要记的也变成三倍，向量没有变大。",
                        "That is what it does with 4 letters. Three times the length is three times as much "
                        "to remember, in a vector that has not grown.",
                    ),
                ),
                Mistake(
                    ("right_none", EIGHT, 0),
                    Text(
                        "那是 8 个字母时的成绩；12 个字母更差。",
                        "That is what it does with 8 letters; 12 are worse.",
                    ),
                ),
            ),
            why=Text(
                "200 串里对了 «right_none[8,0]:0» 串。有注意力的那个对了 «right_additive[8,0]:0» 串。",
                "«right_none[8,0]:0» of 200. The one with attention gets «right_additive[8,0]:0» right.",
            ),
        ),
    ),
    body=(
        Heading(Text("一个向量，不管多长", "One vector, however long")),
        Prose(
            Text(
                "编码器是一个双向 GRU：一个方向从左往右读，另一个从右往左读，各宽 16。每个字母得到一行 $h_j$"
                "（从这一课起用行向量），两个方向左右拼接，共 32 个数，合起来是 $H$。解码器从 $s_0$ 开始：往"
                "右读的**最后**一步，拼上往左读的最后一步，也就是**第一**行。下面的数字是训练好的、没有注意"
                "力的那个模型读这串字母时的。",
                "The encoder is a GRU that reads both ways, 16 wide each: one from left to right, one from "
                "right to left. Each letter gets a row $h_j$ (vectors are rows from here on), both ways "
                "side by side, 32 numbers; all rows together are $H$. The decoder begins at $s_0$: the "
                "**last** step of the way right, beside the last step of the way left, which is the "
                "**first** row. The numbers are those of the trained model without attention as it reads "
                "these letters.",
            )
        ),
        Formula(r"s_0 = [\,\overrightarrow{h}_m \;\; \overleftarrow{h}_1\,]"),
        Presets(
            Text("原文", "Source"),
            tuple(
                Preset(text, Text(f"`{text}`", f"`{text}`"), {"H": LEARNED["states"][text]["memory"]})
                for text in (MIDDLE, SHORT, LONG)
            ),
        ),
        Matrices(
            (
                Shown(
                    "H",
                    "H",
                    kind="scores",
                    small=True,
                    note=Text("一行一个字母，一列一维", "a row for each letter, a column for each dimension"),
                ),
                Shown("s_0", "s_0", kind="scores", small=True),
            ),
            Text("编码器读到的，和它留下的", "What the encoder read, and what it leaves"),
        ),
        Ledger(
            (
                (
                    "H",
                    "H",
                    Text(
                        "每个字母一行；没有注意力时，解码器看不到",
                        "a row a letter; not seen without attention",
                    ),
                ),
                ("s_0", "s_0", Text("解码器得到的全部", "all that the decoder gets")),
            )
        ),
        Prose(
            Text(
                "换成 3 个字母或 12 个字母：$H$ 的行数跟着变，$s_0$ 不变，总是 1 × 32。\n\n"
                "32 个数能装多少？字母从 8 个里独立、均匀地抽，要用 3 个 0 或 1 才分得清是哪一个：每个"
                "字母 3 **比特**，无法压缩。$n$ 个字母就是 "
                "$3n$ 比特，分摊到 32 个数上。浮点数本身装得下，难的是学会一种**写法**：把每个字母放进去，还"
                "能一个一个原样取出来。",
                "Choose 3 letters, or 12: $H$ has other rows, $s_0$ stays at 1 × 32.\n\n"
                "How much fits into 32 numbers? Letters are drawn from 8, independently and all equally "
                "likely. To tell which of 8 it is takes three zeros or ones: 3 **bits** each, with no way to "
                "compress them. That makes $3n$ bits for $n$ letters, "
                "to be shared by 32 numbers. Floating-point numbers have the room. What is hard is to learn "
                "a **code** that puts every letter in, and lets it be taken out again, one by one.",
            )
        ),
        Slider("n", Text("字母数 $n$", "letters $n$"), 1, 40),
        Facts(
            (
                (Text("要记住的比特", "bits to remember"), ("bits", 0, 0), 0),
                (
                    Text("没有注意力：解码器得到几个数", "without attention: numbers the decoder gets"),
                    ("d", 0, 0),
                    0,
                ),
                (Text("每个数要装的比特", "bits for each number"), ("bits_a_number", 0, 0), 2),
                (
                    Text(
                        "有注意力：每写一个字母，可读几个数",
                        "with attention: numbers it may read at every step",
                    ),
                    ("memory", 0, 0),
                    0,
                ),
            ),
        ),
        Heading(Text("量一量", "Measured")),
        Prose(
            Text(
                "两个模型同样宽（32），同一个种子，同样的 20,000 对（1 到 12 个字母，倒过来写），同样的 "
                "1,200 步。唯一的差别是注意力；它自己也要参数，所以一个有 «parameters[0,0]:0» 个，另一个有 "
                "«parameters[0,1]:0» 个。每种长度考 200 串，都是训练时没有见过的；一个字母不对就算错。\n\n"
                "“下限”和“上限”是 95% 的区间（Wilson）：200 串只是抽样，真正的比例大概在这之间。它只说抽样的"
                "误差；换一个种子重新训练，数字还会再变一些。",
                "Both models are 32 wide and have the same seed, the same 20,000 pairs (1 to 12 letters, to "
                "be written backwards) and the same 1,200 steps. All that differs is the attention. It "
                "needs parameters of its own: one model has «parameters[0,0]:0», the other "
                "«parameters[0,1]:0». Each length is tried on 200 strings, none of them seen in training; "
                "one wrong letter makes a string wrong.\n\n"
                "“From” and “to” are the 95% interval (Wilson): 200 strings are a sample, and the true "
                "share probably lies between them. That is the error of sampling only; trained anew from "
                "another seed, the numbers would move further.",
            )
        ),
        Chart(
            Text("整串写对的比例", "Share of strings written without a mistake"),
            x="lengths",
            x_label=Text("字母数", "letters"),
            y_label=Text("比例", "share"),
            lines=(
                Line("share_additive", Text("有注意力", "with attention")),
                Line("share_none", Text("没有注意力", "without attention")),
                Line("low_none", Text("没有注意力，下限", "without, lower end")),
                Line("high_none", Text("没有注意力，上限", "without, upper end")),
            ),
        ),
        Matrices(
            (
                Shown("right_none", "r", "lengths", decimals=0),
                Shown("table_none", r"r / 200", "lengths", "counts", decimals=3),
            ),
            Text("没有注意力：200 串里对几串", "Without attention: how many of 200 are right"),
        ),
        Matrices(
            (
                Shown("right_additive", r"r_\alpha", "lengths", decimals=0),
                Shown("table_additive", r"r_\alpha / 200", "lengths", "counts", decimals=3),
            ),
            Text("有注意力", "With attention"),
        ),
        Heading(Text("是不是因为长了更容易错？", "Or are there just more chances to go wrong?")),
        Prose(
            Text(
                "有一个更简单的解释要先排除。就算每个字母都有同样的把握 $q$，$n$ 个全对也只有 $q^n$，越长越"
                "小。所以再数一数**单个字母**：对的比例从 4 个字母时的 «letter_none[0,0]:3» 落到 12 个字母时"
                "的 «letter_none[8,0]:3»。把握本身在下降，不只是次数变多：这才是瓶颈。\n\n"
                "而且错误并不独立。8 个字母时 $q^n =$ «apart_none[4,0]:3»，量出来却是 «share_none[4,0]:3»："
                "错误扎堆，有的串全对，有的串错很多个。",
                "There is a simpler explanation to rule out first. If every letter came with the same "
                "chance $q$, all $n$ would be right with $q^n$ only, which shrinks with the length. So "
                "count **single letters**: the share that is right falls from «letter_none[0,0]:3» for 4 "
                "letters to «letter_none[8,0]:3» for 12. The chance itself goes down, and not only are "
                "there more of them: that is the bottleneck.\n\n"
                "Nor are mistakes independent. For 8 letters $q^n =$ «apart_none[4,0]:3», but "
                "«share_none[4,0]:3» is measured. Mistakes come together: some strings are all right, "
                "others have many.",
            )
        ),
        Matrices(
            (Shown("letters", "q, \\; q^n, \\; \\text{share}", "lengths", "letter", "weights", 3),),
            Text("没有注意力", "Without attention"),
        ),
        Heading(Text("出路", "The way out")),
        Prose(
            Text(
                "不要把 $H$ 扔掉。让解码器每写一个字母，都回头看一遍所有的 $h_j$，自己决定这一步看哪里：这就"
                "是下一课的注意力。同样的宽度、同样的训练，12 个字母 200 串对了 «right_additive[8,0]:0» 串，"
                "因为要装进 $s_0$ 的，不再是整句话。",
                "Do not throw $H$ away. Let the decoder look back at all $h_j$ for each letter that it "
                "writes, and choose where to look this time: that is the attention of the next lesson. As "
                "wide and trained as long, it gets «right_additive[8,0]:0» of 200 strings of 12 letters "
                "right, for $s_0$ no longer has to hold the whole text.",
            )
        ),
    ),
    check=(
        Question(
            key="bits",
            ask=Text(
                "24 个字母，每个 3 比特，装进 32 个数。平均每个数要装多少比特？",
                "24 letters of 3 bits each go into 32 numbers. How many bits does each number have to hold, "
                "in the mean?",
            ),
            answer=("bits_a_number", 0, 0),
            under={"n": [[24]], "d": [[D]], "bits_a_letter": [[3]]},
            mistakes=(
                Mistake(
                    ("bits", 0, 0),
                    Text(
                        "这是一共多少比特，还要分给 32 个数。",
                        "That is all bits. They are shared by 32 numbers.",
                    ),
                ),
            ),
            why=Text(
                "$24 · 3 / 32 =$ «bits_a_number[0,0]:2»。12 个字母时是它的一半。",
                "$24 · 3 / 32 =$ «bits_a_number[0,0]:2». With 12 letters it is half of that.",
            ),
        ),
        Question(
            key="sample",
            ask=Text(
                "4 个字母时，没有注意力的写对 199 串，有注意力的 200 串全对。只凭这 200 串，能说有注意力的模"
                "型在这个长度上更好吗？（看两个 95% 区间分开了没有。）",
                "With 4 letters 199 are right without attention, and 200 with it. By these 200 strings "
                "alone, can one say that the model with attention is better at this length? (See whether "
                "the two 95% intervals are apart.)",
            ),
            answer=("separate", SHORTEST, 0),
            under={"right_none": [[x] for x in LEARNED["right"]["none"]]},
            options=((Text("能", "yes"), 1.0), (Text("不能", "no"), 0.0)),
            mistakes=(
                Mistake(
                    ("one", 0, 0),
                    Text(
                        "差 1 串，换 200 串就可能反过来。两个区间重叠。",
                        "It is one string; with another 200 it may be the other way round. The intervals "
                        "overlap.",
                    ),
                ),
            ),
            why=Text(
                "没有注意力的区间是 «low_none[0,0]:3» 到 «high_none[0,0]:3»，有注意力的从 "
                "«low_additive[0,0]:3» 起：重叠。6 个字母时就分开了：«high_none[2,0]:3» 低于 "
                "«low_additive[2,0]:3»。",
                "Without attention it goes from «low_none[0,0]:3» to «high_none[0,0]:3», with attention "
                "from «low_additive[0,0]:3» on: they overlap. With 6 letters they are apart: "
                "«high_none[2,0]:3» is below «low_additive[2,0]:3».",
            ),
        ),
        Question(
            key="power",
            ask=Text(
                "没有注意力，12 个字母，单个字母对的比例是 $q =$ «letter_none[8,0]:3»。如果各个字母独立，整"
                "串全对的概率是多少？",
                "Without attention and with 12 letters, a single letter is right with $q =$ "
                "«letter_none[8,0]:3». If letters were independent, how likely is a whole string right?",
            ),
            answer=("apart_none", LONGEST, 0),
            decimals=4,
            mistakes=(
                Mistake(
                    ("letter_none", LONGEST, 0),
                    Text("这是一个字母的。12 个都要对。", "That is for one letter. All 12 have to be right."),
                ),
                Mistake(
                    ("share_none", LONGEST, 0),
                    Text(
                        "这是量出来的。独立的话会更小：错误是扎堆的。",
                        "That is what was measured. Independent letters would make it less: mistakes come "
                        "together.",
                    ),
                ),
            ),
            why=Text(
                "$q^{12} =$ «apart_none[8,0]:4»；量出来是 «share_none[8,0]:3»。",
                "$q^{12} =$ «apart_none[8,0]:4»; measured is «share_none[8,0]:3».",
            ),
        ),
    ),
    boundary=Text(
        "曲线在哪里掉下去，取决于宽度和训练：状态更宽、学得更久，就往右移。它说的不是“32 维只能记 6 个字"
        "母”，而是**固定大小**总有装不下的时候。\n\n"
        "这里的字母是随机的，一个也猜不出来。真正的句子有规律，前后能互相提示，掉得没有这么陡；2014 年在真实"
        "翻译上看到的也是：句子一长，没有注意力的模型就明显变差。\n\n"
        "每个模型只训练了一次。有注意力的那个参数也多一些，多出来的参数自己有多少功劳，这里没有分开量。考的长"
        "度也没有超过训练时的 12；更长会怎样，这里没有量。",
        "Where the curve falls depends on width and training: a wider state and longer training move it to "
        "the right. It does not say that 32 dimensions hold 6 letters. It says that a **fixed size** is too "
        "small some time.\n\n"
        "These letters are random, and none can be guessed. Sentences have regularities, each part hints at "
        "others, and the fall is less steep; on real translations, too, models without attention were seen "
        "in 2014 to get clearly worse with length.\n\n"
        "Each model was trained once. The one with attention also has more parameters; how much these do by "
        "themselves was not measured apart. And no length beyond the 12 of the training was tried; what "
        "happens there is not measured here.",
    ),
    transfer=Transfer(
        Text(
            "有人把原文倒着读给没有注意力的编码器，再让它翻译，结果变好了（2014 年真有人这么做）。向量没有变"
            "大，为什么会有用？",
            "Somebody reads the source backwards to an encoder without attention, and translations get "
            "better (this was done in 2014). The vector has not grown. Why would it help?",
        ),
        Text(
            "瓶颈还在，但距离变了。译文的开头多半来自原文的开头；倒着读，原文的开头最后才读到，离写译文的第"
            "一步最近，梯度传过去要走的步数也少，容易学会。开头写对了，后面也跟着容易。可是要装的东西一点没"
            "少，句子足够长时照样装不下。",
            "The bottleneck is still there, but distances have changed. The beginning of a translation "
            "mostly comes from the beginning of the source. Read backwards, that is read last, right before "
            "the first word is written, so gradients have few steps to go and it is learned easily; and a "
            "good beginning helps the rest. But there is no less to hold, and a source that is long enough "
            "does not fit.",
        ),
    ),
    claims=("C4",),
)
