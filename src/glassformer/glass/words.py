"""The texts of the look page, English and Chinese side by side."""

import re

from markupsafe import Markup, escape

_QUOTED = re.compile("`([^`]*)`")

WORDS: dict[str, tuple[str, str]] = {
    "title": ("Inside the model", "模型内部"),
    "machine": (
        "{layers:layer} × {heads:head}, {parameters} parameters; it sees at most {context:token} at once.",
        "{layers} 层，每层 {heads} 个注意力头，共 {parameters} 个参数；一次最多看 {context} 个词元。",
    ),
    "encoder": (
        "An encoder: each token becomes a vector that takes in the whole text. It predicts no next token.",
        "这是编码器：每个词元都读完整段文本，各得到一个向量；它不预测下一个词元。",
    ),
    "checkpoint": ("Checkpoint of step {step}.", "第 {step} 步的检查点。"),
    "written": (
        "Underlined: written by the model, each time the likeliest token.",
        "下划线部分由模型续写，每步取最可能的词元。",
    ),
    "tokens": ("Tokens", "词元"),
    "tokens_note": (
        "The text as the model reads it: {n:token}, counted from 0. A mark stands for what cannot be seen: "
        "␣ space, ⏎ line break, ⇥ tab, U+0007 another by its number.",
        "模型读到的文本：共 {n} 个词元，从 0 开始编号。看不见的字符用记号代替："
        "␣ 空格，⏎ 换行，⇥ 制表符，其余用编号，如 U+0007。",
    ),
    "bytes_note": (
        "A token that holds part of a character is named by it: “字 2/3” is the second of its three bytes.",
        "若一个词元只含某个字的一部分，就用那个字来标注：“字 2/3”表示它三个字节中的第二个。",
    ),
    "stray_note": (
        "“0xE5” is a byte of a character whose other bytes are not beside it.",
        "“0xE5”是某个字的一个字节，这个字的其他字节不在旁边。",
    ),
    "special_note": (
        "A dashed frame marks a special token, like {example}: it stands for no text of its own, but for the "
        "beginning or the end of a text, an unknown word and the like.",
        "虚线框标出特殊词元，例如 {example}：它不是具体的文字，而是表示文本的开头、结尾、未知的词等。",
    ),
    "cropped": (
        "The text has {all:token}; the model can see {n} at once. Shown: the last {n}.",
        "文本共 {all} 个词元，模型一次最多看 {n} 个，这里显示最后 {n} 个。",
    ),
    "heads": ("Every head", "所有注意力头"),
    "heads_note": (
        "Row = the token that looks (query), column = the token looked at (key); the first token is at the "
        "top left. The stronger the colour, the larger the weight (it follows the square root, so that "
        "small weights show).",
        "行是发出查询的词元，列是被查看的词元，第一个词元在左上角。颜色越浓，权重越大"
        "（浓淡取权重的平方根，小权重也看得见）。",
    ),
    "sight_causal": (
        "The upper right stays empty: no token may look at later ones.",
        "右上角总是空的：任何词元都不能看后面的词元。",
    ),
    "sight_all": (
        "Nothing is masked: every token may look at every other, before and after it.",
        "没有掩码：每个词元都能看到全文，前后都能看。",
    ),
    "sight_some": (
        "Where the mask hides a key, the map stays empty.",
        "被掩码挡住的地方总是空的。",
    ),
    "framed": ("The framed head is shown in numbers below.", "加框的头在下面列出数字。"),
    "pooled": (
        "Each map shows {n} × {m} weights in {rows} × {columns} points; a point has the largest weight of "
        "its area.",
        "每张图把 {n} × {m} 个权重缩成 {rows} × {columns} 个点，每个点取所在区域的最大权重。",
    ),
    "layer": ("layer {i}", "第 {i} 层"),
    "head": ("head {i}", "头 {i}"),
    "large": (
        "One head in numbers: layer {layer}, head {head}",
        "一个头的全部数字：第 {layer} 层，头 {head}",
    ),
    "large_note": (
        "Each row is one softmax and sums to 1. “·” is a weight below 0.005.",
        "每一行是一次 softmax，和为 1。“·”表示小于 0.005 的权重。",
    ),
    "hatched_causal": (
        "A hatched cell lies in the future and is exactly 0.",
        "画斜线的格子位于未来，权重恰为 0。",
    ),
    "hatched_some": (
        "A hatched cell is hidden by the mask and is exactly 0.",
        "画斜线的格子被掩码挡住，权重恰为 0。",
    ),
    "chosen": (
        "Shown because its rows are the least uniform of all heads; `--layer` and `--head` choose another.",
        "选它是因为它的各行在所有头里最不均匀；用 `--layer` 和 `--head` 可换别的头。",
    ),
    "same_head": ("The same layer and head as in A.", "与 A 同一层、同一个头。"),
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
    "linked": (
        "The other text or model follows, where it has that head.",
        "另一边若也有这个头，会一起切换。",
    ),
    "exact": ("The numbers are the model's own (float32).", "这些就是模型实际用的数字（float32）。"),
    "exact_all": (
        "The numbers of all heads are the model's own (float32).",
        "所有头的数字都是模型实际用的（float32）。",
    ),
    "rounded": (
        "This head comes from a picture of 256 shades; `--layer` and `--head` put its exact numbers here.",
        "这个头取自 256 级灰度图；用 `--layer` 和 `--head` 可把它的精确数字放进页面。",
    ),
    "unseen_causal": ("a later token: not seen", "后面的词元，看不到"),
    "unseen_some": ("hidden by the mask", "被掩码挡住，看不到"),
    "reads": ("Weight beside effect", "权重与实际影响"),
    "reads_note": (
        "What the last token, {place} “{token}”, reads through this head, the largest change when cut first. "
        "“when cut” and “when zeroed” tell how the log-probability of “{target}”, the likeliest next token, "
        "changes when the connection is cut (the rest of the row is renormalised) or its weight set to 0 "
        "(nothing is renormalised); below 0, the connection spoke for “{target}”. “moved” is the length of "
        "what the weighted value adds to the stream.",
        "最后一个词元（{place} 号“{token}”）通过这个头读到了什么，按切断后变化的大小从大到小排列。"
        "“切断后”和“置零后”是去掉这条连接时，最可能的下一个词元“{target}”的对数概率的变化："
        "切断时其余权重重新归一，置零时不归一。小于 0 说明这条连接支持“{target}”。"
        "“写入量”是这个值乘上权重后写入残差流的向量的长度。",
    ),
    "read": ("What one token reads", "一个词元读到了什么"),
    "read_note": (
        "What token {place} “{token}” reads through this head, what moves most first. “moved” is the "
        "length of what the weighted value adds to the stream. `--proof LAYER.HEAD.QUERY.KEY` chooses "
        "another token.",
        "{place} 号词元“{token}”通过这个头读到了什么，按写入量从大到小排列。“写入量”是这个值乘上权重后"
        "写入残差流的向量的长度。用 `--proof 层.头.查询.键` 可换别的词元。",
    ),
    "weight": ("weight", "权重"),
    "value": ("length of value", "值的长度"),
    "moved": ("moved", "写入量"),
    "cut": ("when cut", "切断后"),
    "zeroed": ("when zeroed", "置零后"),
    "proof": ("One weight, worked out", "一个权重的完整算式"),
    "proof_note": (
        "How much token {query_place} “{query}” reads token {key_place} “{key}” in this head, recomputed in "
        "float64 from the q and k that the model used; `--proof LAYER.HEAD.QUERY.KEY` chooses another. In "
        "brackets: the number of a coordinate, and its q and k.",
        "在这个头里，{query_place} 号词元“{query}”读取 {key_place} 号词元“{key}”的权重，"
        "用模型实际用过的 q 和 k 以 float64 重新计算；用 `--proof 层.头.查询.键` 可换别的。"
        "方括号里是分量的编号，以及它的 q 和 k。",
    ),
    "rest": ("[the other {n:term}]", "[其余 {n} 项]"),
    "score": ("score", "分数"),
    "bias": ("position bias", "位置偏置"),
    "exponential": ("exponential (less the row's largest)", "取指数（先减去该行最大值）"),
    "row_sum": ("sum over {n:visible key}", "{n} 个可见键的指数之和"),
    "model_used": ("the model used", "模型实际用的"),
    "differs": ("differs by {by}", "相差 {by}"),
    "masked": (
        "exactly 0: this key may not be seen, its score is −∞",
        "恰为 0：这个键不可见，分数为 −∞",
    ),
    "lens": ("Layer by layer", "逐层看预测"),
    "lens_note": (
        "What the model would say next if it stopped after each layer: the layer's output goes straight "
        "through the last norm and the output layer. In bold where it already is the final answer; the "
        "stronger the colour, the surer.",
        "假如模型在某一层之后就停下，它会预测什么：把该层输出直接送进最后的归一化和输出层。"
        "粗体表示已与最终答案相同；颜色越浓，概率越高。",
    ),
    "next": ("What comes next", "下一个词元"),
    "next_note": (
        "After each token, the five likeliest next ones. ✓ marks the token that really follows; its "
        "probability and rank stand at the end.",
        "每个词元之后最可能出现的五个词元。✓ 是实际出现的那个，它的概率和名次写在行末。",
    ),
    "after": ("after", "读到"),
    "likeliest": ("likeliest next", "最可能的下一个"),
    "actual": ("what follows", "实际的下一个"),
    "rated": ("{percent} %, rank {rank}", "{percent} %，第 {rank} 名"),
    "end": ("end of text", "文本结束"),
    "query": ("query", "查询"),
    "key": ("key", "键"),
    "unnamed": ("a model", "模型"),
    "difference": ("What differs", "两边的差别"),
    "difference_next": (
        "The likeliest next tokens after the text of A, with their probability after both texts.",
        "A 的文本之后最可能的几个词元，以及它们在两边的概率。",
    ),
    "points": ("B − A, in points", "B − A（百分点）"),
    "difference_weights": (
        "For each head, the largest difference between a weight in A and the one of the same query and key, "
        "by place, in B. Heads are matched by number: this tells something of one model on two texts or at "
        "two steps of its training, and little of models that were trained apart.",
        "每个头里，A 与 B 在相同位置（查询和键的编号都相同）上的权重最多相差多少。头按编号对应："
        "同一个模型读两段文本，或同一次训练的两个检查点，这样比才有意义；"
        "分开训练的两个模型，编号相同并不说明什么。",
    ),
}


class Count(int):
    """A number that may bring its noun: "{n:token}" is "1 token" or "2 tokens"."""

    def __format__(self, noun: str) -> str:
        return f"{int(self)} {noun}{'' if self == 1 else 's'}" if noun else str(int(self))


def say(key: str, /, **values: object) -> Markup:
    """A text in both languages, of which the page shows one. Values are escaped, `such` words are code."""
    return spoken(WORDS[key], **values)


def spoken(texts: tuple[str, str], /, **values: object) -> Markup:
    """`say` for a text of another page."""
    counted = {name: Count(value) if isinstance(value, int) else value for name, value in values.items()}
    english, chinese = (
        Markup(_QUOTED.sub(r"<code>\1</code>", str(escape(text)))).format(**counted) for text in texts
    )  # Markup.format escapes its arguments
    return Markup('<span lang="en">{}</span><span lang="zh-Hans">{}</span>').format(english, chinese)


def slot(name: str) -> Markup:
    """A place in a text that the page's script fills."""
    return Markup("<span data-{}></span>").format(name)
