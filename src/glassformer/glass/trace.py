"""Recording what a model computes, by name, as it is or with edits.

Shapes: b batch, h heads, n queries, m keys.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..data.tokenizers import Tokenizer
from ..encoding import fill
from ..errors import UserError, unknown
from ..models import Decoder, LanguageModel, Model, Translator
from ..nn.attention import WEIGHT_NAMES
from ..nn.recurrent import INSIDE
from .edits import PLACES, Chain, Edit, Editor, Which

if TYPE_CHECKING:
    from .effect import Effects


_REFERENCE = frozenset(WEIGHT_NAMES).union(*INSIDE.values())
"""The last parts of tap names that only a reference path serves."""


@dataclass
class Recorder:
    """A tap that keeps the tensors whose full names match one of the patterns (`*`, `?`, `[...]`)."""

    patterns: tuple[str, ...]
    tensors: dict[str, Tensor] = field(default_factory=dict)
    path: str = ""

    def at(self, path: str) -> "Recorder":
        return Recorder(self.patterns, self.tensors, f"{self.path}{path}.")

    def wants(self, name: str) -> bool:
        return any(fnmatchcase(self.path + name, pattern) for pattern in self.patterns)

    def __call__(self, name: str, tensor: Tensor) -> Tensor:
        if self.wants(name):
            self.tensors[self.path + name] = tensor.detach()
        return tensor


@dataclass(frozen=True, eq=False)
class Trace(Mapping[str, Tensor]):
    """What was recorded of one pass. `trace["blocks.0.attention.weights"]` is a tensor (b, h, n, m).

    `attention` names the path that attention, or recurrence, took: "reference" if scores, weights or gates
    were asked for, which a fused kernel never shows, else "fused"; the two agree to rounding. `edits` are
    those of the pass. `model` is a `models.Model`, or an encoder-decoder, with its inputs as `target`.
    """

    model: Any = field(repr=False)
    tokens: Tensor
    tensors: dict[str, Tensor] = field(repr=False)
    attention: str
    edits: tuple[Edit, ...] = ()
    target: Tensor | None = None

    def __getitem__(self, name: str) -> Tensor:
        try:
            return self.tensors[name]
        except KeyError:
            raise KeyError(str(unknown("recorded name", name, self.tensors))) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.tensors)

    def __len__(self) -> int:
        return len(self.tensors)

    def weights(self, layer: int, head: int, of: Which = "text") -> Tensor:
        """The attention weights (n, m) of one head for the first row; layer and head count from 0. `of`, in a
        Transformer that translates: "encoder", "decoder" or "cross"."""
        return self[f"{PLACES[of].format(layer)}.weights"][0, head]

    def effect(self, **options: Any) -> "Effects":
        """Measure the edges of this text; options as for `glass.effect.effect`, of a model that translates as
        for `glass.effect_pairs.effect`. Raises ValueError for a trace with edits, whose weights are not those
        that would be measured, and UserError for an encoder."""
        from . import effect_pairs
        from .effect import effect

        if self.edits:
            raise ValueError("effects are measured on the model as it is; this trace has edits")
        if self.target is not None:
            return effect_pairs.effect(self.model, self.tokens, self.target, **options)
        return effect(self.model, self.tokens, **options)

    def _repr_html_(self) -> str:
        from .notebook import html

        return html(self)

    @property
    def probabilities(self) -> Tensor:
        """Next-token probabilities (b, n, V) after each position, in float32."""
        return self["logits"].float().softmax(-1)


def ids_of(model: Model, tokenizer: Tokenizer, text: str) -> list[int]:
    """The ids (n,) of a text as the model reads it; an encoder reads special tokens around it as well, and
    one that tells hidden tokens takes a spelled [MASK] for the token that hides.

    All of them, of which a Transformer decoder sees the last `context`. Raises UserError for more than an
    encoder can see: a cut would lose a special token.
    """
    if isinstance(model, LanguageModel):
        return [int(i) for i in tokenizer.encode(text)]
    mask = fill.mask_of(model, tokenizer)
    if mask is not None and mask in text:
        return fill.read(model, tokenizer, text)[0]
    ids = [int(i) for i in tokenizer.encode_wrapped(text)]
    if len(ids) > model.config.context:
        raise UserError(
            f"the text has {len(ids)} tokens, special ones included; this encoder sees at most "
            f"{model.config.context}, and a cut would lose the special ones"
        )
    return ids


def as_rows(model: LanguageModel, tokens: Tensor | Sequence[int]) -> Tensor:
    """`rows`, for what measures a next token: raises UserError for an encoder, which has none."""
    _require_next_token(model)
    return rows(model, tokens)


def require_decoder(model: Model) -> Decoder:
    """The model, for what measures edges of causal attention; UserError where there are none."""
    _require_next_token(model)
    require_attention(model, "edges to measure")
    assert isinstance(model, Decoder)
    return model


def _require_next_token(model: Model) -> None:
    if isinstance(model, Translator):
        raise UserError("the model is an encoder-decoder, which is not measured edge by edge")
    if not isinstance(model, LanguageModel):
        raise UserError("the model is an encoder: it reads a text, but has no next token to measure")


def require_attention(model: Model | Translator, what: str) -> None:
    """Raise UserError for a recurrent model or an encoder-decoder, which has none of `what`."""
    if isinstance(model, Translator):
        raise UserError(f"the model is a recurrent encoder-decoder: it has no heads, and so no {what}")
    if isinstance(model, LanguageModel) and not isinstance(model, Decoder):
        raise UserError(f"the model is recurrent: it has no attention, and so no {what}")


def rows(model: Model | Translator, tokens: Tensor | Sequence[int]) -> Tensor:
    """Ids of one text (n,) or of several (b, n) as (b, n) on the model's device.

    Raises ValueError for what is no id of the model."""
    if isinstance(tokens, str):
        raise ValueError("a model reads token ids, not a text; tokenizer.encode(text) makes them")
    ids = torch.as_tensor(tokens, device=model.embedding.weight.device)
    if ids.numel() and ids.is_floating_point():
        raise ValueError("tokens must be ids, which are whole numbers")
    ids = ids.long()
    n_ids = model.config.vocab_size
    if ids.dim() not in (1, 2) or not ids.numel():
        raise ValueError(f"tokens must be ids (n,) or (b, n) and at least one, not of shape {(*ids.shape,)}")
    if ids.min() < 0 or ids.max() >= n_ids:
        raise ValueError(f"ids must lie in 0 … {n_ids - 1}; these go from {ids.min()} to {ids.max()}")
    return ids.unsqueeze(0) if ids.dim() == 1 else ids


@contextmanager
def at_rest(model: Model | Translator) -> Iterator[None]:
    """Without dropout or gradient; the model's mode is given back after."""
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        model.train(was_training)


