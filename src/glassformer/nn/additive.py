"""Attention of a decoder's state over an encoder's memory: Bahdanau's additive score (Bahdanau et al. 2014),
and the dot and general scores of Luong et al. 2015.

The query is s_{t-1}, the state before the step, as in the 2014 paper: what is read goes into the step.

Shapes: b batch, m places of the source, S width of the state, H of the memory, A of the additive score.
"""

from typing import Literal

import torch
from torch import Tensor, nn

from .recurrent import Watch

Score = Literal["additive", "dot", "general"]


class AdditiveAttention(nn.Module):
    """e_j = v · tanh(W s_{t-1} + U h_j), α = softmax(e), c = Σ_j α_j h_j. Score "dot" is e_j = s_{t-1} · h_j,
    "general" e_j = s_{t-1} · U h_j."""

    def __init__(self, d_state: int, d_memory: int, score: Score = "additive") -> None:
        """The additive score is as wide as the state. Raises ValueError for a dot of two widths."""
        super().__init__()
        self.score: Score = score
        if score == "dot" and d_state != d_memory:
            raise ValueError(f"the dot score needs one width, not {d_state} and {d_memory}")
        if score != "dot":
            self.of_memory = nn.Linear(d_memory, d_state, bias=False)
            nn.init.normal_(self.of_memory.weight, std=d_memory**-0.5)
        if score == "additive":
            self.of_state = nn.Linear(d_state, d_state, bias=False)
            self.v = nn.Linear(d_state, 1, bias=False)
            for matrix in (self.of_state.weight, self.v.weight):
                nn.init.normal_(matrix, std=d_state**-0.5)

    def keys(self, memory_bmH: Tensor) -> Tensor:
        """U h_j, (b, m, S), which is the same at every step; for the dot score h_j itself."""
        keys_bmS: Tensor = memory_bmH if self.score == "dot" else self.of_memory(memory_bmH)
        return keys_bmS

    def forward(
        self,
        s_bS: Tensor,
        memory_bmH: Tensor,
        valid_bm: Tensor | None = None,
        tap: Watch | None = None,
        *,
        keys_bmS: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """The context (b, H) and the weights (b, m), from the state before the step. Where `valid_bm` is
        False nothing is seen: the weight there is exactly 0, and a row that sees nothing has a context of
        zeros. `keys_bmS` is what `keys` gave for this memory."""
        keys_bmS = self.keys(memory_bmH) if keys_bmS is None else keys_bmS
        if self.score == "additive":
            energies_bm = self.v(torch.tanh(self.of_state(s_bS)[:, None] + keys_bmS)).squeeze(-1)
        else:
            energies_bm = torch.bmm(keys_bmS, s_bS[..., None]).squeeze(-1)
        weights_bm = masked_softmax(energies_bm, valid_bm)
        if tap is not None:
            weights_bm = tap("weights", weights_bm)
        return torch.bmm(weights_bm[:, None], memory_bmH).squeeze(1), weights_bm


def masked_softmax(energies_bm: Tensor, valid_bm: Tensor | None) -> Tensor:
    """The softmax over the places that may be seen; zeros where there is none. Masked before it: energies
    [1, 1, padding] give [½, ½, 0]."""
    if valid_bm is None:
        return energies_bm.softmax(-1)
    some_b1 = valid_bm.any(-1, keepdim=True)
    hidden_bm = ~valid_bm & some_b1  # a row of -inf alone would have gradients that are no numbers
    weights_bm = energies_bm.masked_fill(hidden_bm, float("-inf")).softmax(-1)
    return weights_bm * some_b1
