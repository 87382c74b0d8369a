"""Weight beside effect: what an attention edge weighs, what it moves, and what happens without it.

A large weight says that a value is mixed in; whether the answer depends on it only a measurement can say. So
each edge (layer, head, query, key) is removed and the change of one token's log-probability is measured:

- cut: the score becomes -inf and the rest of the row is renormalised;
- zeroed: the weight becomes 0 and nothing is renormalised; with another baseline than zero, the key's value
  is not taken away but replaced.

The rest of the text stays as it is: what lies before the query cannot change, so only the query and what
follows it run again, from the affected layer on, many edges at a time.

Shapes: E edges, K keys of one head, B edits in a batch, g key/value heads, n tokens, m keys, d width of a
head, D model width.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..errors import UserError, unknown
from ..models import LanguageModel
from ..nn import masks
from ..nn.attention import MultiHeadAttention
from ..nn.blocks import Block
from .trace import Trace, as_rows, at_rest, require_decoder, trace

Baseline = Literal["zero", "mean", "resample"]
BASELINES: dict[Baseline, str] = {
    "zero": "nothing takes the place of the key's value",
    "mean": "the mean of the values that the query sees takes the place of the key's value",
    "resample": "the value of another key that the query sees, drawn at random, takes the place of the value",
}
NOTABLE = 0.02
BATCH_TOKENS = 512  # tokens that run at once, over all edits of a batch

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Plan:
    """What is to be measured, and at what cost, before any of it is done."""

    layers: tuple[int, ...]
    heads: tuple[int, ...]
    queries: tuple[int, ...]
    n_edges: int
    operations: float

    def __str__(self) -> str:
        return (
            f"{self.n_edges:,} edges, each cut and zeroed: {2 * self.n_edges:,} passes from the affected "
            f"layer on, about {self.operations / 1e9:,.1f} GFLOP"
        )


@dataclass(frozen=True)
class Effects:
    """One row per measured edge. `cut` and `zeroed` are changes of the target's log-probability, in nats:
    negative where the edge spoke for the target. `moved` is ‖a · v · W^O‖, the length of what it adds."""

    target: int
    position: int
    log_probability: float
    baseline: Baseline
    layer: Ints
    head: Ints
    query: Ints
    key: Ints
    weight: Floats
    moved: Floats
    cut: Floats
    zeroed: Floats

    def __len__(self) -> int:
        return len(self.weight)

    @classmethod
    def of_tables(
        cls, tables: Sequence[Floats], target: int, position: int, before: float, baseline: Baseline
    ) -> "Effects":
        """Of rows (layer, head, query, key, weight, moved, cut, zeroed)."""
        columns = np.concatenate(tables).T
        names = ("layer", "head", "query", "key")
        places = {name: columns[i].astype(np.int64) for i, name in enumerate(names)}
        figures = {name: columns[4 + i] for i, name in enumerate(("weight", "moved", "cut", "zeroed"))}
        return cls(target, position, before, baseline, **places, **figures)

    def agreement(self, what: Literal["cut", "zeroed", "moved"] = "cut") -> float:
        """Spearman's rank correlation of weight and size of the effect, over all edges; nan below 3 edges."""
        return spearman(self.weight, np.abs(getattr(self, what)))

    def strongest(self, n: int = 10) -> Ints:
        """The rows with the largest effect when cut."""
        return np.argsort(-np.abs(self.cut), kind="stable")[:n]

    def disagreements(self, n: int = 10) -> Ints:
        """The rows where the rank by weight and the rank by effect lie farthest apart, among those that
        have either: NOTABLE of the largest weight or of the largest effect."""
        size = np.abs(self.cut)
        notable = np.flatnonzero(
            (self.weight >= NOTABLE * self.weight.max()) | (size >= NOTABLE * size.max())
        )
        apart = np.abs(ranks(self.weight[notable]) - ranks(size[notable]))
        return notable[np.argsort(-apart, kind="stable")[:n]]


def ranks(values: Floats) -> Floats:
    """Ranks from 0; equal values share the mean of theirs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts + 1) / 2)[inverse]


def spearman(a: Floats, b: Floats) -> float:
    """Spearman's rank correlation, ties sharing their mean rank; nan where one side is constant."""
    if len(a) < 3 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return float("nan")
    return float(np.corrcoef(ranks(a), ranks(b))[0, 1])


