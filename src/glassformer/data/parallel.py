"""Pairs of texts to translate between: read, encoded, and made into batches.

A file has one pair a line, `source<TAB>target`; or two files have sources and targets, line by line. Which
batch comes when is a pure function of (seed, step).

Shapes: b pairs, m source tokens, n target tokens, END included.
"""

import hashlib
import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from textwrap import shorten
from typing import Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .. import config
from ..config import require_literals
from ..errors import UserError
from . import sources, tokenizers
from .batches import IGNORE
from .corpus import Advance
from .library import LibraryTokenizer
from .tokenizers import Tokenizer

PAIRS, META = "pairs.tsv", "pairs.json"
_TOLD = 500  # pairs from one word on the progress to the next


@dataclass(frozen=True)
class PairsConfig:
    """How pairs become targets. One tokenizer serves both sides; `words` takes what stands between spaces as
    a token. Of the pairs `valid_fraction` are held out, by their source, so that the same source is never on
    both sides. `label_smoothing` is the share of each target that is spread over the whole vocabulary in
    training (Szegedy et al. 2016); measured is always without."""

    tokenizer: Literal["auto", "chars", "bytes", "bpe", "words"] = "auto"
    bpe_vocab_size: int = 4096
    valid_fraction: float = 0.05
    label_smoothing: float = 0.0

    def __post_init__(self) -> None:
        require_literals(self)
        for name in ("valid_fraction", "label_smoothing"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} must lie in [0, 1), not {getattr(self, name)}")


class Pair(NamedTuple):
    source: str
    target: str


class Encoded(NamedTuple):
    """Token ids of a pair, without END."""

    source: list[int]
    target: list[int]


@dataclass(frozen=True)
class PairBatch:
    """Sources (b, m) and which of their tokens are real; `inputs` (b, n), which begin with the start token,
    and `targets` (b, n), which end with END and are IGNORE beyond: at each place the token after the
    input."""

    source: Tensor
    valid: Tensor
    inputs: Tensor
    targets: Tensor

    @property
    def n_targets(self) -> int:
        return int((self.targets != IGNORE).sum())

    def to(self, device: torch.device) -> "PairBatch":
        return PairBatch(*(part.to(device) for part in (self.source, self.valid, self.inputs, self.targets)))

    def first(self, rows: int) -> "PairBatch":
        return PairBatch(*(part[:rows] for part in (self.source, self.valid, self.inputs, self.targets)))


def read(paths: Sequence[Path]) -> list[Pair]:
    """The pairs of files. Two files without a TAB in their first line are sources and targets; others have
    `source<TAB>target` lines. Empty lines are passed over. Raises UserError, naming file and line."""
    if len(paths) == 2 and not any("\t" in _first_line(path) for path in paths):
        pairs = list(_side_by_side(*paths))
    else:
        pairs = [pair for path in paths for pair in _tabbed(path)]
    if not pairs:
        raise UserError(f"{', '.join(map(str, paths))}: no pair of texts in it")
    return pairs


def lines(path: Path) -> list[str]:
    """The lines of a file, as only a line break ends them. Raises UserError for what is no UTF-8."""
    return "".join(sources.read(path)).removesuffix("\n").split("\n")


def side(path: Path, column: Literal[0, 1]) -> list[str]:
    """The sources (column 0) or targets (1) of a file of pairs, which has a TAB in its first line; of another
    file the lines as they are. Empty lines stay, so that two files go together. Raises UserError as `read`
    does."""
    if "\t" not in _first_line(path):
        return [line.strip() for line in lines(path)]
    numbered = enumerate(lines(path), 1)
    return [_pair(path, number, line)[column] if line.strip() else "" for number, line in numbered]


def _first_line(path: Path) -> str:
    return next((line for line in lines(path) if line.strip()), "")


def _tabbed(path: Path) -> Iterator[Pair]:
    for number, line in enumerate(lines(path), 1):
        if line.strip():
            yield _pair(path, number, line)


