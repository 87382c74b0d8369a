"""Why scores are divided by √d_k. Dot products spread like √d_k, and softmax saturates."""

from ..sheet import Sheet
from .lesson import (
    Chart,
    Facts,
    Formula,
    Heading,
    Lesson,
    Line,
    Matrices,
    Mistake,
    Prose,
    Question,
    Shown,
    Slider,
    Text,
    Transfer,
)

WIDTHS = tuple(2**k for k in range(1, 10))
N = 16
"""Keys of a query, and queries of the large sample."""

SHEET = Sheet()
SHEET.const("log_d", 6)
SHEET.const("seed", 6)

# Powers of two, chosen and not computed: a width must be whole to the last bit.
SHEET.const("one", 1)
SHEET.const("D", [[d] for d in WIDTHS])
SHEET.sub("which", "log_d", "one")
SHEET.onehot("chosen", "which", len(WIDTHS))
SHEET.matmul("d_k", "chosen", "D")
SHEET.sqrt("root", "d_k")
SHEET.const("apart", 1000)
SHEET.add("seed_K", "seed", "apart")

# One query and its keys. They are the first of the large sample: a normal's cells do not depend on its size.
SHEET.normal("q", 1, "d_k", "seed")
SHEET.normal("K", N, "d_k", "seed_K")
SHEET.slice("k_1", "K", rows=(0, 1))
SHEET.transpose("K_T", "K")
SHEET.matmul("s", "q", "K_T")

# The first components of both as pictures of one size, 0 where d_k has no more.
PICTURED = 64
SHEET.range("component", PICTURED)
SHEET.less("there_T", "component", "d_k")
SHEET.transpose("there", "there_T")
SHEET.normal("q_first", 1, PICTURED, "seed")
SHEET.normal("k_first", 1, PICTURED, "seed_K")
SHEET.mul("q_pictured", "q_first", "there")
SHEET.mul("k_pictured", "k_first", "there")
SHEET.div("s_scaled", "s", "root")


SHEET.const("n", N)
SHEET.const("pairs", N * N)


def _weights(scores: str, end: str, queries: str, all_weights: str) -> None:
    """Of scores, N in a row: weights a, the mean of the rows' largest (top), and of all p(1 - p) (slope).

    `queries` and `all_weights` name matrices that hold how many of them there are.
    """
    SHEET.softmax(f"a{end}", scores)
    SHEET.max(f"largest{end}", f"a{end}")
    SHEET.sum(f"largest_sum{end}", f"largest{end}", over="all")
    SHEET.div(f"top{end}", f"largest_sum{end}", queries)
    SHEET.sub(f"rest{end}", "one", f"a{end}")
    SHEET.mul(f"slopes{end}", f"a{end}", f"rest{end}")
    SHEET.sum(f"slopes_sum{end}", f"slopes{end}", over="all")
    SHEET.div(f"slope{end}", f"slopes_sum{end}", all_weights)


for end in ("", "_scaled"):
    _weights(f"s{end}", end, "one", "n")
    SHEET.sub(f"top_rest{end}", "one", f"top{end}")
    SHEET.mul(f"top_slope{end}", f"top{end}", f"top_rest{end}")

# The large sample: N queries by N keys. Each width's scores are those of the width before and more columns.
SHEET.normal("Q_all", N, WIDTHS[-1], "seed")
SHEET.normal("K_all", N, WIDTHS[-1], "seed_K")
SHEET.transpose("K_all_T", "K_all")
for start, d in zip((0, *WIDTHS), WIDTHS, strict=False):
    SHEET.slice(f"Q@{d}", "Q_all", columns=(start, d))
    SHEET.slice(f"K_T@{d}", "K_all_T", rows=(start, d))
    SHEET.matmul(f"S@{d}" if start == 0 else f"more@{d}", f"Q@{d}", f"K_T@{d}")
    if start:
        SHEET.add(f"S@{d}", f"S@{start}", f"more@{d}")
    SHEET.mul(f"squares@{d}", f"S@{d}", f"S@{d}")
    SHEET.sum(f"squares_sum@{d}", f"squares@{d}", over="all")
    SHEET.div(f"variance@{d}", f"squares_sum@{d}", "pairs")  # the mean is known: it is 0
    SHEET.const(f"root@{d}", d**0.5)
    SHEET.div(f"S_scaled@{d}", f"S@{d}", f"root@{d}")
    _weights(f"S@{d}", f"@{d}", "n", "pairs")
    _weights(f"S_scaled@{d}", f"_scaled@{d}", "n", "pairs")

