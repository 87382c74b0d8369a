"""C5: the alignment of source and target is learned."""

import random
from collections.abc import Callable
from functools import partial

import numpy as np

from ..data import tasks
from ..data.parallel import Pair, Pairs
from ..decoding.translate import alignment, translate
from ..texts import Text, number
from ..training.quiet import translator
from .claim import Claim, Judgement, Measured, Verdict, Work
from .figure import Figure, spread
from .statistics import mean

EXAMPLES, HELD_OUT, EACH = 4_000, 0.1, 100
LETTERS, DIGITS = "abcdefgh", (6, 8)
SETTINGS = ("d_model=32", "batch_size=1024", "lr=0.01", "context=24", f"valid_fraction={HELD_OUT}")
MOST = 0.5  # of the positions: what is aligned by more than chance alone must be aligned in most places


def _backwards(chance: random.Random) -> tasks.Example:
    return tasks.reversed_("".join(chance.choices(LETTERS, k=chance.randint(*DIGITS))))


def _number(chance: random.Random) -> tasks.Example:
    digits = chance.randint(*DIGITS)
    return tasks.chinese(chance.randrange(10 ** (digits - 1), 10**digits))


TASKS: dict[str, tuple[Callable[[random.Random], tasks.Example], Text]] = {
    "backwards": (_backwards, Text("倒写字母", "letters backwards")),
    "numbers": (_number, Text("数字写成汉字", "numbers as Chinese words")),
}


def measure(work: Work) -> Measured:
    """For each task and seed, before and after training: `hit` and `near`, the shares of target positions
    whose largest weight lies on a true source position, or on one beside it; and of `before` and `after`, on
    which side of it."""
    steps, seeds = work.choose(200, 800), work.choose(range(2), range(4))
    return {"steps": steps, **work.table(TASKS, seeds, partial(_aligned, steps))}


def _aligned(steps: int, task: str, seed: int) -> dict[str, float]:
    chance = random.Random(seed)
    drawn = {example.source: example for example in (TASKS[task][0](chance) for _ in range(EXAMPLES))}
    lines = [(example.source, example.target) for example in drawn.values()]
    found: dict[str, float] = {}
    for name, count in (("untrained", 0), ("trained", steps)):
        model, tokenizer = translator(lines, [*SETTINGS, f"steps={count}", f"seed={seed}"])
        kept = Pairs([Pair(*line) for line in lines], tokenizer).split(HELD_OUT)[1][:EACH]
        asked = [drawn[pair.source] for pair in kept]
        peaks = []
        for pair in kept:
            source, target = (tokenizer.encode(text).tolist() for text in pair)
            weights = alignment(model, source, target, tokenizer.start)
            peaks.append(weights[:-1].argmax(1).tolist())  # all but END's
        for reach, what in enumerate(("hit", "near")):
            right, by_chance = hits(asked, peaks, reach)
            found |= {f"{name}_{what}": right, f"chance_{what}": by_chance}
        found |= {side: beside(asked, peaks, step) for side, step in (("before", -1), ("after", 1))}
    written = translate(model, tokenizer, [example.source for example in asked])
    found["right"] = float(np.mean([a == e.target for a, e in zip(written, asked, strict=True)]))
    return found


def beside(examples: list[tasks.Example], peaks: list[list[int]], step: int) -> float:
    """The share of target positions that come from some place whose peak lies on none of them, but so many
    places from one."""
    found = [
        peak not in true and peak - step in true
        for example, row in zip(examples, peaks, strict=True)
        for peak, true in zip(row, example.alignment, strict=True)
        if true
    ]
    return float(np.mean(found))


def hits(examples: list[tasks.Example], peaks: list[list[int]], reach: int) -> tuple[float, float]:
    """The share of target positions that come from some place whose peak lies on it, or no further away than
    `reach`; and that of a peak anywhere by chance."""
    right, by_chance, count = 0, 0.0, 0
    for example, row in zip(examples, peaks, strict=True):
        places = range(len(example.source))
        for peak, true in zip(row, example.alignment, strict=True):
            near = {p for p in places if any(abs(p - q) <= reach for q in true)}
            right += peak in near
            by_chance += len(near) / len(places)
            count += bool(true)
    return right / count, by_chance / count


