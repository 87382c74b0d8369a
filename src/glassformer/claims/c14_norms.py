"""C14: LayerNorm does not see the batch; BatchNorm in training does."""

import torch
from torch import Tensor, nn

from ..nn.blocks import make_norm
from ..texts import Text, magnitude, number
from .claim import Claim, Judgement, Measured, Verdict, Work
from .figure import Figure, spread, together
from .statistics import mean

LENGTH, WIDTH, SEEDS = 8, 32, 20
BATCHES = (2, 4, 8, 16, 32, 64)
KINDS = {
    "batchnorm training": Text("BatchNorm 训练模式", "BatchNorm in training"),
    "batchnorm evaluation": Text("BatchNorm 评估模式", "BatchNorm in evaluation"),
    "layernorm": Text("LayerNorm", "LayerNorm"),
}
COMPANIONS = {
    "alike": (Text("同伴同分布", "companions alike"), 0.0, 1.0),
    "others": (Text("同伴另一分布", "other companions"), 2.0, 3.0),
}
"""With their mean and deviation."""
EXACT, SEEN = 1e-12, 0.01


def measure(work: Work) -> Measured:
    """The root mean square of the change of an example's output (its own is about 1), for each seed: in a
    batch of each size; and at one position, with another text at all others."""
    keys = [(kind, companions) for kind in KINDS for companions in COMPANIONS]
    changes = work.parts("batches", keys, lambda key: [_changes(*key, seed) for seed in range(SEEDS)])
    positions = work.parts(
        "texts", list(KINDS), lambda kind: [_position(kind, seed) for seed in range(SEEDS)]
    )
    return {
        "batches": BATCHES,
        "changes": {
            kind: {name: of for (k, name), of in zip(keys, changes, strict=True) if k == kind}
            for kind in KINDS
        },
        "positions": dict(zip(KINDS, positions, strict=True)),
    }


class Norm(nn.Module):
    """A fresh norm over texts (b, n, D). BatchNorm takes its statistics over b and n, for each feature; in
    evaluation, those that it took over ten batches of training."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        if kind == "layernorm":
            self.norm = make_norm("layernorm", WIDTH, 1e-5).double()
            return
        self.norm = nn.BatchNorm1d(WIDTH).double()
        if kind.endswith("evaluation"):
            for _ in range(10):
                self(torch.randn(BATCHES[-1], LENGTH, WIDTH, dtype=torch.float64))
            self.eval()

    @torch.no_grad()
    def forward(self, x_bnD: Tensor) -> Tensor:
        if isinstance(self.norm, nn.BatchNorm1d):
            x_bnD = self.norm(x_bnD.transpose(1, 2)).transpose(1, 2)
        else:
            x_bnD = self.norm(x_bnD)
        return x_bnD


def _changes(kind: str, companions: str, seed: int) -> list[float]:
    torch.manual_seed(seed)
    norm = Norm(kind)
    _, centre, deviation = COMPANIONS[companions]
    example = torch.randn(1, LENGTH, WIDTH, dtype=torch.float64)
    alone = norm(example)[0]
    found = []
    for size in BATCHES:
        company = centre + deviation * torch.randn(size - 1, LENGTH, WIDTH, dtype=torch.float64)
        found.append(_distance(norm(torch.cat((example, company)))[0], alone))
    return found


def _position(kind: str, seed: int) -> float:
    torch.manual_seed(seed)
    norm = Norm(kind)
    one, other = torch.randn(2, 1, LENGTH, WIDTH, dtype=torch.float64)
    other[:, 0] = one[:, 0]
    return _distance(norm(one)[0, 0], norm(other)[0, 0])


def _distance(a: Tensor, b: Tensor) -> float:
    return float((a - b).square().mean().sqrt())


def judge(measured: Measured) -> Judgement:
    """It holds if LayerNorm's outputs change by nothing but rounding, in batches as with other texts at the
    other positions, and BatchNorm's in training change by their intervals over the seeds, in batches of every
    size."""
    changes, positions = measured["changes"], measured["positions"]
    most = {
        kind: max(*positions[kind], *(one for of in changes[kind].values() for seed in of for one in seed))
        for kind in KINDS
    }
    training = {
        name: [mean(of) for of in zip(*seeds, strict=True)]
        for name, seeds in changes["batchnorm training"].items()
    }
    layer, evaluation = magnitude(most["layernorm"]), magnitude(most["batchnorm evaluation"])
    alike, others = (number(training[name][-1].mean, 2) for name in ("alike", "others"))
    size = measured["batches"][-1]
    found = Text(
        f"换掉同批样本，或换掉别的位置，LayerNorm 的输出变化是 {layer}。训练模式的 BatchNorm：同一个样本放进 "
        f"{size} 个样本的批次，输出变化 {alike}，同伴来自另一分布时变化 {others}（输出自身约为 1）。"
        f"评估模式的 BatchNorm 用存下的统计量，变化是 {evaluation}。",
        f"Whatever else is in the batch or stands at other positions, LayerNorm's output changes by {layer}. "
        f"BatchNorm in training: the same example in a batch of {size} comes out {alike} away, and {others} "
        "among companions of another distribution (the output's own size is about 1). In evaluation "
        f"BatchNorm uses stored statistics, and the change is {evaluation}.",
    )
    holds = most["layernorm"] <= EXACT and all(m.low > SEEN for means in training.values() for m in means)
    return Judgement(Verdict.HOLDS if holds else Verdict.FAILS, found)


def figures(measured: Measured) -> tuple[Figure, ...]:
    batches, changes = measured["batches"], measured["changes"]
    return (
        Figure(
            Text("同批样本使一个样本的输出变化多少", "How far a batch changes one example's output"),
            Text("批次里的样本数", "examples in the batch"),
            Text("变化的均方根", "root mean square of the change"),
            together(
                spread(
                    Text(f"{kind.zh}，{company.zh}", f"{kind.en}, {company.en}"),
                    batches,
                    list(zip(*changes[key][name], strict=True)),
                )
                for key, kind in KINDS.items()
                for name, (company, *_) in COMPANIONS.items()
            ),
            log_x=True,
        ),
    )


CLAIM = Claim(
    "C14",
    Text("LayerNorm 不看同批样本", "LayerNorm does not see the batch"),
    Text(
        "LayerNorm 对每个位置单独做，与同批样本无关；训练模式的 BatchNorm 则依赖同批样本。",
        "LayerNorm works on each position by itself and does not depend on the batch; BatchNorm in training "
        "mode does.",
    ),
    Text(
        f"同一个样本（{LENGTH} 个位置，宽 {WIDTH}）先单独计算，再放进大小不同的批次，"
        "同伴与它同分布或不同分布，比较它的输出；还把它别的位置换掉，看剩下那个位置的输出。float64。",
        f"One example ({LENGTH} positions, width {WIDTH}) alone, then in batches of several sizes, whose "
        "others are drawn as it was, or otherwise: does its output change? And does the output at one "
        "position change when all other positions do? In float64.",
    ),
    measure,
    judge,
    figures,
)
