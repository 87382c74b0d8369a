"""The one training loop.

A step: all micro-batches' losses, each divided by the number of targets in the whole step; one clipping; one
step of each optimiser. Chance (dropout) is reseeded from (seed, step), data order is a function of the step,
and so a run that was stopped and resumed is the run that was not, bit for bit on a CPU.
"""

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
import torch
from torch import nn

from ..data.batches import Batch
from ..data.tokenizers import Tokenizer
from ..errors import UserError
from ..models import LanguageModel
from ..store.run import Run
from ..threads import Threads
from . import carried as carrying
from . import optimiser as optim
from .log import Log
from .runtime import Runtime, keep_memory
from .settings import TrainConfig, spoken_rates
from .task import Forward, Task, loss_and_state, mean_loss

LOG_EVERY = 10  # steps
TRIAL_TOKENS = 1024  # of a pass that finds out how many threads are best

Outcome = Literal["finished", "stopped", "no longer improving"]


@dataclass
class Progress:
    """How far a run has come. `step` counts finished steps; `stale`, evaluations since the best."""

    step: int = 0
    tokens: int = 0
    seconds: float = 0.0
    best_loss: float | None = None
    best_step: int = 0
    stale: int = 0
    outcome: Outcome = "stopped"


class Reporter(Protocol):
    """Whom the loop tells what happens."""

    def stepped(self, step: int, loss: float, tokens_per_second: float) -> None: ...
    def validated(self, step: int, loss: float | None, best: bool) -> None: ...
    def noted(self, what: str) -> None: ...


