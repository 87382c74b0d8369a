"""An encoder-decoder of recurrent layers (Sutskever et al. 2014; Cho et al. 2014), without attention or with
that of Bahdanau et al. 2014.

The encoder reads the source both ways, each way half as wide as the model. Its last states, both ways side by
side, are where the decoder begins. Without attention that is all the decoder has of the source. With it, step
t first reads the memory by its state s_{t-1}, and goes on from [y_{t-1}; c_t]. Two things differ from the
paper: s_0 there is tanh(W h_1) of the way back alone, and its readout is a maxout; here it is tanh(W [s_t;
c_t]).

Shapes: b batch, m source tokens, n target tokens, D model width, V vocabulary.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from ..config import require_literals
from ..nn.additive import AdditiveAttention
from ..nn.recurrent import OverTime, Recurrent
from ..nn.state import HiddenState
from ..nn.tap import Tap
from .limits import require_sizes
from .translator import Translator


@dataclass(frozen=True)
class Seq2SeqConfig:
    """The shape of an encoder-decoder. Source and target share one vocabulary; `context` is the longest
    source or target that it is trained on, in tokens, and the longest target that it writes."""

    vocab_size: int
    kind: Literal["lstm", "gru"] = "gru"
    attention: Literal["none", "additive", "dot", "general"] = "additive"
    context: int = 128
    n_layers: int = 1
    d_model: int = 128
    dropout: float = 0.0

    def __post_init__(self) -> None:
        require_sizes(self)
        require_literals(self)
        if self.d_model % 2:
            raise ValueError(f"d_model must be even, half for each way of reading, not {self.d_model}")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must lie in [0, 1), not {self.dropout}")


EMBEDDING = 0.3
"""Standard deviation of the first embeddings."""


@dataclass(frozen=True, eq=False)
class SeqState:
    """Where a decoder stands: what was read, and its hidden state after the target so far. `keys` are what
    the attention makes of the memory once, for all steps."""

    hidden: HiddenState
    memory: Tensor  # (b, m, D)
    keys: Tensor | None
    valid: Tensor  # (b, m), True = a source token

    @property
    def batch(self) -> int:
        return self.hidden.batch

    @property
    def length(self) -> int:
        """Target tokens so far."""
        return self.hidden.length

    def reorder(self, rows: Tensor) -> "SeqState":
        """The state whose row i is this one's row `rows[i]`; rows may repeat or be left out."""
        keys = None if self.keys is None else self.keys.index_select(0, rows)
        memory, valid = self.memory.index_select(0, rows), self.valid.index_select(0, rows)
        return SeqState(self.hidden.reorder(rows), memory, keys, valid)


