"""Text to token ids and back: characters, bytes, or byte-level BPE; for those of others, see `library`.

No tokenizer here normalises: `decode(encode(text)) == text`, always. Each has one special token, END, which
stands before, between and after documents. Text that merely spells it is ordinary text.
"""

import json
import threading
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..config import parse_object, read_text
from ..errors import UserError

END = "<|endoftext|>"
FILE = "tokenizer.json"
CHARACTER_LIMIT = 10_000
"""`auto` takes characters up to this many distinct ones; beyond it a vocabulary of characters is mostly
rare ones that are hardly ever trained."""

LIMIT = 32 << 20  # bytes of a tokenizer's file: those of the largest vocabularies have half of it
_PROBE = "Don't  E\u0301\tÿ字\n😀 Ａ"

WORDS = r"'(?:[stmd]|re|ve|ll)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
"""BPE joins letters within such words only: letters, digits or signs after at most one space (Radford et al.
2019)."""

LONGEST_WORD = r"[\s\S]{1,64}"
"""Scripts without spaces make words of a whole paragraph; learning from those takes quadratic time."""

Ids = NDArray[np.int64]


class Tokenizer(ABC):
    """What all kinds share. `end` is the id of END."""

    kind: str
    vocab_size: int
    end: int

    @property
    def start(self) -> int:
        """The id that stands before a document: END, unless a foreign tokenizer has another."""
        return self.end

    @property
    def ends(self) -> frozenset[int]:
        """The ids at which a text being written ends."""
        return frozenset((self.end,))

    @property
    def special(self) -> Mapping[int, str]:
        """The special tokens and how they are spelled."""
        return {self.end: END}

    @abstractmethod
    def _encode(self, text: str) -> Ids:
        """The ids of ordinary text."""

    @abstractmethod
    def token_bytes(self, token: int) -> bytes:
        """The UTF-8 bytes that a token stands for; none for END. A token may hold part of a character."""

    @abstractmethod
    def to_json(self) -> str:
        """What `save` writes and `load` reads."""

    def encode(self, text: str, *, allow_special: bool = False) -> Ids:
        """Token ids (n,). With `allow_special`, the spelling of END becomes END itself.

        Raises UserError if the vocabulary lacks a character, or `text` is no valid Unicode.
        """
        require_unicode(text)
        if not allow_special or END not in text:
            return self._encode(text)
        first, *rest = text.split(END)
        end = np.array([self.end])
        return np.concatenate([self._encode(first), *(part for r in rest for part in (end, self._encode(r)))])

    def encode_part(self, text: str) -> Ids:
        """The ids of text that goes on from earlier text: without what `encode` may put before a text."""
        return self.encode(text)

    def decode(self, ids: Iterable[int]) -> str:
        """The text of these ids, without END. Bytes that form no character turn into U+FFFD."""
        return b"".join(self.token_bytes(int(token)) for token in ids).decode("utf-8", "replace")

    def labels(self, ids: Sequence[int]) -> list[str]:
        """A short visible name for each token in its place: "春", "␣the", "字 2/3" for its second byte."""
        return labels_of([END if token == self.end else self.token_bytes(token) for token in ids])

    def save(self, folder: Path) -> None:
        (folder / FILE).write_text(self.to_json(), encoding="utf-8", newline="\n")


class CharTokenizer(Tokenizer):
    """One token per character (Unicode code point) of the training text."""

    kind = "chars"

    def __init__(self, characters: Iterable[str]) -> None:
        self.characters = sorted(set(characters))
        self.end = len(self.characters)
        self.vocab_size = self.end + 1
        self._codes = np.array([ord(c) for c in self.characters], dtype=np.uint32)

    def _encode(self, text: str) -> Ids:
        codes = np.frombuffer(text.encode("utf-32-le"), dtype="<u4")
        ids = np.searchsorted(self._codes, codes)
        known = ids < len(self._codes)
        known[known] = self._codes[ids[known]] == codes[known]
        if not known.all():
            raise UserError(self._unknown(sorted({chr(code) for code in codes[~known]})))
        return ids

    def _unknown(self, missing: list[str]) -> str:
        shown = ", ".join(ascii(c) if visible(c) != c else repr(c) for c in missing[:10])
        more = f" and {len(missing) - 10} more" if len(missing) > 10 else ""
        return (
            f"the vocabulary of {len(self.characters)} characters lacks {shown}{more}; "
            "a run trained with tokenizer=bytes or tokenizer=bpe takes any character"
        )

    def token_bytes(self, token: int) -> bytes:
        return b"" if token == self.end else self.characters[token].encode()

    def to_json(self) -> str:
        return json.dumps({"kind": self.kind, "characters": "".join(self.characters)}, ensure_ascii=False)


