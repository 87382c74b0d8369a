"""The look page of a recurrent model: what its gates and states do, token by token.

Shapes: n tokens, H units, V vocabulary.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup
from torch import Tensor

from ..data.tokenizers import Tokenizer
from ..errors import UserError
from ..models import RecurrentLM
from ..nn.recurrent import INSIDE, Kind
from . import sections
from .check import GATES, check
from .pictures import MAP_SIZE, TIME_SIZE, over_time
from .report import signed
from .trace import Trace
from .words import spoken
from .words_recurrent import WORDS

MOST_TOKENS = 1024  # on a page
NAMED = 32  # tokens, at most, whose names stand under the maps
LISTED = 24  # tokens in the tables of numbers, at most
UNITS = 8


@dataclass(frozen=True)
class Map:
    """One value over time; `strongest` is what is drawn strongest."""

    name: str
    picture: str
    strongest: float


@dataclass(frozen=True)
class Number:
    """A value as text, how strongly it is shaded, and whether it is below 0."""

    text: str
    shade: float
    below: bool


def tell(key: str, /, **given: object) -> Markup:
    """A text of this page in both languages."""
    return spoken(WORDS[key], **given)


def values(
    model: RecurrentLM, tokenizer: Tokenizer, ids: Sequence[int], layer: int | None = None
) -> dict[str, Any]:
    """What the template needs. `layer` is shown in numbers, by default the last.

    Raises UserError for an empty text, a layer that is not there, and a model that fails the self-check.
    """
    if not ids:
        raise UserError("the text to look at is empty")
    n_layers = model.config.n_layers
    chosen = n_layers - 1 if layer is None else layer
    if not 0 <= chosen < n_layers:
        raise UserError(f"layer {chosen} is not there: the model has layers 0 to {n_layers - 1}")
    shown = list(ids[-MOST_TOKENS:])
    traced = check(model, shown)
    labels = sections.labels(tokenizer, ids)[-len(shown) :]
    kind, n, width = model.config.kind, len(shown), model.config.d_model
    memory = "cell" if kind == "lstm" else "hidden"
    memory_nH = traced[f"blocks.{chosen}.{memory}"][0]
    swing_H = memory_nH.amax(0) - memory_nH.amin(0)
    units = swing_H.topk(min(UNITS, width)).indices.tolist()
    names = INSIDE[kind]
    inside = [
        _numbers(traced[f"blocks.{chosen}.{name}"][0, -LISTED:, units[:1]], 3, gate=name in GATES)
        for name in names
    ]
    first = max(0, n - sections.TABLE_SIZE)
    return {
        "model": model.config,
        "labels": labels,
        "left_out": len(ids) - n,
        "all": len(ids),
        "names": names,
        "gates": GATES,
        "maps": [maps(traced, f"blocks.{i}", kind) for i in range(n_layers)],
        "pooled": width > MAP_SIZE or n > TIME_SIZE,
        "map_size": (min(width, MAP_SIZE), min(n, TIME_SIZE)),
        "axis": labels if n <= NAMED else [],
        "layer": chosen,
        "memory": memory,
        "units": units,
        "listed_first": max(0, n - LISTED),
        "unit_table": _numbers(memory_nH[-LISTED:, units], 2),
        "inside_table": [
            [number for numbers in row for number in numbers] for row in zip(*inside, strict=True)
        ],
        "predictions": sections.predictions(traced, tokenizer, shown, labels, first),
    }


def maps(traced: Trace, path: str, kind: Kind) -> list[Map]:
    """The gates and states of one layer, which stand in the trace under `path`."""
    return [
        Map(name, *over_time(traced[f"{path}.{name}"][0], signed=name not in GATES)) for name in INSIDE[kind]
    ]


def _numbers(table: Tensor, digits: int, gate: bool = False) -> list[list[Number]]:
    """A table as texts, shaded by how near a value comes to the largest. A gate has no sign."""
    largest = float(table.abs().max()) or 1.0
    return [
        [
            Number(f"{x:.{digits}f}" if gate else signed(x, digits), round(abs(x) / largest, 3), x < 0)
            for x in row
        ]
        for row in table.tolist()
    ]
