"""The one generation loop.

What the model sees: all tokens while they fit its context C. Beyond that the window hops: it begins at the
first multiple of C/2 that leaves at most C tokens, so that it always holds the last C/2 at least, and
positions count from its beginning. The rule depends on the length alone, hence a cache changes nothing but
the speed: it is rebuilt once per hop. A long text is read in chunks, which bounds the memory of a pass.
A recurrent model has no window: its state has seen all tokens, and is never rebuilt.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import torch
from torch import Tensor

from ..models import LanguageModel
from ..nn.state import State
from .pace import Pace
from .prepare import prepared
from .samplers import Sampler

CHUNK = 512  # tokens of a pass, over all rows


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
    model: LanguageModel,
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
    model = prepared(model)
    pace, window = Pace(model), model.window
    state: State | None = None
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
        now = [0 if window is None else window_start(len(row.tokens), window) for row in active]
        if state is None or now != starts:
            views = [row.tokens[start:] for row, start in zip(active, now, strict=True)]
            room = max(map(len, views)) + n_tokens
            room = room if window is None else min(window, room)
            logits, state = _read(model, pace, views, model.new_state(len(active), room) if cache else None)
        else:
            last = _tensor(model, [row.tokens[-1:] for row in active])
            logits, state = pace.step(partial(model, last, state), len(active), 1)
        in_state, starts = active, now
        tokens = sampler.choose(
            logits[:, -1, :n_ids].float(), [row.tokens for row in active], [r.chance for r in active]
        )
        for row, token in zip(active, tokens, strict=True):
            row.tokens.append(token)
        yield active


def _read(
    model: LanguageModel, pace: Pace, views: list[list[int]], state: State | None
) -> tuple[Tensor, State | None]:
    """Logits (b, 1, V) after the views, and their state. They are padded on the left to the same length and
    read chunk by chunk; without a state to remember the chunks, at once."""
    longest = max(map(len, views))
    padded = [[0] * (longest - len(view)) + view for view in views]
    valid = None
    if any(len(view) < longest for view in views):
        valid = _tensor(model, [[0] * (longest - len(view)) + [1] * len(view) for view in views]).bool()
    tokens = _tensor(model, padded)
    size = longest if state is None else max(1, CHUNK // len(views))
    for at in range(0, longest, size):
        chunk = slice(at, at + size)
        valid_bn = None if valid is None else valid[:, chunk]
        work = partial(model, tokens[:, chunk], state, valid_bn=valid_bn, last_only=True)
        logits, state = pace.step(work, len(views), min(size, longest - at))
    return logits, state


def _tensor(model: LanguageModel, rows: list[list[int]]) -> Tensor:
    return torch.tensor(rows, device=model.embedding.weight.device)