def trace(
    model: Model | Translator,
    tokens: Tensor | Sequence[int],
    names: str | Sequence[str] = "*",
    *,
    edits: Sequence[Edit] = (),
    target: Tensor | Sequence[int] | None = None,
) -> Trace:
    """Run the model once, without dropout or gradient, and record the tensors called `names`.

    `tokens`: ids of one text (n,), or a batch (b, n). `names`: full names or patterns such as
    "blocks.*.attention.weights"; `model.tap_names()` lists all there are. What was not asked for is not
    kept. `edits` are applied on the way (see `glass.edits`), and what is recorded is what they left. An
    encoder-decoder reads `tokens` as its source, and as `target` what its decoder reads, equally many rows:
    `[tokenizer.start, *tokenizer.encode(...)]`. Raises ValueError for a pattern or an edit that fits no name,
    and for a target that is missing, or not of this model.
    """
    patterns = (names,) if isinstance(names, str) else tuple(names)
    known = model.tap_names()
    unfit = [pattern for pattern in patterns if not any(fnmatchcase(name, pattern) for name in known)]
    for name in (*unfit, *(edit.name for edit in edits if edit.name not in known)):
        raise ValueError(str(unknown("tap name", name, known)))
    ids = rows(model, tokens)
    inputs = _target(model, ids, target)
    recorder = Recorder(patterns)
    tap = Chain((Editor(tuple(edits)), recorder)) if edits else recorder
    with at_rest(model):
        model(*([ids] if inputs is None else [ids, None, inputs]), tap=tap)
    touched = (*recorder.tensors, *(edit.name for edit in edits))
    reference = any(tap_name.rpartition(".")[2] in _REFERENCE for tap_name in touched)
    return Trace(model, ids, recorder.tensors, "reference" if reference else "fused", tuple(edits), inputs)


def _target(model: Model | Translator, ids: Tensor, target: Tensor | Sequence[int] | None) -> Tensor | None:
    """What the decoder of an encoder-decoder reads beside `ids`; other models have none."""
    if not isinstance(model, Translator):
        if target is not None:
            raise ValueError("only an encoder-decoder reads a target beside its text")
        return None
    if target is None:
        raise ValueError("an encoder-decoder reads a target as well: target=[tokenizer.start, *ids]")
    inputs = rows(model, target)
    if len(inputs) != len(ids):
        raise ValueError(f"{len(ids)} sources and {len(inputs)} targets do not go together")
    return inputs
