"""A run is a folder.

    runs/poems/
      step-2000/   model.safetensors, config.json, tokenizer.json, training.safetensors
      last, best   one line each: the name of a step folder
      data/        the encoded text
      log.jsonl, loss.png

A step folder is written under another name, synced, and renamed: under its own name it is whole. `last` and
`best` are replaced in one move, and only then are folders deleted that neither names. So a kill or a full
disk at any moment leaves the previous checkpoint as it was. Nothing is ever pickled.
"""

import json
import os
import platform
import re
import reprlib
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from .. import __version__, config
from ..data import tokenizers
from ..data.tokenizers import Tokenizer
from ..device import choose_device
from ..errors import UserError
from ..models import FAMILIES, Bert, LanguageModel, Model, Translator, Word2Vec
from . import tensors

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

LOCK = ".lock"
CONFIG, MODEL, TRAINING = "config.json", "model.safetensors", "training.safetensors"
_TRAINED = ("train", "data", "progress")  # what a checkpoint that was trained says beside its model
_POINTER = re.compile(r"step-[0-9]{1,18}")


@dataclass(frozen=True)
class Checkpoint:
    """One step folder, opened. `settings` is its config.json."""

    folder: Path
    step: int
    settings: dict[str, Any]

    @property
    def family(self) -> str:
        family = self.settings.get("family")
        if not isinstance(family, str) or family not in FAMILIES:
            raise UserError(
                f"{self.folder / CONFIG}: unknown family {reprlib.repr(family)}; known: {', '.join(FAMILIES)}"
            )
        return family

    @property
    def shape(self) -> Any:
        """The model's shape, as its family's config."""
        return config.from_dict(FAMILIES[self.family][0], self.settings["model"])

    def model(self, changed: Any = None) -> Model:
        """The model with its weights, in evaluation mode, on the CPU; with a config of the same shape
        in place of its own, if given. Of which class it is, the folder decides."""
        self.require_text_model()
        model: Model = self.any_model(changed)
        return model

    def any_model(self, changed: Any = None) -> Any:
        """The model of whatever family, as `model` gives those that read a text."""
        model = self._empty(changed)
        tensors.fill(model, tensors.read(self.folder / MODEL), self.folder / MODEL)
        return model.eval()

    def word_vectors(self) -> Word2Vec:
        """The two tables of a run of word vectors. Raises UserError for any other run."""
        if self.family != "word2vec":
            raise UserError(f"{self.folder} holds no word vectors; train --model word2vec makes some")
        model: Word2Vec = self.any_model()
        return model

    def translator(self, changed: Any = None) -> Translator:
        """The encoder-decoder of a run of pairs, as `model` gives others. Raises UserError for any other
        run."""
        self.require_translator()
        model: Translator = self.any_model(changed)
        return model

    def require_translator(self) -> None:
        """Raise UserError for what does not read one text to write another."""
        if not self.translates:
            raise UserError(
                f"{self.folder} translates nothing; train --model transformer, or seq2seq, makes what does"
            )

    def encoder(self) -> Bert:
        """The model, if it is an encoder; UserError for what writes."""
        self.require_text_model()
        if self.predicts:
            raise UserError(
                f"{self.folder} is no encoder; train --model bert makes one, and BERT's folders are some"
            )
        model = self.model()
        assert isinstance(model, Bert)
        return model

    def require_text_model(self) -> None:
        """Raise UserError for word vectors, which read no text, and for what translates one into another."""
        if self.translates:
            raise UserError(f"{self.folder} holds an encoder-decoder; glassformer translate runs it")
        if self.family == "word2vec":
            raise UserError(f"{self.folder} holds word vectors; neighbours, analogy, map and eval read them")

    def language_model(self, changed: Any = None) -> LanguageModel:
        """The model, if it is one that predicts the next token; UserError for an encoder."""
        self.require_language_model()
        model = self.model(changed)
        assert isinstance(model, LanguageModel)
        return model

    @property
    def predicts(self) -> bool:
        """Whether the model has a next token to tell."""
        return issubclass(FAMILIES[self.family][1], LanguageModel)

    @property
    def translates(self) -> bool:
        """Whether the model reads one text to write another."""
        return issubclass(FAMILIES[self.family][1], Translator)

    def reader(self) -> Any:
        """The model, if it reads texts, to translate them or not; UserError for word vectors."""
        if not self.translates:
            self.require_text_model()
        return self.any_model()

    def measurable(self) -> Any:
        """The model, if it is one whose tokens can be rated: those of a text, or of a target; UserError for
        an encoder and for word vectors."""
        if not self.translates:
            self.require_language_model()
        return self.any_model()

    def require_language_model(self) -> None:
        self.require_text_model()
        if not self.predicts:
            raise UserError(f"{self.folder} is an encoder: it reads a text, but has no next token to write")

    def _empty(self, changed: Any = None) -> Any:
        """The model without values: first ones would be drawn for nothing, which takes seconds."""
        shape = changed or self.shape
        with tensors.shapes_only():
            return FAMILIES[self.family][1](shape)

    def tokenizer(self) -> Tokenizer:
        """The tokenizer. Raises UserError for one that is not this model's."""
        tokenizer = tokenizers.load(self.folder)
        n_ids = self.shape.vocab_size
        # A published model may have more ids than its tokenizer, one trained here has as many.
        if tokenizer.vocab_size > n_ids or (tokenizer.kind != "library" and tokenizer.vocab_size != n_ids):
            raise UserError(
                f"{self.folder}: the tokenizer has {tokenizer.vocab_size} ids, the model {n_ids}; "
                "they do not belong together"
            )
        return tokenizer

    def load(self, device: str = "auto") -> tuple[Any, Tokenizer]:
        """The model on a device, and its tokenizer."""
        return self.reader().to(choose_device(device)), self.tokenizer()

    def training_tensors(self) -> dict[str, Tensor]:
        return tensors.read(self.folder / TRAINING)


