"""C15: what a layer costs: n·d² in n steps for an RNN, n²·d + n·d² at once for attention with its FFN."""

import math
from collections.abc import Sequence
from functools import partial

from ..texts import Text, number
from .claim import Claim, Judgement, Measured, Verdict, Work
from .costs import (
    LENGTHS,
    SWEEPS,
    D,
    N,
    chain_length,
    count,
    formula,
    layer,
    time_layers,
    time_terms,
)
from .figure import Figure, Series
from .serial import steps_between
from .statistics import Mean, exponent
from .timing import growth, timed, typical

END = 3  # sizes at either end of a sweep that an exponent is fitted to
TOLERANCE = 0.25  # between the exponent of time and that of operations
KINDS = {"rnn": Text("RNN", "RNN"), "block": Text("注意力 + FFN", "attention + FFN")}
PLACES = 12  # of a text whose last token is influenced by its first


def measure(work: Work) -> Measured:
    rounds = work.choose(4, 6)
    counts = {
        f"{kind} {over}": work.parts(f"operations {kind}", sizes, partial(count, kind))
        for kind in KINDS
        for over, sizes in SWEEPS.items()
    }
    return {
        "sizes": SWEEPS,
        "operations": counts,
        "chains": {
            kind: work.parts(f"chain {kind}", LENGTHS[:END], partial(chain_length, kind)) for kind in KINDS
        },
        "places": PLACES,
        "paths": work.parts("path", list(KINDS), lambda kind: steps_between(layer(kind, 8), PLACES, 8)),
        "times": work.parts("times", [rounds], time_layers)[0],
        "terms": work.parts("terms", [rounds], time_terms)[0],
    }


def crossing(sizes: Sequence[float], below: Sequence[float], above: Sequence[float]) -> float:
    """Where, between two sizes, `above` first is no longer the smaller one, on logarithmic axes; infinite
    where it stays so."""
    gaps = [math.log(a / b) for a, b in zip(above, below, strict=True)]
    for i, gap in enumerate(gaps):
        if gap >= 0:
            if i == 0:
                return sizes[0]
            share = gaps[i - 1] / (gaps[i - 1] - gap)
            return float(sizes[i - 1] * (sizes[i] / sizes[i - 1]) ** share)
    return math.inf


def _ends(measured: Measured, name: str) -> list[tuple[str, float, Mean]]:
    """The exponents of counted operations and of time, at the small end of a sweep and at the large one."""
    at = "nd".index(name.split()[1])
    sizes = [size[at] for size in measured["sizes"][name.split()[1]]]
    counts, times = measured["operations"][name], measured["times"][name]
    ends = {"small": slice(None, END), "large": slice(-END, None)}
    return [(end, exponent(sizes[s], counts[s]), growth(sizes[s], times[s])) for end, s in ends.items()]


def _crossings(measured: Measured) -> dict[str, float]:
    """The n from which scores and mixture outweigh projections and FFN: as counted, and in time."""
    lengths = [n for n, _ in measured["sizes"]["n"]]
    terms = {name: [typical(s).mean for s in found] for name, found in measured["terms"].items()}
    counted = crossing(lengths, [24 * n * D * D for n in lengths], [4 * n * n * D for n in lengths])
    by_time = {name: crossing(lengths, terms["linear"], terms[name]) for name in ("fused", "reference")}
    return {"counted": counted, **by_time}


