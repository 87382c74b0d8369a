"""Ctrl-C and SIGTERM as a request to stop at the next step. A second one stops at once."""

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_ANSWER = b"\nstopping after this step, and saving; once more stops at once\n"


@contextmanager
def stop_requested() -> Iterator[Callable[[], bool]]:
    """Yields a function that tells whether a stop was asked for. Outside the main thread it never is."""
    asked = False

    def ask(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True
        with contextlib.suppress(OSError):  # nobody may be listening
            os.write(2, _ANSWER)  # not through a stream, which may be in the middle of a line of its own

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
