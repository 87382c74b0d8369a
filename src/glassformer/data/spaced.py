"""Words divided by spaces as tokens, for pairs of texts: `tokenizer=words`.

A token is what stands between two spaces, signs and capitals included, so that `decode(encode(text))` is the
text; between two spaces in a row stands a token of no letters.
"""

import json
from collections.abc import Iterable, Sequence

import numpy as np

from ..errors import UserError
from .labels import visible
from .tokenizers import END, Ids, Tokenizer

MOST = 100_000
"""Distinct words at most. Each has rows of parameters, and beyond this most are hardly ever trained."""


class SpacedWords(Tokenizer):
    """One token for each word of the training text, in the order of their code points."""

    kind = "spaced"

    def __init__(self, words: Iterable[str]) -> None:
        self.words = sorted(set(words))
        if len(self.words) > MOST:
            raise UserError(
                f"the text has more than {MOST:,} distinct words; tokenizer=bpe makes do with fewer tokens"
            )
        self._ids = {word: i for i, word in enumerate(self.words)}
        self.end = len(self.words)
        self.vocab_size = self.end + 1

    @classmethod
    def learn(cls, texts: Iterable[str]) -> "SpacedWords":
        """The words of texts. Raises UserError for too many of them."""
        words: set[str] = set()
        for text in texts:
            words.update(text.split(" "))
            if len(words) > MOST:
                break
        return cls(words)

    def _encode(self, text: str) -> Ids:
        found = text.split(" ") if text else []
        missing = sorted({word for word in found if word not in self._ids})
        if missing:
            shown = ", ".join(f"'{visible(word)[:40]}'" for word in missing[:5])
            more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
            raise UserError(
                f"the vocabulary of {len(self.words):,} words lacks {shown}{more}; "
                "a run trained with tokenizer=bytes or tokenizer=bpe takes any word"
            )
        return np.array([self._ids[word] for word in found], dtype=np.int64)

    def token_bytes(self, token: int) -> bytes:
        return b"" if token == self.end else self.words[token].encode()

    def decode(self, ids: Iterable[int]) -> str:
        return " ".join(self.words[token] for token in ids if token != self.end)

    def labels(self, ids: Sequence[int]) -> list[str]:
        return [END if token == self.end else visible(self.words[token]) or "␣" for token in ids]

    def to_json(self) -> str:
        return json.dumps({"kind": self.kind, "words": self.words}, ensure_ascii=False)

    @classmethod
    def from_spec(cls, spec: dict[str, object]) -> "SpacedWords":
        """What `to_json` wrote. Raises ValueError for anything else."""
        words = spec.get("words")
        if not (isinstance(words, list) and all(isinstance(word, str) and " " not in word for word in words)):
            raise ValueError("its words are no list of texts without spaces")
        if words != sorted(set(words)):
            raise ValueError("its words are not in order, each once")
        return cls(words)
