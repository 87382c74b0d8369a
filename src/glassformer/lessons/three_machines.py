"""Encoder, decoder, encoder–decoder: the same words and weights under three patterns of who sees whom."""

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

WORDS = (
    Text("谁", "who"),
    Text("追", "chases"),
    Text("猫", "cats"),
    Text("狗", "dogs"),
    Text("追", "chase"),
    Text("猫", "cats"),
)
SOURCE = 3
"""So many words are the question; the others are its answer."""
N = len(WORDS)
TOGETHER = [[0.0]] * N
APART = [[float(i >= SOURCE)] for i in range(N)]
ALL = [[1.0] * N for _ in WORDS]
CAUSAL = [[float(j <= i) for j in range(N)] for i in range(N)]
BOTH = [[float(j < SOURCE or SOURCE <= j <= i) for j in range(N)] for i in range(N)]
ENCODER = {"M": ALL, "side": TOGETHER}
DECODER = {"M": CAUSAL, "side": TOGETHER}
PAIR = {"M": BOTH, "side": APART}
WHO, CATS, DOGS, LAST = 0, 2, SOURCE, N - 1

SHEET = Sheet()
SHEET.const("M", ALL)
SHEET.const("side", TOGETHER)
SHEET.const(
    "X",
    [
        [1, 0, 0, 0.5],
        [0, 1, 0, 1],
        [0.5, 0, 1, 1.5],
        [0, -0.5, 1, -0.5],
        [0, 1, 0.5, -1],
        [0.5, 0, 1, -1.5],
    ],
)
SHEET.const("W_Q", [[1, 0], [0, 1], [0.5, 1], [0, 0.5]])
SHEET.const("W_K", [[0, 1], [1, 0], [1, 0.5], [0.5, 0]])
SHEET.const("W_V", [[0.5, 0, 0, 0], [0, 0.5, 0, 0], [0, 0, 0.5, 0], [0, 0, 0, 0.5]])
SHEET.const("j", N)
SHEET.const("one", 1)
SHEET.const("zero", 0)
SHEET.const("d", 2)
SHEET.sqrt("root", "d")

# Who may look at whom, inside a side and across.
SHEET.transpose("side_T", "side")
SHEET.sub("apart", "side", "side_T")
SHEET.mul("across", "apart", "apart")
SHEET.sub("within", "one", "across")
SHEET.mul("M_self", "M", "within")
SHEET.mul("M_cross", "M", "across")
SHEET.sum("sees", "M")
SHEET.sum("pairs", "sees", over="all")
SHEET.sum("sees_across", "M_cross")
SHEET.const("n", N)

# The word j changes; whose output moves?
SHEET.sub("which", "j", "one")
SHEET.onehot("chosen", "which", "n")
SHEET.transpose("place", "chosen")
SHEET.const("change", [[0, 0, 1, 0]])
SHEET.mul("change_X", "place", "change")
SHEET.add("X_new", "X", "change_X")


def _machine(x: str, of: str) -> None:
    """First attention inside each side, then across, each added to what came in; `of` ends the names."""

    def attention(part: str, into: str) -> str:
        for name in "QKV":
            SHEET.matmul(f"{name}_{part}{of}", into, f"W_{name}")
        SHEET.transpose(f"K_T_{part}{of}", f"K_{part}{of}")
        SHEET.matmul(f"products_{part}{of}", f"Q_{part}{of}", f"K_T_{part}{of}")
        SHEET.div(f"S_{part}{of}", f"products_{part}{of}", "root")
        SHEET.mask(f"masked_{part}{of}", f"S_{part}{of}", f"M_{part}")
        SHEET.softmax(f"A_{part}{of}", f"masked_{part}{of}")
        SHEET.matmul(f"read_{part}{of}", f"A_{part}{of}", f"V_{part}{of}")
        return SHEET.add(f"after_{part}{of}", into, f"read_{part}{of}")

    attention("cross", attention("self", x))


_machine("X", "")
_machine("X_new", "_new")
SHEET.sub("moved", "after_cross_new", "after_cross")
SHEET.mul("squares", "moved", "moved")
SHEET.sum("far", "squares")
SHEET.sqrt("distance", "far")
SHEET.less("moves", "zero", "distance")
SHEET.sum("how_many", "moves", over="all")

