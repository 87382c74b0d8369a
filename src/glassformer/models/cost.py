"""What a model costs: parameters by part, arithmetic and memory per token."""

from dataclasses import dataclass

from torch import nn

from .bert import Bert
from .decoder import Decoder
from .language import LanguageModel
from .recurrent import RecurrentLM

# The first of these that a parameter's name holds is its part.
PARTS = {
    "embedding": "embedding",
    "types": "embedding",
    "positions": "positions",
    "attention": "attention",
    "ffn": "feed-forward",
    "kernel": "recurrent",
    "final_norm": "final norm",
    "head": "head",
    "pooler": "pooler",
    "classifier": "labels",
}


@dataclass(frozen=True)
class Cost:
    """Operations count a multiplication and an addition as two, as is usual for FLOPs.

    `operations` is for one token in a full context: in the middle of it for a decoder, whose attention sees
    context / 2 keys there; an encoder's sees all; to a recurrent model every token is the same. Training
    costs three times as much (forward, and a backward pass of twice that). `state_bytes`: of keys and values,
    for each token; of a recurrent model, for the text as a whole, however long.
    """

    parameters: dict[str, int]
    operations: float
    attention_operations: float
    state_bytes: int

    @property
    def total(self) -> int:
        return sum(self.parameters.values())


def cost(model: LanguageModel | Bert) -> Cost:
    """Every parameter is counted once; a tied head counts as embedding. What an encoder's heads do is not."""
    counts = dict.fromkeys(PARTS.values(), 0)
    for name, parameter in model.named_parameters():
        counts[next(part for key, part in PARTS.items() if key in name)] += parameter.numel()
    if isinstance(model, RecurrentLM):
        matrices = [p for p in model.blocks.parameters() if p.dim() == 2]
        products = sum(matrix.numel() for matrix in (*matrices, model.head.weight))
        state = sum(part.nbytes for part in model.new_state(1).parts)
        return Cost(counts, 2 * products, 0, state)
    assert isinstance(model, Decoder | Bert)
    c = model.config
    always = model.blocks if isinstance(model, Bert) else model  # a decoder's tied head multiplies as well
    products = sum(m.weight.numel() for m in always.modules() if isinstance(m, nn.Linear))
    keys = c.context / 2 if isinstance(model, Decoder) else c.context
    attention = 2 * 2 * c.n_layers * c.n_heads * c.d_head * keys  # q·k and weights·v, each so wide
    state = 0
    if isinstance(model, Decoder):
        n_kv_heads = model.config.n_kv_heads or c.n_heads
        state = 2 * c.n_layers * n_kv_heads * c.d_head * model.embedding.weight.element_size()
    return Cost(counts, 2 * products + attention, attention, state)
