"""Tokenizers of others: a `tokenizer.json` as the `tokenizers` library writes it.

Byte-level BPE (GPT-2, Llama 3, Qwen), Metaspace with or without byte fallback (Llama 1 and 2), WordPiece
(BERT). These may normalise: what `decode` gives back is then not always what `encode` was given.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np

from .labels import byte_letters, labels_of
from .tokenizers import (
    Ids,
    Tokenizer,
    open_library,
    readable,
    require_no_prefix,
    require_unicode,
)

_SPACE = "▁"  # how Metaspace writes a space
_BYTE = re.compile(r"<0x([0-9A-F]{2})>")

Roles = Mapping[str, Sequence[int]]
"""Ids by what they are for: bos, eos (several may end a text), pad, unk, cls, sep, mask."""


class LibraryTokenizer(Tokenizer):
    """A foreign tokenizer behind the interface of ours.

    `end` is the first eos, or sep where there is none. If it `opens`, `encode` puts before a text what the
    file's own post-processor puts there (`<s>`): decoders are trained with it. What an encoder wants around
    a text (`[CLS]`, `[SEP]`) comes from `encode_wrapped` alone.
    """

    kind = "library"

    def __init__(self, spec: str, roles: Roles, *, opens: bool) -> None:
        self._spec, self._opens = spec, opens
        self.roles = {role: tuple(ids) for role, ids in roles.items()}
        described = json.loads(spec)
        require_no_prefix(described)
        _require_template(described)
        self._library = open_library(spec)
        self._library.encode_special_tokens = True  # text that spells a special token is ordinary text
        vocabulary: dict[str, int] = self._library.get_vocab()
        self.vocab_size = max(vocabulary.values(), default=-1) + 1
        names = {token: name for name, token in vocabulary.items()}
        for role, ids in self.roles.items():
            for token in ids:
                if type(token) is not int or token not in names:
                    raise ValueError(f"it has no token {token}, which is to be {role}")
        ends = self.roles.get("eos") or self.roles.get("sep")
        if not ends:
            raise ValueError("no token is named that ends a text (eos)")
        self.end = ends[0]
        added = self._library.get_added_tokens_decoder()
        special = {token for token, entry in added.items() if entry.special}
        special.update(token for ids in self.roles.values() for token in ids)
        self._special = {token: names[token] for token in special}
        style = _style(described)
        self._joins = style in ("bytes", "plain")
        self._bytes = {
            token: name.encode() if token in added else _spelled(name, style)
            for token, name in names.items()
            if token not in special
        }
        probe = self._library.encode("a", add_special_tokens=True)
        marked = [*zip(probe.ids, probe.special_tokens_mask, strict=True)]
        before, after = ([*takewhile(lambda pair: pair[1], side)] for side in (marked, marked[::-1]))
        self._around = [token for token, _ in before], [token for token, _ in reversed(after)]
        self._opening = self._around[0] if opens else []

    @classmethod
    def read(cls, spec: str, roles: Roles, opens: bool, path: Path) -> "LibraryTokenizer":
        """The tokenizer of a file. Raises UserError, naming it, for one that cannot be read."""
        with readable(path, "cannot be used"):
            return cls(spec, roles, opens=opens)

    @property
    def start(self) -> int:
        begins = self._opening or self.roles.get("bos", ())
        return begins[0] if begins else self.end

    def encode(self, text: str, *, allow_special: bool = False) -> Ids:
        """Token ids (n,), after what opens a text. With `allow_special`, the spelling of any special token
        becomes that token. Raises UserError if `text` is no valid Unicode."""
        ids = self.encode_part(text) if not allow_special else self._encode_special(text)
        opened = allow_special and ids[: len(self._opening)].tolist() == self._opening
        return ids if opened else np.concatenate([np.array(self._opening, dtype=np.int64), ids])

    def encode_part(self, text: str) -> Ids:
        require_unicode(text)
        return self._encode(text)

    def encode_wrapped(self, text: str) -> Ids:
        """Token ids (n,) with all that the file's post-processor adds: [CLS] text [SEP] for BERT."""
        require_unicode(text)
        return np.array(self._library.encode(text, add_special_tokens=True).ids, dtype=np.int64)

    def _encode(self, text: str) -> Ids:
        return np.array(self._library.encode(text, add_special_tokens=False).ids, dtype=np.int64)

    def _encode_special(self, text: str) -> Ids:
        require_unicode(text)
        return np.array(self._hearing.encode(text, add_special_tokens=False).ids, dtype=np.int64)

    @cached_property
    def _hearing(self) -> Any:
        """The same once more, which hears special tokens: one that is switched to and fro would not be safe
        in threads."""
        return open_library(self._spec)

    @property
    def ends(self) -> frozenset[int]:
        return frozenset((self.end, *self.roles.get("eos", ())))

    def token_bytes(self, token: int) -> bytes:
        """What a token adds to a running text, none for a special token. Where words are pieces, the space
        before a word belongs to it, also at the beginning of a text, where `decode` leaves it out."""
        return self._bytes.get(token, b"")

    def decode(self, ids: Iterable[int]) -> str:
        """The text of these ids, without special tokens, as the library joins it."""
        plain = [int(token) for token in ids if int(token) not in self._special]
        if self._joins:
            return super().decode(plain)
        text: str = self._library.decode(plain, skip_special_tokens=False)
        return text

    def labels(self, ids: Sequence[int]) -> list[str]:
        return labels_of([self._special.get(token) or self.token_bytes(token) for token in ids])

    @property
    def mask(self) -> int | None:
        return next(iter(self.roles.get("mask", ())), None)

    @property
    def around(self) -> tuple[list[int], list[int]]:
        return self._around

    @property
    def special(self) -> Mapping[int, str]:
        """The special tokens and how they are spelled."""
        return self._special

    @property
    def spec(self) -> str:
        """The `tokenizer.json`, as it was read."""
        return self._spec

    def to_json(self) -> str:
        parts = {"roles": self.roles, "opens": self._opens, "spec": json.loads(self._spec)}
        return json.dumps({"kind": self.kind, **parts}, ensure_ascii=False)


