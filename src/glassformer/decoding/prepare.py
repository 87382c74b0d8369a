"""A model made ready for writing: the same module, whose linear layers and blocks are quick for a few rows.

The copy shares everything with the model but the linear layers themselves, in float32 their weights too;
the model stays what it is. A pass over one token then takes about the time of reading the weights.

Shapes: n_in, n_out a layer's widths; x (..., n_in), y (..., n_out).
"""

import copy
from collections.abc import Callable
from typing import TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..errors import UserError
from ..models import LanguageModel
from .block import QuickBlock
from .kernel import kernel

SLICE = 1 << 22  # weights that are made float32 again at once: 16 MB
AnyModule = TypeVar("AnyModule", bound=nn.Module)


class QuickLinear(nn.Linear):
    """A float32 linear layer on the CPU."""

    FEW = 4
    """For more rows at once PyTorch's product is the faster."""

    @classmethod
    def of(cls, linear: nn.Linear) -> "QuickLinear":
        """The same layer with the same weights, not a copy of them."""
        quick = cls.__new__(cls)
        quick.__dict__.update(linear.__dict__)
        return quick

    def forward(self, input: Tensor) -> Tensor:
        y = _by_kernel(input, self.weight, None, self.bias, self.FEW)
        return F.linear(input, self.weight, self.bias) if y is None else y


class Int8Linear(nn.Module):
    """y = scale ⊙ (W x) + b with W in whole numbers from -127 to 127 and one scale for each output.

    Each weight is off by half a scale at most, so each output by scale/2 · Σ|x|. x stays float32. `weight`
    (n_out, n_in) int8, `scale` (n_out).
    """

    FEW = 16
    weight: Tensor
    scale: Tensor

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        full = linear.weight.detach()
        scale = full.abs().amax(1).clamp(min=torch.finfo(full.dtype).tiny) / 127
        self.register_buffer("weight", (full / scale[:, None]).round_().to(torch.int8))
        self.register_buffer("scale", scale)
        self.bias = linear.bias

    def forward(self, x: Tensor) -> Tensor:
        y = _by_kernel(x, self.weight, self.scale, self.bias, self.FEW)
        if y is not None:
            return y
        step = max(1, SLICE // self.weight.shape[1])
        parts = zip(torch.split(self.weight, step), torch.split(self.scale, step), strict=True)
        y = torch.cat([F.linear(x, weight * scale[:, None]) for weight, scale in parts], -1)
        return y if self.bias is None else y + self.bias


def _by_kernel(
    x: Tensor, weight: Tensor, scale: Tensor | None, bias: Tensor | None, few: int
) -> Tensor | None:
    """The layer's output, or None where that is not the kernel's work: many rows, gradients, other types."""
    n_out, n_in = weight.shape
    rows = x.numel() // n_in
    compiled = kernel()
    if compiled is None or rows > few or x.dtype is not torch.float32 or torch.is_grad_enabled():
        return None
    x = x.contiguous()
    y = x.new_empty((*x.shape[:-1], n_out))
    linear = compiled.float32 if scale is None else compiled.int8
    linear(
        weight.data_ptr(),
        None if scale is None else scale.data_ptr(),
        None if bias is None else bias.data_ptr(),
        x.data_ptr(),
        y.data_ptr(),
        n_out,
        n_in,
        rows,
    )
    return y


def prepared(model: LanguageModel) -> LanguageModel:
    """The model as writing wants it; itself where there is nothing to gain. Without gradients only."""
    if kernel() is None:
        return model
    return _with_linears(model, lambda linear: QuickLinear.of(linear) if _suits(linear) else linear)


def int8(model: LanguageModel) -> LanguageModel:
    """The model with weights of 8 bits in its linear layers, for inference on the CPU: a quarter of the
    memory to read for each token. Embeddings, norms and biases stay; the model itself is left alone.

    Raises UserError without a C compiler, and for a model that is not float32 on the CPU.
    """
    if kernel() is None:
        raise UserError("int8 weights need a C compiler (cc, or the one that CC names), and none works here")

    def smaller(linear: nn.Linear) -> nn.Module:
        if not _suits(linear):
            kind = f"{str(linear.weight.dtype).removeprefix('torch.')} on {linear.weight.device}"
            raise UserError(f"int8 weights are for models in float32 on the CPU, and this one is {kind}")
        return Int8Linear(linear)

    return _with_linears(model, smaller).eval()


def is_quick(model: LanguageModel, rows: int) -> bool:
    """Whether a pass over one token in each of so many rows leaves nothing to PyTorch's products."""
    return isinstance(model.head, QuickLinear | Int8Linear) and rows <= model.head.FEW


def _suits(linear: nn.Linear) -> bool:
    weight = linear.weight
    return weight.dtype is torch.float32 and weight.device.type == "cpu" and weight.is_contiguous()


def _with_linears(module: AnyModule, change: Callable[[nn.Linear], nn.Module]) -> AnyModule:
    """A copy of a module, each of its linear layers changed and each block quick; all else is shared."""
    copied = copy.copy(module)
    copied._modules = {
        name: None
        if child is None
        else change(child)
        if type(child) is nn.Linear
        else _with_linears(child, change)
        for name, child in module._modules.items()
    }
    return QuickBlock.of(copied) if QuickBlock.suits(copied) else copied  # type: ignore[arg-type, return-value]
