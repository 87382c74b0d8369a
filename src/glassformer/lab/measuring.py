"""Quick runs of claims for the lab's pages, one at a time, and the routes behind them."""

import tempfile
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal

from fastapi import APIRouter, HTTPException
from pydantic import BaseModel

from ..claims import claim
from ..claims.run import reread
from ..errors import UserError
from ..texts import Language
from .building import Problem
from .leash import Leash
from .outcomes import Outcome
from .pages import outcome_part
from .words import say

GRACE = 5.0  # seconds to stop in, before the process is ended; what it had done is kept all the same

State = Literal["measuring", "stopping", "finished", "stopped", "failed"]


class Measuring(BaseModel):
    """A quick run as it stands: `done` of `total` parts. `reason`: why it failed, in one line."""

    claim: str
    state: State = "measuring"
    done: int = 0
    total: int = 0
    reason: str | None = None

    @property
    def going(self) -> bool:
        return self.state in ("measuring", "stopping")


class Part(BaseModel):
    """A piece of a page."""

    html: str


class Measurements:
    """The quick runs of a server. One that was stopped goes on where it was when it is asked for again.
    May be used from several threads."""

    def __init__(self, grace: float = GRACE) -> None:
        self._grace = grace
        self._lock = threading.Lock()
        self._now: Measuring | None = None
        self._leash: Leash | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def start(self, name: str) -> Measuring | None:
        """Begin a quick run; None while another goes on. Raises UserError for a claim that there is not."""
        name = claim(name).name
        with self._lock:
            if self._now is not None and self._now.going:
                return None
            if self._folder is None:
                self._folder = tempfile.TemporaryDirectory(prefix="glassformer-")
            run = Measuring(claim=name)
            task = {"claim": name, "folder": self._folder.name}
            module = "glassformer.lab.measure_job"
            hear, end = partial(self._hear, run), partial(self._end, run)
            self._leash = Leash(module, task, hear, end, lambda: None, self._grace)
            self._now = run  # not before there is a process, which may fail to start
            return run.model_copy()

    def now(self) -> Measuring | None:
        """The run that goes on, or the last one; None before the first."""
        with self._lock:
            return self._now and self._now.model_copy()

    def stop(self, name: str | None = None) -> Measuring | None:
        """Ask the run to stop, whatever it measures or if it measures this claim."""
        with self._lock:
            other = self._now is not None and name not in (None, self._now.claim)
            if self._now is None or self._now.state != "measuring" or other:
                return self._now and self._now.model_copy()
            self._now.state = "stopping"
            assert self._leash is not None
            leash, now = self._leash, self._now.model_copy()
        leash.let_go()
        return now

    def outcome(self, name: str) -> Outcome | None:
        """What the last finished run of a claim measured; None before there is one."""
        if self._folder is None:
            return None
        path = Path(self._folder.name, f"{name}.json")
        return Outcome(claim(name), reread(path)) if path.exists() else None

    def close(self) -> None:
        """Stop what goes on, wait until it has, and forget what was measured."""
        self.stop()
        if self._leash is not None:
            self._leash.wait()
        if self._folder is not None:
            self._folder.cleanup()

    def _hear(self, run: Measuring, told: dict[str, Any]) -> None:
        with self._lock:
            match told:
                case {"done": done, "total": total}:
                    run.done, run.total = done, total
                case {"outcome": outcome}:
                    run.state = outcome
                case {"error": reason}:
                    run.state, run.reason = "failed", reason

    def _end(self, run: Measuring, code: int) -> None:
        """Its process has ended; the next run may have begun by then."""
        with self._lock:
            if run.state == "stopping":  # it was ended before it could say so
                run.state = "stopped"
            elif run.state == "measuring":
                run.state, run.reason = "failed", f"exit code {code}"


def router(measurements: Measurements) -> APIRouter:
    """The routes below /api/claims. With the server they end what still measures."""

    @asynccontextmanager
    async def lifespan(app: object) -> AsyncIterator[None]:
        yield
        measurements.close()

    routes = APIRouter(prefix="/api/claims", tags=["claims"], lifespan=lifespan)
    problem: dict[int | str, dict[str, Any]] = {404: {"model": Problem}, 409: {"model": Problem}}

    @routes.post("/{name}", status_code=201, responses=problem)
    def start(name: str, language: Language = "en") -> Measuring:
        """Run a claim's quick version; one at a time."""
        try:
            begun = measurements.start(name)
        except UserError as error:
            raise HTTPException(404, str(error)) from None
        if begun is None:
            raise HTTPException(409, say("claims_busy", language))
        return begun

    @routes.get("")
    def state() -> Measuring | None:
        """The run that goes on, or the last one; null before the first."""
        return measurements.now()

    @routes.delete("/{name}", responses=problem)
    def stop(name: str) -> Measuring | None:
        """Stop, if it is this claim that is measured; asked for again, the run goes on where it was."""
        try:
            return measurements.stop(claim(name).name)
        except UserError as error:
            raise HTTPException(404, str(error)) from None

    @routes.get("/{name}", responses=problem)
    def result(name: str, language: Language = "en") -> Part:
        """What the last quick run of a claim found, as a part of a page."""
        try:
            found = measurements.outcome(claim(name).name)
        except UserError as error:
            raise HTTPException(404, str(error)) from None
        if found is None:
            raise HTTPException(404, say("claims_none", language))
        return Part(html=outcome_part(found, language))

    return routes
