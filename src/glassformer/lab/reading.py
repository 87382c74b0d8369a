"""What a run's page shows, as plain values: a pass over a text, the edited one, what would be drawn.

Shapes: L layers, h heads, n queries, m keys, V the tokenizer's vocabulary.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ..data.tokenizers import CharTokenizer, Tokenizer
from ..decoding.samplers import Sampler, scale, top_k
from ..errors import UserError
from ..glass import sections
from ..glass.check import check
from ..glass.compare import Comparison, compare
from ..glass.sections import Attention, Label
from ..glass.trace import Trace, ids_of, trace
from ..models import Decoder
from ..texts import number
from .changes import Change
from .runs import Opened
from .shades import shade
from .words_run import Told

MOST_CHARACTERS = 10_000
MOST_TOKENS = (
    256  # in one pass: all weights of all heads are held, and a page that follows the hand must be quick
)
SHOWN = 32  # rows and columns of the table of weights, at most
TOP = 12


class TooMuch(Told):
    """A text that the page does not read."""


@dataclass(frozen=True, eq=False)
class Reading:
    """One checked pass over a text, of whose `all` tokens the model saw the last ones, `ids`."""

    ids: list[int]
    all: int
    traced: Trace
    attention: Attention

    @property
    def labels(self) -> list[Label]:
        return self.attention.queries


def read(opened: Opened, text: str) -> Reading:
    """Run the model once over a text; the last text's pass is kept, so that asking more of it is quick.

    Raises UserError for a text that is too long, for characters outside the vocabulary, and for a model
    that fails the self-check.
    """
    held = opened.kept.get("reading")
    if held is not None and held[0] == text:
        reading: Reading = held[1]
        return reading
    if len(text) > MOST_CHARACTERS:
        raise TooMuch("too_long", n=len(text), most=MOST_CHARACTERS)
    model = opened.model
    try:
        ids = ids_of(model, opened.tokenizer, text)
    except UserError:
        if missing := unknown(opened.tokenizer, text):
            raise TooMuch("unknown", characters=missing) from None
        raise
    if not ids:
        raise UserError("the text holds nothing that the model reads")
    if not isinstance(model, Decoder) and len(ids) > MOST_TOKENS:
        raise TooMuch("too_many", n=len(ids), most=MOST_TOKENS)
    shown = ids[-min(model.config.context, MOST_TOKENS) :]
    traced = check(model, shown, [f"blocks.*.attention.{name}" for name in ("q", "k", "v")])
    labels = sections.labels(opened.tokenizer, ids)[-len(shown) :]
    reading = Reading(shown, len(ids), traced, _attention(traced, labels))
    opened.kept["reading"] = (text, reading)
    return reading


def unknown(tokenizer: Tokenizer, text: str) -> str:
    """The first characters of a text that a vocabulary of characters lacks."""
    if not isinstance(tokenizer, CharTokenizer):
        return ""
    missing = [c for c in dict.fromkeys(text) if c not in tokenizer.characters]
    shown = " ".join(c if c.isprintable() else ascii(c) for c in missing[:10])
    return f"{shown} …" if len(missing) > 10 else shown


def _attention(traced: Trace, labels: list[Label]) -> Attention:
    weights_Lhnm, masks_Lhnm = (
        torch.cat([traced[f"blocks.{i}.attention.{name}"] for i in range(len(traced.model.blocks))])
        for name in ("weights", "mask")
    )
    return Attention(weights_Lhnm, masks_Lhnm, labels, labels)


@dataclass(frozen=True)
class Next:
    """One candidate for the next token and its probability without and with the edits."""

    label: Label
    before: float
    after: float


@dataclass(frozen=True, eq=False)
class Edited:
    """The pass with edits beside the one without. `logits_V`: for the token after the last."""

    comparison: Comparison
    target: Label
    attention: Attention
    logits_V: Tensor
    following: list[Next]


def next_logits(opened: Opened, traced: Trace) -> Tensor:
    """The logits (V,) of the next token. A model may have ids beyond its tokenizer's; those are none."""
    return traced["logits"][0, -1, : opened.tokenizer.vocab_size]