def judge(measured: Measured) -> Judgement:
    """Counts decide: operations are the formula's, chains and ways grow with n or stay. Then time must grow,
    at the large end of every sweep, within TOLERANCE of the exponent of operations: an interval that lies
    beyond that is named."""
    sizes, chains = measured["sizes"], measured["chains"]
    counted = all(
        measured["operations"][f"{kind} {over}"] == [formula(kind, *size) for size in sizes[over]]
        for kind in KINDS
        for over in sizes
    )
    lengths = [n for n, _ in sizes["n"]][: len(chains["rnn"])]
    serial = [c - n for c, n in zip(chains["rnn"], lengths, strict=True)]
    rows = len(set(serial)) == 1 and len(set(chains["block"])) == 1
    ways = measured["paths"] == [measured["places"] - 1, 1]
    ends = {f"{kind} {over}": _ends(measured, f"{kind} {over}") for kind in KINDS for over in sizes}
    large = [(name, count, power) for name, (_, (_, count, power)) in ends.items()]
    off = [name for name, count, power in large if _beyond(power, count - TOLERANCE, count + TOLERANCE)]
    sure = all(count - TOLERANCE < power.low and power.high < count + TOLERANCE for _, count, power in large)
    at = _crossings(measured)
    told = [_told(name, two) for name, two in ends.items()]
    found = Text(
        f"运算次数与公式一个不差。相依的步数：RNN 随 n 增长，块恒为 {chains['block'][0]}；"
        f"共 {measured['places']} 个词时，首尾相距：RNN {measured['paths'][0]} 步，块 {measured['paths'][1]} "
        f"步。指数（运算对时间）：{'；'.join(text.zh for text in told)}。d = {D} 时两项在 n = "
        f"{_length(at['counted'])} 相等；按时间，逐步计算是 {_length(at['reference'])}，融合计算是 "
        f"{_length(at['fused'])}。",
        "Operations are exactly the formula's. Steps in a row grow with n for the RNN and are "
        f"{chains['block'][0]} for the block; from the first of {measured['places']} tokens to the last it "
        f"is {measured['paths'][0]} steps in the RNN and {measured['paths'][1]} in the block. Exponents of "
        f"operations and of time: {'; '.join(text.en for text in told)}. At d = {D} the two terms are equal "
        f"at n = {_length(at['counted'])}; in time at {_length(at['reference'])} step by step, at "
        f"{_length(at['fused'])} in the fused kernel.",
    )
    slow, fast = ([_rate(measured, sweep, i) for sweep in ("block n", "rnn d")] for i in (0, -1))
    reason = Text(
        "时间的指数偏低，是因为每次调用都有固定开销，尺寸越小占得越多：从最小尺寸到最大尺寸，块每秒的运算从 "
        f"{number(slow[0], 1)} G 升到 {number(fast[0], 1)} G（随 n），"
        f"RNN 从 {number(slow[1], 2)} G 升到 {number(fast[1], 1)} G（随 d）。"
        "RNN 每步只是矩阵乘向量，开销要付 n 次，所以宽到这里也还没摊平。",
        "Exponents of time are lower because every call has a fixed cost, of which small sizes feel more: "
        f"from the smallest size to the largest the block goes from {number(slow[0], 1)} G to "
        f"{number(fast[0], 1)} G operations a second (over n), the RNN from {number(slow[1], 2)} G to "
        f"{number(fast[1], 1)} G (over d). A step of the RNN is only a matrix times a vector, and the cost "
        "is paid n times, so that even at these widths it is still felt.",
    )
    if not (counted and rows and ways):
        return Judgement(Verdict.FAILS, found)
    if not off:
        open_ = measured["quick"] and not sure
        return Judgement(Verdict.UNDECIDED if open_ else Verdict.HOLDS, found, reason)
    return Judgement(
        Verdict.WITHIN,
        found,
        reason,
        Text(
            f"数出来的运算上（时间的指数另有出入：{'、'.join(_name(name).zh for name in off)}）",
            f"operations as counted; time grows otherwise for {', '.join(_name(name).en for name in off)}",
        ),
    )


def _beyond(power: Mean, low: float, high: float) -> bool:
    return power.high < low or power.low > high


def _name(sweep: str) -> Text:
    kind, over = sweep.split()
    return Text(f"{KINDS[kind].zh} 随 {over}", f"{KINDS[kind].en} over {over}")


def _told(sweep: str, ends: list[tuple[str, float, Mean]]) -> Text:
    powers = [
        (number(count, 2), f"{number(power.mean, 2)} ± {number(power.high - power.mean, 2)}")
        for _, count, power in ends
    ]
    (few, few_timed), (many, many_timed) = powers
    return Text(
        f"{_name(sweep).zh}，小尺寸 {few} 对 {few_timed}，大尺寸 {many} 对 {many_timed}",
        f"{_name(sweep).en}, small sizes {few} and {few_timed}, large {many} and {many_timed}",
    )


