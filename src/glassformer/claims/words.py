"""What C1 measures word vectors with: a language whose meanings are known, classes of words of a real text,
and vectors that are made by counting.

Shapes: V words, D width.
"""

import itertools
import random
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ..data.corpus import Tokens
from ..data.space import WordSpace
from .statistics import rank_correlation

Floats = NDArray[np.float64]
Features = tuple[int, ...]
"""Of a word of the language: its kind, and two that are 0 or 1."""

KINDS, SLIPS = 8, 0.6
NOUNS: dict[str, Features] = {
    "n" + "".join(map(str, features)): features
    for features in itertools.product(range(KINDS), range(2), range(2))
}
MARKS = 3
"""Words that go with each value of each feature; a share SLIPS of them goes with another value."""

CLASSES = (
    ("int", "float", "complex", "str", "bytes", "list", "tuple", "dict", "set"),
    ("must", "may", "can", "should", "will", "might", "could", "cannot"),
    ("one", "two", "three", "zero"),
    ("first", "second", "third", "last", "next"),
    ("is", "are", "was", "be", "has", "have"),
    ("in", "on", "by", "from", "of", "with", "into", "at"),
    ("the", "a", "an", "this", "that", "these", "each", "any"),
    ("left", "right"),
    ("true", "false"),
    ("addition", "subtraction", "multiplication", "division"),
)
"""Words of Python's manual that do the same work there."""


def language(seed: int, sentences: int) -> str:
    """Sentences, one a line: a noun among words that go with its features and one that goes with none."""
    chance, nouns = random.Random(seed), list(NOUNS)
    sizes = (KINDS, 2, 2)

    def mark(feature: int, value: int) -> str:
        if chance.random() < SLIPS:
            value = chance.randrange(sizes[feature])
        return f"m{feature}{value}{chance.randrange(MARKS)}"

    lines = []
    for _ in range(sentences):
        noun = chance.choice(nouns)
        kind, one, other = (mark(i, value) for i, value in enumerate(NOUNS[noun]))
        lines.append(f"{one} {noun} {kind} {other} f{chance.randrange(10)}")
    return "\n".join(lines)


def analogies() -> list[tuple[str, str, str, str]]:
    """All (a, b, c, d) of nouns in which one of the two small features differs between a and b, and alike
    between c and d, and c is of another kind, or has another other feature, than a."""
    flips = []
    for which in (1, 2):
        for name, features in NOUNS.items():
            flipped = tuple(1 - value if i == which else value for i, value in enumerate(features))
            flips.append((which, features[which], name, _named(flipped)))
    return [
        (a, b, c, d)
        for (which, before, a, b), (other, value, c, d) in itertools.permutations(flips, 2)
        if (which, before) == (other, value)
    ]


def _named(features: Features) -> str:
    return "n" + "".join(map(str, features))


def shared(a: str, b: str) -> int:
    """In how many features two nouns agree."""
    return sum(x == y for x, y in zip(NOUNS[a], NOUNS[b], strict=True))


def counted(text: Tokens, n_words: int, window: int) -> Floats:
    """How often each two words (V, V) stand within `window` of each other, nearer pairs weighing more, as
    often as word2vec draws them; the id `n_words` ends a sentence."""
    ids = text.astype(np.int64)
    kept, sentence = ids[ids != n_words], np.cumsum(ids == n_words)[ids != n_words]
    counts = np.zeros(n_words * n_words)
    for distance in range(1, window + 1):
        near = sentence[distance:] == sentence[:-distance]
        pairs = kept[:-distance][near] * n_words + kept[distance:][near]
        counts += np.bincount(pairs, minlength=len(counts)) * ((window - distance + 1) / window)
    square: Floats = counts.reshape(n_words, n_words)
    return square + square.T


def ppmi(counts: Floats) -> Floats:
    """Positive pointwise mutual information, contexts to the power 0.75 (Levy, Goldberg & Dagan 2015)."""
    contexts = counts.sum(0) ** 0.75
    expected = counts.sum(1, keepdims=True) * (contexts / contexts.sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = np.log(counts / expected)
    return np.maximum(np.nan_to_num(found, nan=0.0, neginf=0.0), 0.0)


def reduced(matrix: Floats, width: int) -> Floats:
    """Its rows in the D directions that hold most of it, each by the root of how much (V, D)."""
    u, s, _ = np.linalg.svd(matrix, full_matrices=False)
    rows: Floats = u[:, :width] * np.sqrt(s[:width])
    return rows


def on_nouns(space: WordSpace) -> dict[str, float]:
    """Vectors of the language: the rank correlation of cosines with shared features; the share of nouns whose
    nearest noun differs in one feature; right analogies, and those of the word nearest to c alone."""
    names = list(NOUNS)
    cosines = _cosines(space, names)
    pairs = list(itertools.combinations(range(len(names)), 2))
    agreed = np.array([[shared(a, b) for b in names] for a in names])
    nearest = (cosines - 2 * np.eye(len(names))).argmax(1)
    asked = np.array([[space.place(word) for word in four] for four in analogies()])
    return {
        "similarity": rank_correlation(*zip(*((cosines[p], agreed[p]) for p in pairs), strict=True)),
        "nearest": float((agreed[range(len(names)), nearest] == 2).mean()),
        "analogies": float((space.answers(asked[:, :3]) == asked[:, 3]).mean()),
        "without_offset": float((space.answers(asked[:, :3], offset=False) == asked[:, 3]).mean()),
    }


def on_classes(space: WordSpace) -> dict[str, float]:
    """Vectors of the manual: the share of words in CLASSES whose nearest of those is of the same class, that
    of any other of those by chance, and how many they are."""
    of = {word: k for k, words in enumerate(CLASSES) for word in words if space.find(word) is not None}
    names, classes = list(of), np.array(list(of.values()))
    same = classes[:, None] == classes
    nearest = (_cosines(space, names) - 2 * np.eye(len(names))).argmax(1)
    return {
        "nearest": float(same[range(len(names)), nearest].mean()),
        "chance": float((same.sum(1) - 1).mean() / (len(names) - 1)),
        "words": len(names),
    }


def chance_of_nouns() -> float:
    """The share of pairs of nouns that differ in one feature."""
    pairs = list(itertools.combinations(NOUNS, 2))
    return sum(shared(a, b) == 2 for a, b in pairs) / len(pairs)


def _cosines(space: WordSpace, names: Sequence[str]) -> Floats:
    directions = space.directions_nd[[space.place(word) for word in names]].astype(np.float64)
    found: Floats = directions @ directions.T
    return found


def ways(words: Sequence[str], trained: Floats, counts: Floats) -> Mapping[str, WordSpace]:
    """The vectors that were trained, those of PPMI and SVD of the same width, and the counts as they are."""
    made = {"trained": trained, "ppmi": reduced(ppmi(counts), trained.shape[1]), "counts": counts}
    return {name: WordSpace(words, table.astype(np.float32), name) for name, table in made.items()}
