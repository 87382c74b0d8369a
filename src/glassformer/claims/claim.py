"""What a claim is made of, and how its verdict is told."""

from collections.abc import Callable, Collection, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

from ..texts import Language, Text
from .figure import Figure

Measured = dict[str, Any]
"""What an experiment found: numbers, texts, lists and tables of them, as JSON keeps them."""

Made = TypeVar("Made")
Key = TypeVar("Key", bound=Hashable)
Row = TypeVar("Row", bound=Hashable)
Column = TypeVar("Column", bound=Hashable)


class Verdict(Enum):
    """How a measurement came out for a claim."""

    HOLDS = Text("成立", "holds")
    WITHIN = Text("在一定范围内成立", "holds within")
    FAILS = Text("在这个规模下不成立", "does not hold at this scale")
    UNDECIDED = Text("快速运行无法判定", "not decided by the quick run")


@dataclass(frozen=True)
class Judgement:
    """A verdict, the figures that it rests on, and why, where the claim came out differently and that can be
    shown. `within` says the bounds of WITHIN, and is what follows "holds within"."""

    verdict: Verdict
    found: Text
    reason: Text | None = None
    within: Text | None = None

    def __post_init__(self) -> None:
        assert (self.verdict is Verdict.WITHIN) == (self.within is not None)

    def spoken(self, language: Language) -> str:
        """The verdict with its bounds."""
        if self.within is None:
            told: str = getattr(self.verdict.value, language)
            return told
        return f"在{self.within.zh}成立" if language == "zh" else f"holds within {self.within.en}"


@dataclass(frozen=True)
class Given:
    """What somebody has made already and wants measured as well. `published`, for C1: word vectors, and a
    list of analogies to ask them. `translators`, for C4: a run without attention, one with it, and pairs to
    translate."""

    published: tuple[Path, Path] | None = None
    translators: tuple[tuple[Path, Path, Path], ...] = ()

    def marks(self) -> list[list[Any]] | None:
        """Each file and folder by its name and when it was last changed, as JSON keeps it; None for none.
        A run's folder changes with each checkpoint."""
        paths = [*(self.published or ()), *(path for three in self.translators for path in three)]
        return [[path.name, _changed(path)] for path in paths] or None


def name_of(path: Path) -> str:
    """A file's name as it can be told: question marks for what no page or terminal can show."""
    return "".join(c if c.isprintable() else "?" for c in path.name)


def _changed(path: Path) -> int | None:
    """When a file was last changed, in nanoseconds; None for what is not there, of which its reader tells."""
    with suppress(OSError):
        return path.stat().st_mtime_ns
    return None


class Work:
    """What an experiment works with: whether it must be quick, what was given to it, and a place for what is
    done already.

    `kept` are the results of parts, by what was asked; `keep` is told after each that is new; `advance` hears
    how many parts are done, of how many that are known by then. Their share never falls: where further parts
    come in, nothing is told until it is larger again."""

    def __init__(
        self,
        quick: bool,
        kept: dict[str, Any] | None = None,
        keep: Callable[[dict[str, Any]], None] = lambda kept: None,
        advance: Callable[[int, int], None] = lambda done, total: None,
        given: Given | None = None,
    ) -> None:
        self.given = given or Given()
        self.quick, self._kept, self._keep, self._advance = quick, kept or {}, keep, advance
        self._done = self._total = 0
        self._told = 0.0  # the largest share that was told

    def choose(self, quick: Made, full: Made) -> Made:
        """A setting by how much time there is."""
        return quick if self.quick else full

    def parts(self, name: str, keys: Sequence[Key], make: Callable[[Key], Any]) -> list[Any]:
        """make(key) for every key, in order; what it returns must be JSON. Each result is kept at once, so
        that an experiment that was stopped goes on where it was: a part must depend on its key alone, and
        take its chance from it. `name` sets the parts apart from others of the same claim."""
        self._total += len(keys)
        made = []
        for key in keys:
            self._tell()
            label = f"{name} {key}"
            if label not in self._kept:
                self._kept[label] = make(key)
                self._keep(self._kept)
            made.append(self._kept[label])
            self._done += 1
        return made

    def finish(self) -> None:
        """Tell that all is done, which only its end says: until then more parts may come."""
        self._advance(self._done, self._total)

    def _tell(self) -> None:
        share = self._done / self._total
        if share >= self._told:
            self._told = share
            self._advance(self._done, self._total)

    def table(
        self, rows: Collection[Row], columns: Collection[Column], make: Callable[[Row, Column], Any]
    ) -> dict[str, list[Any]]:
        """make(row, column) for all of both, each a part: by row, what it gave for the columns, in order."""
        keys = [(row, column) for row in rows for column in columns]
        made = iter(self.parts("of", keys, lambda key: make(*key)))
        return {str(row): [next(made) for _ in columns] for row in rows}


@dataclass(frozen=True)
class Claim:
    """One claim. `statement` is what is claimed, `method` how it is measured and what would decide against
    it. `measure` does the experiment; `judge` and `figures` are functions of what it found and nothing else.
    `trains`: whether models are trained for it."""

    name: str
    title: Text
    statement: Text
    method: Text
    measure: Callable[[Work], Measured]
    judge: Callable[[Measured], Judgement]
    figures: Callable[[Measured], Sequence[Figure]]
    trains: bool = False
