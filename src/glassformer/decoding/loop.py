"""The one generation loop.

What the model sees: all tokens while they fit its context C. Beyond that the window hops: it begins at the
first multiple of C/2 that leaves at most C tokens, so that it always holds the last C/2 at least, and
positions count from its beginning. The rule depends on the length alone, hence a cache changes nothing but
the speed: it is rebuilt once per hop.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from ..models import Decoder
from ..nn.state import KVState
from .samplers import Sampler


@dataclass
class Row:
    """One text being written: the prompt's ids, to which the loop appends. Set `done` to end it."""

    tokens: list[int]
    chance: random.Random = field(default_factory=random.Random)
    done: bool = False


def window_start(length: int, context: int) -> int:
    """Where the visible window begins for a text of `length` tokens."""
    hop = max(1, context // 2)
    return max(0, -(-(length - context) // hop)) * hop


@torch.inference_mode()
def write(
    model: Decoder,
    rows: Sequence[Row],
    sampler: Sampler,
    n_tokens: int,
    *,
    n_ids: int | None = None,
    cache: bool = True,
) -> Iterator[Sequence[Row]]:
    """Append up to `n_tokens` tokens to every row, yielding the rows that got one after each step.

    Rows may have different lengths, none may be empty; each comes out as it would alone. The caller decides
    when a row is done. Ids from `n_ids` on are never written (a model may have more than its tokenizer).
    """
    state: KVState | None = None
    in_state: list[Row] = []
    starts: list[int] = []
    for _ in range(n_tokens):
        active = [row for row in rows if not row.done]
        if not active:
            return
        if state is not None and len(active) < len(in_state):
            kept = [i for i, row in enumerate(in_state) if not row.done]
            state = state.reorder(torch.tensor(kept, device=model.embedding.weight.device))
            starts = [starts[i] for i in kept]
        now = [window_start(len(row.tokens), model.config.context) for row in active]
        if state is None or now != starts:
            views = [row.tokens[start:] for row, start in zip(active, now, strict=True)]
            room = min(model.config.context, max(map(len, views)) + n_tokens)
            logits, state = _begin(model, views, model.new_state(len(active), room) if cache else None)
        else:
            logits, state = model(_tensor(model, [row.tokens[-1:] for row in active]), state)
        in_state, starts = active, now
        tokens = sampler.choose(
            logits[:, -1, :n_ids].float(), [row.tokens for row in active], [r.chance for r in active]
        )
        for row, token in zip(active, tokens, strict=True):
            row.tokens.append(token)
        yield active


def _begin(model: Decoder, views: list[list[int]], state: KVState | None) -> tuple[Tensor, KVState | None]:
    """One pass over the views, padded on the left to the same length."""
    longest = max(map(len, views))
    padded = [[0] * (longest - len(view)) + view for view in views]
    valid = None
    if any(len(view) < longest for view in views):
        valid = _tensor(model, [[0] * (longest - len(view)) + [1] * len(view) for view in views]).bool()
    return model(_tensor(model, padded), state, valid_bn=valid)  # type: ignore[no-any-return]


def _tensor(model: Decoder, rows: list[list[int]]) -> Tensor:
    return torch.tensor(rows, device=model.embedding.weight.device)
