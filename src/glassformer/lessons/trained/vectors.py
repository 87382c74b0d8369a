"""Word vectors for the lesson `word-vectors`: our skip-gram on a text of ours that is the same in both
languages, word for word."""

import itertools
import random
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from ...store.vectors import word_vectors
from ...training import vectors
from ...training.quiet import trained
from .rounding import rounded

SENTENCES, SEED = 20_000, 1
SETTINGS = (
    *("d_model=6", "window=2", "negative=5", "subsample=0", "min_count=1", "breaks=lines"),
    *("epochs=4", "lr=0.1", "batch_size=2048", "device=cpu"),
)
SLIPS = 0.1
"""The share of words taken from the other list: no text is as tidy as a table."""

PEOPLE = {  # of which rank (0 royal), gender (0 male) and age (0 grown up)
    ("king", "国王"): (0, 0, 0),
    ("queen", "女王"): (0, 1, 0),
    ("man", "男人"): (1, 0, 0),
    ("woman", "女人"): (1, 1, 0),
    ("prince", "王子"): (0, 0, 1),
    ("princess", "公主"): (0, 1, 1),
    ("boy", "男孩"): (1, 0, 1),
    ("girl", "女孩"): (1, 1, 1),
}
RANK = (
    (("commands", "命令"), ("honours", "嘉奖"), ("inspects", "检阅")),
    (("feeds", "喂养"), ("washes", "刷洗"), ("hires", "租用")),
)
LOOKS = (
    (("handsome", "英俊的"), ("bearded", "长胡子的")),
    (("graceful", "优雅的"), ("ladylike", "淑女般的")),
)
GENDER = ((("his", "他的"),), (("her", "她的"),))
AGE = (
    (("old", "年长的"), ("wise", "睿智的")),
    (("young", "年幼的"), ("naughty", "淘气的")),
)
ANIMALS = (("horse", "马"), ("dog", "狗"), ("bird", "鸟"))
FOODS = (("apple", "苹果"), ("bread", "面包"))
TASTES = (("tastes", "尝起来"), ("smells", "闻起来"))
MANNERS = (("sweet", "很甜"), ("fresh", "很新鲜"), ("good", "很好"))

CONTEXTS = ("commands", "feeds")
"""Whose context vectors the lesson shows."""

Word = tuple[str, str]
"""In English and in Chinese."""


def sentences() -> list[list[Word]]:
    """HOW is WHO who does WHAT with WHOSE animal; or which FOOD tastes how."""
    chance = random.Random(SEED)

    def one_of(lists: tuple[tuple[Word, ...], ...], which: int) -> Word:
        return chance.choice(lists[1 - which if chance.random() < SLIPS else which])

    people, text = list(PEOPLE), []
    for _ in range(SENTENCES):
        if chance.random() < 0.2:
            text.append([chance.choice(FOODS), chance.choice(TASTES), chance.choice(MANNERS)])
            continue
        who = chance.choice(people)
        rank, gender, age = PEOPLE[who]
        text.append(
            [
                one_of(AGE, age) if chance.random() < 0.6 else one_of(LOOKS, gender),
                who,
                one_of(RANK, rank),
                one_of(GENDER, gender),
                chance.choice(ANIMALS),
            ]
        )
    return text


def analogies() -> list[tuple[str, str, str, str]]:
    """All (a, b, c, d) of four people in which d differs from c in what b differs from a."""
    names = {features: english for (english, _), features in PEOPLE.items()}
    found = []
    for a, b, c in itertools.permutations(names, 3):
        d = (b[0] - a[0] + c[0], b[1] - a[1] + c[1], b[2] - a[2] + c[2])
        if d in names and d not in (a, b, c):
            found.append((names[a], names[b], names[c], names[d]))
    return found


def train() -> dict[str, Any]:
    """The vectors (10, 6) of people and foods, the context vectors of two verbs, the axes of a map, and how
    many of all analogies come out."""
    with TemporaryDirectory() as folder:
        file, run = Path(folder) / "text.txt", Path(folder) / "run"
        lines = (" ".join(english for english, _ in sentence) for sentence in sentences())
        file.write_text("\n".join(lines), encoding="utf-8", newline="\n")
        with vectors.begun([str(file)], run, assignments=[*SETTINGS, f"seed={SEED}"]) as training:
            contexts = trained(training).contexts.weight.detach()
        space = word_vectors(run)
    shown = [english for english, _ in (*PEOPLE, *FOODS)]
    directions = space.directions_nd.astype(np.float64)
    asked, found = analogies(), {"excluded": 0, "included": 0}
    for a, b, c, d in asked:
        found["excluded"] += space.analogy(a, b, c, 1)[0][0] == d
        towards = directions[space.place(b)] - directions[space.place(a)] + directions[space.place(c)]
        found["included"] += space.words[int((directions @ towards).argmax())] == d
    people = directions[[space.place(word) for word in shown]]
    axes = np.linalg.svd(people - people.mean(0))[2][:2]
    axes *= np.sign(axes[:, :1])
    return {
        "settings": {"sentences": SENTENCES, "slips": SLIPS, "seed": SEED, "train": list(SETTINGS)},
        "words": shown,
        "vocabulary": len(space.words),
        "vectors": rounded(space.vectors[[space.place(word) for word in shown]]),
        "contexts": {word: rounded(contexts[space.place(word)]) for word in CONTEXTS},
        "axes": rounded(axes.T),
        "analogies": {"asked": len(asked), **found},
    }
