"""Llama and those shaped like it (Qwen2, Qwen3): RMSNorm before each sub-layer, rotary positions, SwiGLU.

Touvron et al. 2023, "LLaMA"; Yang et al. 2024 and 2025, "Qwen2" and "Qwen3".
"""

from dataclasses import dataclass

from ..nn.attention import MultiHeadAttention
from ..nn.blocks import Block, FeedForward, make_norm
from ..nn.positions import Rotary
from ..nn.scaling import Dynamic, Scaling
from .decoder import Decoder
from .limits import require_rotation, require_size, require_sizes


@dataclass(frozen=True)
class LlamaConfig:
    """The shape of a Llama. Nothing has a default that a checkpoint could mean otherwise.

    `d_head` need not be d_model / n_heads. `bias` is that of queries, keys and values, as in Qwen2;
    `qk_norm` is an RMSNorm over each query and key before they are turned, as in Qwen3.
    """

    vocab_size: int
    context: int
    n_layers: int
    n_heads: int
    n_kv_heads: int
    d_model: int
    d_head: int
    d_inner: int
    norm_eps: float
    rotary_base: float
    scaling: Scaling | None = None
    bias: bool = False
    output_bias: bool = False
    ffn_bias: bool = False
    qk_norm: bool = False
    tie_embeddings: bool = False
    dropout: float = 0.0

    def __post_init__(self) -> None:
        require_sizes(self)
        require_size("n_heads * d_head", self.n_heads * self.d_head)
        rotation = {"rotary_base": self.rotary_base, **(vars(self.scaling) if self.scaling else {})}
        for name, value in rotation.items():
            require_rotation(name, value)
        if not self.norm_eps > 0:
            raise ValueError(f"norm_eps must be above 0, not {self.norm_eps}")
        if self.n_heads % self.n_kv_heads:
            raise ValueError(f"n_kv_heads = {self.n_kv_heads} must divide n_heads = {self.n_heads}")
        if self.d_head % 2:
            raise ValueError(f"rotary positions need an even d_head, not {self.d_head}")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must lie in [0, 1), not {self.dropout}")


class Llama(Decoder):
    """The assembly of a Llama; what it does with its parts is `Decoder`."""

    config: LlamaConfig

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__(
            config,
            Rotary(
                config.d_head,
                config.rotary_base,
                scaling=config.scaling,
                limit=config.context if isinstance(config.scaling, Dynamic) else None,
            ),
            (_block(config) for _ in range(config.n_layers)),
            make_norm("rmsnorm", config.d_model, config.norm_eps),
        )


def _block(c: LlamaConfig) -> Block:
    qk_norm = (make_norm("rmsnorm", c.d_head, c.norm_eps), make_norm("rmsnorm", c.d_head, c.norm_eps))
    return Block(
        MultiHeadAttention(
            c.d_model,
            c.n_heads,
            n_kv_heads=c.n_kv_heads,
            d_head=c.d_head,
            bias=c.bias,
            output_bias=c.output_bias,
            qk_norm=qk_norm if c.qk_norm else None,
            dropout=c.dropout,
        ),
        FeedForward(c.d_model, c.d_inner, "swiglu", bias=c.ffn_bias),
        (make_norm("rmsnorm", c.d_model, c.norm_eps), make_norm("rmsnorm", c.d_model, c.norm_eps)),
        dropout=c.dropout,
    )