def _rate(measured: Measured, sweep: str, i: int) -> float:
    """Operations in a nanosecond."""
    return float(measured["operations"][sweep][i] / typical(measured["times"][sweep][i]).mean / 1e9)


def _length(n: float) -> str:
    return number(n, 0) if math.isfinite(n) else f"> {LENGTHS[-1]}"


def figures(measured: Measured) -> tuple[Figure, ...]:
    lengths = [n for n, _ in measured["sizes"]["n"]]
    terms = {
        "linear": Text("投影与 FFN，n·d²", "projections and FFN, n·d²"),
        "reference": Text("分数与混合，n²·d，逐步计算", "scores and mixture, n²·d, step by step"),
        "fused": Text("分数与混合，n²·d，融合计算", "scores and mixture, n²·d, fused"),
    }
    milliseconds = Text("毫秒（中位数与四分位数）", "milliseconds (medians and quartiles)")
    over = {
        "n": (
            Text("一层的用时，随 n", "Time of a layer over n"),
            Text(f"词数 n（d = {D}）", f"tokens n (d = {D})"),
        ),
        "d": (
            Text("一层的用时，随 d", "Time of a layer over d"),
            Text(f"宽度 d（n = {N}）", f"width d (n = {N})"),
        ),
    }

    def swept(name: str, title: Text, across: Text) -> Figure:
        sizes = [size["nd".index(name)] for size in measured["sizes"][name]]
        series = []
        for kind, label in KINDS.items():
            sweep = f"{kind} {name}"
            series.append(timed(label, sizes, measured["times"][sweep]))
            unit = typical(measured["times"][sweep][-1]).mean / measured["operations"][sweep][-1]
            ideal = [1000 * unit * count for count in measured["operations"][sweep]]
            label = Text(f"{label.zh}：若与运算次数成正比", f"{label.en}, if proportional to operations")
            series.append(Series(label, sizes, ideal))
        return Figure(title, across, milliseconds, tuple(series), log_x=True, log_y=True)

    return (
        *(swept(name, *texts) for name, texts in over.items()),
        Figure(
            Text("块的两项，各自的用时", "The two terms of a block, timed apart"),
            over["n"][1],
            milliseconds,
            tuple(timed(label, lengths, measured["terms"][name]) for name, label in terms.items()),
            log_x=True,
            log_y=True,
        ),
    )


CLAIM = Claim(
    "C15",
    Text("一层的代价", "What a layer costs"),
    Text(
        "RNN 一层：O(nd²) 次运算，O(n) 个相依的步骤，首尾相距 O(n) 步；注意力加 FFN："
        "O(n²d + nd²) 次运算，训练时 O(1) 个步骤，任意两词相距 O(1) 步。",
        "A layer of an RNN: O(nd²) operations, O(n) steps in a row, O(n) steps from the first token to the "
        "last. Attention with its FFN: O(n²d + nd²) operations, O(1) steps in training, O(1) from any token "
        "to any other.",
    ),
    Text(
        "用 PyTorch 的计数器数运算，与公式逐一比较；数计算图里相依的矩阵乘法；在每个中间位置切断，看首词还影"
        "响不影响末词。再轮流计时（前向，单线程），在尺寸的两头各拟合指数。数得不对就不成立；大尺寸处时间与运"
        f"算的指数相差超过 {TOLERANCE}，就只算数出来的成立。",
        "Count operations with PyTorch's counter and compare each with the formula; count products in a row "
        "in the graph; cut every place between and see whether the first token still influences the last. "
        "Then time forward passes in turn on one thread, and fit exponents at both ends of the sizes. Other "
        "counts decide against it; where at large sizes the exponent of time is more than "
        f"{TOLERANCE} from that of operations, it holds for what is counted only.",
    ),
    measure,
    judge,
    figures,
)