def plan(
    model: LanguageModel,
    n_tokens: int,
    *,
    layers: Sequence[int] | None = None,
    heads: Sequence[int] | None = None,
    queries: Sequence[int] | None = None,
) -> Plan:
    """What `effect` would measure; by default all heads of all layers, at the last token.

    Raises UserError for an encoder, for a recurrent model, and for a layer, head or query that is not there.
    """
    model = require_decoder(model)
    c = model.config
    if n_tokens > c.context:
        raise UserError(f"the text has {n_tokens} tokens, the model sees at most {c.context} at once")
    chosen_layers = chosen("layer", layers, range(c.n_layers), c.n_layers)
    chosen_heads = chosen("head", heads, range(c.n_heads), c.n_heads)
    chosen_queries = chosen("query", queries, [n_tokens - 1], n_tokens)
    block = 2 * sum(p.numel() for p in model.blocks[0].parameters())
    head = 2 * model.head.weight.numel()
    operations = sum(
        2 * len(chosen_heads) * (query + 1) * ((n_tokens - query) * block * (c.n_layers - layer) + head)
        for layer in chosen_layers
        for query in chosen_queries
    )
    n_edges = len(chosen_layers) * len(chosen_heads) * sum(query + 1 for query in chosen_queries)
    return Plan(chosen_layers, chosen_heads, chosen_queries, n_edges, operations)


def queries(spoken: str, n_tokens: int) -> list[int]:
    """The queries that a person names: "last", "all", or a place in the text."""
    if not n_tokens:
        raise UserError("the text is empty")
    if spoken in ("last", "all"):
        return [n_tokens - 1] if spoken == "last" else list(range(n_tokens))
    try:
        return [int(spoken)]
    except ValueError:
        raise UserError(f"query {spoken!r}: say last, all, or the place of a token from 0") from None


def chosen(what: str, given: Iterable[int] | None, usual: Iterable[int], count: int) -> tuple[int, ...]:
    """The asked numbers in order, negative ones counted from the end."""
    asked = list(usual if given is None else given)
    if not asked:
        raise UserError(f"no {what} is asked for")
    for value in asked:
        if not -count <= value < count:
            raise UserError(f"{what} {value} is not there: {what} numbers go from 0 to {count - 1}")
    return tuple(sorted({value % count for value in asked}))


def effect(
    model: LanguageModel,
    tokens: Tensor | Sequence[int],
    *,
    target: int | None = None,
    layers: Sequence[int] | None = None,
    heads: Sequence[int] | None = None,
    queries: Sequence[int] | None = None,
    baseline: Baseline = "zero",
    seed: int = 0,
    advance: Callable[[str, int, int], None] = lambda what, done, total: None,
) -> Effects:
    """Measure every visible edge of the asked layers, heads and queries on one text (n,).

    `target` is the token whose log-probability after the last token is followed; by default the likeliest.
    `seed` decides the values that "resample" draws. See `plan` for what is measured by default.
    """
    if baseline not in BASELINES:
        raise unknown("baseline", baseline, BASELINES)
    model = require_decoder(model)
    ids = as_rows(model, tokens)[:1]
    n = ids.shape[1]
    planned = plan(model, n, layers=layers, heads=heads, queries=queries)
    names = ["input", *(f"attention.{name}" for name in ("k", "v", "scores", "weights", "heads"))]
    traced = trace(model, ids, [*(f"blocks.*.{name}" for name in names), "logits"])
    target, before = followed(traced["logits"][0, -1], target)
    tables: list[Floats] = []
    with at_rest(model):
        for layer in planned.layers:
            for query in planned.queries:
                tables.append(_measured(traced, layer, planned.heads, query, target, before, baseline, seed))
                advance("measuring edges", sum(map(len, tables)), planned.n_edges)
    return Effects.of_tables(tables, target, n - 1, before, baseline)