def _pair(path: Path, number: int, line: str) -> Pair:
    parts = line.split("\t")
    if len(parts) != 2:
        found = "no TAB" if len(parts) == 1 else f"{len(parts) - 1} TABs"
        raise UserError(f"{path}: line {number} has {found}; a pair is source<TAB>target")
    return _stripped(parts[0], parts[1], f"{path}: line {number}")


def _side_by_side(source: Path, target: Path) -> Iterator[Pair]:
    left, right = lines(source), lines(target)
    if len(left) != len(right):
        raise UserError(f"{source} has {len(left)} lines, {target} has {len(right)}; they must go together")
    for number, (one, other) in enumerate(zip(left, right, strict=True), 1):
        for path, line in ((source, one), (target, other)):
            if "\t" in line:
                raise UserError(f"{path}: line {number} has a TAB, which only a file of pairs may have")
        if one.strip() or other.strip():
            yield _stripped(one, other, f"{source} and {target}: line {number}")


def _stripped(source: str, target: str, where: str) -> Pair:
    pair = Pair(source.strip(), target.strip())
    for side, text in zip(Pair._fields, pair, strict=True):
        if not text:
            raise UserError(f"{where} has an empty {side}")
    return pair


@dataclass(frozen=True)
class Pairs:
    """Pairs and the tokenizer that encodes them."""

    pairs: list[Pair]
    tokenizer: Tokenizer

    def split(self, valid_fraction: float) -> tuple[list[Pair], list[Pair]]:
        """Pairs for training, and those held out: chosen by the digest of their source."""
        seen: list[Pair] = []
        held_out: list[Pair] = []
        for pair in self.pairs:
            out = zlib.crc32(pair.source.encode()) < valid_fraction * 2**32
            (held_out if out else seen).append(pair)
        return seen, held_out

    def encoded(
        self, pairs: Sequence[Pair], context: int | None, advance: Advance = lambda what, done, total: None
    ) -> list[Encoded]:
        """Token ids, without the pairs of which a side, its END included, is longer than a `context`. Raises
        UserError, with the pair, for characters that the vocabulary lacks."""
        encoded: list[Encoded] = []
        for done, pair in enumerate(pairs):
            if done % _TOLD == 0:
                advance("encoding pairs", done, len(pairs))
            encoded.append(self._encoded(pair))
        return [pair for pair in encoded if context is None or max(map(len, pair)) < context]

    def _encoded(self, pair: Pair) -> Encoded:
        try:
            source = source_ids(self.tokenizer, pair.source)
            return Encoded(source, self.tokenizer.encode(pair.target).tolist())
        except UserError as error:
            raise UserError(f"the pair of {shorten(pair.source, 40)!r}: {error}") from None


def prepare(
    paths: Sequence[Path], folder: Path, settings: PairsConfig, tokenizer: Tokenizer | None = None
) -> Pairs:
    """Read pairs and keep them in `folder`, with a tokenizer for both sides: the given one, or a new one."""
    pairs = read(paths)
    tokenizer = tokenizer or tokenizers.choose(
        settings.tokenizer, lambda: (text for pair in pairs for text in pair), settings.bpe_vocab_size
    )
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(folder)
    text = "".join(f"{pair.source}\t{pair.target}\n" for pair in pairs).encode()
    (folder / PAIRS).write_bytes(text)
    (folder / META).write_text(json.dumps({"content": hashlib.sha256(text).hexdigest()}), encoding="utf-8")
    return Pairs(pairs, tokenizer)


def load(folder: Path) -> Pairs:
    """The pairs that `prepare` left in a folder. Raises UserError if they are not those."""
    try:
        content = hashlib.sha256((folder / PAIRS).read_bytes()).hexdigest()
    except OSError as error:
        raise UserError(f"{folder / PAIRS}: {error.strerror}") from None
    if config.read_object(folder / META).get("content") != content:
        raise UserError(f"{folder / PAIRS} is damaged: its pairs are not those that were saved")
    return Pairs(list(_tabbed(folder / PAIRS)), tokenizers.load(folder))


