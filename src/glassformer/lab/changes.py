"""Edits as a page's address holds them: `cut:L.H.Q.K`, `zero:L.H.Q.K`, `scale:L.H.K:FACTOR`, `silence:L.H`.

L, H, Q, K are the layer, head, query and key, counted from 0.
"""

import re
from dataclasses import dataclass

from ..glass import edits
from ..glass.edits import Edit
from ..models import Decoder
from .words_run import Told

MOST = 32  # edits at once
FACTOR = 10.0  # a value may be scaled by so much, at most, either way

_FIGURES = {"cut": 4, "zero": 4, "scale": 3, "silence": 2}
_SPOKEN = re.compile(r"(cut|zero|scale|silence):([0-9]{1,6}(?:\.[0-9]{1,6})+)(?::(.{1,32}))?")


@dataclass(frozen=True)
class Change:
    """One edit. `query` and `key` are None where the kind has none."""

    kind: str
    layer: int
    head: int
    query: int | None = None
    key: int | None = None
    factor: float = 1.0

    @property
    def spoken(self) -> str:
        places = [x for x in (self.layer, self.head, self.query, self.key) if x is not None]
        factor = f":{self.factor:g}" if self.kind == "scale" else ""
        return f"{self.kind}:{'.'.join(map(str, places))}{factor}"

    def edit(self, model: Decoder) -> Edit:
        """The edit for a model that has such a head."""
        if self.kind == "silence":
            return edits.silence(self.layer, self.head)
        assert self.key is not None
        if self.kind == "scale":
            n_kv = model.config.n_kv_heads or model.config.n_heads
            return edits.scale_value(
                self.layer, self.key, self.factor, self.head * n_kv // model.config.n_heads
            )
        assert self.query is not None
        make = edits.cut if self.kind == "cut" else edits.zero
        return make(self.layer, self.head, edges=[(self.query, self.key)])


def parsed(spoken: list[str], factor: float) -> list[Change]:
    """The edits, each once, in their order. `factor` is that of a scale that names none.

    Raises UserError for what is no edit, and for too many."""
    if len(spoken) > MOST:
        raise Told("many_edits", n=str(len(spoken)), most=str(MOST))
    return list(dict.fromkeys(_parsed(text, factor) for text in spoken))


def _parsed(text: str, factor: float) -> Change:
    found = _SPOKEN.fullmatch(text)
    places = [int(part) for part in found[2].split(".")] if found else []
    if found is None or len(places) != _FIGURES[found[1]] or (found[3] and found[1] != "scale"):
        raise Told("no_edit", text=ascii(text if len(text) <= 60 else f"{text[:60]}…"))
    layer, head, *rest = places
    if found[1] == "scale":
        return Change("scale", layer, head, key=rest[0], factor=_factor(found[3], factor))
    return Change(found[1], layer, head, *rest)


def _factor(text: str | None, usual: float) -> float:
    try:
        factor = usual if text is None else float(text)
    except ValueError:
        factor = float("nan")
    if not -FACTOR <= factor <= FACTOR:
        raise Told("wrong_factor", most=f"{FACTOR:g}", text=ascii(text or usual))
    return float(f"{factor:g}")  # as it is spelled
