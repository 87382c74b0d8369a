"""The tensors of a folder: one safetensors file, or several with an index. Never a pickle."""

import json
from collections.abc import Iterator
from pathlib import Path

from torch import Tensor

from ..errors import UserError
from ..store import tensors

FILE, INDEX = "model.safetensors", "model.safetensors.index.json"
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
    shards: dict[str, list[str]] = {}
    try:
        index = json.loads((folder / INDEX).read_text(encoding="utf-8"))["weight_map"]
        for name, file in index.items():
            shards.setdefault(file, []).append(name)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise UserError(f"{folder / INDEX} is damaged: it has no weight_map from names to files") from None
    for file, names in shards.items():
        if not isinstance(file, str) or Path(file).name != file:
            raise UserError(f"{folder / INDEX} names {file!r}, which is no file of the folder itself")
        yield folder / file, names


def _no_weights(folder: Path) -> str:
    pickles = sorted(path.name for pattern in _PICKLES for path in folder.glob(pattern))
    if not pickles:
        return f"{folder} holds no {FILE}"
    return (
        f"{folder} holds its weights as {pickles[0]}, a pickle, which may run code when it is opened: "
        "save it as safetensors, with model.save_pretrained(folder) where it came from"
    )
