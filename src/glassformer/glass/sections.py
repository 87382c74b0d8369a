"""The parts of the look page as plain values, ready for its template.

Shapes: L layers, h heads, n queries, m keys (both the n tokens of a text in self-attention), V vocabulary,
g key/value heads, d width of a head, D model width.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from markupsafe import Markup
from torch import Tensor

from ..data.tokenizers import Tokenizer
from ..errors import UserError
from .compare import lens_of
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
    """One weight of the large table. `text` is empty where the mask hides the key."""

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
    """What a token reads of one key through the head on view: the weight, the length of the value, and the
    length ‖a·v·W^O‖ of what it moves. `changes`: of the log-probability of a next token, in nats, as text,
    without that edge (when cut, when zeroed); none for an encoder."""

    index: int
    label: Label
    weight: float
    value: float
    moved: float
    changes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Attention:
    """The weights of every head in one pass, what each may see (True = may look), and the names of queries
    and keys, which their places tell apart. In self-attention both lists name the same tokens."""

    weights_Lhnm: Tensor
    masks_Lhnm: Tensor
    queries: list[Label]
    keys: list[Label]

    @property
    def sight(self) -> Literal["causal", "all", "some"]:
        """What the masks let be seen: a token itself and those before it; every token; or something else."""
        n, m = self.masks_Lhnm.shape[-2:]
        causal = torch.ones(n, m, dtype=torch.bool, device=self.masks_Lhnm.device).tril()
        if n == m and bool((self.masks_Lhnm == causal).all()):
            return "causal"
        return "all" if self.masks_Lhnm.all() else "some"

    def has(self, layer: int, head: int) -> bool:
        n_layers, n_heads = self.weights_Lhnm.shape[:2]
        return layer < n_layers and head < n_heads

    def choose(self, layer: int | None = None, head: int | None = None) -> tuple[int, int]:
        """The asked head, or of those that fit the one whose rows are the least uniform.

        Measured as the mean over rows of log(visible keys) - entropy, which is 0 for a uniform row. Raises
        UserError for a layer or head that is not there.
        """
        n_layers, n_heads = self.weights_Lhnm.shape[:2]
        for name, value, count in (("layer", layer, n_layers), ("head", head, n_heads)):
            if value is not None and not 0 <= value < count:
                raise UserError(f"{name} {value} is not there: the model has {name}s 0 to {count - 1}")
        entropy_Lhn = torch.special.entr(self.weights_Lhnm).sum(-1)
        visible_Lhn = self.masks_Lhnm.sum(-1).clamp(min=1).log()
        sharpness_Lh = (visible_Lhn - entropy_Lhn).mean(-1)
        allowed = torch.full_like(sharpness_Lh, -torch.inf)
        allowed[slice(None) if layer is None else layer, slice(None) if head is None else head] = 0
        return divmod(int((sharpness_Lh + allowed).argmax()), n_heads)


def weight_table(attention: Attention, layer: int, head: int, query: int, key: int) -> list[list[Cell]]:
    """A head's weights from one query and one key on as cells; if `key` > 0, a row begins with the sum of
    those before it."""
    weights_nm, mask_nm = (t[layer, head, query:] for t in (attention.weights_Lhnm, attention.masks_Lhnm))
    if key:
        weights_nm = torch.cat([weights_nm[:, :key].sum(-1, keepdim=True), weights_nm[:, key:]], -1)
        mask_nm = torch.cat([mask_nm[:, :key].any(-1, keepdim=True), mask_nm[:, key:]], -1)
    return [
        [
            Cell(_number(weight) if allowed else "", round(float(strength), 3))
            for weight, allowed, strength in zip(*row, strict=True)
        ]
        for row in zip(weights_nm.tolist(), mask_nm.tolist(), shade(weights_nm), strict=True)
    ]


def _number(weight: float) -> str:
    if weight < 0.005:
        return "·"
    return "1" if weight >= 0.995 else f"{weight:.2f}".removeprefix("0")


def predictions(
    traced: Trace,
    tokenizer: Tokenizer,
    shown: Sequence[int],
    labels: list[Label],
    first: int,
    then: int | None = None,
) -> list[Prediction]:
    """After each of the tokens `shown` from `first` on; after the last one comes `then`, if anything."""
    result = []
    probability_nV = traced.probabilities[0, :, : tokenizer.vocab_size]
    for i in range(first, len(shown)):
        probability_V = probability_nV[i]
        following = shown[i + 1] if i + 1 < len(shown) else then
        top = probability_V.topk(min(TOP, len(probability_V)))
        result.append(
            Prediction(
                index=i,
                label=labels[i],
                guesses=[
                    Guess(name(tokenizer, int(token)), float(p), int(token) == following)
                    for p, token in zip(top.values, top.indices, strict=True)
                ],
                actual=labels[i + 1]
                if i + 1 < len(shown)
                else None
                if then is None
                else name(tokenizer, then),
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


def reads(
    traced: Trace, attention: Attention, layer: int, head: int, query: int, target: int | None
) -> list[Read]:
    """What a token reads through a head, visible key by visible key; `traced` holds the layer's values.

    With a `target`, what that does to its probability as the next token, the largest change when cut first;
    else what moves most first.
    """
    v_gmd = traced[f"blocks.{layer}.attention.v"][0]
    v_md = v_gmd[head * len(v_gmd) // traced.model.config.n_heads]
    d = v_md.shape[-1]
    w_o_Dd = traced.model.blocks[layer].attention.output.weight.detach()[:, head * d : (head + 1) * d]
    weight_m = attention.weights_Lhnm[layer, head, query]
    moved_mD = (weight_m[:, None].to(v_md.dtype) * v_md) @ w_o_Dd.T
    values_m, moved_m = (torch.linalg.vector_norm(vectors.float(), dim=-1) for vectors in (v_md, moved_mD))
    keys = [int(key) for key in attention.masks_Lhnm[layer, head, query].nonzero()]
    first = {key: -float(moved_m[key]) for key in keys}
    changes: dict[int, tuple[str, ...]] = dict.fromkeys(keys, ())
    if target is not None:
        measured = effect(
            traced.model, traced.tokens, target=target, layers=[layer], heads=[head], queries=[query]
        )
        columns = (measured.key.tolist(), measured.cut, measured.zeroed)
        for key, cut, zeroed in zip(*columns, strict=True):
            first[key], changes[key] = -abs(cut), (signed(cut, 4), signed(zeroed, 4))
    return [
        Read(
            index=key,
            label=attention.keys[key],
            weight=float(weight_m[key]),
            value=float(values_m[key]),
            moved=float(moved_m[key]),
            changes=changes[key],
        )
        for key in sorted(keys, key=lambda key: first[key])
    ]


def lens_table(traced: Trace, tokenizer: Tokenizer, n: int) -> list[list[Guess]]:
    """For each block, what the model would say next after the last tokens if it stopped there."""
    first = max(0, n - LENS_SIZE)
    probability_LnV = lens_of(traced, first)[..., : tokenizer.vocab_size]
    final = probability_LnV[-1].argmax(-1)
    top = probability_LnV.max(-1)
    return [
        [
            Guess(name(tokenizer, int(token)), float(p), bool(token == said))
            for p, token, said in zip(values, tokens, final, strict=True)
        ]
        for values, tokens in zip(top.values, top.indices, strict=True)
    ]


@dataclass(frozen=True)
class Difference:
    """Two passes side by side. `weights`: for each layer and head the largest absolute difference of a
    weight between the same query and key. `guesses`: likeliest next tokens of the first, with their
    probability in the first and in the second; none where there is no next token in common."""

    weights: list[list[float]]
    guesses: list[tuple[Label, float, float]]


def difference(first: Attention, second: Attention, guesses: list[tuple[Label, float, float]]) -> Difference:
    """Of two passes with equally many layers, heads, queries and keys."""
    ours_Lhnm, theirs_Lhnm = (a.weights_Lhnm.float().cpu() for a in (first, second))
    return Difference((ours_Lhnm - theirs_Lhnm).abs().amax((-2, -1)).tolist(), guesses)


def next_tokens(tokenizer: Tokenizer, first: Trace, second: Trace) -> list[tuple[Label, float, float]]:
    """The likeliest tokens after the first's text, and their probability after both; `tokenizer` is that of
    both traces."""
    ours_V, theirs_V = (traced.probabilities[0, -1, : tokenizer.vocab_size] for traced in (first, second))
    tokens = ours_V.topk(min(TOP, len(ours_V))).indices.tolist()
    return [(name(tokenizer, token), float(ours_V[token]), float(theirs_V[token])) for token in tokens]
