"""C22: trained heads take different roles."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..texts import Text, number
from .claim import Claim, Judgement, Measured, Verdict, Work
from .figure import Figure, Series
from .pronouns import LEARNT, ROLES, accuracy, roles, taught, untrained
from .statistics import Mean, mean

SCORES = {
    "previous": Text("前一个词", "word before"),
    "same": Text("相同的词", "same word"),
    "pronoun": Text("代词→所指", "from pronoun"),
    "answer": Text("回答处→所指", "from answer"),
}
WHAT = {"previous": "previous", "same": "same", "pronoun": "referent", "answer": "referent"}
"""What a head looks at whose score this is."""
NAMES = {
    "previous": Text("看前一个词", "the word before"),
    "same": Text("看相同的词", "the same word"),
    "referent": Text("看所指的词", "the word that is meant"),
}
SENTENCES = 40
"""Of each kind, whose weights are averaged."""
RISE = 0.1
"""By how much a head's score must lie above the mean of untrained heads for the head to have a role."""


def measure(work: Work) -> Measured:
    """The scores of all heads before and after training, for each seed."""
    return {"seeds": work.parts("seed", range(work.choose(2, 8)), _measured)}


def _measured(seed: int) -> dict[str, Any]:
    model = untrained("gpt", seed)
    before = roles(model, SENTENCES)
    steps = taught(model, seed)
    return {
        "steps": steps,
        "accuracy": accuracy(model),
        "untrained": before,
        "trained": roles(model, SENTENCES),
    }


def _learnt(measured: Measured) -> list[dict[str, Any]]:
    return [seed for seed in measured["seeds"] if seed["accuracy"] >= LEARNT]


def leading(seed: dict[str, Any]) -> list[str | None]:
    """The role of each trained head: the score that rose most above the mean of the untrained heads, if it
    rose by RISE."""
    rises = np.array([np.subtract(seed["trained"][role], np.mean(seed["untrained"][role])) for role in ROLES])
    return [ROLES[head.argmax()] if head.max() >= RISE else None for head in rises.T]


def growth(seeds: Sequence[dict[str, Any]], role: str) -> Mean:
    """By how much the standard deviation of a score over the heads of a model grew in training."""
    return mean([float(np.std(seed["trained"][role]) - np.std(seed["untrained"][role])) for seed in seeds])


def taken(seed: dict[str, Any]) -> set[str]:
    """For which of WHAT the trained model has heads."""
    return {WHAT[role] for role in leading(seed) if role}


def judge(measured: Measured) -> Judgement:
    """It holds if training drives the heads apart in every score (the interval of the growth of their spread
    lies above 0), and nearly every model has heads for all of WHAT (the interval of how many lies above 2).
    Within those that most models have heads for, if the interval lies above 1."""
    seeds = _learnt(measured)
    if len(seeds) < 2:
        found = Text("学会指代的模型不到两个。", "Fewer than two models learned to resolve the pronoun.")
        return Judgement(Verdict.UNDECIDED if measured["quick"] else Verdict.FAILS, found)
    grown = {role: growth(seeds, role) for role in ROLES}
    apart = [role for role in ROLES if grown[role].low > 0]
    count = mean([float(len(taken(seed))) for seed in seeds])
    spread = f"{number(max(count.low, 0), 2)} … {number(min(count.high, len(NAMES)), 2)}"
    having = {what: sum(what in taken(seed) for seed in seeds) for what in NAMES}
    found = Text(
        f"{len(measured['seeds'])} 个模型中 {len(seeds)} 个学会指代。训练使各头在 {len(ROLES)} 种得分中的 "
        f"{len(apart)} 种上彼此拉开。有专职的头的模型："
        f"{'；'.join(f'{NAMES[what].zh} {n} 个' for what, n in having.items())}；"
        f"每个模型平均有 {number(count.mean, 2)} 种职责"
        f"（区间 {spread}）。",
        f"{len(seeds)} of {len(measured['seeds'])} models learned to resolve the pronoun. Training drove "
        f"their heads apart in {len(apart)} of {len(ROLES)} scores. Models with heads that are for it: "
        f"{'; '.join(f'{NAMES[what].en}, {n}' for what, n in having.items())}. That makes "
        f"{number(count.mean, 2)} roles a model (interval {spread}).",
    )
    if len(apart) == len(ROLES) and count.low > 2:
        return Judgement(Verdict.HOLDS, found)
    reason = _reason(seeds, apart)
    common = [NAMES[what] for what, n in having.items() if 2 * n >= len(seeds)]
    if apart and count.low > 1 and common:
        within = Text(
            "以下职责上" + "、".join(name.zh for name in common),
            "these roles: " + ", ".join(name.en for name in common),
        )
        return Judgement(Verdict.WITHIN, found, reason, within)
    return Judgement(Verdict.UNDECIDED if measured["quick"] else Verdict.FAILS, found, reason)


