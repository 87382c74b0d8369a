"""Prompts to text: streaming that never cuts a character, and stop strings."""

import codecs
import random
from collections.abc import Iterator, Sequence
from typing import TypedDict, Unpack

from ..data.tokenizers import Tokenizer
from ..errors import UserError
from ..models import LanguageModel
from .loop import Row, write
from .samplers import Sampler


class TextStream:
    """Tokens in, text out, each piece as soon as it is certain.

    Bytes wait until their character is whole; text that may be the beginning of a stop string waits until
    it is decided. `stopped` turns true at the first stop string, which is not part of the text. All pieces
    and `finish()` together are `tokenizer.decode` of the tokens, up to that stop.
    """

    def __init__(self, tokenizer: Tokenizer, stop: Sequence[str] = ()) -> None:
        stop = [stop] if isinstance(stop, str) else stop
        self._tokenizer, self._stop = tokenizer, [text for text in stop if text]
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""
        self.stopped = False

    def push(self, token: int) -> str:
        """The text that this token makes certain; often none."""
        return self._released(self._decoder.decode(self._tokenizer.token_bytes(token)))

    def finish(self) -> str:
        """What was still held back."""
        text = self._released(self._decoder.decode(b"", final=True))
        held, self._held = self._held, ""
        return text if self.stopped else text + held

    def _released(self, text: str) -> str:
        if self.stopped:
            return ""
        text = self._held + text
        # The stop string that is complete first, so that where tokens are cut does not matter.
        found = [(at + len(stop), at) for stop in self._stop if (at := text.find(stop)) >= 0]
        if found:
            self.stopped, self._held = True, ""
            return text[: min(found)[1]]
        wait = max((_overlap(text, stop) for stop in self._stop), default=0)
        self._held = text[len(text) - wait :]
        return text[: len(text) - wait]


def _overlap(text: str, stop: str) -> int:
    """How many characters at the end of `text` may be the beginning of `stop`."""
    return next((n for n in range(min(len(text), len(stop) - 1), 0, -1) if text.endswith(stop[:n])), 0)


def stream(
    model: LanguageModel,
    tokenizer: Tokenizer,
    prompts: Sequence[str],
    *,
    tokens: int = 200,
    sampler: Sampler | None = None,
    stop: Sequence[str] = (),
    seeds: Sequence[str] | None = None,
    cache: bool = True,
) -> Iterator[tuple[int, str]]:
    """Continue each prompt; yield (index of the prompt, next piece of its text) as it is written.

    A text ends after `tokens` tokens, at END, or before the first stop string. An empty prompt begins a new
    document. `seeds[i]` decides prompt i's chances; by default all have the seed 0, so that each row is
    what it would be alone. Raises UserError for a prompt with characters that the vocabulary lacks.
    """
    if not isinstance(model, LanguageModel):
        raise UserError("an encoder reads a text, but has no next token to write")
    if tokens < 0:
        raise UserError(f"tokens must be 0 or more, not {tokens}")
    seeds = ["0/0"] * len(prompts) if seeds is None else seeds
    rows = [
        Row(tokenizer.encode(prompt).tolist() or [tokenizer.start], random.Random(seed))
        for prompt, seed in zip(prompts, seeds, strict=True)
    ]
    streams = [TextStream(tokenizer, stop) for _ in rows]
    written = write(model, rows, sampler or Sampler(), tokens, n_ids=tokenizer.vocab_size, cache=cache)
    return _pieces(model, rows, streams, written, tokenizer.ends)


def _pieces(
    model: LanguageModel,
    rows: list[Row],
    streams: list[TextStream],
    steps: Iterator[Sequence[Row]],
    ends: frozenset[int],
) -> Iterator[tuple[int, str]]:
    """The text of the rows while `steps` writes them. A function of its own: `stream` itself is no generator,
    so that it refuses a bad prompt when it is called and not at the first piece."""
    place = {id(row): i for i, row in enumerate(rows)}
    was_training = model.training
    model.eval()
    try:
        for written in steps:
            for row in written:
                i = place[id(row)]
                if row.tokens[-1] in ends:
                    row.done = True
                    continue
                piece = streams[i].push(row.tokens[-1])
                row.done = streams[i].stopped
                if piece:
                    yield i, piece
    finally:
        model.train(was_training)
    for i, text in enumerate(streams):
        if rest := text.finish():
            yield i, rest


class Options(TypedDict, total=False):
    """What `generate` takes beside its prompt; the defaults are those of `generate_batch`."""

    tokens: int
    temperature: float
    top_k: int | None
    top_p: float | None
    repetition_penalty: float
    stop: Sequence[str]
    seed: int
    cache: bool


def generate(model: LanguageModel, tokenizer: Tokenizer, prompt: str = "", **options: Unpack[Options]) -> str:
    """What the model writes after a prompt, without the prompt. See `generate_batch`."""
    return generate_batch(model, tokenizer, [prompt], 1, **options)[0]


def generate_batch(
    model: LanguageModel,
    tokenizer: Tokenizer,
    prompts: Sequence[str],
    samples: int = 1,
    *,
    tokens: int = 200,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    repetition_penalty: float = 1.0,
    stop: Sequence[str] = (),
    seed: int = 0,
    cache: bool = True,
) -> list[str]:
    """`samples` continuations of each prompt: all of the first prompt, then of the second, and so on.

    See `stream` for where a text ends and `Sampler` for how tokens are drawn. Sample j of every prompt has
    its chances from (seed, j) alone: what a prompt gets does not depend on what else is in the batch.
    Without `cache` every token is recomputed at every step; the result is the same.
    """
    if samples < 1:
        raise UserError(f"samples must be at least 1, not {samples}")
    texts = [""] * (len(prompts) * samples)
    pieces = stream(
        model,
        tokenizer,
        [prompt for prompt in prompts for _ in range(samples)],
        tokens=tokens,
        sampler=Sampler(temperature, top_k, top_p, repetition_penalty),
        stop=stop,
        seeds=[f"{seed}/{j}" for _ in prompts for j in range(samples)],
        cache=cache,
    )
    for i, piece in pieces:
        texts[i] += piece
    return texts
