"""The look page of an encoder-decoder: what it read for each token that it wrote.

Shapes: n tokens of the target, END included; m tokens of the source; D units.
"""

from typing import Any

from markupsafe import Markup
from torch import Tensor

from ..data.tokenizers import Tokenizer
from ..decoding.translate import search
from ..errors import UserError
from ..models import Translator
from . import sections
from .check import check_pair
from .over_time import NAMED, Map
from .pictures import MAP_SIZE, TIME_SIZE, over_time, picture
from .sections import TABLE_SIZE, Attention
from .words import spoken
from .words_translation import WORDS

MOST_TOKENS = 1024  # of a side, on a page


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
    own = target is None
    if target is None:
        written = search(model, [source], tokenizer.start, tokenizer.end)[0][0].ids
    else:
        written = _ids(tokenizer, target, "target")
    inputs = [tokenizer.start, *written]
    traced = check_pair(model, source, inputs)
    sources = sections.labels(tokenizer, source)
    read = sections.labels(tokenizer, inputs)
    wrote = sections.labels(tokenizer, [*written, tokenizer.end])
    return {
        "model": model.config,
        "own": own,
        "shown_target": tokenizer.decode(written) if target is None else target,
        "source": sources,
        "target": wrote,
        **_alignment(traced.tensors.get("attention.weights"), sources, wrote),
        "maps": [
            _map("memory", traced["memory"][0], sources),
            _map("state", traced["state"][0], read),
        ],
        "predictions": sections.predictions(
            traced, tokenizer, inputs, read, max(0, len(inputs) - TABLE_SIZE), tokenizer.end
        ),
    }


def _ids(tokenizer: Tokenizer, text: str, what: str) -> list[int]:
    ids: list[int] = tokenizer.encode(text.strip()).tolist()
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


def _map(name: str, values_nD: Tensor, labels: list[sections.Label]) -> dict[str, Any]:
    n, width = values_nD.shape
    return {
        "map": Map(name, *over_time(values_nD, signed=True)),
        "axis": labels if n <= NAMED else [],
        "pooled": (n, width) if n > TIME_SIZE or width > MAP_SIZE else None,
    }
