"""The texts of the pages of translators and of word vectors, Chinese and English side by side."""

from ..texts import Text

ASKED: dict[str, Text] = {
    "translator_machine": Text(
        "编码器—解码器，共 {parameters} 个参数：读一段文字，写另一段。",
        "An encoder-decoder, {parameters} parameters: it reads one text and writes another.",
    ),
    "to_translate": Text("要翻译的文字", "A text to translate"),
    "translate": Text("翻译", "Translate"),
    "translation": Text("译文", "Translation"),
    "translation_note": Text("每步取最可能的词元。", "Written greedily: at each step the likeliest token."),
    "steps": Text("一步一步地写", "Written step by step"),
    "steps_note": Text(
        "解码器每一步读入上一个词元，写出下一个。选一个词元，看写它的那一步。",
        "At each step the decoder reads the token before and writes the next one. Choose a token to see the "
        "step that wrote it.",
    ),
    "so_far": Text("已经写下：", "Written so far:"),
    "nothing_yet": Text("（还没有）", "(nothing yet)"),
    "step_before": Text("上一步", "the step before"),
    "step_after": Text("下一步", "the next step"),
    "writes": Text("读入 {read}，写出 {written}", "It reads {read} and writes {written}"),
    "step_reads": Text("写这个词元时读了哪里", "What it read of the source for this token"),
    "every_head": Text("所有头的平均", "mean of all heads"),
    "choose_head": Text(
        "每张小图是一个头：行是写出的词元，列是原文。点一个头，看它的数字。",
        "A picture is a head: its rows are the tokens written, its columns the source. Choose one to see its "
        "numbers.",
    ),
    "cache": Text("留着的键和值", "The keys and values that are kept"),
    "cache_note": Text(
        "每写一步，解码器的每一层、每个头都为读入的词元多留一个键和一个值：一步多“层数 × 头数 × 2 × 头的宽"
        "度”个数，以后不再重算。原文的键和值只算一次，从头到尾不变。这些数目是从模型的状态里数出来的。",
        "At each step every head of every decoder layer keeps one key and one value more, of the token that "
        "was read, and never computes them again: layers × heads × 2 × the width of a head. Those of the "
        "source are computed once and stay as they are. The figures are counted in the model's own state.",
    ),
    "after_step": Text("写出", "after writing"),
    "kept_tokens": Text("译文词元", "target tokens"),
    "kept_target": Text("译文的数", "numbers, target"),
    "kept_bytes": Text("字节", "bytes"),
    "kept_source": Text("原文的数", "numbers, source"),
    "kept_hidden": Text(
        "循环网络没有缓存：它只带着自己的状态，{n} 个数，写多长都一样多。",
        "A recurrent decoder has no cache: it carries its state, {n} numbers, however much is written.",
    ),
    "alignment": Text("写每个词元时读了哪里", "What was read for each token"),
    "alignment_note": Text(
        "一行是一个写出的词元，一列是一个原文词元；每行是一次 softmax，和为 1。“·”小于 0.005。",
        "A row is a token that is written, a column a token of the source; each row is one softmax and "
        "sums to 1. “·” is below 0.005.",
    ),
    "alignment_head": Text(
        "Transformer 的交叉注意力有许多层、许多头；这里是第 {layer} 层第 {head} 头，没有选时取最集中的一个。",
        "A Transformer's cross-attention has many layers and heads; this is layer {layer}, head {head}. "
        "Unless one is chosen, it is the most pointed.",
    ),
    "alignment_cut": Text("这里只列前 {n} 行、前 {m} 列。", "Here are the first {n:row} and {m:column}."),
    "alternatives": Text("每一步还可能写什么", "What it might have written instead"),
    "alternatives_note": Text(
        "每一步写下的词元和它的概率，旁边是其余最可能的几个。",
        "Each token that was written and its probability, beside the likeliest others.",
    ),
    "written": Text("写下的", "written"),
    "instead": Text("其余", "instead"),
    "vectors_machine": Text(
        "{n} 个词的向量，每个 {width} 维。", "Vectors of {n} words, {width} numbers each."
    ),
    "words_to_find": Text("一个词，或三个词", "One word, or three"),
    "words_hint": Text(
        "一个词：找与它相近的词。三个词 甲 乙 丙：乙之于甲，如同什么之于丙？",
        "One: the words near it. Three, such as man king woman: what is to woman as king is to man?",
    ),
    "find": Text("查找", "Find"),
    "near": Text("与“{word}”相近的词", "Nearest to “{word}”"),
    "near_note": Text(
        "按余弦从大到小；点一个词，就看它的邻居。", "By cosine. Follow a word to its own neighbours."
    ),
    "as_is": Text("“{b}”之于“{a}”，如同什么之于“{c}”？", "What is to “{c}” as “{b}” is to “{a}”?"),
    "as_is_note": Text(
        "与 乙 − 甲 + 丙 相近的词（三个向量都先化为单位长度），这三个词除外，按余弦从大到小。",
        "The words nearest to the second − the first + the third, each at length 1, the three left out, by "
        "cosine.",
    ),
    "nearest": Text("相近的词", "The nearest words"),
    "word": Text("词", "word"),
    "cosine": Text("余弦", "cosine"),
    "frequent": Text("最常见的词：", "The most frequent words:"),
    "one_or_three": Text(
        "要一个词或三个词，这里有 {n} 个。词之间用空格分开。",
        "One word or three are wanted, divided by spaces; these are {n}.",
    ),
    "no_word": Text(
        "词表里没有“{word}”。下面有些常见的词。",
        "“{word}” is not in the vocabulary. Some frequent words stand below.",
    ),
}
