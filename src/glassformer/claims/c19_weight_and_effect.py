"""C19: a trained head's attention is not yet an explanation."""

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..texts import Language, Text, number
from .claim import Claim, Judgement, Measured, Verdict, Work
from .figure import Figure, Series, means
from .pronouns import EDGES, LEARNT, MEASURES, Family, accuracy, effects, taught, untrained
from .statistics import Mean, mean, rank_correlation

FAMILIES: tuple[Family, ...] = ("gpt", "bert")
SENTENCES = 24
"""Of each kind, with which heads are measured."""
LOSSES = MEASURES[1:]
AGREED = 0.8
"""Rank correlation from which on weights tell effects."""
HEAVY = 0.25
BOUNDS = (0.01, 0.01, 0.1, 0.1)
"""Below these losses, each in nats and in the order of LOSSES, nothing is lost."""
EDGE_NAMES = {"pronoun": Text("代词", "pronoun"), "answer": Text("回答处", "answer")}
TOLD = {"gpt": "GPT", "bert": "BERT"}


class Head(NamedTuple):
    """An edge to the referent in one head of one model: its weight, and the losses without it."""

    family: str
    seed: int
    edge: str
    layer: int
    head: int
    weight: float
    losses: tuple[float, ...]

    @property
    def harmless(self) -> bool:
        """Nothing is lost without it, however it is taken away or counted."""
        return all(abs(loss) < bound for loss, bound in zip(self.losses, BOUNDS, strict=True))

    @property
    def idle(self) -> bool:
        """Much is looked at, and nothing is lost without it."""
        return self.weight >= HEAVY and self.harmless

    def said(self, language: Language) -> str:
        weight, loss = number(self.weight, 2), number(self.losses[0], 4)
        model, layer, head = self.seed + 1, self.layer + 1, self.head + 1
        if language == "zh":
            return f"第 {model} 个模型第 {layer} 层第 {head} 个头（权重 {weight}，损失 {loss}）"
        return f"head {head} of layer {layer} in model {model} (weight {weight}, loss {loss})"


def measure(work: Work) -> Measured:
    """Weights and losses of the edges to the referent, for each family and seed."""
    seeds = range(work.choose(1, 16))
    return {family: work.parts(family, seeds, partial(_measured, family)) for family in FAMILIES}


def _measured(family: Family, seed: int) -> dict[str, Any]:
    model = untrained(family, seed)
    return {
        "steps": taught(model, seed),
        "accuracy": accuracy(model),
        "heads": model.config.n_heads,
        "effects": effects(model, SENTENCES),
    }


def models(measured: Measured, family: str) -> list[list[Head]]:
    """Both edges of every head, for each model of a family that has learned."""
    return [
        list(_edges(family, seed, found))
        for seed, found in enumerate(measured[family])
        if found["accuracy"] >= LEARNT
    ]


def _edges(family: str, seed: int, found: dict[str, Any]) -> Iterator[Head]:
    for edge in EDGES:
        columns = found["effects"][edge]
        for i, weight in enumerate(columns["weight"]):
            losses = tuple(columns[loss][i] for loss in LOSSES)
            layer, head = divmod(i, found["heads"])
            yield Head(family, seed, edge, layer, head, weight, losses)


def agreement(found: Sequence[Sequence[Head]], loss: str) -> Mean:
    """The rank correlation of the weights and the sizes of the losses in a model; mean over models."""
    which = LOSSES.index(loss)
    return mean(
        [
            rank_correlation([head.weight for head in model], [abs(head.losses[which]) for head in model])
            for model in found
        ]
    )


def idle(found: Sequence[Sequence[Head]]) -> Mean:
    """How many edges of a model are idle; mean over models."""
    return mean([float(sum(head.idle for head in model)) for model in found])


def reversal(found: Sequence[Sequence[Head]]) -> tuple[Head, Head]:
    """Of all pairs in one model of which the first weighs more and loses less when cut, that which is
    furthest apart in both."""
    every = [(a, b) for model in found for a in model for b in model]
    return max(every, key=lambda pair: _apart(*pair))


def _apart(heavy: Head, light: Head) -> float:
    return max(0.0, heavy.weight - light.weight) * max(0.0, light.losses[0] - abs(heavy.losses[0]))


class Finding(Enum):
    """What the edges of one kind say: that weights mislead, that they tell effects, that it is open, or that
    there is nothing to tell, as in most models none weighs much and none does anything."""

    MISLEADS = 0
    AGREES = 1
    OPEN = 2
    NOTHING = 3


def _silent(found: Sequence[Sequence[Head]]) -> int:
    """In how many models no edge weighs much or does anything."""
    return sum(all(head.weight < HEAVY and head.harmless for head in model) for model in found)


