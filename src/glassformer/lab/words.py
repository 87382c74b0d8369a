"""The texts of the lab that belong to no lesson, Chinese and English side by side."""

from ..texts import Language, Text

LOCALES: dict[Language, str] = {"zh": "zh-Hans", "en": "en"}
NAMES: dict[Language, str] = {"zh": "中文", "en": "English"}

WORDS: dict[str, Text] = {
    "lab": Text("Glassformer 实验室", "Glassformer lab"),
    "tagline": Text(
        "把序列模型拆开来看，从词向量到 Transformer：每个数都是真算出来的，都能点开；给定的数都能改。",
        "Sequence models, taken apart, from word vectors to the Transformer. Every number here is "
        "really computed: open any of them, and change any that is given.",
    ),
    "claims": Text("论断与测量", "The claims, measured"),
    "claims_lead": Text(
        "两章讲义里的论断，做成了实验：说的是什么、怎么量、量出来多少、成不成立。结果不一样的，照实写。还有两条没有"
        "量：C16（窗口、线性与融合注意力的开销）和 C17（CNN 与 ViT 谁更吃数据），这一版没有窗口注意力和线性"
        "注意力，也不处理图像。",
        "The claims of the two chapters as experiments: what is claimed, how it is measured, what came out. "
        "Where a claim comes out differently, that is what stands here. Two are not measured yet: C16 (what "
        "windowed, linear and fused attention cost) and C17 (a CNN against a ViT, by the amount of data), as "
        "this version has neither windowed nor linear attention, and no images.",
    ),
    "claim": Text("论断", "Claim"),
    "verdict": Text("结论", "Verdict"),
    "claim_method": Text("怎么量", "How it is measured"),
    "claims_quick": Text(
        "快速运行，用时 {seconds} 秒，版本 {version}。", "Quick run, {seconds} s, version {version}."
    ),
    "claims_full": Text(
        "完整运行，用时 {seconds} 秒，版本 {version}。", "Full run, {seconds} s, version {version}."
    ),
    "claims_kept": Text("完整运行，随这个版本附带", "Full run, kept with this version"),
    "claims_rerun_found": Text("快速运行，在这台机器上", "Quick run, here"),
    "claims_here": Text("论断，量过的", "Claims, measured"),
    "claims_all": Text("全部论断", "All claims"),
    "claims_rerun": Text("在这台机器上快速重跑", "Run the quick version here"),
    "claims_stop": Text("停止", "Stop"),
    "claims_measuring": Text("正在测量……", "Measuring …"),
    "claims_stopping": Text("正在停下……", "Stopping …"),
    "claims_stopped": Text("已停下；再按一次会接着做。", "Stopped. Press again to go on from there."),
    "claims_finished": Text("量完了，结果在下面：", "Done; this is what it found:"),
    "claims_failed": Text("没有成功。", "It failed."),
    "claims_busy": Text(
        "另一个测量还没做完，请等它结束，或先停下它。",
        "Another measurement is still going on; wait for it or stop it first.",
    ),
    "claims_none": Text("这条论断在这里还没有量过。", "This claim has not been measured here yet."),
    "claims_unreachable": Text("连不上服务器。", "The server does not answer."),
    "contents": Text("目录", "Contents"),
    "title": Text("课", "Lesson"),
    "insight": Text("一句话", "In one line"),
    "done": Text("进度", "Progress"),
    "clear": Text("清除进度", "Clear progress"),
    "progress_note": Text(
        "进度只存在你的浏览器里。", "Your progress is kept in this browser and nowhere else."
    ),
    "answered": Text("已答对 {n}/{all}", "{n} of {all} right"),
    "skip": Text("跳到正文", "Skip to the lesson"),
    "lesson": Text("第 {n} 课", "Lesson {n}"),
    "previous": Text("上一课", "Previous"),
    "next": Text("下一课", "Next"),
    "predict": Text("先猜一猜", "Predict first"),
    "sheet": Text("算给你看", "See it computed"),
    "check": Text("考考自己", "Check yourself"),
    "boundary": Text("这一课没有说明什么", "What this does not show"),
    "transfer": Text("换个情形想一想", "Now elsewhere"),
    "answer": Text("答案", "Answer"),
    "submit": Text("核对", "Check"),
    "your_answer": Text("你的答案", "Your answer"),
    "right": Text("对。", "Right."),
    "wrong": Text("还不对，再想想。", "Not yet; try again."),
    "no_number": Text("请输入一个数，例如 0.5。", "Type a number, for example 0.5."),
    "choose": Text("请选一个答案。", "Choose one of the answers."),
    "legend": Text("图例", "Legend"),
    "given": Text("给定，可以改", "given: change it"),
    "computed": Text("算出来的", "computed"),
    "changed": Text("与原来不同", "differs from the original"),
    "masked": Text("被挡住：分数 −∞，权重 0", "masked: score −∞, weight 0"),
    "nothing": Text("什么也看不到：整行为 0", "sees nothing: a row of 0"),
    "small_weight": Text("权重 0", "weight 0"),
    "large_weight": Text("权重 1", "weight 1"),
    "negative": Text("负", "negative"),
    "positive": Text("正", "positive"),
    "undo": Text("撤销", "Undo"),
    "redo": Text("重做", "Redo"),
    "reset": Text("全部还原", "Reset"),
    "copy_link": Text("复制当前状态的链接", "Copy a link to this state"),
    "copied": Text("链接已复制", "Link copied"),
    "no_copy": Text("链接就是地址栏里的网址", "The link is in the address bar"),
    "states": Text("换一种设置，哪些数会变", "What other settings change"),
    "row_of": Text("{label}：一步一步算", "{label}, step by step"),
    "shape": Text("形状", "Shape"),
    "matrix": Text("矩阵", "Matrix"),
    "meaning": Text("含义", "Meaning"),
    "prints": Text("输出", "It prints"),
    "needs_server": Text(
        "这一部分需要服务器：在命令行运行 `glassformer lab`，再打开它给出的网址。",
        "This part needs the server: run `glassformer lab` and open the address that it prints.",
    ),
    "sentence": Text("换成自己的句子", "Your own sentence"),
    "sentence_hint": Text(
        "词之间用空格隔开，最多 {most} 个；中文不加空格，就一个字算一个词。",
        "Words with spaces between them, {most} at most; Chinese without spaces is taken character by "
        "character.",
    ),
    "sentence_note": Text(
        "这些词的向量是按写法凑出来的，没有意义；投影矩阵还是手写的那些。看它怎样计算，别当成它懂了。",
        "The vectors of these words are made up from their spelling and mean nothing; the projections stay "
        "the hand-written ones. Watch the arithmetic, not the meaning.",
    ),
    "use": Text("使用", "Use it"),
    "original": Text("回到原句", "Back to the original"),
    "empty_sentence": Text("请至少输入一个词。", "Type at least one word."),
    "cut_sentence": Text("只用了前 {most} 个词。", "Only the first {most} words were used."),
    "open_hint": Text(
        "点开任何一个数，看它怎么算出来；方向键移动，回车打开，直接打字修改给定的数。",
        "Open any number to see how it was computed. Arrow keys move, Enter opens, typing changes a given "
        "number.",
    ),
    "failed": Text("这样改就没法算了：{reason}", "With this the sheet cannot be computed: {reason}"),
    "changes": Text("{n} 个数变了", "{n} numbers changed"),
    # the proof of a cell
    "proof": Text("这个数从哪里来", "Where this number comes from"),
    "close": Text("关闭", "Close"),
    "back": Text("返回", "Back"),
    "row": Text("第 {i} 行", "row {i}"),
    "column": Text("第 {j} 列", "column {j}"),
    "before": Text("原来是 {value}，变化 {change}", "was {value}, changed by {change}"),
    "set_to": Text("改成", "Set to"),
    "exact": Text("精确值 {value}", "exactly {value}"),
    "rest": Text("其余 {n} 项之和", "the other {n} together"),
    "explain_const": Text("这是给定的数，不是算出来的。", "This number is given, not computed."),
    "explain_normal": Text(
        "按种子从标准正态分布抽出来的：同一个种子总给出同一个数。",
        "Drawn from the standard normal distribution; the same seed always gives the same number.",
    ),
    "explain_embed": Text(
        "按这个词的写法凑出来的数，没有意义。", "Made up from the word's spelling; it means nothing."
    ),
    "explain_range": Text("按顺序数出来的数。", "Counted, one after the other."),
    "explain_onehot": Text(
        "左边的数说的是第几列：那一列是 1，其余是 0。", "1 in the column that the number names, else 0."
    ),
    "explain_matmul": Text(
        "左边的一行与右边的一列，对应相乘再相加。",
        "A row of the left matrix and a column of the right one: multiply pair by pair, then add.",
    ),
    "explain_transpose": Text("同一个数，行和列对调。", "The same number, rows and columns exchanged."),
    "explain_add": Text("两个数相加。", "Two numbers added."),
    "explain_sub": Text("两个数相减。", "One number less another."),
    "explain_mul": Text("两个数相乘。", "Two numbers multiplied."),
    "explain_div": Text("两个数相除。", "One number divided by another."),
    "explain_less": Text(
        "左边比右边小就是 1，否则是 0。", "1 where the left is less than the right, else 0."
    ),
    "explain_exp": Text("e 的这么多次方。", "e to this power."),
    "explain_log": Text("自然对数。", "The natural logarithm."),
    "explain_sqrt": Text("平方根。", "The square root."),
    "explain_sin": Text("正弦（弧度）。", "The sine, of radians."),
    "explain_cos": Text("余弦（弧度）。", "The cosine, of radians."),
    "explain_tanh": Text("双曲正切。", "The hyperbolic tangent."),
    "explain_sigmoid": Text("1 ÷ (1 + e⁻ˣ)。", "1 ÷ (1 + e⁻ˣ)."),
    "explain_relu": Text("负数变成 0，正数不变。", "Negative becomes 0, positive stays."),
    "explain_mask_open": Text("允许看，分数不变。", "It may be looked at: the score stays."),
    "explain_mask_closed": Text(
        "不许看，分数换成 {fill}。", "It must not be looked at: the score becomes {fill}."
    ),
    "explain_softmax": Text(
        "先取 e 的分数次方（整行先减去最大的分数 {largest}，结果不变，但不会溢出），再除以整行之和 "
        "{denominator}。",
        "e to the power of the score, over the sum of the row, {denominator}. The row's largest score, "
        "{largest}, is taken off first: that changes nothing and keeps the powers small.",
    ),
    "explain_softmax_masked": Text(
        "分数是 −∞，e 的 −∞ 次方是 0：这个权重恰好是 0。",
        "The score is −∞ and e to that power is 0: this weight is exactly 0.",
    ),
    "explain_softmax_nothing": Text(
        "这一行什么也看不到，所有权重都是 0。", "This row may look nowhere: all its weights are 0."
    ),
    "explain_layernorm": Text(
        "这一行的平均是 {mean}，方差是 {variance}：减去平均，再除以 √(方差 + {eps})。",
        "The row's mean is {mean}, its variance {variance}: take the mean off, then divide by √(variance "
        "+ {eps}).",
    ),
    "explain_concat": Text("从拼起来的矩阵里原样搬来。", "Carried over from one of the joined matrices."),
    "explain_slice": Text("从大矩阵里原样取出。", "Taken unchanged from the larger matrix."),
    "explain_sum": Text("把这些数加起来。", "These numbers added up."),
    "explain_max": Text("这些数里最大的。", "The largest of these."),
    "explain_argmax": Text(
        "最大的数在第几列（从 0 数起）。", "The column of the largest one, counted from 0."
    ),
}


def say(key: str, language: Language, **values: object) -> str:
    """One text in one language, with its gaps filled."""
    text: str = getattr(WORDS[key], language)
    return text.format(**values) if values else text