class ByteTokenizer(Tokenizer):
    """One token per UTF-8 byte: 256 and END, for any text in any script."""

    kind = "bytes"
    end = 256
    vocab_size = 257

    def _encode(self, text: str) -> Ids:
        return np.frombuffer(text.encode(), dtype=np.uint8).astype(np.int64)

    def token_bytes(self, token: int) -> bytes:
        return b"" if token == self.end else bytes([token])

    def to_json(self) -> str:
        return json.dumps({"kind": self.kind})


class BPETokenizer(Tokenizer):
    """Byte-level byte-pair encoding (Sennrich et al. 2016; Radford et al. 2019)."""

    kind = "bpe"

    def __init__(self, spec: str) -> None:
        require_no_prefix(json.loads(spec))
        self._library = open_library(spec)
        self._library.encode_special_tokens = True  # a spelled-out END is ordinary text
        self._spec = spec
        spelled: dict[str, int] = self._library.get_vocab()
        self.vocab_size = len(spelled)
        if END not in spelled:
            raise ValueError(f"it has no {END}")
        if {*spelled.values()} != {*range(self.vocab_size)}:
            raise ValueError("its ids are not 0, 1, 2, …")
        self.end = spelled.pop(END)
        byte_of = {letter: byte for byte, letter in enumerate(byte_letters())}
        self._bytes = {token: bytes(byte_of[c] for c in letters) for letters, token in spelled.items()}
        if self.decode(self._encode(_PROBE)) != _PROBE:
            raise ValueError("it does not give back the text that it is given")

    @classmethod
    def train(cls, texts: Iterator[str], vocab_size: int) -> "BPETokenizer":
        """Learn merges from `texts` until the vocabulary, END included, has `vocab_size` entries."""
        from tokenizers import Regex, decoders, models, pre_tokenizers, trainers
        from tokenizers import Tokenizer as Library

        alphabet = pre_tokenizers.ByteLevel.alphabet()
        if vocab_size <= len(alphabet):
            raise UserError(f"bpe_vocab_size={vocab_size}: byte-level BPE needs at least {len(alphabet) + 1}")
        library = Library(models.BPE())
        library.pre_tokenizer = pre_tokenizers.Sequence(
            [
                *(pre_tokenizers.Split(Regex(rule), "isolated") for rule in (WORDS, LONGEST_WORD)),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        )
        library.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=vocab_size,
            special_tokens=[END],
            initial_alphabet=sorted(alphabet),
            show_progress=False,
        )
        _interruptibly(lambda: library.train_from_iterator(texts, trainer))
        return cls(library.to_str())

    def _encode(self, text: str) -> Ids:
        return np.array(self._library.encode(text, add_special_tokens=False).ids, dtype=np.int64)

    def token_bytes(self, token: int) -> bytes:
        return self._bytes.get(token, b"")

    def to_json(self) -> str:
        return self._spec


def _interruptibly(work: Callable[[], object]) -> None:
    """Do what a library does without looking up; Ctrl-C leaves it behind."""
    failed: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:  # for the caller, whatever it is
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(0.1)
    if failed:
        raise failed[0]


