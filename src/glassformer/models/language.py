"""What all models have in common that predict the next token.

Shapes: b batch, n new tokens, D model width, V vocabulary.
"""

from typing import Protocol

from torch import nn

from ..nn.state import State


class LanguageConfig(Protocol):
    """What the configs of all language models have in common."""

    @property
    def vocab_size(self) -> int: ...
    @property
    def context(self) -> int: ...
    @property
    def n_layers(self) -> int: ...
    @property
    def d_model(self) -> int: ...
    @property
    def tie_embeddings(self) -> bool: ...
    @property
    def dropout(self) -> float: ...


class LanguageModel(nn.Module):
    """`logits, state = model(tokens, state, valid_bn=…, last_only=…, backend=…, tap=…)`.

    Logits (b, n, V) for the token after each of the tokens (b, n), and the state that has seen them; without
    a state, none is kept. `blocks` are its layers, each from (b, n, D) to (b, n, D).
    """

    config: LanguageConfig
    embedding: nn.Embedding
    blocks: nn.ModuleList
    head: nn.Linear

    @property
    def window(self) -> int | None:
        """How many tokens it can see at once; None where its state holds what it knows of all before."""
        raise NotImplementedError

    def tap_names(self) -> tuple[str, ...]:
        """Every name that `forward` hands to its tap, in order."""
        raise NotImplementedError

    def new_state(self, batch: int, capacity: int | None = None) -> State:
        """An empty state for `batch` rows, with room for `capacity` tokens where it grows with them."""
        raise NotImplementedError