# Pairs that are open, by formula: n², n(n + 1)/2, and m² + m(n - m) + (n - m)(n - m + 1)/2 for m of the
# source.
SHEET.const("m", SOURCE)
SHEET.const("half", 0.5)
SHEET.mul("n_squared", "n", "n")
SHEET.add("twice_triangle", "n_squared", "n")
SHEET.mul("triangle", "twice_triangle", "half")
SHEET.sub("target", "n", "m")
SHEET.mul("m_squared", "m", "m")
SHEET.mul("rectangle", "m", "target")
SHEET.mul("target_squared", "target", "target")
SHEET.add("twice_corner", "target_squared", "target")
SHEET.mul("corner", "twice_corner", "half")
SHEET.add("reads_all", "m_squared", "rectangle")
SHEET.add("pair_pairs", "reads_all", "corner")

YES_NO = ((Text("会", "yes"), 1.0), (Text("不会", "no"), 0.0))

LESSON = Lesson(
    slug="three-machines",
    title=Text("编码器、解码器、编码器–解码器", "Encoder, decoder, encoder–decoder"),
    insight=Text(
        "三种架构用的是同一种注意力，差别只在谁能看谁；而谁能看谁，决定了它能做什么。",
        "Three architectures, one attention: they differ in who may look at whom, and that decides what each "
        "is good for.",
    ),
    question=Text(
        "BERT、GPT、T5 里面都是 Transformer。同一句话、同样的权重，三种机器算出来的为什么不同？每个位置究竟能"
        "看到什么？",
        "BERT, GPT and T5 are all Transformers. Given the same words and the same weights, why do the three "
        "machines come to different numbers? What can each position see?",
    ),
    sheet=SHEET,
    axes={"words": WORDS, "moved": (Text("动了", "moved"),)},
    predict=(
        Question(
            key="target",
            ask=Text(
                "编码器–解码器读“谁 追 猫”，写“狗 追 猫”。写的三个词里的第 1 个（狗），一共能看到几个词，算上"
                "它自己？",
                "An encoder–decoder reads “who chases cats” and writes “dogs chase cats”. How many words can "
                "the first of the three written words (dogs) see, itself included?",
            ),
            answer=("sees", DOGS, 0),
            decimals=0,
            under=PAIR,
            mistakes=(
                Mistake(
                    ("one", 0, 0),
                    Text(
                        "在它自己这一边，只有自己。可是它还能读原文：那叫交叉注意力。",
                        "Of its own side, only itself. But it reads the source as well: that is "
                        "cross-attention.",
                    ),
                ),
                Mistake(
                    ("m", 0, 0),
                    Text("这是原文的词数。它也看得到自己。", "That is the source. It sees itself, too."),
                ),
                Mistake(
                    ("n", 0, 0),
                    Text(
                        "那样它就看见了还没写的词。",
                        "Then it would see words that are not written yet.",
                    ),
                ),
            ),
            why=Text(
                "原文的 «m[0,0]:0» 个，加上自己，共 «sees[3,0]:0» 个。原文早已写完，没有什么可泄漏的；译文只"
                "能看已写的。",
                "The «m[0,0]:0» of the source and itself: «sees[3,0]:0». The source is complete and leaks "
                "nothing; of the target only what is written can be seen.",
            ),
        ),
        Question(
            key="decoder",
            ask=Text(
                "解码器（因果）。最后一个词换成别的，第 1 个词的输出会不会变？",
                "The decoder, which is causal. The last word is replaced. Does the output of the first word "
                "change?",
            ),
            answer=("moves", WHO, 0),
            under={**DECODER, "j": [[N]]},
            options=YES_NO,
            mistakes=(
                Mistake(
                    ("one", 0, 0),
                    Text(
                        "在编码器里会。这里第 1 个词只看得到自己。",
                        "In the encoder it does. Here the first word sees itself alone.",
                    ),
                ),
            ),
            why=Text(
                "前面各行的输出一点不变，所以写下一个词时，以前算过的都可以留着（KV 缓存）。",
                "No row before it changes at all, so that when the next word is written, all that was worked "
                "out before can be kept: the KV cache.",
            ),
        ),
        Question(
            key="source",
            ask=Text(
                "编码器–解码器。译文的最后一个词换成别的，原文“谁”的输出会不会变？",
                "The encoder–decoder. The last word of the target is replaced. Does the output of “who”, in "
                "the source, change?",
            ),
            answer=("moves", WHO, 0),
            under={**PAIR, "j": [[N]]},
            options=YES_NO,
            mistakes=(
                Mistake(
                    ("one", 0, 0),
                    Text(
                        "看是单向的：译文看原文，原文不看译文。",
                        "Looking goes one way: the target looks at the source, and not the reverse.",
                    ),
                ),
            ),
            why=Text(
                "编码器只读原文，一次读完；不管译文写到哪里，它的结果都不变，所以只需算一次。",
                "The encoder reads the source alone, once. Whatever is written, what it found stays the "
                "same, and need not be worked out again.",
            ),
        ),
    ),
    body=(
        Prose(
            Text(
                "一问一答，六个词：谁 追 猫 / 狗 追 猫。$M$ 的行是发问的词，列是被看的词。\n\n**编码器**（"
                "BERT）：都能看。**解码器**（GPT）：只看自己和前面。**编码器–解码器**（T5、翻译）：前三个词"
                "是原文，彼此都能看；后三个是译文，彼此之间是因果的，另外每一个都能看**全部**原文。",
                "A question and its answer, six words: who chases cats / dogs chase cats. The rows of $M$ "
                "ask, its columns are looked at.\n\n**Encoder** (BERT): all see all. **Decoder** (GPT): "
                "each sees itself and what is before it. **Encoder–decoder** (T5, translation): the first "
                "three words are the source and see one another; the last three are the target and causal "
                "among themselves, and each of them sees **all** of the source.",
            )
        ),
        Presets(
            Text("哪种机器", "Which machine"),
            (
                Preset("encoder", Text("编码器（BERT）", "encoder (BERT)"), ENCODER),
                Preset("decoder", Text("解码器（GPT）", "decoder (GPT)"), DECODER),
                Preset("pair", Text("编码器–解码器（T5）", "encoder–decoder (T5)"), PAIR),
            ),
        ),
        Query("words", Text("谁在发问？", "Who asks?"), ("sees", "A_self", "A_cross")),
        Matrices(
            (
                Shown("M", "M", "words", "words", "mask", 0, note=Text("点一下就换", "click to change")),
                Shown(
                    "side",
                    r"\text{side}",
                    "words",
                    kind="mask",
                    decimals=0,
                    note=Text("0 原文，1 译文", "0 source, 1 target"),
                ),
                Shown("sees", r"\text{sees}", "words", decimals=0),
            ),
            Text("谁能看谁", "Who may look at whom"),
        ),
        Facts(((Text("看得到的一共有几对", "pairs that are open, all together"), ("pairs", 0, 0), 0),)),
        Heading(Text("同样的权重，三次计算", "The same weights, worked out three times")),
        Prose(
            Text(
                "每个词先在**自己这一边**做自注意力，再**跨过去**做交叉注意力，各自加回来（残差）。编码器和"
                "解码器只有一边，第二步什么也看不到，权重是 0。$X$、$W^Q$、$W^K$、$W^V$ 在三种机器里是同一份"
                "。",
                "Each word first attends to **its own side**, then **across** to the other, and what it "
                "reads is added each time (the residual). Encoder and decoder have one side: the second "
                "step may look nowhere and its weights are 0. $X$, $W^Q$, $W^K$ and $W^V$ are the same in "
                "all three machines.",
            )
        ),
        Formula(
            r"Y = X + \text{softmax}(S_{\text{self}})\, X W^V \qquad"
            r" O = Y + \text{softmax}(S_{\text{cross}})\, Y W^V"
        ),
        Matrices(
            (
                Shown("X", "X", "words", decimals=1),
                Shown("W_Q", "W^Q", decimals=1),
                Shown("W_K", "W^K", decimals=1),
                Shown("W_V", "W^V", decimals=1),
            ),
            Text("给定", "Given"),
        ),
        Matrices(
            (
                Shown("masked_self", r"S_{\text{self}}", "words", "words", "scores"),
                Shown("A_self", r"A_{\text{self}}", "words", "words", "weights"),
            ),
            Text("自己这一边", "One's own side"),
        ),
        Matrices(
            (
                Shown("masked_cross", r"S_{\text{cross}}", "words", "words", "scores"),
                Shown("A_cross", r"A_{\text{cross}}", "words", "words", "weights"),
            ),
            Text("跨过去", "Across"),
        ),
        Matrices((Shown("after_self", "Y", "words"), Shown("after_cross", "O", "words"))),
        Heading(Text("改一个词，谁会动？", "One word changes: who moves?")),
        Prose(
            Text(
                "选一个词，它的 $X$ 变一点。下表说每个词的输出动了多少，动没动。先想，再看；三种机器各试一遍"
                "。",
                "Choose a word; its $X$ changes a little. The table says how far each output moves, and "
                "whether it does. Think first, then look, in all three machines.",
            )
        ),
        Slider("j", Text("第几个词", "number of the word"), 1, N),
        Matrices(
            (
                Shown("change_X", r"\Delta X", "words", decimals=0),
                Shown("distance", r"|\Delta O|", "words", decimals=3),
                Shown("moves", r"\Delta O \ne 0", "words", kind="mask", decimals=0),
            ),
        ),
        Heading(Text("各自擅长什么", "What each is good for")),
        Prose(
            Text(
                "**编码器**，如 BERT：整句话一开始就有，每个词都知道前后文，得到的是对这句话的**理解**：分类"
                "、检索、抽取。它没有“下一个词”可写。训练时挖掉一些词让它猜。\n\n**解码器**，如 GPT：每个位"
                "置只知道过去，正好是写的时候的处境，所以能**生成**：续写、对话。训练时每个位置都猜下一个词"
                "，一次就有 $n$ 道题。\n\n**编码器–解码器**，如 T5 和 2017 年的 Transformer：一段完整的输入"
                "变成另一段：翻译、摘要。读的一边前后都看，写的一边是因果的，靠交叉注意力连起来。",
                "**Encoder**, such as BERT: the whole text is there from the start, every word knows what "
                "is before and after it, and the result is an **understanding** of the text: to classify, "
                "to retrieve, to extract. It has no next word to write. In training, words are hidden for "
                "it to guess.\n\n**Decoder**, such as GPT: each position knows the past alone, which is "
                "just the situation of one who writes, so it **generates**: it continues, it answers. In "
                "training every position guesses the next word, $n$ tasks at once.\n\n**Encoder–decoder**, "
                "such as T5 and the Transformer of 2017: from one complete text to another, as in "
                "translation or summaries. What is read is seen both ways, what is written is causal, and "
                "cross-attention joins the two.",
            )
        ),
    ),
    check=(
        Question(
            key="pairs",
            ask=Text(
                "编码器–解码器，原文 3 个词，译文 3 个词。看得到的一共有几对（行看列，自己看自己也算）？",
                "An encoder–decoder with 3 source and 3 target words: how many pairs are open, rows looking "
                "at columns, each word's look at itself included?",
            ),
            answer=("pairs", 0, 0),
            decimals=0,
            under=PAIR,
            mistakes=(
                Mistake(
                    ("n_squared", 0, 0), Text("那是编码器：都能看。", "That is the encoder: all see all.")
                ),
                Mistake(
                    ("triangle", 0, 0),
                    Text("那是解码器：全部因果。", "That is the decoder: all causal."),
                ),
                Mistake(
                    ("reads_all", 0, 0),
                    Text(
                        "还缺译文内部的：因果的三角形。",
                        "What is missing is the causal triangle within the target.",
                    ),
                ),
            ),
            why=Text(
                "原文内部 $3 · 3$，译文看原文 $3 · 3$，译文内部 $3 · 4 / 2$：«pair_pairs[0,0]:0»。",
                "Within the source $3 · 3$, target to source $3 · 3$, within the target $3 · 4 / 2$: "
                "«pair_pairs[0,0]:0».",
            ),
        ),
        Question(
            key="cats",
            ask=Text(
                "换掉第 3 个词（原文的“猫”）。解码器里，六个词中有几个的输出会变？",
                "The third word (“cats” in the question) changes. In the decoder, how many of the six "
                "outputs move?",
            ),
            answer=("how_many", 0, 0),
            decimals=0,
            under={**DECODER, "j": [[CATS + 1]]},
            mistakes=(
                Mistake(
                    ("n", 0, 0),
                    Text(
                        "那是编码器和编码器–解码器里。", "So it is in the encoder and in the encoder–decoder."
                    ),
                ),
                Mistake(
                    ("m", 0, 0),
                    Text("它自己也算。", "It counts itself."),
                ),
            ),
            why=Text(
                "它自己和它后面的三个：«how_many[0,0]:0» 个。前面的“谁”和“追”看不到它：在解码器里，问句的开"
                "头永远不知道问句的结尾。",
                "Itself and the three after it: «how_many[0,0]:0». “Who” and “chases” before it do not see "
                "it: in a decoder the beginning of the question never knows its end.",
            ),
        ),
        Question(
            key="weight",
            ask=Text(
                "“谁”放在自己身上的自注意力权重，在编码器–解码器里是多少？",
                "How much weight does “who” put on itself in the encoder–decoder's self-attention?",
            ),
            answer=("A_self", WHO, WHO),
            under=PAIR,
            mistakes=(
                Mistake(
                    ("one", 0, 0),
                    Text(
                        "在解码器里才是 1：那里它只看得到自己。",
                        "It is 1 in the decoder, where it sees nothing else.",
                    ),
                ),
            ),
            why=Text(
                "«A_self[0,0]»：三个原文的词分掉这一份 1。编码器里六个词来分，解码器里只有一个。分数没有变，"
                "变的是和谁一起做 softmax。",
                "«A_self[0,0]»: the three words of the source share the 1. In the encoder six share it, in "
                "the decoder one. The scores are the same; what differs is who takes part in the softmax.",
            ),
        ),
    ),
    boundary=Text(
        "真正的三种机器权重各不相同，是分别训练的；编码器和解码器也各有一套，交叉注意力又有自己的一套。这里"
        "故意用同一份，好让差别只来自“谁能看谁”。位置已经加在 $X$ 里，没有前馈网络，也没有归一化，只有一层。"
        "\n\n真正的编码器有好几层，译文每一层读的都是**最后**一层的原文；这里只有一层，两者没有分别。\n\n“理"
        "解用编码器，生成用解码器”是擅长，不是能不能：今天的大模型多半是解码器，也拿来分类；代价是读问题时，"
        "前面的词看不到后面的。",
        "The three real machines have weights of their own, each trained for itself; encoder and decoder "
        "have different ones, and cross-attention yet others. Here they share theirs on purpose, so that "
        "all difference comes from who sees whom. Positions are in $X$ already; there is no feed-forward "
        "network, no norm, and one layer.\n\nA real encoder has several layers, and every layer of the "
        "decoder reads the source as the **last** of them leaves it; with one layer there is no "
        "difference.\n\nEncoders to understand, decoders to write: that is what each does well, not all "
        "that it can do. Most large models of today are decoders and are used to classify, too, at the "
        "price that the first words of a question are read without its end.",
    ),
    transfer=Transfer(
        Text(
            "客服系统有三件事：把来信分成十类；从一万篇文档里找出最相关的；写回信。各用哪种架构？如果只能养"
            "一个模型，你选哪个，要付什么代价？",
            "A help desk has three jobs: sort letters into ten kinds; find the most relevant of ten thousand "
            "documents; write the reply. Which architecture for which? And if you could keep one model only, "
            "which, and at what price?",
        ),
        Text(
            "分类和检索：编码器，整封信前后都看；文档的向量可以事先算好存着。写回信：解码器，或者把来信当原"
            "文、回信当译文的编码器–解码器。\n\n只养一个：解码器，三件事都写得成“续写”。代价是读信时前面的词"
            "看不到后面的，同样的理解往往要更大的模型；检索则要另外训练，才能从它的状态里得到好用的向量。",
            "To classify and to retrieve: an encoder, which reads the letter both ways; the documents' "
            "vectors can be worked out and kept in advance. To reply: a decoder, or an encoder–decoder that "
            "takes the letter for its source and the reply for its target.\n\nOne only: a decoder, for all "
            "three jobs can be put as texts to be continued. The price is that the letter's first words are "
            "read without its last, so that the same understanding often takes a larger model; and for "
            "retrieval it has to be trained once more before its states make good vectors.",
        ),
    ),
    claims=("C20",),
)