# One column a quantity, one row a width; `_here` is the row of the reader's width.
for of in ("variance", "top", "top_scaled", "slope", "slope_scaled"):
    SHEET.concat(f"{of}_by_d", *(f"{of}@{d}" for d in WIDTHS), axis="rows")
    SHEET.matmul(f"{of}_here", "chosen", f"{of}_by_d")
SHEET.sqrt("deviation_here", "variance_here")

# The standard error of `variance`. Pairs share queries and keys, so it is more than that of N² free ones:
# the variance of tr(QᵀQ KᵀK)/N² for normal Q and K is d (4/N + 2/N²) + d² 2/N².
SHEET.const("linear", 4 / N + 2 / N**2)
SHEET.const("square", 2 / N**2)
SHEET.mul("square_d", "square", "d_k")
SHEET.add("per_d", "linear", "square_d")
SHEET.mul("error_squared", "per_d", "d_k")
SHEET.sqrt("error", "error_squared")

# What the questions ask for.
SHEET.const("four", 4)
SHEET.mul("wider", "four", "d_k")
SHEET.sqrt("wider_root", "wider")
SHEET.div("ratio", "wider_root", "root")
SHEET.div("variance_ratio", "wider", "d_k")
SHEET.div("deviation_scaled", "root", "root")
SHEET.div("variance_by_root", "d_k", "root")
SHEET.div("deviation_over_d", "root", "d_k")