def edited(opened: Opened, reading: Reading, changes: Sequence[Change]) -> Edited | None:
    """What the edits do; None without any. Raises UserError for places that are not there."""
    model = opened.model
    if not changes or not isinstance(model, Decoder):
        return None
    n_layers, n_heads, n, m = reading.attention.weights_Lhnm.shape
    for change in changes:
        within("layer", change.layer, n_layers)
        within("head", change.head, n_heads)
        within("query", change.query or 0, n)
        within("key", change.key or 0, m)
    edits = [change.edit(model) for change in changes]
    plain_V = next_logits(opened, reading.traced)
    target = int(plain_V.argmax())
    comparison = compare(model, reading.ids, edits, target=target)
    names = ["blocks.*.attention.weights", "blocks.*.attention.mask", "logits"]
    traced = trace(model, reading.ids, names, edits=edits)
    after_V = next_logits(opened, traced)
    before_p, after_p = (logits.double().softmax(-1) for logits in (plain_V, after_V))
    tokens = torch.maximum(before_p, after_p).topk(min(TOP, len(before_p))).indices.tolist()
    following = [
        Next(sections.name(opened.tokenizer, token), float(before_p[token]), float(after_p[token]))
        for token in tokens
    ]
    target_label = sections.name(opened.tokenizer, target)
    return Edited(comparison, target_label, _attention(traced, reading.labels), after_V, following)


def within(what: str, value: int, count: int) -> int:
    """The number, if there is such a thing; else UserError. `what`: layer, head, query or key."""
    if not 0 <= value < count:
        raise Told(f"no_{what}", value=str(value), last=str(count - 1))
    return value


@dataclass(frozen=True)
class Candidate:
    """A token that may come next; its probability of the model's, and after each step of a sampler."""

    label: Label
    logit: float
    probability: float
    steps: tuple[float, float, float]


def candidates(opened: Opened, logits_V: Tensor, sampler: Sampler) -> tuple[list[Candidate], int]:
    """The likeliest next tokens through temperature, top-k and top-p, and how many tokens are left."""
    if sampler.temperature == 0:
        only_V = torch.zeros_like(logits_V, dtype=torch.float64)
        only_V[logits_V.argmax()] = 1
        steps = (only_V, only_V, only_V)
    else:
        scaled_V = scale(logits_V, sampler.temperature)
        cut_V = top_k(scaled_V, sampler.top_k) if sampler.top_k else scaled_V
        steps = (scaled_V.softmax(-1), cut_V.softmax(-1), sampler.filtered(logits_V).softmax(-1))
    probability_V = logits_V.double().softmax(-1)
    tokens = logits_V.sort(descending=True, stable=True).indices[:TOP].tolist()
    found = [
        Candidate(
            sections.name(opened.tokenizer, token),
            float(logits_V[token]),
            float(probability_V[token]),
            (float(steps[0][token]), float(steps[1][token]), float(steps[2][token])),
        )
        for token in tokens
    ]
    return found, int((steps[2] > 0).sum())


@dataclass(frozen=True)
class Shaded:
    """A weight as a cell of the table; `key` is None for the sum of the keys that are not shown. `changed`:
    the plain pass shows another number."""

    text: str
    shade: str
    key: int | None
    changed: bool


@dataclass(frozen=True, eq=False)
class Table:
    """A part of a head's weights: the rows and columns `first` to `last`, and sums of what lies beyond."""

    first: int
    last: int
    before: bool
    after: bool
    rows: list[list[Shaded]]


def table(plain: Attention, now: Attention, layer: int, head: int, query: int) -> Table:
    """The weights `now` around a query, marked where they are not the plain ones."""
    n = len(now.queries)
    last = min(n, max(query + 1, SHOWN))
    first = max(0, last - SHOWN)
    mask_nm = now.masks_Lhnm[layer, head]
    after = bool(mask_nm[first:last, last:].any())
    rows = []
    for q in range(first, last):
        weights, was = (a.weights_Lhnm[layer, head, q].double() for a in (now, plain))
        cells = [_cell(float(weights[k]), float(was[k]), bool(mask_nm[q, k]), k) for k in range(first, last)]
        if first:
            cells.insert(0, _cell(float(weights[:first].sum()), float(was[:first].sum()), True, None))
        if after:
            cells.append(_cell(float(weights[last:].sum()), float(was[last:].sum()), True, None))
        rows.append(cells)
    return Table(first, last, first > 0, after, rows)


def _cell(weight: float, was: float, visible: bool, key: int | None) -> Shaded:
    if not visible:
        return Shaded("0", "masked", key, False)
    # A weight that is 0 without being masked was zeroed, or is too small for a float.
    colour = shade(weight, "weights", 1.0) if weight else ""
    return Shaded(number(weight, 2), colour, key, number(weight, 2) != number(was, 2))
