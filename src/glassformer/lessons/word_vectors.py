"""Word vectors: one-hot vectors know nothing of each other, learned ones say who keeps like company.

The vectors are those of our own skip-gram, on a text of ours that is the same in both languages, word for
word; see `trained/vectors.py`.
"""

from ..sheet import Sheet
from .lesson import (
    Chart,
    Facts,
    Formula,
    Heading,
    Lesson,
    Matrices,
    Mistake,
    Points,
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

LEARNED = learned("vectors")
NAMES = (
    *(Text("国王", "king"), Text("女王", "queen"), Text("男人", "man"), Text("女人", "woman")),
    *(Text("王子", "prince"), Text("公主", "princess"), Text("男孩", "boy"), Text("女孩", "girl")),
    *(Text("苹果", "apple"), Text("面包", "bread")),
)
"""In the order of the file."""
N, PEOPLE = len(NAMES), 8
KING, QUEEN, MAN, WOMAN, PRINCE = range(5)


def combined(plus: int, minus: int, and_: int) -> list[list[int]]:
    """The row of coefficients of `plus` - `minus` + `and_`."""
    return [[(i in (plus, and_)) - (i == minus) for i in range(N)]]


SHEET = Sheet()
SHEET.const("X", LEARNED["vectors"])

# One-hot vectors and their products.
SHEET.const("n", N)
SHEET.range("place", "n")
SHEET.onehot("I", "place", "n")
SHEET.transpose("I_T", "I")
SHEET.matmul("products_I", "I", "I_T")

# Cosines: the vectors at length 1, and their products.
SHEET.mul("squares", "X", "X")
SHEET.sum("lengths_2", "squares")
SHEET.sqrt("lengths", "lengths_2")
SHEET.div("D", "X", "lengths")
SHEET.transpose("D_T", "D")
SHEET.matmul("C", "D", "D_T")
SHEET.transpose("X_T", "X")
SHEET.matmul("products", "X", "X_T")

# The nearest other word of each.
SHEET.const("one", 1)
SHEET.sub("others", "one", "I")
SHEET.mask("C_others", "C", "others")
SHEET.argmax("nearest", "C_others")
SHEET.onehot("nearest_row", "nearest", "n")

# The map: the two directions in which these ten differ most.
SHEET.const("P", LEARNED["axes"])
SHEET.matmul("map", "D", "P")
SHEET.slice("map_people", "map", rows=(0, PEOPLE))
SHEET.slice("across", "map_people", columns=(0, 1))
SHEET.slice("up", "map_people", columns=(1, 2))

# The analogy, with all words in the running and without those asked with.
SHEET.const("w", combined(KING, MAN, WOMAN))
SHEET.matmul("q", "w", "D")
SHEET.mul("q_squares", "q", "q")
SHEET.sum("q_length_2", "q_squares")
SHEET.sqrt("q_length", "q_length_2")
SHEET.div("q_hat", "q", "q_length")
SHEET.matmul("cosines", "q_hat", "D_T")
SHEET.mul("asked", "w", "w")
SHEET.sub("allowed", "one", "asked")
SHEET.mask("cosines_allowed", "cosines", "allowed")
SHEET.argmax("found_any", "cosines")
SHEET.argmax("found", "cosines_allowed")
SHEET.onehot("found_any_row", "found_any", "n")
SHEET.onehot("found_row", "found", "n")
SHEET.matmul("q_map", "q", "P")
SHEET.slice("q_across", "q_map", columns=(0, 1))
SHEET.slice("q_up", "q_map", columns=(1, 2))

# One step of learning: "king" and two context words, of which one stood beside it and one is noise.
SHEET.slice("u", "X", rows=(KING, KING + 1))
SHEET.const("V", list(LEARNED["contexts"].values()))
SHEET.const("y", [[1, 0]])
SHEET.const("eta", 0.5)


def _loss(end: str) -> None:
    """Chances p and loss L of u and V with this ending of their names."""
    SHEET.transpose(f"V{end}_T", f"V{end}")
    SHEET.matmul(f"s{end}", f"u{end}", f"V{end}_T")
    SHEET.sigmoid(f"p{end}", f"s{end}")
    SHEET.sub(f"not_p{end}", "one", f"p{end}")
    SHEET.mul(f"right_yes{end}", "y", f"p{end}")
    SHEET.mul(f"right_no{end}", "not_y", f"not_p{end}")
    SHEET.add(f"right{end}", f"right_yes{end}", f"right_no{end}")
    SHEET.log(f"log_right{end}", f"right{end}")
    SHEET.sum(f"log_sum{end}", f"log_right{end}")
    SHEET.sub(f"L{end}", "zero", f"log_sum{end}")


SHEET.const("zero", 0)
SHEET.sub("not_y", "one", "y")
_loss("")
SHEET.sub("g", "p", "y")
SHEET.matmul("du", "g", "V")
SHEET.transpose("g_T", "g")
SHEET.matmul("dV", "g_T", "u")
SHEET.mul("eta_du", "eta", "du")
SHEET.mul("eta_dV", "eta", "dV")
SHEET.sub("u_new", "u", "eta_du")
SHEET.sub("V_new", "V", "eta_dV")
_loss("_new")

_ASKED = LEARNED["analogies"]
SHEET.const("analogies", [[_ASKED["asked"], _ASKED["excluded"], _ASKED["included"]]])

LESSON = Lesson(
    slug="word-vectors",
    title=Text("词向量", "Word vectors"),
    insight=Text(
        "只靠预测邻居，模型就学到一组向量：用法相近的词方向相近，方向之差也有了含义。",
        "From predicting neighbours alone, words used alike come to point alike, and differences of "
        "directions carry meaning.",
    ),
    question=Text(
        "计算机不认得词，只认得数。最省事的办法是给每个词编号，写成 **one-hot** 向量：自己那一位是 1，其余是 "
        "0。可是这样，“国王”和“女王”有什么关系，就完全看不出来了。能不能让数字自己说出来？",
        "A computer knows numbers, not words. The easy way is to number the words and write each as a "
        "**one-hot** vector: 1 in its own place, 0 elsewhere. But then nothing shows that “king” and “queen” "
        "have anything to do with each other. Can the numbers be made to tell?",
    ),
    sheet=SHEET,
    axes={
        "words": NAMES,
        "people": NAMES[:PEOPLE],
        "width": tuple(str(i) for i in range(1, 7)),
        "query": (Text("查询", "query"),),
        "word": NAMES[:1],
        "contexts": (Text("命令", "commands"), Text("喂养", "feeds")),
    },
    predict=(
        Question(
            key="onehot",
            ask=Text(
                "两个不同的词，one-hot 向量的**点积**（同一位上的数相乘，再全部相加）是多少？",
                "What is the **dot product** of the one-hot vectors of two different words (multiply place "
                "by place, then add)?",
            ),
            answer=("products_I", 0, 1),
            decimals=0,
            mistakes=(
                Mistake(
                    ("products_I", 0, 0),
                    Text("那是一个词和它自己的点积。", "That is the product of a word with itself."),
                ),
            ),
            why=Text(
                "1 在不同的位置，每一项都有一个因子是 0。任何两个不同的词都互相垂直，“国王”离“女王”和离“苹果”"
                "一样远。",
                "Their ones stand in different places, so every term has a factor 0. Any two words are "
                "orthogonal: “king” is as far from “queen” as from “apple”.",
            ),
        ),
        Question(
            key="nearest",
            ask=Text(
                "我们的模型读了两万个短句，句子只是说谁做什么，例如“年幼的 王子 嘉奖 他的 马”。"
                "按学到的向量，四个词里哪一个和“国王”的方向最接近？",
                "Our model read twenty thousand short sentences, which only say who does what, such as "
                "“young prince honours his horse”. By the vectors that it learned, which of these four is "
                "nearest to “king”?",
            ),
            answer=("nearest", KING, 0),
            under={"X": LEARNED["vectors"]},
            options=(
                (NAMES[QUEEN], float(QUEEN)),
                (NAMES[MAN], float(MAN)),
                (NAMES[PRINCE], float(PRINCE)),
                (NAMES[8], 8.0),
            ),
            mistakes=(
                Mistake(
                    ("place", QUEEN, 0),
                    Text(
                        "同是王室、同是成年人，可是在这篇文字里，“他的”和“她的”、“英俊的”和“优雅的”把他们分"
                        "得更开。",
                        "Both are royal and grown up. But in this text “his” and “her”, “handsome” and "
                        "“graceful” set them further apart.",
                    ),
                ),
                Mistake(
                    ("place", MAN, 0),
                    Text(
                        "这个也近，但他们做的事不同：国王命令、嘉奖、检阅，男人喂养、刷洗、租用。",
                        "Near as well, but they do other things: a king commands, honours, inspects; a man "
                        "feeds, washes, hires.",
                    ),
                ),
                Mistake(
                    ("place", 8, 0),
                    Text(
                        "“苹果”和人没有一个邻居是共同的。",
                        "“Apple” shares no neighbour with any person.",
                    ),
                ),
            ),
            why=Text(
                "“王子”和“国王”做同样的事，也都是“他的”，只有“年长的”和“年幼的”不同：余弦是 «C[0,4]»；"
                "和“男人”是 «C[0,2]»，和“女王”是 «C[0,1]»，和“苹果”是 «C[0,8]»。",
                "“Prince” does what “king” does, and it is “his” for both; only “old” and “young” differ. "
                "The cosine is «C[0,4]»; with “man” it is «C[0,2]», with “queen” «C[0,1]», with “apple” "
                "«C[0,8]».",
            ),
        ),
    ),
    body=(
        Heading(Text("one-hot：谁和谁都没有关系", "One-hot: nobody is related to anybody")),
        Matrices(
            (
                Shown("I", "I", "words", kind="scores", small=True),
                Shown("products_I", r"I I^\top", "words", "words", "scores", small=True),
            ),
            Text("十个词的 one-hot 向量，和它们的点积", "Ten one-hot vectors, and their products"),
        ),
        Heading(Text("学出来的向量", "Learned vectors")),
        Prose(
            Text(
                "换一个办法：给每个词 6 个数，起初是随机的，再让它们去**预测邻居**。这就是 word2vec 的 "
                "skip-gram。下面的数字是本项目的模型学出来的，一个也没有改过，只保留了 6 位有效数字。\n\n"
                "它读的文字是我们编的：20,000 个短句，34 个不同的词。五分之四的句子讲人，例如“年幼的 王子 嘉"
                "奖 他的 马”：形容词跟着年龄或性别走，动词跟着身份走，“他的”和“她的”跟着性别走；每个这样的词"
                "有十分之一的机会故意放错。其余的句子讲食物，例如“苹果 尝起来 很甜”。中文和英文逐词对应，所"
                "以两种语言的页面用同一组向量。\n\n"
                "没有人告诉模型什么是王室、性别和年龄。它看到的只有谁站在谁旁边。",
                "Another way: give each word 6 numbers, random at first, and let them **predict the "
                "neighbours**. That is word2vec's skip-gram. The numbers below are what our own model "
                "learned, not one of them touched, only cut to 6 significant digits.\n\n"
                "The text it read is made up: 20,000 short sentences of 34 different words. Four in five "
                "are about people, such as “young prince honours his horse”: the adjective goes with age or "
                "gender, the verb with rank, “his” and “her” with gender, and each of these words is wrong "
                "on purpose one time in ten. The others are about food, such as “apple tastes sweet”. "
                "Chinese and English go word for word, so that the pages of both languages have the same "
                "vectors.\n\n"
                "Nobody told the model of royalty, gender or age. All it saw was who stands beside whom.",
            )
        ),
        Matrices((Shown("X", "X", "words", "width", "scores"),)),
        Prose(
            Text(
                "两个向量有多像，看它们的夹角：先把每个向量除以自己的长度，再求点积，就是**余弦**，在 −1 和 "
                "1 之间。",
                "How alike two vectors are is said by their angle: divide each by its length, then take the "
                "dot product. That is the **cosine**, between −1 and 1.",
            )
        ),
        Formula(r"\cos(a, b) = \frac{a \cdot b}{|a|\,|b|}"),
        Matrices(
            (Shown("C", r"\cos", "words", "words", "scores"),),
            Text("每两个词的余弦", "The cosine of every two words"),
        ),
        Matrices(
            (
                Shown(
                    "nearest_row",
                    r"\text{argmax}",
                    "words",
                    "words",
                    "scores",
                    0,
                    note=Text("每一行的 1：离它最近的另一个词", "The 1 in each row: the nearest other word"),
                ),
            ),
        ),
        Chart(
            Text("八个人的地图", "A map of the eight people"),
            x="across",
            x_label=Text("第 1 个方向", "1st direction"),
            y_label=Text("第 2 个方向", "2nd direction"),
            points=Points("up", "people"),
            marks=(("q_across", "q_up"),),
        ),
        Prose(
            Text(
                "六维画不出来，所以取十个单位向量差别最大的两个方向（主成分），用矩阵 $P$ 投影过去。左边大致"
                "是平民，右边是王室；上边是女，下边是男；年龄只占很小的一点。没有名字的那个点是下面那道算式"
                "的结果。“王室”“男女”这些说法是我们看了图以后加上的，模型没有给方向取名。",
                "Six dimensions cannot be drawn, so the matrix $P$ projects to the two directions in which "
                "the ten vectors of length 1 differ most (principal components). Commoners are "
                "roughly on the left and royalty on the right, women above and men below; age takes very "
                "little room. The dot without a name is the result of the sum below. The directions have no "
                "names: we gave them these after looking.",
            )
        ),
        Heading(Text("国王 − 男人 + 女人", "King − man + woman")),
        Prose(
            Text(
                "如果“王室”是一个方向，那么从“国王”里减去“男人”，再加上“女人”，应当走到“女王”附近。$w$ 说的"
                "是加谁减谁，$q = wD$ 是结果，$D$ 是长度为 1 的各个向量。再看 $q$ 和每个词的余弦，最大的就是"
                "答案。照惯例，**问题里出现过的词不算**：它们在 $q$ 里本来就有一份，往往自己就离得最近。",
                "If “royal” is a direction, then taking “man” from “king” and adding “woman” should lead "
                "close to “queen”. $w$ says what is added and taken, $q = wD$ is the result, with $D$ the "
                "vectors at length 1. Then take the cosine of $q$ with every word: the largest is the "
                "answer. By custom, **the words of the question do not count**: each is a part of $q$ and "
                "tends to be nearest itself.",
            )
        ),
        Formula(r"q = d_{\text{king}} - d_{\text{man}} + d_{\text{woman}}"),
        Presets(
            Text("算式", "The sum"),
            (
                Preset(
                    "queen",
                    Text("国王 − 男人 + 女人", "king − man + woman"),
                    {"w": combined(KING, MAN, WOMAN)},
                ),
                Preset(
                    "princess",
                    Text("王子 − 国王 + 女王", "prince − king + queen"),
                    {"w": combined(PRINCE, KING, QUEEN)},
                ),
                Preset(
                    "missed",
                    Text("王子 − 男人 + 女人", "prince − man + woman"),
                    {"w": combined(PRINCE, MAN, WOMAN)},
                ),
            ),
        ),
        Matrices(
            (
                Shown("w", "w", "query", "words", "scores", 0),
                Shown("q", "q = w D", "query", "width", "scores"),
                Shown("cosines", r"\cos(q, \cdot)", "query", "words", "scores", 3),
                Shown(
                    "found_any_row",
                    r"\text{argmax}",
                    "query",
                    "words",
                    "scores",
                    0,
                    note=Text("所有的词都算", "with all words in the running"),
                ),
                Shown("cosines_allowed", r"\cos(q, \cdot)", "query", "words", "scores", 3),
                Shown(
                    "found_row",
                    r"\text{argmax}",
                    "query",
                    "words",
                    "scores",
                    0,
                    note=Text("问题里的词不算", "without the words of the question"),
                ),
            ),
        ),
        Prose(
            Text(
                "第一道算式，“女王”的余弦是最大的，算不算问题里的词都一样。第二道就不同：不排除的话，答案是"
                "“女王”自己，排除以后才是“公主”。第三道答错了：应当是“公主”，找到的是“女王”。差在年龄：在这"
                "里它只是很小的一点差别，减去“男人”、加上“女人”以后留下的误差比它还大。\n\n"
                "这样的算式一共有 «analogies[0,0]:0» 道（在全部 34 个词里找）。排除问题里的词，对了 "
                "«analogies[0,1]:0» 道；不排除，对了 «analogies[0,2]:0» 道。",
                "In the first sum “queen” has the largest cosine, whether the words of the question count "
                "or not. Not so in the second: if they count, the answer is “queen” itself, and only "
                "without them “princess”. The third goes wrong: it should be “princess”, and “queen” is "
                "found. The matter is age. Here it makes a small difference only, and the error that is left "
                "by taking “man” and adding “woman” is larger.\n\n"
                "There are «analogies[0,0]:0» such sums (answers sought among all 34 words). Without the "
                "words of the question «analogies[0,1]:0» come out right; with them, «analogies[0,2]:0».",
            )
        ),
        Heading(Text("一步学习", "One step of learning")),
        Prose(
            Text(
                "这些数是怎么来的？每个词其实有两个向量：自己的 $u$，和作为邻居时的 $v$。模型看着“国王”猜："
                "这个词是真的站在它旁边（$y = 1$），还是随便抽来的**噪声**（$y = 0$）？它先算"
                "分数 $s = u · v$，再用 $σ(s) = 1/(1 + e^{-s})$ 把分数压到 0 和 1 之间，就是猜“真”的概率 "
                "$p$。损失 $L$ 是猜对的概率取对数，加起来，再变号。它对分数的梯度很好记：$p - y$，猜的减去真"
                "的。真邻居把 $u$ 拉近，噪声把 $u$ 推开。这叫**负采样**。\n\n"
                "下面一个邻居配一个噪声，$u$、$v$ 都是学完之后的值；训练时每个邻居平均配 5 个噪声。",
                "Where do these numbers come from? Each word has two vectors: $u$ of its own, and $v$ as a "
                "neighbour of others. Seeing “king”, the model guesses whether a word really stood beside "
                "it ($y = 1$) or is **noise**, drawn at random ($y = 0$). The score is $s = u · v$, and "
                "$σ(s) = 1/(1 + e^{-s})$ brings it between 0 and 1: the guess $p$ that it is true. The loss "
                "$L$ is minus the sum of the logarithms of the chances of guessing right. Its gradient with "
                "respect to a score is easy to remember: $p - y$, the guess minus the truth. A true "
                "neighbour pulls $u$ closer, noise pushes it away. This is **negative sampling**.\n\n"
                "Here one neighbour goes with one noise word, and $u$ and $v$ are those after training; in "
                "training each neighbour had 5 noise words in the mean.",
            )
        ),
        Formula(r"p = \sigma(u V^\top)"),
        Formula(
            r"\frac{\partial L}{\partial u} = (p - y)V \qquad"
            r" \frac{\partial L}{\partial V} = (p - y)^\top u"
        ),
        Presets(
            Text("真的邻居是", "The true neighbour is"),
            (
                Preset("commands", Text("命令", "commands"), {"y": [[1, 0]]}),
                Preset("feeds", Text("喂养", "feeds"), {"y": [[0, 1]]}),
            ),
        ),
        Slider("eta", Text("学习率 $η$", "learning rate $η$"), 0, 2, 0.05),
        Matrices(
            (
                Shown("u", "u", "word", "width", "scores"),
                Shown("V", "V", "contexts", "width", "scores"),
                Shown("y", "y", "word", "contexts", decimals=0),
            ),
            Text("之前", "Before"),
        ),
        Matrices(
            (
                Shown("s", r"s = u V^\top", "word", "contexts", "scores", 4),
                Shown("p", r"p = \sigma(s)", "word", "contexts", "weights", 4),
                Shown("g", "p - y", "word", "contexts", "scores", 4),
                Shown("du", r"(p - y) V", "word", "width", "scores", 4),
            ),
        ),
        Matrices(
            (
                Shown("u_new", r"u' = u - \eta (p - y) V", "word", "width", "scores"),
                Shown("V_new", r"V' = V - \eta (p - y)^\top u", "contexts", "width", "scores"),
                Shown("p_new", r"p' = \sigma(u' V'^\top)", "word", "contexts", "weights", 4),
            ),
            Text("一步之后", "After one step"),
        ),
        Facts(
            (
                (Text("损失，之前", "loss before"), ("L", 0, 0), 4),
                (Text("损失，一步之后", "loss after the step"), ("L_new", 0, 0), 4),
            )
        ),
    ),
    check=(
        Question(
            key="cosine",
            ask=Text(
                "“国王”和“男人”的余弦是多少？它们的点积是 «products[0,2]:4»，长度是 «lengths[0,0]:4» 和 "
                "«lengths[2,0]:4»。",
                "What is the cosine of “king” and “man”? Their product is «products[0,2]:4», their lengths "
                "are «lengths[0,0]:4» and «lengths[2,0]:4».",
            ),
            answer=("C", KING, MAN),
            mistakes=(
                Mistake(
                    ("products", KING, MAN),
                    Text(
                        "这是点积，还要除以两个长度。",
                        "That is the product. It has to be divided by both lengths.",
                    ),
                ),
                Mistake(
                    ("C", KING, QUEEN),
                    Text("这是和“女王”的余弦。", "That is the cosine with “queen”."),
                ),
            ),
            why=Text(
                "点积除以两个长度：«C[0,2]:4»。",
                "The product divided by both lengths: «C[0,2]:4».",
            ),
        ),
        Question(
            key="excluded",
            ask=Text(
                "王子 − 国王 + 女王。如果问题里的词也算，找到的是哪个词？",
                "Prince − king + queen. If the words of the question count, which word is found?",
            ),
            answer=("found_any", 0, 0),
            under={"X": LEARNED["vectors"], "w": combined(PRINCE, KING, QUEEN)},
            options=tuple((NAMES[i], float(i)) for i in (KING, QUEEN, PRINCE, 5)),
            mistakes=(
                Mistake(
                    ("found", 0, 0),
                    Text(
                        "那是把问题里的三个词排除以后的答案。",
                        "That is the answer once the three words of the question are left out.",
                    ),
                ),
            ),
            why=Text(
                "“王子”和“国王”几乎同向，相减以后只剩一点，$q$ 差不多就是“女王”：余弦 «cosines[0,1]:3»，“公"
                "主”是 «cosines[0,5]:3»。",
                "“Prince” and “king” point almost the same way. Little is left of their difference, and $q$ "
                "is nearly “queen”: its cosine is «cosines[0,1]:3», that of “princess” «cosines[0,5]:3».",
            ),
        ),
        Question(
            key="gradient",
            ask=Text(
                "真的邻居是“命令”，模型猜的概率是 $p =$ «p[0,0]:4»。损失对这个分数 $s$ 的梯度是多少？",
                "“Commands” is the true neighbour, and the model's guess is $p =$ «p[0,0]:4». What is the "
                "gradient of the loss with respect to that score $s$?",
            ),
            answer=("g", 0, 0),
            under={"y": [[1, 0]]},
            mistakes=(
                Mistake(
                    ("p", 0, 0),
                    Text(
                        "这是 $p$。还要减去 $y$：真的邻居的 $y$ 是 1。",
                        "That is $p$. Subtract $y$, which is 1 for a true neighbour.",
                    ),
                ),
                Mistake(
                    ("not_p", 0, 0),
                    Text(
                        "大小对了，符号反了：是 $p - y$。", "The right size, the wrong sign: it is $p - y$."
                    ),
                ),
            ),
            why=Text(
                "$p - y =$ «g[0,0]:4»。梯度是负的，往反方向走一步，分数就升高。",
                "$p - y =$ «g[0,0]:4». It is negative, and a step against it raises the score.",
            ),
        ),
    ),
    boundary=Text(
        "这篇文字是我们编的，身份、性别和年龄就写在里面，所以算式才这么听话。真实文字里没有这么整齐的表，类"
        "比也常常不成立，“国王 − 男人 + 女人”是挑出来的好例子；就连这里，也有答错的。\n\n"
        "向量学到的是**用法**，不是定义：反义词的邻居往往相同，向量就会很近；文字里的偏见，它也照学。\n\n"
        "还有，每个词只有**一个**向量，不管它在哪句话里。“苹果真甜”里的“苹果”和“苹果发布会”里的“苹果”是同一组"
        "数，要分开它们，得看上下文。下一课的循环网络就是一个词一个词读上下文的。",
        "We made this text up, and rank, gender and age are written into it: that is why the sums behave so "
        "well. Real text has no such tidy table, analogies often fail in it, and king − man + woman is a "
        "chosen example. Even here some come out wrong.\n\n"
        "What vectors learn is **use**, not definitions. Opposites tend to have the same neighbours and so "
        "lie close; and prejudice in a text is learned along with the rest.\n\n"
        "And a word has **one** vector, whatever sentence it stands in. The “bank” of money and the “bank” "
        "of a river are the same numbers; to tell them apart takes context, which the recurrent network of "
        "the next lesson reads word by word.",
    ),
    transfer=Transfer(
        Text(
            "如果两个词在整篇文字里的邻居完全一样，skip-gram 会给它们怎样的向量？one-hot 呢？",
            "Two words have exactly the same neighbours throughout a text. What vectors does skip-gram give "
            "them? And one-hot?",
        ),
        Text(
            "差不多同一个方向：两个词要预测的东西一样，最好的向量也就一样。看“苹果”和“面包”，余弦是 "
            "«C[8,9]:3»，因为在这篇文字里它们可以互换。one-hot 照样互相垂直：它不看文字。",
            "Nearly the same direction: both have the same to predict, so the same vector is best for both. "
            "See “apple” and “bread”, whose cosine is «C[8,9]:3», for in this text they are "
            "interchangeable. One-hot vectors stay orthogonal: they never look at the text.",
        ),
    ),
    claims=("C1",),
)
