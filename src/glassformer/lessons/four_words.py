"""Four words that are their own queries, keys and values. Every word becomes a mixture of all."""

from ..sheet import Sheet
from .lesson import (
    Code,
    Edits,
    Formula,
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
    Shown,
    Text,
    Transfer,
)

WORDS: tuple[Label, ...] = (
    Text("我", "I"),
    Text("爱", "love"),
    Text("深度学习", "deep learning"),
    Text("！", "!"),
)
VECTORS = [[1.0, 0.0, 0.5], [0.0, 1.0, 0.2], [0.5, 0.0, 1.0], [0.0, 0.8, 0.3]]
START: Edits = {"X": VECTORS}

SHEET = Sheet()
SHEET.const("X", VECTORS)
SHEET.transpose("X_T", "X")
SHEET.matmul("P", "X", "X_T")
SHEET.const("d", [[3]])
SHEET.sqrt("root_d", "d")
SHEET.div("S", "P", "root_d")
SHEET.softmax("A", "S")
SHEET.matmul("O", "A", "X")

# What questions are answered with: sums of the weights, and what wrong turns lead to.
SHEET.sum("row_sums", "A", over="columns")
SHEET.sum("column_sums", "A", over="rows")
SHEET.argmax("favourite", "A")
SHEET.range("index", 4)
SHEET.transpose("A_T", "A")
SHEET.sub("difference", "A", "A_T")
SHEET.mul("square", "difference", "difference")
SHEET.const("nearly_0", [[1e-18]])
SHEET.less("unequal", "nearly_0", "square")
SHEET.div("P_over_d", "P", "d")
SHEET.softmax("A_unscaled", "P")
SHEET.matmul("O_unscaled", "A_unscaled", "X")

SOURCE = """\
import numpy as np

X = np.array([[1, 0, 0.5], [0, 1, 0.2], [0.5, 0, 1], [0, 0.8, 0.3]])
Q = K = V = X

S = Q @ K.T / np.sqrt(K.shape[1])
A = np.exp(S - S.max(axis=1, keepdims=True))
A = A / A.sum(axis=1, keepdims=True)
O = A @ V

for row in A:
    print(*(f"{weight:.2f}" for weight in row))
print(*(f"{number:.4f}" for number in O[0]))
"""
OUTPUT = """\
0.34 0.18 0.30 0.18
0.19 0.32 0.20 0.29
0.29 0.18 0.33 0.19
0.20 0.30 0.22 0.28
0.4923 0.3226 0.5592
"""

