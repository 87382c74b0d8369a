"""Cost. Two terms, where they cross, what must be kept in memory, and what must wait its turn."""

from ..sheet import Sheet
from .lesson import (
    Chart,
    Code,
    Facts,
    Formula,
    Heading,
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


def times(sheet: Sheet, name: str, *factors: str) -> str:
    """A product of two or more factors; the products on the way are matrices such as "n · n"."""
    *before, last = factors
    product = before[0]
    for factor in before[1:]:
        longer = f"{product} · {factor}"
        if all(matrix.name != longer for matrix in sheet.matrices):
            sheet.mul(longer, product, factor)
        product = longer
    return sheet.mul(name, product, last)


LENGTHS = 14  # n = 16, 32, ..., 131072

SHEET = Sheet()
for _name, _value in {"two": 2, "four": 4, "six": 6, "ratio": 4, "head_width": 64, "million": 1e6}.items():
    SHEET.const(_name, _value)
SHEET.const("one", 1)
SHEET.const("MiB", 2.0**20)
SHEET.const("powers", [[2.0**k] for k in range(4 + LENGTHS)])  # looked up, so that n is exact
SHEET.const("log_n", 10)
SHEET.const("d", 768)
SHEET.const("layers", 12)
SHEET.onehot("chosen", "log_n", 4 + LENGTHS)
SHEET.matmul("n", "chosen", "powers")
SHEET.slice("n_all", "powers", rows=(4, 4 + LENGTHS))
SHEET.mul("n_double", "n", "two")
SHEET.div("h", "d", "head_width")

# Multiply-adds of one forward pass: four d × d projections and a feed-forward network of width ratio · d,
# for each of n words; n × n scores of d multiply-adds over all heads, and as many for the mixture.
times(SHEET, "feed-forward", "two", "ratio")
SHEET.add("per_word", "four", "feed-forward")
times(SHEET, "projections", "four", "n", "d", "d", "layers")
times(SHEET, "ffn", "feed-forward", "n", "d", "d", "layers")
SHEET.add("linear", "projections", "ffn")
times(SHEET, "quadratic", "two", "n", "n", "d", "layers")
SHEET.add("total", "linear", "quadratic")
SHEET.div("share", "quadratic", "total")
times(SHEET, "linear_all", "per_word", "n_all", "d", "d", "layers")
times(SHEET, "quadratic_all", "two", "n_all", "n_all", "d", "layers")
times(SHEET, "linear_double", "per_word", "n_double", "d", "d", "layers")
times(SHEET, "quadratic_double", "two", "n_double", "n_double", "d", "layers")
SHEET.div("linear_growth", "linear_double", "linear")
SHEET.div("quadratic_growth", "quadratic_double", "quadratic")
SHEET.less("quadratic_larger", "linear", "quadratic")
for _name in ("linear", "quadratic", "total"):
    SHEET.div(f"{_name}_millions", _name, "million")

# Where they cross: quadratic / linear is n times something without n, so it is 1 at n / (quadratic / linear).
SHEET.div("terms_ratio", "quadratic", "linear")
SHEET.div("crossing", "n", "terms_ratio")
times(SHEET, "crossing_cost", "per_word", "crossing", "d", "d", "layers")
SHEET.div("attention_ratio", "quadratic", "projections")
SHEET.div("crossing_attention", "n", "attention_ratio")

# Memory, in bytes: four for each number.
times(SHEET, "weights_bytes", "four", "n", "n", "h")
times(SHEET, "cache_bytes", "two", "layers", "n", "d", "four")
times(SHEET, "weights_bytes_all", "four", "n_all", "n_all", "h")
times(SHEET, "cache_bytes_all", "two", "layers", "n_all", "d", "four")
for _name in ("weights", "cache"):
    SHEET.div(f"{_name}_MiB", f"{_name}_bytes", "MiB")

# Steps that wait for each other, and from the first word to the last.
SHEET.sub("n - 1", "n", "one")
SHEET.concat("steps_attention", "one", "n", "one")
SHEET.concat("steps_rnn", "n", "n", "n - 1")
SHEET.concat("steps", "steps_attention", "steps_rnn", axis="rows")
SHEET.slice("in_training", "steps", (0, 1), (0, 1))
SHEET.slice("in_generation", "steps", (0, 1), (1, 2))
SHEET.div("serial_ratio", "in_generation", "in_training")
times(SHEET, "rnn", "two", "n", "d", "d", "layers")
SHEET.div("rnn_millions", "rnn", "million")

# Generating n words. With a cache, word t costs its own products and looks at t keys; without one,
# the whole beginning is worked out anew: the sums of t and of t².
SHEET.add("n + 1", "n", "one")
SHEET.add("2n + 1", "n_double", "one")
times(SHEET, "n(n + 1)", "n", "n + 1")
SHEET.div("sum_t", "n(n + 1)", "two")
times(SHEET, "n(n + 1)(2n + 1)", "n", "n + 1", "2n + 1")
SHEET.div("sum_tt", "n(n + 1)(2n + 1)", "six")
times(SHEET, "cached_quadratic", "two", "sum_t", "d", "layers")
SHEET.add("cached", "linear", "cached_quadratic")
times(SHEET, "uncached_linear", "per_word", "sum_t", "d", "d", "layers")
times(SHEET, "uncached_quadratic", "two", "sum_tt", "d", "layers")
SHEET.add("uncached", "uncached_linear", "uncached_quadratic")
SHEET.div("saved", "uncached", "cached")
for _name in ("cached", "uncached"):
    SHEET.div(f"{_name}_millions", _name, "million")


def model(log_n: int, d: int, layers: int) -> dict[str, dict[tuple[int, int], float]]:
    return {"log_n": {(0, 0): log_n}, "d": {(0, 0): d}, "layers": {(0, 0): layers}}


LESSON = Lesson(
    slug="cost",
    title=Text("代价", "Cost"),
    insight=Text(
        "一层的代价是两项之和，$n^2d$ 和 $nd^2$：短文里后者为主，长文里前者为主；训练可以并行，"
        "生成只能一步步来。",
        "A layer costs $n^2d$ plus $nd^2$: the second rules short texts, the first long ones. Training is "
        "parallel, generation goes word by word.",
    ),
    question=Text(
        "人们常说注意力的代价随长度平方增长。那么长度翻倍，模型真的要慢四倍吗？",
        "Attention is said to grow with the square of the length. So does twice the text take a model four "
        "times as long?",
    ),
    sheet=SHEET,
    axes={
        "model": (Text("自注意力", "self-attention"), Text("RNN", "RNN")),
        "task": (
            Text("训练", "training"),
            Text("生成", "generation"),
            Text("路程", "path"),
        ),
    },
    predict=(
        Question(
            key="doubling",
            ask=Text(
                "词数 $n$ 翻倍，宽度 $d$ 不变。算分数和混合的那一项变成几倍？",
                "Twice as many words $n$, the same width $d$. By what factor does the work for scores and "
                "mixture grow?",
            ),
            answer=("quadratic_growth", 0, 0),
            options=((Text("不变", "not at all"), 1.0), (Text("2 倍", "2"), 2.0), (Text("4 倍", "4"), 4.0)),
            mistakes=(
                Mistake(
                    ("linear_growth", 0, 0),
                    Text(
                        "投影和前馈网络才是这样：每个词各算各的。分数却是每个词对每个词。",
                        "So do the projections and the feed-forward network, which work on each word alone. "
                        "Scores belong to pairs of words.",
                    ),
                ),
                Mistake(
                    ("one", 0, 0),
                    Text(
                        "词多了一倍，要比较的词对也多了。",
                        "With more words, there are more pairs to compare.",
                    ),
                ),
            ),
            why=Text(
                "分数是 $n × n$ 个，每个要 $d$ 次乘加；混合也一样。所以是 $n^2d$，翻倍就是 4 倍。",
                "There are $n × n$ scores, each of $d$ multiply-adds, and the mixture takes as many: "
                "$n^2d$, so 4 times.",
            ),
        ),
        Question(
            key="larger",
            ask=Text(
                "现在 $n$ = «n[0,0]:0»，$d$ = «d[0,0]:0»。在整个块里（注意力加前馈网络），哪一项更大？",
                "Now $n$ = «n[0,0]:0» and $d$ = «d[0,0]:0». Which term is the larger in a whole block, "
                "attention and feed-forward network?",
            ),
            answer=("quadratic_larger", 0, 0),
            options=(
                (Text("$n^2d$ 那一项", "that with $n^2d$"), 1.0),
                (Text("$nd^2$ 那一项", "that with $nd^2$"), 0.0),
            ),
            mistakes=(
                Mistake(
                    ("one", 0, 0),
                    Text(
                        "别忘了系数：$2n^2d$ 和 $12nd^2$。把现在的 $n$ 和 $d$ 代进去比一比。",
                        "Mind the factors: $2n^2d$ and $12nd^2$. Put in the $n$ and $d$ of now.",
                    ),
                ),
            ),
            why=Text(
                "比的不只是 $n$ 和 $d$，前面还有系数：一项是 $2n^2d$，一项是 $12nd^2$。"
                "要到 $n = 6d$ = «crossing[0,0]:0»，两项才相等。",
                "It is not just $n$ against $d$, for the terms have factors: $2n^2d$ and $12nd^2$. They are "
                "equal only at $n = 6d$ = «crossing[0,0]:0».",
            ),
        ),
    ),
    body=(
        Prose(
            Text(
                "数一数一个块做一次前向计算要多少次**乘加**（一次乘法和一次加法算一次）。只数矩阵乘法；"
                "softmax、归一化、激活函数、嵌入和最后的输出层都不算，掩码也不省：$n × n$ 个分数全算。\n\n"
                "投影 $W^Q, W^K, W^V, W^O$：每个词 $4d^2$。前馈网络（内层宽 $4d$）：每个词 $8d^2$。"
                "分数 $QK^\\top$ 和混合 $AV$：各 $n^2d$，头数不影响。",
                "Count the **multiply-adds** of one forward pass through a block (one multiplication with "
                "one addition is one). Only matrix products count: not softmax, norms, activations, "
                "embeddings or the final output layer. Nor does a mask save anything: all $n × n$ scores "
                "are worked out.\n\n"
                "Projections $W^Q, W^K, W^V, W^O$: $4d^2$ for each word. Feed-forward network, inner width "
                "$4d$: $8d^2$ for each word. Scores $QK^\\top$ and mixture $AV$: $n^2d$ each, however many "
                "heads.",
            )
        ),
        Formula(r"4nd^2 + 8nd^2 + 2n^2d = 12nd^2 + 2n^2d"),
        Presets(
            Text("模型", "Model"),
            (
                Preset(
                    "gpt2",
                    Text("GPT-2 124M，读满 1024 个词元", "GPT-2 124M, all of its 1024 tokens"),
                    model(10, 768, 12),
                ),
                Preset(
                    "xl",
                    Text("GPT-2 1.5B，读满 1024 个词元", "GPT-2 1.5B, all of its 1024 tokens"),
                    model(10, 1600, 48),
                ),
                Preset(
                    "long",
                    Text("假如 GPT-2 124M 能读 131072 个词元", "GPT-2 124M, if it could read 131072 tokens"),
                    model(17, 768, 12),
                ),
            ),
        ),
        Slider(
            "log_n",
            Text("词数 $n = 2^k$ = «n[0,0]:0»，$k$", "words $n = 2^k$ = «n[0,0]:0», $k$"),
            4,
            3 + LENGTHS,
        ),
        Slider("d", Text("宽度 $d$", "width $d$"), 64, 12288, 64),
        Slider("layers", Text("层数", "layers"), 1, 96),
        Facts(
            (
                (Text("词数 $n$", "Words $n$"), ("n", 0, 0), 0),
                (
                    Text("所有层的 $12nd^2$，百万次乘加", "$12nd^2$ in all layers, million multiply-adds"),
                    ("linear_millions", 0, 0),
                    1,
                ),
                (
                    Text("所有层的 $2n^2d$，百万次乘加", "$2n^2d$ in all layers, million multiply-adds"),
                    ("quadratic_millions", 0, 0),
                    1,
                ),
                (Text("合计，百万次乘加", "Together, million multiply-adds"), ("total_millions", 0, 0), 1),
                (Text("$2n^2d$ 占的比例", "Share of $2n^2d$"), ("share", 0, 0), 3),
                (Text("两项在这个 $n$ 相等", "The two are equal at $n$ ="), ("crossing", 0, 0), 0),
                (
                    Text("不算前馈网络，则在这个 $n$", "Without the feed-forward network, at $n$ ="),
                    ("crossing_attention", 0, 0),
                    0,
                ),
            ),
            Text("运算", "Arithmetic"),
        ),
        Prose(
            Text(
                "令 $2n^2d = 12nd^2$，约去 $2nd$，得 $n = 6d$。只看注意力层（没有前馈网络），是 "
                "$2n^2d = 4nd^2$，得 $n = 2d$。大 $O$ 记号把 6 和 2 都省掉了，只告诉我们：界线和 $d$ 成正"
                "比。\n\n"
                "在下面的图里，远在界线左边，长度翻倍，总量差不多翻倍；远在右边，才差不多是四倍。",
                "Put $2n^2d = 12nd^2$ and divide by $2nd$: $n = 6d$. For attention alone, without the "
                "feed-forward network, $2n^2d = 4nd^2$ gives $n = 2d$. The $O$ notation leaves out both 6 "
                "and 2, and says only that the border is proportional to $d$.\n\n"
                "In the chart below, far left of it, twice the length is about twice the work; only far "
                "right of it is it about four times.",
            )
        ),
        Chart(
            Text(
                "两项随长度增长；标出的点是现在的 $n$ 和交点",
                "Both terms by length; the points are your $n$ and where they cross",
            ),
            "n_all",
            Text("词数 $n$", "words $n$"),
            Text("乘加", "multiply-adds"),
            (
                Line("linear_all", Text("每个词：$12nd^2$", "each word: $12nd^2$")),
                Line("quadratic_all", Text("每对词：$2n^2d$", "each pair: $2n^2d$")),
            ),
            marks=(("n", "linear"), ("n", "quadratic"), ("crossing", "crossing_cost")),
            log_x=True,
            log_y=True,
        ),
        Heading(Text("内存", "Memory")),
        Prose(
            Text(
                "如果把注意力权重存下来，一层就是 $h$ 张 $n × n$ 的矩阵，每个数 4 字节：$4hn^2$。"
                "（不存也能算出同样的结果，FlashAttention 就是这么做的。）\n\n"
                "生成时，每一层都要记住所有旧词的键和值，这就是 KV 缓存：2 · 层数 · $nd$ · 4 字节，只随 $n$ "
                "成正比增长。这里设每个头宽 64，所以 $h = d/64$ = «h[0,0]:0»。",
                "Stored, the attention weights of one layer are $h$ matrices of $n × n$ numbers, 4 bytes "
                "each: $4hn^2$. (The same result can be had without storing them, as FlashAttention "
                "does.)\n\n"
                "Generation has to remember the keys and values of all earlier words in every layer. This "
                "KV cache takes 2 · layers · $nd$ · 4 bytes, in proportion to $n$. Heads are taken to be 64 "
                "wide here, so $h = d/64$ = «h[0,0]:0».",
            )
        ),
        Facts(
            (
                (
                    Text("一层的注意力权重，MiB", "Attention weights of one layer, MiB"),
                    ("weights_MiB", 0, 0),
                    2,
                ),
                (Text("所有层的 KV 缓存，MiB", "KV cache of all layers, MiB"), ("cache_MiB", 0, 0), 2),
            ),
            Text("内存（每个数 4 字节）", "Memory, 4 bytes a number"),
        ),
        Chart(
            Text("内存随长度增长", "Memory by length"),
            "n_all",
            Text("词数 $n$", "words $n$"),
            Text("字节", "bytes"),
            (
                Line("weights_bytes_all", Text("一层的权重：$4hn^2$", "weights of a layer: $4hn^2$")),
                Line("cache_bytes_all", Text("KV 缓存：8 · 层数 · $nd$", "KV cache: 8 · layers · $nd$")),
            ),
            marks=(("n", "weights_bytes"), ("n", "cache_bytes")),
            log_x=True,
            log_y=True,
        ),
        Heading(Text("什么可以同时算，什么必须等", "What can be done at once, and what must wait")),
        Prose(
            Text(
                "次数多不等于等得久，还要看谁必须等谁。训练时整段文字都已知道，所有位置一起算："
                "一层是 8 次矩阵乘法（$Q$、$K$、$V$、$QK^\\top$、$AV$、$W^O$、前馈网络两次），和 $n$ 无关，"
                "表里记作 1 步。RNN 要先有 $h_{t-1}$ 才能算 $h_t$，所以有 $n$ 步。\n\n"
                "生成时两者都要等：下一个词没写出来，就没有再下一个词。",
                "Much work need not mean a long wait: what counts is what has to wait for what. In training "
                "the whole text is known, and all positions are worked out together: 8 matrix products a "
                "layer ($Q$, $K$, $V$, $QK^\\top$, $AV$, $W^O$, two in the feed-forward network) whatever "
                "$n$ is. The table calls that 1 step. An RNN needs $h_{t-1}$ before it can work out $h_t$: "
                "$n$ steps.\n\n"
                "In generation both must wait: there is no word after the next before the next is written.",
            )
        ),
        Matrices(
            (Shown("steps", "T", "model", "task", decimals=0),),
            Text(
                "一层：训练和生成各有几步先后，首词到末词有几步路程",
                "One layer: steps one after another in training and in generation, and the path from "
                "first to last word",
            ),
        ),
        Prose(
            Text(
                "RNN 每层每步两次 $d × d$ 的乘法（$W_h h_{t-1}$ 和 $W_x x_t$），一共 $2nd^2$，没有 $n^2$ 的"
                "项。（按各自的习惯，RNN 的式子里向量是列，注意力的式子里向量是行。）它便宜，但必须排队；而"
                "且首词的影响要走 $n - 1$ 步才到末词，注意力一步就到。\n\n"
                "没有 KV 缓存，每写一个词都要把前面全部重算一遍。有了缓存，只算新词，再看一遍旧的键和值。结"
                "果不变，省下的是重复的计算。",
                "An RNN's layer has two $d × d$ products a step, $W_h h_{t-1}$ and $W_x x_t$: $2nd^2$ in "
                "all, and no term with $n^2$. (By custom, vectors are columns in the formulas of RNNs and "
                "rows in those of attention.) It is cheap, but has to queue; and what the first word says "
                "takes $n - 1$ steps to reach the last, where attention takes one.\n\n"
                "Without a KV cache, every new word has everything before it worked out again. With one, "
                "only the new word is, and it looks at the keys and values kept. The result is the same; "
                "what is saved is repetition.",
            )
        ),
        Facts(
            (
                (
                    Text("RNN（同样的宽度和层数）的 $2nd^2$", "An RNN, same width and layers: $2nd^2$"),
                    ("rnn_millions", 0, 0),
                    1,
                ),
                (
                    Text("生成 $n$ 个词，有 KV 缓存", "Generating $n$ words with a KV cache"),
                    ("cached_millions", 0, 0),
                    1,
                ),
                (
                    Text("生成 $n$ 个词，没有缓存", "Generating $n$ words without"),
                    ("uncached_millions", 0, 0),
                    1,
                ),
                (Text("没有缓存是有缓存的几倍", "So many times as much without"), ("saved", 0, 0), 1),
            ),
            Text("百万次乘加", "Million multiply-adds"),
        ),
        Prose(
            Text(
                "最后让程序自己数一遍 GPT-2 124M。它利用了因果掩码：平均每个词只看一半的词，所以注意力是上"
                "面 $2n^2d$ 的一半。",
                "Last, let the program count for GPT-2 124M. It makes use of the causal mask: on average "
                "a word looks at half of the words, so its attention is half of $2n^2d$ above.",
            )
        ),
        Code(
            """\
import torch
from glassformer.models.cost import cost
from glassformer.models.gpt import GPT, GPTConfig

with torch.device("meta"):  # shapes alone, no numbers
    gpt2 = GPT(GPTConfig(50257, 1024, n_layers=12, n_heads=12, d_model=768))
# For one token; in operations, of which a multiply-add is two.
print(f"attention {cost(gpt2).attention_operations * 1024 / 2 / 1e6:.1f} million multiply-adds")
print(f"KV cache {cost(gpt2).state_bytes * 1024 / 2**20:.2f} MiB")
""",
            "attention 9663.7 million multiply-adds\nKV cache 72.00 MiB\n",
        ),
    ),
    check=(
        Question(
            key="crossing",
            ask=Text(
                "块宽 $d$ = «d[0,0]:0»。$n$ 到多少时，$2n^2d$ 追上 $12nd^2$？",
                "A block is $d$ = «d[0,0]:0» wide. At which $n$ does $2n^2d$ catch up with $12nd^2$?",
            ),
            answer=("crossing", 0, 0),
            decimals=0,
            mistakes=(
                Mistake(
                    ("d", 0, 0),
                    Text(
                        "不看系数才是 $n = d$。这里的系数是 2 和 12。",
                        "$n = d$ it would be without the factors, which are 2 and 12.",
                    ),
                ),
                Mistake(
                    ("crossing_attention", 0, 0),
                    Text(
                        "那是没有前馈网络的时候：$2n^2d = 4nd^2$。",
                        "That holds without the feed-forward network: $2n^2d = 4nd^2$.",
                    ),
                ),
            ),
            why=Text(
                "$2n^2d = 12nd^2$，两边除以 $2nd$，得 $n = 6d$ = «crossing[0,0]:0»。",
                "$2n^2d = 12nd^2$; divide both by $2nd$: $n = 6d$ = «crossing[0,0]:0».",
            ),
        ),
        Question(
            key="serial",
            ask=Text(
                "同样 $n$ = «n[0,0]:0» 个词，自注意力模型生成时的先后步数是训练时的几倍？",
                "For the same $n$ = «n[0,0]:0» words, how many times as many steps does self-attention take "
                "one after another in generation as in training?",
            ),
            answer=("serial_ratio", 0, 0),
            decimals=0,
            mistakes=(
                Mistake(
                    ("one", 0, 0),
                    Text(
                        "RNN 才是一样多。自注意力训练时所有位置同时算。",
                        "That is true of the RNN. Self-attention works out all positions at once in "
                        "training.",
                    ),
                ),
            ),
            why=Text(
                "训练 1 步，生成 «n[0,0]:0» 步：每个新词都要等前一个写出来。",
                "1 step in training, «n[0,0]:0» in generation: each new word has to wait for the one before.",
            ),
        ),
    ),
    boundary=Text(
        "这里数的是运算次数，不是时间。真实的快慢还取决于内存读写、硬件能同时做多少事、软件怎么写，要靠测量。"
        "训练还有反向计算，大约再加两倍。利用因果掩码可以省掉约一半的 $n^2d$；几个头共用一组键和值，"
        "KV 缓存还会更小。这些都没有算进来。",
        "Operations are counted here, not time. How fast it really goes also depends on memory traffic, on "
        "how much the hardware does at once and on the software, and has to be measured. Training adds a "
        "backward pass of about twice as much. A causal mask can save about half of $n^2d$, and heads that "
        "share keys and values make the KV cache smaller. None of this is counted.",
    ),
    transfer=Transfer(
        Text(
            "把 GPT-2 124M 的上下文从 1024 个词元加长到 8192 个，宽度和层数都不变。读完全文的运算、存下来的"
            "注意力权重、KV 缓存，各变成几倍？",
            "The context of GPT-2 124M grows from 1024 tokens to 8192, with width and layers as they are. "
            "By what factor do the arithmetic of reading it all, the stored attention weights and the KV "
            "cache grow?",
        ),
        Text(
            "长度是 8 倍。$12nd^2$ 变成 8 倍，$2n^2d$ 变成 64 倍。原来 $n = 1024$，两项之比是 $12d : 2n$ = "
            "4.5 : 1，所以合计变成 $(4.5 · 8 + 64) / 5.5$ ≈ 18 倍：既不是 8，也不是 64。注意力权重变成 64 "
            "倍，KV 缓存变成 8 倍。可以用上面的滑块核对：$k$ 从 10 拉到 13。",
            "The length grows 8 times: $12nd^2$ by 8 and $2n^2d$ by 64. At $n = 1024$ the two were as "
            "$12d : 2n$ = 4.5 : 1, so together they grow by $(4.5 · 8 + 64) / 5.5$ ≈ 18, which is neither 8 "
            "nor 64. Attention weights grow by 64, the KV cache by 8. Check it with the sliders above: $k$ "
            "from 10 to 13.",
        ),
    ),
    claims=("C6", "C15"),
)
