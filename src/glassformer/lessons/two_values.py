"""Two values, one query. The mixture is linear in the values as long as the weights stand still."""

import math

from ..sheet import Sheet
from .lesson import (
    Formula,
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

SHEET = Sheet()
SHEET.const("q", [[1]])
SHEET.const("K", [[0.0], [math.log(3)]])
SHEET.const("V", [[2, 0], [0, 2]])
SHEET.transpose("K_T", "K")
SHEET.matmul("s", "q", "K_T")
SHEET.softmax("a", "s")
SHEET.matmul("o", "a", "V")

# The same as it was before the reader changed anything: what the rule's two sides are measured from.
SHEET.const("q_0", [[1]])
SHEET.const("K_0", [[0.0], [math.log(3)]])
SHEET.const("V_0", [[2, 0], [0, 2]])
SHEET.transpose("K_0T", "K_0")
SHEET.matmul("s_0", "q_0", "K_0T")
SHEET.softmax("a_0", "s_0")
SHEET.matmul("o_0", "a_0", "V_0")
SHEET.sub("change_V", "V", "V_0")
SHEET.sub("change_o", "o", "o_0")
SHEET.matmul("predicted", "a_0", "change_V")

CHANGED = {"V": {(1, 1): 4.0}}

LESSON = Lesson(
    slug="two-values",
    title=Text("两个值，一个查询", "Two values, one query"),
    insight=Text(
        "注意力的输出是各个值的加权平均：只改一个值，输出就只按它的权重移动。",
        "Attention's output is a weighted average: change one value, and the output moves by its weight.",
    ),
    question=Text(
        "一个词拿着自己的**查询**去看两个词。每个词有一个**键**，用来和查询比较；还有一个**值**，是它交出来"
        "的内容。看到的是什么？改掉其中一个值，结果会动多少？",
        "One word looks at two others with its **query**. Each of them has a **key**, which the query is "
        "compared with, and a **value**, which is what it hands over. What does the word see, and how far "
        "does that move when one of the values changes?",
    ),
    sheet=SHEET,
    axes={
        "query": (Text("查询", "query"),),
        "keys": (Text("词 1", "word 1"), Text("词 2", "word 2")),
        "width": (Text("第 1 个数", "1st"), Text("第 2 个数", "2nd")),
    },
    predict=(
        Question(
            key="weights",
            ask=Text(
                "输出是两个值 $v_1$、$v_2$ 的加权平均，现在的权重是 «a[0,0]» 和 «a[0,1]»。把 $v_2$ 的第 2 个"
                "数从 «V[1,1]:1» 改成 4，别的都不动。$v_2$ 的权重会变成多少？",
                "The output is a weighted average of two values, $v_1$ and $v_2$, with the weights «a[0,0]» "
                "and «a[0,1]» now. The second number of $v_2$ goes from «V[1,1]:1» to 4, and nothing else "
                "changes. What becomes of the weight of $v_2$?",
            ),
            answer=("a", 0, 1),
            under=CHANGED,
            why=Text(
                "权重只由查询和键算出来，值没有参与。所以权重不动，仍是 «a[0,1]»。",
                "Weights are worked out from the query and the keys; the values take no part. So it stays "
                "at «a[0,1]».",
            ),
        ),
        Question(
            key="output",
            ask=Text(
                "同样的改动之后，输出的第 2 个数（现在是 «o[0,1]»）会变成多少？",
                "After the same change, what is the second number of the output, now «o[0,1]»?",
            ),
            answer=("o", 0, 1),
            under=CHANGED,
            mistakes=(
                Mistake(
                    ("V", 1, 1),
                    Text(
                        "这是 $v_2$ 本身。输出只取它的一份，份额就是它的权重。",
                        "That is $v_2$ itself. The output takes only a share of it, and the share is its "
                        "weight.",
                    ),
                ),
                Mistake(
                    ("change_V", 1, 1),
                    Text(
                        "这是值的变化量。输出的变化是权重乘以它，再加到原来的输出上。",
                        "That is by how much the value changed. The output changes by the weight times this, "
                        "from where it was.",
                    ),
                ),
                Mistake(
                    ("o_0", 0, 1),
                    Text(
                        "这是原来的输出。权重没有变，但它乘的那个值变了。",
                        "That is the output as it was. The weight has not changed, but the value that it "
                        "multiplies has.",
                    ),
                ),
            ),
            why=Text(
                "输出是加权平均，值变了 $Δv_2$，输出就变 $a_2 Δv_2$。",
                "The output is a weighted average: when the value moves by $Δv_2$, it moves by $a_2 Δv_2$.",
            ),
        ),
    ),
    body=(
        Prose(
            Text(
                "查询 $q$ 和每个键 $k_j$ 相乘，得到**分数** $s_j$。**softmax** 对每个分数取 $e$ 的这么多次"
                "方，再除以总和，得到**权重** $a_j$：都是正数，加起来等于 1。输出 $o$ 就是按这些权重把两个值"
                "混在一起。\n\n"
                "为了简单，查询和键都只有 1 个数（$d_k = 1$），值有 2 个数（$d_v = 2$）：两者不必一样宽。",
                "The query $q$ is multiplied with every key $k_j$, which gives the **scores** $s_j$. "
                "**Softmax** takes $e$ to the power of each score and divides by the sum of them all. That "
                "makes the **weights** $a_j$: positive, and together 1. The output $o$ mixes the two values "
                "by these weights.\n\n"
                "To keep it simple, query and keys are one number each ($d_k = 1$) and values are two "
                "($d_v = 2$): they need not be equally wide.",
            )
        ),
        Formula(r"s = q K^\top \qquad a_j = \frac{e^{s_j}}{e^{s_1} + e^{s_2}} \qquad o = \sum_j a_j v_j"),
        Presets(
            Text("第二个值", "The second value"),
            (
                Preset("old", Text("$v_2 = (0, 2)$", "$v_2 = (0, 2)$"), {"V": {(1, 1): 2.0}}),
                Preset("new", Text("$v_2 = (0, 4)$", "$v_2 = (0, 4)$"), CHANGED),
            ),
        ),
        Matrices(
            (
                Shown("q", "q", rows="query"),
                Shown("K", "K", rows="keys", decimals=4),
                Shown("V", "V", rows="keys", columns="width"),
            ),
            Text("给定", "Given"),
        ),
        Matrices(
            (
                Shown("s", r"s = qK^\top", "query", "keys", "scores", 4),
                Shown("a", r"a = \text{softmax}(s)", "query", "keys", "weights", 4),
                Shown("o", r"o = aV", "query", "width", decimals=4),
            ),
            Text("算出来的", "Worked out"),
        ),
        Query("query", Text("逐步计算", "Step by step"), ("s", "a", "o")),
        Prose(
            Text(
                "检验这条规则：$Δo$ 是输出真正的变化，$a ΔV$ 是原来的权重乘以值的变化。只改 $V$ 时两者总是相"
                "等；再改 $q$ 或 $K$ 试试：权重也跟着变，两者一般就不再相等。",
                "Check the rule: $Δo$ is how far the output really moved, and $a ΔV$ is the original "
                "weights times the changes of the values. As long as you change $V$ alone, they agree. Now "
                "change $q$ or $K$: the weights move as well, and in general they no longer do.",
            )
        ),
        Matrices(
            (
                Shown("change_V", r"\Delta V", "keys", "width"),
                Shown("change_o", r"\Delta o", "query", "width", decimals=4),
                Shown("predicted", r"a\,\Delta V", "query", "width", decimals=4),
            ),
        ),
    ),
    check=(
        Question(
            key="slope",
            ask=Text(
                "$v_2$ 的第 2 个数每增加 1，输出的第 2 个数增加多少？",
                "For every 1 that the second number of $v_2$ grows, by how much does that of the output "
                "grow?",
            ),
            answer=("a", 0, 1),
            why=Text(
                "正好是它的权重 «a[0,1]:4»。这就是 $Δo = a_j Δv_j$。",
                "By exactly its weight, «a[0,1]:4». That is $Δo = a_j Δv_j$.",
            ),
        ),
    ),
    boundary=Text(
        "这里直接改了 $V$。在真实的模型里，值是输入乘一个矩阵得到的，$V = XW^V$，这一步叫**投影**；查询和键"
        "也这样来自同一个 $X$。我们改的是投影**之后**的 $V$。改动输入里的一个词，$Q$、$K$、$V$ 会一起变，权"
        "重也就跟着变，这条简单的规则便不再成立。",
        "Here $V$ itself was changed. In a model the values are the input times a matrix, $V = XW^V$, which "
        "is called a **projection**; queries and keys come from the same $X$ in this way. What changed here "
        "is $V$ **after** its projection. Change a word of the input and $Q$, $K$ and $V$ all change, the "
        "weights with them, and the simple rule no longer holds.",
    ),
    transfer=Transfer(
        Text(
            "如果两个键完全相同，权重会是多少？这时输出和查询还有关系吗？",
            "If the two keys are the same, what are the weights? Does the output still depend on the query?",
        ),
        Text(
            "两个分数总是相等，权重永远是 1/2 和 1/2，输出就是两个值的平均，和查询无关。"
            "注意力要能选择，键之间必须有差别。",
            "The scores are always equal, so the weights are 1/2 and 1/2 whatever the query is, and the "
            "output is the mean of the values. To choose, attention needs keys that differ.",
        ),
    ),
)
