"""Work in a process of its own that is held on a leash: it ends when its server lets go or is gone.

The process reads its task from the first line of standard input and tells what happens as JSON objects, one a
line, on standard output. Standard input is the leash: when it ends, the process stops as after a Ctrl-C.
"""

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from ..errors import UserError


class Tell(Protocol):
    def __call__(self, **what: Any) -> None: ...


class Leash:
    """One process, `python -m MODULE`. `hear` gets what it tells and `ended` its exit code, both in a thread
    of the leash and one after the other; `killed` is called when it did not stop in `grace` seconds."""

    def __init__(
        self,
        module: str,
        task: Mapping[str, Any],
        hear: Callable[[dict[str, Any]], None],
        ended: Callable[[int], None],
        killed: Callable[[], None],
        grace: float,
    ) -> None:
        self._hear, self._ended, self._killed, self._grace = hear, ended, killed, grace
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # a Ctrl-C in the server's terminal is for the server, which then lets go
        )
        self._timers: list[threading.Timer] = []
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # a process that died at once is noticed below
            self._process.stdin.write(json.dumps(task).encode() + b"\n")
            self._process.stdin.flush()
        self._reader = threading.Thread(target=self._follow, daemon=True)
        self._reader.start()

    def after(self, seconds: float, act: Callable[[], None]) -> None:
        """Do something later, unless the process has ended by then."""
        timer = threading.Timer(seconds, act)
        timer.daemon = True
        timer.start()
        self._timers.append(timer)

    def let_go(self) -> None:
        """Ask the process to stop; one that does not is ended."""
        self.after(self._grace, self._kill)
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()

    def wait(self) -> None:
        self._reader.join()

    def _kill(self) -> None:
        self._killed()
        self._process.kill()

    def _follow(self) -> None:
        """Hear what the process tells until it ends."""
        assert self._process.stdout is not None
        assert self._process.stdin is not None
        for line in self._process.stdout:
            with contextlib.suppress(ValueError):  # a line that a kill cut short
                self._hear(json.loads(line))
        code = self._process.wait()
        self._ended(code)
        for timer in self._timers:  # last, for until it is known that it ended somebody may still let go
            timer.cancel()
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        self._process.stdout.close()


def held(work: Callable[[dict[str, Any], threading.Event, Tell], None]) -> None:
    """The other end: do `work` with the task, an event that is set once the leash is let go, and what tells
    the server. What fails is told as its error, and the exit code is 2."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    os.dup2(2, 1)  # what a library prints must not get among the messages
    gone = threading.Event()

    def tell(**what: Any) -> None:
        try:
            print(json.dumps(what), file=out, flush=True)
        except OSError:  # nobody listens any more
            gone.set()

    def hold() -> None:
        while os.read(0, 1024):
            pass
        gone.set()

    task = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=hold, daemon=True).start()
    try:
        work(task, gone, tell)
    except (UserError, OSError) as error:
        tell(error=spoken(error))
        raise SystemExit(2) from None


def spoken(error: Exception) -> str:
    """What failed, in one line and without a number."""
    if isinstance(error, OSError) and error.strerror:
        error = OSError(f"{error.strerror}: {error.filename}" if error.filename else error.strerror)
    return " ".join(str(error).split())
