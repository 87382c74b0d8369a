"""Norms, the feed-forward network, and the blocks that join them to attention.

Shapes: b batch, n tokens, m tokens of a memory, D model width, f inner width.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Literal

import torch.nn.functional as F
from torch import Tensor, nn

from .attention import Backend, KeysValues, MultiHeadAttention
from .masks import Mask
from .state import LayerCache
from .tap import Tap, names_under

Norm = Literal["layernorm", "rmsnorm"]
Order = Literal["pre", "post"]
Activation = Literal["relu", "gelu", "gelu_tanh", "silu", "swiglu", "geglu"]


def make_norm(kind: Norm, d_model: int, eps: float, bias: bool = True) -> nn.Module:
    """LayerNorm (Ba et al. 2016) or RMSNorm (Zhang & Sennrich 2019), each over the last axis alone."""
    if kind == "rmsnorm":
        return nn.RMSNorm(d_model, eps=eps)
    return nn.LayerNorm(d_model, eps=eps, bias=bias)


def _gelu_tanh(x: Tensor) -> Tensor:
    return F.gelu(x, approximate="tanh")


# Exact and tanh GELU differ by up to 5e-4; checkpoints name which of the two they were trained with.
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": _gelu_tanh,
    "silu": F.silu,
    "swiglu": F.silu,
    "geglu": _gelu_tanh,
}
GATED = frozenset({"swiglu", "geglu"})


def activated(name: Activation) -> Callable[[Tensor], Tensor]:
    """The function that an activation's name stands for; of a gated one, that of its gate."""
    return ACTIVATIONS[name]


class FeedForward(nn.Module):
    """down(act(up(x))), the same for every position; SwiGLU: down(silu(gate(x)) * up(x)), GEGLU: the same
    with the tanh GELU (Shazeer 2020)."""

    TAP_NAMES = ("inner", "output")

    def __init__(
        self, d_model: int, d_inner: int, activation: Activation = "gelu", *, bias: bool = True
    ) -> None:
        super().__init__()
        self.activation = activated(activation)
        self.gate = nn.Linear(d_model, d_inner, bias=bias) if activation in GATED else None
        self.up = nn.Linear(d_model, d_inner, bias=bias)
        self.down = nn.Linear(d_inner, d_model, bias=bias)

    def forward(self, x_bnD: Tensor, tap: Tap | None = None) -> Tensor:
        if self.gate is None:
            inner_bnf = self.activation(self.up(x_bnD))
        else:
            inner_bnf = self.activation(self.gate(x_bnD)) * self.up(x_bnD)
        if tap is not None:
            inner_bnf = tap("inner", inner_bnf)
        out_bnD: Tensor = self.down(inner_bnf)
        return tap("output", out_bnD) if tap is not None else out_bnD


class Block(nn.Module):
    """Attention, then feed-forward, each with a residual and a norm; in a decoder that reads a memory,
    attention over it comes between.

    pre:  x + f(norm(x)), as used today; post: norm(x + f(x)), as in 2017.
    """

    _BEFORE = ("input", *names_under("attention", MultiHeadAttention.TAP_NAMES), "middle")
    _AFTER = (*names_under("ffn", FeedForward.TAP_NAMES), "output")
    TAP_NAMES = (*_BEFORE, *_AFTER)
    """input, middle, output: the residual stream before, between and after the two sub-layers."""
    READING_TAP_NAMES = (*_BEFORE, *names_under("cross", MultiHeadAttention.TAP_NAMES), "read", *_AFTER)
    """With a memory: read is the residual stream after it was read."""

    def __init__(
        self,
        attention: MultiHeadAttention,
        ffn: FeedForward,
        norms: tuple[nn.Module, nn.Module],
        *,
        cross: tuple[MultiHeadAttention, nn.Module] | None = None,
        order: Order = "pre",
        dropout: float = 0.0,
    ) -> None:
        """`cross`: the attention that reads a memory, and its norm."""
        super().__init__()
        self.order = order
        self.attention, self.ffn = attention, ffn
        self.attention_norm, self.ffn_norm = norms
        self.cross = cross[0] if cross is not None else None
        self.cross_norm = cross[1] if cross is not None else None
        self.drop = nn.Dropout(dropout)

    def forward(
        self,
        x_bnD: Tensor,
        memory: Tensor | KeysValues | None = None,
        *,
        mask: Mask = None,
        memory_mask: Mask = None,
        rotate: Callable[[Tensor], Tensor] | None = None,
        bias: Tensor | None = None,
        cache: LayerCache | None = None,
        backend: Backend = "auto",
        tap: Tap | None = None,
    ) -> Tensor:
        """`memory` (b, m, D) is read by `cross`, where `memory_mask` says that it may be; `mask`, `rotate`,
        `bias` and `cache` are those of the attention within x."""
        if tap is not None:
            x_bnD = tap("input", x_bnD)
        x_bnD = self._residual(
            x_bnD,
            self.attention_norm,
            lambda x: self.attention(
                x,
                mask=mask,
                rotate=rotate,
                bias=bias,
                cache=cache,
                backend=backend,
                tap=tap.at("attention") if tap is not None else None,
            ),
        )
        if tap is not None:
            x_bnD = tap("middle", x_bnD)
        if self.cross is not None and self.cross_norm is not None:
            inner = tap.at("cross") if tap is not None else None
            cross = partial(self.cross, memory=memory, mask=memory_mask, backend=backend, tap=inner)
            x_bnD = self._residual(x_bnD, self.cross_norm, cross)
            x_bnD = tap("read", x_bnD) if tap is not None else x_bnD
        x_bnD = self._residual(
            x_bnD, self.ffn_norm, lambda x: self.ffn(x, tap.at("ffn") if tap is not None else None)
        )
        return tap("output", x_bnD) if tap is not None else x_bnD

    def _residual(self, x: Tensor, norm: nn.Module, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        if self.order == "pre":
            x = x + self.drop(sublayer(norm(x)))
        else:
            x = norm(x + self.drop(sublayer(x)))
        return x


def initialise(model: nn.Module, n_layers: int, std: float | None = 0.02) -> None:
    """The one place where weights get their first values.

    Matrices and embeddings: normal with the given std (0.02 as in GPT-2). The matrices of each block that
    write into the residual stream (attention.output, cross.output, ffn.down): std / √(2 n_layers), so that
    the stream's variance does not grow with depth (Radford et al. 2019, section 2.3). Biases 0, norms 1.

    With std None, as in 2017: embeddings 1/√D, and each matrix √(2 / (rows + columns)), those that write too
    (Glorot & Bengio 2010).
    """
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=std or math.sqrt(2 / sum(module.weight.shape)))
        if isinstance(module, nn.Linear | nn.LayerNorm) and module.bias is not None:
            nn.init.zeros_(module.bias)
        if isinstance(module, nn.LayerNorm | nn.RMSNorm):
            nn.init.ones_(module.weight)
    for module in model.modules():
        if isinstance(module, nn.Embedding):  # after the heads, with which they may be shared
            nn.init.normal_(module.weight, std=std or module.weight.shape[1] ** -0.5)
        if isinstance(module, Block) and std is not None:
            read = [module.cross.output] if module.cross is not None else []
            for writer in (module.attention.output, *read, module.ffn.down):
                nn.init.normal_(writer.weight, std=std / math.sqrt(2 * n_layers))
