"""C8: without 1/√d_k softmax saturates."""

import torch
from torch import Tensor

from ..nn.attention import attend
from ..texts import Text, number
from .claim import Claim, Judgement, Measured, Verdict, Work
from .figure import Figure, Series, spread
from .statistics import exponent, mean

WIDTHS = tuple(2**i for i in range(1, 11))
KEYS, QUERIES, D_V, SEEDS = 64, 256, 16, 10
SATURATED = 0.9  # a largest weight
NAMES = ("largest", "slopes", "scores", "scores_median", "q", "q_median")


class Scores:
    """A tap that keeps scores and weights, with their gradients."""

    def __init__(self) -> None:
        self.seen: dict[str, Tensor] = {}

    def wants(self, name: str) -> bool:
        return name in {"scores", "weights"}

    def at(self, path: str) -> "Scores":
        return self

    def __call__(self, name: str, tensor: Tensor) -> Tensor:
        tensor.retain_grad()
        self.seen[name] = tensor
        return tensor


def measure(work: Work) -> Measured:
    """What `saturation` finds at each d_k with every seed, without and with the scale."""
    found = work.parts("widths", WIDTHS, _both)
    return {
        "widths": WIDTHS,
        "without": {name: [each[0][name] for each in found] for name in NAMES},
        "with": {name: [each[1][name] for each in found] for name in NAMES},
    }


def _both(d_k: int) -> list[dict[str, list[float]]]:
    runs = [[saturation(d_k, seed, scale) for seed in range(SEEDS)] for scale in (1.0, d_k**-0.5)]
    return [{name: [run[name] for run in of] for name in NAMES} for of in runs]


def saturation(d_k: int, seed: int, scale: float) -> dict[str, float]:
    """Over the queries: the mean largest weight, the mean Σ p_i(1 - p_i), and means and medians of the length
    of two gradients, by a query's scores and by q. The loss has a random gradient by attention's output, with
    components of variance 1."""
    chance = torch.Generator().manual_seed(seed)
    q, k, v, above = (
        torch.randn(rows, d, generator=chance, dtype=torch.float64)
        for rows, d in ((QUERIES, d_k), (KEYS, d_k), (KEYS, D_V), (QUERIES, D_V))
    )
    q.requires_grad_()
    tap = Scores()
    (attend(q, k, v, scale=scale, tap=tap) * above).sum().backward()  # type: ignore[no-untyped-call]
    scores, weights = tap.seen["scores"], tap.seen["weights"].detach()
    assert scores.grad is not None
    assert q.grad is not None
    of_scores, of_q = scores.grad.norm(dim=-1), q.grad.norm(dim=-1)
    return {
        "largest": float(weights.amax(-1).mean()),
        "slopes": float((weights * (1 - weights)).sum(-1).mean()),
        "scores": float(of_scores.mean()),
        "scores_median": float(of_scores.median()),
        "q": float(of_q.mean()),
        "q_median": float(of_q.median()),
    }


