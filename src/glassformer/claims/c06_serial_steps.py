"""C6: recurrent steps wait for each other, attention trains in a few products; both write serially."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from ..decoding.loop import Row, write
from ..decoding.samplers import Sampler
from ..models import GPT, GPTConfig, LanguageModel, RecurrentConfig, RecurrentLM
from ..nn.attention import MultiHeadAttention
from ..nn.recurrent import Recurrent
from ..texts import Text, number
from .claim import Claim, Judgement, Measured, Verdict, Work
from .figure import Figure, Series, together
from .serial import products_in_a_row
from .timing import Seconds, growth, ratio, seconds, timed

WIDTH = 128
LENGTHS = (16, 32, 64, 128, 256, 512)
LAYERS = {
    "explicit": Text("RNN，逐步写出", "RNN, step by step"),
    "kernel": Text("RNN，PyTorch 的内核", "RNN, PyTorch's kernel"),
    "attention": Text("自注意力", "self-attention"),
}
WRITTEN = (16, 32, 64, 128, 256)
WRITERS = {"gpt": Text("GPT 生成", "GPT, writing"), "rnn": Text("RNN 生成", "RNN, writing")}
LEAST_GROWTH = 0.8
"""The exponent of time over n below which one would not say that twice the tokens take twice the time."""


def measure(work: Work) -> Measured:
    rounds = work.choose(4, 9)
    return {
        "lengths": LENGTHS,
        "written": WRITTEN,
        "chains": {name: work.parts(f"chain {name}", LENGTHS, partial(_chain, name)) for name in LAYERS},
        "passes": {name: work.parts(f"passes {name}", WRITTEN, partial(_passes, name)) for name in WRITERS},
        "training": work.parts("training", [rounds], _training)[0],
        "writing": work.parts("writing", [rounds], _writing)[0],
    }


def _chain(name: str, n: int) -> int:
    """The longest chain of products in the forward pass of a layer over n tokens."""
    return products_in_a_row(_layer(name)(torch.randn(1, n, WIDTH)))


def _layer(name: str) -> Callable[[Tensor], Tensor]:
    torch.manual_seed(0)
    if name == "attention":
        attention = MultiHeadAttention(WIDTH, 4)
        return lambda x: attention(x, mask="causal", backend="reference")
    recurrent = Recurrent("rnn", WIDTH, WIDTH)
    return lambda x: recurrent(x, backend="reference" if name == "explicit" else "fused")[0]


def _training(rounds: int) -> dict[str, Seconds]:
    """Seconds of forward and backward passes, by layer and length."""

    def both_ways(layer: Callable[[Tensor], Tensor], x: Tensor) -> None:
        layer(x).sum().backward()  # type: ignore[no-untyped-call]

    works = [partial(both_ways, _layer(name), torch.randn(1, n, WIDTH)) for name in LAYERS for n in LENGTHS]
    return _by_name(LAYERS, seconds(works, rounds))


def _writing(rounds: int) -> dict[str, Seconds]:
    """Seconds of writing, by model and number of tokens."""
    works = [partial(_passes, name, n, _model(name)) for name in WRITERS for n in WRITTEN]
    return _by_name(WRITERS, seconds(works, rounds))


def _by_name(names: dict[str, Text], found: Seconds) -> dict[str, Seconds]:
    each = len(found) // len(names)
    return {name: found[i * each : (i + 1) * each] for i, name in enumerate(names)}


def _passes(name: str, n: int, model: LanguageModel | None = None) -> int:
    """Passes of a model that writes n tokens: each reads the token that the one before it chose."""
    steps = write(model or _model(name), [Row([0])], Sampler(0.0), n)
    return sum(1 for _ in steps)


def _model(name: str) -> LanguageModel:
    torch.manual_seed(0)
    if name == "gpt":
        return GPT(GPTConfig(64, context=max(WRITTEN) + 1, n_layers=2, d_model=WIDTH)).eval()
    return RecurrentLM(RecurrentConfig(64, "rnn", n_layers=2, d_model=WIDTH)).eval()


def judge(measured: Measured) -> Judgement:
    """Counts decide: chains that grow by one product a token, a chain that does not grow, a pass for every
    written token. Where these are so, time has to tell the same: over the first few lengths, where a core is
    not yet busy, a training pass of the RNN surely grows more than self-attention's, and writing grows with
    n."""
    lengths, chains = measured["lengths"], measured["chains"]
    recurrent = [chains["explicit"], chains["kernel"]]
    serial = all(b - a == m - n for c in recurrent for a, b, n, m in _steps(c, lengths))
    fixed = len(set(chains["attention"])) == 1
    written = all(passes == measured["written"] for passes in measured["passes"].values())
    grown = {name: growth(lengths, measured["training"][name]) for name in LAYERS}
    grown |= {name: growth(measured["written"], measured["writing"][name]) for name in WRITERS}
    last, first, later = lengths[-1], lengths[0], lengths[2]
    more = {name: ratio(found[2], found[0]) for name, found in measured["training"].items()}
    written_by = [grown[name] for name in WRITERS]
    shown = more["kernel"].low > more["attention"].high and all(g.low > LEAST_GROWTH for g in written_by)
    denied = more["kernel"].high < more["attention"].low or any(g.high < LEAST_GROWTH for g in written_by)
    powers = {name: f"{number(g.mean, 2)} ± {number(g.high - g.mean, 2)}" for name, g in grown.items()}
    found = Text(
        f"{last} 个词的前向计算里，前后相依的矩阵乘法：RNN {recurrent[0][-1]} 次（内核 {recurrent[1][-1]} "
        f"次），自注意力 {chains['attention'][-1]} 次，与长度无关；生成 n 个词，两种模型都要 n 遍。"
        f"从 {first} 个词到 {later} 个词，训练一遍的时间：RNN 变成 {number(more['kernel'].mean, 1)} 倍，"
        f"自注意力 {number(more['attention'].mean, 1)} 倍。时间随 n 的次方：RNN {powers['explicit']}（内核 "
        f"{powers['kernel']}），自注意力 {powers['attention']}；生成时 GPT {powers['gpt']}，RNN "
        f"{powers['rnn']}。这里只用一个核，词多了，时间反映的是总运算量；更多的核能分担多少，要看相依的步"
        "数。",
        f"In a forward pass over {last} tokens, {recurrent[0][-1]} matrix products of an RNN wait for each "
        f"other ({recurrent[1][-1]} in the kernel), and {chains['attention'][-1]} of self-attention, "
        f"whatever the length; n tokens are written in n passes by both. From {first} to {later} tokens the "
        f"time of a training pass grows to {number(more['kernel'].mean, 1)} times for the RNN and "
        f"{number(more['attention'].mean, 1)} times for self-attention. Time grows as n to the power: RNN "
        f"{powers['explicit']} (kernel {powers['kernel']}), self-attention {powers['attention']}; writing, "
        f"GPT {powers['gpt']}, RNN {powers['rnn']}. On the one core used here the time of many tokens tells "
        "of all operations; how many of them more cores could share is told by the chains.",
    )
    if not (serial and fixed and written):
        return Judgement(Verdict.FAILS, found)
    if shown:
        return Judgement(Verdict.HOLDS, found)
    if measured["quick"] and not denied:
        return Judgement(Verdict.UNDECIDED, found)
    within = Text("数出来的步数上（时间没有照样增长）", "steps as counted; time does not grow like them")
    return Judgement(Verdict.WITHIN, found, within=within)


def _steps(chain: list[int], lengths: list[int]) -> list[tuple[int, int, int, int]]:
    return list(zip(chain, chain[1:], lengths, lengths[1:], strict=False))


def figures(measured: Measured) -> tuple[Figure, ...]:
    n = Text("词数 n", "tokens n")
    counted = [
        *(Series(label, measured["lengths"], measured["chains"][name]) for name, label in LAYERS.items()),
        *(
            Series(label, measured["written"], measured["passes"][name], joined=False)
            for name, label in WRITERS.items()
        ),
    ]
    clocked = [
        *(timed(label, measured["lengths"], measured["training"][name]) for name, label in LAYERS.items()),
        *(timed(label, measured["written"], measured["writing"][name]) for name, label in WRITERS.items()),
    ]
    return (
        Figure(
            Text("必须依次做的步数", "Steps that wait for each other"),
            n,
            Text("矩阵乘法；生成时是遍数", "matrix products; of writing, passes"),
            together(counted),
            log_x=True,
            log_y=True,
        ),
        Figure(
            Text(
                "时间：训练时前向加反向，或生成（中位数与四分位数）",
                "Time of a training pass, or of writing (medians and quartiles)",
            ),
            n,
            Text("毫秒", "milliseconds"),
            tuple(clocked),
            log_x=True,
            log_y=True,
        ),
    )


CLAIM = Claim(
    "C6",
    Text("循环要排队，注意力不用", "Recurrence queues, attention does not"),
    Text(
        "训练时，RNN 的 n 步必须一步接一步，自注意力只是固定几次矩阵乘法；生成时，两者都只能一个词一个词来。",
        "In training the n steps of an RNN go one after the other, and self-attention is a fixed number of "
        "matrix products; in generation both go token by token.",
    ),
    Text(
        "沿着求梯度用的计算图，数最长的一串前后相依的矩阵乘法；数生成时模型跑了几遍；再给训练和生成计时，"
        "轮流测、单线程。次数对不上就不成立；文本还短时，RNN 训练一遍的时间若没有确定地比自注意力涨得多，或生"
        f"成的时间随 n 的次方低于 {LEAST_GROWTH}，就只算数出来的步数成立。",
        "Along the graph of the gradient, count the longest chain of matrix products that wait for each "
        "other; count a model's passes while it writes; time training and writing in turn, on one thread. "
        "Other counts decide against it; if over the first lengths the RNN's time does not surely grow more "
        f"than self-attention's, or that of writing grows as n to a power below {LEAST_GROWTH}, it holds for "
        "counted steps only.",
    ),
    measure,
    judge,
    figures,
)
