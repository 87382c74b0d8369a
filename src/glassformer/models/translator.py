"""What all models have in common that read a source and write its target.

Shapes: b batch, m source tokens, n target tokens, V vocabulary.
"""

from typing import Any

from torch import Tensor, nn

from ..nn.state import State
from ..nn.tap import Tap


class Translator(nn.Module):
    """`state = model.encode(source, valid)`, then `logits, state = model.decode(target_in, state)`; the
    target begins with the tokenizer's start, so that the logits at each place are for the token after it.
    `model(source, valid, target_in)` is both, for training. Which state it is, the family decides."""

    config: Any
    embedding: nn.Embedding

    @property
    def longest(self) -> int | None:
        """How many tokens of a source it can read; None where there is no limit."""
        return None

    def encode(self, source_bm: Tensor, valid_bm: Tensor | None = None, *, tap: Tap | None = None) -> State:
        """What there is to know of the source, with the decoder at its beginning. `valid_bm` marks real
        tokens (True = real, default all); the rest is never seen, wherever in its row it stands."""
        raise NotImplementedError

    def decode(self, target_in_bn: Tensor, state: Any, *, tap: Tap | None = None) -> tuple[Tensor, State]:
        """Logits (b, n, V) for the token after each of these, and the state that has seen them."""
        raise NotImplementedError

    def tap_names(self) -> tuple[str, ...]:
        """Every name that `forward` hands to its tap, in order."""
        raise NotImplementedError
