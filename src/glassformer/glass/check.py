"""Whether what is about to be shown is true. Shown numbers that fail are worse than none."""

from collections.abc import Sequence

import torch
from torch import Tensor

from ..errors import UserError
from ..models import EncoderDecoder, Model, RecurrentLM, Translator
from ..nn.recurrent import INSIDE
from .edits import Edit, noop
from .trace import Trace, rows, trace

TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5, torch.bfloat16: 2e-2, torch.float16: 2e-3}

TOUCHED = (".v", ".mask", ".scores", ".weights", ".heads")
"""The ends of the names of what edits of attention touch."""

GATES = ("f", "i", "o", "r", "z")
EDITED = 64
"""So many tokens, of each text, recurrent layers read with edits, which see the text anew at every step."""

DAMAGED = "the model is damaged, or its training diverged"
RESULTS = {"logits": "logits", "final": "final vectors"}
"""The tensors that a model ends in, a decoder or an encoder, by their tap names: what they are called."""


def check(model: Model, tokens: Tensor | Sequence[int], names: Sequence[str] = ()) -> Trace:
    """The traced pass that was checked, with the weights and masks, or gates and states, the result, and
    `names` as well.

    Raises UserError, saying which, unless all of this holds for the model on this text:

    every row of weights sums to 1, or is exactly 0 where nothing is visible; weights on masked keys are
    exactly 0; a traced pass gives the logits (of an encoder: the final vectors) of an untraced one; edits
    that change nothing change nothing; a second pass gives the same again (no dropout is left on). Of a
    recurrent model: every gate lies between 0 and 1.
    """
    ids = rows(model, tokens)
    result = model.tap_names()[-1]
    tolerance = TOLERANCE[model.embedding.weight.dtype]
    recurrent = isinstance(model, RecurrentLM)
    if isinstance(model, RecurrentLM):
        checked = [f"blocks.*.{name}" for name in INSIDE[model.config.kind]]
    else:
        checked = [f"blocks.*.attention.{name}" for name in ("weights", "mask")]
    traced = trace(model, ids, [*checked, result, *names])
    if recurrent:
        _check_gates(traced)
    for layer in () if recurrent else range(len(model.blocks)):
        weights, allowed = (traced[f"blocks.{layer}.attention.{name}"] for name in ("weights", "mask"))
        _check_rows(f"layer {layer}", weights, allowed)
    plain = trace(model, ids, result)[result]
    if not torch.isfinite(plain).all():
        raise UserError(f"self-check: the model gives {RESULTS[result]} that are no numbers; {DAMAGED}")
    if not torch.equal(plain, trace(model, ids, result)[result]):
        raise UserError("self-check: two passes over the same text differ; something random is still on")
    _check_same(result, "a traced pass", traced[result], plain, tolerance)
    if recurrent:
        ids, plain = ids[:, :EDITED], plain[:, :EDITED]
        edits = [Edit(name, Tensor.clone, f"copy {name}") for name in traced if name != result]
    else:
        edits = [edit for layer in range(len(model.blocks)) for edit in noop(layer)]
    edited = trace(model, ids, result, edits=edits)[result]
    _check_same(result, "an edit that changes nothing", edited, plain, tolerance)
    return traced


def require_room(model: Translator, source: Sequence[int], inputs: Sequence[int] = ()) -> None:
    """Raise UserError for more tokens of a source, or of what the decoder reads, than there are positions."""
    if not isinstance(model, EncoderDecoder):
        return
    for what, ids, stack in (("text", source, model.encoder), ("target", inputs, model.decoder)):
        limit = stack.positions.limit
        if limit is not None and len(ids) > limit:
            raise UserError(f"the {what} has {len(ids)} tokens; this model reads {limit} at most")


def check_pair(model: Translator, source: Sequence[int], inputs: Sequence[int]) -> Trace:
    """The traced pass of an encoder-decoder over one source and what its decoder reads, checked as `check`
    does; raises UserError as it does."""

    def run(names: str | Sequence[str], first: int | None = None, edits: Sequence[Edit] = ()) -> Trace:
        return trace(model, source[:first], names, target=inputs[:first], edits=edits)

    transformer = isinstance(model, EncoderDecoder)
    traced = run(["*.weights", "*.mask", "logits"] if transformer else "*")
    _check_gates(traced)
    plain = run("logits")["logits"]
    if not torch.isfinite(plain).all():
        raise UserError(f"self-check: the model gives {RESULTS['logits']} that are no numbers; {DAMAGED}")
    if not torch.equal(plain, run("logits")["logits"]):
        raise UserError("self-check: two passes over the same text differ; something random is still on")
    for name in (name for name in traced if name.endswith("weights")):
        weights, place = traced[name], name.removesuffix(".weights")
        allowed = traced.get(f"{place}.mask", torch.ones_like(weights, dtype=torch.bool))
        _check_rows("the attention" if place == "attention" else place, weights, allowed)
    touched = [name for name in model.tap_names() if name.endswith(TOUCHED)] if transformer else traced
    edits = [Edit(name, Tensor.clone, f"copy {name}") for name in touched if name != "logits"]
    tolerance = TOLERANCE[plain.dtype]
    _check_same("logits", "a traced pass", traced["logits"], plain, tolerance)
    plain, edited = (run("logits", EDITED, given)["logits"] for given in ((), edits))
    _check_same("logits", "an edit that changes nothing", edited, plain, tolerance)
    return traced


def _check_gates(traced: Trace) -> None:
    for name, gate in traced.items():
        if name.rpartition(".")[2] in GATES and not ((gate >= 0) & (gate <= 1)).all():
            raise UserError(f"self-check: the gate {name} has values that are not between 0 and 1; {DAMAGED}")


def _check_rows(where: str, weights: Tensor, allowed: Tensor) -> None:
    if not torch.isfinite(weights).all():
        raise UserError(f"self-check: {where} has attention weights that are no numbers; {DAMAGED}")
    if (weights[~allowed] != 0).any():
        raise UserError(f"self-check: {where} gives weight to keys that its mask forbids")
    expected = allowed.any(-1).to(weights.dtype)
    error = float((weights.sum(-1) - expected).abs().max())
    if error > TOLERANCE[weights.dtype]:
        raise UserError(f"self-check: a row of weights in {where} misses its sum by {error:.2g}")


def _check_same(result: str, what: str, ours: Tensor, plain: Tensor, tolerance: float) -> None:
    error = float((ours - plain).abs().max())
    if not error <= tolerance * max(1.0, float(plain.abs().max())):
        raise UserError(f"self-check: {what} changes the {RESULTS[result]} by {error:.2g}")
