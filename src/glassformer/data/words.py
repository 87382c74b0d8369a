"""Text as words, for word vectors: what counts as a word, and the vocabulary of a text with its counts.

Four ways to split, named in the settings:

    spaces       runs of letters and digits; a single ' ’ - . & · _ within one belongs to it (don't,
                 U.S.A, 3.5, new_york), all other signs only separate
    characters   the same, but each Chinese or Japanese character is a word by itself
    jieba        what the segmenter of that name finds (an optional extra)
    MODULE:NAME  a function of yours, text -> words

Words that hold no letter or digit are left out. Unlike the other tokenizers this one loses text:
signs, rare words and, with `lower`, capitals.
"""

import importlib
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np

from ..errors import UserError
from .tokenizers import LIMIT, Ids, Tokenizer

LONGEST = 100  # characters of a word; what goes beyond is cut, as in the original
MOST = 1_000_000  # words of a vocabulary
NAMED = ("spaces", "characters", "jieba")

_JOINS = "'’\\-.&·_"
_IDEOGRAPHS = "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"

Splitter = Callable[[str], Iterable[str]]
Breaks = Literal["documents", "lines"]


@dataclass(frozen=True)
class WordsConfig:
    """How text becomes words. `breaks`: a window of neighbours ends with the document, or with the line.
    Words seen less than `min_count` times are left out as if they did not stand there. The last
    `valid_fraction` of the text is held out. The text is read `epochs` times, unless `steps` says how long
    to train."""

    words: str = "spaces"
    lower: bool = True
    breaks: Breaks = "documents"
    min_count: int = 5
    max_words: int = MOST
    valid_fraction: float = 0.0
    epochs: int = 5

    def __post_init__(self) -> None:
        if self.words not in NAMED and not re.fullmatch(r"[\w.]+:\w+", self.words):
            raise ValueError(f"words must be {' | '.join(NAMED)} or MODULE:FUNCTION, not {self.words!r}")
        if self.breaks not in ("documents", "lines"):
            raise ValueError(f"breaks must be documents | lines, not {self.breaks!r}")
        for name in ("min_count", "max_words", "epochs"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")
        if self.max_words > MOST:
            raise ValueError(f"max_words must be at most {MOST}, not {self.max_words}")
        if not 0 <= self.valid_fraction < 1:
            raise ValueError(f"valid_fraction must lie in [0, 1), not {self.valid_fraction}")


class Words(Tokenizer):
    """A vocabulary of words, the most frequent first, and after them END, which stands for a break.

    `encode` leaves out what it does not know. `counts` (n,) are those of the text it was made from.
    """

    kind = "words"

    def __init__(
        self,
        words: Iterable[str],
        counts: Iterable[int],
        split: str = "spaces",
        lower: bool = True,
        breaks: Breaks = "documents",
        splitter: Splitter | None = None,
    ) -> None:
        self.words = list(words)
        self.counts: Ids = np.array(list(counts), dtype=np.int64)
        if len(self.counts) != len(self.words) or (len(self.words) and self.counts.min() < 1):
            raise ValueError("each word must have a count of at least 1")
        self.ids = {word: i for i, word in enumerate(self.words)}
        if len(self.ids) < len(self.words):
            raise ValueError("a word stands there twice")
        self.split, self.lower, self.breaks = split, lower, breaks
        self._splitter = splitter
        self.end = len(self.words)
        self.vocab_size = self.end + 1

    def _encode(self, text: str) -> Ids:
        if self._splitter is None:
            if self.split not in NAMED:  # a run folder must not choose what code is called
                raise UserError(f"the words of this run were found by {self.split}; it is not called again")
            self._splitter = splitter(self.split)
        known, ids = self.ids.get, list[int | None]()
        if self.breaks == "documents":
            ids = [known(word) for word in cleaned(text, self._splitter, self.lower)]
        else:
            for line in text.splitlines():
                ids += [known(word) for word in cleaned(line, self._splitter, self.lower)]
                ids.append(self.end)
        return np.array([i for i in ids if i is not None], dtype=np.int64)

    def token_bytes(self, token: int) -> bytes:
        return b"" if token == self.end else self.words[token].encode()

    def decode(self, ids: Iterable[int]) -> str:
        return " ".join(self.words[i] for i in ids if i != self.end)

    def find(self, word: str) -> int | None:
        """The id of a word as it stands, or in lower case where the vocabulary is; None if unknown."""
        return self.ids.get(word, self.ids.get(word.lower()) if self.lower else None)

    def to_json(self) -> str:
        settings = {"kind": self.kind, "split": self.split, "lower": self.lower, "breaks": self.breaks}
        return json.dumps(
            {**settings, "words": self.words, "counts": self.counts.tolist()}, ensure_ascii=False
        )

    @classmethod
    def from_spec(cls, spec: dict[str, Any]) -> "Words":
        """What `to_json` wrote. Raises ValueError for anything else."""
        words, counts = spec.get("words"), spec.get("counts")
        split, lower, breaks = spec.get("split"), spec.get("lower"), spec.get("breaks")
        if not (isinstance(words, list) and all(isinstance(word, str) and word for word in words)):
            raise ValueError("its words are no list of texts")
        if not (isinstance(counts, list) and all(type(n) is int and 0 < n < 1 << 62 for n in counts)):
            raise ValueError("its counts are no list of whole numbers above 0")
        if not isinstance(split, str) or type(lower) is not bool or breaks not in ("documents", "lines"):
            raise ValueError("it does not say how text was split")
        return cls(words, counts, split, lower, breaks)


def learn(texts: Iterable[str], config: WordsConfig) -> Words:
    """The vocabulary of a text that comes in pieces. Raises UserError where nothing, or too much, is left."""
    found = splitter(config.words)
    counter: Counter[str] = Counter()
    for text in texts:
        counter.update(cleaned(text, found, config.lower))
    kept = [(word, n) for word, n in counter.most_common(config.max_words) if n >= config.min_count]
    if len(kept) < 2:
        raise UserError(
            f"{len(kept)} of the text's {len(counter)} words stand there {config.min_count} times or more; "
            "give more text, or a smaller min_count"
        )
    words, counts = zip(*kept, strict=True)
    made = Words(words, counts, config.words, config.lower, config.breaks, found)
    if len(made.to_json().encode()) > LIMIT:
        raise UserError(f"{len(words)} words are too many to keep; give a larger min_count, or max_words")
    return made


def cleaned(text: str, splitter: Splitter, lower: bool) -> Iterator[str]:
    """The words of a text, without those that are only signs; white space within one becomes _."""
    if lower:
        text = text.lower()
    found = splitter(text)
    if splitter in (_spaces(), _characters()):
        yield from (word[:LONGEST] for word in found)
        return
    has_letter = _letters()
    for word in found:
        if not isinstance(word, str):
            raise UserError(f"the function that finds words gave {word!r}, which is no text")
        if has_letter.search(word):
            yield "_".join(word.split())[:LONGEST]


def splitter(name: str) -> Splitter:
    """The function behind a name of `WordsConfig.words`. Raises UserError for one that cannot be had."""
    if name == "spaces":
        return _spaces()
    if name == "characters":
        return _characters()
    if name == "jieba":
        return _jieba()
    module, _, function = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise UserError(f"words={name}: {error}") from None
    if not callable(found):
        raise UserError(f"words={name} is no function")
    return found  # type: ignore[no-any-return]


def _jieba() -> Splitter:
    try:
        import jieba
    except ImportError:
        raise UserError("words=jieba needs a package: pip install jieba, or glassformer[jieba]") from None
    jieba.setLogLevel("WARNING")
    return jieba.cut  # type: ignore[no-any-return]


@cache
def _spaces() -> Splitter:
    word = f"[^\\W_]+(?:[{_marks()}]+[^\\W_]*)*"
    return re.compile(f"{word}(?:[{_JOINS}]{word})*").findall


@cache
def _characters() -> Splitter:
    part = f"(?:(?![{_IDEOGRAPHS}])[^\\W_][{_marks()}]*)+"
    return re.compile(f"[{_IDEOGRAPHS}]|{part}(?:[{_JOINS}]{part})*").findall


@cache
def _letters() -> re.Pattern[str]:
    return re.compile(r"[^\W_]")


@cache
def _marks() -> str:
    """Accents and vowel signs that stand beside their letter, as the inside of a character class. To `re`
    they are no part of a word; without them the words of many scripts fall apart."""
    ranges: list[list[int]] = []
    for code in range(0x300, 0x1F000):  # none before, and beyond only variants that pick a glyph
        if unicodedata.category(chr(code))[0] == "M":
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    return "".join(f"\\U{a:08x}-\\U{b:08x}" for a, b in ranges)
