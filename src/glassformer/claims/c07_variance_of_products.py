"""C7: products of independent components have variance d_k."""

import math
from typing import Any

import torch

from ..glass.trace import trace
from ..models import GPT, GPTConfig
from ..texts import Text, number
from .claim import Claim, Judgement, Measured, Verdict, Work
from .figure import Figure, Series, spread
from .statistics import exponent, mean

WIDTHS = tuple(2**i for i in range(1, 11))
TRIALS = 20
AT = 64  # the width of which the lecture tells the standard deviation
FRESH_WIDTHS = (16, 32, 64, 128)  # of a head in a fresh GPT
TOKENS = 64


def measure(work: Work) -> Measured:
    """Variances of q·k over `pairs` drawn vectors, TRIALS times for each width; and in fresh GPTs."""
    pairs = work.choose(1_000, 4_000)
    drawn = work.parts("drawn", WIDTHS, lambda d_k: [_variance(d_k, pairs, seed) for seed in range(TRIALS)])
    fresh = work.parts("fresh", FRESH_WIDTHS, _fresh)
    return {
        "pairs": pairs,
        "widths": WIDTHS,
        "variances": drawn,
        "fresh_widths": FRESH_WIDTHS,
        "fresh": fresh,
    }


def _variance(d_k: int, pairs: int, seed: int) -> float:
    chance = torch.Generator().manual_seed(seed)
    q, k = (torch.randn(pairs, d_k, generator=chance, dtype=torch.float64) for _ in range(2))
    return float((q * k).sum(-1).var())


def _fresh(d_k: int) -> dict[str, float]:
    """In the first layer of a fresh GPT: the variances of the components of q and of k, and of q·k."""
    torch.manual_seed(0)
    config = GPTConfig(256, context=TOKENS, n_layers=1, n_heads=4, d_model=4 * d_k, positions="learned")
    found: Any = trace(GPT(config).eval(), torch.randint(256, (TOKENS,)).tolist(), "blocks.0.attention.*")
    q, k = (found[f"blocks.0.attention.{part}"][0].double() for part in "qk")
    products = q @ k.transpose(-1, -2)
    return {"q": float(q.var()), "k": float(k.var()), "products": float(products.var())}


def judge(measured: Measured) -> Judgement:
    """It holds if the interval of the variance's ratio to d_k contains 1 nearly everywhere (of ten widths one
    may miss by chance), and no ratio is further than 5 % from it."""
    ratios = [
        mean([variance / d_k for variance in variances])
        for d_k, variances in zip(measured["widths"], measured["variances"], strict=True)
    ]
    missed = sum(not ratio.low <= 1 <= ratio.high for ratio in ratios)
    farthest = max(abs(ratio.mean - 1) for ratio in ratios)
    power = exponent(
        measured["widths"], [r.mean * d for r, d in zip(ratios, measured["widths"], strict=True)]
    )
    deviation = math.sqrt(AT * ratios[measured["widths"].index(AT)].mean)
    d_k, fresh = measured["fresh_widths"][-1], measured["fresh"][-1]
    foretold = d_k * fresh["q"] * fresh["k"]
    found = Text(
        f"q·k 的方差除以 d_k：与 1 最多差 {number(100 * farthest, 1)} %，"
        f"方差随 d_k 的 {number(power, 3)} 次方增长；d_k = {AT} 时标准差为 {number(deviation, 2)}。"
        f"刚初始化的 GPT（d_k = {d_k}）里，q、k 的分量方差只有 {number(fresh['q'], 2)} 和 "
        f"{number(fresh['k'], 2)}，方差为 1 的前提不成立；q·k 的方差 {number(fresh['products'], 2)}，与 "
        f"d_k·Var(q)·Var(k) = {number(foretold, 2)} 相近。",
        f"The variance of q·k over d_k is 1 to within {number(100 * farthest, 1)} %, and grows as d_k to the "
        f"power {number(power, 3)}; at d_k = {AT} its standard deviation is {number(deviation, 2)}. In a "
        f"fresh GPT of d_k = {d_k} the components of q and k have variances {number(fresh['q'], 2)} and "
        f"{number(fresh['k'], 2)}, not the 1 of the premise; q·k has {number(fresh['products'], 2)}, near "
        f"d_k·Var(q)·Var(k) = {number(foretold, 2)}.",
    )
    holds = missed <= 1 and farthest < 0.05
    return Judgement(Verdict.HOLDS if holds else Verdict.FAILS, found)


def figures(measured: Measured) -> tuple[Figure, ...]:
    widths = measured["widths"]
    return (
        Figure(
            Text("q·k 的方差", "The variance of q·k"),
            Text("每个头的宽度 d_k", "width of a head, d_k"),
            Text("方差", "variance"),
            (
                spread(
                    Text("随机的 q、k（95 % 区间）", "drawn q and k (interval of 95 %)"),
                    widths,
                    measured["variances"],
                    joined=False,
                ),
                Series(Text("d_k", "d_k"), widths, widths, dots=False),
                Series(
                    Text("刚初始化的 GPT", "a fresh GPT"),
                    measured["fresh_widths"],
                    [fresh["products"] for fresh in measured["fresh"]],
                ),
            ),
            log_x=True,
            log_y=True,
        ),
    )


CLAIM = Claim(
    "C7",
    Text("点积的方差等于 d_k", "A dot product's variance is d_k"),
    Text(
        "若 q 与 k 的分量相互独立、均值 0、方差 1，则 q·k 的方差是 d_k；d_k = 64 时标准差为 8。",
        "If the components of q and k are independent, with mean 0 and variance 1, q·k has variance d_k; at "
        "d_k = 64 its standard deviation is 8.",
    ),
    Text(
        f"对 2 到 1024 的每个 d_k 抽取许多对正态向量，重复 {TRIALS} 次，"
        "看方差与 d_k 之比的 95 % 区间是否含 1；再量一量刚初始化的 GPT 里 q、k 与 q·k 的方差。",
        f"For d_k from 2 to 1,024, draw many pairs of normal vectors, {TRIALS} times, and see whether the "
        "interval of the variance's ratio to d_k contains 1. Then measure q, k and q·k in a fresh GPT.",
    ),
    measure,
    judge,
    figures,
)
