"""The look page: one HTML file that needs no script, no network, and no other file.

Shapes: L layers, h heads, n tokens, V vocabulary.
"""

import json
import re
from typing import Any, Literal, get_args

import torch
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from torch import Tensor

from ..data.tokenizers import Tokenizer
from ..errors import UserError
from ..models import Decoder
from . import proof, sections
from .check import check
from .pictures import MAP_SIZE, floats, grey, picture
from .trace import trace
from .words import say, slot

TITLE_SIZE = 40  # characters of the text in the page's title, at most

_PART = re.compile(r" \d(–\d)?/\d")  # how labels name a part of a character

Language = Literal["en", "zh"]


def look(
    model: Decoder,
    tokenizer: Tokenizer,
    text: str,
    *,
    layer: int | None = None,
    head: int | None = None,
    edge: tuple[int, int] | None = None,
    written: str = "",
    step: int = 0,
    language: Language = "en",
) -> str:
    """The page for one text, as HTML. `layer` and `head` choose the head that is shown in numbers, `edge`
    (query, key) the weight that is proved. `written` is what the model itself wrote after the text; it is
    looked at as well, and marked.

    A text beyond the model's context is cut to its last tokens, and the page says so. Nothing is shown
    that fails the self-check (see `check`). Raises UserError for an empty text, characters outside the
    vocabulary, a layer, head, token or language that is not there, and a model whose numbers are NaN.
    """
    if language not in get_args(Language):
        raise UserError(
            f"the page does not speak {language!r}; its languages are {', '.join(get_args(Language))}"
        )
    ids = [int(i) for i in tokenizer.encode(text + written)]
    if not ids:
        raise UserError("the text to look at is empty")
    shown = ids[-model.config.context :]
    traced = trace(model, shown, ["blocks.*.attention.weights", "logits"])
    if traced["logits"].isnan().any():
        raise UserError("the model's logits are NaN: its weights are damaged, or its training diverged")
    check(model, shown)
    weights_Lhnn = torch.cat([traced[f"blocks.{i}.attention.weights"] for i in range(model.config.n_layers)])
    chosen = layer is None and head is None
    layer, head = _choice(weights_Lhnn, layer, head)
    parts = trace(model, shown, [*proof.names(layer), f"blocks.{layer}.attention.v"])
    query, key = edge or _strongest(weights_Lhnn[layer, head])
    # Named before the cut, so that a character it goes through keeps its name.
    labels = sections.labels(tokenizer, ids)[-len(shown) :]
    # A model may have more ids than its tokenizer; those are no tokens.
    target = int(traced["logits"][0, -1, : tokenizer.vocab_size].argmax())
    first = max(0, len(shown) - sections.TABLE_SIZE)
    lens = sections.lens_table(traced, tokenizer, len(shown))
    predictions = sections.predictions(traced, tokenizer, shown, labels, first)
    guesses = [guess for guessed in (*lens, *(p.guesses for p in predictions)) for guess in guessed]
    named = [*labels, *(guess.label for guess in guesses)]
    environment = Environment(
        loader=PackageLoader("glassformer.glass"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    return environment.get_template("look.html").render(
        say=say,
        slot=slot,
        language=language,
        model=model.config,
        n_parameters=f"{sum(p.numel() for p in model.parameters()):,}",
        step=step,
        title=_title(text + written),
        text=text,
        written=written,
        labels=labels,
        cropped=len(ids) if len(ids) > len(shown) else 0,
        cut_characters=any(_PART.search(label.text) for label in labels),
        stray_bytes=any(label.stray for label in named),
        special=next((label for label in named if label.special), None),
        maps=[[picture(weights) for weights in layer_hnn] for layer_hnn in weights_Lhnn],
        pooled=len(shown) > MAP_SIZE,
        layer=layer,
        head=head,
        chosen=chosen,
        first=first,
        table=sections.weight_table(weights_Lhnn[layer, head], first),
        reads=sections.reads(parts, labels, layer, head, target),
        target=sections.name(tokenizer, target),
        proof=proof.prove(parts, layer, head, query, key),
        lens=lens,
        lens_first=max(0, len(shown) - sections.LENS_SIZE),
        predictions=predictions,
        data=_data(weights_Lhnn, labels, layer, head),
    )


def _title(text: str) -> str:
    """The beginning of a text on one line."""
    line = " ".join(text.split())
    return line if len(line) <= TITLE_SIZE else line[: TITLE_SIZE - 1] + "…"


def _data(weights_Lhnn: Tensor, labels: list[sections.Label], layer: int, head: int) -> Markup:
    """What the page's script needs to show any head: a picture of each, and the exact numbers of one."""
    values: dict[str, Any] = {
        "labels": [label.text for label in labels],
        "special": [i for i, label in enumerate(labels) if label.special],
        "heads": [[grey(weights) for weights in layer_hnn] for layer_hnn in weights_Lhnn],
        "exact": {"layer": layer, "head": head, "float32": floats(weights_Lhnn[layer, head])},
    }
    # Inside a script element "<" could end it, or begin a comment, whatever the quotes around it.
    return Markup(json.dumps(values, allow_nan=False).replace("<", "\\u003c"))


def _strongest(weights_nn: Tensor) -> tuple[int, int]:
    """The last token and the key it reads most."""
    return len(weights_nn) - 1, int(weights_nn[-1].argmax())


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
