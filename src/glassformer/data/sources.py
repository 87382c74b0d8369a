"""Which files a user means, and their text: UTF-8 with or without a byte order mark, CRLF read as LF."""

import codecs
import glob
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NoReturn

from ..errors import UserError

SUFFIXES = {".txt", ".text", ".md", ".markdown", ".rst", ".org", ".tex"}
"""What counts as text in a folder. A file named by itself may have any name."""

CHUNK = 1 << 20  # bytes read at a time
LONGEST_PIECE = 16 * CHUNK  # a text without spaces or line breaks is cut here, at whatever character it is

# All up to the last place where every tokenizer cuts: after a word, before a space or line break. Text in
# pieces that end there encodes as it does whole.
_SAFE_PIECE = re.compile(r".*\S(?=[ \n])", re.DOTALL)


@contextmanager
def opened(sources: Sequence[str]) -> Iterator[list[Path]]:
    """The files behind the words of a command line: files, folders (recursively), globs, "-" for standard
    input, in a stable order. Raises UserError for what is not there or holds no text."""
    with tempfile.TemporaryDirectory(prefix="glassformer-") as spool:
        paths: list[Path] = []
        for source in dict.fromkeys(sources):
            paths += _found(source, Path(spool))
        if not paths:
            raise UserError("no text given; name files, folders, globs, or - for standard input")
        yield list({path.resolve(): path for path in paths}.values())


def _spooled(stream: BinaryIO, name: str, folder: Path) -> Path:
    """What can be read only once, as a file."""
    path = folder / name.replace("/", " ").strip()
    with path.open("wb") as file:
        shutil.copyfileobj(stream, file)
    if not path.stat().st_size:
        raise UserError(f"{name} is empty")
    return path


def _found(source: str, spool: Path) -> list[Path]:
    path = Path(source)
    if not source:
        raise UserError("an empty name is no text; name files, folders, globs, or - for standard input")
    if source == "-":
        if sys.stdin is None:
            raise UserError("standard input is closed")
        return [_spooled(sys.stdin.buffer, "standard input", spool)]
    if path.is_dir():
        inside = sorted(p for p in _files(path) if p.suffix.lower() in SUFFIXES and p.stat().st_size)
        if not inside:
            raise UserError(f"{source} holds no text: no file that ends in {', '.join(sorted(SUFFIXES))}")
        return inside
    if path.exists() and not path.is_file():  # a pipe or a device
        with path.open("rb") as stream:
            return [_spooled(stream, source, spool)]
    if path.exists():
        if not path.stat().st_size:
            raise UserError(f"{source} is empty")
        return [path]
    if glob.has_magic(source):
        matches = sorted(p for p in map(Path, glob.iglob(source, recursive=True)) if p.is_file())
        if not any(p.stat().st_size for p in matches):
            raise UserError(f"{source} matches no file with text")
        return [p for p in matches if p.stat().st_size]
    raise UserError(f"{source}: no such file or folder")


def _files(root: Path) -> Iterator[Path]:
    """All files below a folder but hidden ones. Raises UserError for a folder that may not be read."""

    def refuse(error: OSError) -> NoReturn:
        raise UserError(f"{error.filename}: {error.strerror}")

    for folder, folders, names in os.walk(root, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (p for name in names if not name.startswith(".") and (p := Path(folder, name)).is_file())


def read(path: Path) -> Iterator[str]:
    """The text of a file in pieces that can be tokenized apart from each other.

    Raises UserError with the byte offset where it is not UTF-8.
    """
    pending = ""
    for text in _decoded(path):
        pending += text
        if len(pending) < CHUNK:
            continue
        safe = _SAFE_PIECE.match(pending)
        cut = safe.end() if safe else 0
        if not cut and len(pending) >= LONGEST_PIECE:
            cut = len(pending)
        if cut:
            yield pending[:cut]
            pending = pending[cut:]
    if pending:
        yield pending


def _decoded(path: Path) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")()
    held = ""  # a CR at the end of a block, whose LF may follow
    try:
        with path.open("rb") as file:
            if file.read(len(codecs.BOM_UTF8)) != codecs.BOM_UTF8:
                file.seek(0)
            while True:
                started = file.tell() - len(decoder.getstate()[0])  # where the undecoded bytes begin
                block = file.read(CHUNK)
                try:
                    text = held + decoder.decode(block, final=not block)
                except UnicodeDecodeError as error:
                    raise _not_utf8(path, started + error.start, error) from None
                held = "\r" if block and text.endswith("\r") else ""
                yield text[: len(text) - len(held)].replace("\r\n", "\n")
                if not block:
                    return
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from None


def _not_utf8(path: Path, offset: int, error: UnicodeDecodeError) -> UserError:
    with path.open("rb") as file:
        start = file.read(CHUNK)
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        hint = "it looks like UTF-16."
    elif b"\0" in start:
        hint = "it looks like UTF-16 or no text at all."
    else:
        hint = "is it GBK, Big5 or Latin-1?"
    byte = error.object[error.start]
    return UserError(f"{path}: not UTF-8 at byte {offset} (0x{byte:02x}); {hint} Convert it to UTF-8 first")
