"""What an edit does: to the logits, to one token's probability, and to every later layer."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ..models import Decoder, LanguageModel
from .edits import Edit
from .trace import Trace, as_rows, require_attention, trace


@dataclass(frozen=True)
class Comparison:
    """A pass with edits beside the same pass without.

    `logits`: the largest change of a logit at `position`. `log_probability`: of `target` there, in nats,
    edited minus plain. `layers[i]`: the length of the change of block i's output over the length of that
    output, over all tokens together.
    """

    said: tuple[str, ...]
    target: int
    position: int
    logits: float
    log_probability: float
    plain_log_probability: float
    layers: tuple[float, ...]


def compare(
    model: LanguageModel,
    tokens: Tensor | Sequence[int],
    edits: Sequence[Edit],
    *,
    target: int | None = None,
    position: int = -1,
) -> Comparison:
    """Run a text (n,) with and without the edits.

    `target` is the token whose log-probability after `position` is followed; by default the one that the
    unedited model finds likeliest. Raises UserError for an encoder.
    """
    ids = as_rows(model, tokens)
    names = ["logits", "blocks.*.output"]
    plain, edited = trace(model, ids, names), trace(model, ids, names, edits=edits)
    before, after = (traced["logits"][0, position].double() for traced in (plain, edited))
    target = int(before.argmax()) if target is None else target
    log_before, log_after = (float(logits.log_softmax(-1)[target]) for logits in (before, after))
    outputs = (
        (plain[name][0].double(), edited[name][0].double())
        for name in (f"blocks.{i}.output" for i in range(len(model.blocks)))
    )
    return Comparison(
        said=tuple(edit.said for edit in edits),
        target=target,
        position=position,
        logits=float((after - before).abs().max()),
        log_probability=log_after - log_before,
        plain_log_probability=log_before,
        layers=tuple(
            float(torch.linalg.vector_norm(changed - was) / torch.linalg.vector_norm(was))
            for was, changed in outputs
        ),
    )


def lens(model: Decoder, tokens: Tensor | Sequence[int]) -> Tensor:
    """What the model would say if it stopped after each block: probabilities (L, n, V) of the next token.

    Each block's output goes through the model's own last norm and head ("logit lens"). The last row is what
    the model does say. Raises UserError for an encoder, and for a recurrent model, whose layers write into no
    stream that the head could read.
    """
    require_attention(model, "stream that each layer adds to")
    return lens_of(trace(model, as_rows(model, tokens), "blocks.*.output"))


def lens_of(traced: Trace, first: int = 0) -> Tensor:
    """`lens` of a trace that recorded the blocks' outputs, from token `first` on."""
    model = traced.model
    outputs_LnD = torch.stack([traced[f"blocks.{i}.output"][0, first:] for i in range(len(model.blocks))])
    with torch.no_grad():
        logits: Tensor = model.head(model.final_norm(outputs_LnD))
    return logits.float().softmax(-1)
