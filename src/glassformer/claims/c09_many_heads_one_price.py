"""C9: h heads of width d/h cost about as much as one of width d."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from ..nn.attention import MultiHeadAttention
from ..texts import Text, number
from .claim import Claim, Judgement, Measured, Verdict, Work
from .figure import NOT_NEGATIVE, Figure, means
from .serial import operations
from .statistics import Mean
from .timing import ratio, seconds, typical

WIDTH = 256
HEADS = (1, 2, 4, 8, 16)
LENGTHS = (32, 128, 512)
TOKENS = 512  # of all rows together, so that the projections are always the same work
PATHS = ("fused", "reference")
TOLERANCE = 0.25


def measure(work: Work) -> Measured:
    rounds = work.choose(4, 7)
    settings = [(path, n) for path in PATHS for n in LENGTHS]
    return {
        "width": WIDTH,
        "heads": HEADS,
        "parameters": work.parts("parameters", HEADS, _parameters),
        "operations": [work.parts(f"operations {n}", HEADS, partial(_operations, n)) for n in LENGTHS],
        "lengths": LENGTHS,
        "settings": settings,
        "times": work.parts("times", settings, lambda setting: _times(*setting, rounds)),
    }


def _parameters(heads: int) -> int:
    return sum(p.numel() for p in MultiHeadAttention(WIDTH, heads).parameters())


def _operations(n: int, heads: int) -> int:
    """In the products of a forward pass."""
    with torch.device("meta"):
        layer, x = MultiHeadAttention(WIDTH, heads), torch.empty(TOKENS // n, n, WIDTH)
    return operations(lambda: layer(x, backend="reference"))


def _times(path: str, n: int, rounds: int) -> dict[str, Any]:
    """Seconds of a forward and backward pass by heads; and, where all is written out, of
    the softmax alone over the scores of fewest and most heads."""
    torch.manual_seed(0)
    x_bnD = torch.randn(TOKENS // n, n, WIDTH)
    passes = [_pass(MultiHeadAttention(WIDTH, h), x_bnD, path) for h in HEADS]
    alone = [_softmax(torch.randn(TOKENS // n, h, n, n, requires_grad=True)) for h in (HEADS[0], HEADS[-1])]
    found = seconds([*passes, *(alone if path == "reference" else ())], rounds)
    return {"passes": found[: len(HEADS)], "softmax": found[len(HEADS) :]}


def _pass(layer: MultiHeadAttention, x_bnD: Tensor, path: Any) -> Callable[[], None]:
    return lambda: layer(x_bnD, backend=path).sum().backward()


def _softmax(scores: Tensor) -> Callable[[], Tensor]:
    return lambda: torch.autograd.grad(scores.softmax(-1).square().sum(), scores)[0]


def _ratios(times: dict[str, Any]) -> list[Mean]:
    """Of each number of heads to one."""
    return [ratio(of_h, times["passes"][0]) for of_h in times["passes"]]


def judge(measured: Measured) -> Judgement:
    """Parameters and operations must not depend on h. Then it holds where time, by its interval, is never
    more than TOLERANCE above one head's, and within the lengths up to which that is so."""
    same = all(len(set(counts)) == 1 for counts in (measured["parameters"], *measured["operations"]))
    settings = list(zip(measured["settings"], map(_ratios, measured["times"]), strict=True))
    longest = {path: _longest(path, settings) for path in PATHS}
    open_ = any(r.low < 1 + TOLERANCE < r.high for _, ratios in settings for r in ratios)
    most, last, n = measured["heads"][-1], measured["times"][-1], measured["lengths"][-1]
    extra = typical(last["passes"][-1]).mean - typical(last["passes"][0]).mean
    softmax = typical(last["softmax"][-1]).mean - typical(last["softmax"][0]).mean
    told = {path: _listed(_told(path, settings)) for path in PATHS}
    lengths = _listed([str(n) for n in measured["lengths"]])
    found = Text(
        f"宽度 {measured['width']}，头数 {measured['heads'][0]} 到 {most}：参数都是 "
        f"{measured['parameters'][0]:,} 个，乘加次数也都一样。n = {lengths.zh} 时，{most} 个头的用时是一个头"
        f"的：融合计算 {told['fused'].zh} 倍，逐步计算 {told['reference'].zh} 倍。",
        f"At width {measured['width']}, {measured['heads'][0]} to {most} heads have "
        f"{measured['parameters'][0]:,} parameters each and equally many multiplications. At n = "
        f"{lengths.en}, {most} heads take {told['fused'].en} times as long as one in the fused kernel, "
        f"{told['reference'].en} times step by step.",
    )
    reason = Text(
        f"分数有 h·n² 个，头越多，softmax 越费时。n = {n}、写明每一步时，{most} 个头多花 "
        f"{number(1000 * extra, 1)} ms，单是多出来的 softmax 就要 {number(1000 * softmax, 1)} ms。",
        f"There are h·n² scores, so that the softmax takes longer with more heads. At n = {n}, every step "
        f"written out, {most} heads take {number(1000 * extra, 1)} ms more; the softmax of the further "
        f"scores alone takes {number(1000 * softmax, 1)} ms.",
    )
    if not same or not any(longest.values()):
        return Judgement(Verdict.FAILS, found, reason)
    if all(length == n for length in longest.values()):
        return Judgement(Verdict.HOLDS, found)
    if measured["quick"] and open_:
        return Judgement(Verdict.UNDECIDED, found, reason)
    zh = "、".join(f"{NAMES[path].zh}到 n = {length}" for path, length in longest.items() if length)
    en = ", ".join(f"n ≤ {length} {NAMES[path].en}" for path, length in longest.items() if length)
    return Judgement(Verdict.WITHIN, found, reason, Text(f"{zh} 为止的范围内", en))


