"""The texts of the training lab, Chinese and English side by side."""

from ..texts import Language, Text

WORDS: dict[str, Text] = {
    "text": Text("训练用的文字", "The text to learn from"),
    "text_hint": Text(
        "粘贴一段文字，或选一个 UTF-8 文本文件：{fewest} 个字符以上，不超过 {most} MB。文字只在这台电脑上使"
        "用。",
        "Paste a text or choose a UTF-8 file: {fewest} characters or more, {most} MB at most. It stays on "
        "this computer.",
    ),
    "file": Text("选择文件", "Choose a file"),
    "examples": Text("现成的例子：", "Ready to use:"),
    "stories": Text("编出来的小故事", "Made-up little stories"),
    "manual": Text("Python 手册（英文）", "Python's manual"),
    "characters": Text("{n} 个字符，{different} 种", "{n} characters, {different} different ones"),
    "probe": Text("要观察的句子", "The sentence to watch"),
    "probe_hint": Text(
        "最多 {most} 个字符，只能用文字里出现过的字符。",
        "{most} characters at most, all of which must occur in the text.",
    ),
    "name": Text("取个名字", "A name for it"),
    "size": Text("模型大小", "Size of the model"),
    "mini": Text("2 层，每层 2 个头，宽 64（最快）", "2 layers of 2 heads, width 64 (fastest)"),
    "tiny": Text("4 层，每层 4 个头，宽 128", "4 layers of 4 heads, width 128"),
    "steps": Text("训练步数", "Steps"),
    "start": Text("开始训练", "Start training"),
    "stop": Text("停止", "Stop"),
    "again": Text("再训练一个", "Train another"),
    "progress": Text("训练进度", "Progress of the training"),
    "preparing": Text("正在准备……", "Preparing …"),
    "training": Text("正在训练“{run}”。", "Training “{run}”."),
    "stopping": Text("正在停下并保存……", "Stopping, and saving …"),
    "finished": Text("“{run}”训练完了。", "“{run}” is trained."),
    "stopped": Text("“{run}”停在第 {step} 步，已保存。", "“{run}” stopped after step {step}, and is saved."),
    "stopped_early": Text("还没开始就停下了，什么也没留下。", "Stopped before it began; nothing was kept."),
    "failed": Text("训练失败：{reason}", "The training failed: {reason}"),
    "figures": Text("第 {step} / {steps} 步", "step {step} of {steps}"),
    "left": Text("大约还要 {time}", "about {time} left"),
    "minutes": Text("{minutes} 分 {seconds} 秒", "{minutes} min {seconds} s"),
    "seconds": Text("{seconds} 秒", "{seconds} s"),
    "speed": Text("每秒 {n} 个词元", "{n} tokens a second"),
    "model": Text("{n} 个参数，词表 {vocabulary}", "{n} parameters, a vocabulary of {vocabulary}"),
    "curve": Text("损失曲线", "The loss as it falls"),
    "curve_axes": Text("每个词元的损失（奈特）↑ · 步 →", "loss per token (nats) ↑ · step →"),
    "curve_training": Text("训练", "training"),
    "curve_validation": Text("验证（留出的文字）", "validation (held-out text)"),
    "curve_nothing": Text("什么也不知道：ln {vocabulary}", "knowing nothing: ln {vocabulary}"),
    "curve_now": Text(
        "训练损失 {loss}，验证损失 {valid}，什么也不知道时是 {nothing}。",
        "Training loss {loss}, validation loss {valid}; knowing nothing it is {nothing}.",
    ),
    "watch": Text("看一个头怎样学会", "Watch a head learn"),
    "watch_note": Text(
        "行是正在读的词元，列是它看的词元；一行加起来是 1。“·”表示不到 0.005，斜线处是后文，看不到。",
        "A row is the token that reads, a column one that it looks at; a row adds up to 1. “·” is less than "
        "0.005; hatched is what comes later and cannot be seen.",
    ),
    "layer": Text("层", "Layer"),
    "head": Text("头", "Head"),
    "moment": Text("时刻", "Moment"),
    "step": Text("第 {step} 步", "step {step}"),
    "untrained": Text("第 0 步（还没训练）", "step 0 (untrained)"),
    "play": Text("播放", "Play"),
    "pause": Text("暂停", "Pause"),
    "forward": Text("下一个时刻", "Next moment"),
    "heat": Text("第 {layer} 层，头 {head}，第 {step} 步", "layer {layer}, head {head}, step {step}"),
    "sample": Text("这时它这样接着写", "How it goes on, at this step"),
    "look_inside": Text("打开这次训练，看里面", "Open this run and look inside"),
    "unreachable": Text("联系不上服务器；它还在运行吗？", "The server does not answer. Is it still running?"),
    "no_file": Text("这个文件不是 UTF-8 文本，或者太大。", "This file is no UTF-8 text, or too large."),
    "off": Text(
        "服务器也在接受别的电脑的访问，所以不开放训练。只在本机运行 `glassformer lab`，这里就能训练。",
        "This server listens to other computers, so it does not train. Run `glassformer lab` for this "
        "computer alone, and you can train here.",
    ),
    "scripts": Text(
        "训练要用到脚本，请在浏览器里打开。", "Training here takes scripts; allow them in your browser."
    ),
    # what the server says
    "busy": Text("已经有一个训练在进行；先停下它。", "A training is going on already; stop it first."),
    "too_short": Text(
        "文字有 {n} 个字符，至少要 {fewest} 个。",
        "The text has {n} characters; at least {fewest} are needed.",
    ),
    "too_long": Text(
        "文字有 {n} 字节，最多 {most} 字节。", "The text has {n} bytes; {most} are the most that is taken."
    ),
    "one_character": Text(
        "文字里只有一种字符，没有什么可学的。",
        "The text has one distinct character; there is nothing to learn.",
    ),
    "probe_lacks": Text(
        "要观察的句子里有文字中没有的字符：{characters}",
        "The sentence to watch has characters that the text lacks: {characters}",
    ),
    "no_probe": Text(
        "要观察的句子是空的；写几个文字里出现过的字符。",
        "The sentence to watch is empty; write some characters that occur in the text.",
    ),
    "long_probe": Text(
        "要观察的句子有 {n} 个字符，最多 {most} 个。",
        "The sentence to watch has {n} characters; {most} are the most.",
    ),
    "time_up": Text("{minutes} 分钟的时限到了。", "The {minutes} minutes that a training may take are over."),
    "killed": Text(
        "它没有按时停下，被强行结束；最后保存的一步还在。",
        "It did not stop in time and was ended; the step saved last is kept.",
    ),
    "died": Text(
        "训练进程意外结束（代码 {code}）。", "the process that trains ended unexpectedly (code {code})."
    ),
    "no_moment": Text("没有这个时刻。", "There is no such moment."),
}


def say(key: str, language: Language, **values: object) -> str:
    """One text in one language, with its gaps filled."""
    text: str = getattr(WORDS[key], language)
    return text.format(**values) if values else text
