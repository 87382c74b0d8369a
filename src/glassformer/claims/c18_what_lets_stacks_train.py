"""C18: residuals, norms, and where the norm stands decide whether deep stacks train."""

from collections.abc import Sequence

import numpy as np

from ..texts import Text, number, power_of_ten
from .claim import Claim, Judgement, Measured, Verdict, Work
from .figure import Figure, Series
from .stacks import VARIANTS, final_loss, gap_by_block, gradient_by_block, loss_of_frequencies, text
from .statistics import Mean, mean

GAIN = 0.2  # nats below the entropy of single letters, from which a stack counts as trained

NAMES = {
    "residual, pre": Text("有残差，先归一化", "residual, pre-norm"),
    "residual, post": Text("有残差，后归一化", "residual, post-norm"),
    "residual, none": Text("有残差，不归一化", "residual, no norm"),
    "none, pre": Text("无残差，先归一化", "no residual, pre-norm"),
    "none, post": Text("无残差，后归一化", "no residual, post-norm"),
    "none, none": Text("无残差，不归一化", "no residual, no norm"),
}


def measure(work: Work) -> Measured:
    depths = work.choose((2, 24), (2, 6, 12, 24))
    rates = work.choose((5e-3,), (1e-3, 3e-3))
    steps, seeds = work.choose(100, 200), range(work.choose(2, 3))
    trainings = [(v, d, r, s) for v in VARIANTS for d in depths for r in rates for s in seeds]
    losses = iter(work.parts("loss", trainings, lambda key: final_loss(*key, steps)))
    gradients = [(v, s) for v in VARIANTS for s in seeds]
    norms = iter(work.parts("gradient", gradients, lambda key: gradient_by_block(*key, depths[-1])))
    gaps = iter(work.parts("gap", gradients, lambda key: gap_by_block(*key, depths[-1])))
    return {
        "depths": depths,
        "rates": rates,
        "steps": steps,
        "entropy": text()[2],
        "frequencies": work.parts("frequencies", seeds, lambda seed: loss_of_frequencies(seed, steps)),
        "losses": {v: [[[next(losses) for _ in seeds] for _ in rates] for _ in depths] for v in VARIANTS},
        "gradients": {v: [next(norms) for _ in seeds] for v in VARIANTS},
        "gaps": {v: [next(gaps) for _ in seeds] for v in VARIANTS},
    }


def _gains(measured: Measured, name: str) -> list[Mean]:
    """By depth, at the best of the rates: how far a loss comes below that of single letters in the same
    windows. A training without a finite loss gains nothing."""
    known = measured["frequencies"]

    def gain(losses: list[float | None]) -> Mean:
        return mean([0.0 if loss is None else k - loss for k, loss in zip(known, losses, strict=True)])

    return [max(map(gain, by_rate)) for by_rate in measured["losses"][name]]


def judge(measured: Measured) -> Judgement:
    """At the greatest depth, by intervals over the seeds: with a residual stream and a norm before, a stack
    must train (gain more than GAIN). Of that stack one thing is taken away or moved at a time: it decides if
    the stack then gains less, or, for the place of the norm, otherwise."""
    best = {name: _gains(measured, name)[-1] for name in VARIANTS}
    pre, post = best["residual, pre"], best["residual, post"]
    decides = {
        "residual": _apart(pre, best["none, pre"]),
        "norm": _apart(pre, best["residual, none"]),
        "place": _apart(pre, post) or _apart(post, pre),
    }
    depth, depths = measured["depths"][-1], measured["depths"]
    told = [_told(measured, name, best[name]) for name in VARIANTS]
    gap = {name: _power([seed[-1] for seed in measured["gaps"][name]]) for name in VARIANTS}
    found = Text(
        f"{depth} 层，训练 {measured['steps']} 步，损失比单字母的熵（{number(measured['entropy'], 2)} 奈特）"
        f"低多少：{'；'.join(text.zh for text in told)}。能训到多深（{'、'.join(map(str, depths))} 层里）："
        + "；".join(f"{NAMES[name].zh} {_deepest(measured, name)}" for name in VARIANTS)
        + "。",
        f"{depth} blocks after {measured['steps']} steps, nats below the {number(measured['entropy'], 2)} of "
        f"single letters: {'; '.join(text.en for text in told)}. The deepest that trained, of "
        f"{', '.join(map(str, depths))}: "
        + "; ".join(f"{NAMES[name].en} {_deepest(measured, name)}" for name in VARIANTS)
        + ".",
    )
    reason = Text(
        "梯度的大小只是一半原因：没有残差又不归一化，首块的梯度是末块的 "
        f"{_span(measured, 'none, none')} 倍；有归一化时梯度并不小，可是没有残差，各个位置的向量就越来越像："
        f"最后一块的输出，两个位置相差（1 − 余弦）平均 {gap['none, pre']}（无残差，先归一化），有残差则是 "
        f"{gap['residual, pre']}。",
        "The size of gradients is half of the cause: with neither residuals nor norms the first block's is "
        f"{_span(measured, 'none, none')} times the last one's. With norms gradients are not small, but "
        "without residuals the vectors of all places become alike: after the last block two of them differ "
        f"by 1 − cosine = {gap['none, pre']} with pre-norm and no residuals, {gap['residual, pre']} with "
        "them.",
    )
    if pre.low > GAIN and all(decides.values()):
        return Judgement(Verdict.HOLDS, found, reason)
    if measured["quick"]:
        return Judgement(Verdict.UNDECIDED, found)
    if pre.low <= GAIN or not any(decides.values()):
        return Judgement(Verdict.FAILS, found)
    shown = [DECIDERS[name] for name, decisive in decides.items() if decisive]
    within = Text("、".join(s.zh for s in shown) + "上", ", ".join(s.en for s in shown))
    return Judgement(Verdict.WITHIN, found, within=within)