NAMES = {
    "fused": Text("融合计算", "in the fused kernel"),
    "reference": Text("逐步计算", "step by step"),
}


def _longest(path: str, settings: list[tuple[list[Any], list[Mean]]]) -> int:
    """The length up to which no number of heads takes more than TOLERANCE longer than one; 0: none."""
    longest = 0
    for (its_path, n), ratios in settings:
        if its_path == path:
            if any(r.high > 1 + TOLERANCE for r in ratios):
                break
            longest = n
    return longest


def _listed(texts: list[str]) -> Text:
    return Text("、".join(texts), ", ".join(texts))


def _told(path: str, settings: list[tuple[list[Any], list[Mean]]]) -> list[str]:
    """The ratio of most heads to one, by length."""
    last = [ratios[-1] for (its_path, _), ratios in settings if its_path == path]
    return [f"{number(r.mean, 2)} ± {number(r.high - r.mean, 2)}" for r in last]


def figures(measured: Measured) -> tuple[Figure, ...]:
    series = []
    for (path, n), times in zip(measured["settings"], measured["times"], strict=True):
        ratios = _ratios(times)
        series.append(
            means(
                Text(f"{NAMES[path].zh}，n = {n}", f"{NAMES[path].en}, n = {n}"),
                range(len(ratios)),
                ratios,
                within=NOT_NEGATIVE,
            )
        )
    return (
        Figure(
            Text(
                "h 个头的用时，以一个头为 1（前向加反向，95 % 区间）",
                "Time of h heads over that of one (forward and backward, intervals of 95 %)",
            ),
            Text("头数 h", "heads h"),
            Text("倍数", "ratio"),
            tuple(series),
            x_names=tuple(Text(str(h), str(h)) for h in measured["heads"]),
        ),
    )


CLAIM = Claim(
    "C9",
    Text("多头不加价", "Many heads at one price"),
    Text(
        "h 个宽度为 d/h 的头，代价与一个宽度为 d 的头相当。",
        "h heads of width d/h cost about as much as one head of width d.",
    ),
    Text(
        f"总宽度 {WIDTH}、一批共 {TOKENS} 个词不变，头数从 {HEADS[0]} 到 {HEADS[-1]}：数参数，数乘加，"
        f"轮流给前向加反向计时（单线程）。“相当”指多用的时间不超过 {100 * TOLERANCE:.0f} %，连 95 % 区间也算"
        "在内。",
        f"With the width of {WIDTH} and the batch of {TOKENS} tokens the same, {HEADS[0]} to {HEADS[-1]} "
        "heads: count parameters and operations, and time forward and backward passes in turn, on one "
        f"thread. “About as much” means at most {100 * TOLERANCE:.0f} % longer, by the 95 % interval.",
    ),
    measure,
    judge,
    figures,
)
