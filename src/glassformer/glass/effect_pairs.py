"""Weight beside effect in a Transformer that translates: what `effect` measures of a text, for the encoder's
own attention, the decoder's own, and the one with which the decoder reads the source.

Followed is a token of the target after the last that the decoder has read. An edit in the decoder leaves what
was read of the source as it is; one in the encoder changes all that comes after.

Shapes: B edits in a batch, n target tokens, m source tokens, d width of a head, V vocabulary.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..data.parallel import source_ids
from ..data.tokenizers import Tokenizer
from ..decoding.translate import search
from ..errors import UserError, unknown
from ..models import EncoderDecoder, Translator
from .check import require_room
from .edits import PLACES, Which
from .effect import (
    BASELINES,
    BATCH_TOKENS,
    Baseline,
    Effects,
    Plan,
    chosen,
    edges_of,
    followed,
    log_softmax,
    table_of,
)
from .trace import at_rest, rows, trace

PARTS: tuple[Which, ...] = ("encoder", "decoder", "cross")


def require_heads(model: Translator) -> EncoderDecoder:
    """The model; UserError for a recurrent one, which has no heads."""
    if not isinstance(model, EncoderDecoder):
        raise UserError(
            "the model is a recurrent encoder-decoder: it has no heads, and so no edges to measure"
        )
    return model


def sides(
    model: EncoderDecoder, tokenizer: Tokenizer, text: str, target: str | None = None
) -> tuple[list[int], list[int], int]:
    """The ids of a source (m,), what the decoder reads (n,), and the token that is followed: the last of the
    target, after those before it. Without a target it is the model's own greedy translation.

    Raises UserError for an empty text or target, and one too long for the model.
    """
    source = source_ids(tokenizer, text.strip())
    if not source:
        raise UserError("the text is empty")
    require_room(model, source)
    if target is None:
        written = search(model, [source], tokenizer.start, tokenizer.end)[0][0].ids or [tokenizer.end]
    else:
        written = tokenizer.encode(target).tolist()
        if not written:
            raise UserError("the target is empty")
    inputs = [tokenizer.start, *written[:-1]]
    require_room(model, source, inputs)
    return source, inputs, written[-1]


def plan(
    model: EncoderDecoder,
    n_source: int,
    n_target: int,
    *,
    of: Which = "cross",
    layers: Sequence[int] | None = None,
    heads: Sequence[int] | None = None,
    queries: Sequence[int] | None = None,
) -> Plan:
    """What `effect` would measure; by default all heads of all layers, at the last token that the decoder
    reads, and in the encoder at all. Raises UserError for a recurrent model, and for a part, layer, head or
    query that is not there."""
    require_heads(model)
    if of not in PARTS:
        raise unknown("attention", of, PARTS)
    c = model.config
    n_layers = c.n_layers if of == "encoder" else c.decoder_layers
    n_queries = n_source if of == "encoder" else n_target
    usual = range(n_queries) if of == "encoder" else [n_queries - 1]
    chosen_layers = chosen("layer", layers, range(n_layers), n_layers)
    chosen_heads = chosen("head", heads, range(c.n_heads), c.n_heads)
    chosen_queries = chosen("query", queries, usual, n_queries)
    n_keys = sum(query + 1 if of == "decoder" else n_source for query in chosen_queries)
    n_edges = len(chosen_layers) * len(chosen_heads) * n_keys
    run = n_target * sum(p.numel() for p in (*model.decoder.parameters(), model.head.weight))
    if of == "encoder":
        run += n_source * sum(p.numel() for p in model.encoder.parameters())
    return Plan(chosen_layers, chosen_heads, chosen_queries, n_edges, 2 * 2 * n_edges * run)


def effect(
    model: EncoderDecoder,
    tokens: Tensor | Sequence[int],
    inputs: Tensor | Sequence[int],
    *,
    of: Which = "cross",
    target: int | None = None,
    layers: Sequence[int] | None = None,
    heads: Sequence[int] | None = None,
    queries: Sequence[int] | None = None,
    baseline: Baseline = "zero",
    seed: int = 0,
    advance: Callable[[str, int, int], None] = lambda what, done, total: None,
) -> Effects:
    """Measure every visible edge of the asked layers, heads and queries of one attention, for one source (m,)
    and what the decoder reads (n,), which begins with the tokenizer's start.

    `target` is the token whose log-probability after the last input is followed; by default the likeliest.
    Queries and keys are tokens of the source in the encoder, of the inputs in the decoder; across, the
    queries are inputs and the keys are of the source.
    """
    if baseline not in BASELINES:
        raise unknown("baseline", baseline, BASELINES)
    source, read = rows(model, tokens)[:1], rows(model, inputs)[:1]
    n = read.shape[1]
    planned = plan(model, source.shape[1], n, of=of, layers=layers, heads=heads, queries=queries)
    place = PLACES[of]
    names = [f"{place.format('*')}.{name}" for name in ("k", "v", "scores", "weights", "heads")]
    traced = trace(model, source, [*names, "logits"], target=read)
    target, before = followed(traced["logits"][0, -1], target)
    batch = max(1, BATCH_TOKENS // (n + (source.shape[1] if of == "encoder" else 0)))
    tables = []
    with at_rest(model):
        state = model.encode(source)
        for layer in planned.layers:
            blocks: Any = (model.encoder if of == "encoder" else model.decoder).blocks
            attention = blocks[layer].cross if of == "cross" else blocks[layer].attention
            at = place.format(layer)
            for query in planned.queries:

                def after(heads_B: Tensor, mixture_Bd: Tensor, at: str = at, query: int = query) -> Tensor:
                    tap = _Mixture(f"{at}.heads", heads_B, query, mixture_Bd)
                    same_B = torch.zeros_like(heads_B)
                    if of == "encoder":
                        logits_BnV = model(source[same_B], None, read[same_B], tap=tap)
                    else:
                        logits_BnV, _ = model.decode(read[same_B], state.reorder(same_B), tap=tap)
                    return log_softmax(logits_BnV[:, -1], target)

                edges = [
                    edges_of(traced, f"{at}.", attention, head, query, baseline, seed)
                    for head in planned.heads
                ]
                tables.append(table_of(layer, planned.heads, query, edges, after, before, batch))
                advance("measuring edges", sum(map(len, tables)), planned.n_edges)
    return Effects.of_tables(tables, target, n - 1, before, baseline)


@dataclass(frozen=True)
class _Mixture:
    """A tap: in row i the head `heads_B[i]` gets the mixture `mixture_Bd[i]` at the query."""

    name: str
    heads_B: Tensor
    query: int
    mixture_Bd: Tensor
    path: str = ""

    def at(self, path: str) -> "_Mixture":
        return _Mixture(self.name, self.heads_B, self.query, self.mixture_Bd, f"{self.path}{path}.")

    def wants(self, name: str) -> bool:
        return self.path + name == self.name

    def __call__(self, name: str, tensor: Tensor) -> Tensor:
        if not self.wants(name):
            return tensor
        changed = tensor.clone()
        rows_B = torch.arange(len(self.heads_B), device=tensor.device)
        changed[rows_B, self.heads_B, self.query] = self.mixture_Bd
        return changed
