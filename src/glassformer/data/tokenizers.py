"""Text to token ids and back: characters, bytes, or byte-level BPE; for those of others, see `library`.

No tokenizer here normalises: `decode(encode(text)) == text`, always. Each has a special token, END, which
stands before, between and after documents; an encoder has two more, CLS to begin a text with and MASK to hide
a token behind. Text that merely spells one of them is ordinary text.
"""

import json
import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..config import parse_object, read_text
from ..errors import UserError
from .labels import byte_letters, labels_of, visible

END, CLS, MASK = "<|endoftext|>", "[CLS]", "[MASK]"
GENERATING, ENCODING = (END,), (END, CLS, MASK)
"""The special tokens of a model that writes, and of one that reads: letters and signs in each, so that BPE,
which never joins the two, cannot learn one of them as a word."""

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
    """What all kinds share. `end` is the id of END; the other special `names` have those after it."""

    kind: str
    vocab_size: int
    end: int
    names: Sequence[str] = GENERATING

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
        return {self.end + i: name for i, name in enumerate(self.names)}

    @property
    def mask(self) -> int | None:
        """The id of the token that hides another, if there is one."""
        return self.end + self.names.index(MASK) if MASK in self.names else None

    @property
    def around(self) -> tuple[list[int], list[int]]:
        """What an encoder reads before and after a text: CLS and END, or nothing."""
        if CLS not in self.names:
            return [], []
        return [self.end + self.names.index(CLS)], [self.end]

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
        """Token ids (n,). With `allow_special`, the spelling of a special token becomes that token.

        Raises UserError if the vocabulary lacks a character, or `text` is no valid Unicode.
        """
        require_unicode(text)
        if not allow_special:
            return self._encode(text)
        ids = {name: token for token, name in self.special.items()}
        parts = re.split(f"({'|'.join(map(re.escape, ids))})", text)
        return np.concatenate([np.array([ids[p]]) if i % 2 else self._encode(p) for i, p in enumerate(parts)])

    def encode_part(self, text: str) -> Ids:
        """The ids of text that goes on from earlier text: without what `encode` may put before a text."""
        return self.encode(text)

    def encode_wrapped(self, text: str) -> Ids:
        """Token ids (n,) with what an encoder reads around a text."""
        before, after = (np.array(ids, dtype=np.int64) for ids in self.around)
        return np.concatenate([before, self.encode_part(text), after])

    def decode(self, ids: Iterable[int]) -> str:
        """The text of these ids, without special tokens. Bytes that form no character turn into U+FFFD."""
        return b"".join(self.token_bytes(int(token)) for token in ids).decode("utf-8", "replace")

    def labels(self, ids: Sequence[int]) -> list[str]:
        """A short visible name for each token in its place: "春", "␣the", "字 2/3" for its second byte."""
        special = self.special
        return labels_of([special.get(token) or self.token_bytes(token) for token in ids])

    def save(self, folder: Path) -> None:
        (folder / FILE).write_text(self.to_json(), encoding="utf-8", newline="\n")


class CharTokenizer(Tokenizer):
    """One token per character (Unicode code point) of the training text."""

    kind = "chars"

    def __init__(self, characters: Iterable[str], names: Sequence[str] = GENERATING) -> None:
        self.characters = sorted(set(characters))
        self.names, self.end = names, len(self.characters)
        self.vocab_size = self.end + len(names)
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
        return b"" if token >= self.end else self.characters[token].encode()

    def to_json(self) -> str:
        described = {"kind": self.kind, **_named(self.names), "characters": "".join(self.characters)}
        return json.dumps(described, ensure_ascii=False)


class ByteTokenizer(Tokenizer):
    """One token per UTF-8 byte: 256 and the special ones, for any text in any script."""

    kind = "bytes"
    end = 256

    def __init__(self, names: Sequence[str] = GENERATING) -> None:
        self.names = names
        self.vocab_size = self.end + len(names)

    def _encode(self, text: str) -> Ids:
        return np.frombuffer(text.encode(), dtype=np.uint8).astype(np.int64)

    def token_bytes(self, token: int) -> bytes:
        return b"" if token >= self.end else bytes([token])

    def to_json(self) -> str:
        return json.dumps({"kind": self.kind, **_named(self.names)})


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
        self.end = spelled[END]
        added = self._library.get_added_tokens_decoder()
        self.names = [added[token].content for token in sorted(added) if added[token].special]
        if [spelled.pop(name) for name in self.names] != [*range(self.end, self.end + len(self.names))]:
            raise ValueError(f"its special tokens are not {END} and those after it")
        byte_of = {letter: byte for byte, letter in enumerate(byte_letters())}
        self._bytes = {token: bytes(byte_of[c] for c in letters) for letters, token in spelled.items()}
        if self.decode(self._encode(_PROBE)) != _PROBE:
            raise ValueError("it does not give back the text that it is given")

    @classmethod
    def train(
        cls, texts: Iterator[str], vocab_size: int, names: Sequence[str] = GENERATING
    ) -> "BPETokenizer":
        """Learn merges from `texts` until the vocabulary, special tokens included, has `vocab_size`
        entries."""
        from tokenizers import Regex, decoders, models, pre_tokenizers, trainers
        from tokenizers import Tokenizer as Library

        alphabet = pre_tokenizers.ByteLevel.alphabet()
        if vocab_size < (least := len(alphabet) + len(names)):
            raise UserError(f"bpe_vocab_size={vocab_size}: byte-level BPE needs at least {least}")
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
            special_tokens=[*names],
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
            made = CharTokenizer(characters, _names(spec, path))
            if made.characters != list(characters):
                raise UserError(f"{path} is damaged: its characters are not in order, each once")
            return made
        case {"kind": "bytes"}:
            return ByteTokenizer(_names(spec, path))
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


def _named(names: Sequence[str]) -> dict[str, list[str]]:
    """What a file says of special tokens: nothing of END alone."""
    return {"special": [*names]} if tuple(names) != GENERATING else {}


def _names(spec: Mapping[str, Any], path: Path) -> Sequence[str]:
    """What `_named` said. Raises UserError for other special tokens than ours."""
    names = spec.get("special", GENERATING)
    if not isinstance(names, list | tuple) or tuple(names) not in (GENERATING, ENCODING):
        raise UserError(f"{path} is damaged: its special tokens are none of ours")
    return tuple(names)


def choose(
    kind: str, texts: Callable[[], Iterator[str]], vocab_size: int, names: Sequence[str] = GENERATING
) -> Tokenizer:
    """The tokenizer for a training text, which `texts()` reads from its start each time, with these special
    tokens.

    "auto": characters while there are at most CHARACTER_LIMIT distinct ones, else BPE of `vocab_size`.
    """
    if kind == "words":
        from .spaced import SpacedWords

        return SpacedWords.learn(texts())
    if kind == "bytes":
        return ByteTokenizer(names)
    if kind in ("auto", "chars"):
        characters: set[str] = set()
        for text in texts():
            characters.update(text)
            if kind == "auto" and len(characters) > CHARACTER_LIMIT:
                break
        else:
            if len(characters) == 1:
                raise UserError("the text has one distinct character; nothing can be learned from it")
            return CharTokenizer(characters, names)
    return BPETokenizer.train(texts(), vocab_size, names)
