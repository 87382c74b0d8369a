"""What word vectors are measured with: lists of word pairs that people judged, and of analogies.

similarity   two words and a number, separated by tabs or commas (WordSim-353, SimLex-999, MEN, …);
             lines that begin with #, and a first line of titles, are passed over
analogies    four words a line, separated by spaces, in sections that begin with ": name" (Google's)
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..config import read_text
from ..errors import UserError
from .space import WordSpace

LIMIT = 64 << 20  # bytes of such a file


@dataclass(frozen=True)
class Similarity:
    """`spearman`: the correlation of ranks of cosine and judgement over the pairs that are known; None where
    it cannot be told: fewer than two pairs, or all alike."""

    spearman: float | None
    covered: int
    pairs: int
    unknown: list[str]


@dataclass(frozen=True)
class Section:
    name: str
    right: int
    covered: int
    questions: int


@dataclass(frozen=True)
class Analogies:
    """`accuracy`: right answers among the questions whose four words are known; None without any."""

    sections: list[Section]
    unknown: list[str]

    @property
    def total(self) -> Section:
        sums = (sum(getattr(s, key) for s in self.sections) for key in ("right", "covered", "questions"))
        return Section("all", *sums)


def accuracy(section: Section) -> float | None:
    return section.right / section.covered if section.covered else None


def measure(space: WordSpace, path: Path) -> Similarity | Analogies:
    """Measure vectors with a file of either kind. Raises UserError for a file that is neither."""
    lines = [
        (number, line.strip())
        for number, line in enumerate(read_text(path, LIMIT).lstrip("\ufeff").splitlines(), 1)
        if line.strip() and not line.startswith("#")
    ]
    if not lines:
        raise UserError(f"{path} holds no questions")
    if lines[0][1].startswith(":"):
        return _analogies(space, path, lines)
    return _similarity(space, path, lines)


def _similarity(space: WordSpace, path: Path, lines: list[tuple[int, str]]) -> Similarity:
    cosines, judgements, unknown = list[float](), list[float](), dict[str, None]()
    pairs = 0
    for number, line in lines:
        fields = [field.strip() for field in re.split(r"[\t,;]", line)]
        judged = _number(fields[2]) if len(fields) > 2 else None
        if judged is None or not all(fields[:2]):
            if not pairs and len(fields) > 2:
                continue  # titles
            raise UserError(
                f"{path}: line {number} is neither two words and a number, separated by tabs or commas, "
                "nor a section of analogies"
            )
        pairs += 1
        places = [space.find(word) for word in fields[:2]]
        unknown |= {word: None for word, place in zip(fields, places, strict=False) if place is None}
        a, b = places
        if a is not None and b is not None:
            cosines.append(space.similarity(a, b))
            judgements.append(judged)
    return Similarity(spearman(cosines, judgements), len(cosines), pairs, list(unknown))


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if np.isfinite(number) else None


def _analogies(space: WordSpace, path: Path, lines: list[tuple[int, str]]) -> Analogies:
    names: list[str] = []
    asked: list[int] = []
    known: list[tuple[int, list[int]]] = []
    unknown: dict[str, None] = {}
    for number, line in lines:
        if line.startswith(":"):
            names.append(line[1:].strip())
            asked.append(0)
            continue
        words = line.split()
        if len(words) != 4:
            raise UserError(f"{path}: line {number} has {len(words)} words; an analogy has four")
        asked[-1] += 1
        places = [space.find(word) for word in words]
        unknown |= {word: None for word, place in zip(words, places, strict=True) if place is None}
        found = [place for place in places if place is not None]
        if len(found) == 4:
            known.append((len(names) - 1, found))
    questions = np.array([places for _, places in known], np.int64).reshape(-1, 4)
    right = space.answers(questions[:, :3]) == questions[:, 3]
    section = np.array([which for which, _ in known], np.int64)
    made = [
        Section(name, int(right[section == i].sum()), int((section == i).sum()), asked[i])
        for i, name in enumerate(names)
    ]
    return Analogies(made, list(unknown))


def spearman(a: Sequence[float], b: Sequence[float]) -> float | None:
    """The correlation of the ranks of two columns (Spearman 1904), ties having their mean rank."""
    if len(a) < 2:
        return None
    ranks_a, ranks_b = _ranks(a), _ranks(b)
    spread = ranks_a.std() * ranks_b.std()
    if not spread:
        return None
    return float(((ranks_a - ranks_a.mean()) * (ranks_b - ranks_b.mean())).mean() / spread)


def _ranks(values: Sequence[float]) -> NDArray[np.float64]:
    _, which, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    ranks: NDArray[np.float64] = (np.cumsum(counts) - (counts - 1) / 2)[which]
    return ranks
