"""Trainings without a word said, in folders that are gone afterwards: for experiments and lessons."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ..data.tokenizers import ByteTokenizer, Tokenizer
from ..models import LanguageModel
from ..store.run import Run
from . import pairs, runtime
from .loop import Training, fit
from .settings import TrainConfig
from .task import Task, mean_loss


class _Silent:
    def stepped(self, step: int, loss: float, tokens_per_second: float) -> None: ...
    def validated(self, step: int, loss: float | None, best: bool) -> None: ...
    def noted(self, what: str) -> None: ...


def trained(training: Training) -> Any:
    """The model, trained to the end of its settings."""
    fit(training, _Silent())
    return training.model.eval()


def finished(
    begun: Callable[..., AbstractContextManager[Training]], text: str, settings: Sequence[str], **options: Any
) -> Training:
    """A training of one text come to its end, begun as `start.begun` and its like do."""
    # What a system keeps of files that are still mapped into memory is no harm.
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        file = Path(folder) / "text.txt"
        file.write_text(text, encoding="utf-8", newline="\n")
        assignments = [*settings, "device=cpu"]
        with begun([str(file)], Path(folder) / "run", assignments=assignments, **options) as training:
            trained(training)
    return training


def translator(
    lines: Sequence[tuple[str, str]], settings: Sequence[str], family: str = "seq2seq"
) -> tuple[Any, Tokenizer]:
    """An encoder-decoder trained on pairs of texts, and its tokenizer."""
    text = "".join(f"{source}\t{target}\n" for source, target in lines)
    training = finished(pairs.begun, text, settings, family=family)
    return training.model, training.tokenizer


def final_loss(model: LanguageModel, task: Task, config: TrainConfig) -> float:
    """Train a model on a task of numbers, of which there is no text; the held-out loss (nats) at the end."""
    with TemporaryDirectory() as folder:
        where = runtime.choose(config)
        training = Training(Run(Path(folder) / "run"), model, ByteTokenizer(), task, config, {}, where)
        trained(training)
        loss = mean_loss(task, model, task.validation_batches(), where.device)
    assert loss is not None
    return loss
