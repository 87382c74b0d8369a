"""Text to token ids and back: characters, bytes, or byte-level BPE; for those of others, see `library`.

No tokenizer here normalises: `decode(encode(text)) == text`, always. Each has one special token, END, which
stands before, between and after documents. Text that merely spells it is ordinary text.
"""

import json
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import UserError

END = "<|endoftext|>"
FILE = "tokenizer.json"
CHARACTER_LIMIT = 10_000
"""`auto` takes characters up to this many distinct ones; beyond it a vocabulary of characters is mostly
rare ones that are hardly ever trained."""

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
        from tokenizers import Tokenizer as Library

        self._library = Library.from_str(spec)
        self._library.encode_special_tokens = True  # a spelled-out END is ordinary text
        self._spec = spec
        self.vocab_size = self._library.get_vocab_size()
        spelled: dict[str, int] = self._library.get_vocab()
        if END not in spelled:
            raise UserError(f"the tokenizer has no {END}")
        self.end = spelled.pop(END)
        byte_of = {letter: byte for byte, letter in enumerate(byte_letters())}
        self._bytes = {token: bytes(byte_of[c] for c in letters) for letters, token in spelled.items()}

    @classmethod
    def train(cls, texts: Iterator[str], vocab_size: int) -> "BPETokenizer":
        """Learn merges from `texts` until the vocabulary, END included, has `vocab_size` entries."""
        from tokenizers import Tokenizer as Library
        from tokenizers import decoders, models, pre_tokenizers, trainers

        alphabet = pre_tokenizers.ByteLevel.alphabet()
        if vocab_size <= len(alphabet):
            raise UserError(f"vocab_size={vocab_size}: byte-level BPE needs at least {len(alphabet) + 1}")
        library = Library(models.BPE())
        library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        library.decoder = decoders.ByteLevel()
        library.train_from_iterator(
            texts,
            trainers.BpeTrainer(
                vocab_size=vocab_size,
                special_tokens=[END],
                initial_alphabet=sorted(alphabet),
                show_progress=False,
            ),
        )
        return cls(library.to_str())

    def _encode(self, text: str) -> Ids:
        return np.array(self._library.encode(text).ids, dtype=np.int64)

    def token_bytes(self, token: int) -> bytes:
        return self._bytes.get(token, b"")

    def to_json(self) -> str:
        return self._spec


def require_unicode(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UserError("the text holds bytes that are no valid UTF-8") from None


def load(folder: Path) -> Tokenizer:
    """The tokenizer saved in a folder. Raises UserError where there is none, or none that can be read."""
    from .library import LibraryTokenizer

    path = folder / FILE
    try:
        text = path.read_text(encoding="utf-8")
        spec = json.loads(text)
    except FileNotFoundError:
        raise UserError(f"{folder} holds no {FILE}") from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is no JSON text: {error}") from None
    match spec:
        case {"kind": "chars", "characters": str(characters)}:
            return CharTokenizer(characters)
        case {"kind": "bytes"}:
            return ByteTokenizer()
        case {"model": _}:
            try:
                return BPETokenizer(text)
            except Exception as error:  # the library raises nothing more precise
                raise UserError(f"{path} is no byte-level BPE that can be read: {error}") from None
        case {"kind": "library", "spec": dict(), "roles": dict(roles), "opens": bool(opens)}:
            return LibraryTokenizer.read(json.dumps(spec["spec"], ensure_ascii=False), roles, opens, path)
    raise UserError(f"{path} describes none of the known tokenizers (chars, bytes, bpe, library)")


def choose(kind: str, texts: Callable[[], Iterator[str]], vocab_size: int) -> Tokenizer:
    """The tokenizer for a training text, which `texts()` reads from its start each time.

    "auto": characters while there are at most CHARACTER_LIMIT distinct ones, else BPE of `vocab_size`.
    """
    if kind == "bytes":
        return ByteTokenizer()
    if kind in ("auto", "chars"):
        characters: set[str] = set()
        for text in texts():
            characters.update(text)
            if kind == "auto" and len(characters) > CHARACTER_LIMIT:
                break
        else:
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
        label, place = "", 0
        while place < len(token):
            name, first, width = owner[at + place]
            taken = min(width - first + 1, len(token) - place)
            if taken == width:
                label += name
            else:
                last = first + taken - 1
                label += f"{name} {first}/{width}" if first == last else f"{name} {first}–{last}/{width}"
            place += taken
        labels.append(label)
        at += len(token)
    return labels


def byte_letters() -> str:
    """The printable letter that byte-level BPE writes for each byte: itself where it is printable in
    Latin-1, else the next free code point from U+0100 on."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    letters, free = [], 0x100
    for byte in range(256):
        letters.append(chr(byte if byte in printable else free))
        free += byte not in printable
    return "".join(letters)
