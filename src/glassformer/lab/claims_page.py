"""The page of the claims: what each says, what was measured, and its figures."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from ..claims.claim import Claim, Judgement, Measured
from ..claims.figure import Figure, drawing
from ..texts import Language, Text
from . import marks, pages
from .words import say


@dataclass(frozen=True)
class Outcome:
    """A claim and what was measured for it."""

    claim: Claim
    measured: Measured

    @property
    def judgement(self) -> Judgement:
        return self.claim.judge(self.measured)

    @property
    def figures(self) -> Sequence[Figure]:
        return self.claim.figures(self.measured)


@dataclass(frozen=True)
class Teller:
    """What templates ask for to tell of a claim in one language."""

    language: Language

    def line(self, text: Text) -> Markup:
        return marks.line(getattr(text, self.language), {})

    def verdict(self, judgement: Judgement) -> str:
        return judgement.spoken(self.language)

    def drawing(self, figure: Figure) -> Markup:
        return drawing(figure, self.language)

    def took(self, measured: Measured) -> str:
        """How it was measured: quickly or in full, in how many seconds."""
        key = "claims_quick" if measured["quick"] else "claims_full"
        return say(key, self.language, seconds=f"{measured['seconds']:,.0f}")


def claims_page(outcomes: Sequence[Outcome], language: Language, *, home: str = "index.html") -> pages.Page:
    """A table of verdicts, and below it a section for each claim, called by its name."""
    return pages.render(
        "claims.html",
        language,
        "claims.html",
        scripts=("progress",),
        data={},
        home=home,
        title=say("claims", language),
        outcomes=outcomes,
        told=Teller(language),
    )
