"""Trainings for the lab's page: one at a time, each in a process of its own that is held on a leash."""

import re
import sys
import tempfile
import threading
import time
import unicodedata
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ..errors import UserError
from ..texts import Language
from .leash import Leash
from .task import (
    FEWEST_CHARACTERS,
    GRACE,
    MOMENTS_FOLDER,
    MOST_BYTES,
    MOST_SECONDS,
    MOST_STEPS,
    PROBE,
    Size,
    Task,
)
from .words_build import say

LONGEST_NAME = 40  # characters
_MANY_CHARACTERS = 10_000  # from here on the package's tokenizer takes any character

State = Literal["preparing", "training", "stopping", "finished", "stopped", "failed"]


class Busy(UserError):
    """A training is going on already."""


_Written = Annotated[str, Field(max_length=10 * MOST_BYTES)]
"""Its own bounds are told in the language of the order, by `_refuse`; this one keeps out lone surrogates."""


class Order(BaseModel):
    """What to train. `language` is that of what is said about it."""

    model_config = ConfigDict(extra="forbid")

    text: _Written
    probe: _Written
    name: Annotated[str, Field(max_length=200)] = ""
    size: Size = "mini"
    steps: Annotated[int, Field(strict=True, ge=1, le=MOST_STEPS)] = 300
    language: Language = "en"


class Moment(BaseModel):
    """A step at which the probe was read, and how the model went on after it."""

    step: int
    sample: str


class Build(BaseModel):
    """A training as it stands. `losses[i]` is that of step i + 1, `validations` are (step, loss), both in
    nats per token; `seconds_left` is a guess. `reason`: in one line, why it stopped or failed by itself."""

    run: str
    probe: str
    state: State = "preparing"
    reason: str | None = None
    step: int = 0
    steps: int
    tokens_per_second: float = 0.0
    seconds_left: float | None = None
    parameters: int | None = None
    vocabulary: int | None = None
    layers: int = 0
    heads: int = 0
    losses: list[float] = []
    validations: list[tuple[int, float]] = []
    moments: list[Moment] = []

    @property
    def going(self) -> bool:
        return self.state in ("preparing", "training", "stopping")


class Trainings:
    """The trainings of a server, at most one at a time; what is known of the last one stays. May be used from
    several threads."""

    def __init__(self, folder: Path, *, seconds: float = MOST_SECONDS, grace: float = GRACE) -> None:
        self.folder, self._seconds, self._grace = folder, seconds, grace
        self._lock = threading.Lock()
        self._job: _Job | None = None

    def start(self, order: Order) -> Build:
        """Begin a training in a fresh run folder. Raises Busy while one goes on, and UserError for an order
        that cannot be carried out."""
        text, probe = (part.replace("\r\n", "\n") for part in (order.text, order.probe))
        _refuse(text, probe, order.language)
        with self._lock:
            if self._job is not None and self._job.snapshot().going:
                raise Busy(say("busy", order.language))
            out = self._fresh(order.name)
            self._job = _Job(text, probe, out, order, self._seconds, self._grace)
            return self._job.snapshot()

    def _fresh(self, name: str) -> Path:
        """A folder that is not there yet, called after a name that a person gave."""
        kept = (
            re.sub(r"[^\w]+", "-", unicodedata.normalize("NFC", name)).strip("-_")[:LONGEST_NAME] or "build"
        )
        names = (kept if n == 1 else f"{kept}-{n}" for n in range(1, sys.maxsize))
        return next(path for path in (self.folder / n for n in names) if not path.exists())

    def now(self) -> Build | None:
        """The training that goes on, or the last one; None before the first."""
        return None if self._job is None else self._job.snapshot()

    def stop(self) -> Build | None:
        """Ask the training to stop after its step and save."""
        if self._job is None:
            return None
        self._job.stop()
        return self._job.snapshot()

    def moment(self, k: int) -> str | None:
        """The JSON of moment k, or None where there is no such moment."""
        job = self._job
        if job is None or k >= len(job.snapshot().moments):
            return None
        try:
            return (job.out / MOMENTS_FOLDER / f"{k}.json").read_text(encoding="utf-8")
        except OSError:  # somebody deleted the run
            return None

    def close(self) -> None:
        """Stop what goes on, and wait until it has."""
        if self._job is not None:
            self._job.stop()
            self._job.wait()