def require_unicode(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UserError("the text holds bytes that are no valid UTF-8") from None


def require_no_prefix(spec: Mapping[str, Any]) -> None:
    """Raise ValueError for a BPE that marks pieces inside a word. None of those that we take has one, and
    where merges do not fit it the library cuts characters in two, and may bring the whole process down."""
    model = spec["model"]
    if "merges" in model and model.get("continuing_subword_prefix"):
        raise ValueError("its model has a continuing_subword_prefix, which is not supported beside merges")


def open_library(spec: str) -> Any:
    """A tokenizer of the library from the text of its file."""
    from tokenizers import Tokenizer as Library

    library = Library.from_str(spec)
    library.no_truncation()  # a file may cut or fill up every text to a length that suited its maker
    library.no_padding()
    return library


@contextmanager
def readable(path: Path, otherwise: str) -> Iterator[None]:
    """Make one UserError of all that the library raises for a file's sake, panics among it: it has no class
    for them."""
    try:
        yield
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        fault = next(iter(str(error).splitlines()), type(error).__name__)[:200]
        raise UserError(f"{path} {otherwise}: {fault}") from None


def load(folder: Path) -> Tokenizer:
    """The tokenizer saved in a folder. Raises UserError where there is none, or none that can be read."""
    from .library import LibraryTokenizer
    from .spaced import SpacedWords
    from .words import Words

    path = folder / FILE
    if not path.exists():
        raise UserError(f"{folder} holds no {FILE}")
    text = read_text(path, LIMIT)
    spec = parse_object(text, path)
    match spec:
        case {"kind": "chars", "characters": str(characters)}:
            made = CharTokenizer(characters)
            if made.characters != list(characters):
                raise UserError(f"{path} is damaged: its characters are not in order, each once")
            return made
        case {"kind": "bytes"}:
            return ByteTokenizer()
        case {"model": _}:
            with readable(path, "is no byte-level BPE that can be read"):
                return BPETokenizer(text)
        case {"kind": "words"}:
            with readable(path, "is damaged"):
                return Words.from_spec(spec)
        case {"kind": "spaced"}:
            with readable(path, "is damaged"):
                return SpacedWords.from_spec(spec)
        case {"kind": "library", "spec": dict(), "roles": dict(roles), "opens": bool(opens)}:
            return LibraryTokenizer.read(json.dumps(spec["spec"], ensure_ascii=False), roles, opens, path)
    raise UserError(
        f"{path} describes none of the known tokenizers (chars, bytes, bpe, library, words, spaced)"
    )


def choose(kind: str, texts: Callable[[], Iterator[str]], vocab_size: int) -> Tokenizer:
    """The tokenizer for a training text, which `texts()` reads from its start each time.

    "auto": characters while there are at most CHARACTER_LIMIT distinct ones, else BPE of `vocab_size`.
    """
    if kind == "words":
        from .spaced import SpacedWords

        return SpacedWords.learn(texts())
    if kind == "bytes":
        return ByteTokenizer()
    if kind in ("auto", "chars"):
        characters: set[str] = set()
        for text in texts():
            characters.update(text)
            if kind == "auto" and len(characters) > CHARACTER_LIMIT:
                break
        else:
            if len(characters) == 1:
                raise UserError("the text has one distinct character; nothing can be learned from it")
            return CharTokenizer(characters)
    return BPETokenizer.train(texts(), vocab_size)


def visible(text: str) -> str:
    """`text` with spaces, line breaks and other invisible characters made visible."""
    return "".join(_visible(character) for character in text)


def _visible(character: str) -> str:
    marks = {" ": "␣", "\n": "⏎", "\t": "⇥", "\r": "␍"}
    if character in marks:
        return marks[character]
    if (category := unicodedata.category(character))[0] in "CZ" or category in ("Mn", "Me"):
        return f"U+{ord(character):04X}"
    return character


def labels_of(tokens: list[str | bytes]) -> list[str]:
    """Labels for byte strings that may cut characters anywhere; a str stands for a special token."""
    labels: list[str] = []
    run: list[bytes] = []
    for token in [*tokens, ""]:
        if isinstance(token, bytes):
            run.append(token)
        else:
            labels += _labels_of_run(run)
            labels.append(token)
            run = []
    return labels[:-1]


def _labels_of_run(run: list[bytes]) -> list[str]:
    # A byte that belongs to no character survives decoding as a lone surrogate, one for each.
    text = b"".join(run).decode("utf-8", "surrogateescape")
    owner: list[tuple[str, int, int]] = []  # for each byte: its character, its place there, the width
    for character in text:
        if "\ud800" <= character <= "\udfff":
            owner.append((f"0x{ord(character) - 0xDC00:02X}", 1, 1))
        else:
            width = len(character.encode())
            owner += [(visible(character), i + 1, width) for i in range(width)]
    labels, at = [], 0
    for token in run:
        pieces: list[tuple[str, bool]] = []  # and whether it is a whole character
        place = 0
        while place < len(token):
            name, first, width = owner[at + place]
            taken = min(width - first + 1, len(token) - place)
            last = first + taken - 1
            span = f" {first}/{width}" if first == last else f" {first}–{last}/{width}"
            pieces.append((name if taken == width else name + span, taken == width and len(name) == 1))
            place += taken
        labels.append(_beside(pieces))
        at += len(token)
    return labels


def _beside(pieces: list[tuple[str, bool]]) -> str:
    """Characters in one word, what is no whole character apart from its neighbours."""
    label = ""
    for i, (text, whole) in enumerate(pieces):
        apart = i > 0 and not (whole and pieces[i - 1][1])
        label += f" {text}" if apart else text
    return label


def byte_letters() -> str:
    """The printable letter that byte-level BPE writes for each byte: itself where it is printable in
    Latin-1, else the next free code point from U+0100 on."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    letters, free = [], 0x100
    for byte in range(256):
        letters.append(chr(byte if byte in printable else free))
        free += byte not in printable
    return "".join(letters)
