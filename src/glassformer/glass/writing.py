"""A translation as it is written: step by step, what the decoder reads of the source and what it keeps.

Shapes: L layers and h heads that read the source (1 and 1 in a recurrent model), m source tokens, V
vocabulary.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import torch
from torch import Tensor

from ..data.tokenizers import Tokenizer
from ..decoding.translate import reading_weights
from ..models import EncoderDecoder, Translator
from .sections import TOP, Guess, Label, name
from .trace import Recorder, at_rest, rows


@dataclass(frozen=True)
class Kept:
    """How many numbers there are in a state, and in how many bytes: of the target, for `tokens` tokens so
    far, and of the source."""

    tokens: int
    target: int
    target_bytes: int
    source: int
    source_bytes: int


@dataclass(frozen=True, eq=False)
class Step:
    """One step: a token is `read` and the next one `written`; `guesses` are the likeliest ones, and last it
    where it is none of them. `weights_Lhm`: how much of each source token was read; None without attention.
    `kept`: the state after the step."""

    read: Label
    written: Label
    guesses: list[Guess]
    weights_Lhm: Tensor | None
    kept: Kept


def steps(
    model: Translator, tokenizer: Tokenizer, source: Sequence[int], written: Sequence[int]
) -> list[Step]:
    """The steps in which the model writes these tokens (n,) and END for a source (m,), one call of the
    decoder each: n + 1 of them."""
    names, taken = reading_weights(model), list[Step]()
    with at_rest(model):
        state: Any = model.encode(rows(model, source))
        for token, then in zip((tokenizer.start, *written), (*written, tokenizer.end), strict=True):
            recorder = Recorder(tuple(names))
            logits_1nV, state = model.decode(rows(model, [token]), state, tap=recorder)
            probability_V = logits_1nV[0, -1].float().softmax(-1)[: tokenizer.vocab_size]
            best = probability_V.topk(min(TOP, len(probability_V))).indices.tolist()
            tokens = best if then in best else [*best, then]
            guesses = [Guess(name(tokenizer, i), float(probability_V[i]), i == then) for i in tokens]
            each = [recorder.tensors[of][0] for of in names]  # (h, 1, m), or (1, m)
            weights_Lhm = torch.stack([w.reshape(-1, w.shape[-1]) for w in each]) if each else None
            labels = name(tokenizer, token), name(tokenizer, then)
            kept = _kept(model, state)
            taken.append(Step(*labels, guesses, weights_Lhm, kept))
    return taken


def _kept(model: Translator, state: Any) -> Kept:
    """What a state holds: keys and values, or a recurrent model's hidden state beside what it reads."""
    if isinstance(model, EncoderDecoder):
        target, source = state.cache.parts, tuple(chain(*state.memory))
    else:
        read = () if state.keys is None else (state.memory, state.keys)
        target, source = state.hidden.parts, read
    sizes = [(sum(p.numel() for p in of), sum(p.nbytes for p in of)) for of in (target, source)]
    return Kept(state.length, *sizes[0], *sizes[1])