@dataclass
class Training:
    """A model in training, with all that a checkpoint of it holds."""

    run: Run
    model: LanguageModel
    tokenizer: Tokenizer
    task: Task
    config: TrainConfig
    settings: dict[str, Any]
    runtime: Runtime
    progress: Progress = field(default_factory=Progress)
    carried: carrying.Carried = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.model.to(self.runtime.device)
        self.optimisers = optim.make_optimisers(self.model, self.config)
        self.forward: Forward = torch.compile(self.model) if self.runtime.compiled else self.model

    @property
    def validates(self) -> bool:
        """Whether enough text is held out to measure anything."""
        return any(True for _ in self.task.validation_batches())

    def step(self) -> tuple[float, float, int]:
        """One step; returns its loss per target, the length of its gradient before clipping, its targets."""
        return _step(self)

    def trial(self) -> Callable[[], object]:
        """A pass over a few windows of the first batch that changes nothing, to be timed."""
        first = self.task.training_batches(0)[0]
        rows = max(1, TRIAL_TOKENS // first.inputs.shape[1])
        few = Batch(first.inputs[:rows], first.targets[:rows]).to(self.runtime.device)
        return torch.no_grad()(lambda: self.task.loss_sum(self.model, few))

    def restore(self, tensors: dict[str, torch.Tensor], progress: Progress) -> None:
        """Go on from what `save` stored."""
        self.carried, rest = carrying.taken_from(tensors, self.model)
        optim.load_state_tensors(self.optimisers, self.model, rest)
        self.progress = progress

    def save(self, best: bool = False) -> None:
        self.run.save(
            self.progress.step,
            self.model,
            self.tokenizer,
            {**self.settings, "progress": asdict(self.progress)},
            optim.state_tensors(self.optimisers, self.model) | carrying.to_tensors(self.carried),
            best=best,
        )


def fit(training: Training, report: Reporter, stop: Callable[[], bool] = lambda: False) -> Outcome:
    """Train until `steps` are done, validation stops improving, or `stop()` says so; always leaves a
    checkpoint of the last finished step."""
    keep_memory()
    with training.run.locked(), _threads(training, report) as threads:
        return _fit(training, report, stop, threads)


def _threads(training: Training, report: Reporter) -> Threads:
    """Watches over a training and its speed."""
    return Threads(training.trial(), report.noted, on_cpu=training.runtime.device.type == "cpu")


def _fit(training: Training, report: Reporter, stop: Callable[[], bool], threads: Threads) -> Outcome:
    config, progress = training.config, training.progress
    training.run.tidy()
    log = Log(training.run.folder, progress.step)
    if progress.step == 0 and not training.run.exists():
        _validate_and_save(training, log, report)
    while progress.step < config.steps:
        if stop():
            training.save()
            return "stopped"
        started = time.perf_counter()
        rate = optim.set_rates(training.optimisers, config, progress.step)
        loss, norm, n_targets = training.step()
        seconds = time.perf_counter() - started
        progress.step += 1
        progress.tokens += n_targets
        progress.seconds += seconds
        _require_finite(training, loss)
        _require_finite(training, norm, "gradient's length")
        report.stepped(progress.step, loss, n_targets / seconds)
        threads.stepped(seconds)
        if progress.step % LOG_EVERY == 0 or progress.step == config.steps:
            log.add(
                step=progress.step,
                loss=loss,
                lr=rate,
                grad_norm=norm,
                tokens=progress.tokens,
                seconds=round(progress.seconds, 3),
            )
        if progress.step % config.eval_every == 0 or progress.step == config.steps:
            _validate_and_save(training, log, report)
            if progress.outcome == "no longer improving":
                return progress.outcome
    progress.outcome = "finished"
    return "finished"


def _step(training: Training) -> tuple[float, float, int]:
    """One step; returns its loss per target, the norm of its gradient before clipping, and its targets."""
    model, config = training.model, training.config
    model.train()
    torch.manual_seed(_step_seed(config.seed, training.progress.step))
    batches = training.task.training_batches(training.progress.step)
    n_targets = sum(batch.n_targets for batch in batches)
    total = torch.zeros((), device=training.runtime.device)
    for micro, batch in enumerate(batches):
        total += _backward(training, micro, batch, max(1, n_targets))
    norm = nn.utils.clip_grad_norm_(model.parameters(), config.clip or float("inf"))
    if n_targets:  # without a target there is nothing to learn, and decay alone must not move the weights
        for optimiser in training.optimisers:
            optimiser.step()
    model.zero_grad(set_to_none=True)
    return float(total), float(norm), n_targets


def _backward(training: Training, micro: int, batch: Batch, n_targets: int) -> torch.Tensor:
    before = training.carried.get(micro)
    with training.runtime.autocast():
        batch = batch.to(training.runtime.device)
        loss_sum, after = loss_and_state(training.task, training.forward, batch, before)
        loss = loss_sum / n_targets
    loss.backward()  # type: ignore[no-untyped-call]
    if after is not None:
        training.carried[micro] = after
    return loss.detach()


def _require_finite(training: Training, value: float, what: str = "loss") -> None:
    if not math.isfinite(value):
        kept = f"; {training.run.folder} keeps its last checkpoint" if training.run.exists() else ""
        raise UserError(
            f"the {what} is {value} at step {training.progress.step}: training has diverged. Try less than "
            f"{spoken_rates(training.config)}, or a longer warmup{kept}"
        )


def _step_seed(seed: int, step: int) -> int:
    return int(np.random.SeedSequence([seed, step]).generate_state(1, np.uint64)[0])


def _validate_and_save(training: Training, log: Log, report: Reporter) -> None:
    config, progress = training.config, training.progress
    training.model.eval()
    with training.runtime.autocast():
        loss = mean_loss(
            training.task, training.forward, training.task.validation_batches(), training.runtime.device
        )
    if loss is not None:
        _require_finite(training, loss)
        log.add(step=progress.step, valid_loss=loss)
    best = loss is None or progress.best_loss is None or loss < progress.best_loss
    if best:
        progress.best_loss, progress.best_step, progress.stale = loss, progress.step, 0
    else:
        progress.stale += 1
    if progress.step >= config.steps:
        progress.outcome = "finished"
    elif config.patience and progress.stale >= config.patience:
        progress.outcome = "no longer improving"
    training.save(best=best)
    report.validated(progress.step, loss, best)
