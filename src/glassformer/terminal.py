"""What verbs share in talking to a terminal."""

import os
import sys
import time
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.progress import Progress

from .errors import UserError

console = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
"""For people. Results go to standard output, so that they can be piped."""


SIGN_OF_LIFE = 10  # seconds


@contextmanager
def progress() -> Iterator[Callable[[str, int, int], None]]:
    """A bar per kind of work, from its first report on; a line now and then without a terminal."""
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bars:
        tasks = {}
        said = time.monotonic()

        def advance(what: str, done: int, total: int) -> None:
            nonlocal said
            if not console.is_terminal and time.monotonic() - said > SIGN_OF_LIFE:
                console.print(f"{what}: {done / max(1, total):.0%}")
                said = time.monotonic()
            if what not in tasks:
                tasks[what] = bars.add_task(what)
            bars.update(tasks[what], completed=done, total=total)

        yield advance


def spoken(argument: str) -> str:
    """A command-line argument as UTF-8 text, also where the locale took it for something else."""
    return os.fsencode(argument).decode("utf-8", "surrogateescape")


def read_argument(text: str) -> str:
    """The text given as an argument; "-" stands for standard input."""
    if text == "-":
        if sys.stdin is None:
            raise UserError("standard input is closed")
        return sys.stdin.buffer.read().decode("utf-8-sig", "surrogateescape").replace("\r\n", "\n")
    return spoken(text)


def is_file(name: str) -> bool:
    """Whether a text names a file."""
    try:
        return Path(name).is_file()
    except (OSError, ValueError):  # too long for a name, or with a zero in it
        return False


def open_in_browser(page: Path) -> None:
    """Show a page if a person with a graphical screen is there; never wait, never complain."""
    graphical = (
        sys.platform in ("darwin", "win32") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    )
    if graphical and sys.stdout.isatty():
        webbrowser.open(page.absolute().as_uri())


def language() -> Literal["en", "zh"]:
    """Chinese where the locale says so, else English."""
    names = (os.environ.get(name) for name in ("LC_ALL", "LC_MESSAGES", "LANG"))
    return "zh" if next((name for name in names if name), "").lower().startswith("zh") else "en"
