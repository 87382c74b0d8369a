"""Translation with cross-attention, one word at a time: a decoder Transformer with its cache beside the word
that it writes.

The model is our own; see `trained/cross_attention.py`. The sheet computes the whole of its decoder.
"""

from ..sheet import Sheet
from .lesson import (
    Facts,
    Formula,
    Heading,
    Label,
    Lesson,
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

LEARNED = learned("cross_attention")
WORDS, EXAMPLE = LEARNED["vocabulary"], LEARNED["sentence"]
SOURCE, TARGET = EXAMPLE["source"], EXAMPLE["target"]
M, N, D = len(SOURCE), len(TARGET), len(EXAMPLE["memory"][0])
"""Words of the source, of the target with END, and the width."""
END = WORDS[-1]
AT_BANK, AT_MONEY = SOURCE.index("bank"), SOURCE.index("money")
AT_SENSE = TARGET.index("银行")
CHOICES = ("银行", "河岸", "商店", "学校", "办公室")
"""Words whose chances are shown."""
ALL = [[1.0] * M]
WITHOUT = [[float(j != AT_BANK) for j in range(M)]]
ONLY = [[float(j == AT_BANK) for j in range(M)]]


def _shown(words: list[str]) -> tuple[Label, ...]:
    return tuple(Text("完", "END") if word == END else word for word in words)


SHEET = Sheet()
SHEET.const("t", AT_SENSE + 1)
SHEET.const("M", ALL)
SHEET.const("H", EXAMPLE["memory"])
SHEET.const("X", EXAMPLE["inputs"])
for name, values in LEARNED["decoder"].items():
    SHEET.const(name, values)
SHEET.const("one", 1)
SHEET.const("two", 2)
SHEET.const("n", N)
SHEET.const("m", M)
SHEET.const("d", D)
SHEET.sqrt("root", "d")


def _norm(name: str, x: str, gain: str) -> str:
    SHEET.layernorm(f"{name}_plain", x)
    return SHEET.mul(name, f"{name}_plain", gain)


def _scores(of: str, q: str, k: str) -> str:
    SHEET.transpose(f"K_T{of}", k)
    SHEET.matmul(f"products{of}", q, f"K_T{of}")
    return SHEET.div(f"S{of}", f"products{of}", "root")


def _cross(of: str, y: str) -> None:
    """From what self-attention left: scores, weights, and what is read; `of` ends the names."""
    _norm(f"N_cross{of}", y, "g_2")
    SHEET.matmul(f"Q_cross{of}", f"N_cross{of}", "W_Q_cross")
    SHEET.mask(f"masked_cross{of}", _scores(f"_cross{of}", f"Q_cross{of}", "K_cross"), "M")
    SHEET.softmax(f"A_cross{of}", f"masked_cross{of}")


# Of the source, once for all steps: keys and values of the memory.
SHEET.matmul("K_cross", "H", "W_K_cross")
SHEET.matmul("V_cross", "H", "W_V_cross")

# The decoder's own keys and values of the t words that it has read: the cache.
SHEET.sub("last", "t", "one")
SHEET.range("places", "t")
SHEET.onehot("so_far", "places", "n")
SHEET.onehot("now", "last", "n")
SHEET.matmul("X_so_far", "so_far", "X")
_norm("N_so_far", "X_so_far", "g_1")
SHEET.matmul("K_self", "N_so_far", "W_K_self")
SHEET.matmul("V_self", "N_so_far", "W_V_self")

# The step: read one word, look back at what is written, look at the source, think, and say the next word.
SHEET.matmul("x", "now", "X")
_norm("N_x", "x", "g_1")
SHEET.matmul("q_self", "N_x", "W_Q_self")
SHEET.softmax("a_self", _scores("_self", "q_self", "K_self"))
SHEET.matmul("mix_self", "a_self", "V_self")
SHEET.matmul("read_self", "mix_self", "W_O_self")
SHEET.add("y", "x", "read_self")
_cross("", "y")
SHEET.matmul("c", "A_cross", "V_cross")
SHEET.matmul("read_cross", "c", "W_O_cross")
SHEET.add("z", "y", "read_cross")
_norm("N_z", "z", "g_3")
SHEET.matmul("up", "N_z", "W_1")
SHEET.relu("inner", "up")
SHEET.matmul("down", "inner", "W_2")
SHEET.add("out", "z", "down")
_norm("N_out", "out", "g_4")
SHEET.matmul("logits", "N_out", "W_out")
SHEET.softmax("p_all", "logits")
for k, word in enumerate(CHOICES):
    SHEET.slice(f"p_{k}", "p_all", columns=(WORDS.index(word), WORDS.index(word) + 1))
SHEET.concat("p", *(f"p_{k}" for k in range(len(CHOICES))))
SHEET.const("half", 0.5)
SHEET.less("below_half", "p_0", "half")

# Every step at once, as in training: the same with a causal mask.
_norm("N_all", "X", "g_1")
for name in "QKV":
    SHEET.matmul(f"{name}_all", "N_all", f"W_{name}_self")
SHEET.const("causal", [[float(j <= i) for j in range(N)] for i in range(N)])
SHEET.mask("masked_all", _scores("_all", "Q_all", "K_all"), "causal")
SHEET.softmax("A_all", "masked_all")
SHEET.matmul("mix_all", "A_all", "V_all")
SHEET.matmul("read_all", "mix_all", "W_O_self")
SHEET.add("Y_all", "X", "read_all")
_cross("_all", "Y_all")
SHEET.argmax("largest", "A_cross_all")
SHEET.range("place", M)

# What is kept after t words, and what would have to be worked out without keeping anything.
SHEET.mul("width_twice", "two", "d")
SHEET.mul("own_numbers", "t", "width_twice")
SHEET.mul("source_numbers", "m", "width_twice")
SHEET.add("kept", "own_numbers", "source_numbers")
SHEET.mul("m_t", "m", "t")
SHEET.mul("m_n", "m", "n")

_MEASURED = [LEARNED["measured"][sense] for sense in CHOICES[:2]]
SHEET.const("measured", [[found["weight"], *found["chances"]] for found in _MEASURED])
SHEET.const("counts", [[found["largest_on_bank"], found["sentences"]] for found in _MEASURED])
SHEET.const("held_out", [LEARNED["measured"]["held_out"]])

LESSON = Lesson(
    slug="cross-attention",
    title=Text("交叉注意力：一步一步翻译", "Cross-attention: translating step by step"),
    insight=Text(
        "译文的每个词先回头看已写的，再看原文；原文的键和值只算一次，已写的每步多一行。",
        "Each word to write looks back at what is written, then at the source, whose keys and values are "
        "worked out once; those of the target grow by a row a step.",
    ),
    question=Text(
        "2017 年的 Transformer 本来就是为翻译造的：编码器读，解码器写，中间没有循环网络，只有交叉注意力。写"
        "“银行”的那一步，它究竟算了些什么？前面几步算过的，哪些可以留着？",
        "The Transformer of 2017 was built to translate: an encoder reads, a decoder writes, with no "
        "recurrent network between them but cross-attention. At the step that writes 银行, the bank of "
        "money, what exactly does it work out? And what can be kept from the steps before?",
    ),
    sheet=SHEET,
    axes={
        "source": _shown(SOURCE),
        "written": (Text("开始", "START"), *_shown(TARGET[:-1])),
        "target": _shown(TARGET),
        "choices": CHOICES,
        "step": (Text("这一步", "this step"),),
        "senses": CHOICES[:2],
        "cuts": (
            Text("bank 的权重", "weight of bank"),
            Text("照常", "as it is"),
            Text("不读 bank", "without bank"),
            Text("只读 bank", "bank alone"),
        ),
    },
    predict=(
        Question(
            key="where",
            ask=Text(
                "原文 they borrowed money from the bank，译文“他们 从 银行 借了 钱”。写第 1 个词“他们”看 "
                "they；写第 3 个词“银行”的那一步，哪个词的交叉注意力权重最大？",
                "The source is “they borrowed money from the bank”, the translation 他们 从 银行 借了 钱. "
                "Step 1, which writes 他们, looks at “they”. At step 3, which writes 银行, which word has "
                "the largest weight of the cross-attention?",
            ),
            answer=("largest", AT_SENSE, 0),
            under={"M": ALL},
            options=tuple((SOURCE[j], float(j)) for j in (0, AT_MONEY, 3, AT_BANK)),
            mistakes=(
                Mistake(
                    ("place", AT_MONEY, 0),
                    Text(
                        "它也有一份：«A_cross_all[2,2]»。但最大的在别处。",
                        "It has a share, «A_cross_all[2,2]», but the largest is elsewhere.",
                    ),
                ),
                Mistake(
                    ("place", 3, 0),
                    Text("那是写“从”的那一步该看的。", "That is what the step that writes 从 might look at."),
                ),
            ),
            why=Text(
                "bank，«A_cross_all[2,5]»；其次是 money 和 the。没有人告诉过模型该看哪里。",
                "“Bank”, with «A_cross_all[2,5]»; next come “money” and “the”. Nobody told the model where "
                "to look.",
            ),
        ),
        Question(
            key="cut",
            ask=Text(
                "把权重最大的 bank 遮住，只遮这一步的交叉注意力。照常，写“银行”的概率是 0.998。遮住以后，会"
                "掉到一半以下吗？",
                "Now mask “bank”, which has the largest weight, in the cross-attention of this step alone. "
                "As it is, 银行 has the probability 0.998. Does it fall below one half?",
            ),
            answer=("below_half", 0, 0),
            under={"t": [[AT_SENSE + 1]], "M": WITHOUT},
            options=((Text("会", "yes"), 1.0), (Text("不会", "no"), 0.0)),
            mistakes=(
                Mistake(
                    ("one", 0, 0),
                    Text(
                        "权重最大，不等于缺了它就不行。别的位置里也有 bank 的影子：编码器让每个 $h_j$ 都看过"
                        "全句。",
                        "The largest weight need not be the one that matters. Other places hold traces of "
                        "“bank”: the encoder let every $h_j$ see the whole sentence.",
                    ),
                ),
            ),
            why=Text(
                "还有 «p[0,0]:3»。权重移到了 money（«A_cross[0,2]»）和 the（«A_cross[0,4]»），而那里已经有了"
                "足够的线索。只看权重，猜不出这个结果。",
                "There is still «p[0,0]:3». The weight goes to “money” («A_cross[0,2]») and “the” («"
                "A_cross[0,4]»), and those hold enough of a hint. From the weights alone one could not have "
                "told.",
            ),
        ),
        Question(
            key="rows",
            ask=Text(
                "第 4 步开始时，解码器读过“开始、他们、从、银行”。它自己的键 $K_{\\text{self}}$ 有几行？",
                "At step 4 the decoder has read START, 他们, 从, 银行. How many rows do its own keys, "
                "$K_{\\text{self}}$, have?",
            ),
            answer=("t", 0, 0),
            decimals=0,
            under={"t": [[4]]},
            mistakes=(
                Mistake(
                    ("m", 0, 0),
                    Text(
                        "那是原文的键：原文有几个词就有几行，一直不变。",
                        "Those are the keys of the source: a row for each of its words, and never more.",
                    ),
                ),
                Mistake(
                    ("last", 0, 0),
                    Text("“开始”也占一行。", "START has a row, too."),
                ),
            ),
            why=Text(
                "每读一个词多一行；前面几行和上一步一模一样，所以留着就行，这就是 KV 缓存。",
                "One more with each word that is read. The rows before are those of the step before, to the "
                "last digit, so they are kept: the KV cache.",
            ),
        ),
    ),
    body=(
        Prose(
            Text(
                f"模型是我们自己训练的：编码器、解码器各一层，一个头，宽 {D}，共 {LEARNED['parameters']:,} "
                "个参数，一个词是一个词元，学的是“Bahdanau 的对齐”那一课的句子；没学过的 «held_out[0,1]:0» "
                "句译对了 «held_out[0,0]:0» 句。下面是它的解码器，一步不少；编码器读完原文留下的 $H$ 直接给"
                "出。\n\n一步做四件事：① 读上一个词，**回头看**已读的（自注意力，因果）；② **看原文**（交叉"
                "注意力：查询来自译文，键和值来自 $H$）；③ 前馈网络；④ 归一化，给每个词一个概率。每件事的结"
                "果都加回去。",
                f"The model is our own: encoder and decoder of one layer each, with one head, {D} wide, "
                f"{LEARNED['parameters']:,} parameters. A token is a word, and it learned from the "
                "sentences of the lesson on Bahdanau's alignment; of «held_out[0,1]:0» others it translates "
                "«held_out[0,0]:0» without a mistake. Below is the whole of its decoder; $H$, which the "
                "encoder leaves of the source, is given.\n\nA step does four things. It reads the word "
                "before and **looks back** at all that was read (self-attention, causal); it **looks at the "
                "source** (cross-attention: queries from the target, keys and values from $H$); a "
                "feed-forward network; a norm, and a probability for each word. Each adds to what came in.",
            )
        ),
        Formula(
            r"y = x + \text{Att}(x, X_{\le t}, X_{\le t}) \qquad z = y + \text{Att}(y, H, H)"
            r" \qquad p = \text{softmax}(\text{LN}(z + \text{FFN}(z))\, W)"
        ),
        Slider("t", Text("第几步（写第几个词）", "step, the number of the word to write"), 1, N),
        Presets(
            Text("可以读原文的谁", "What of the source may be read"),
            (
                Preset("all", Text("全部", "all"), {"M": ALL}),
                Preset("without", Text("不读 bank", "without bank"), {"M": WITHOUT}),
                Preset("only", Text("只读 bank", "bank alone"), {"M": ONLY}),
            ),
        ),
        Heading(Text("算一次的：原文的键和值", "Worked out once: keys and values of the source")),
        Matrices(
            (
                Shown("H", "H", "source", kind="scores", small=True),
                Shown("K_cross", r"K_{\text{cross}} = H W^K", "source", kind="scores", small=True),
                Shown("V_cross", r"V_{\text{cross}} = H W^V", "source", kind="scores", small=True),
            ),
        ),
        Heading(Text("每步多一行的：缓存", "One row more at each step: the cache")),
        Prose(
            Text(
                "拉动上面的步数，看这两张表长高。以前的行不变。",
                "Move the step and see the two tables grow. The rows that were there stay as they are.",
            )
        ),
        Matrices(
            (
                Shown("K_self", r"K_{\text{self}}", "written", kind="scores", small=True),
                Shown("V_self", r"V_{\text{self}}", "written", kind="scores", small=True),
            ),
        ),
        Facts(
            (
                (Text("缓存里译文的数", "numbers kept of the target"), ("own_numbers", 0, 0), 0),
                (Text("缓存里原文的数", "numbers kept of the source"), ("source_numbers", 0, 0), 0),
            )
        ),
        Heading(Text("这一步", "This step")),
        Matrices(
            (
                Shown("q_self", r"q_{\text{self}}", "step", kind="scores"),
                Shown(
                    "S_self", r"q_{\text{self}} K_{\text{self}}^\top / \sqrt{d}", "step", "written", "scores"
                ),
                Shown("a_self", r"a_{\text{self}}", "step", "written", "weights", 3),
                Shown("y", "y", "step", kind="scores"),
            ),
            Text("回头看已读的", "Look back at what was read"),
        ),
        Matrices(
            (
                Shown("Q_cross", r"q_{\text{cross}}", "step", kind="scores"),
                Shown(
                    "S_cross",
                    r"q_{\text{cross}} K_{\text{cross}}^\top / \sqrt{d}",
                    "step",
                    "source",
                    "scores",
                ),
                Shown("M", "M", "step", "source", "mask", 0),
                Shown("A_cross", r"a_{\text{cross}}", "step", "source", "weights", 3),
                Shown("c", r"a_{\text{cross}} V_{\text{cross}}", "step", kind="scores"),
            ),
            Text("看原文", "Look at the source"),
        ),
        Matrices(
            (
                Shown("z", "z", "step", kind="scores"),
                Shown(
                    "p",
                    "p",
                    "step",
                    "choices",
                    "weights",
                    3,
                    note=Text(f"{len(WORDS)} 个词元里的五个", f"five of the {len(WORDS)} tokens"),
                ),
            ),
            Text("写下一个词", "Write the next word"),
        ),
        Heading(Text("所有的步", "All steps")),
        Prose(
            Text(
                "训练时译文是已知的，各步可以一起算，只要加上因果掩码。一行一步，和上面一步一步算的一样。",
                "In training the target is known and all steps are worked out together, under a causal "
                "mask. A row is a step, and the same as when it is worked out alone, above.",
            )
        ),
        Matrices(
            (
                Shown("A_all", r"A_{\text{self}}", "written", "written", "weights"),
                Shown("A_cross_all", r"A_{\text{cross}}", "target", "source", "weights"),
            ),
        ),
        Prose(
            Text(
                "全部有 bank 的句子，每种意思 «counts[0,1]:0» 句：写“银行”时 bank 平均得到 «measured[0,0]»，"
                "«counts[0,0]:0» 句里最大；写“河岸”时 «measured[1,0]»，«counts[1,0]:0» 句里最大。旁边是**后"
                "果**：这一步不许读 bank，或只许读 bank，写对的平均概率。对“银行”，不读也还有 «measured[0,2]"
                "»；对“河岸”，只剩 «measured[1,2]»。同一个模型，同一个词，权重多半都最大，后果却不同。",
                "All sentences with “bank”, «counts[0,1]:0» of each sense: to write 银行, “bank” gets «"
                "measured[0,0]» in the mean and is largest in «counts[0,0]:0»; to write 河岸, the bank of a "
                "river, «measured[1,0]», and largest in «counts[1,0]:0». Beside it is the **effect**: the "
                "mean probability of the right word when this step cannot read “bank”, and when it reads "
                "nothing else. For 银行 there is still «measured[0,2]» without; for 河岸 only «measured[1,2]"
                "». One model, one word, and mostly the largest weight both times, but not the same effect.",
            )
        ),
        Matrices((Shown("measured", r"\text{mean}", "senses", "cuts", "weights", 3),)),
    ),
    check=(
        Question(
            key="score",
            ask=Text(
                "写“银行”的那一步，“bank”的交叉分数（除以 $\\sqrt{d}$ 之后、softmax 之前）是多少？",
                "At the step that writes 银行, what is the cross-attention score of “bank”, after dividing "
                "by $\\sqrt{d}$ and before softmax?",
            ),
            answer=("S_cross", 0, AT_BANK),
            under={"t": [[AT_SENSE + 1]], "M": ALL},
            mistakes=(
                Mistake(
                    ("A_cross", 0, AT_BANK),
                    Text("这是权重，已经过了 softmax。", "That is the weight, after softmax."),
                ),
                Mistake(
                    ("products_cross", 0, AT_BANK),
                    Text("还没有除以 $\\sqrt{d}$。", "Not yet divided by $\\sqrt{d}$."),
                ),
            ),
            why=Text(
                "$q_{\\text{cross}}$ 和 bank 那一行键的点积，除以 $\\sqrt{d}$：«S_cross[0,5]»。",
                "The product of $q_{\\text{cross}}$ with the key of “bank”, divided by $\\sqrt{d}$: "
                "«S_cross[0,5]».",
            ),
        ),
        Question(
            key="once",
            ask=Text(
                "原文 «m[0,0]:0» 个词，译文写 «n[0,0]:0» 步（算上“完”）。整个过程里，原文的键一共要算几行？",
                "The source has «m[0,0]:0» words, and it takes «n[0,0]:0» steps to write the target, END "
                "included. How many rows of the source's keys have to be worked out, all together?",
            ),
            answer=("m", 0, 0),
            decimals=0,
            mistakes=(
                Mistake(
                    ("m_n", 0, 0),
                    Text(
                        "每步都重算才要这么多。原文没有变，编码器也看不到译文。",
                        "So many if each step did it anew. But the source does not change, and the encoder "
                        "never sees the target.",
                    ),
                ),
            ),
            why=Text(
                "$K_{\\text{cross}} = H W^K$ 与写到哪里无关，算一次，各步共用。",
                "$K_{\\text{cross}} = H W^K$ has nothing to do with what is written: worked out once, and "
                "used by all steps.",
            ),
        ),
        Question(
            key="kept",
            ask=Text(
                f"宽 {D}，一层一个头。写到第 5 步，译文和原文一共留着多少个数（键和值）？",
                f"{D} wide, one layer, one head. At step 5, how many numbers are kept of target and source, "
                "keys and values together?",
            ),
            answer=("kept", 0, 0),
            decimals=0,
            under={"t": [[5]]},
            mistakes=(
                Mistake(("own_numbers", 0, 0), Text("还有原文的。", "There are those of the source, too.")),
                Mistake(
                    ("source_numbers", 0, 0), Text("还有译文的。", "There are those of the target, too.")
                ),
            ),
            why=Text(
                "$2 d (t + m) = 2 · 16 · (5 + 6) =$ «kept[0,0]:0»。每层都要一份。",
                "$2 d (t + m) = 2 · 16 · (5 + 6) =$ «kept[0,0]:0», and as many again for each further layer.",
            ),
        ),
    ),
    boundary=Text(
        "权重说的是从哪里取了多少，不是“这个词译自那个词”；取走以后怎样，要另外量，表里两样并排。遮住只改了"
        "这一步的交叉注意力：编码器双向，别的 $h_j$ 里也有 bank 的影子。\n\n只有一层时，缓存里每一行只由那一"
        "个词决定。层数多了，上面各层的键还含有它看过的东西，但道理不变：因果掩码之下，以前的行不会再变。真"
        "正的模型有许多头，对齐散在各头各层，没有这么干净；语言是编的，只训练了一次。",
        "A weight says how much was taken from where, not that one word is the translation of another; what "
        "happens without it has to be measured, and the table has both. The mask changes cross-attention at "
        "this step alone: the encoder reads both ways, and other $h_j$ hold traces of “bank”.\n\nWith one "
        "layer each row of the cache depends on its own word alone. In a deeper model the keys of upper "
        "layers hold what their word has looked at, too; still, under the causal mask no row changes any "
        "more. Real models have many heads, over which alignment is spread and less tidy. The language is "
        "made up, and the model was trained once.",
    ),
    transfer=Transfer(
        Text(
            "束搜索同时留着 4 个候选译文。原文的键和值、译文的缓存，各要几份？一个候选被淘汰，换成另一个候选"
            "的两种续写时，该怎么办？",
            "A beam search keeps 4 candidates at once. How many copies does it take of the source's keys "
            "and values, and of the target's cache? What is to be done when one candidate is dropped and "
            "another is continued in two ways?",
        ),
        Text(
            "原文的只要一份，四个候选共用：它们看的是同一句原文。译文的缓存每个候选一份，因为写的不一样。淘"
            "汰与分叉，就是把缓存的行按候选重新排：被分叉的那一行抄成两份，被淘汰的丢掉；一个数也不用重算。",
            "The source's once, for all four look at the same source. The target's once for each candidate, "
            "as they have written different words. To drop and to branch is to reorder the cache by "
            "candidate: the row that branches is copied, the one that is dropped goes, and not a number is "
            "worked out again.",
        ),
    ),
)
