"""The leak: the same small GPT trained with the causal mask and without. A loss too good to be true, and what
it writes.

Both models are our own; see `trained/leak.py`. The sheet computes the whole of the one that saw the future.
"""

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
    Preset,
    Presets,
    Prose,
    Query,
    Question,
    Shown,
    Text,
    Transfer,
)
from .trained import learned

LEARNED = learned("leak")
WORDS, CHINESE = LEARNED["vocabulary"], LEARNED["chinese"]
READ, NEXT = LEARNED["shown"][:-1], LEARNED["shown"][1:]
N, D = len(READ), LEARNED["settings"]["shape"]["d_model"]
CONTEXT = LEARNED["settings"]["shape"]["context"]
OPEN = [[1.0] * N for _ in READ]
CAUSAL = [[float(j <= i) for j in range(N)] for i in range(N)]
CHOICES = ("horse", "dog", "bird")
BEFORE, AT = READ.index("his"), READ.index("horse")
SIGN = AT + 1
"""Places in what is read: the word before the animal, the animal, the sign after it."""


def _word(english: str) -> Text:
    return Text(CHINESE[WORDS.index(english)], english)


def _texts(samples: list[list[str]]) -> Text:
    """What a model wrote, a paragraph a text."""
    zh = (" ".join(_word(word).zh for word in sample) for sample in samples)
    return Text("\n\n".join(f"`{line}`" for line in zh), "\n\n".join(f"`{' '.join(s)}`" for s in samples))


SHEET = Sheet()
SHEET.const("M", OPEN)
SHEET.const("X", LEARNED["open"]["X"])
for name, values in LEARNED["open"].items():
    if name not in ("X", "X_dog"):
        SHEET.const(name, values)

# The whole model that saw the future: one block, one head, a norm, and a probability for each word.
SHEET.const("d", D)
SHEET.sqrt("root", "d")


def _norm(name: str, x: str, gain: str) -> None:
    SHEET.layernorm(f"{name}_plain", x)
    SHEET.mul(name, f"{name}_plain", gain)


_norm("N", "X", "g_1")
for name in "QKV":
    SHEET.matmul(name, "N", f"W_{name}")
SHEET.transpose("K_T", "K")
SHEET.matmul("products", "Q", "K_T")
SHEET.div("S", "products", "root")
SHEET.mask("masked", "S", "M")
SHEET.softmax("A", "masked")
SHEET.matmul("head", "A", "V")
SHEET.matmul("read", "head", "W_O")
SHEET.add("Y", "X", "read")
_norm("N_2", "Y", "g_2")
SHEET.matmul("up", "N_2", "W_1")
SHEET.relu("inner", "up")
SHEET.matmul("down", "inner", "W_2")
SHEET.add("Z", "Y", "down")
_norm("N_3", "Z", "g_3")
SHEET.matmul("logits", "N_3", "W_out")
SHEET.softmax("P", "logits")

# What it gives the word that comes next, and a few words of its choice.
SHEET.const("next", [[WORDS.index(word)] for word in NEXT])
SHEET.onehot("is_next", "next", len(WORDS))
SHEET.mul("P_next", "P", "is_next")
SHEET.sum("p", "P_next")
SHEET.log("log_p", "p")
SHEET.const("minus", -1)
SHEET.mul("nats", "log_p", "minus")
SHEET.sum("total", "nats", over="all")
SHEET.const("n", N)
SHEET.div("L", "total", "n")
for word in CHOICES:
    at = WORDS.index(word)
    SHEET.slice(f"p_{word}", "P", columns=(at, at + 1))
SHEET.concat("p_animals", *(f"p_{word}" for word in CHOICES))

# What was measured. Of both models, the one with the mask first.
SHEET.const("one", 1)
SHEET.const("p_causal", [[x] for x in LEARNED["chances"]["causal"]])
SHEET.const("entropy", LEARNED["entropy"])
SHEET.const("held_out", LEARNED["held_out"])
SHEET.const("context", CONTEXT)
SHEET.div("floor", "entropy", "context")
SHEET.const("blind_words", len(WORDS))
SHEET.log("blind", "blind_words")
for kind in ("as_trained", "as_generator"):
    SHEET.const(kind, [[LEARNED[kind]["causal"], LEARNED[kind]["open"]]])
