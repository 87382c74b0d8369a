"""The texts of an encoder-decoder's look page, English and Chinese side by side."""

WORDS: dict[str, tuple[str, str]] = {
    "machine": (
        "An encoder-decoder, {kind}, {layers:layer} of {width} units, {parameters} parameters. The encoder "
        "reads the source both ways; the decoder writes the target token by token.",
        "编码器—解码器，{kind}，{layers} 层，每层 {width} 个单元，共 {parameters} 个参数。"
        "编码器从两个方向读原文，解码器逐个词元写译文。",
    ),
    "own": (
        "This is what the model itself writes, greedily.",
        "这是模型自己写的译文（每步取最可能的词元）。",
    ),
    "given": (
        "This target was given; the model reads it as if it had written it.",
        "译文由你给定，模型当作自己写的来读。",
    ),
    "source": ("Source", "原文"),
    "target": ("Target", "译文"),
    "source_note": ("The source has {n:token}, counted from 0.", "原文共 {n} 个词元，从 0 开始编号。"),
    "target_note": (
        "The target has {n:token}, the end among them. The decoder begins with the start token, and each "
        "token is read to write the next.",
        "译文共 {n} 个词元，包括结束词元。解码器从起始词元开始，每写一个词元，就读入它再写下一个。",
    ),
    "marks_note": (
        "A mark stands for what cannot be seen: ␣ space, ⏎ line break, ⇥ tab, U+0007 another by its number.",
        "看不见的字符用记号代替：␣ 空格，⏎ 换行，⇥ 制表符，其余用编号，如 U+0007。",
    ),
    "alignment": ("What was read for each token", "写每个词元时读了哪里"),
    "alignment_note": (
        "A row is a token that is written, a column a token of the source; the darker, the more of it was "
        "read. Each row is one softmax and sums to 1. “·” is a weight below 0.005.",
        "一行是一个写出的词元，一列是一个原文词元；颜色越深，读得越多。"
        "每一行是一次 softmax，和为 1。“·”表示小于 0.005 的权重。",
    ),
    "pooled_alignment": (
        "In the picture each point has the largest weight of its area.",
        "图中每个点取所在区域里最大的权重。",
    ),
    "first_tokens": ("In numbers: the first {n:row} and {m:column}.", "数字表只列前 {n} 行、前 {m} 列。"),
    "boundary": (
        "A weight says what was read, not what made the difference: the encoder has mixed each place with "
        "its neighbours, and the decoder’s state remembers as well.",
        "权重说明读了哪里，不说明起了什么作用：编码器已把每个位置与邻近的内容混合，解码器的状态也有记忆。",
    ),
    "no_attention": (
        "This model has no attention: all that its decoder knows of the source are the last states of the "
        "encoder, so there is no alignment to show.",
        "这个模型没有注意力：解码器对原文的全部了解，就是编码器最后的状态，所以没有对齐可看。",
    ),
    "over_time_note": (
        "The encoder’s columns are the tokens of the source, on both ways; the decoder’s are the tokens that "
        "it reads.",
        "编码器各列是原文的词元，两个方向都按原文的顺序排；解码器各列是它读入的词元。",
    ),
    "encoder": ("The encoder", "编码器"),
    "decoder": ("The decoder", "解码器"),
    "encoder_layer": ("layer {i}, read to the right", "第 {i} 层，从左往右读"),
    "encoder.reverse_layer": ("layer {i}, read to the left", "第 {i} 层，从右往左读"),
    "decoder_layer": ("layer {i}", "第 {i} 层"),
    "attention_none": ("It has no attention.", "没有注意力。"),
    "attention_additive": (
        "Its attention is additive, that of Bahdanau et al.",
        "注意力是加性的（Bahdanau 等人）。",
    ),
    "attention_dot": ("Its attention scores by the dot product.", "注意力用点积打分。"),
    "attention_general": ("Its attention scores by s · U h.", "注意力用 s · U h 打分。"),
    "transformer": (
        "A Transformer that translates: {encoder:layer} that read the source, {decoder:layer} that write the "
        "target, {heads:head} each, {width} wide, {parameters} parameters.",
        "做翻译的 Transformer：编码器 {encoder} 层读原文，解码器 {decoder} 层写译文，"
        "每层 {heads} 个头，宽 {width}，共 {parameters} 个参数。",
    ),
    "of_encoder": ("The source reads itself", "编码器自注意力：原文读原文"),
    "note_encoder": (
        "The encoder’s own attention: each token of the source sees all of them, those after it too.",
        "编码器里每个词元都能看到整个原文，后面的也能看到。",
    ),
    "of_decoder": ("The target reads itself", "解码器自注意力：译文读译文"),
    "note_decoder": (
        "The decoder’s own attention: a row is a token that it has read, from the start token on, and sees "
        "nothing of what follows.",
        "一行是解码器读入的一个词元，从起始词元开始；后面的词元看不到。",
    ),
    "of_cross": ("The target reads the source", "交叉注意力：译文读原文"),
    "note_cross": (
        "A row is a token that is written, a column a token of the source: queries and keys come from two "
        "texts.",
        "一行是一个写出的词元，一列是一个原文词元：查询和键来自两段文字。",
    ),
    "chosen_head": (
        "Shown because its rows are the least uniform of all its heads.",
        "选它是因为它的各行在这种注意力的所有头里最不均匀。",
    ),
    "head_note": (
        "Every row is one softmax and sums to 1; the darker, the more was read. A weight says what was read, "
        "not what made the difference.",
        "每一行是一次 softmax，和为 1；颜色越深，读得越多。权重说明读了哪里，不说明起了什么作用。",
    ),
}