def _reason(seeds: Sequence[dict[str, Any]], apart: Sequence[str]) -> Text | None:
    """Where heads part and yet share a role: how many of them have the most common one."""
    roles_of = [Counter(WHAT[role] for role in leading(seed) if role) for seed in seeds]
    commonest, _ = sum(roles_of, Counter[str]()).most_common(1)[0] if any(roles_of) else (None, 0)
    if commonest is None or not apart:
        return None
    share = sum(each[commonest] for each in roles_of) / len(seeds)
    best = max(max(seed["trained"]["previous"]) for seed in seeds)
    return Text(
        f"这个任务难在找到所指：每个模型有 {number(share, 1)} 个头做同一件事（{NAMES[commonest].zh}），"
        f"没有一个头给前一个词的平均权重超过 {number(best, 2)}，不靠它也答得对。",
        f"What is hard here is to find the referent: {number(share, 1)} heads of a model do the same "
        f"({NAMES[commonest].en}), and none gives the word before more than {number(best, 2)} on average, "
        "and the answers are right without it.",
    )


def figures(measured: Measured) -> tuple[Figure, ...]:
    seeds = measured["seeds"]
    before = [[score for seed in seeds for score in seed["untrained"][role]] for role in ROLES]
    after = [
        (n + 0.25 * k / len(seeds), score)
        for n, role in enumerate(ROLES)
        for k, seed in enumerate(seeds)
        for score in seed["trained"][role]
    ]
    scores = (
        Series(
            Text("训练前：均值与范围", "untrained: mean and range"),
            range(len(ROLES)),
            [float(np.mean(each)) for each in before],
            [min(each) for each in before],
            [max(each) for each in before],
            joined=False,
        ),
        Series(
            Text("训练后的每个头", "each head, trained"),
            [x for x, _ in after],
            [score for _, score in after],
            joined=False,
        ),
    )
    return (
        Figure(
            Text("每个头的得分，逐个种子", "The scores of each head, seed by seed"),
            Text("职责", "role"),
            Text("平均权重", "mean weight"),
            scores,
            x_names=tuple(SCORES[role] for role in ROLES),
        ),
    )


CLAIM = Claim(
    "C22",
    Text("训练使头各司其职", "Trained heads take different roles"),
    Text(
        "训练出来的头各有分工：有的看前一个词，有的看相同的词，有的看代词所指的词。",
        "Trained heads divide the work: some look at the word before, some at the same word, some at the "
        "word that a pronoun means.",
    ),
    Text(
        "小 GPT 学我们生成的中英文句子，只教问句和答案，直到能答出代词指谁；在没学过的搭配上，对每个头量四种"
        "平均权重：给前一个词、给前面相同的词、从代词和从回答处给所指的词，训练前后各一次。比未训练的头高出 "
        f"{RISE} 才算有这个职责，取高出最多的一种。若各头没有拉开，或者都做同一件事，论断就不成立。",
        "Small GPTs learn Chinese and English sentences of ours, of which question and answer alone are "
        "taught, until they tell whom the pronoun means. On pairs that are held out four mean weights of "
        "each head are measured, before and after: on the word before, on the same word before, and from "
        "the pronoun and from the place of the answer on the word that is meant. A head has the role that "
        f"rose most above untrained heads, if by {RISE} or more. If heads stayed alike, or all did the same, "
        "the claim would fail.",
    ),
    measure,
    judge,
    figures,
    trains=True,
)