LESSON = Lesson(
    slug="scale",
    title=Text("为什么除以 $\\sqrt{d_k}$", "Why divide by $\\sqrt{d_k}$"),
    insight=Text(
        "点积的标准差是 $\\sqrt{d_k}$；不除以它，softmax 几乎只选一个键，对分数的梯度也就几乎没了。",
        "Dot products spread like $\\sqrt{d_k}$. Left alone, softmax all but picks one key, and the "
        "gradient with respect to the scores all but vanishes.",
    ),
    question=Text(
        "公式里那个 $\\sqrt{d_k}$ 是干什么的？去掉它会怎样？",
        "What does the $\\sqrt{d_k}$ in the formula do, and what happens without it?",
    ),
    sheet=SHEET,
    axes={
        "query": (Text("查询", "query"),),
        "key": (Text("键 1", "key 1"),),
        "keys": tuple(str(i) for i in range(1, N + 1)),
    },
    predict=(
        Question(
            key="deviation",
            ask=Text(
                "$q$ 和 $k$ 各有 «d_k[0,0]:0» 个分量，彼此独立，均值都是 0，方差都是 1。点积 $q · k$ "
                "的标准差是多少？",
                "$q$ and $k$ have «d_k[0,0]:0» components each, all independent, with mean 0 and variance "
                "1. What is the standard deviation of $q · k$?",
            ),
            answer=("root", 0, 0),
            decimals=1,
            mistakes=(
                Mistake(
                    ("d_k", 0, 0),
                    Text(
                        "这是方差。标准差是它的平方根。",
                        "That is the variance. The standard deviation is its square root.",
                    ),
                ),
                Mistake(
                    ("one", 0, 0),
                    Text(
                        "这是每一项 $q_i k_i$ 的标准差。点积是 «d_k[0,0]:0» 项的和。",
                        "That is the standard deviation of one term $q_i k_i$. The product is a sum of "
                        "«d_k[0,0]:0».",
                    ),
                ),
            ),
            why=Text(
                "每一项 $q_i k_i$ 的方差是 1，独立的各项相加，方差也相加，得 «d_k[0,0]:0»；开方，得 "
                "«root[0,0]:1»。",
                "Every term $q_i k_i$ has variance 1. Terms are independent, so variances add up, to "
                "«d_k[0,0]:0»; the root of it is «root[0,0]:1».",
            ),
        ),
        Question(
            key="ratio",
            ask=Text(
                "$d_k$ 变成原来的 4 倍，还没有除以 $\\sqrt{d_k}$ 的分数，标准差变成原来的几倍？",
                "$d_k$ becomes 4 times as large. How many times as large is the standard deviation of "
                "scores that are not divided by $\\sqrt{d_k}$?",
            ),
            answer=("ratio", 0, 0),
            options=(
                (Text("不变", "the same"), 1.0),
                (Text("2 倍", "2 times"), 2.0),
                (Text("4 倍", "4 times"), 4.0),
            ),
            mistakes=(
                Mistake(
                    ("variance_ratio", 0, 0),
                    Text("变成 4 倍的是方差。", "The variance is 4 times as large."),
                ),
                Mistake(
                    ("one", 0, 0),
                    Text(
                        "项数多了，和就散得更开。方差按项数增加，标准差呢？",
                        "A sum of more terms spreads further. The variance grows with the number of terms; "
                        "and the deviation?",
                    ),
                ),
            ),
            why=Text(
                "方差与 $d_k$ 成正比，标准差与 $\\sqrt{d_k}$ 成正比：从 «root[0,0]:1» 变成 "
                "«wider_root[0,0]:1»。",
                "The variance grows like $d_k$, the standard deviation like $\\sqrt{d_k}$: from "
                "«root[0,0]:1» to «wider_root[0,0]:1».",
            ),
        ),
    ),
    body=(
        Prose(
            Text(
                "一个分数是两个向量的点积，也就是 $d_k$ 项的和。项越多，和就散得越开。\n\n"
                "先说好**前提**：$q$ 和 $k$ 的分量彼此独立，均值为 0，方差为 1。这时每一项 $q_i k_i$ "
                "的均值是 0、方差是 1，独立的项相加，方差也相加。",
                "A score is the dot product of two vectors, a sum of $d_k$ terms. The more terms, the "
                "further sums spread.\n\n"
                "The **premise** first: the components of $q$ and $k$ are independent, with mean 0 and "
                "variance 1. Then each term $q_i k_i$ has mean 0 and variance 1, and as the terms are "
                "independent their variances add up.",
            )
        ),
        Formula(r"\text{Var}(q \cdot k) = \sum_{i=1}^{d_k} \text{Var}(q_i k_i) = d_k"),
        Slider(
            "log_d", Text("$\\log_2 d_k$：每格加倍", "$\\log_2 d_k$: each step doubles it"), 1, len(WIDTHS)
        ),
        Slider("seed", Text("种子：换一批随机数", "Seed: other random numbers"), 1, 40),
        Facts(
            (
                (Text("$d_k$，也是理论上的方差", "$d_k$, the variance in theory"), ("d_k", 0, 0), 0),
                (
                    Text("量出来的 $q · k$ 的方差", "variance of $q · k$ as measured"),
                    ("variance_here", 0, 0),
                    1,
                ),
                (
                    Text("这个方差的抽样误差（标准误差）", "its error from sampling (standard error)"),
                    ("error", 0, 0),
                    1,
                ),
                (
                    Text("理论上的标准差 $\\sqrt{d_k}$", "standard deviation in theory, $\\sqrt{d_k}$"),
                    ("root", 0, 0),
                    2,
                ),
                (Text("量出来的标准差", "standard deviation as measured"), ("deviation_here", 0, 0), 2),
            ),
            Text(
                "16 个查询 × 16 个键，共 256 个点积",
                "16 queries by 16 keys, 256 dot products",
            ),
        ),
        Chart(
            Text("点积的方差", "Variance of the dot product"),
            x="D",
            x_label=Text("$d_k$", "$d_k$"),
            y_label=Text("方差", "variance"),
            lines=(
                Line("variance_by_d", Text("量出来的", "measured")),
                Line("D", Text("理论：$d_k$", "theory: $d_k$")),
            ),
            marks=(("d_k", "variance_here"),),
            log_x=True,
            log_y=True,
        ),
        Heading(Text("softmax 怎么看这些分数", "What softmax makes of it")),
        Prose(
            Text(
                "softmax 只看分数之**差**：一个分数比另一个大 $δ$，它的权重就是另一个的 $e^δ$ 倍。"
                "$d_k = 64$ 时标准差是 8，差出好几个单位是常事，最大的分数往往拿走大半甚至全部权重，这叫**饱"
                "和**。除以 $\\sqrt{d_k}$ 之后，不管 $d_k$ 多大，标准差都是 1。\n\n"
                "下面是一个查询和 16 个键。同样的点积，一次直接送进 softmax，一次先除以 $\\sqrt{d_k}$，也就"
                "是先**缩放**。",
                "Softmax sees only **differences**: a score larger by $δ$ has $e^δ$ times the weight. At "
                "$d_k = 64$ the standard deviation is 8: scores are often several units apart, and the "
                "largest tends to take most of the weight or all of it. That is called **saturation**. "
                "Divided by $\\sqrt{d_k}$, their standard deviation is 1 whatever $d_k$ is.\n\n"
                "Here are one query and 16 keys. The same products go into softmax once as they are, and "
                "once **scaled**, that is divided by $\\sqrt{d_k}$.",
            )
        ),
        Matrices(
            (
                Shown("q_pictured", "q", "query", kind="scores", small=True),
                Shown("k_pictured", "k_1", "key", kind="scores", small=True),
            ),
            Text(
                "抽出来的查询和第 1 个键，每格一个分量，最多画 64 个",
                "The query and key 1 as sampled, a cell a component, 64 at most",
            ),
        ),
        Matrices(
            (
                Shown("s", r"s = qK^\top", "query", "keys", "scores"),
                Shown("a", r"\text{softmax}(s)", "query", "keys", "weights"),
            ),
            Text("不缩放", "Without the scale"),
        ),
        Matrices(
            (
                Shown("s_scaled", r"s/\sqrt{d_k}", "query", "keys", "scores"),
                Shown("a_scaled", r"\text{softmax}(s/\sqrt{d_k})", "query", "keys", "weights"),
            ),
            Text("缩放", "With the scale"),
        ),
        Heading(Text("饱和为什么有害：梯度", "Why saturation hurts: the gradient")),
        Prose(
            Text(
                "训练靠梯度。权重 $a_i$ 对送进 softmax 的**分数** $s_j$ 的导数，全由权重自己决定。取 "
                "$j = i$，就是 $p(1-p)$：$p$ 接近 0 或接近 1 时，它都接近 0。饱和的 softmax 里，权重几乎非 "
                "0 即 1，分数稍微动一动，它们几乎不动，于是学不到东西。",
                "Training runs on gradients. How a weight $a_i$ answers to a **score** $s_j$ that enters "
                "softmax depends on the weights alone. For $j = i$ it is $p(1-p)$, which is near 0 both for "
                "$p$ near 0 and for $p$ near 1. In a saturated softmax all weights are near 0 or 1. Move a "
                "score a little, and they hardly follow, so nothing is learned from it.",
            )
        ),
        Formula(
            r"\frac{\partial a_i}{\partial s_j} = a_i(\delta_{ij} - a_j)"
            r" \qquad \frac{\partial a_i}{\partial s_i} = a_i(1 - a_i)"
        ),
        Facts(
            (
                (Text("最大权重 $p$，不缩放", "largest weight $p$, not scaled"), ("top", 0, 0), 4),
                (Text("最大权重 $p$，缩放", "largest weight $p$, scaled"), ("top_scaled", 0, 0), 4),
                (Text("它的 $p(1-p)$，不缩放", "its $p(1-p)$, not scaled"), ("top_slope", 0, 0), 4),
                (Text("它的 $p(1-p)$，缩放", "its $p(1-p)$, scaled"), ("top_slope_scaled", 0, 0), 4),
                (
                    Text("16 个权重的平均 $p(1-p)$，不缩放", "mean $p(1-p)$ of the 16 weights, not scaled"),
                    ("slope", 0, 0),
                    4,
                ),
                (
                    Text("16 个权重的平均 $p(1-p)$，缩放", "mean $p(1-p)$ of the 16 weights, scaled"),
                    ("slope_scaled", 0, 0),
                    4,
                ),
            ),
            Text("上面那个查询", "The query above"),
        ),
        Prose(
            Text(
                "一个查询有运气成分。下面是 16 个查询的平均，每个查询都有 16 个键：权重全相等时，"
                "最大权重也有 1/16。不缩放的曲线随 $d_k$ 走向饱和，缩放的曲线大致持平。点是你选的 $d_k$。",
                "One query may be a matter of luck. So here are means over 16 queries with 16 keys each; "
                "were all weights equal, the largest would be 1/16. Without the scale the curves run into "
                "saturation as $d_k$ grows; with it they stay about level. The dots are at your $d_k$.",
            )
        ),
        Chart(
            Text("平均的最大权重", "Mean largest weight"),
            x="D",
            x_label=Text("$d_k$", "$d_k$"),
            y_label=Text("最大权重", "largest weight"),
            lines=(
                Line("top_by_d", Text("不缩放", "not scaled")),
                Line("top_scaled_by_d", Text("缩放", "scaled")),
            ),
            marks=(("d_k", "top_here"), ("d_k", "top_scaled_here")),
            log_x=True,
        ),
        Chart(
            Text("$p(1-p)$ 的平均：256 个权重", "Mean $p(1-p)$ of all 256 weights"),
            x="D",
            x_label=Text("$d_k$", "$d_k$"),
            y_label=Text("$p(1-p)$", "$p(1-p)$"),
            lines=(
                Line("slope_by_d", Text("不缩放", "not scaled")),
                Line("slope_scaled_by_d", Text("缩放", "scaled")),
            ),
            marks=(("d_k", "slope_here"), ("d_k", "slope_scaled_here")),
            log_x=True,
        ),
    ),
    check=(
        Question(
            key="slope",
            ask=Text(
                "不缩放时，上面那个查询的最大权重是 $p =$ «top[0,0]:3»。$p$ 对它自己的分数的导数是多少？",
                "Without the scale, the largest weight of the query above is $p =$ «top[0,0]:3». What is "
                "the derivative of $p$ with respect to its own score?",
            ),
            answer=("top_slope", 0, 0),
            decimals=2,
            mistakes=(
                Mistake(
                    ("top", 0, 0),
                    Text(
                        "这是 $p$ 本身。还要乘以 $1-p$：它已经占了多少，就少了多少余地。",
                        "That is $p$ itself. Multiply by $1-p$, the room that is left for it to grow.",
                    ),
                ),
            ),
            why=Text(
                "$p(1-p) =$ «top_slope[0,0]:4»。缩放以后是 «top_slope_scaled[0,0]:4»。",
                "$p(1-p) =$ «top_slope[0,0]:4». With the scale it is «top_slope_scaled[0,0]:4».",
            ),
        ),
        Question(
            key="scaled",
            ask=Text(
                "分数除以 $\\sqrt{d_k}$ 之后，标准差是多少？",
                "Scores are divided by $\\sqrt{d_k}$. What is their standard deviation then?",
            ),
            answer=("deviation_scaled", 0, 0),
            mistakes=(
                Mistake(
                    ("variance_by_root", 0, 0),
                    Text(
                        "这是拿方差去除以 $\\sqrt{d_k}$。分数除以几，标准差就除以几，方差则要除以它的平方。",
                        "That is the variance divided by $\\sqrt{d_k}$. Dividing scores by a number divides "
                        "their standard deviation by it, and their variance by its square.",
                    ),
                ),
            ),
            why=Text(
                "$\\sqrt{d_k}/\\sqrt{d_k} = 1$，与 $d_k$ 无关。",
                "$\\sqrt{d_k}/\\sqrt{d_k} = 1$, whatever $d_k$ is.",
            ),
        ),
        Question(
            key="too-much",
            ask=Text(
                "如果除以的是 $d_k$（现在是 «d_k[0,0]:0»）而不是 $\\sqrt{d_k}$，分数的标准差是多少？",
                "And if scores were divided by $d_k$, «d_k[0,0]:0» now, instead of $\\sqrt{d_k}$: what "
                "would be their standard deviation?",
            ),
            answer=("deviation_over_d", 0, 0),
            decimals=3,
            mistakes=(
                Mistake(
                    ("one", 0, 0),
                    Text(
                        "除以 $d_k$ 的是标准差 $\\sqrt{d_k}$，不是方差。",
                        "What is divided by $d_k$ is the standard deviation, $\\sqrt{d_k}$, not the "
                        "variance.",
                    ),
                ),
            ),
            why=Text(
                "$\\sqrt{d_k}/d_k = 1/\\sqrt{d_k}$，即 «deviation_over_d[0,0]:3»。$d_k$ 越大，"
                "分数就挤得越紧，softmax 越接近平均分配，这回反而谁也选不出来。",
                "$\\sqrt{d_k}/d_k = 1/\\sqrt{d_k}$, which is «deviation_over_d[0,0]:3». The larger $d_k$, "
                "the closer scores lie together and the more alike the weights: now it cannot choose.",
            ),
        ),
    ),
    boundary=Text(
        "$\\text{Var}(q · k) = d_k$ 靠的是前提：分量独立、均值 0、方差 1。刚初始化的模型只是大致如此，"
        "训练之后更没有谁保证。缩放让训练有一个好的**开头**，并不禁止模型后来学出很尖的权重。\n\n"
        "这里的梯度是对**分数**的梯度，也就是对送进 softmax 的那些数。对 $q$ 的梯度还要再乘上各个键，"
        "而键的长度约为 $\\sqrt{d_k}$，所以它是另一个量，不能用这里的曲线去说。",
        "$\\text{Var}(q · k) = d_k$ rests on the premise: independent components, mean 0, variance 1. A "
        "freshly initialised model meets it roughly, and nothing guarantees it for a trained one. The scale "
        "gives training a good **start**; it does not keep a model from learning sharp weights.\n\n"
        "The gradient here is the one with respect to the **scores**, the numbers that enter softmax. The "
        "gradient with respect to $q$ has the keys as a further factor, whose length is about "
        "$\\sqrt{d_k}$. It is another quantity, and these curves do not speak of it.",
    ),
    transfer=Transfer(
        Text(
            "有的模型先把 $q$ 和 $k$ 都归一化成长度 1，再求点积。这时还该除以 $\\sqrt{d_k}$ 吗？",
            "Some models first bring $q$ and $k$ to length 1. Should their product still be divided by "
            "$\\sqrt{d_k}$?",
        ),
        Text(
            "不该。长度为 1 时，点积是夹角的余弦，在 −1 和 1 之间；方向随机的话，标准差只有 "
            "$1/\\sqrt{d_k}$。分数已经挤在 0 附近，再除只会让权重更平均。这种模型反而要**乘**一个大于 1 "
            "的数，通常让它自己学。",
            "No. Of vectors of length 1 the product is the cosine of their angle, between −1 and 1, and for "
            "random directions its standard deviation is only $1/\\sqrt{d_k}$. Scores already lie close to "
            "0, and dividing would make the weights still more alike. Such models **multiply** by a number "
            "above 1 instead, often a learned one.",
        ),
    ),
    claims=("C7", "C8"),
)
