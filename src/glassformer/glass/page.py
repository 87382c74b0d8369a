"""The look page: one HTML file that needs no script, no network, and no other file.

Shapes: L layers, h heads, n tokens, V vocabulary.
"""

import base64
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
import torch.nn.functional as F
from jinja2 import Environment, PackageLoader, StrictUndefined
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from ..data.tokenizers import END, Tokenizer
from ..errors import UserError
from ..models import GPT
from .trace import Trace, trace
from .words import say

MAP_SIZE = 64  # points of a small heat map, at most, each way
TABLE_SIZE = 48  # tokens in the large table and the list of predictions, at most
TOP = 5

_SHADE = (178, 58, 38)  # a vermilion that reads on light and on dark paper

_PART = re.compile(r" \d(–\d)?/\d")  # how labels name a part of a character

Language = Literal["en", "zh"]


@dataclass(frozen=True)
class Cell:
    """One weight of the large table. `text` is empty where the key lies in the future."""

    text: str
    shade: float


@dataclass(frozen=True)
class Guess:
    label: str
    probability: float
    actual: bool


@dataclass(frozen=True)
class Prediction:
    """What the model expects after one token, and how it rated the one that followed (None at the end)."""

    index: int
    label: str
    guesses: list[Guess]
    actual: str | None
    probability: float
    rank: int


def look(
    model: GPT,
    tokenizer: Tokenizer,
    text: str,
    *,
    layer: int | None = None,
    head: int | None = None,
    step: int = 0,
    language: Language = "en",
) -> str:
    """The page for one text, as HTML. `layer` and `head` choose the head that is shown in numbers.

    A text beyond the model's context is cut to its last tokens, and the page says so. Raises UserError for
    an empty text, characters outside the vocabulary, a layer or head that is not there, and a model whose
    numbers are NaN.
    """
    ids = [int(i) for i in tokenizer.encode(text)]
    if not ids:
        raise UserError("the text to look at is empty")
    shown = ids[-model.config.context :]
    traced = trace(model, shown, ["blocks.*.attention.weights", "logits"])
    if traced["logits"].isnan().any():
        raise UserError("the model's logits are NaN: its weights are damaged, or its training diverged")
    weights_Lhnn = torch.cat([traced[f"blocks.{i}.attention.weights"] for i in range(model.config.n_layers)])
    chosen = layer is None and head is None
    layer, head = _choice(weights_Lhnn, layer, head)
    labels = tokenizer.labels(shown)
    first = max(0, len(shown) - TABLE_SIZE)
    environment = Environment(
        loader=PackageLoader("glassformer.glass"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    return environment.get_template("look.html").render(
        say=say,
        language=language,
        model=model.config,
        n_parameters=f"{sum(p.numel() for p in model.parameters()):,}",
        step=step,
        text=text,
        labels=labels,
        cropped=len(ids) if len(ids) > len(shown) else 0,
        cut_characters=any(_PART.search(label) for label in labels),
        maps=[[_picture(weights) for weights in layer_hnn] for layer_hnn in weights_Lhnn],
        pooled=len(shown) > MAP_SIZE,
        layer=layer,
        head=head,
        chosen=chosen,
        first=first,
        table=_table(weights_Lhnn[layer, head], first),
        predictions=_predictions(traced, tokenizer, shown, labels, first),
    )


def _choice(weights_Lhnn: Tensor, layer: int | None, head: int | None) -> tuple[int, int]:
    """The asked head, or of those that fit the one whose rows are the least uniform.

    Measured as the mean over rows of log(visible keys) - entropy, which is 0 for a uniform row.
    """
    n_layers, n_heads, n, _ = weights_Lhnn.shape
    for name, value, count in (("layer", layer, n_layers), ("head", head, n_heads)):
        if value is not None and not 0 <= value < count:
            raise UserError(f"{name} {value} is not there: the model has {name}s 0 to {count - 1}")
    entropy_Lhn = torch.special.entr(weights_Lhnn).sum(-1)
    visible_n = torch.arange(1, n + 1, device=weights_Lhnn.device).log()
    sharpness_Lh = (visible_n - entropy_Lhn).mean(-1)
    allowed = torch.full_like(sharpness_Lh, -torch.inf)
    allowed[slice(None) if layer is None else layer, slice(None) if head is None else head] = 0
    best = int((sharpness_Lh + allowed).argmax())
    return divmod(best, n_heads)


def _shade(weights: Tensor) -> NDArray[np.float64]:
    """How strongly a weight is drawn, 0 to 1: its square root, so that small ones can be seen."""
    return weights.double().clamp(0, 1).sqrt().cpu().numpy()


def _picture(weights_nn: Tensor) -> str:
    """A small heat map as a data URI; beyond MAP_SIZE each point takes the largest weight of its area."""
    if weights_nn.shape[-1] > MAP_SIZE:
        weights_nn = F.adaptive_max_pool2d(weights_nn[None], MAP_SIZE)[0]
    alpha = (_shade(weights_nn) * 255).round().astype(np.uint8)
    colour = np.broadcast_to(np.array(_SHADE, np.uint8), (*alpha.shape, 3))
    buffer = io.BytesIO()
    Image.fromarray(np.dstack([colour, alpha])).save(buffer, "PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()


def _table(weights_nn: Tensor, first: int) -> list[list[Cell]]:
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
                for place, (w, shade) in enumerate(zip(values, _shade(values), strict=True))
            ]
        )
    return rows


def _number(weight: float) -> str:
    if weight < 0.005:
        return "·"
    return "1" if weight >= 0.995 else f"{weight:.2f}".removeprefix("0")


def _predictions(
    traced: Trace, tokenizer: Tokenizer, shown: Sequence[int], labels: list[str], first: int
) -> list[Prediction]:
    result = []
    # A model may have more ids than its tokenizer; those are no tokens.
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
                    Guess(_name(tokenizer, int(token)), float(p), int(token) == following)
                    for p, token in zip(top.values, top.indices, strict=True)
                ],
                actual=None if following is None else labels[i + 1],
                probability=0.0 if following is None else float(probability_V[following]),
                rank=0 if following is None else int((probability_V > probability_V[following]).sum()) + 1,
            )
        )
    return result


def _name(tokenizer: Tokenizer, token: int) -> str:
    return END if token == tokenizer.end else tokenizer.labels([token])[0]
