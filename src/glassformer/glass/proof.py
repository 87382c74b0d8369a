"""One attention weight, from its operands to its quotient, recomputed in float64."""

from dataclasses import dataclass

import torch

from ..data.tokenizers import Tokenizer
from ..errors import UserError
from ..models import Model
from .trace import Trace, ids_of, trace

NAMES = ("q", "k", "mask", "weights")


@dataclass(frozen=True)
class Term:
    """One product of q·k: coordinate, the two operands, the product."""

    i: int
    q: float
    k: float

    @property
    def product(self) -> float:
        return self.q * self.k


@dataclass(frozen=True)
class Proof:
    """Why one weight is what it is. All numbers are float64, from the q, k and mask that the model recorded.

    `terms` make up `dot`; `score` = dot · scale + bias; `exponential` = exp(score - row_max);
    `weight` = exponential / row_sum. `model_weight` is what the model itself used.
    """

    layer: int
    head: int
    query: int
    key: int
    terms: tuple[Term, ...]
    dot: float
    d_k: int
    bias: float
    score: float
    visible: bool
    row_max: float
    exponential: float
    row_sum: float
    n_visible: int
    weight: float
    model_weight: float

    @property
    def difference(self) -> float:
        """How far the model's own arithmetic is from this one."""
        return self.model_weight - self.weight

    def largest(self, n: int = 8) -> tuple[tuple[Term, ...], float]:
        """The n terms that weigh most, in their order, and the exact rest of the sum."""
        chosen = sorted(sorted(self.terms, key=lambda t: -abs(t.product))[:n], key=lambda t: t.i)
        kept = {term.i for term in chosen}
        return tuple(chosen), sum(term.product for term in self.terms if term.i not in kept)


def names(layer: int) -> list[str]:
    """What a trace must hold for the proofs of a layer."""
    return [f"blocks.{layer}.attention.{name}" for name in NAMES]


def prove(traced: Trace, layer: int, head: int, query: int, key: int) -> Proof:
    """The proof of one weight of the first row of a trace that recorded `names(layer)`.

    Raises UserError for a layer, head or token that is not there.
    """
    n_layers = len(traced.model.blocks)
    if not 0 <= layer < n_layers:
        raise UserError(f"layer {layer} is not there: the model has layers 0 to {n_layers - 1}")
    q_hnd, k_gmd, mask_hnm, weights_hnm = (traced[name][0] for name in names(layer))
    n_heads, n, m = weights_hnm.shape
    for what, value, count in (("head", head, n_heads), ("query", query, n), ("key", key, m)):
        if not 0 <= value < count:
            raise UserError(f"{what} {value} is not there: {what} numbers go from 0 to {count - 1}")
    q_d = q_hnd[head, query].double()
    k_md = k_gmd[head * k_gmd.shape[0] // n_heads].double()
    d_k = q_d.shape[-1]
    allowed_m = mask_hnm[head, query]
    dots_m = k_md @ q_d
    with torch.no_grad():
        bias_h1m = traced.model.positions.bias(
            torch.tensor([query], device=q_d.device), torch.arange(m, device=q_d.device)
        )
    bias_m = torch.zeros_like(dots_m) if bias_h1m is None else bias_h1m[head, 0].double()
    scores_m = (dots_m / d_k**0.5 + bias_m).masked_fill(~allowed_m, -torch.inf)
    row_max = scores_m.max()
    exponentials_m = (scores_m - row_max).exp() if allowed_m.any() else torch.zeros_like(scores_m)
    row_sum = exponentials_m.sum()
    return Proof(
        layer=layer,
        head=head,
        query=query,
        key=key,
        terms=tuple(Term(i, float(a), float(b)) for i, (a, b) in enumerate(zip(q_d, k_md[key], strict=True))),
        dot=float(dots_m[key]),
        d_k=d_k,
        bias=float(bias_m[key]) if allowed_m[key] else 0.0,
        score=float(scores_m[key]),
        visible=bool(allowed_m[key]),
        row_max=float(row_max),
        exponential=float(exponentials_m[key]),
        row_sum=float(row_sum),
        n_visible=int(allowed_m.sum()),
        weight=float(exponentials_m[key] / row_sum) if row_sum else 0.0,
        model_weight=float(weights_hnm[head, query, key]),
    )


def spelled(proof: Proof, labels: list[str], terms: int = 8) -> str:
    """The proof as lines of arithmetic."""
    shown, rest = proof.largest(terms)
    n_rest = len(proof.terms) - len(shown)
    products = [(t.product, f"{t.i}: {t.q:.4g}·{t.k:.4g}") for t in shown]
    if n_rest:
        products.append((rest, f"{n_rest} smaller term{'s' if n_rest > 1 else ''}"))
    lines = [
        f"layer {proof.layer}, head {proof.head}: how much {labels[proof.query]!r} ({proof.query}) "
        f"reads {labels[proof.key]!r} ({proof.key})",
        "q·k = " + " ".join(f"{'+' if x >= 0 else '-'} {abs(x):.6g} [{what}]" for x, what in products),
        f"    = {proof.dot:.9g}",
    ]
    if not proof.visible:
        lines.append("masked: this key may not be seen, so the score is -inf and the weight exactly 0")
        return "\n".join(lines)
    bias = f" + bias {proof.bias:.6g}" if proof.bias else ""
    lines += [
        f"score = {proof.dot:.9g} / √{proof.d_k}{bias} = {proof.score:.9g}",
        f"exp(score - the row's largest, {proof.row_max:.9g}) = {proof.exponential:.9g}",
        f"row sum over {proof.n_visible} visible keys = {proof.row_sum:.9g}",
        f"weight = {proof.exponential:.9g} / {proof.row_sum:.9g} = {proof.weight:.9g}",
        f"the model used {proof.model_weight:.9g}, which differs by {proof.difference:.2g}",
    ]
    return "\n".join(lines)


def parsed(text: str) -> tuple[int, int, int, int]:
    """ "2.0.7.3" as layer, head, query, key."""
    parts = text.split(".")
    if len(parts) != 4 or not all(part.isdecimal() for part in parts):
        raise UserError(f"{text!r} names no weight; write LAYER.HEAD.QUERY.KEY, for example 2.0.7.3")
    layer, head, query, key = map(int, parts)
    return layer, head, query, key


def of_text(model: Model, tokenizer: Tokenizer, text: str, place: tuple[int, int, int, int]) -> str:
    """The proof of one weight (layer, head, query, key) on a text, as lines of arithmetic."""
    layer, head, query, key = place
    ids = ids_of(model, tokenizer, text)[-model.config.context :]
    traced = trace(model, ids, names(layer))
    return spelled(prove(traced, layer, head, query, key), tokenizer.labels(ids))
