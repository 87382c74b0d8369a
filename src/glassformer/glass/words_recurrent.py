"""The texts of a recurrent model's look page, English and Chinese side by side."""

WORDS: dict[str, tuple[str, str]] = {
    "machine": (
        "{kind}, {layers:layer} of {width} units, {parameters} parameters. It reads token by token, and its "
        "state goes on without end.",
        "{kind}，{layers} 层，每层 {width} 个单元，共 {parameters} 个参数。"
        "它逐个词元往下读，状态一直传下去，没有长度上限。",
    ),
    "cropped": (
        "The text has {all:token}. Shown are the last {n}, read from an empty state.",
        "文本共 {all} 个词元，这里显示最后 {n} 个，从空状态开始读。",
    ),
    "over_time": ("Over time", "随时间的变化"),
    "over_time_note": (
        "Time runs from left to right: a column is a token, a row is a unit. A gate lies between 0 (empty) "
        "and 1 (full colour). Other values have a sign: vermilion above 0, blue below; below the map stands "
        "the largest.",
        "时间从左到右：一列是一个词元，一行是一个单元。门的值在 0（无色）与 1（最浓）之间。"
        "其余的值有正负：朱红为正，蓝色为负，最浓处的大小写在图下。",
    ),
    "pooled": (
        "Each map shows {units} units and {n:token} in {rows} rows and {columns} columns: a gate's point has "
        "the mean of its area, another's the value farthest from 0.",
        "每张图把 {units} 个单元、{n} 个词元缩成 {rows} 行 {columns} 列：门取所在区域的平均值，"
        "其余取离 0 最远的值。",
    ),
    "f": ("f: forget gate, how much of the cell stays", "f：遗忘门，细胞状态保留多少"),
    "i": ("i: input gate, how much of the candidate comes in", "i：输入门，候选值写入多少"),
    "o": ("o: output gate, how much of the cell shows", "o：输出门，细胞状态显露多少"),
    "candidate": ("c̃: candidate", "c̃：候选值"),
    "cell": ("c: cell state", "c：细胞状态"),
    "hidden": ("h: hidden state", "h：隐藏状态"),
    "r": ("r: reset gate, how much of the past the candidate sees", "r：重置门，候选值看到多少过去"),
    "z": ("z: update gate, how much of the past stays", "z：更新门，过去保留多少"),
    "n": ("n: candidate", "n：候选值"),
    "strongest": ("±{value}", "±{value}"),
    "units": ("The liveliest units of layer {layer}", "第 {layer} 层变化最大的单元"),
    "units_cell": (
        "The cell state of the units whose cell moves through the widest range over this text. `--layer` "
        "chooses another layer.",
        "在这段文本上，细胞状态变化幅度最大的几个单元。用 `--layer` 可换别的层。",
    ),
    "units_hidden": (
        "The hidden state of the units that move through the widest range over this text. `--layer` chooses "
        "another layer.",
        "在这段文本上，隐藏状态变化幅度最大的几个单元。用 `--layer` 可换别的层。",
    ),
    "last_tokens": ("The last {n:token} are listed.", "只列出最后 {n} 个词元。"),
    "unit": ("unit {i}", "单元 {i}"),
    "inside": (
        "One unit, step by step: unit {unit} of layer {layer}",
        "一个单元的每一步：第 {layer} 层，单元 {unit}",
    ),
    "steps_rnn": (
        "h = tanh(W_h h′ + W_x x + b), where h′ is the row above, of all units.",
        "h = tanh(W_h h′ + W_x x + b)，h′ 是上一行（所有单元的）隐藏状态。",
    ),
    "steps_lstm": (
        "In each row c = f · c′ + i · c̃ and h = o · tanh(c), where c′ is the cell of the row above.",
        "每一行：c = f · c′ + i · c̃，h = o · tanh(c)，其中 c′ 是上一行的细胞状态。",
    ),
    "steps_gru": (
        "In each row h = (1 − z) · n + z · h′, where h′ is the hidden state of the row above.",
        "每一行：h = (1 − z) · n + z · h′，其中 h′ 是上一行的隐藏状态。",
    ),
    "boundary": (
        "An open gate says that a value is kept or let in here. It does not say what the unit stands for, "
        "nor that the prediction depends on it.",
        "门开着，只说明这个值在这里被保留或写入，并不说明这个单元代表什么，也不说明预测依赖它。",
    ),
}
