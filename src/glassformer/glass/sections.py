"""The parts of the look page as plain values, ready for its template.

Shapes: L layers, n tokens, V vocabulary, d width of a head.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from markupsafe import Markup
from torch import Tensor

from ..data.tokenizers import Tokenizer
from .compare import lens
from .effect import effect
from .pictures import shade
from .report import signed
from .trace import Trace

TABLE_SIZE = 48  # tokens in the large table and the list of predictions, at most
LENS_SIZE = 12  # tokens in the lens table, at most
TOP = 5

_STRAY = re.compile("0x[0-9A-F]{2}")  # how labels name a byte that belongs to no character


@dataclass(frozen=True)
class Label:
    """The name of a token. On the page its direction of writing ends with it, and a special one is marked."""

    text: str
    special: bool
    stray: bool

    def __html__(self) -> str:
        kind = Markup(' class="special"') if self.special else ""
        return Markup("<bdi{}>{}</bdi>").format(kind, self.text)


@dataclass(frozen=True)
class Cell:
    """One weight of the large table. `text` is empty where the key lies in the future."""

    text: str
    shade: float


@dataclass(frozen=True)
class Guess:
    label: Label
    probability: float
    actual: bool


@dataclass(frozen=True)
class Prediction:
    """What the model expects after one token, and how it rated the one that followed (None at the end)."""

    index: int
    label: Label
    guesses: list[Guess]
    actual: Label | None
    probability: float
    rank: int


@dataclass(frozen=True)
class Read:
    """What the last token reads of one key through the head on view: the weight, what it moves, and the
    measured change of the log-probability of a next token without that edge, in nats, as text."""

    index: int
    label: Label
    weight: float
    value: float
    moved: float
    cut: str
    zeroed: str


def weight_table(weights_nn: Tensor, first: int) -> list[list[Cell]]:
    """The weights from token `first` on as cells; if `first` > 0, a row begins with the sum before it."""
    rows = []
    for i in range(first, len(weights_nn)):
        values = weights_nn[i, first:]
        if first:
            values = torch.cat([weights_nn[i, :first].sum()[None], values])
        visible = i - first + 1 + (first > 0)
        rows.append(
            [
                Cell(_number(float(w)) if place < visible else "", round(float(shade), 3))
                for place, (w, shade) in enumerate(zip(values, shade(values), strict=True))
            ]
        )
    return rows


def _number(weight: float) -> str:
    if weight < 0.005:
        return "·"
    return "1" if weight >= 0.995 else f"{weight:.2f}".removeprefix("0")


def predictions(
    traced: Trace, tokenizer: Tokenizer, shown: Sequence[int], labels: list[Label], first: int
) -> list[Prediction]:
    result = []
    probability_nV = traced.probabilities[0, :, : tokenizer.vocab_size]
    for i in range(first, len(shown)):
        probability_V = probability_nV[i]
        following = shown[i + 1] if i + 1 < len(shown) else None
        top = probability_V.topk(min(TOP, len(probability_V)))
        result.append(
            Prediction(
                index=i,
                label=labels[i],
                guesses=[
                    Guess(name(tokenizer, int(token)), float(p), int(token) == following)
                    for p, token in zip(top.values, top.indices, strict=True)
                ],
                actual=None if following is None else labels[i + 1],
                probability=0.0 if following is None else float(probability_V[following]),
                rank=0 if following is None else int((probability_V > probability_V[following]).sum()) + 1,
            )
        )
    return result


def labels(tokenizer: Tokenizer, ids: Sequence[int]) -> list[Label]:
    """The names of tokens in their places."""
    result = []
    for token, text in zip(ids, tokenizer.labels(ids), strict=True):
        special = token in tokenizer.special
        stray = not special and _STRAY.search(text) is not None and b"0x" not in tokenizer.token_bytes(token)
        result.append(Label(text, special, stray))
    return result


def name(tokenizer: Tokenizer, token: int) -> Label:
    return labels(tokenizer, [token])[0]


def reads(traced: Trace, labels: list[Label], layer: int, head: int, target: int) -> list[Read]:
    """What the last token reads through a head, key by key, and what that does to `target`'s probability,
    the largest change when cut first; `traced` holds the layer's values."""
    last = len(labels) - 1
    measured = effect(
        traced.model, traced.tokens, target=target, layers=[layer], heads=[head], queries=[last]
    )
    v_gnd = traced[f"blocks.{layer}.attention.v"][0]
    v_nd = v_gnd[head * len(v_gnd) // traced.model.config.n_heads]
    lengths_n = torch.linalg.vector_norm(v_nd.float(), dim=-1)
    columns = (measured.key, measured.weight, measured.moved, measured.cut, measured.zeroed)
    rows = sorted(zip(*columns, strict=True), key=lambda row: -abs(row[3]))
    return [
        Read(int(key), labels[key], weight, float(lengths_n[key]), moved, signed(cut, 4), signed(zeroed, 4))
        for key, weight, moved, cut, zeroed in rows
    ]


def lens_table(traced: Trace, tokenizer: Tokenizer, n: int) -> list[list[Guess]]:
    """For each block, what the model would say next after the last tokens if it stopped there."""
    first = max(0, n - LENS_SIZE)
    probability_LnV = lens(traced.model, traced.tokens)[:, first:, : tokenizer.vocab_size]
    final = probability_LnV[-1].argmax(-1)
    top = probability_LnV.max(-1)
    return [
        [
            Guess(name(tokenizer, int(token)), float(p), bool(token == said))
            for p, token, said in zip(values, tokens, final, strict=True)
        ]
        for values, tokens in zip(top.values, top.indices, strict=True)
    ]
