"""What a model costs: parameters by part, arithmetic and memory per token."""

from dataclasses import dataclass

from torch import nn

from .gpt import GPT

# The first of these that a parameter's name holds is its part.
PARTS = {
    "embedding": "embedding",
    "positions": "positions",
    "attention": "attention",
    "ffn": "feed-forward",
    "final_norm": "final norm",
    "head": "head",
}


@dataclass(frozen=True)
class Cost:
    """Operations count a multiplication and an addition as two, as is usual for FLOPs.

    `operations` is for one token in the middle of a full context, where attention sees context / 2 keys;
    training costs three times as much (forward, and a backward pass of twice that).
    """

    parameters: dict[str, int]
    operations: float
    attention_operations: float
    state_bytes: int

    @property
    def total(self) -> int:
        return sum(self.parameters.values())


def cost(model: GPT) -> Cost:
    """Every parameter is counted once; a tied head counts as embedding."""
    c = model.config
    counts = dict.fromkeys(PARTS.values(), 0)
    for name, parameter in model.named_parameters():
        counts[next(part for key, part in PARTS.items() if key in name)] += parameter.numel()
    products = sum(
        module.weight.numel() for module in model.modules() if isinstance(module, nn.Linear)
    )  # the tied head multiplies all the same
    attention = 2 * 2 * c.n_layers * c.d_model * c.context / 2  # q·k and weights·v, each d_model wide
    n_kv_heads = c.n_kv_heads or c.n_heads
    state = 2 * c.n_layers * n_kv_heads * c.d_head * model.embedding.weight.element_size()
    return Cost(counts, 2 * products + attention, attention, state)
