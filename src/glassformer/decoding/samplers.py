"""From logits to the next token. Every filter maps logits (..., V) to logits, -inf for what is ruled out.

Ties are broken by id: of equally likely tokens the one with the lower id counts as the likelier.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ..errors import UserError


def repetition_penalty(logits: Tensor, seen: Sequence[int], penalty: float) -> Tensor:
    """Make each token in `seen` less likely, once however often it was seen. logits (V,).

    A positive logit is divided by the penalty, a negative one multiplied (Keskar et al. 2019, "CTRL").
    """
    ids = torch.tensor(sorted(set(seen)), dtype=torch.long, device=logits.device)
    picked = logits[ids]
    return logits.index_put((ids,), torch.where(picked > 0, picked / penalty, picked * penalty))


def scale(logits: Tensor, temperature: float) -> Tensor:
    """Logits over temperature, the largest moved to 0 first so that nothing overflows however small it is."""
    wide = logits.double()
    return (wide - wide.amax(-1, keepdim=True)) / temperature


def top_k(logits: Tensor, k: int) -> Tensor:
    """Keep exactly the k likeliest tokens (all, if there are fewer)."""
    order = logits.sort(dim=-1, descending=True, stable=True).indices
    return logits.scatter(-1, order[..., k:], -math.inf)


def top_p(logits: Tensor, p: float) -> Tensor:
    """Keep the smallest set of likeliest tokens whose mass reaches p; at least one, and all for p = 1.

    Holtzman et al. 2020, "The Curious Case of Neural Text Degeneration".
    """
    if p >= 1:
        return logits
    values, order = logits.sort(dim=-1, descending=True, stable=True)
    mass = values.softmax(-1)
    before = mass.cumsum(-1) - mass
    drop = before >= p
    drop[..., 0] = False
    return logits.scatter(-1, order, values.masked_fill(drop, -math.inf))


@dataclass(frozen=True)
class Sampler:
    """How the next token is drawn: penalty, then temperature, then top-k, then top-p.

    temperature 0 is greedy: the likeliest token after the penalty, whatever top_k and top_p say. top_k None
    or 0, top_p None or 1, and repetition_penalty 1 are off. Raises UserError for values outside their range.
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    repetition_penalty: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.temperature < math.inf:
            raise UserError(f"temperature must be 0 (greedy) or more, not {self.temperature}")
        if self.top_k is not None and self.top_k < 0:
            raise UserError(f"top_k must be 0 (off) or more, not {self.top_k}")
        if self.top_p is not None and not 0 <= self.top_p <= 1:
            raise UserError(f"top_p must lie between 0 and 1, not {self.top_p}")
        if not 0.01 <= self.repetition_penalty <= 100:
            raise UserError(
                f"repetition_penalty must lie between 0.01 and 100, not {self.repetition_penalty}"
            )

    def filtered(self, logits: Tensor) -> Tensor:
        """The logits that are drawn from, for a temperature above 0."""
        logits = scale(logits, self.temperature)
        if self.top_k:
            logits = top_k(logits, self.top_k)
        if self.top_p is not None:
            logits = top_p(logits, self.top_p)
        return logits

    def choose(
        self, logits_bV: Tensor, seen: Sequence[Sequence[int]], chances: Sequence[random.Random]
    ) -> list[int]:
        """A token for each row. `seen[i]` are row i's tokens so far, `chances[i]` is its source of chance.

        Each row takes one number from its own source, so no row depends on its neighbours. Raises UserError
        for logits that hold NaN.
        """
        if logits_bV.isnan().any():
            raise UserError("the model's logits are NaN: its weights are damaged, or its training diverged")
        if self.repetition_penalty != 1:
            rows = [
                repetition_penalty(row, ids, self.repetition_penalty)
                for row, ids in zip(logits_bV, seen, strict=True)
            ]
            logits_bV = torch.stack(rows)
        if self.temperature == 0:
            return [int(token) for token in logits_bV.argmax(-1)]
        mass = self.filtered(logits_bV).softmax(-1).cumsum(-1)
        draws = torch.tensor([[chance.random()] for chance in chances], dtype=mass.dtype, device=mass.device)
        # The first token whose cumulated mass exceeds the draw: one of mass 0 never does so first.
        tokens = torch.searchsorted(mass, draws * mass[:, -1:], right=True).squeeze(-1)
        return [int(token) for token in tokens]
