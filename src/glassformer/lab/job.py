"""One training in a process of its own, for the lab's server: `python -m glassformer.lab.job`, on a leash.

Let go, the training stops after its step and is saved, as after a Ctrl-C.
"""

import json
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ..decoding.text import generate
from ..glass.trace import trace
from ..store.run import replace_text
from ..training import log, start
from ..training.interrupt import stop_requested
from ..training.loop import Outcome, Training, fit
from .leash import Tell, held
from .task import MOMENTS_FOLDER, PROBE, SIZES, Task, moments

SAMPLE = 120  # tokens
MEASUREMENTS = 20  # of the validation loss, over the whole training
DIGITS = 5  # of a weight, which is at most 1


class Watch:
    """A `Reporter` that tells every step and, at its moments, writes down how the model reads the probe.

    It only looks: the model, the data and PyTorch's chances are as without it, bit for bit.
    """

    def __init__(self, training: Training, task: Task, tell: Tell) -> None:
        self._training, self._probe, self._tell = training, task.probe, tell
        self._due = set(moments(task.steps))
        self._folder = training.run.folder / MOMENTS_FOLDER
        self._count, self._last = 0, -1

    def stepped(self, step: int, loss: float, tokens_per_second: float) -> None:
        self._tell(step=step, loss=loss, tokens_per_second=tokens_per_second)
        if step in self._due:
            self.look(step)

    def validated(self, step: int, loss: float | None, best: bool) -> None:
        if loss is not None:
            self._tell(step=step, valid_loss=loss)
        if step == 0:
            self.look(step)

    def noted(self, what: str) -> None:
        pass

    def look(self, step: int) -> None:
        """Record a moment, unless this step has one."""
        if step == self._last:
            return
        model, tokenizer = self._training.model, self._training.tokenizer
        ids = tokenizer.encode(self._probe)[:PROBE].tolist()
        traced = trace(model, ids, "blocks.*.attention.weights")
        weights_Lhnm = [
            traced[f"blocks.{layer}.attention.weights"][0].double().cpu().numpy().round(DIGITS).tolist()
            for layer in range(model.config.n_layers)
        ]
        self._folder.mkdir(exist_ok=True)
        moment = {"step": step, "tokens": tokenizer.labels(ids), "weights": weights_Lhnm}
        replace_text(self._folder / f"{self._count}.json", json.dumps(moment, ensure_ascii=False))
        sample = generate(model, tokenizer, self._probe, tokens=SAMPLE, temperature=0.8)
        self._tell(moment=self._count, step=step, sample=sample)
        self._count, self._last = self._count + 1, step


def settings(task: Task) -> list[str]:
    """What differs from the preset `tiny`."""
    return [
        *SIZES[task.size],
        f"steps={task.steps}",
        f"eval_every={max(1, task.steps // MEASUREMENTS)}",
        "eval_tokens=8192",
        f"warmup={min(20, task.steps // 5)}",
    ]


def run(task: Task, stop: Callable[[], bool], tell: Tell) -> Outcome:
    """Train as the task says, until `stop()`; the run folder is one like any other."""
    out = Path(task.out)
    with ExitStack() as stack:
        began = start.begun([task.text], out, preset_name="tiny", assignments=settings(task))
        try:
            training = stack.enter_context(began)
        finally:  # the run folder has the text by now, or never will; the server may be gone
            Path(task.text).unlink(missing_ok=True)
        parameters = sum(parameter.numel() for parameter in training.model.parameters())
        shape: Any = training.model.config
        tell(
            parameters=parameters,
            vocabulary=training.tokenizer.vocab_size,
            layers=shape.n_layers,
            heads=shape.n_heads,
        )
        watch = Watch(training, task, tell)
        outcome = fit(training, watch, stop)
        watch.look(training.progress.step)
    log.draw(out)
    return outcome


def main() -> None:
    """Do the task that standard input holds."""

    def work(task: dict[str, Any], gone: threading.Event, tell: Tell) -> None:
        with stop_requested() as asked:
            tell(outcome=run(Task(**task), lambda: gone.is_set() or asked(), tell))

    held(work)


if __name__ == "__main__":
    main()
