"""What a run's page shows, as plain values: a pass over a text, the edited one, what would be drawn.

Shapes: L layers, h heads, n queries, m keys, V the tokenizer's vocabulary.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ..data.tokenizers import CharTokenizer, Tokenizer
from ..decoding.samplers import Sampler, scale, top_k
from ..encoding import fill
from ..encoding.fill import Completion
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


@dataclass(frozen=True)
class Hidden:
    """A place behind a mask, and the tokens that an encoder takes to stand there, the likeliest first."""

    place: int
    best: list[Completion]


@dataclass(frozen=True, eq=False)
class Reading:
    """One checked pass over a text, of whose `all` tokens the model saw the last ones, `ids`. `hidden`: its
    masks, of an encoder that tells what they hide."""

    ids: list[int]
    all: int
    traced: Trace
    attention: Attention
    hidden: list[Hidden]

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
    mask = fill.mask_of(model, opened.tokenizer)
    try:
        ids = ids_of(model, opened.tokenizer, text)
    except UserError:
        if missing := unknown(opened.tokenizer, text.replace(mask, "") if mask else text):
            raise TooMuch("unknown", characters=missing) from None
        raise
    if not ids:
        raise UserError("the text holds nothing that the model reads")
    if not isinstance(model, Decoder) and len(ids) > MOST_TOKENS:
        raise TooMuch("too_many", n=len(ids), most=MOST_TOKENS)
    shown = ids[-min(model.config.context, MOST_TOKENS) :]
    traced = check(model, shown, [f"blocks.*.attention.{name}" for name in ("q", "k", "v")])
    labels = sections.labels(opened.tokenizer, ids)[-len(shown) :]
    hidden = _hidden(opened, ids, text) if mask is not None and mask in text else []
    reading = Reading(shown, len(ids), traced, _attention(traced, labels), hidden)
    opened.kept["reading"] = (text, reading)
    return reading


def _hidden(opened: Opened, ids: Sequence[int], text: str) -> list[Hidden]:
    places = [i for i, token in enumerate(ids) if token == opened.tokenizer.mask]
    told = fill.fill(opened.model, opened.tokenizer, text, TOP)
    return [Hidden(place, best) for place, best in zip(places, told, strict=True)]


def hiding(tokenizer: Tokenizer, text: str, mask: str) -> str | None:
    """The text with one of its tokens behind a mask, near the middle; None where none is whole characters."""
    pieces = [tokenizer.token_bytes(int(token)) for token in tokenizer.encode_part(text)]
    middle = len(pieces) // 2
    for i in sorted(range(len(pieces)), key=lambda i: abs(i - middle)):
        before, piece, after = (b"".join(part) for part in (pieces[:i], pieces[i : i + 1], pieces[i + 1 :]))
        try:
            parts = [part.decode() for part in (before, piece, after)]
        except UnicodeDecodeError:
            continue
        if parts[1].strip():
            space = " " if parts[1].startswith(" ") and parts[0] else ""
            made = f"{parts[0]}{space}{mask}{parts[2]}"
            return made if text.startswith(" ") else made.removeprefix(" ")
    return None


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


def head_of(attention: Attention, asked: str) -> tuple[int, int]:
    """The layer and head that "L.H" asks for; for "" the least uniform. UserError for what is not there."""
    if not asked:
        return attention.choose()
    n_layers, n_heads = attention.weights_Lhnm.shape[:2]
    layer, head = (int(part) for part in asked.split("."))
    return within("layer", layer, n_layers), within("head", head, n_heads)


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
    first, last = _window(len(now.queries), query)
    mask_nm = now.masks_Lhnm[layer, head]
    after = bool(mask_nm[first:last, last:].any())
    weights_nm, was_nm = (a.weights_Lhnm[layer, head].double() for a in (now, plain))
    rows = [_row(weights_nm[q], was_nm[q], mask_nm[q], first, last, after) for q in range(first, last)]
    return Table(first, last, first > 0, after, rows)


def heads_table(attention: Attention, layer: int, query: int) -> Table:
    """What every head of a layer reads at a query: a row for each head, and last their mean."""
    first, last = _window(len(attention.queries), query)
    weights_hm = attention.weights_Lhnm[layer, :, query].double()
    weights_hm = torch.cat((weights_hm, weights_hm.mean(0, keepdim=True)))
    mask_m = attention.masks_Lhnm[layer, :, query].any(0)
    after = bool(mask_m[last:].any())
    rows = [_row(weights_m, weights_m, mask_m, first, last, after) for weights_m in weights_hm]
    return Table(first, last, first > 0, after, rows)


def _window(n: int, query: int) -> tuple[int, int]:
    """The tokens that a table shows, of n, so that the query is among them."""
    last = min(n, max(query + 1, SHOWN))
    return max(0, last - SHOWN), last


def _row(
    weights_m: Tensor, was_m: Tensor, mask_m: Tensor, first: int, last: int, after: bool
) -> list[Shaded]:
    """The weights of one query from `first` on, and the sums of what lies beyond."""
    cells = [_cell(float(weights_m[k]), float(was_m[k]), bool(mask_m[k]), k) for k in range(first, last)]
    if first:
        cells.insert(0, _cell(float(weights_m[:first].sum()), float(was_m[:first].sum()), True, None))
    if after:
        cells.append(_cell(float(weights_m[last:].sum()), float(was_m[last:].sum()), True, None))
    return cells


def _cell(weight: float, was: float, visible: bool, key: int | None) -> Shaded:
    if not visible:
        return Shaded("0", "masked", key, False)
    # A weight that is 0 without being masked was zeroed, or is too small for a float.
    colour = shade(weight, "weights", 1.0) if weight else ""
    return Shaded(number(weight, 2), colour, key, number(weight, 2) != number(was, 2))
