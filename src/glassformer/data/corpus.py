"""Encoded text on disk: every document encoded once into one memory-mapped file of token ids.

END doc END doc … END; with a foreign tokenizer that has a token of its own to begin with, START doc END START
doc … END. The folder holds `tokens.bin`, `corpus.json` and the tokenizer.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .. import config
from ..errors import UserError
from . import sources, tokenizers
from .tokenizers import GENERATING, Tokenizer

TOKENS, META = "tokens.bin", "corpus.json"

Tokens = NDArray[np.unsignedinteger]
Advance = Callable[[str, int, int], None]
"""Called as `advance(what, done_bytes, all_bytes)` while something long goes on."""


@dataclass(frozen=True)
class Meta:
    """`corpus.json`. `key` names what was encoded: the documents' bytes and the tokenizer asked for;
    `content` is the digest of what came of it, the tokens and the tokenizer."""

    key: str
    dtype: Literal["uint16", "uint32"]
    n_tokens: int
    n_documents: int
    n_bytes: int
    content: str


@dataclass(frozen=True)
class Corpus:
    """Encoded documents and the tokenizer that encoded them."""

    tokens: Tokens
    tokenizer: Tokenizer
    meta: Meta

    def split(self, valid_fraction: float) -> tuple[Tokens, Tokens]:
        """The text cut by position: first part for training, the rest for validation, no token in both."""
        n_valid = int(len(self.tokens) * valid_fraction)
        cut = len(self.tokens) - n_valid
        return self.tokens[:cut], self.tokens[cut:]


def prepare(
    paths: Sequence[Path],
    folder: Path,
    tokenizer: str | Tokenizer,
    vocab_size: int,
    advance: Advance = lambda what, done, total: None,
    names: Sequence[str] = GENERATING,
) -> Corpus:
    """Encode the documents into `folder`, or link what a neighbouring run has already encoded.

    `tokenizer` is "auto", "chars", "bytes", "bpe" (of `vocab_size`), each with the special tokens `names`, or
    one to take as it is. `folder` appears only once it is whole.
    """
    if isinstance(tokenizer, Tokenizer):
        spec = tokenizer.to_json()
    else:
        spec = ":".join([tokenizer, str(vocab_size), *names[1:]])
    key = _key(paths, spec, advance)
    if (held := _held(folder, key)) is not None:
        return held
    neighbours = sorted(folder.parent.parent.glob(f"*/{folder.name}"))
    lender = next((neighbour for neighbour in neighbours if _held(neighbour, key)), None)
    partial = folder.with_name(folder.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        if lender is not None:
            _link(lender, partial)
        else:
            if isinstance(tokenizer, str):
                tokenizer = tokenizers.choose(
                    tokenizer, lambda: texts(paths, "reading", advance), vocab_size, names
                )
            _encode(paths, partial, tokenizer, key, advance)
        shutil.rmtree(folder, ignore_errors=True)
        partial.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return load(folder)


def load(folder: Path) -> Corpus:
    """The corpus that `prepare` left in a folder."""
    try:
        meta = config.from_dict(Meta, config.read_object(folder / META))
        size, expected = (folder / TOKENS).stat().st_size, meta.n_tokens * np.dtype(meta.dtype).itemsize
        if size != expected:
            raise UserError(
                f"{folder / TOKENS} is cut short or damaged: {size} bytes, where its {meta.n_tokens} tokens "
                f"take {expected}"
            )
        if _content(folder) != meta.content:
            raise UserError(f"{folder} is damaged: its tokens or its tokenizer are not those that were saved")
        tokens = np.memmap(folder / TOKENS, dtype=meta.dtype, mode="r")
    except (OSError, ValueError) as error:
        raise UserError(f"{folder} holds no encoded text that can be read: {error}") from None
    return Corpus(tokens, tokenizers.load(folder), meta)


def _encode(
    paths: Sequence[Path],
    folder: Path,
    tokenizer: Tokenizer,
    key: str,
    advance: Advance,
) -> None:
    tokenizer.save(folder)
    dtype: Literal["uint16", "uint32"] = "uint16" if tokenizer.vocab_size <= 1 << 16 else "uint32"
    start, end = (np.array([token], dtype).tobytes() for token in (tokenizer.start, tokenizer.end))
    n_tokens, n_bytes = 0, 0
    with (folder / TOKENS).open("wb") as file:
        for i, path in enumerate(paths):
            if i == 0 or start != end:
                file.write(start)
                n_tokens += 1
            for text in texts([path], f"encoding {path.name}", advance):
                try:
                    ids = tokenizer.encode_part(text).astype(dtype)
                except UserError as error:
                    raise UserError(f"{path}: {error}") from None
                file.write(ids.tobytes())
                n_tokens += len(ids)
                n_bytes += len(text.encode())
            file.write(end)
            n_tokens += 1
        file.flush()
        os.fsync(file.fileno())
    meta = Meta(key, dtype, n_tokens, len(paths), n_bytes, _content(folder))
    (folder / META).write_text(json.dumps(asdict(meta), indent=1), encoding="utf-8", newline="\n")


def texts(paths: Sequence[Path], what: str, advance: Advance) -> Iterator[str]:
    """The text of files in pieces, with reports of how far it has been read."""
    total, done = sum(path.stat().st_size for path in paths), 0
    for path in paths:
        for text in sources.read(path):
            yield text
            done += len(text.encode())
            advance(what, done, total)


def _key(paths: Sequence[Path], spec: str, advance: Advance) -> str:
    total, done = sum(path.stat().st_size for path in paths), 0
    key = hashlib.sha256(spec.encode())
    for path in paths:
        document = hashlib.sha256()
        for block in _blocks(path):
            document.update(block)
            done += len(block)
            advance("checking", done, total)
        key.update(document.digest())
    return key.hexdigest()


def _blocks(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            while block := file.read(sources.CHUNK):
                yield block
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from None


def _content(folder: Path) -> str:
    digest = hashlib.sha256((folder / tokenizers.FILE).read_bytes())
    with (folder / TOKENS).open("rb") as file:
        while block := file.read(sources.CHUNK):
            digest.update(block)
    return digest.hexdigest()


def _held(folder: Path, key: str) -> Corpus | None:
    """The text that `key` names, if it lies in a folder, whole."""
    try:
        if config.read_object(folder / META).get("key") != key:
            return None
        return load(folder)
    except UserError:
        return None


def _link(source: Path, target: Path) -> None:
    """The same files in `target`, without a second copy on disk where the file system allows it."""
    for path in source.iterdir():
        try:
            os.link(path, target / path.name)
        except OSError:
            shutil.copyfile(path, target / path.name)
