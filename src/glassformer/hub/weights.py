"""The tensors of a folder: one safetensors file, or several with an index. Never a pickle."""

import re
import reprlib
from collections.abc import Iterator
from pathlib import Path

from torch import Tensor

from ..config import read_object
from ..errors import UserError
from ..store import tensors

FILE, INDEX = "model.safetensors", "model.safetensors.index.json"
_INDEX_LIMIT = 16 << 20  # bytes
_SHARD = re.compile(r"[\w.-]{1,200}\.safetensors")
_PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.bin.index.json")


def read(folder: Path) -> dict[str, Tensor]:
    """Every tensor, by its name in the files. Raises UserError for a file that is missing or damaged, and
    for pickles."""
    found: dict[str, Tensor] = {}
    for path, names in _files(folder):
        for name, tensor in tensors.read(path).items():
            if name in found:
                raise UserError(f"{path}: {name} is also in another of the folder's files")
            found[name] = tensor
        for name in names:
            if name not in found:
                raise UserError(f"{path} lacks {name}, which {INDEX} promises")
    return found


def _files(folder: Path) -> Iterator[tuple[Path, list[str]]]:
    """Each file, and the names that it must hold."""
    if (folder / FILE).is_file():
        yield folder / FILE, []
        return
    if not (folder / INDEX).is_file():
        raise UserError(_no_weights(folder))
    index = read_object(folder / INDEX, _INDEX_LIMIT).get("weight_map")
    if not isinstance(index, dict):
        raise UserError(f"{folder / INDEX} is damaged: it has no weight_map from names to files")
    shards: dict[str, list[str]] = {}
    for name, file in index.items():
        if not isinstance(file, str) or not _SHARD.fullmatch(file):
            named = f"{folder / INDEX} names {reprlib.repr(file)}"
            raise UserError(f"{named}, which is no safetensors file of the folder itself")
        shards.setdefault(file, []).append(name)
    for file, names in shards.items():
        yield folder / file, names


def _no_weights(folder: Path) -> str:
    pickles = sorted(path.name for pattern in _PICKLES for path in folder.glob(pattern))
    if not pickles:
        return f"{folder} holds no {FILE}"
    return (
        f"{folder} holds its weights as {pickles[0]}, a pickle, which may run code when it is opened: "
        "save it as safetensors, with model.save_pretrained(folder) where it came from"
    )