SHEET.concat("losses", "as_trained", "as_generator", axis="rows")
SHEET.exp("perplexity", "losses")
SHEET.const("looks", [LEARNED["looks"]["causal"], LEARNED["looks"]["open"]])
SHEET.const("possible", [LEARNED["possible"]["causal"], LEARNED["possible"]["open"]])
_CURVES = LEARNED["curves"]
SHEET.const("steps", [[x] for x in _CURVES["causal"]["step"]])
for name, curve in _CURVES.items():
    SHEET.const(f"training_{name}", [[x] for x in curve["training"]])
    SHEET.const(f"held_out_{name}", [[x] for x in curve["held_out"]])
SHEET.div("ones", "steps", "steps")
SHEET.mul("best", "ones", "entropy")
# Does the loss of held-out text warn, being clearly above that of the training text at the end?
_LAST = len(_CURVES["open"]["step"]) - 1
SHEET.slice("end_training", "training_open", rows=(_LAST, _LAST + 1))
SHEET.slice("end_held_out", "held_out_open", rows=(_LAST, _LAST + 1))
SHEET.const("margin", 0.1)
SHEET.add("clearly_above", "end_training", "margin")
SHEET.less("warns", "clearly_above", "end_held_out")

_LOSSES = (LEARNED["as_trained"]["causal"], LEARNED["as_trained"]["open"], LEARNED["as_generator"]["open"])
_OPTIONS = tuple((f"{x:.2f}", x) for x in _LOSSES)

