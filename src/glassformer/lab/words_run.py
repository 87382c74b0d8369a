"""The texts of the runs' pages and of the server's short answers, Chinese and English side by side.

What the look page says already is taken from there, so that both pages use the same words.
"""

from markupsafe import Markup, escape

from ..errors import UserError
from ..glass.words import WORDS as LOOK
from ..glass.words import Count
from ..texts import Language, Text
from .words_asked import ASKED

WORDS: dict[str, Text] = ASKED | {
    "runs": Text("打开一个模型", "Open a model"),
    "runs_note": Text(
        "{folder} 里的模型。打开后可以输入文字，看每个头在看哪里，切断连接，看下一个词元怎么变。",
        "The models in {folder}. Open one to type a text, see where every head looks, cut what it "
        "reads, and watch the next token change.",
    ),
    "no_runs": Text(
        "{folder} 里还没有模型。先在命令行训练一个，例如：{command}",
        "There is no model in {folder} yet. Train one on the command line, for example: {command}",
    ),
    "run": Text("模型", "Model"),
    "shape": Text("形状", "Shape"),
    "step": Text("步数", "Step"),
    "shape_of": Text(
        "{family}，{layers} 层 × {heads} 头，上下文 {context}",
        "{family}, {layers} layers × {heads} heads, context {context}",
    ),
    "shape_recurrent": Text(
        "{family}，{layers} 层，训练窗口 {context}", "{family}, {layers} layers, training window {context}"
    ),
    "shape_vectors": Text("{family}，词向量", "{family}, word vectors"),
    "vectors": Text(
        "这里存的是词向量，不读文字，没有完整的报告。",
        "These are word vectors, which read no text: there is no report of one.",
    ),
    "recurrent": Text(
        "这是循环网络，没有注意力；这一页看的是注意力。请用命令 {command} 看它的门和状态。",
        "This model is recurrent and has no attention, which this page is about. {command} shows its gates "
        "and states.",
    ),
    "published": Text("外来的模型", "published elsewhere"),
    "damaged": Text("打不开：{why}", "cannot be opened: {why}"),
    "text": Text("给模型读的文字", "A text for the model to read"),
    "text_hint": Text("最好像它训练时读过的文字。", "Best something like what it was trained on."),
    "mask_hint": Text(
        "哪里写 {mask}，模型就猜哪里。", "Write {mask} where the model is to tell what stands there."
    ),
    "mask_how": Text(
        "这段文字没有藏起什么。把一个词元换成 {mask}，模型就猜它是什么。",
        "This text hides nothing. Put {mask} in the place of a token, and the model tells what stands there.",
    ),
    "for_example": Text("例如：{example}", "For example: {example}"),
    "hidden": Text("{mask} 那里是什么？", "What stands behind {mask}?"),
    "hidden_note": Text(
        "有几处就各猜各的，猜一处时其余的仍然藏着。概率是模型在整个词表上的，特殊词元不列。点一个词元，就把"
        "它填进去。",
        "Each is told for itself while the others stay hidden. Probabilities are over the whole vocabulary; "
        "special tokens are not listed. Follow a token to put it in its place.",
    ),
    "look_from": Text("看它在看哪里", "see where it looks"),
    "looks_below": Text("它在看哪里，见下面", "where it looks is shown below"),
    "told_hidden": Text("最可能是：{token}，{percent} %", "Likeliest: {token}, {percent} %"),
    "looks": Text(
        "{query} 在看哪里：第 {layer} 层的每个头", "Where {query} looks: every head of layer {layer}"
    ),
    "looks_note": Text(
        "一行是一个头，一列是被看的词元，每行和为 1；最后一行是这些头的平均。要看别的层，就在上面选那一层的"
        "头。",
        "A row is a head, a column a token that is looked at, and each row sums to 1; the last row is the "
        "mean of the heads. To see another layer, choose one of its heads above.",
    ),
    "head": Text("头 {head}", "head {head}"),
    "mean": Text("平均", "mean"),
    "see": Text("看", "Look"),
    "update": Text("更新", "Update"),
    "whole_page": Text("完整的报告（可以保存成一个文件）", "The full report, one file to keep"),
    "too_long": Text(
        "这段文字有 {n} 个字符，这一页最多读 {most} 个。",
        "The text has {n} characters; this page reads {most} at most.",
    ),
    "cut_here": Text(
        "文字共 {all} 个词元，为了反应够快，这一页只读最后 {n} 个；完整的报告里模型能看多少就有多少。",
        "The text has {all} tokens; to stay quick, this page reads the last {n}. The full report has "
        "all that the model can see.",
    ),
    "unknown": Text(
        "这个模型的词表里没有这些字符：{characters}。请换掉它们。",
        "The vocabulary of this model lacks these characters: {characters}. Type others.",
    ),
    "too_many": Text(
        "这段文字有 {n} 个词元，这一页最多读 {most} 个。",
        "The text has {n} tokens; this page reads {most} at most.",
    ),
    "moved_on": Text(
        "文字变了，原来的改动不再适用，已经撤销。",
        "The text has changed, so the edits that were made to it are gone.",
    ),
    "asks": Text("哪个词元在看？", "Which token looks?"),
    "asks_note": Text(
        "选一个词元（查询），下面就是它从别处读到的东西。",
        "Choose a token, the query; below is what it reads from the others.",
    ),
    "heads": Text("哪个头？", "Which head?"),
    "heads_note": Text(
        "行是查询，列是键，左上角是第一个词元；颜色越浓，权重越大（浓淡取平方根）。",
        "A row is a query, a column a key, the first token at the top left; the stronger the colour, "
        "the larger the weight (by its square root).",
    ),
    "head_of": Text("第 {layer} 层，头 {head}", "layer {layer}, head {head}"),
    "weights": Text("权重：{which}", "Weights: {which}"),
    "weights_note": Text(
        "每一行是一次 softmax，和为 1；斜线格被挡住，恰为 0。点一个格子，就看那条连接。",
        "Each row is one softmax and sums to 1; a hatched cell is masked and exactly 0. Click a cell "
        "to follow that connection.",
    ),
    "weights_edited": Text("边框标出因你的改动而不同的权重。", "Framed: weights that your edits changed."),
    "earlier": Text("更前面", "earlier"),
    "later": Text("更后面", "later"),
    "reads": Text("权重与实际影响", "Weight beside effect"),
    "reads_note": Text(
        "{query} 通过这个头读到的每个词元。“切断后”“置零后”是实测：去掉这一条连接，“{target}”（最可能的下一"
        "个）的对数概率变多少；负数说明这条连接支持它。切断时其余权重重新归一，置零时不归一。“写入量”是这个"
        "值乘上权重后写入残差流的长度。按影响从大到小排列。",
        "Every token that {query} reads through this head. “when cut” and “when zeroed” are measured: how "
        "far the log-probability of “{target}”, the likeliest next token, moves without this one "
        "connection. Below 0, the connection spoke for it. When cut, the other weights are renormalised; "
        "when zeroed, they are not. “moved” is the length of what this value, times its weight, adds to the "
        "residual stream. Largest effect first.",
    ),
    "read_note": Text(
        "{query} 通过这个头读到的每个词元，写入量大的在前。编码器没有下一个词元，所以没有可测的影响。",
        "Every token that {query} reads through this head, what moves most first. An encoder has no "
        "next token, and so no effect to measure.",
    ),
    "unedited": Text("这里测的是没有改动的模型。", "Measured on the model without your edits."),
    "chosen": Text("选中", "chosen"),
    "proof": Text("一个权重的完整算式", "One weight, worked out"),
    "proof_note": Text(
        "{query} 读取 {key} 的权重，用模型实际用过的 q 和 k 以 float64 重算。方括号里是分量的编号和它的 q、"
        "k。",
        "How much {query} reads {key}, recomputed in float64 from the q and k that the model used. "
        "In brackets: the number of a coordinate, and its q and k.",
    ),
    "edits": Text("动手改一改", "Change something"),
    "edits_note": Text(
        "选中的连接是 {query} → {key}（{which}）。改动由服务器用真正的模型重算，可以叠加。",
        "The chosen connection is {query} → {key} ({which}). The server computes each edit with the "
        "real model; several add up.",
    ),
    "do_cut": Text("切断这条连接", "Cut this connection"),
    "do_zero": Text("把权重置零", "Zero its weight"),
    "do_scale": Text("缩放 {key} 的值", "Scale the value of {key}"),
    "factor": Text("倍数", "factor"),
    "do_silence": Text("让这个头沉默", "Silence this head"),
    "in_force": Text("现有的改动（去掉勾选就撤销）", "Edits in force (untick one to take it back)"),
    "clear_edits": Text("全部撤销", "Take all back"),
    "said_cut": Text("切断 {query} → {key}（{which}）", "cut {query} → {key} ({which})"),
    "said_zero": Text(
        "{query} → {key} 的权重置零（{which}）",
        "zero the weight of {query} → {key} ({which})",
    ),
    "said_scale": Text(
        "{key} 的值乘以 {factor}（{which}）",
        "the value of {key} times {factor} ({which})",
    ),
    "said_silence": Text("{which}：沉默", "silence {which}"),
    "shared": Text(
        "这个模型的几个头共用一组值，缩放会影响共用它的每个头。",
        "Some heads of this model share their values; scaling one changes all that share it.",
    ),
    "outcome": Text(
        "“{target}”的对数概率从 {before} 变成 {after}（变化 {change}），logit 最大变化 {logits}。",
        "The log-probability of “{target}” went from {before} to {after} (by {change}); the largest "
        "change of a logit is {logits}.",
    ),
    "layer_change": Text(
        "各层输出变了多少（变化的长度 ÷ 原来的长度）",
        "How far each layer's output moved (length of the change over its length)",
    ),
    "layer": Text("第 {i} 层", "layer {i}"),
    "next": Text("下一个词元：改动前后", "The next token, before and after"),
    "token": Text("词元", "token"),
    "before_edit": Text("改动前", "before"),
    "after_edit": Text("改动后", "after"),
    "points": Text("变化（百分点）", "change, in points"),
    "sampling": Text("抽样：下一个词元怎么选", "Sampling: how the next token is drawn"),
    "sampling_note": Text(
        "模型对下一个词元的真实 logit，依次经过温度、top-k、top-p，每一步之后重新归一。",
        "The model's own logits for the next token pass temperature, top-k and top-p in this order, "
        "renormalised after each.",
    ),
    "sampling_empty": Text(
        "先在上面输入一段文字，这里就会列出可能的下一个词元。",
        "Type a text above, and the tokens that may come next are listed here.",
    ),
    "sampling_edited": Text("用的是改动之后的模型。", "Of the model with your edits."),
    "temperature": Text("温度", "Temperature"),
    "temperature_hint": Text("0 总取最可能的", "0 always takes the likeliest"),
    "top_k": Text("top-k", "Top-k"),
    "top_k_hint": Text("0 不限制", "0 is off"),
    "top_p": Text("top-p", "Top-p"),
    "top_p_hint": Text("1 不限制", "1 is off"),
    "kept": Text("{all} 个词元里，还可能被抽到的有 {n} 个。", "Of {all} tokens, {n} can still be drawn."),
    "logit": Text("logit", "logit"),
    "probability": Text("概率", "probability"),
    "after_temperature": Text("经过温度", "after temperature"),
    "after_top_k": Text("经过 top-k", "after top-k"),
    "after_top_p": Text("最后", "at last"),
    "ruled_out": Text("排除", "ruled out"),
    "told": Text("最可能的下一个：{target}，{percent} %", "Likeliest next: {target}, {percent} %"),
    "working": Text("正在算……", "Computing …"),
    "offline": Text("连不上服务器，它还在运行吗？", "The server does not answer; is it still running?"),
    # short answers of the server
    "missing": Text("没有这一页", "No such page"),
    "missing_note": Text("{path} 不在这个实验室里。", "{path} is not in this lab."),
    "gone": Text("这个模型不在了", "This model is not here"),
    "broken": Text("这个模型打不开", "This model cannot be opened"),
    "refused": Text("这样问不行", "This cannot be asked"),
    "failed": Text("出错了", "Something went wrong"),
    "failed_note": Text(
        "服务器没能回答，原因在它的终端里。",
        "The server could not answer; its terminal says why.",
    ),
    "home": Text("回到目录", "Back to the contents"),
    # what would be right
    "right_head": Text("{name} 要写成 层.头，例如 0.3。", "{name} must be LAYER.HEAD, such as 0.3."),
    "right_whole": Text(
        "{name} 应是 {low} 到 {high} 的整数。", "{name} must be a whole number from {low} to {high}."
    ),
    "right_number": Text(
        "{name} 应是 {low} 到 {high} 的数。", "{name} must be a number from {low} to {high}."
    ),
    "right_length": Text("{name} 最多 {high} 个字符。", "{name} must have at most {high} characters."),
    "no_layer": Text(
        "没有第 {value} 层：层的编号是 0 到 {last}。",
        "layer {value} is not there: layer numbers go from 0 to {last}",
    ),
    "no_head": Text(
        "没有头 {value}：头的编号是 0 到 {last}。",
        "head {value} is not there: head numbers go from 0 to {last}",
    ),
    "no_query": Text(
        "没有查询 {value}：查询的编号是 0 到 {last}。",
        "query {value} is not there: query numbers go from 0 to {last}",
    ),
    "no_key": Text(
        "没有键 {value}：键的编号是 0 到 {last}。",
        "key {value} is not there: key numbers go from 0 to {last}",
    ),
    "no_edit": Text(
        "{text} 不是改动；要写成 cut:层.头.查询.键、zero:层.头.查询.键、"
        "scale:层.头.键:倍数 或 silence:层.头。",
        "{text} is no edit; write cut:L.H.Q.K, zero:L.H.Q.K, scale:L.H.K:FACTOR or silence:L.H",
    ),
    "many_edits": Text(
        "{n} 个改动太多了：一次最多 {most} 个。", "{n} edits are too many: at most {most} at once"
    ),
    "wrong_factor": Text(
        "值可以乘以 −{most} 到 {most}，不能乘以 {text}。",
        "a value can be scaled by −{most} to {most}, not by {text}",
    ),
}


class Told(UserError):
    """What was wrong with a question; `key` and `values` say it in the page's language."""

    def __init__(self, key: str, **values: int | str) -> None:
        super().__init__(tell(key, "en", **values).unescape())
        self.key, self.values = key, values

    def told(self, language: Language) -> Markup:
        return tell(self.key, language, **self.values)


def tell(key: str, language: Language, /, **values: object) -> Markup:
    """One text in one language. Values are escaped."""
    return _filled(getattr(WORDS[key], language), values)


def look_says(key: str, language: Language, /, **values: object) -> Markup:
    """One text of the look page in one language."""
    return _filled(LOOK[key][0 if language == "en" else 1], values)


def _filled(text: str, values: dict[str, object]) -> Markup:
    counted = {name: Count(value) if isinstance(value, int) else value for name, value in values.items()}
    return escape(text).format(**counted)
