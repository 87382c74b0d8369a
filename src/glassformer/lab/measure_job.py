"""A claim's quick run in a process of its own, for the lab's server: `python -m glassformer.lab.measure_job`,
on a leash. The task names the claim and the folder of its measurements."""

import threading
from _thread import interrupt_main
from pathlib import Path
from typing import Any

from ..claims import claim
from ..claims.run import run
from .leash import Tell, held


def work(task: dict[str, Any], gone: threading.Event, tell: Tell) -> None:
    """Measure, anew where it was finished before; let go, stop as after a Ctrl-C: what is done so far stays
    in the folder."""
    done = threading.Event()

    def interrupt() -> None:
        gone.wait()
        if not done.is_set():
            interrupt_main()

    try:
        threading.Thread(target=interrupt, daemon=True).start()
        run(
            claim(task["claim"]),
            Path(task["folder"]),
            quick=True,
            again=True,
            advance=lambda done, total: tell(done=done, total=total),
        )
    except KeyboardInterrupt:
        tell(outcome="stopped")
    else:
        tell(outcome="finished")
    finally:
        done.set()


if __name__ == "__main__":
    held(work)