LESSON = Lesson(
    slug="four-words",
    title=Text("四个词，不做投影", "Four words, no projections"),
    insight=Text(
        "自注意力就是几次矩阵乘法：每个词都去问所有的词，得到一份属于自己的混合。",
        "Self-attention is a few matrix products: every word asks all words and gets a mixture of its own.",
    ),
    question=Text(
        "上一课只有一个查询。如果一句话里每个词都同时发问，会发生什么？",
        "In the lesson before, there was one query. What if every word of a sentence asks at the same time?",
    ),
    sheet=SHEET,
    axes={"words": WORDS},
    predict=(
        Question(
            key="symmetry",
            ask=Text(
                "“我”对“爱”的分数和“爱”对“我”的分数相同，因为都是这两个向量的点积。权重也相同吗？",
                "The score of “I” for “love” equals that of “love” for “I”: both are the dot product of the "
                "same two vectors. Are the two weights equal as well?",
            ),
            answer=("unequal", 0, 1),
            options=((Text("相同", "equal"), 0.0), (Text("不同", "different"), 1.0)),
            mistakes=(
                Mistake(
                    ("index", 0, 0),
                    Text(
                        "分数确实相同，但权重还要除以自己那一行的和。",
                        "The scores are equal, but each is divided by the sum of its own row.",
                    ),
                ),
            ),
            why=Text(
                "softmax 让每一行除以**自己这一行**的和。分数相同，只有两行的和也相同，权重才会相同。"
                "现在页面上的两个权重是 «A[0,1]:4» 和 «A[1,0]:4»。",
                "Softmax divides each row by the sum of **that row**. Equal scores give equal weights only "
                "where the two sums are equal too. On the page now, the two weights are «A[0,1]:4» and "
                "«A[1,0]:4».",
            ),
        ),
        Question(
            key="favourite",
            ask=Text(
                "按页面一开始的数字，“！”把最大的权重给了哪个词？",
                "With the numbers that the page starts with, which word gets the largest weight from “!”?",
            ),
            answer=("favourite", 3, 0),
            options=tuple((word, float(i)) for i, word in enumerate(WORDS)),
            under=START,
            mistakes=(
                Mistake(
                    ("index", 3, 0),
                    Text(
                        "看自己并不总是最多。分数是点积：方向相近、又更长的向量，分数可以比自己还高。",
                        "A word does not always look most at itself. A score is a dot product: a vector "
                        "that points much the same way and is longer can score higher than the word itself.",
                    ),
                ),
                Mistake(
                    ("index", 0, 0),
                    Text(
                        "“！”和“我”只有第 3 个数都不是 0，点积很小。再比较别的词。",
                        "“!” and “I” share only their third number, so the dot product is small. Compare "
                        "the others.",
                    ),
                ),
                Mistake(
                    ("index", 2, 0),
                    Text(
                        "“！”和“深度学习”只有第 3 个数都不是 0，点积不大。再比较别的词。",
                        "“!” and “deep learning” share only their third number, so the dot product is not "
                        "large. Compare the others.",
                    ),
                ),
            ),
            why=Text(
                "“爱”和“！”的方向几乎相同，而“爱”的向量更长，所以点积更大。分数看的是点积，"
                "不是“像不像自己”。",
                "“love” points almost the same way as “!” and is longer, so the dot product is larger. "
                "Dot products count, not whether a word is itself.",
            ),
        ),
    ),
    body=(
        Prose(
            Text(
                "一句话有 4 个词，每个词是 3 个数，一行一个词，叠成矩阵 $X$。这里省掉投影，让每个词的向量同"
                "时当查询、键和值：$Q = K = V = X$。\n\n"
                "$XX^\\top$ 一次算出所有的点积：第 $i$ 行第 $j$ 列，是词 $i$ 问词 $j$ 的结果。除以 "
                "$\\sqrt{d}$ 得到分数 $S$（$d = 3$ 是查询和键的宽度），每一行做 softmax 得到权重 $A$，再用权"
                "重混合各个值，得到输出 $O$。",
                "The sentence has 4 words, each of them 3 numbers: one word a row, which makes the matrix "
                "$X$. Projections are left out here, so each word is its own query, key and value: "
                "$Q = K = V = X$.\n\n"
                "$XX^\\top$ holds all dot products at once: row $i$, column $j$ is word $i$ asking word "
                "$j$. Over $\\sqrt{d}$ they are the scores $S$ ($d = 3$ is the width of queries and keys). "
                "Softmax turns each row into weights $A$, and these mix the values into the output $O$.",
            )
        ),
        Formula(r"O = \text{softmax}\left(\frac{QK^\top}{\sqrt{d}}\right) V \qquad Q = K = V = X"),
        Presets(
            Text("四个词的向量", "The four vectors"),
            (
                Preset("start", Text("原来的", "as given"), START),
                Preset("same", Text("四个词完全一样", "all the same"), {"X": [[1, 0, 0.5]] * 4}),
                Preset(
                    "long",
                    Text("“！”放大到两倍", "“!” twice as long"),
                    {"X": [*VECTORS[:3], [0.0, 1.6, 0.6]]},
                ),
            ),
        ),
        Query("words", Text("谁在发问？", "Who asks?"), ("P", "S", "A", "O")),
        Matrices(
            (
                Shown("X", "X", rows="words"),
                Shown("P", r"XX^\top", "words", "words", "scores"),
                Shown("S", r"S = XX^\top / \sqrt{3}", "words", "words", "scores"),
            ),
            Text("从向量到分数", "From vectors to scores"),
        ),
        Matrices(
            (
                Shown("A", r"A = \text{softmax}(S)", "words", "words", "weights"),
                Shown("O", "O = AX", "words", decimals=4),
            ),
            Text("从分数到输出", "From scores to the output"),
        ),
        Ledger(
            (
                (
                    "X",
                    "X",
                    Text(
                        "4 个词，每个 3 个数；也是 $Q$、$K$、$V$", "4 words of 3 numbers; also $Q$, $K$, $V$"
                    ),
                ),
                ("S", "S", Text("每个词对每个词的分数", "a score for each word by each word")),
                ("A", "A", Text("权重，每一行加起来是 1", "weights; each row adds up to 1")),
                ("O", "O", Text("每个词新的 3 个数", "3 new numbers for each word")),
            )
        ),
        Prose(
            Text(
                "试试“四个词完全一样”：分数全相等，权重就全相等，每个词得到的只是平均。softmax 并不天生偏向"
                "谁，分数有差别，权重才有差别。\n\n"
                "再试试“！”放大到两倍：它和别的词的分数都翻倍，对自己的分数变成 4 倍。起作用的不只是方向，还"
                "有向量的长度。",
                "Try “all the same”: all scores are equal, so all weights are, and each word gets the plain "
                "mean. Softmax is not sharp by nature: without differences there is no choice.\n\n"
                "Then make “!” twice as long: its scores with the other words double, and that with itself "
                "becomes 4 times as large. Length counts, not direction alone.",
            )
        ),
        Prose(
            Text(
                "下面这段 NumPy 程序算的是一开始的数字：先是四行权重，再是第一个词的输出。",
                "This NumPy program works on the numbers that the page starts with. It prints the four rows "
                "of weights, then the output of the first word.",
            )
        ),
        Code(SOURCE, OUTPUT),
    ),
    check=(
        Question(
            key="score",
            ask=Text(
                "“我”对“深度学习”的分数 $S$ 是多少？由 $X$ 的两行算出来。",
                "What is the score $S$ of “I” for “deep learning”? Work it out from two rows of $X$.",
            ),
            answer=("S", 0, 2),
            mistakes=(
                Mistake(
                    ("P", 0, 2),
                    Text(
                        "点积对了，还没有除以 $\\sqrt{d}$。",
                        "The dot product is right; it is not over $\\sqrt{d}$ yet.",
                    ),
                ),
                Mistake(
                    ("P_over_d", 0, 2),
                    Text("除以的是 $\\sqrt{d}$，不是 $d$。", "It is divided by $\\sqrt{d}$, not by $d$."),
                ),
                Mistake(
                    ("A", 0, 2),
                    Text(
                        "这是权重，是分数经过 softmax 之后的数。",
                        "That is the weight: the score after softmax.",
                    ),
                ),
            ),
            why=Text(
                "点积是 «P[0,2]:4»，除以 $\\sqrt{3}$ 得 «S[0,2]:4»。",
                "The dot product is «P[0,2]:4»; over $\\sqrt{3}$ that makes «S[0,2]:4».",
            ),
        ),
        Question(
            key="columns",
            ask=Text(
                "把 $A$ 的最后一**列**加起来（四个词各给“！”多少权重），是多少？",
                "Add up the last **column** of $A$: what the four words give to “!”. How much is it?",
            ),
            answer=("column_sums", 0, 3),
            mistakes=(
                Mistake(
                    ("row_sums", 3, 0),
                    Text(
                        "加起来必定是 1 的是行，不是列。行是发问的词，列是被看的词。",
                        "It is rows that add up to 1, not columns. A row is a word that asks, a column one "
                        "that is looked at.",
                    ),
                ),
            ),
            why=Text(
                "每个词都把总量为 1 的权重分出去，但收到多少没有规定：这一列是 «column_sums[0,3]:4»。",
                "Each word hands out weights of 1 in all. How much a word receives is not fixed: for this "
                "column it is «column_sums[0,3]:4».",
            ),
        ),
        Question(
            key="output",
            ask=Text("“我”的输出，第 1 个数是多少？", "What is the first number of the output for “I”?"),
            answer=("O", 0, 0),
            mistakes=(
                Mistake(
                    ("O_unscaled", 0, 0),
                    Text(
                        "忘了除以 $\\sqrt{d}$：分数大了，权重就更集中。",
                        "The $\\sqrt{d}$ was forgotten: larger scores make the weights more uneven.",
                    ),
                ),
                Mistake(
                    ("X", 0, 0),
                    Text(
                        "这是“我”自己的值。输出里它只占自己的那份权重。",
                        "That is the value of “I” itself. The output holds only its share of it.",
                    ),
                ),
            ),
            why=Text(
                "用第一行的权重混合 $X$ 的第 1 列，得 «O[0,0]:4»。",
                "The weights of the first row mix the first column of $X$: «O[0,0]:4».",
            ),
        ),
    ),
    boundary=Text(
        "没有投影时，一个词想找什么、能被谁找到、会交出什么，是同一个向量，所以 $S$ 总是对称的。"
        "真实的模型用 $W^Q$、$W^K$、$W^V$ 把这三件事分开，下一课就加上它们。这里的向量也是手写的，"
        "权重的大小说明不了词义。",
        "Without projections, what a word looks for, what it is found by and what it hands over are one and "
        "the same vector, so $S$ is always symmetric. A model separates the three with $W^Q$, $W^K$ and "
        "$W^V$; the next lesson adds them. The vectors are made up as well: these weights say nothing about "
        "what the words mean.",
    ),
    transfer=Transfer(
        Text(
            "把四个词的顺序打乱，再算一遍。每个词的输出会变吗？",
            "Put the four words in another order and compute again. Does any word's output change?",
        ),
        Text(
            "不会。每个词还是和同样的词比较、混合，只是行的位置跟着词一起挪动。"
            "这样的注意力不知道词序：“猫追狗”和“狗追猫”里，“猫”得到同样的输出。词序要靠位置编码另外加进去。",
            "No. Each word is compared with the same words and mixes the same values; its row just moves "
            "along with it. This attention knows nothing of order: in “cat chases dog” and “dog chases cat”"
            ", “cat” gets the same output. Order has to be added, by positions.",
        ),
    ),
)
