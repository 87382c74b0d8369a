"""A recurrent language model: RNN, LSTM or GRU layers between an embedding and a head.

Shapes: b batch, n tokens, D model width, V vocabulary.
"""

from dataclasses import dataclass

from torch import Tensor, nn

from ..config import require_literals
from ..nn.attention import Backend
from ..nn.recurrent import Kind, Recurrent
from ..nn.state import HiddenState
from ..nn.tap import Tap, names_under
from .language import LanguageModel
from .limits import require_sizes


@dataclass(frozen=True)
class RecurrentConfig:
    """The shape of a recurrent language model. `context` is the length of a training window: so many steps
    back the gradient goes. What the model remembers has no such limit."""

    vocab_size: int
    kind: Kind = "lstm"
    context: int = 64
    n_layers: int = 2
    d_model: int = 192
    tie_embeddings: bool = True
    dropout: float = 0.0

    def __post_init__(self) -> None:
        require_sizes(self)
        require_literals(self)
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must lie in [0, 1), not {self.dropout}")


EMBEDDING = 0.3
"""Standard deviation of the first embeddings."""


class RecurrentLM(LanguageModel):
    """`logits, state = model(tokens, state)`: one step a token, so that a text has no end to what it may take
    and each token costs the same."""

    config: RecurrentConfig
    blocks: Recurrent

    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        self.drop = nn.Dropout(config.dropout)
        self.blocks = Recurrent(
            config.kind, config.d_model, config.d_model, config.n_layers, dropout=config.dropout
        )
        self.head = nn.Linear(config.d_model, config.vocab_size, bias=False)
        if config.tie_embeddings:
            self.head.weight = self.embedding.weight
        for matrix in (self.embedding.weight, self.head.weight):
            nn.init.normal_(matrix, std=EMBEDDING)

    @property
    def window(self) -> None:
        return None

    def forward(
        self,
        tokens_bn: Tensor,
        state: HiddenState | None = None,
        *,
        valid_bn: Tensor | None = None,
        last_only: bool = False,
        backend: Backend = "auto",
        tap: Tap | None = None,
    ) -> tuple[Tensor, HiddenState | None]:
        """Logits (b, n, V) for the token after each of `tokens_bn`, and the state that has seen them.

        Pass `new_state(...)` to begin and what comes back to go on; without a state the text begins here, and
        none is kept. In training the gradient flows back through a state, unless it is detached. `valid_bn`
        marks real tokens in rows with padding (True = real), which the state passes by. With `last_only` the
        logits are the last token's alone, (b, 1, V). For `backend` see `Recurrent.forward`. Raises ValueError
        for a state or a `valid_bn` of other rows.
        """
        x_bnD = self.drop(self.embedding(tokens_bn))
        if tap is not None:
            x_bnD = tap("embedding", x_bnD)
        inner = tap.at("blocks") if tap is not None else None
        x_bnD, after = self.blocks(x_bnD, state, valid_bn=valid_bn, backend=backend, tap=inner)
        x_bnD = self.drop(x_bnD[:, -1:] if last_only else x_bnD)
        if tap is not None:
            x_bnD = tap("final", x_bnD)
        logits_bnV: Tensor = self.head(x_bnD)
        logits_bnV = tap("logits", logits_bnV) if tap is not None else logits_bnV
        return logits_bnV, after if state is not None else None

    def tap_names(self) -> tuple[str, ...]:
        """Every name that `forward` hands to its tap, in order."""
        return ("embedding", *names_under("blocks", self.blocks.tap_names()), "final", "logits")

    def new_state(self, batch: int, capacity: int | None = None) -> HiddenState:
        """Zeros for `batch` rows; of any `capacity`, for it does not grow."""
        return self.blocks.new_state(batch)
