"""What smaller weights cost: two models' predictions over one text, side by side."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from ..models import LanguageModel

MOST = 256  # tokens: the logits of a large vocabulary take 200 KB for each


@dataclass(frozen=True)
class Cost:
    """`loss`: how much the changed model's loss is above the exact one's, in nats per token, on text that the
    exact one would write: the mean of KL(exact ‖ changed), never below 0. `same` of `tokens` predictions have
    the same likeliest token. `largest`: the largest difference of two logits."""

    loss: float
    same: int
    tokens: int
    largest: float


@torch.inference_mode()
def cost(exact: LanguageModel, changed: LanguageModel, tokens: Sequence[int]) -> Cost:
    """What it costs to predict with `changed` after each of `tokens`, of which the last few hundred count."""
    seen = torch.tensor([tokens[-min(MOST, exact.config.context) :]])
    (a_nV,), (b_nV,) = (model(seen)[0].double() for model in (exact, changed))
    p_nV, q_nV = a_nV.log_softmax(-1), b_nV.log_softmax(-1)
    return Cost(
        loss=float((p_nV.exp() * (p_nV - q_nV)).sum(-1).mean().clamp(min=0)),
        same=int((a_nV.argmax(-1) == b_nV.argmax(-1)).sum()),
        tokens=seen.shape[1],
        largest=float((a_nV - b_nV).abs().max()),
    )
