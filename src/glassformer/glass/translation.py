"""The look page of an encoder-decoder: what it read for each token that it wrote.

Shapes: n tokens of the target, END included; m tokens of the source; D units.
"""

from dataclasses import dataclass
from typing import Any

import torch
from markupsafe import Markup
from torch import Tensor

from ..data.parallel import source_ids
from ..data.tokenizers import Tokenizer
from ..decoding.translate import search
from ..errors import UserError
from ..models import EncoderDecoder, Translator
from . import over_time, sections
from .check import GATES, check_pair, require_room
from .edits import PLACES, Which
from .effect_pairs import PARTS
from .over_time import NAMED, Map, maps
from .pictures import MAP_SIZE, TIME_SIZE, picture
from .sections import TABLE_SIZE, Attention, Label
from .trace import Trace
from .words import spoken
from .words_translation import WORDS

MOST_TOKENS = 1024  # of a side, on a page


@dataclass(frozen=True)
class Way:
    """One layer, one way, its gates and states over time. `name` is that of the text which says so."""

    name: str
    layer: int
    path: str
    maps: list[Map]


@dataclass(frozen=True)
class Side:
    """The layers of the encoder or of the decoder. `axis` names the tokens, where they are few; `pooled`
    tells of maps with fewer points than values: units, tokens, rows and columns."""

    name: str
    axis: list[sections.Label]
    pooled: dict[str, int]
    ways: list[Way]


def tell(key: str, /, **given: object) -> Markup:
    """A text of this page in both languages."""
    return spoken(WORDS[key], **given)


def values(model: Translator, tokenizer: Tokenizer, text: str, target: str | None = None) -> dict[str, Any]:
    """What the template needs; without a `target`, the model's own greedy translation is looked at.

    Raises UserError for an empty text, one too long for a page, and a model that fails the self-check.
    """
    source = _ids(tokenizer, text, "text")
    if not source:
        raise UserError("the text to look at is empty")
    require_room(model, source)
    own = target is None
    if target is None:
        written = search(model, [source], tokenizer.start, tokenizer.end)[0][0].ids
    else:
        written = _ids(tokenizer, target, "target")
    inputs = [tokenizer.start, *written]
    require_room(model, source, inputs)
    traced = check_pair(model, source, inputs)
    sources = sections.labels(tokenizer, source)
    read = sections.labels(tokenizer, inputs)
    wrote = sections.labels(tokenizer, [*written, tokenizer.end])
    return {
        "own": own,
        "ids": (source, written),
        "shown_target": tokenizer.decode(written) if target is None else target,
        "source": sources,
        "target": wrote,
        **_inside(model, traced, sources, read, wrote),
        "predictions": sections.predictions(
            traced, tokenizer, inputs, read, max(0, len(inputs) - TABLE_SIZE), tokenizer.end
        ),
    }


def _inside(
    model: Translator, traced: Trace, source: list[Label], read: list[Label], wrote: list[Label]
) -> dict[str, Any]:
    """What is shown of the model's inside: of a recurrent one the alignment and the states, of a Transformer
    its three attentions."""
    if isinstance(model, EncoderDecoder):
        sides = {"encoder": (source, source), "decoder": (read, read), "cross": (wrote, source)}
        return {"attentions": [_attention(traced, of, *sides[of]) for of in PARTS]}
    return {
        **_alignment(traced.tensors.get("attention.weights"), source, wrote),
        "gates": GATES,
        "inside": over_time.tell,
        "sides": [_side(traced, "encoder", source), _side(traced, "decoder", read)],
    }


def _attention(traced: Trace, of: Which, queries: list[Label], keys: list[Label]) -> dict[str, Any]:
    """One of the three: every head as a picture, and the one whose rows are the least uniform in numbers."""
    layers = range(len(getattr(traced.model, "encoder" if of == "encoder" else "decoder").blocks))
    weights_Lhnm, masks_Lhnm = (
        torch.cat([traced[f"{PLACES[of].format(i)}.{name}"] for i in layers]) for name in ("weights", "mask")
    )
    layer, head = Attention(weights_Lhnm, masks_Lhnm, queries, keys).choose()
    shown = slice(TABLE_SIZE)
    first = Attention(weights_Lhnm[..., shown, shown], masks_Lhnm[..., shown, shown], queries, keys)
    return {
        "of": of,
        "rows": queries,
        "columns": keys,
        "maps": [[picture(weights_nm) for weights_nm in layer_hnm] for layer_hnm in weights_Lhnm],
        "layer": layer,
        "head": head,
        "table": sections.weight_table(first, layer, head, 0, 0),
    }


def _ids(tokenizer: Tokenizer, text: str, what: str) -> list[int]:
    text = text.strip()
    ids = source_ids(tokenizer, text) if what == "text" else tokenizer.encode(text).tolist()
    if len(ids) > MOST_TOKENS:
        raise UserError(f"the {what} has {len(ids)} tokens; a page shows {MOST_TOKENS} at most")
    return ids


def _alignment(
    weights_bnm: Tensor | None, source: list[sections.Label], target: list[sections.Label]
) -> dict[str, Any]:
    """The weights as a picture, and the first of them as a table; both None without attention."""
    if weights_bnm is None:
        return {"alignment": None, "table": None}
    weights_Lhnm = weights_bnm[None, :1, :TABLE_SIZE, :TABLE_SIZE]
    attention = Attention(weights_Lhnm, weights_Lhnm >= 0, target, source)
    return {
        "alignment": picture(weights_bnm[0]),
        "table": sections.weight_table(attention, 0, 0, 0, 0),
    }


def _side(traced: Trace, name: str, labels: list[sections.Label]) -> Side:
    layers = getattr(traced.model, name).layers
    units, n = layers[0].kernel.hidden_size, len(labels)
    rows, columns = min(units, MAP_SIZE), min(n, TIME_SIZE)
    pooled = {"units": units, "n": n, "rows": rows, "columns": columns}
    ways = []
    for i, layer in enumerate(layers):
        for way in ("", ".reverse")[: layer.directions]:
            path = f"{name}.blocks.{i}{way}"
            ways.append(Way(f"{name}{way}_layer", i, path, maps(traced, path, layer.kind)))
    return Side(name, labels if n <= NAMED else [], pooled if (rows, columns) < (units, n) else {}, ways)
