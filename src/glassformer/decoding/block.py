"""A Transformer's block for one new token in each of a few rows, in one call of the compiled kernel.

Shapes: b rows, m tokens so far with the new one, D model width, h heads, g key/value heads, d width of a
head.
"""

import ctypes
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from ..nn.attention import Backend, KeysValues, MultiHeadAttention
from ..nn.blocks import ACTIVATIONS, Block, FeedForward
from ..nn.masks import Mask
from ..nn.positions import Turn
from ..nn.state import LayerCache
from ..nn.tap import Tap
from .kernel import BlockStruct, LinearStruct, NormStruct, PlaceStruct, kernel

NORMS = (nn.LayerNorm, nn.RMSNorm)


class QuickBlock(Block):
    """A block whose linear layers are quick or int8, in float32 on the CPU. What its kernel has not, many
    rows or tokens, a tap, gradients, goes the block's own way."""

    _struct: BlockStruct | None = None

    @classmethod
    def of(cls, block: Block) -> "QuickBlock":
        """The same block with the same parts, not a copy of them."""
        quick = cls.__new__(cls)
        quick.__dict__.update(block.__dict__)
        return quick

    def __getstate__(self) -> dict[str, Any]:
        """A copy finds its own addresses."""
        return {name: value for name, value in self.__dict__.items() if name != "_struct"}

    @staticmethod
    def suits(module: nn.Module) -> bool:
        """Whether the kernel knows all parts of this module."""
        if type(module) is not Block or type(module.attention) is not MultiHeadAttention or module.cross:
            return False
        norms = (module.attention_norm, module.ffn_norm, *_head_norms(module.attention))
        return (
            type(module.ffn) is FeedForward
            and all(type(norm) in NORMS for norm in norms if norm is not None)
            and all(hasattr(linear, "FEW") for linear in _linears(module).values() if linear is not None)
        )

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
        b, n, _ = x_bnD.shape
        few: Any = self.attention.query
        if (
            n != 1
            or b > few.FEW
            or cache is None
            or backend != "auto"
            or tap is not None
            or torch.is_grad_enabled()
            or x_bnD.dtype is not torch.float32
            or (isinstance(mask, Tensor) and mask.numel() not in (mask.shape[-1], b * mask.shape[-1]))
            or not (rotate is None or (isinstance(rotate, Turn) and rotate.cos.dtype is torch.float32))
        ):
            own: Any = {"mask": mask, "rotate": rotate, "bias": bias, "cache": cache}
            return super().forward(x_bnD, memory, memory_mask=memory_mask, backend=backend, tap=tap, **own)
        place, kept = _place(cache, rotate, mask if isinstance(mask, Tensor) else None, bias)
        x_bnD = x_bnD.clone(memory_format=torch.contiguous_format)
        struct = self._struct
        if struct is None:
            struct = self._struct = _struct(self)
        inside = max(struct.query.n_out + struct.key.n_out, struct.up.n_out)
        room = x_bnD.new_empty(2 * b * (struct.query.n_in + inside) + place.m)
        compiled = kernel()
        assert compiled is not None
        compiled.block(ctypes.byref(struct), ctypes.byref(place), x_bnD.data_ptr(), b, room.data_ptr())
        del kept  # until here the kernel reads it
        return x_bnD


def _head_norms(attention: MultiHeadAttention) -> tuple[nn.Module | None, nn.Module | None]:
    return attention.query_norm, attention.key_norm


def _linears(block: Block) -> dict[str, nn.Module | None]:
    attention, ffn = block.attention, block.ffn
    parts = attention.query, attention.key, attention.value, attention.output, ffn.gate, ffn.up, ffn.down
    return dict(zip(BlockStruct.LINEARS, parts, strict=True))


def _struct(block: Block) -> BlockStruct:
    attention = block.attention
    norms = (block.attention_norm, block.ffn_norm, *_head_norms(attention))
    struct = BlockStruct(
        n_heads=attention.n_heads,
        n_kv_heads=attention.n_kv_heads,
        d_head=attention.d_head,
        activation=list(ACTIVATIONS.values()).index(block.ffn.activation),
        post=block.order == "post",
        scale=attention.d_head**-0.5 if attention.scale is None else attention.scale,
    )
    for name, linear in _linears(block).items():
        if linear is not None:
            setattr(struct, name, _linear_struct(linear))
    for name, norm in zip(BlockStruct.NORMS, norms, strict=True):
        if norm is not None:
            setattr(struct, name, _norm_struct(norm))
    return struct


def _linear_struct(linear: Any) -> LinearStruct:
    n_out, n_in = linear.weight.shape
    scale = getattr(linear, "scale", None)
    return LinearStruct(linear.weight.data_ptr(), _address(scale), _address(linear.bias), n_out, n_in)


def _norm_struct(norm: Any) -> NormStruct:
    eps = torch.finfo(torch.float32).eps if norm.eps is None else norm.eps
    centred = isinstance(norm, nn.LayerNorm)
    bias = norm.bias if centred else None
    return NormStruct(_address(norm.weight), _address(bias), norm.normalized_shape[-1], centred, eps)


def _place(
    cache: LayerCache, turn: Turn | None, visible: Tensor | None, bias: Tensor | None
) -> tuple[PlaceStruct, list[Tensor]]:
    """Where the new token stands, and what must live as long as that is read."""
    k_bgmd = cache.k
    m, d = k_bgmd.shape[2:]
    place = PlaceStruct(
        k=k_bgmd.data_ptr(),
        v=cache.v.data_ptr(),
        row_apart=k_bgmd.stride(0),
        head_apart=k_bgmd.stride(1),
        m=m,
    )
    kept = []
    if turn is not None:
        cos, sin = turn.cos.contiguous(), turn.sin.contiguous()
        place.cos, place.sin, place.interleaved = cos.data_ptr(), sin.data_ptr(), turn.style == "interleaved"
        place.angles_apart = d // 2 if cos.numel() > d // 2 else 0
        kept += [cos, sin]
    if visible is not None:  # (b or 1, 1, 1, m)
        visible = visible.contiguous()
        place.visible, place.visible_apart = visible.data_ptr(), m if visible.numel() > m else 0
        kept.append(visible)
    if bias is not None:  # (h, 1, m) or (b, h, 1, m)
        bias = bias.float().contiguous()
        place.bias, place.bias_apart = bias.data_ptr(), bias.shape[-3] * m if bias.dim() == 4 else 0
        kept.append(bias)
    return place, kept


def _address(tensor: Tensor | None) -> int | None:
    return None if tensor is None else tensor.data_ptr()