class Seq2Seq(Translator):
    """`state = model.encode(source, valid)`, then `logits, state = model.decode(target_in, state)`; the
    target begins with the tokenizer's start, so that the logits at each place are for the token after it."""

    config: Seq2SeqConfig

    def __init__(self, config: Seq2SeqConfig) -> None:
        super().__init__()
        self.config = c = config
        self.embedding = nn.Embedding(c.vocab_size, c.d_model)
        self.drop = nn.Dropout(c.dropout)
        self.encoder = Recurrent(
            c.kind, c.d_model, c.d_model // 2, c.n_layers, bidirectional=True, dropout=c.dropout
        )
        self.attention: AdditiveAttention | None = None
        d_in = c.d_model
        if c.attention != "none":
            self.attention = AdditiveAttention(c.d_model, c.d_model, c.attention)
            self.readout = nn.Linear(2 * c.d_model, c.d_model)
            nn.init.zeros_(self.readout.bias)
            nn.init.normal_(self.readout.weight, std=(2 * c.d_model) ** -0.5)
            d_in = 2 * c.d_model
        self.decoder = Recurrent(c.kind, d_in, c.d_model, c.n_layers, dropout=c.dropout)
        self.head = nn.Linear(c.d_model, c.vocab_size, bias=False)
        for matrix in (self.embedding.weight, self.head.weight):
            nn.init.normal_(matrix, std=EMBEDDING)

    def tap_names(self) -> tuple[str, ...]:
        """Every name that `forward` hands to its tap, in order."""
        weights = ("attention.weights",) if self.attention is not None else ()
        return ("source", "memory", "target", *weights, "state", "final", "logits")

    def forward(
        self, source_bm: Tensor, valid_bm: Tensor | None, target_in_bn: Tensor, *, tap: Tap | None = None
    ) -> Tensor:
        """Logits (b, n, V) for the token after each of `target_in_bn`: teacher forcing."""
        return self.decode(target_in_bn, self.encode(source_bm, valid_bm, tap=tap), tap=tap)[0]

    def encode(
        self, source_bm: Tensor, valid_bm: Tensor | None = None, *, tap: Tap | None = None
    ) -> SeqState:
        """What there is to know of the source, with the decoder at its beginning. `valid_bm` marks real
        tokens (True = real, default all); the rest is never seen, wherever in its row it stands."""
        valid_bm = torch.ones_like(source_bm, dtype=torch.bool) if valid_bm is None else valid_bm
        x_bmD = self.drop(self.embedding(source_bm))
        x_bmD = tap("source", x_bmD) if tap is not None else x_bmD
        memory_bmD, last = self.encoder(x_bmD, valid_bn=valid_bm)
        memory_bmD = tap("memory", memory_bmD) if tap is not None else memory_bmD
        # (L · 2, b, D/2), of each layer the way right first -> (L, b, D)
        parts = [torch.cat((part[0::2], part[1::2]), -1) for part in last.parts]
        hidden = HiddenState(parts[0], parts[1] if len(parts) > 1 else None)
        keys = self.attention.keys(memory_bmD) if self.attention is not None else None
        return SeqState(hidden, memory_bmD, keys, valid_bm)

    def decode(
        self, target_in_bn: Tensor, state: SeqState, *, tap: Tap | None = None
    ) -> tuple[Tensor, SeqState]:
        """Logits (b, n, V) for the token after each of these, and the state that has seen them.

        `tap` sees the weights as "attention.weights" (b, n, m), filled up to the newest step; for that step,
        what comes back goes on. "state" (b, n, D) is the top layer's after each step, as it is read out."""
        y_bnD = self.drop(self.embedding(target_in_bn))
        y_bnD = tap("target", y_bnD) if tap is not None else y_bnD
        if self.attention is None:
            out_bnD, hidden = self.decoder(y_bnD, state.hidden)
            out_bnD = tap("state", out_bnD) if tap is not None else out_bnD
        else:
            out_bnD, hidden = self._attending(self.attention, y_bnD, state, tap)
        out_bnD = self.drop(out_bnD)
        out_bnD = tap("final", out_bnD) if tap is not None else out_bnD
        logits_bnV: Tensor = self.head(out_bnD)
        logits_bnV = tap("logits", logits_bnV) if tap is not None else logits_bnV
        return logits_bnV, SeqState(hidden, state.memory, state.keys, state.valid)

    def _attending(
        self, attention: AdditiveAttention, y_bnD: Tensor, state: SeqState, tap: Tap | None
    ) -> tuple[Tensor, HiddenState]:
        hidden, states, contexts = state.hidden, [], []
        over_time = OverTime(tap.at("attention"), y_bnD.shape[1]) if tap is not None else None
        for t, y_bD in enumerate(y_bnD.unbind(1)):
            if over_time is not None:
                over_time.t = t
            before_bD = hidden.hidden[-1]  # s_{t-1}, of the top layer
            context_bD, _ = attention(before_bD, state.memory, state.valid, over_time, keys_bmS=state.keys)
            s_b1D, hidden = self.decoder(torch.cat((y_bD, context_bD), -1)[:, None], hidden)
            states.append(s_b1D[:, 0])
            contexts.append(context_bD)
        states_bnD = torch.stack(states, 1)
        states_bnD = tap("state", states_bnD) if tap is not None else states_bnD
        return torch.tanh(self.readout(torch.cat((states_bnD, torch.stack(contexts, 1)), -1))), hidden
