"""Word vectors as files: word2vec's text and binary formats, and GloVe's text.

    word2vec text     "400000 100", then a line for each word: the word and its numbers
    GloVe text        the same without the first line
    word2vec binary   the same first line, then for each word: the word, a space, little-endian float32

What is read is told apart by its content. A word may hold spaces in the text formats (GloVe's have some).
"""

import mmap
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from .. import output
from ..errors import UserError

WIDEST = 1 << 14  # numbers of a vector
LONGEST_WORD = 4096  # bytes
LONGEST_LINE = LONGEST_WORD + 40 * WIDEST

Floats = NDArray[np.float32]
_HEADER = re.compile(rb"\s*(\d{1,12})[ \t]+(\d{1,12})\s*")


def read(path: Path) -> tuple[list[str], Floats]:
    """Words and their vectors (n, D), in the file's order; of a word that stands there twice, the first.

    Raises UserError, with the line or word, for a file that is cut short or damaged, is of none of the
    formats, or holds a number that is not finite.
    """
    with _opened(path) as file:
        first = file.readline(LONGEST_LINE)
        header = _HEADER.fullmatch(first)
        if header is None:
            words, vectors = _read_text(path, file, first, None)
        else:
            n, width = int(header[1]), int(header[2])
            if not 1 <= width <= WIDEST:
                raise UserError(f"{path}: vectors of {width} numbers; there can be 1 to {WIDEST}")
            second = file.readline(LONGEST_LINE)
            file.seek(len(first))
            if _is_text(second, width):
                words, vectors = _read_text(path, file, b"", (n, width))
            else:
                words, vectors = _read_binary(path, file, n, width)
    if not np.isfinite(vectors).all():
        word = words[int(np.flatnonzero(~np.isfinite(vectors).all(1))[0])]
        raise UserError(f"{path}: the vector of {word!r} holds what is no finite number")
    first_places = dict(zip(reversed(words), range(len(words) - 1, -1, -1), strict=True))
    if len(first_places) == len(words):
        return words, vectors
    kept = sorted(first_places.values())
    return [words[i] for i in kept], vectors[kept]


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    try:
        if not path.is_file():
            raise UserError(f"{path} is no file" if path.exists() else f"{path}: no such file")
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from None


def _is_text(line: bytes, width: int) -> bool:
    """Whether a line is a word and so many numbers."""
    fields = line.rsplit(maxsplit=width)
    try:
        return len(fields) == width + 1 and all(map(float, fields[1:])) is not None
    except ValueError:
        return False


def _read_text(
    path: Path, file: BinaryIO, first: bytes, expected: tuple[int, int] | None
) -> tuple[list[str], Floats]:
    """`first` is a line that has been read already; `expected` what a header said."""
    size = path.stat().st_size
    width = expected[1] if expected else len(first.split()) - 1
    if not 1 <= width <= WIDEST or not (expected or _is_text(first, width)):
        raise UserError(
            f"{path} holds no word vectors: its first line is neither two whole numbers, nor a word and its "
            "numbers"
        )
    if expected and expected[0] * (2 * width + 2) > size + 1:
        raise UserError(f"{path} is cut short: {expected[0]} vectors of {width} do not fit {size} bytes")
    words: list[str] = []
    rows: list[Floats] = []
    number = 1 if expected else 0
    line = first or file.readline(LONGEST_LINE)
    while line:
        number += 1
        if line.strip():
            word, *fields = line.rstrip().rsplit(maxsplit=width)
            words.append(_word(word))
            rows.append(_numbers(path, number, fields, width))
        line = file.readline(LONGEST_LINE)
    if expected and len(words) != expected[0]:
        raise UserError(f"{path} says that it holds {expected[0]} words, and holds {len(words)}")
    return words, np.stack(rows) if rows else np.zeros((0, width), np.float32)


def _numbers(path: Path, line: int, fields: Sequence[bytes], width: int) -> Floats:
    try:
        row = np.array(fields, dtype="S").astype(np.float32)
    except ValueError:
        row = np.zeros(0, np.float32)
    if len(row) != width:
        raise UserError(f"{path}: line {line} is no word and {width} numbers")
    return row


def _read_binary(path: Path, file: BinaryIO, n: int, width: int) -> tuple[list[str], Floats]:
    size, at = path.stat().st_size, file.tell()
    if n * (4 * width + 2) > size - at + 1:
        raise UserError(f"{path} is cut short: {n} vectors of {width} do not fit {size} bytes")
    words: list[str] = []
    vectors = np.empty((n, width), np.float32)
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        for i in range(n):
            if data[at : at + 1] == b"\n":  # the original ends each vector with it, others do not
                at += 1
            end = data.find(b" ", at, at + LONGEST_WORD)
            if end < 0 or end + 1 + 4 * width > size:
                raise UserError(f"{path} is cut short or damaged: word {i + 1} of {n} is not whole")
            words.append(_word(data[at:end]))
            at = end + 1 + 4 * width
            vectors[i] = np.frombuffer(data[end + 1 : at], "<f4")
    if size - at > 1:
        raise UserError(f"{path} is damaged: {size - at} bytes follow its {n} vectors")
    return words, vectors


def _word(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")  # published files hold words that were cut within a character


def write(path: Path, words: Sequence[str], vectors: Floats) -> None:
    """Write in word2vec's binary format where the name ends in .bin, else in its text format.

    Raises UserError for a word that the format cannot hold: an empty one, or one with white space in it.
    """
    for word in words:
        if not word or word.split() != [word]:
            raise UserError(f"the word {word!r} holds white space, which separates words in these formats")
    if path.suffix.lower() not in (".bin", ".txt", ".vec"):
        raise UserError(f"{path}: name it .txt or .vec for the text format, .bin for the binary one")
    binary = path.suffix.lower() == ".bin"
    spelled = " %.9g" * vectors.shape[1]  # digits enough to tell every float32 apart
    with output.whole(path) as file:
        file.write(f"{len(words)} {vectors.shape[1]}\n".encode())
        for word, vector in zip(words, vectors, strict=True):
            if binary:
                file.write(word.encode() + b" " + vector.astype("<f4").tobytes() + b"\n")
            else:
                file.write((word + spelled % tuple(vector.tolist()) + "\n").encode())