def followed(logits_V: Tensor, target: int | None) -> tuple[int, float]:
    """The token to follow, by default the likeliest, and its log-probability. UserError for what is no id."""
    log_probability_V = logits_V.double().log_softmax(-1)
    target = int(log_probability_V.argmax()) if target is None else target
    if not isinstance(target, int | np.integer) or not 0 <= target < len(log_probability_V):
        raise UserError(f"the target {target!r} is no id from 0 to {len(log_probability_V) - 1}")
    return int(target), float(log_probability_V[target])


def _measured(
    traced: Trace,
    layer: int,
    heads: Sequence[int],
    query: int,
    target: int,
    before: float,
    baseline: Baseline,
    seed: int,
) -> Floats:
    """One row (layer, head, query, key, weight, moved, cut, zeroed) for each key that a head may see."""
    attention = cast(Block, traced.model.blocks[layer]).attention
    batch = max(1, BATCH_TOKENS // (traced.tokens.shape[1] - query))

    def after(heads_B: Tensor, mixture_Bd: Tensor) -> Tensor:
        return _log_probability(traced, layer, heads_B, query, mixture_Bd, target)

    edges = [
        edges_of(traced, f"blocks.{layer}.attention.", attention, head, query, baseline, seed)
        for head in heads
    ]
    return table_of(layer, heads, query, edges, after, before, batch)


def table_of(
    layer: int,
    heads: Sequence[int],
    query: int,
    edges: Sequence[tuple[Tensor, ...]],
    log_probability: Callable[[Tensor, Tensor], Tensor],
    before: float,
    batch: int,
) -> Floats:
    """The rows of `_measured` for what `edges_of` gave for each head; `log_probability` is that of the target
    after edits (heads (B,), mixtures (B, d)), at most `batch` of them."""
    head_E = torch.cat([torch.full_like(part[0], head) for head, part in zip(heads, edges, strict=True)])
    key_E, weight_E, moved_ED, cut_Ed, zeroed_Ed = (torch.cat(parts) for parts in zip(*edges, strict=True))
    after = [
        log_probability(heads_B, mixture_Bd)
        for mixture_Ed in (cut_Ed, zeroed_Ed)
        for heads_B, mixture_Bd in zip(
            torch.split(head_E, batch), torch.split(mixture_Ed, batch), strict=True
        )
    ]
    cut_E, zeroed_E = (torch.cat(after) - before).chunk(2)
    lengths_E = torch.linalg.vector_norm(moved_ED, dim=-1)
    layer_E, query_E = torch.full_like(key_E, layer), torch.full_like(key_E, query)
    columns = (layer_E, head_E, query_E, key_E, weight_E, lengths_E, cut_E, zeroed_E)
    table: Floats = torch.stack([column.double() for column in columns], 1).cpu().numpy()
    return table


def edges_of(
    traced: Trace,
    place: str,
    attention: MultiHeadAttention,
    head: int,
    query: int,
    baseline: Baseline,
    seed: int,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """For the K keys that one head may see: the keys, their weights, what each adds to the residual stream
    (K, D), and the head's mixture (K, d) with the edge cut and with it zeroed."""
    scores_m, weights_m = (traced[place + name][0, head, query] for name in ("scores", "weights"))
    v_gmd = traced[place + "v"][0]
    v_md = v_gmd[head * v_gmd.shape[0] // attention.n_heads]
    keys = torch.nonzero(~torch.isneginf(scores_m)).flatten()
    weight_K1 = weights_m[keys, None].to(v_md.dtype)

    without_Km = scores_m.expand(len(keys), -1).clone()
    without_Km[torch.arange(len(keys), device=keys.device), keys] = -torch.inf
    nowhere = torch.isneginf(without_Km).all(-1, keepdim=True)
    cut_Kd = without_Km.masked_fill(nowhere, 0).softmax(-1).masked_fill(nowhere, 0).to(v_md.dtype) @ v_md
    replacement_Kd = _replacement(v_md[keys], baseline, seed + query)
    zeroed_Kd = traced[place + "heads"][0, head, query] + weight_K1 * (replacement_Kd - v_md[keys])

    d = v_md.shape[-1]
    w_o = attention.output.weight
    moved_KD = (weight_K1 * v_md[keys]) @ w_o[:, head * d : (head + 1) * d].T
    return keys, weight_K1[:, 0], moved_KD, cut_Kd, zeroed_Kd


def _replacement(v_Kd: Tensor, baseline: Baseline, seed: int) -> Tensor:
    """What takes the place of each visible key's value (K, d)."""
    if baseline == "zero":
        return torch.zeros_like(v_Kd)
    if baseline == "mean":
        return v_Kd.mean(0, keepdim=True).expand_as(v_Kd)
    n_keys = len(v_Kd)
    steps = np.random.default_rng(seed).integers(1, max(2, n_keys), size=n_keys)  # never back to itself
    return v_Kd[torch.from_numpy((np.arange(n_keys) + steps) % n_keys).to(v_Kd.device)]


def _log_probability(
    traced: Trace, layer: int, heads_B: Tensor, query: int, mixture_Bd: Tensor, target: int
) -> Tensor:
    """The target's log-probability (B,), were at `query` head `heads_B[i]`'s mixture `mixture_Bd[i]`.

    The B edited texts stand side by side as one row of N = B * (n - query) tokens; each sees the keys
    before the query, common to all, and those of its own text: no key is copied B times.
    """
    model, n, n_edits = traced.model, traced.tokens.shape[1], len(mixture_Bd)
    before, after = torch.arange(query), torch.arange(query, n)
    q_pos, text_N = after.repeat(n_edits), torch.arange(n_edits).repeat_interleave(n - query)
    k_pos = torch.cat((before, q_pos))
    own_NN = text_N[:, None] == text_N
    common = torch.ones(len(q_pos), query, dtype=torch.bool)
    q_pos, k_pos = q_pos.to(mixture_Bd.device), k_pos.to(mixture_Bd.device)
    same = torch.cat((common, own_NN), 1).to(mixture_Bd.device)
    mask = masks.combine(same, masks.causal(q_pos, k_pos))
    rotate, bias = model.positions.rotation(q_pos), model.positions.bias(q_pos, k_pos)
    x_1ND = traced[f"blocks.{layer}.input"][:1, query:].repeat(1, n_edits, 1)
    for i in range(layer, len(model.blocks)):
        k, v = (traced[f"blocks.{i}.attention.{name}"][:1, :, :query] for name in ("k", "v"))
        tap = _Mixture(heads_B, mixture_Bd) if i == layer else None
        x_1ND = model.blocks[i](x_1ND, mask=mask, rotate=rotate, bias=bias, cache=_Before(k, v), tap=tap)
    logits_BV: Tensor = model.head(model.final_norm(x_1ND[0, n - query - 1 :: n - query]))
    return log_softmax(logits_BV, target)


def log_softmax(logits_BV: Tensor, target: int) -> Tensor:
    """log p(target) (B,), summed in float64; a float64 copy of all logits would take most of the time."""
    logits_BV = logits_BV.float() if logits_BV.dtype != torch.float64 else logits_BV
    shifted_BV = logits_BV - logits_BV.amax(-1, keepdim=True)
    target_B = shifted_BV[:, target].to(torch.float64, copy=True)
    return target_B - shifted_BV.exp_().sum(-1, dtype=torch.float64).log()


@dataclass(frozen=True)
class _Before:
    """The keys and values (1, g, m, d) before the query, which no edit at the query can change."""

    k: Tensor
    v: Tensor

    def append(self, k_new: Tensor, v_new: Tensor) -> tuple[Tensor, Tensor]:
        return torch.cat((self.k, k_new), 2), torch.cat((self.v, v_new), 2)


@dataclass(frozen=True)
class _Mixture:
    """A tap: at the first token of text i, the head `heads_B[i]` gets the mixture `mixture_Bd[i]`."""

    heads_B: Tensor
    mixture_Bd: Tensor
    path: str = ""

    def at(self, path: str) -> "_Mixture":
        return _Mixture(self.heads_B, self.mixture_Bd, f"{self.path}{path}.")

    def wants(self, name: str) -> bool:
        return self.path + name == "attention.heads"

    def __call__(self, name: str, tensor: Tensor) -> Tensor:
        if not self.wants(name):
            return tensor
        changed = tensor.clone()
        n_edits = len(self.heads_B)
        first_B = torch.arange(n_edits, device=tensor.device) * (tensor.shape[2] // n_edits)
        changed[0, self.heads_B, first_B] = self.mixture_Bd
        return changed
