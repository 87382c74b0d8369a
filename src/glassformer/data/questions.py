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
    lines = _lines(path)
    if lines[0][1].startswith(":"):
        return _analogies(space, path, lines)
    return _similarity(space, path, lines)


def known_analogies(space: WordSpace, path: Path) -> tuple[NDArray[np.int64], int]:
    """The places (q, 4) of the words of those analogies of a file that are known, and how many there are in
    all. Raises UserError for another file."""
    lines = _lines(path)
    if not lines[0][1].startswith(":"):
        raise UserError(f"{path} holds no analogies: those begin with a section, ': name'")
    found = _asked(space, path, lines)
    return found.places_q4, sum(found.questions)


def _lines(path: Path) -> list[tuple[int, str]]:
    """The lines that say something, with their numbers."""
    lines = [
        (number, line.strip())
        for number, line in enumerate(read_text(path, LIMIT).lstrip("\ufeff").splitlines(), 1)
        if line.strip() and not line.startswith("#")
    ]
    if not lines:
        raise UserError(f"{path} holds no questions")
    return lines


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


@dataclass(frozen=True)
class _Asked:
    """Analogies: sections and how many questions each has; of those whose words are all known, the section
    (q,) and the places (q, 4)."""

    names: list[str]
    questions: list[int]
    section_q: NDArray[np.int64]
    places_q4: NDArray[np.int64]
    unknown: list[str]


def _asked(space: WordSpace, path: Path, lines: list[tuple[int, str]]) -> _Asked:
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
    section_q = np.array([which for which, _ in known], np.int64)
    places_q4 = np.array([places for _, places in known], np.int64).reshape(-1, 4)
    return _Asked(names, asked, section_q, places_q4, list(unknown))


def _analogies(space: WordSpace, path: Path, lines: list[tuple[int, str]]) -> Analogies:
    asked = _asked(space, path, lines)
    right = space.answers(asked.places_q4[:, :3]) == asked.places_q4[:, 3]
    made = [
        Section(name, int(right[asked.section_q == i].sum()), int((asked.section_q == i).sum()), questions)
        for i, (name, questions) in enumerate(zip(asked.names, asked.questions, strict=True))
    ]
    return Analogies(made, asked.unknown)


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
