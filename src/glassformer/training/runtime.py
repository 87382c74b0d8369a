"""Where and how precisely to compute: chosen once, here, at the edge."""

import contextlib
import ctypes
import shutil
from contextlib import AbstractContextManager
from dataclasses import dataclass

import torch

from ..device import choose_device
from ..errors import UserError
from .settings import TrainConfig

BF16_WIDTH = 256
"""Of a model, from which on a CPU that computes bf16 trains faster with it; a narrower one spends as much on
the conversions as the products gain."""

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of glibc's mallopt


@dataclass(frozen=True)
class Runtime:
    """A device, whether products are taken in bf16 there, and whether the model is compiled."""

    device: torch.device
    bf16: bool
    compiled: bool

    def autocast(self) -> AbstractContextManager[object]:
        if not self.bf16:
            return contextlib.nullcontext()
        return torch.autocast(self.device.type, torch.bfloat16)

    def __str__(self) -> str:
        return f"{self.device}, {'bf16' if self.bf16 else 'fp32'}{', compiled' if self.compiled else ''}"


def choose(config: TrainConfig, width: int = 0) -> Runtime:
    """The runtime that a config asks for; see `TrainConfig` for what "auto" means and why. `width` is that of
    a Transformer, and 0 for what has no use for bf16 on a CPU."""
    device = choose_device(config.device)
    on_gpu = device.type == "cuda"
    computed = torch.cuda.is_bf16_supported(including_emulation=False) if on_gpu else _pays_on_cpu(width)
    bf16 = config.precision == "bf16" or (config.precision == "auto" and computed)
    compiled = config.compile == "on" or (config.compile == "auto" and on_gpu)
    if config.compile == "on" and not on_gpu and not any(map(shutil.which, ("c++", "g++", "clang++", "cl"))):
        raise UserError("compile=on needs a C++ compiler (g++ or clang++) for the CPU, and none is installed")
    return Runtime(device, bf16, compiled)


def _pays_on_cpu(width: int) -> bool:
    """Whether products of a model that wide are faster in bf16 here."""
    able = torch.cpu.get_capabilities()
    return width >= BF16_WIDTH and bool(able.get("avx512_bf16") or able.get("amx_bf16"))


def keep_memory() -> None:
    """Let the C library keep freed memory for the next step. Returning it to the system costs a page fault
    for every 4 KB of every large tensor: a tenth of the time of a small model's step."""
    with contextlib.suppress(OSError, AttributeError):  # not glibc
        mallopt = ctypes.CDLL(None).mallopt
        for parameter in (_MMAP_THRESHOLD, _TRIM_THRESHOLD):
            mallopt(parameter, 1 << 30)