class Run:
    """A run folder. Making the object touches nothing on disk."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._held = False

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from training in this folder; a killed one lets go by itself. Raises UserError
        where another has it. Holding it twice through the same object is fine."""
        if self._held or fcntl is None:
            yield
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / LOCK).open("wb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UserError(f"{self.folder}: another training is using this folder") from None
            self._held = True
            try:
                yield
            finally:
                self._held = False

    def exists(self) -> bool:
        return (self.folder / "last").is_file()

    def steps(self) -> list[int]:
        """The steps whose checkpoints are there, in order."""
        names = (path.name.removeprefix("step-") for path in self.folder.glob("step-*") if path.is_dir())
        return sorted(int(name) for name in names if name.isdecimal())

    def checkpoint(self, which: str = "best") -> Checkpoint:
        """Open "last", "best" or a step number. "best" is the last where nothing was validated.

        Raises UserError where the folder is no run or has no such checkpoint.
        """
        if not self.folder.is_dir():
            raise UserError(f"{self.folder}: no such run folder")
        if not self.exists():
            raise UserError(f"{self.folder} is no run folder: it has no checkpoint")
        name = self._named(which)
        path = self.folder / name / CONFIG
        if not os.path.isfile(path):  # noqa: PTH113 (for names that no system takes, too)
            steps = ", ".join(map(str, self.steps())) or "none"
            raise UserError(
                f"{self.folder} has no checkpoint {which}; there are last, best, and the steps {steps}"
            )
        settings = config.read_object(path)
        step = settings.get("step")
        if type(step) is not int or not 0 <= step < 10**18:
            raise UserError(f"{path} is damaged: it does not say its step")
        for part in ("model", *(_TRAINED if "train" in settings else ())):
            if not isinstance(settings.get(part), dict):
                raise UserError(f"{path} is damaged: {part!r} is missing in it, or no object")
        return Checkpoint(path.parent, step, settings)

    def save(
        self,
        step: int,
        model: nn.Module,
        tokenizer: Tokenizer,
        settings: Mapping[str, Any],
        training: Mapping[str, Tensor],
        *,
        best: bool,
    ) -> Path:
        """Write a checkpoint, make it `last` (and `best` if so), and delete what neither names."""
        target = self.folder / f"step-{step}"
        partial = self.folder / f"step-{step}.partial"
        shutil.rmtree(partial, ignore_errors=True)
        versions = {"torch": torch.__version__, "python": platform.python_version()}
        header = {"glassformer": __version__, "versions": versions, "step": step}
        described = json.dumps({**header, **settings}, indent=1, allow_nan=False)
        if target.exists():  # the same step of the same run has the same weights, but may have a new goal
            replace_text(target / CONFIG, described)
        else:
            try:
                partial.mkdir(parents=True)
                tensors.write(partial / MODEL, tensors.model_tensors(model))
                tensors.write(partial / TRAINING, training)
                tokenizer.save(partial)
                write_text(partial / CONFIG, described)
                tensors.sync(partial / tokenizers.FILE)
                tensors.sync(partial)
                partial.rename(target)
                tensors.sync(self.folder)
            finally:
                shutil.rmtree(partial, ignore_errors=True)
        replace_text(self.folder / "last", target.name)
        if best or not (self.folder / "best").is_file():
            replace_text(self.folder / "best", target.name)
        self.tidy()
        return target

    def tidy(self) -> None:
        """Delete the step folders that neither `last` nor `best` names, half-written ones among them."""
        kept = {self._named("last"), self._named("best")} if self.exists() else set()
        for path in self.folder.glob("step-*"):
            if path.name not in kept:
                shutil.rmtree(path, ignore_errors=True)

    def _named(self, which: str) -> str:
        if which not in ("last", "best"):
            return f"step-{which.removeprefix('step-')}"
        pointer = self.folder / which
        pointer = pointer if pointer.is_file() else self.folder / "last"
        with pointer.open("rb") as file:
            name = file.read(100).decode("ascii", "replace").strip()
        if not _POINTER.fullmatch(name):
            steps = ", ".join(map(str, self.steps())) or "none"
            raise UserError(f"{pointer} is damaged: it should say step-N; there are the steps {steps}")
        return name


def write_text(path: Path, text: str) -> None:
    """Write a small file and wait until the disk has it."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(file.fileno())


def replace_text(path: Path, text: str) -> None:
    """Give a file new content in one move: a reader sees the old text or the new one."""
    partial = path.with_name(path.name + ".partial")
    try:
        write_text(partial, text)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    tensors.sync(path.parent)
