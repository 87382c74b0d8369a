"""What a person sees of a training: a bar with loss, speed and time left, measurements, samples."""

import shlex
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import TracebackType
from typing import Any

import torch
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from ..decoding.text import generate
from ..errors import UserError
from . import log
from .interrupt import stop_requested
from .loop import Training, fit
from .pairs import PairTraining
from .pairs import describe as describe_pairs
from .settings import spoken_rates
from .start import describe
from .vectors import VectorTraining
from .vectors import describe as describe_vectors

_SMOOTHING = 0.95  # of the shown loss and speed, per step


class TrainingReport(AbstractContextManager["TrainingReport"]):
    """A `Reporter` for a console; a bar where it is a terminal, lines everywhere."""

    def __init__(self, training: Training, console: Console) -> None:
        self._training, self._console = training, console
        self._shown = 0  # steps so far
        self._loss = self._speed = 0.0  # running sums, each to be divided by the weight of what is in it
        self._bar = Progress(
            TextColumn("step {task.completed:.0f}/{task.total:.0f}"),
            BarColumn(),
            TextColumn("{task.fields[figures]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task: TaskID = self._bar.add_task(
            "", total=training.config.steps, completed=training.progress.step, figures=""
        )

    def __enter__(self) -> "TrainingReport":
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def stepped(self, step: int, loss: float, tokens_per_second: float) -> None:
        self._shown += 1
        self._loss = _SMOOTHING * self._loss + (1 - _SMOOTHING) * loss
        self._speed = _SMOOTHING * self._speed + (1 - _SMOOTHING) * tokens_per_second
        self._bar.update(self._task, completed=step, figures="  ".join(self._figures()))

    def _figures(self) -> list[str]:
        """Recent loss and speed: means in which each step counts 0.95 times as much as the next."""
        if not self._shown:
            return []
        weight = 1 - _SMOOTHING**self._shown
        return [f"loss {self._loss / weight:.4f}", f"{self._speed / weight:,.0f} tokens/s"]

    def noted(self, what: str) -> None:
        self._console.print(what)

    def validated(self, step: int, loss: float | None, best: bool) -> None:
        measured = [] if loss is None else [f"validation {loss:.4f}{' (best)' if best else ''}"]
        figures = [f"step {step}", *self._figures()[:1], *measured, *self._figures()[1:]]
        self._console.print("  ".join(figures), markup=False, highlight=False)
        if step and self._training.config.sample:
            self._sample(step)

    def _writes_lines(self) -> bool:
        """Whether the vocabulary has a line break: a likelier beginning than that of the one document."""
        try:
            return len(self._training.tokenizer.encode("\n")) > 0
        except UserError:
            return False

    def _sample(self, step: int) -> None:
        training = self._training
        opening = "\n" if self._writes_lines() else ""
        text = generate(
            training.model,
            training.tokenizer,
            opening,
            tokens=training.config.sample,
            temperature=0.8,
            seed=step,
        )
        shown = Text("\n".join("  │ " + line for line in text.strip().split("\n")), style="dim")
        self._console.print(shown, soft_wrap=True)


@contextmanager
def _memory_told(training: Training) -> Iterator[None]:
    """Say what would need less memory, where there is not enough."""
    try:
        yield
    except RuntimeError as error:  # torch has no class of its own for it on a CPU
        if not isinstance(error, torch.OutOfMemoryError) and "allocate memory" not in str(error):
            raise
        context = getattr(training.model.config, "context", None)
        at = f" at context={context}" if context else ""
        raise UserError(
            f"not enough memory for batch_size={training.config.batch_size}{at}: take a smaller batch_size "
            "(and accumulate), context or model"
        ) from None


@contextmanager
def _stopped_at_once(training: Training, stop: Callable[[], bool]) -> Iterator[None]:
    """Say after a second Ctrl-C what is kept. The compiler takes the first one for a crash of its own."""
    try:
        yield
    except (KeyboardInterrupt, RuntimeError) as error:
        if not stop() or not training.run.exists():
            raise
        step = training.run.checkpoint("last").step
        raise KeyboardInterrupt(_resume_hint(training, f"stopped at once; step {step} is kept")) from error


def _resume_hint(training: Training, what: str) -> str:
    return f"{what}. Go on with: glassformer train --resume {shlex.quote(str(training.run.folder))}"


_DESCRIBED: dict[type[Any], Callable[[Any], str]] = {
    PairTraining: describe_pairs,
    VectorTraining: describe_vectors,
}


def described(training: Training) -> str:
    """One line of what is trained."""
    return _DESCRIBED.get(type(training), describe)(training)


def train_visibly(training: Training, console: Console) -> None:
    """Train with a report on the console; say at the end what came of it.

    Raises KeyboardInterrupt after a Ctrl-C, when the last step is saved, with the command that goes on."""
    folder, progress = training.run.folder, training.progress
    done = progress.step >= training.config.steps or progress.outcome == "no longer improving"
    if done and training.run.exists():
        console.print(
            f"{folder} is finished ({progress.outcome} at step {progress.step}); more --steps go on"
        )
        return
    console.print(described(training))
    if 0 < training.config.steps <= training.config.warmup:
        console.print(
            f"the rate never comes to {spoken_rates(training.config)}: "
            f"warmup={training.config.warmup} takes all {training.config.steps} steps"
        )
    if not training.validates:
        console.print("no validation: the held-out text is shorter than one window")
    if progress.step:
        console.print(f"going on from step {progress.step}")
    with (
        stop_requested() as stop,
        _stopped_at_once(training, stop),
        TrainingReport(training, console) as report,
        _memory_told(training),
    ):
        outcome = fit(training, report, stop)
    log.draw(folder)
    if outcome == "stopped":
        raise KeyboardInterrupt(_resume_hint(training, f"stopped after step {progress.step}; saved"))
    best = (
        f", best validation {progress.best_loss:.4f} at step {progress.best_step}"
        if progress.best_loss
        else ""
    )
    console.print(f"{outcome} at step {progress.step}{best}")
