"""What was measured for a claim, and how a page tells it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from markupsafe import Markup, escape

from ..claims import claim, measured
from ..claims.claim import Claim, Judgement, Measured, Verdict
from ..claims.figure import Figure, drawing
from ..claims.run import held
from ..texts import Language, Text
from .words import say

SIGNS = {
    Verdict.HOLDS: '<path d="M2 9l4 4 8-10"/>',
    Verdict.WITHIN: '<circle cx="8" cy="8" r="6"/><path class="full" d="M8 2a6 6 0 0 0 0 12z"/>',
    Verdict.FAILS: '<path d="M3 3l10 10M13 3l-10 10"/>',
    Verdict.UNDECIDED: '<circle cx="8" cy="8" r="6" stroke-dasharray="2 2.7"/>',
}
"""What stands before a verdict, so that it is seen without its colour: a tick, a disc that is half full, a
cross, a ring of dashes."""


@dataclass(frozen=True)
class Outcome:
    """A claim and what was measured for it."""

    claim: Claim
    measured: Measured

    @cached_property
    def judgement(self) -> Judgement:
        return self.claim.judge(self.measured)

    @cached_property
    def figures(self) -> Sequence[Figure]:
        return self.claim.figures(self.measured)


@dataclass(frozen=True)
class Teller:
    """What templates ask for to tell of a claim in one language."""

    language: Language

    def say(self, key: str, **values: object) -> str:
        return say(key, self.language, **values)

    def line(self, text: Text) -> Markup:
        """A claim's text, which knows no marks: names of files are told in it."""
        return escape(getattr(text, self.language))

    def verdict(self, judgement: Judgement) -> str:
        return judgement.spoken(self.language)

    def sign(self, judgement: Judgement) -> Markup:
        return Markup(SIGNS[judgement.verdict])

    def drawing(self, figure: Figure) -> Markup:
        return drawing(figure, self.language)

    def took(self, measured: Measured) -> str:
        """How it was measured: quickly or in full, in how many seconds, by which version."""
        key = "claims_quick" if measured["quick"] else "claims_full"
        return self.say(key, seconds=f"{measured['seconds']:,.0f}", version=measured["version"])


def kept(names: Sequence[str]) -> list[Outcome]:
    """These claims as their full runs found them."""
    return [Outcome(claim(name), measured(name)) for name in names]


def held_in(folder: Path) -> dict[str, Outcome]:
    """The claims whose measurements a folder holds, by name."""
    return {name: Outcome(claim(name), found) for name, found in held(folder).items()}