LESSON = Lesson(
    slug="leak",
    title=Text("泄漏：好得不真实的损失", "The leak: a loss too good to be true"),
    insight=Text(
        "不加因果掩码去训练生成模型，损失低得不可能，写出来的却差：它学会的是抄，而写的时候没有可抄的。",
        "Train a generator without the causal mask and its loss is impossibly low, yet it writes badly. It "
        "has learned to copy, and when it writes there is nothing to copy from.",
    ),
    question=Text(
        "同一个小 GPT，同样的文字，同样的步数，训练两次：一次有因果掩码，一次没有。没有的那个，训练时每个"
        "位置都看得见它要猜的词。它的损失会怎样？拿它来写，又会怎样？",
        "The same small GPT is trained twice on the same text for the same steps: with the causal mask, and "
        "without. Without it every position sees the very word that it has to guess. What does that do to "
        "the loss, and what to the texts that it writes?",
    ),
    sheet=SHEET,
    axes={
        "read": tuple(_word(word) for word in READ),
        "choices": tuple(_word(word) for word in CHOICES),
        "models": (Text("有掩码", "with the mask"), Text("没有掩码", "without")),
        "uses": (Text("像训练时那样用", "used as in training"), Text("用来写", "used to write")),
        "where": (
            Text("前面", "the past"),
            Text("自己", "itself"),
            Text("下一个", "the next"),
            Text("更后面", "later"),
        ),
        "counted": (Text("有的", "possible"), Text("共", "of")),
    },
    predict=(
        Question(
            key="too-good",
            ask=Text(
                "这段文字是按规则随机生成的，所以算得出：只看前面，平均每个词的损失再好也只能到约 1.12。有掩"
                "码的模型做到了。没有掩码的那个，在没学过的文字上，损失是多少？",
                "The text was made by chance and by rules, so one can work out that from the past alone no "
                "loss per word below about 1.12 is to be expected. The model with the mask gets there. What "
                "does the one without come to, on text that it has not learned from?",
            ),
            answer=("as_trained", 0, 1),
            options=_OPTIONS,
            mistakes=(
                Mistake(
                    ("as_trained", 0, 0),
                    Text(
                        "这是诚实的模型做到的，也是只看前面的极限。没有掩码的那个不只看前面。",
                        "That is what an honest model comes to, and the limit for all that see the past "
                        "only. The other one sees more.",
                    ),
                ),
                Mistake(
                    ("as_generator", 0, 1),
                    Text(
                        "没学过的文字也照样有下一个词可看：这里不会变差。",
                        "In text that it has not learned from, the next word stands in sight just as well.",
                    ),
                ),
            ),
            why=Text(
                "«as_trained[0,1]:3»，远低于 «entropy[0,0]:3»。低于这条线的损失不可能来自预测，只能来自偷看"
                "。",
                "«as_trained[0,1]:3», far below «entropy[0,0]:3». A loss under that line cannot come from "
                "predicting; it can only come from looking.",
            ),
        ),
        Question(
            key="writes",
            ask=Text(
                "现在拿它来写：写第 $t$ 个词的时候，后面什么都还没有，只能看前面。同样那些没学过的文字，只许"
                "看前面，它的损失是多少？",
                "Now it is to write. When word $t$ is written, nothing comes after it: only the past can be "
                "seen. What is its loss on the same held-out text when it may see the past only?",
            ),
            answer=("as_generator", 0, 1),
            options=_OPTIONS,
            mistakes=(
                Mistake(
                    ("as_trained", 0, 1),
                    Text(
                        "那是答案在眼前时的损失。写的时候，答案还不存在。",
                        "That is its loss with the answer in sight. While writing there is no answer yet.",
                    ),
                ),
                Mistake(
                    ("as_trained", 0, 0),
                    Text(
                        "那是从一开始就只看前面的模型。这一个几乎没有学过怎样从前面猜。",
                        "That is the model that saw only the past from the start. This one has hardly "
                        "learned to guess from it.",
                    ),
                ),
            ),
            why=Text(
                "«as_generator[0,1]:2»。闭着眼睛在 «blind_words[0,0]:0» 个词元里均匀地猜，是 ln "
                "«blind_words[0,0]:0» = «blind[0,0]:2»；有掩码的模型是 «as_generator[0,0]:2»。",
                "«as_generator[0,1]:2». To guess blindly among the «blind_words[0,0]:0» tokens comes to ln "
                "«blind_words[0,0]:0» = «blind[0,0]:2»; the model with the mask has «as_generator[0,0]:2».",
            ),
        ),
        Question(
            key="warns",
            ask=Text(
                "通常留一部分文字不学，看上面的损失，以防上当。训练结束时，留出文字上的损失会不会明显高于训练"
                "文字（高出 0.1 以上），提醒我们出了问题？",
                "One usually holds out some text and measures the loss there, so as not to be fooled. At the "
                "end of this training, is the held-out loss clearly higher than that of the training text, "
                "by more than 0.1, and so warns us?",
            ),
            answer=("warns", 0, 0),
            options=((Text("会", "yes"), 1.0), (Text("不会", "no"), 0.0)),
            mistakes=(
                Mistake(
                    ("one", 0, 0),
                    Text(
                        "留出的文字揭露的是死记硬背。这里没有死记：抄下一个词，在哪段文字上都管用。",
                        "Held-out text reveals learning by heart. Nothing was learned by heart here: to copy "
                        "the next word works on any text.",
                    ),
                ),
            ),
            why=Text(
                "训练 «end_training[0,0]:3»，留出 «end_held_out[0,0]:3»，几乎一样。能揭露它的，是像真正使用时"
                "那样去量：只许看前面。",
                "«end_training[0,0]:3» on the training text and «end_held_out[0,0]:3» on the held-out text: "
                "next to no difference. What reveals it is to measure as the model will be used, with the "
                "past alone.",
            ),
        ),
    ),
    body=(
        Heading(Text("量一量", "Measured")),
        Prose(
            Text(
                "文字是两万句编出来的话，如“年长的 国王 命令 他的 马 。”，一个词是一个词元。模型只有一层、一"
                f"个头，宽 {D}，共 {LEARNED['parameters']:,} 个参数，一次看 {CONTEXT} 个词，学 1,200 步。两"
                "次训练只差掩码：开头的参数、文字、次序都一样。\n\n横线是这种语言的**熵** «entropy[0,0]:3» "
                "奈特：规则是我们定的，每句话的概率都算得出来，所以知道只看前面最好能到多少。有掩码的那条贴"
                "上去了（留出的 «held_out[0,0]:0» 个词只是抽样，所以可以低一点点）；没有掩码的那条穿了过去。",
                "The text is 20,000 made-up sentences, such as “old king commands his horse .”; a word is a "
                f"token. The models have one layer with one head, are {D} wide, have "
                f"{LEARNED['parameters']:,} parameters, see {CONTEXT} words at once and learn for 1,200 "
                "steps. Nothing but the mask differs: they begin from the same numbers and read the same "
                "text in the same order.\n\nThe level line is the **entropy** of this language, «"
                "entropy[0,0]:3» nats. The rules are ours and the probability of every sentence is known, "
                "so that one can tell how well the next word can be told from the past at best. The curve "
                "with the mask comes down to it (the «held_out[0,0]:0» held-out words are a sample, so that "
                "it may end a little below); the curve without goes right through.",
            )
        ),
        Chart(
            Text("每个词的损失（奈特）", "Loss per word, in nats"),
            x="steps",
            x_label=Text("步", "step"),
            y_label=Text("损失", "loss"),
            lines=(
                Line("held_out_causal", Text("有掩码，留出的文字", "with the mask, held-out text")),
                Line("held_out_open", Text("没有掩码，留出的文字", "without, held-out text")),
                Line("training_open", Text("没有掩码，训练文字", "without, training text")),
                Line("best", Text("熵：只看前面的极限", "entropy: the limit from the past")),
            ),
        ),
        Matrices(
            (
                Shown("losses", r"L", "uses", "models", decimals=3),
                Shown("perplexity", r"e^L", "uses", "models"),
            ),
            Text("留出文字上的损失，和困惑度", "Loss on held-out text, and perplexity"),
        ),
        Prose(
            Text(
                f"没有掩码的损失为什么不是 0？一段 {CONTEXT} 个词，**最后**一个的下一个不在眼前，只能猜：$1/"
                f"{CONTEXT}$ 的词照旧要付约 1.12，平均就是 «floor[0,0]:3»。",
                f"Why is the loss without the mask not 0? Of a window of {CONTEXT} words the **last** one "
                f"has its next word out of sight and has to guess: one word in {CONTEXT} still costs about "
                "1.12, which makes «floor[0,0]:3» in the mean.",
            )
        ),
        Formula(r"L_{\text{open}} \approx \frac{H}{n} \qquad L_{\text{causal}} \ge H"),
        Heading(Text("它们写的", "What they write")),
        Prose(
            Text(
                "从一个“。”开始，每次按模型给的概率抽一个词（温度 1），写 20 个词。没有挑选：就是前四段。下面"
                "先是**有掩码**的模型写的。",
                "From a “.” on, words are drawn by the probabilities that the model gives them (temperature "
                "1), 20 words each. Nothing was picked out: these are the first four. First the model **with "
                "the mask**.",
            )
        ),
        Prose(_texts(LEARNED["samples"]["causal"])),
        Prose(Text("**没有掩码**的模型写的：", "The model **without the mask**:")),
        Prose(_texts(LEARNED["samples"]["open"])),
        Prose(
            Text(
                "数 «possible[0,1]:0» 句：有掩码的，«possible[0,0]:0» 句是这种语言里有的；没有掩码的，"
                "«possible[1,0]:0» 句。",
                "Of «possible[0,1]:0» sentences each, «possible[0,0]:0» are sentences of this language with "
                "the mask, and «possible[1,0]:0» without.",
            )
        ),
        Matrices((Shown("possible", r"\text{count}", "models", "counted", decimals=0),)),
        Heading(Text("它学会了什么：看下一个", "What it has learned: to look at the next word")),
        Prose(
            Text(
                "把留出文字上的权重平均一下，看它们落在哪里。有掩码的看前面和自己；没有掩码的，大半落在**下一"
                "个**词上，也就是要猜的那个。",
                "Take the mean of the weights over the held-out text. With the mask they lie on the past and "
                "the position itself; without it, most of the weight is on the **next** word: the one to be "
                "guessed.",
            )
        ),
        Matrices((Shown("looks", r"\bar{a}", "models", "where", "weights", 3),)),
        Prose(
            Text(
                "下面是没有掩码的那个模型**整个**在算一段文字：每一行读一个词，猜下一个。$p$ 是它给真正的下"
                "一个词的概率，旁边是有掩码的模型在同一处给的。然后换上因果掩码，看 $p$ 怎样垮掉；或者把“马”"
                "换成“狗”：前一行猜的“马”，立刻变成“狗”，因为那根本不是猜。",
                "Below, the **whole** model that was trained without the mask works on a text: each row "
                "reads a word and guesses the next. $p$ is what it gives the word that does come next; "
                "beside it stands what the model with the mask gives it. Now put the causal mask on and see "
                "$p$ break down. Or replace “horse” by “dog”: the row before it, which guessed “horse”, "
                "says “dog” at once, for it never was a guess.",
            )
        ),
        Presets(
            Text("让它看什么", "What it may see"),
            (
                Preset(
                    "open",
                    Text("像训练时：都看", "as in training: all"),
                    {"M": OPEN, "X": LEARNED["open"]["X"]},
                ),
                Preset(
                    "causal",
                    Text("像写的时候：因果", "as in writing: causal"),
                    {"M": CAUSAL, "X": LEARNED["open"]["X"]},
                ),
                Preset(
                    "dog",
                    Text("都看，“马”换成“狗”", "all, “horse” becomes “dog”"),
                    {"M": OPEN, "X": LEARNED["open"]["X_dog"]},
                ),
            ),
        ),
        Query("read", Text("谁在猜下一个？", "Who guesses its next word?"), ("A",), BEFORE),
        Matrices(
            (
                Shown("M", "M", "read", "read", "mask", 0),
                Shown("masked", r"\tilde{S}", "read", "read", "scores", 1),
                Shown("A", r"A = \text{softmax}(\tilde{S})", "read", "read", "weights"),
            ),
        ),
        Matrices(
            (
                Shown(
                    "p",
                    "p",
                    "read",
                    kind="weights",
                    decimals=3,
                    note=Text("给原文的下一个词", "for the next word of the text"),
                ),
                Shown("p_causal", r"p_{\text{mask}}", "read", kind="weights", decimals=3),
                Shown("p_animals", r"p(\cdot)", "read", "choices", "weights", 3),
            ),
            Text("给下一个词的概率", "Probabilities of the next word"),
        ),
        Facts(((Text("平均损失 $-\\ln p$", "mean loss $-\\ln p$"), ("L", 0, 0), 3),)),
    ),
    check=(
        Question(
            key="floor",
            ask=Text(
                f"要是一次看 {CONTEXT} 个词，只有最后一个的下一个看不见，而那一个要付 $H = $ «entropy[0,0]:4"
                "»，平均每个词最低的损失是多少？",
                f"With {CONTEXT} words in sight, only the last one's next word is hidden, and costs $H = $ "
                "«entropy[0,0]:4». What is the lowest mean loss per word?",
            ),
            answer=("floor", 0, 0),
            decimals=3,
            mistakes=(
                Mistake(
                    ("entropy", 0, 0),
                    Text(
                        f"那是最后一个词的。其余 {CONTEXT - 1} 个一分也不用付。",
                        f"That is for the last word. The other {CONTEXT - 1} cost nothing.",
                    ),
                ),
            ),
            why=Text(
                "$H / n =$ «floor[0,0]:4»；量出来是 «as_trained[0,1]:4»。一次看的词越多，泄漏的模型看上去越好"
                "，其实越说明不了什么。",
                "$H / n =$ «floor[0,0]:4», and «as_trained[0,1]:4» was measured. The more words in sight, "
                "the better a leaking model looks, and the less that means.",
            ),
        ),
        Question(
            key="closed",
            ask=Text(
                "没有掩码训练的模型，读到第二个“。”那一行，不遮时给下一个词“苹果”的概率近于 1。换上因果掩码"
                "，是多少？",
                "In the row that reads the second “.”, the model trained without the mask gives its next "
                "word, “apple”, nearly 1. What is it under the causal mask?",
            ),
            answer=("p", SIGN, 0),
            decimals=3,
            under={"M": CAUSAL, "X": LEARNED["open"]["X"]},
            mistakes=(
                Mistake(
                    ("p_causal", SIGN, 0),
                    Text(
                        "这是训练时就有掩码的模型给的。",
                        "That is what the model gives that was trained with the mask.",
                    ),
                ),
            ),
            why=Text(
                "«p[6,0]:3»。十句话里有一句由“苹果”开头，训练时就有掩码的模型正是这样猜的：«p_causal[6,0]:3»"
                "。没有掩码的那个从来不用知道一句话会怎样开头，因为总看得见。",
                "«p[6,0]:3». One sentence in ten begins with “apple”, and that is what the model trained "
                "with the mask says: «p_causal[6,0]:3». The other never had to know how sentences begin, "
                "for it always saw.",
            ),
        ),
        Question(
            key="next",
            ask=Text(
                "不遮。读到“他的”那一行，放在下一个词“马”上的权重是多少？",
                "Nothing masked. How much weight does the row that reads “his” put on its next word, “horse”"
                "?",
            ),
            answer=("A", BEFORE, AT),
            under={"M": OPEN, "X": LEARNED["open"]["X"]},
            mistakes=(Mistake(("A", BEFORE, BEFORE), Text("这是它自己身上的。", "That is on itself.")),),
            why=Text(
                "«A[4,5]»。看一眼，照抄。",
                "«A[4,5]». Look, and copy.",
            ),
        ),
    ),
    boundary=Text(
        "好得不真实，是因为这里知道极限：文字是我们编的，熵算得出来。真实的文字没有这条线，只能起疑：损失比同"
        "样大小的模型低得多，就去量一量只看前面时的损失。\n\n"
        "模型只有一层，所以“写的时候不遮”和“写的时候遮”是一回事：最后一个位置后面什么也没有。层数多了，前面"
        "各行会看见后面已写的词，两者就不同，但仍然和训练时不一样。\n\n"
        "各训练了一次，一个种子。写得坏到什么程度，换一个种子、多学几步都会变；损失穿过极限，不会变。这不是"
        "说“不遮”不好：编码器从不写字，本来就该前后都看。",
        "That it is too good is known because the limit is: the text is ours and its entropy can be worked "
        "out. Real text has no such line, only grounds for suspicion: if the loss is far below that of "
        "models of the same size, measure it with the past alone.\n\n"
        "With one layer it is all the same whether the mask is closed while writing: after the last position "
        "there is nothing. With more layers the rows before it would see words that were written after them, "
        "and the two would differ; but neither is what was trained.\n\n"
        "Each was trained once, from one seed. How bad the texts are would change with another seed or more "
        "steps. That the loss goes through the limit would not. Nor does this speak against open masks: an "
        "encoder never writes, and ought to look both ways.",
    ),
    transfer=Transfer(
        Text(
            "预测明天的股价：有人把输入标准化，用的是**整个**数据集（连同以后的日子）的均值和标准差。测试误差"
            "非常好，上线就不行。这和没有因果掩码是不是一回事？怎么查出来？",
            "To predict tomorrow's price, somebody normalises the inputs by mean and standard deviation of "
            "the **whole** data, later days included. The test error is excellent; in use it fails. Is that "
            "the same as a missing causal mask? How would you find it?",
        ),
        Text(
            "是一回事：训练时的输入里有使用时还不存在的东西。测试集查不出来，因为测试时同样泄漏。查法也一样："
            "一步一步像真正使用那样算，每一步只给当时已知的；或者改动未来的一个数，看今天的预测动不动，动了就"
            "是漏。上一课的 $ΔO$ 做的正是这件事。",
            "It is the same: the inputs in training hold what does not exist yet in use. A test set does "
            "not show it, since it leaks just as well. The cure is the same, too: go step by step as in "
            "real use, with what is known by then; or change a number of the future and see whether today's "
            "prediction moves. If it does, there is a leak. That is what $ΔO$ did in the lesson before.",
        ),
    ),
)