def judge(measured: Measured) -> Judgement:
    """It holds if in each task the peak lies surely in MOST positions on a true place, and more often than
    both without training and by chance; within a place if only places beside it count as well."""
    ways = [what for what in ("hit", "near") if all(_learned(measured, name, what) for name in TASKS)]

    def told(name: str, state: str, what: str) -> str:
        return f"{number(100 * mean([run[f'{state}_{what}'] for run in measured[name]]).mean, 0)} %"

    zh, en = [], []
    for name, (_, title) in TASKS.items():
        hit, before, by_chance = (told(name, state, "hit") for state in ("trained", "untrained", "chance"))
        near, beside = told(name, "trained", "near"), told(name, "chance", "near")
        zh.append(
            f"{title.zh}：在 {hit} 的目标位置上，权重最大的正是来源（未训练 {before}，随机 {by_chance}）；"
            f"算上左右相邻的位置，为 {near}（随机 {beside}）。"
        )
        en.append(
            f"{title.en[0].upper()}{title.en[1:]}: at {hit} of the target positions the largest weight lies "
            f"on a true place (untrained {before}, by chance {by_chance}); counting the places beside it, at "
            f"{near} (by chance {beside})."
        )
    found = Text("".join(zh), " ".join(en))
    if "hit" in ways:
        return Judgement(Verdict.HOLDS, found)
    if measured["quick"]:
        return Judgement(Verdict.UNDECIDED, found)
    if "near" in ways:
        zh, en = [], []
        for name, (_, title) in TASKS.items():
            before, after, right = (
                f"{number(100 * mean([run[what] for run in measured[name]]).mean, 0)} %"
                for what in ("before", "after", "right")
            )
            zh.append(f"{title.zh}，{before} 落在前一个位置上，{after} 落在后一个，答案 {right} 完全写对")
            en.append(
                f"{title.en}, at {before} on the place before, at {after} on that after, and {right} of the "
                "answers are right throughout"
            )
        reason = Text(
            f"偏了的，偏在哪边：{'；'.join(zh)}。倒着写时，源文本里的后一个字母就是刚写过的那个；编码器从两个方向"
            "读，每处的向量也带着邻居，偏一个位置仍够用。",
            f"Where it lies beside the place: {'; '.join(en)}. In writing backwards "
            "the place after is that of the letter just written; the encoder reads both ways, so that each "
            "of its vectors holds its neighbours and one place away is near enough.",
        )
        return Judgement(
            Verdict.WITHIN, found, reason, Text("左右相差一个位置的范围内", "one place to either side")
        )
    return Judgement(Verdict.FAILS, found)


def _learned(measured: Measured, name: str, what: str) -> bool:
    runs = measured[name]
    trained = mean([run[f"trained_{what}"] for run in runs])
    gained = mean(
        [run[f"trained_{what}"] - max(run[f"untrained_{what}"], run[f"chance_{what}"]) for run in runs]
    )
    return trained.low > MOST and gained.low > 0


def figures(measured: Measured) -> tuple[Figure, ...]:
    states = {
        "chance": Text("随机", "by chance"),
        "untrained": Text("未训练", "untrained"),
        "trained": Text("训练后", "trained"),
    }
    series = []
    for name, (_, title) in TASKS.items():
        for what, exact in (("hit", Text("正中", "exactly")), ("near", Text("±1", "±1"))):
            shares = [[run[f"{state}_{what}"] for run in measured[name]] for state in states]
            label = Text(f"{title.zh}，{exact.zh}", f"{title.en}, {exact.en}")
            series.append(spread(label, range(len(states)), shares, within=(0, 1), joined=False))
    return (
        Figure(
            Text("权重最大处落在来源上的比例", "Largest weight on the true place"),
            Text("模型", "model"),
            Text("目标位置的比例", "share of target positions"),
            tuple(series),
            x_names=tuple(states.values()),
        ),
    )


CLAIM = Claim(
    "C5",
    Text("对齐是学出来的", "Alignment is learned"),
    Text(
        "没有人告诉模型哪个源位置对应哪个目标位置，注意力的权重 α 却会自己学到。",
        "Nobody tells the model which place of the source belongs to which place of the target; the weights "
        "α of attention come to show it all the same.",
    ),
    Text(
        "两个来源已知的任务：把字母倒着写；把数字写成汉字（三百二十一里的“三百”来自 3）。"
        "在没见过的例子上，数一数每个目标位置权重最大的地方是不是它的来源，与同一模型训练前、与随机猜相比。"
        "若不到一半的位置对得上，或不比训练前和随机更好，就不成立。误差线是各个种子的 95 % 区间。",
        "Two tasks whose alignment is known: letters written backwards, and numbers written as Chinese "
        "words, where each word comes from its digit. In examples that were not learned from, count the "
        "target positions whose largest weight lies on a place that they come from, against the same model "
        "before training and against chance. It does not hold if these are fewer than half, or no more "
        "than before or by chance. Bars are intervals of 95 % over seeds.",
    ),
    measure,
    judge,
    figures,
    trains=True,
)