def _style(spec: Mapping[str, Any]) -> str:
    """How the file writes text in its tokens: "bytes", "metaspace", "plain", or the mark of a WordPiece."""
    steps = list(_steps(spec.get("decoder")))
    kinds = {step.get("type") for step in steps}
    if "ByteLevel" in kinds:
        before = [*_steps(spec.get("normalizer")), *_steps(spec.get("pre_tokenizer"))]
        if "ByteLevel" not in {step.get("type") for step in before}:
            raise ValueError("its decoder undoes a ByteLevel that is missing among its pre_tokenizers")
        return "bytes"
    if "WordPiece" in kinds:
        return str(next(step["prefix"] for step in steps if step["type"] == "WordPiece"))
    replaced = [step.get("pattern") for step in steps if step.get("type") == "Replace"]
    if "Metaspace" in kinds or {"String": _SPACE} in replaced:
        return "metaspace"
    if kinds == {"Fuse"}:
        return "plain"
    raise ValueError(
        f"its decoder is {', '.join(sorted(map(str, kinds))) or 'missing'}; known: ByteLevel, Metaspace "
        "(with or without ByteFallback), WordPiece"
    )


def _require_template(spec: Mapping[str, Any]) -> None:
    """What stands around a text must have its ids: the library panics where it has none."""
    for step in _steps(spec.get("post_processor")):
        if step.get("type") == "TemplateProcessing":
            pieces = [piece["SpecialToken"]["id"] for piece in step["single"] if "SpecialToken" in piece]
            if lacking := {*pieces} - step["special_tokens"].keys():
                raise ValueError(f"its post_processor does not say what {min(lacking)} is")


def _steps(part: Any) -> Iterable[Mapping[str, Any]]:
    """A part of a tokenizer, and those of which it is a sequence."""
    if isinstance(part, dict):
        yield part
        for kind in ("normalizers", "pretokenizers", "processors", "decoders"):
            for step in part.get(kind, []):
                yield from _steps(step)


_BYTE_OF = {letter: byte for byte, letter in enumerate(byte_letters())}


def _spelled(name: str, style: str) -> bytes:
    """The bytes that a token, written in a style, stands for."""
    if style == "bytes":
        written = all(letter in _BYTE_OF for letter in name)  # else it stands there as it is
        return bytes(_BYTE_OF[letter] for letter in name) if written else name.encode()
    if style == "plain":
        return name.encode()
    if style == "metaspace":
        if byte := _BYTE.fullmatch(name):
            return bytes([int(byte[1], 16)])
        return name.replace(_SPACE, " ").encode()
    return name.removeprefix(style).encode() if name.startswith(style) else f" {name}".encode()
