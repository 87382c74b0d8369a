"""The models that the lab can open: those of one folder, listed, loaded when asked for, kept while used."""

import os
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..data.tokenizers import Tokenizer
from ..errors import UserError
from ..hub.folder import CONFIG, open_folder
from ..store.run import Run
from ..store.vectors import space_of

KEPT = 3  # models in memory, at most
_ATTEMPTS = 3

Stamp = tuple[str, int, int]
"""A checkpoint: its folder, and which file its config.json is."""


class NoRun(UserError):
    """There is no run of that name."""


@dataclass(frozen=True)
class Listed:
    """A folder in the list. A recurrent model has no `heads`, word vectors have no
    `layers` and no `context`. `damaged` says why it cannot be opened, if that
    shows already."""

    name: str
    family: str = ""
    layers: int = 0
    heads: int = 0
    context: int = 0
    step: int = 0
    damaged: str = ""


@dataclass(eq=False)
class Opened:
    """A model in memory: a `models.Model`, a `Translator`, or a `WordSpace` of word vectors. Who computes
    with it holds `lock`; `kept` is what one request leaves the next."""

    name: str
    stamp: Stamp
    step: int
    model: Any
    tokenizer: Tokenizer
    lock: threading.Lock = field(default_factory=threading.Lock)
    kept: dict[str, Any] = field(default_factory=dict)


def listed(folder: Path) -> list[Listed]:
    """What can be opened in a folder, by name; nothing where there is no such folder."""
    try:
        found = sorted(path for path in folder.iterdir() if _is_model(path))
    except OSError:
        return []
    return [_described(path) for path in found]


def _is_model(path: Path) -> bool:
    try:
        path.name.encode()  # a name that is not UTF-8 has no address
        return (
            not path.name.startswith(".")
            and "\\" not in path.name
            and (Run(path).exists() or (path / CONFIG).is_file())
        )
    except (OSError, UnicodeError):
        return False


def _described(path: Path) -> Listed:
    if not Run(path).exists():
        return Listed(path.name)  # published: to tell its shape, its weights would have to be read
    try:
        opened = Run(path).checkpoint()
        shape = opened.shape
    except (UserError, OSError, ValueError) as error:
        return Listed(path.name, damaged=str(error))
    layers, heads, context = (getattr(shape, name, 0) for name in ("n_layers", "n_heads", "context"))
    return Listed(path.name, opened.family, layers, heads, context, opened.step)


class Models:
    """The models of a folder, the last used ones in memory. May be used from several threads."""

    def __init__(self, folder: Path, device: str = "auto", room: int = KEPT) -> None:
        self.folder, self.device, self.room = folder, device, room
        self._held: OrderedDict[str, Opened] = OrderedDict()
        self._lock = threading.Lock()

    @contextmanager
    def opened(self, name: str) -> Iterator[Opened]:
        """A run's best checkpoint as it is on disk now, for one computation at a time.

        Raises NoRun for a name that is no run's, and UserError for a run that is damaged.
        """
        path = self._path(name)
        with self._lock:  # one model is loaded at a time: that takes memory twice
            try:
                opened = self._current(name, path)
            except OSError as error:
                raise UserError(f"{name} cannot be read: {error.strerror or error}") from None
        with opened.lock:
            yield opened

    def _path(self, name: str) -> Path:
        """The run's folder. A name is one component of a path; links may lead anywhere."""
        if name in ("", ".", "..") or any(c in name for c in ("/", "\\", "\0", os.sep)):
            raise NoRun(f"{name!a} is no name of a run")
        path = self.folder / name
        try:
            there = path.is_dir()
        except OSError:  # a name that no system takes
            there = False
        if not there:
            with self._lock:
                self._held.pop(name, None)
            raise NoRun(f"{path}: no such run folder")
        return path

    def _current(self, name: str, path: Path) -> Opened:
        """The model in memory if it still is the best checkpoint, else that one, loaded."""
        for attempt in range(_ATTEMPTS):
            stamp = _stamp(path)
            held = self._held.pop(name, None)
            if held is None or held.stamp != stamp:
                try:
                    held = self._load(name, path, stamp)
                except (UserError, OSError):
                    # A training may have put a newer checkpoint in the place of the one that was being read.
                    if attempt + 1 < _ATTEMPTS and _stamp(path) != stamp:
                        continue
                    raise
            self._held[name] = held
            while len(self._held) > self.room:
                self._held.popitem(last=False)
            return held
        raise UserError(f"{name} changes faster than it can be read; try again")

    def _load(self, name: str, path: Path, stamp: Stamp) -> Opened:
        checkpoint = open_folder(path)
        if checkpoint.family == "word2vec":
            return Opened(name, stamp, checkpoint.step, space_of(checkpoint, name), checkpoint.tokenizer())
        model, tokenizer = checkpoint.load(self.device)
        return Opened(name, stamp, checkpoint.step, model, tokenizer)


def _stamp(path: Path) -> Stamp:
    folder = Run(path).checkpoint().folder if Run(path).exists() else path
    try:
        status = (folder / CONFIG).stat()
    except FileNotFoundError:
        raise UserError(f"{path} is no run folder: it has no checkpoint") from None
    return str(folder), status.st_ino, status.st_mtime_ns
