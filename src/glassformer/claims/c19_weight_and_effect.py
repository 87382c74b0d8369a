"""C19: a trained head's attention is not yet an explanation."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from ..texts import Language, Text, number
from .claim import Claim, Judgement, Measured, Verdict, Work
from .figure import Figure, Series
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
    def idle(self) -> bool:
        """Much is looked at, and nothing is lost without it, however it is taken away or counted."""
        lost = (abs(loss) >= bound for loss, bound in zip(self.losses, BOUNDS, strict=True))
        return self.weight >= HEAVY and not any(lost)

    def said(self, language: Language) -> str:
        name, at = f"{TOLD[self.family]} {self.seed}", f"{self.layer + 1}.{self.head + 1}"
        edge = getattr(EDGE_NAMES[self.edge], language)
        weight, loss = number(self.weight, 2), number(self.losses[0], 4)
        if language == "zh":
            return f"{name} 的头 {at}（{edge}：权重 {weight}，损失 {loss}）"
        return f"head {at} of {name}, {edge} (weight {weight}, loss {loss})"


def measure(work: Work) -> Measured:
    """Weights and losses of the edges to the referent, for each family and seed."""
    seeds = range(work.choose(1, 5))
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


def agreement(found: Sequence[Sequence[Head]], loss: str, edges: Sequence[str] = EDGES) -> Mean:
    """The rank correlation of the weights and the sizes of the losses in a model; mean over models."""
    which, each = LOSSES.index(loss), []
    for model in found:
        chosen = [head for head in model if head.edge in edges]
        each.append(
            rank_correlation([head.weight for head in chosen], [abs(head.losses[which]) for head in chosen])
        )
    return mean(each)


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


def judge(measured: Measured) -> Judgement:
    """It holds for a family if the intervals of the agreement lie below AGREED however the loss is counted,
    or if a model has idle edges; it does not hold where weights and losses agree nearly perfectly."""
    misled, parts, open_ = [], [], False
    for family in FAMILIES:
        found = models(measured, family)
        if not found:
            open_ = True
            parts.append(_none_learned(family))
            continue
        agreed = [agreement(found, loss) for loss in LOSSES]
        never = idle(found)
        misleads = max(each.high for each in agreed) < AGREED or never.low > 0
        agrees = min(each.low for each in agreed) >= AGREED and not never.mean
        misled += [family] * misleads
        open_ = open_ or not (misleads or agrees)
        parts.append(_told(measured[family], found, agreed[0], never))
    said = Text("".join(part.zh for part in parts), " ".join(part.en for part in parts))
    if len(misled) == len(FAMILIES):
        return Judgement(Verdict.HOLDS, said)
    if measured["quick"] and open_:
        return Judgement(Verdict.UNDECIDED, said)
    if misled:
        name, other = TOLD[misled[0]], next(TOLD[family] for family in FAMILIES if family not in misled)
        reason = Text(
            f"{other} 的秩相关，区间伸到 {AGREED} 以上，也没有权重大而毫无作用的边，不足以断定。",
            f"The interval of the {other}'s rank correlation reaches {AGREED}, and no edge of it weighs much "
            "and does nothing: too little to say it of that model.",
        )
        return Judgement(Verdict.WITHIN, said, reason, Text(f" {name} 中", name))
    return Judgement(Verdict.FAILS, said)


def _none_learned(family: str) -> Text:
    return Text(f"{TOLD[family]} 没有一个学会指代。", f"No {TOLD[family]} learned to resolve the pronoun. ")


def _told(
    seeds: Sequence[dict[str, Any]], found: Sequence[Sequence[Head]], agreed: Mean, never: Mean
) -> Text:
    """The figures of a family's models."""
    name, spread = TOLD[found[0][0].family], f"{number(agreed.low, 2)} … {number(agreed.high, 2)}"
    cuts = [seed["effects"]["answer"]["cut"] for seed in seeds if seed["accuracy"] >= LEARNT]
    single = number(max(max(cut[:-1]) for cut in cuts), 2)
    together = number(mean([cut[-1] for cut in cuts]).mean, 2)
    if never.mean:
        worst = max((head for model in found for head in model if head.idle), key=lambda head: head.weight)
        count = number(never.mean, 1)
        example = Text(
            f"每个模型有 {count} 条边权重不小于 {HEAVY} 却毫无作用，例如 {worst.said('zh')}",
            f"{count} edges of a model weigh {HEAVY} or more and do nothing, as {worst.said('en')}",
        )
    else:
        heavy, light = reversal(found)
        example = Text(
            f"最不一致的是 {heavy.said('zh')}与 {light.said('zh')}",
            f"the furthest apart are {heavy.said('en')} and {light.said('en')}",
        )
    return Text(
        f"{name}（{len(seeds)} 个中 {len(found)} 个学会）：权重与切断后损失的秩相关为 "
        f"{number(agreed.mean, 2)}（区间 {spread}）；{example.zh}；回答处的边，只切断一个头的最多损失 "
        f"{single}，各头的一起切断平均损失 {together}。",
        f"{name} ({len(found)} of {len(seeds)} learned): weights and losses when cut have a rank correlation "
        f"of {number(agreed.mean, 2)} (interval {spread}); {example.en}. Edges from the answer lose "
        f"at most {single} when cut in one head, {together} on average when cut in all.",
    )


def figures(measured: Measured) -> tuple[Figure, ...]:
    found = {family: models(measured, family) for family in FAMILIES}
    kinds = [(family, edge) for family in FAMILIES for edge in EDGES]
    odds = LOSSES.index("cut_odds")
    scattered = []
    for family, edge in kinds:
        chosen = [head for model in found[family] for head in model if head.edge == edge]
        label = Text(*(f"{TOLD[family]}, {name}" for name in EDGE_NAMES[edge]))
        scattered.append(
            Series(label, [h.weight for h in chosen], [h.losses[odds] for h in chosen], joined=False)
        )
    ways = (("cut", Text("切断", "cut")), ("zero", Text("置零", "zeroed")))
    agreed = []
    for i, (loss, label) in enumerate(ways):
        means = [agreement(found[family], loss, [edge]) for family, edge in kinds]
        agreed.append(
            Series(
                label,
                [n + (i - 0.5) / 5 for n in range(len(kinds))],
                [m.mean for m in means],
                [m.low for m in means],
                [m.high for m in means],
                joined=False,
            )
        )
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
        "置零（不归一）后正确答案损失多少对数概率和对数几率。若权重与损失的排序几乎一致，论断就不成立。",
        "Small GPTs and BERTs learn Chinese and English sentences of ours in which structure decides whom a "
        "pronoun means; the pairs they are tested with are held out. Then two edges of each head are "
        "measured, pronoun → referent and answer → referent: their weight, and the log-probability and "
        "log-odds that the right answer loses when they are cut (score −∞, renormalised) or zeroed (not "
        "renormalised). If weights and losses agreed nearly perfectly in their order, the claim would fail.",
    ),
    measure,
    judge,
    figures,
    trains=True,
)
