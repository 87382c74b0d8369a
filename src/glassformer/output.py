"""Files that a verb writes where the user says: whole or not at all, refused before the work."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from .errors import UserError


def prepare(*paths: Path | None) -> None:
    """Make the folders of files that will be written. Raises UserError for what cannot be: a folder, two
    results in one file, a place without permission."""
    wanted = [path for path in paths if path is not None]
    if len({path.absolute() for path in wanted}) < len(wanted):
        raise UserError(f"{wanted[-1]} is named twice; each result needs a file of its own")
    for path in wanted:
        if path.is_dir():
            raise UserError(f"{path} is a folder; name a file")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"{path}: {error.strerror}") from None
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            raise UserError(f"{path} may not be written here")


@contextmanager
def whole(path: Path) -> Iterator[BinaryIO]:
    """A file that takes the place of `path` once all is written; until then the old one stays.

    "-" is standard output; what is no plain file (a pipe, a device) is written as it is."""
    if str(path) == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    try:
        if path.exists() and not path.is_file():
            with path.open("wb") as file:
                yield file
            return
        target = path.resolve()  # a link stays a link
        partial = target.with_name(target.name + ".partial")
        try:
            with partial.open("wb") as file:
                yield file
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:  # a full disk does not say where
        if error.filename is None:
            error.filename = str(path)
        raise


def write_text(path: Path, text: str) -> None:
    with whole(path) as file:
        file.write(text.encode())
