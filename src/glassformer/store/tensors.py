"""safetensors files: whole and synced when written, checked before anything is made of them when read."""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from ..config import parse_object
from ..errors import UserError

_HEADER_LIMIT = 16 << 20  # bytes; a hundred name a tensor


def write(path: Path, tensors: Mapping[str, Tensor], metadata: dict[str, str] | None = None) -> None:
    """Write tensors (made contiguous: the format stores no strides) and wait until the disk has them.

    Raises OSError where the disk is full or fails.
    """
    path.touch()
    mode = path.stat().st_mode  # the library makes files that only their owner can read
    try:
        save_file({name: tensor.detach().contiguous() for name, tensor in tensors.items()}, path, metadata)
    except SafetensorError as error:
        raise _as_os_error(error, path) from None
    path.chmod(mode)
    sync(path)


def _as_os_error(error: SafetensorError, path: Path) -> Exception:
    """The library tells a full disk only in its text: "… (os error 28)"."""
    number = re.search(r"\(os error (\d+)\)", str(error))
    return OSError(int(number[1]), os.strerror(int(number[1])), str(path)) if number else error


def read(path: Path) -> dict[str, Tensor]:
    """All tensors of a file, on the CPU. Raises UserError if it is missing, cut short or damaged."""
    _check(path)
    try:
        tensors: dict[str, Tensor] = load_file(path)
    except SafetensorError as error:
        raise UserError(f"{path} is damaged: {error}") from None
    return tensors


def sync(path: Path) -> None:
    """Wait until a file or folder is on the disk."""
    if os.name == "nt" and path.is_dir():
        return  # Windows cannot open a folder, and keeps its entries by itself
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def model_tensors(model: nn.Module) -> dict[str, Tensor]:
    """Every parameter and buffer once: a tied weight has one name, the first."""
    return {**dict(model.named_parameters()), **dict(model.named_buffers())}


class _NothingDrawn(TorchFunctionMode):
    """On the meta device a normal draw changes nothing, but the first costs seconds of imports."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func is nn.init.normal_:
            return kwargs["tensor"] if "tensor" in kwargs else args[0]
        return func(*args, **kwargs)


@contextmanager
def shapes_only() -> Iterator[None]:
    """Models made in here have shapes but no values, and take no time and no memory; see `fill`."""
    with torch.device("meta"), _NothingDrawn():
        yield


def fill(model: nn.Module, tensors: Mapping[str, Tensor], source: Path) -> None:
    """Give a model its values, tied weights staying tied; it may have been made with `shapes_only`. Each
    tensor is copied into memory of the model's own, in the model's dtype.

    Raises UserError, with the model unchanged, for a tensor that is missing, left over, misshapen or of whole
    numbers.
    """
    wanted = model_tensors(model)
    for name in wanted:
        if name not in tensors:
            raise UserError(f"{source} lacks {name}")
        if wanted[name].shape != tensors[name].shape:
            raise UserError(
                f"{source}: {name} has shape {tuple(tensors[name].shape)}, "
                f"the model needs {tuple(wanted[name].shape)}"
            )
        if not tensors[name].is_floating_point():
            raise UserError(f"{source}: {name} is stored as {tensors[name].dtype}, which is no weight")
    for name in tensors:
        if name not in wanted:
            raise UserError(f"{source}: the model has no place for {name}")
    filled = {id(old): _like(old, tensors[name]) for name, old in wanted.items()}
    every = (*model.named_parameters(remove_duplicate=False), *model.named_buffers(remove_duplicate=False))
    # The same parameter under both of a tied weight's names: assigned as two tensors they would come apart.
    model.load_state_dict({name: filled[id(old)] for name, old in every}, assign=True)


def _like(old: Tensor, value: Tensor) -> Tensor:
    device = value.device if old.is_meta else old.device
    copy = value.detach().to(device, old.dtype, copy=True, memory_format=torch.contiguous_format)
    return nn.Parameter(copy, old.requires_grad) if isinstance(old, nn.Parameter) else copy


def _check(path: Path) -> None:
    """The format: 8 bytes of header length, a JSON header, then the data that the header describes."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if size < 8 or not 2 <= length <= min(_HEADER_LIMIT, size - 8):
                raise UserError(f"{path} is no whole safetensors file: {size} bytes, cut short or damaged")
            header = parse_object(file.read(length).decode(), path)
        ends = [entry["data_offsets"][1] for key, entry in header.items() if key != "__metadata__"]
        expected = 8 + length + max(ends, default=0)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, IndexError):
        raise UserError(f"{path} is no safetensors file: its header is damaged") from None
    if size != expected:
        raise UserError(f"{path} is damaged: {size} bytes where its header says {expected}")