def judge(measured: Measured) -> Judgement:
    """It holds if by the intervals over the seeds, at the largest d_k, without the scale the largest weight
    is above SATURATED, Σ p_i(1 - p_i) and the gradient by the scores are less than half of those with it, and
    the one by q is more than twice as large, and larger than at the smallest d_k; and if with the scale none
    of them moves by more than a half over all d_k."""
    without, scaled = (
        {name: [mean(seeds) for seeds in measured[scale][name]] for name in NAMES}
        for scale in ("without", "with")
    )
    first, last = ({name: means[at] for name, means in without.items()} for at in (0, -1))
    kept = {name: means[-1] for name, means in scaled.items()}
    wide = measured["widths"].index(64)
    power = exponent(measured["widths"][wide:], [m.mean for m in without["slopes"][wide:]])
    widest = measured["widths"][-1]
    found = Text(
        f"不缩放，d_k 从 2 到 {widest}：最大权重平均从 {number(first['largest'].mean, 2)} 升到 "
        f"{number(last['largest'].mean, 2)}；Σp_i(1−p_i) 从 {number(first['slopes'].mean, 2)} 降到 "
        f"{number(last['slopes'].mean, 3)}，大约按 d_k 的 {number(power, 2)} 次方；对分数的梯度，中位数从 "
        f"{number(first['scores_median'].mean, 2)} 降到 {number(last['scores_median'].mean, 4)}，均值从 "
        f"{number(first['scores'].mean, 2)} 降到 {number(last['scores'].mean, 2)}。缩放后最大权重、Σ"
        f"p_i(1−p_i) 和中位数一直在 {number(kept['largest'].mean, 2)}、{number(kept['slopes'].mean, 2)}、"
        f"{number(kept['scores_median'].mean, 2)} 左右。对 q 的梯度，不缩放时均值从 "
        f"{number(first['q'].mean, 1)} 升到 {number(last['q'].mean, 1)}：分数的梯度乘上长约 √d_k 的键，没有 "
        f"1/√d_k 抵消；撑起均值的是少数未饱和的查询，中位数只有 {number(last['q_median'].mean, 2)}。",
        f"Without the scale, from d_k = 2 to {widest}: the mean largest weight rises from "
        f"{number(first['largest'].mean, 2)} to {number(last['largest'].mean, 2)}; Σp_i(1−p_i) falls from "
        f"{number(first['slopes'].mean, 2)} to {number(last['slopes'].mean, 3)}, about as d_k to the power "
        f"{number(power, 2)}; the gradient with respect to the scores from "
        f"{number(first['scores_median'].mean, 2)} to {number(last['scores_median'].mean, 4)} in the median, "
        f"from {number(first['scores'].mean, 2)} to {number(last['scores'].mean, 2)} in the mean. With it "
        f"the weight, the sum and the median stay near {number(kept['largest'].mean, 2)}, "
        f"{number(kept['slopes'].mean, 2)} and {number(kept['scores_median'].mean, 2)}. The mean gradient "
        f"with respect to q rises from {number(first['q'].mean, 1)} to {number(last['q'].mean, 1)} without "
        "it, as the scores' gradient meets keys of length √d_k with no 1/√d_k against them; few unsaturated "
        f"queries carry that mean, the median is {number(last['q_median'].mean, 2)}.",
    )
    saturated = last["largest"].low > SATURATED and all(
        last[name].high < kept[name].low / 2 for name in ("slopes", "scores", "scores_median")
    )
    grown = last["q"].low > max(2 * kept["q"].high, first["q"].high)
    steady = all(max(m.mean for m in of) < 1.5 * min(m.mean for m in of) for of in scaled.values())
    return Judgement(Verdict.HOLDS if saturated and grown and steady else Verdict.FAILS, found)


def figures(measured: Measured) -> tuple[Figure, ...]:
    widths = measured["widths"]
    scales = {"without": Text("不缩放", "without the scale"), "with": Text("乘 1/√d_k", "times 1/√d_k")}

    def curves(**names: Text) -> tuple[Series, ...]:
        return tuple(
            spread(Text(f"{what.zh}，{scale.zh}", f"{what.en}, {scale.en}"), widths, measured[key][name])
            for key, scale in scales.items()
            for name, what in names.items()
        )

    width = Text("每个头的宽度 d_k", "width of a head, d_k")
    length = Text("梯度的长度", "length of the gradient")
    middle, median = Text("均值", "mean"), Text("中位数", "median")
    return (
        Figure(
            Text(f"softmax 饱和（{KEYS} 个键）", f"Softmax saturates ({KEYS} keys)"),
            width,
            Text("查询上的均值", "mean over the queries"),
            curves(largest=Text("最大权重", "largest weight"), slopes=Text("Σp_i(1−p_i)", "Σp_i(1−p_i)")),
            log_x=True,
        ),
        Figure(
            Text("对分数的梯度", "Gradient by the scores"),
            width,
            length,
            curves(scores=middle, scores_median=median),
            log_x=True,
            log_y=True,
        ),
        Figure(
            Text("对 q 的梯度", "Gradient by q"),
            width,
            length,
            curves(q=middle, q_median=median),
            log_x=True,
            log_y=True,
        ),
    )


CLAIM = Claim(
    "C8",
    Text("不缩放，softmax 就饱和", "Without the scale, softmax saturates"),
    Text(
        "不除以 √d_k，softmax 会饱和，p_i(1−p_i) → 0，对分数的梯度消失。",
        "Without 1/√d_k softmax saturates: p_i(1−p_i) → 0, and the gradient with respect to the scores dies.",
    ),
    Text(
        f"q、k、v 的分量都是标准正态，{KEYS} 个键，{QUERIES} 个查询，{SEEDS} 个种子，d_k 从 2 到 1024。"
        "损失对注意力输出的梯度是随机的；量最大权重、softmax 的斜率，以及对分数（进入 softmax 的数）和对 q 的"
        "梯度。",
        f"Components of q, k and v are standard normal, with {KEYS} keys, {QUERIES} queries, {SEEDS} seeds, "
        "and d_k from 2 to 1,024. The loss has a random gradient with respect to attention's output. "
        "Measured: the largest weight, softmax's slopes, and the gradients with respect to the scores, as "
        "they enter softmax, and to q.",
    ),
    measure,
    judge,
    figures,
)