def finding(found: Sequence[Sequence[Head]]) -> Finding:
    """Weights mislead if models have idle edges, or the intervals of the agreement lie below AGREED however
    the loss is counted."""
    if not found:
        return Finding.OPEN
    if 2 * _silent(found) > len(found):
        return Finding.NOTHING
    agreed, never = [agreement(found, loss) for loss in LOSSES], idle(found)
    if never.low > 0 or max(each.high for each in agreed) < AGREED:
        return Finding.MISLEADS
    return Finding.AGREES if min(each.low for each in agreed) >= AGREED and not never.mean else Finding.OPEN


def judge(measured: Measured) -> Judgement:
    """It holds if weights mislead in every kind of edges of both families that tells anything, and within
    those kinds in which they do."""
    found = {family: models(measured, family) for family in FAMILIES}
    kinds = {(family, edge): finding(of_edge(found[family], edge)) for family in FAMILIES for edge in EDGES}
    said = [_told(measured[family], family, found[family], kinds) for family in FAMILIES]
    told = Text("".join(text.zh for text in said), " ".join(text.en for text in said))
    telling = {kind: what for kind, what in kinds.items() if what is not Finding.NOTHING}
    misled = [kind for kind, what in telling.items() if what is Finding.MISLEADS]
    if misled and len(misled) == len(telling) and all(found.values()):
        return Judgement(Verdict.HOLDS, told)
    if measured["quick"] and (Finding.OPEN in telling.values() or not all(found.values())):
        return Judgement(Verdict.UNDECIDED, told)
    if misled:
        names = [_kind(*kind) for kind in misled]
        within = Text(" " + "、".join(name.zh for name in names) + "上", ", ".join(name.en for name in names))
        others = [_kind(*kind) for kind in telling if kind not in misled]
        return Judgement(Verdict.WITHIN, told, _open(others) if others else None, within)
    return Judgement(Verdict.FAILS, told)


def _open(kinds: Sequence[Text]) -> Text:
    """Why it is not said of these kinds of edges."""
    return Text(
        "、".join(kind.zh for kind in kinds)
        + f"：秩相关的区间伸到 {AGREED} 以上，又没有权重大而毫无作用的，不足以断定。",
        "Of "
        + ", ".join(kind.en for kind in kinds)
        + f" the rank correlation's intervals reach {AGREED}, and none weighs much and does nothing: too "
        "little to say it of these.",
    )


def of_edge(found: Sequence[Sequence[Head]], edge: str) -> list[list[Head]]:
    """The edges of one kind, model by model."""
    return [[head for head in model if head.edge == edge] for model in found]


def _kind(family: str, edge: str) -> Text:
    name = TOLD[family]
    return Text(f"{name} 从{EDGE_NAMES[edge].zh}出发的边", f"edges of {name} from the {EDGE_NAMES[edge].en}")


def _told(
    seeds: Sequence[dict[str, Any]],
    family: Family,
    found: Sequence[Sequence[Head]],
    kinds: Mapping[tuple[Family, str], Finding],
) -> Text:
    """The figures of a family's models, by the kind of edge."""
    name = TOLD[family]
    if not found:
        return Text(f"{name} 没有一个学会指代。", f"No {name} learned to resolve the pronoun.")
    learned = [seed for seed in seeds if seed["accuracy"] >= LEARNT]
    cuts = {edge: [seed["effects"][edge]["cut"] for seed in learned] for edge in EDGES}
    parts = [_told_edge(edge, of_edge(found, edge), cuts[edge], kinds[family, edge]) for edge in EDGES]
    return Text(
        f"{name}（{len(seeds)} 个中 {len(found)} 个学会）：{'；'.join(part.zh for part in parts)}。",
        f"{name} ({len(found)} of {len(seeds)} learned): {'; '.join(part.en for part in parts)}.",
    )