def _refuse(text: str, probe: str, language: Language) -> None:
    """Raise UserError for a text or a probe that cannot be trained with."""
    size, characters = len(text.encode()), set(text)
    if size > MOST_BYTES:
        raise UserError(say("too_long", language, n=f"{size:,}", most=f"{MOST_BYTES:,}"))
    if len(text) < FEWEST_CHARACTERS:
        raise UserError(say("too_short", language, n=f"{len(text):,}", fewest=f"{FEWEST_CHARACTERS:,}"))
    if len(characters) < 2:
        raise UserError(say("one_character", language))
    if not probe:
        raise UserError(say("no_probe", language))
    if len(probe) > PROBE:
        raise UserError(say("long_probe", language, n=f"{len(probe):,}", most=PROBE))
    missing = sorted(set(probe) - characters)
    if missing and len(characters) <= _MANY_CHARACTERS:
        shown = " ".join(c if c.isprintable() else ascii(c) for c in missing)
        raise UserError(say("probe_lacks", language, characters=shown))


def _written(text: str) -> Path:
    """The text as a file, which the job deletes as soon as the run folder has it."""
    with tempfile.NamedTemporaryFile(
        "w", prefix="glassformer-", suffix=".txt", delete=False, encoding="utf-8", newline="\n"
    ) as file:
        file.write(text)
    return Path(file.name)


class _Job:
    """One training and its process."""

    def __init__(self, text: str, probe: str, out: Path, order: Order, seconds: float, grace: float) -> None:
        self.out, self._language = out, order.language
        self._build = Build(run=out.name, probe=probe, steps=order.steps)
        self._lock = threading.Lock()
        self._begun = 0.0  # when the first step was done
        self._result: dict[str, Any] = {}
        self._text = _written(text)
        task = asdict(Task(str(self._text), str(out.absolute()), probe, order.size, order.steps))
        try:
            self._leash = Leash("glassformer.lab.job", task, self._hear, self._end, self._killed, grace)
        except OSError:
            self._text.unlink()
            raise
        self._leash.after(seconds, lambda: self.stop("time_up", minutes=round(seconds / 60)))

    def snapshot(self) -> Build:
        with self._lock:
            return self._build.model_copy(deep=True)

    def wait(self) -> None:
        self._leash.wait()

    def stop(self, why: str | None = None, **values: object) -> None:
        """Let go of the leash; a process that does not stop for it is ended."""
        with self._lock:
            if self._build.state not in ("preparing", "training"):
                return
            self._build.state = "stopping"
            self._build.reason = say(why, self._language, **values) if why else None
        self._leash.let_go()

    def _killed(self) -> None:
        with self._lock:
            self._build.reason = say("killed", self._language)

    def _hear(self, told: dict[str, Any]) -> None:
        with self._lock:
            self._take(told)

    def _take(self, told: dict[str, Any]) -> None:
        build = self._build
        match told:
            case {"parameters": parameters, "vocabulary": vocabulary, "layers": layers, "heads": heads}:
                build.parameters, build.vocabulary = parameters, vocabulary
                build.layers, build.heads = layers, heads
                if build.state == "preparing":
                    build.state = "training"
            case {"step": step, "loss": loss, "tokens_per_second": speed}:
                build.losses.append(round(loss, 4))
                self._pace(step, speed)
            case {"step": step, "valid_loss": loss}:
                build.validations.append((step, round(loss, 4)))
            case {"step": step, "moment": _, "sample": sample}:
                build.moments.append(Moment(step=step, sample=sample))
            case {"outcome": _} | {"error": _}:
                self._result = told

    def _pace(self, step: int, speed: float) -> None:
        build = self._build
        smooth = speed if not build.tokens_per_second else 0.9 * build.tokens_per_second + 0.1 * speed
        if step == 1:
            self._begun = time.monotonic()
        else:
            each = (time.monotonic() - self._begun) / (step - 1)
            build.seconds_left = round(each * (build.steps - step), 1)
        build.step, build.tokens_per_second = step, round(smooth, 1)

    def _end(self, code: int) -> None:
        with self._lock:
            self._conclude(code)
        self._text.unlink(missing_ok=True)  # of a process that did not come to delete it

    def _conclude(self, code: int) -> None:
        build = self._build
        build.seconds_left = None
        match self._result:
            case {"outcome": "finished"}:
                build.state, build.reason = "finished", None
            case {"error": reason}:
                build.state, build.reason = "failed", reason
            case {"outcome": _}:
                build.state = "stopped"
            case _ if build.state == "stopping":
                build.state = "stopped"
            case _:
                build.state, build.reason = "failed", say("died", self._language, code=code)