def _told(measured: Measured, name: str, gain: Mean) -> Text:
    """What a kind of block gained at the greatest depth."""
    label = NAMES[name]
    if all(loss is None for by_rate in measured["losses"][name][-1] for loss in by_rate):
        return Text(f"{label.zh} 发散", f"{label.en} diverges")
    value = f"{number(gain.mean, 2)} ± {number(gain.high - gain.mean, 2)}"
    return Text(f"{label.zh} {value}", f"{label.en} {value}")


def _deepest(measured: Measured, name: str) -> int:
    """The greatest depth at which a kind of block gained more than GAIN; 0: none."""
    gains = zip(measured["depths"], _gains(measured, name), strict=True)
    return max((depth for depth, gain in gains if gain.low > GAIN), default=0)


DECIDERS = {
    "residual": Text("残差", "residuals"),
    "norm": Text("有没有归一化", "having norms"),
    "place": Text("先后归一化", "their place"),
}


def _apart(more: Mean, less: Mean) -> bool:
    return more.low > less.high


def _span(measured: Measured, name: str) -> str:
    """The first block's gradient over the last one's."""
    return _power([norms[0] / norms[-1] for norms in measured["gradients"][name]])


def _power(values: list[float]) -> str:
    """The geometric mean, as a power of ten."""
    return power_of_ten(float(np.mean(np.log10(values))))


def figures(measured: Measured) -> tuple[Figure, ...]:
    depth, depths = measured["depths"][-1], measured["depths"]
    by_block: dict[str, list[Series]] = {"gradients": [], "gaps": []}
    by_depth = []
    for name, label in NAMES.items():
        for part, series in by_block.items():
            columns = np.log10(measured[part][name]).T.tolist()
            series.append(_series(label, range(1, depth + 1), list(map(mean, columns)), 10))
        by_depth.append(_series(label, range(len(depths)), _gains(measured, name)))
    return (
        Figure(
            Text(
                f"训练之前：{depth} 层里每个块的梯度长度（几何平均，95 % 区间）",
                f"Before training: the gradient of each of {depth} blocks (geometric means, intervals of 95 "
                "%)",
            ),
            Text("第几块", "block"),
            Text("梯度的长度", "norm of the gradient"),
            tuple(by_block["gradients"]),
            log_y=True,
        ),
        Figure(
            Text(
                "训练之后：损失比单字母的熵低多少（最好的学习率，95 % 区间）",
                "After training: nats below the entropy of single letters (best rate, intervals of 95 %)",
            ),
            Text("块数", "blocks"),
            Text("低多少（奈特）；0 = 什么也没从上文学到", "gain in nats; 0: nothing learned from context"),
            tuple(by_depth),
            x_names=tuple(Text(str(depth), str(depth)) for depth in depths),
        ),
        Figure(
            Text(
                "训练之前：每块的输出里，不同位置的向量差多少（几何平均，95 % 区间）",
                "Before training: how far apart a block's vectors of two places are (geometric means, 95 %)",
            ),
            Text("第几块", "block"),
            Text("1 − 余弦", "1 − cosine"),
            tuple(by_block["gaps"]),
            log_y=True,
        ),
    )


def _series(label: Text, x: Sequence[float], means: list[Mean], base: float | None = None) -> Series:
    """Means with their intervals; with a base, of logarithms."""
    y, low, high = ([base**value if base else value for value in part] for part in zip(*means, strict=True))
    return Series(label, x, y, low, high)


CLAIM = Claim(
    "C18",
    Text("深层靠什么才训得动", "What lets deep stacks train"),
    Text(
        "残差连接、归一化，以及归一化放在子层之前还是之后，决定深层网络训不训得动。",
        "Residual connections, normalisation, and whether it stands before or after the sub-layer decide "
        "whether deep stacks train.",
    ),
    Text(
        "残差有或无，归一化无、在前或在后，共六种块，叠成不同深度的小 GPT，初始方差都一样，末块之后都有一次"
        "归一化。训练之前看每个块的梯度，以及不同位置的向量有多像；再在 Python 手册的字母上短训，每种取最好"
        f"的学习率，看损失比单字母的熵低多少。最深处，有残差、先归一化的若没有低出 {GAIN} 奈特，或每次换掉一"
        "样都分不出高下，就不成立；只有几个分得出，就只在那几个上成立。",
        "Six kinds of blocks, with a residual stream or not, with no norm or one before or after, stacked to "
        "small GPTs of several depths with the same variance of first weights and a norm after the last "
        "block. Before training, the gradient of each block, and how alike its vectors of different places "
        "are; then a short training on the letters of Python's manual, each at its best rate: how far does "
        "the loss come below the entropy of single letters? It does not hold if at the greatest depth the "
        f"stack with residuals and pre-norm gains less than {GAIN} nats, or none of the three makes a "
        "difference; if some do, it holds for those.",
    ),
    measure,
    judge,
    figures,
    trains=True,
)