def source_ids(tokenizer: Tokenizer, text: str) -> list[int]:
    """The ids of a source as an encoder reads it: with what a foreign tokenizer puts around a text."""
    encode = tokenizer.encode_wrapped if isinstance(tokenizer, LibraryTokenizer) else tokenizer.encode
    ids: list[int] = encode(text).tolist()
    return ids


def padded(rows: Sequence[Sequence[int]], filler: int, width: int | None = None) -> Tensor:
    """Rows of unequal length as one (b, width), filled up on the right."""
    width = max(map(len, rows), default=0) if width is None else width
    table = torch.full((len(rows), width), filler, dtype=torch.int64)
    for row, ids in zip(table, rows, strict=True):
        row[: len(ids)] = torch.tensor(ids, dtype=torch.int64)
    return table


def sources_of(rows: Sequence[Sequence[int]], filler: int, width: int | None = None) -> tuple[Tensor, Tensor]:
    """Sources side by side (b, m), and which of their tokens are real."""
    source = padded(rows, filler, width)
    lengths = torch.tensor([len(row) for row in rows])
    return source, torch.arange(source.shape[1]) < lengths[:, None]


def batch_of(pairs: Sequence[Encoded], start: int, end: int) -> PairBatch:
    """These pairs as a batch. Here, and nowhere else, the decoder's inputs are shifted: start y_1 … y_n
    beside y_1 … y_n END."""
    source, valid = sources_of([pair.source for pair in pairs], end)
    inputs = padded([[start, *pair.target] for pair in pairs], end)
    targets = padded([[*pair.target, end] for pair in pairs], IGNORE)
    return PairBatch(source, valid, inputs, targets)


@dataclass(frozen=True)
class Buckets:
    """Batches of pairs of about one length, as many as make `batch_tokens`: rows times the longest source or
    target in it, END included. Each epoch deals pairs of a length anew, and takes the batches in a new
    order."""

    pairs: list[Encoded]
    batch_tokens: int
    start: int
    end: int
    seed: int = 0

    @cached_property
    def _lengths(self) -> NDArray[np.int64]:
        return np.array([max(len(pair.source), len(pair.target) + 1) for pair in self.pairs])

    @cached_property
    def _cuts(self) -> list[tuple[int, int]]:
        """Where the batches lie among the pairs in order of length. Lengths do not change with the epoch, so
        neither do these."""
        cuts: list[tuple[int, int]] = []
        first = 0
        lengths = np.sort(self._lengths).tolist()
        for i, length in enumerate(lengths):
            if i > first and (i + 1 - first) * length > self.batch_tokens:
                cuts.append((first, i))
                first = i
        return [*cuts, (first, len(lengths))]

    @property
    def per_epoch(self) -> int:
        """Batches in an epoch: each pair is in one of them."""
        return len(self._cuts)

    def batch(self, step: int, *, micro: int = 0, micros: int = 1) -> PairBatch:
        """Micro-batch `micro` of `micros` of a step."""
        epoch, place = divmod(step * micros + micro, self.per_epoch)
        order, turns = _epoch(self.seed, epoch, self._lengths.tobytes(), self.per_epoch)
        first, last = self._cuts[turns[place]]
        return batch_of([self.pairs[i] for i in order[first:last]], self.start, self.end)

    def in_order(self) -> Iterator[PairBatch]:
        """Each pair once, the same way each time."""
        order = np.argsort(self._lengths, kind="stable")
        for first, last in self._cuts:
            yield batch_of([self.pairs[i] for i in order[first:last]], self.start, self.end)


@lru_cache(maxsize=4)
def _epoch(
    seed: int, epoch: int, lengths: bytes, batches: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs in order of length, those of one length in chance order; and the order of the batches."""
    chance = np.random.default_rng([seed, epoch])
    each = np.frombuffer(lengths, np.int64)
    dealt = chance.permutation(len(each))
    return dealt[np.argsort(each[dealt], kind="stable")], chance.permutation(batches)