def _told_edge(
    edge: str, found: Sequence[Sequence[Head]], cuts: Sequence[Sequence[float]], what: Finding
) -> Text:
    """The figures of one kind of edges; the last of each model's `cuts` is that of all heads at once."""
    single = number(max(max(cut[:-1]) for cut in cuts), 3)
    together = number(float(np.mean([cut[-1] for cut in cuts])), 2)
    lost = Text(
        f"只切断一个头的最多损失 {single} 奈特，各头的一起切断平均损失 {together}",
        f"cut in one head they lose {single} nats at most, in all heads at once {together} on average",
    )
    if what is Finding.NOTHING:
        silent, n, at = _silent(found), len(found), EDGE_NAMES[edge]
        return Text(
            f"从{at.zh}出发的边，{n} 个模型中有 {silent} 个权重都不到 {HEAVY}，也没有作用，所以不判，所有模型"
            f"里{lost.zh}",
            f"in {silent} of {n} models no edge from the {at.en} weighs {HEAVY} or does anything, so that "
            f"these are not judged; over all models, {lost.en}",
        )
    agreed, never = agreement(found, "cut"), idle(found)
    if never.mean:
        worst = max((head for model in found for head in model if head.idle), key=lambda head: head.weight)
        count = number(never.mean, 1)
        example = Text(
            f"每个模型有 {count} 条权重不小于 {HEAVY} 却毫无作用，例如{worst.said('zh')}",
            f"{count} of a model weigh {HEAVY} or more and do nothing, as {worst.said('en')}",
        )
    else:
        heavy, light = reversal(found)
        example = Text(
            f"最不一致的是{heavy.said('zh')}与{light.said('zh')}",
            f"the furthest apart are {heavy.said('en')} and {light.said('en')}",
        )
    rank = f"{number(agreed.mean, 2)}"
    spread = f"{number(agreed.low, 2)} … {number(min(agreed.high, 1), 2)}" if len(found) > 1 else ""
    zh, en = (f"（区间 {spread}）", f" (interval {spread})") if spread else ("", "")
    return Text(
        f"从{EDGE_NAMES[edge].zh}出发的边，权重与切断后损失的秩相关为 {rank}{zh}，{lost.zh}，{example.zh}",
        f"edges from the {EDGE_NAMES[edge].en} have a rank correlation of weight and loss when cut of "
        f"{rank}{en}, {lost.en}; {example.en}",
    )


def figures(measured: Measured) -> tuple[Figure, ...]:
    found = {family: models(measured, family) for family in FAMILIES}
    kinds = [(family, edge) for family in FAMILIES for edge in EDGES]
    odds = LOSSES.index("cut_odds")
    scattered = []
    for family, edge in kinds:
        chosen = [head for model in of_edge(found[family], edge) for head in model]
        label = Text(*(f"{TOLD[family]}, {name}" for name in EDGE_NAMES[edge]))
        scattered.append(
            Series(label, [h.weight for h in chosen], [h.losses[odds] for h in chosen], joined=False)
        )
    ways = (("cut", Text("切断", "cut")), ("zero", Text("置零", "zeroed")))
    agreed = []
    for loss, label in ways:
        correlations = [agreement(of_edge(found[family], edge), loss) for family, edge in kinds]
        agreed.append(means(label, range(len(kinds)), correlations, within=(-1, 1), joined=False))
    return (
        Figure(
            Text("一条边的权重与它的作用", "What an edge weighs and what it does"),
            Text("指向所指的边的权重", "weight of the edge to the referent"),
            Text("切断后对数几率的损失（奈特）", "log-odds lost when it is cut (nats)"),
            tuple(scattered),
        ),
        Figure(
            Text("权重与作用的秩相关，各头之间", "Rank correlation of weight and effect over heads"),
            Text("边从哪里来", "where the edge comes from"),
            Text("秩相关（95 % 区间）", "rank correlation (interval of 95 %)"),
            tuple(agreed),
            x_names=tuple(series.label for series in scattered),
        ),
    )


CLAIM = Claim(
    "C19",
    Text("注意力还不是解释", "Attention is not yet an explanation"),
    Text(
        "训练出来的头把权重放在哪里，还说明不了它起什么作用：权重大的连接，切断了可能毫无影响。",
        "Where a trained head puts its weight does not yet say what it does: an edge may weigh much, and "
        "nothing change when it is cut.",
    ),
    Text(
        "小 GPT 和小 BERT 各若干个，学我们生成的中英文句子，句中代词指谁由结构决定，测试用的搭配没有学过。学"
        "会以后，对每个头量两条边：代词 → 所指、回答处 → 所指；权重之外，再量切断（分数换成 −∞，重新归一）和"
        "置零（不归一）后正确答案损失多少对数概率和对数几率。同一种边里，若权重与损失的排序几乎一致，又"
        "没有权重大而毫无作用的，论断就不成立。",
        "Small GPTs and BERTs learn Chinese and English sentences of ours in which structure decides whom a "
        "pronoun means; the pairs they are tested with are held out. Then two edges of each head are "
        "measured, pronoun → referent and answer → referent: their weight, and the log-probability and "
        "log-odds that the right answer loses when they are cut (score −∞, renormalised) or zeroed (not "
        "renormalised). If among edges of one kind weights and losses agreed nearly perfectly in their "
        "order, and none weighed much and did nothing, the claim would fail.",
    ),
    measure,
    judge,
    figures,
    trains=True,
)
