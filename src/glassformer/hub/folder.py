"""Opening a folder, whether a run of ours or a model that others published."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from .. import config
from ..data.library import LibraryTokenizer
from ..data.tokenizers import Tokenizer
from ..device import choose_device
from ..errors import UserError
from ..models import LanguageModel
from ..store import tensors
from ..store.run import Checkpoint, Run
from . import bert, gpt2, llama, marian, roles, t5, weights
from .family import Family
from .settings import Settings

CONFIG = "config.json"
FAMILIES = (gpt2.FAMILY, llama.FAMILY, bert.FAMILY, t5.FAMILY, marian.FAMILY)


def open_folder(folder: str | Path, checkpoint: str = "best") -> Checkpoint:
    """A checkpoint of a run, or a published model as one.

    Raises UserError where the folder is neither, and for a published model of another family, with settings
    that are not supported, or without safetensors; a damaged weight is found when the model is made.
    """
    path = Path(folder)
    if Run(path).exists() or not (path / CONFIG).is_file():
        return _run_or_pickle(path).checkpoint(checkpoint)
    if checkpoint not in ("best", "last"):
        raise UserError(f"{path} has no checkpoint {checkpoint}: a published model has one set of weights")
    settings = Settings.read(path / CONFIG)
    family = _family(settings)
    settings.require("quantization_config", None)
    given = weights.read(path)
    try:
        shape = family.read(settings, given)
    except (ValueError, ArithmeticError) as error:
        raise UserError(f"{settings.path}: {error}") from None
    ours = {"family": family.model, "model": config.to_dict(shape)}
    return Published(path, 0, ours, family, settings, given)


def load(folder: str | Path, checkpoint: str = "best", device: str = "auto") -> tuple[Any, Tokenizer]:
    """The model of a folder, in evaluation mode, and its tokenizer.

    The folder is a run, or a published GPT-2, Llama, Qwen2, Qwen3, BERT, T5 or Marian with safetensors.
    `checkpoint` of a run is "best", "last" or a step; `device` "auto" (a GPU where there is one), "cpu",
    "cuda:1", … Raises UserError where the folder is neither, is damaged, or asks for what is not supported.
    """
    return open_folder(folder, checkpoint).load(device)


def load_language_model(folder: str | Path, checkpoint: str, device: str) -> tuple[LanguageModel, Tokenizer]:
    """As `load`, for what needs a next token; UserError for an encoder."""
    opened = open_folder(folder, checkpoint)
    return opened.language_model().to(choose_device(device)), opened.tokenizer()


@dataclass(frozen=True)
class Published(Checkpoint):
    """A folder of `transformers`, read as if it were the first checkpoint of a run."""

    source: Family
    theirs: Settings
    weights: dict[str, Tensor]

    def any_model(self, changed: Any = None) -> Any:
        model = self._empty(changed)
        tensors.fill(model, self.source.names.inward(self.weights, model, self.folder), self.folder)
        return model.eval()

    def tokenizer(self) -> LibraryTokenizer:
        text, spec = roles.read_spec(self.folder)
        known = roles.read(self.folder, self.theirs, spec)
        if self.translates:
            known["bos"] = [roles.target_start(self.folder, self.theirs, known)]
        path = self.folder / roles.TOKENIZER
        tokenizer = LibraryTokenizer.read(text, known, self.predicts, path)
        if tokenizer.vocab_size > self.shape.vocab_size:
            raise UserError(
                f"{path} has ids up to {tokenizer.vocab_size - 1}, the model only {self.shape.vocab_size} "
                "(vocab_size in config.json)"
            )
        return tokenizer


def _family(settings: Settings) -> Family:
    known = {name: family for family in FAMILIES for name in family.model_types}
    return settings.choice("model_type", known)


def _run_or_pickle(path: Path) -> Run:
    """The run; but a folder with nothing but pickled weights is told apart from one that is no run."""
    if not Run(path).exists() and any(path.glob("pytorch_model*")):
        weights.read(path)
    return Run(path)
