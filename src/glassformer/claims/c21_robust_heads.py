"""C21: several heads make training robust to bad starts."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..data.batches import IGNORE, Batch
from ..models import GPT, GPTConfig
from ..texts import Language, Text, number
from ..training.quiet import final_loss
from ..training.settings import TrainConfig
from ..training.task import Forward, next_token_loss
from .claim import Claim, Judgement, Measured, Verdict, Work
from .figure import NOT_NEGATIVE, Figure, Series, means
from .statistics import Mean, bootstrap, mean

HEADS, WIDTH = (1, 2, 4, 8), 32
SCALES = (0.125, 1, 4)
"""The standard deviation of the first matrices, in 1/√D: at 1 they keep the variance of what they take, the
others are too small and too large."""
SYMBOLS, PAIRS, ROWS = 8, 6, 32
HELD_OUT = 8  # batches


@dataclass(frozen=True)
class Lookup:
    """PAIRS of a key and a value, each pair one token, then the keys in another order: at each of these its
    value is to be told. Keys and values are 0 … SYMBOLS - 1."""

    seed: int

    def training_batches(self, step: int) -> list[Batch]:
        return [lookup(np.random.default_rng([self.seed, step]))]

    def validation_batches(self) -> Iterable[Batch]:
        chance = np.random.default_rng(0)  # the same for all
        return (lookup(chance) for _ in range(HELD_OUT))

    def loss_sum(self, model: Forward, batch: Batch) -> Tensor:
        return next_token_loss(model, batch)


def lookup(chance: np.random.Generator) -> Batch:
    """ROWS of 2 PAIRS tokens. A pair is key · SYMBOLS + value; keys that ask are numbered after the pairs."""
    keys = chance.random((ROWS, SYMBOLS)).argsort(1)[:, :PAIRS]
    values = chance.integers(SYMBOLS, size=(ROWS, PAIRS))
    order = chance.random((ROWS, PAIRS)).argsort(1)
    asked, answers = (np.take_along_axis(table, order, 1) for table in (keys, values))
    inputs = np.concatenate((keys * SYMBOLS + values, SYMBOLS**2 + asked), 1)
    targets = np.concatenate((np.full_like(keys, IGNORE), answers), 1)
    return Batch(torch.from_numpy(inputs), torch.from_numpy(targets))


def measure(work: Work) -> Measured:
    """The final loss (nats) for each number of heads, by seed and scale."""
    steps, seeds = work.choose(150, 400), work.choose(range(2), range(16))
    losses = work.table(HEADS, [(seed, scale) for seed in seeds for scale in SCALES], partial(_final, steps))
    by_seed = {heads: np.reshape(row, (-1, len(SCALES))).tolist() for heads, row in losses.items()}
    return {"steps": steps, "heads": HEADS, "scales": SCALES, **by_seed}


def _final(steps: int, heads: int, key: tuple[int, float]) -> float:
    seed, scale = key
    torch.manual_seed(seed)
    model = GPT(
        GPTConfig(
            SYMBOLS**2 + SYMBOLS,
            context=2 * PAIRS,
            n_layers=1,
            n_heads=heads,
            d_model=WIDTH,
            positions="learned",
        )
    )
    for matrix in model.blocks.parameters():
        if matrix.dim() == 2:
            torch.nn.init.normal_(matrix, std=scale * WIDTH**-0.5)
    train = TrainConfig(steps=steps, lr=3e-3, warmup=20, eval_every=steps, seed=seed, device="cpu")
    return final_loss(model, Lookup(seed), train)


def _losses(measured: Measured, heads: int, scale: float | None = None) -> NDArray[np.float64]:
    """The final losses by seed and scale, or at one scale alone."""
    found: NDArray[np.float64] = np.array(measured[str(heads)], dtype=float)
    return found if scale is None else found[:, [measured["scales"].index(scale)]]


def spread(measured: Measured, heads: int, scale: float | None = None) -> Mean:
    """The standard deviation of the final loss over seeds and, without a `scale`, over scales as well; seeds
    are drawn again."""
    return bootstrap(_losses(measured, heads, scale), lambda rows: float(rows.std()))


def _ratio(measured: Measured, heads: int, scale: float | None = None, level: float = 0.95) -> Mean:
    """The spread with so many heads as a multiple of that with one."""
    one, several = (_losses(measured, h, scale) for h in (1, heads))
    n = one.shape[1]
    rows = np.concatenate((one, several), 1)
    return bootstrap(rows, lambda drawn: float(drawn[:, n:].std() / drawn[:, :n].std()), level=level)


def robust(measured: Measured, heads: int, scale: float | None = None, tried: int = 1) -> bool:
    """Whether the spread is surely smaller than with one head, and the mean loss not surely higher, for what
    never learns is robust as well. Of so many that are `tried`, each is asked more (Bonferroni)."""
    worse = _losses(measured, heads, scale) - _losses(measured, 1, scale)
    level = 1 - 0.05 / tried
    return _ratio(measured, heads, scale, level).high < 1 and mean(worse.mean(1).tolist()).low <= 0


def judge(measured: Measured) -> Judgement:
    """It holds if over all seeds and scales every number of heads above one is robust; else within those
    numbers of heads, over all starts or from one of the bad ones, that are so by themselves: as many are
    tried, each is asked more."""
    several, scales = measured["heads"][1:], measured["scales"]
    spreads = [spread(measured, heads).mean for heads in measured["heads"]]
    means = [float(_losses(measured, heads).mean()) for heads in measured["heads"]]

    def listed(values: Iterable[float], mark: str) -> str:
        return mark.join(number(value, 2) for value in values)

    ratios = Text(_ratios(measured, None, "zh"), _ratios(measured, None, "en"))
    n = len(measured["1"])
    found = Text(
        f"每种头数 {n} 个种子。头数 1、2、4、8 时，最终损失的标准差依次为 "
        f"{listed(spreads, '、')} 奈特，均值为 {listed(means, '、')} 奈特。"
        f"标准差与单头之比（95 % 区间）：{ratios.zh}。",
        f"With 1, 2, 4 and 8 heads, {n} seeds each, the standard deviation of the final loss is "
        f"{listed(spreads, ', ')} nats, its mean {listed(means, ', ')}. As a multiple of that with one head "
        f"(intervals of 95 %): {ratios.en}.",
    )
    if measured["quick"]:  # of two seeds no spread can be told
        return Judgement(Verdict.UNDECIDED, found)
    if all(robust(measured, heads) for heads in several):
        return Judgement(Verdict.HOLDS, found)
    starts = [None, *(scale for scale in scales if scale != 1)]
    tried = len(starts) * len(several)
    by_start = {start: [h for h in several if robust(measured, h, start, tried)] for start in starts}
    sure = {start: heads for start, heads in by_start.items() if heads}
    reason = _by_scale(measured)
    if not sure:
        return Judgement(Verdict.FAILS, found, reason)
    within = Text(
        "、".join(f"{_start(start).zh}用 {'、'.join(map(str, heads))} 个头" for start, heads in sure.items())
        + "时",
        ", ".join(
            f"{' and '.join(map(str, heads))} heads {_start(start).en}" for start, heads in sure.items()
        ),
    )
    return Judgement(Verdict.WITHIN, found, reason, within)


def _start(scale: float | None) -> Text:
    if scale is None:
        return Text("各种开端合在一起、", "over all starts together")
    if scale < 1:
        return Text(f"初始值太小（{scale:g}/√D）、", f"from first weights that are too small ({scale:g}/√D)")
    return Text(f"初始值太大（{scale:g}/√D）、", f"from first weights that are too large ({scale:g}/√D)")


def _ratios(measured: Measured, scale: float | None, language: Language) -> str:
    told = []
    for heads in measured["heads"][1:]:
        ratio = _ratio(measured, heads, scale)
        of = f"{heads} 头" if language == "zh" else f"{heads} heads"
        told.append(f"{of} {number(ratio.mean, 2)}（{number(ratio.low, 2)} – {number(ratio.high, 2)}）")
    if language == "zh":
        return "，".join(told)
    return ", ".join(told).replace("（", " (").replace("）", ")")


def _by_scale(measured: Measured) -> Text:
    """What comes from each bad start: how far the losses differ beside one head, and their means."""
    zh, en = [], []
    for scale in measured["scales"]:
        means = [number(float(_losses(measured, heads, scale).mean()), 2) for heads in measured["heads"]]
        start = f"{scale:g}/√D"
        if scale == 1:
            zh.append(f"从 {start} 开始，均值为 {'、'.join(means)}")
            en.append(f"from {start} the means are {', '.join(means)}")
            continue
        zh.append(f"从 {start} 开始，标准差之比为 {_ratios(measured, scale, 'zh')}，均值 {'、'.join(means)}")
        en.append(
            f"from {start} the multiples are {_ratios(measured, scale, 'en')}, the means {', '.join(means)}"
        )
    return Text(f"开端不同，结果也不同：{'；'.join(zh)}。", f"It depends on the start: {'; '.join(en)}.")


def figures(measured: Measured) -> tuple[Figure, ...]:
    heads, scales = measured["heads"], measured["scales"]
    names = tuple(Text(f"{h} 头", f"{h} head" + "s" * (h > 1)) for h in heads)
    each, spreads = [], []
    for k, scale in enumerate(scales):
        x = [n for n, h in enumerate(heads) for _ in measured[str(h)]]
        y = [row[k] for h in heads for row in measured[str(h)]]
        label = Text(f"初始标准差 {scale:g}/√D", f"first deviation {scale:g}/√D")
        each.append(Series(label, x, y, joined=False))
        spreads.append(_spreads(label, measured, scale))
    spreads.append(_spreads(Text("所有开端合在一起", "all starts together"), measured, None))
    across = Text("头数（总宽度相同）", "heads (of equal width together)")
    return (
        Figure(
            Text("每次训练的最终损失", "The final loss of each training"),
            across,
            Text("损失（奈特）", "loss (nats)"),
            tuple(each),
            x_names=names,
        ),
        Figure(
            Text("最终损失的标准差（95 % 区间）", "Deviation of the final loss (intervals of 95 %)"),
            across,
            Text("标准差（奈特）", "standard deviation (nats)"),
            tuple(spreads),
            x_names=names,
        ),
    )


def _spreads(label: Text, measured: Measured, scale: float | None) -> Series:
    found = [spread(measured, heads, scale) for heads in measured["heads"]]
    return means(label, range(len(found)), found, within=NOT_NEGATIVE)


CLAIM = Claim(
    "C21",
    Text("多个头更经得起坏的开端", "Several heads withstand bad starts"),
    Text(
        "总宽度不变，头多了，训练就不那么依赖运气：初始值不好时，最终的损失也相差不大。",
        "At equal width, with several heads training depends less on luck: from bad first weights, too, it "
        "comes to about the same loss.",
    ),
    Text(
        f"任务是查表：先给 {PAIRS} 对“键—值”，再把键打乱逐个问，要答出值。不会查找就学不会，"
        f"而查找正是注意力要从初始值里长出来的本事。一层、宽 {WIDTH} 的小 GPT，头数 1、2、4、8，各 16 个种"
        f"子，初始矩阵的标准差取 1/√D 的 {'、'.join(f'{s:g}' for s in SCALES)} 倍，步数相同。若多头时最终损失"
        "的标准差不比单头小（对种子作自助抽样的 95 % 区间），或均值反而更高，就不成立；各种开端合在一起不成"
        "立时，再按头数和开端分开看，比较的次数多，每次就要求更严（Bonferroni）。",
        f"The task is to look up: {PAIRS} pairs of a key and a value, then the keys in another order, whose "
        "values are to be told. Nothing but looking up helps, and that is what attention has to grow out "
        f"of its first weights. Small GPTs of one layer and width {WIDTH} with 1, 2, 4 and 8 heads, 16 seeds "
        f"each, first matrices of standard deviation {', '.join(f'{s:g}' for s in SCALES)} times 1/√D, all "
        "trained for as many steps. It does not hold if the standard deviation of the final loss is not "
        "smaller than with one head (interval of 95 %, seeds drawn again), or its mean is higher; where it "
        "does not hold over all together, each number of heads and each start is looked at by itself, and as "
        "these are many, each is asked more (Bonferroni).",
    ),
    measure,
    judge,
    figures,
    trains=True,
)
