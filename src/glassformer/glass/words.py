"""The texts of the look page, English and Chinese side by side."""

from markupsafe import Markup, escape

WORDS: dict[str, tuple[str, str]] = {
    "title": ("Inside the model", "模型内部"),
    "machine": (
        "{layers} layers × {heads} heads, {parameters} parameters, context {context}, "
        "checkpoint of step {step}.",
        "{layers} 层 × {heads} 头，{parameters} 个参数，上下文 {context}，第 {step} 步的检查点。",
    ),
    "written": (
        "Underlined: written by the model, each time the likeliest token.",
        "下划线部分由模型续写，每步取最可能的词元。",
    ),
    "tokens": ("Tokens", "词元"),
    "tokens_note": (
        "The text as the model reads it: {n} tokens. A mark stands for what cannot be seen: ␣ space, "
        "⏎ line break, ⇥ tab.",
        "模型读到的文本：共 {n} 个词元。看不见的字符用记号代替：␣ 空格，⏎ 换行，⇥ 制表符。",
    ),
    "bytes_note": (
        "A token that holds part of a character is named by it: “字 2/3” is the second of its three bytes.",
        "若一个词元只含某个字的一部分，就用那个字来标注：“字 2/3”表示它三个字节中的第二个。",
    ),
    "cropped": (
        "The text has {all} tokens; the model can see {n} at once. Shown: the last {n}.",
        "文本共 {all} 个词元，模型一次最多看 {n} 个，这里显示最后 {n} 个。",
    ),
    "heads": ("Every head", "所有注意力头"),
    "heads_note": (
        "Row = the token that looks (query), column = the token looked at (key); the first token is at the "
        "top left. The stronger the colour, the larger the weight (it follows the square root, so that "
        "small weights show). The upper right stays empty: no token may look at later ones.",
        "行是发出查询的词元，列是被查看的词元，第一个词元在左上角。颜色越浓，权重越大"
        "（浓淡取权重的平方根，小权重也看得见）。右上角总是空的：任何词元都不能看后面的词元。",
    ),
    "pooled": (
        "Each map shows {n} × {n} weights in 64 × 64 points; a point has the largest weight of its area.",
        "每张图把 {n} × {n} 个权重缩成 64 × 64 个点，每个点取所在区域的最大权重。",
    ),
    "layer": ("layer {i}", "第 {i} 层"),
    "head": ("head {i}", "头 {i}"),
    "large": (
        "One head in numbers: layer {layer}, head {head}",
        "一个头的全部数字：第 {layer} 层，头 {head}",
    ),
    "large_note": (
        "Each row is one softmax and sums to 1. “·” is a weight below 0.005; a hatched cell lies in the "
        "future and is exactly 0.",
        "每一行是一次 softmax，和为 1。“·”表示小于 0.005 的权重；画斜线的格子位于未来，权重恰为 0。",
    ),
    "chosen": (
        "Shown because its rows are the least uniform of all heads; --layer and --head choose another.",
        "选它是因为它的各行在所有头里最不均匀；用 --layer 和 --head 可换别的头。",
    ),
    "earlier": ("earlier", "更早"),
    "earlier_note": (
        "The last {n} tokens are shown; “earlier” is the sum of the weights on all tokens before them.",
        "只显示最后 {n} 个词元；“更早”一列是之前所有词元权重的总和。",
    ),
    "boundary": (
        "A large weight says that this head mixes that token's value in. It does not say that the model's "
        "answer depends on it.",
        "权重大，只说明这个头把那个词元的值混了进来，并不说明模型的答案依赖它。",
    ),
    "view": ("Any head: layer {layer}, head {head}", "任选一个头：第 {layer} 层，头 {head}"),
    "view_note": (
        "Choose a head above. Move over the map, or use the arrow keys: a row is a query, a column a key. "
        "Choose a token to colour the others by how much it reads them.",
        "在上面选一个头。把指针移到图上，或用方向键：行是查询，列是键。"
        "点一个词元，其余词元就按它读取的多少着色。",
    ),
    "exact": ("The numbers are the model's own (float32).", "数字就是模型自己的（float32）。"),
    "rounded": (
        "This head comes from a picture of 256 shades; --layer and --head put its exact numbers here.",
        "这个头取自 256 级灰度图；用 --layer 和 --head 可把它的精确数字放进页面。",
    ),
    "reads": ("Weight beside effect", "权重与实际影响"),
    "reads_note": (
        "What the last token, “{token}”, reads through this head. moved: the length of what the value adds "
        "to the stream. cut, zeroed: how the log-probability of “{target}”, the likeliest next token, "
        "changes when the connection is cut (the rest of the row is renormalised) or its weight set to 0 "
        "(nothing is renormalised). Below 0: the connection spoke for it.",
        "最后一个词元“{token}”通过这个头读到了什么。“推动”是这个值加进残差流的长度。“切断”和“置零”是"
        "去掉这条连接后，最可能的下一个词元“{target}”的对数概率变化：切断时其余权重重新归一，"
        "置零时不归一。小于 0 说明这条连接支持这个答案。",
    ),
    "weight": ("weight", "权重"),
    "value": ("length of value", "值的长度"),
    "moved": ("moved", "推动"),
    "cut": ("when cut", "切断"),
    "zeroed": ("when zeroed", "置零"),
    "proof": ("One weight, worked out", "一个权重的完整算式"),
    "proof_note": (
        "How much “{query}” reads “{key}” in this head, recomputed in float64 from the q and k that the "
        "model used; --proof LAYER.HEAD.QUERY.KEY chooses another.",
        "在这个头里“{query}”读取“{key}”的权重，用模型实际用过的 q 和 k 以 float64 重新计算；"
        "用 --proof 层.头.查询.键 可换别的。",
    ),
    "rest": ("[the other {n} terms]", "[其余 {n} 项]"),
    "score": ("score", "得分"),
    "bias": ("position bias", "位置偏置"),
    "exponential": ("exponential (less the row's largest)", "取指数（先减去该行最大值）"),
    "row_sum": ("sum over {n} visible keys", "{n} 个可见键之和"),
    "model_used": ("the model used", "模型实际用的"),
    "differs": ("differs by {by}", "相差 {by}"),
    "masked": (
        "exactly 0: this key may not be seen, its score is −∞",
        "恰为 0：这个键不可见，得分为 −∞",
    ),
    "lens": ("Layer by layer", "逐层看预测"),
    "lens_note": (
        "What the model would say next if it stopped after each layer: the layer's output through the last "
        "norm and the head. In bold where it already is the final answer.",
        "假如模型在某一层之后就停下，它会预测什么：把该层输出直接送进最后的归一化和输出层。"
        "粗体表示已与最终答案相同。",
    ),
    "next": ("What comes next", "下一个词元"),
    "next_note": (
        "After each token, the five likeliest next ones. ✓ marks the token that really follows; its "
        "probability and rank stand at the end.",
        "每个词元之后最可能出现的五个词元。✓ 是实际出现的那个，它的概率和名次写在行末。",
    ),
    "after": ("after", "在此之后"),
    "likeliest": ("likeliest next", "最可能的下一个"),
    "actual": ("what follows", "实际的下一个"),
    "rank": ("rank {i}", "第 {i} 名"),
    "end": ("end of text", "文本结束"),
    "query": ("query", "查询"),
    "key": ("key", "键"),
}


def say(key: str, /, **values: object) -> Markup:
    """A text in both languages, of which the page shows one. Values are escaped."""
    english, chinese = (
        Markup(escape(text)).format(**values) for text in WORDS[key]
    )  # Markup.format escapes its arguments
    return Markup('<span lang="en">{}</span><span lang="zh-Hans">{}</span>').format(english, chinese)


def slot(name: str) -> Markup:
    """A place in a text that the page's script fills."""
    return Markup("<span data-{}></span>").format(name)
