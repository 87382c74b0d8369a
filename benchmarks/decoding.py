"""Greedy writing beside Hugging Face: the same GPT-2 weights and prompts, all new tokens.

CTranslate2 is measured too where it can be imported, with two threads and with one.
"""

import random
import tempfile
from collections.abc import Callable
from pathlib import Path

import torch
from transformers import GPT2Config, GPT2LMHeadModel, logging

from glassformer.decoding.loop import Row, write
from glassformer.decoding.prepare import int8
from glassformer.decoding.samplers import Sampler
from glassformer.hub.folder import open_folder
from glassformer.models import Decoder

from . import ctranslate
from .side_by_side import compare

SHAPES = {"12 x 768": (12, 768, 12, 50257), "6 x 384": (6, 384, 6, 256)}
Written = list[list[int]]


def models(folder: Path, layers: int, width: int, heads: int, vocabulary: int) -> tuple:
    """The same random weights as our model and as theirs."""
    torch.manual_seed(0)
    theirs = GPT2LMHeadModel(
        GPT2Config(
            n_layer=layers,
            n_embd=width,
            n_head=heads,
            vocab_size=vocabulary,
            n_positions=1024,
            bos_token_id=None,
            eos_token_id=None,
        )
    ).eval()
    theirs.save_pretrained(folder)
    return open_folder(folder).language_model(), theirs


def prompts(vocabulary: int, rows: int, length: int) -> Written:
    chance = random.Random(0)
    return [[chance.randrange(vocabulary) for _ in range(length)] for _ in range(rows)]


def our_work(model: Decoder, given: Written, tokens: int, into: Written) -> Callable[[], None]:
    def work() -> None:
        rows = [Row(list(prompt)) for prompt in given]
        for _ in write(model, rows, Sampler(0.0), tokens):
            pass
        into[:] = [row.tokens for row in rows]

    return work


def their_work(
    model: GPT2LMHeadModel, given: Written, tokens: int, into: Written | None = None
) -> Callable[[], None]:
    @torch.inference_mode()
    def work() -> None:
        ids = torch.tensor(given)
        written = model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=tokens,
            min_new_tokens=tokens,
            do_sample=False,
            pad_token_id=0,
        )
        if into is not None:
            into[:] = written.tolist()

    return work


def measure(shape: str, rows: int, length: int, tokens: int, rounds: int = 5) -> None:
    """Ours in float32, and for one row in int8 and beside CTranslate2."""
    vocabulary = SHAPES[shape][-1]
    given = prompts(vocabulary, rows, length)
    a: Written = []
    b: Written = []
    what = f"{shape}, {rows} x ({length} + {tokens}) tokens"
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = models(Path(folder), *SHAPES[shape])
    done = rows * (length if tokens == 1 else tokens)
    them = "Hugging Face"
    written = their_work(theirs, given, tokens, b)
    compare(f"{what}, float32", our_work(ours, given, tokens, a), them, written, rounds, done)
    assert a == b, "not the same continuation"
    if tokens == 1:
        return
    smaller = our_work(int8(ours), given, tokens, a)
    compare(f"{what}, int8 beside float32", smaller, them, written, rounds, done)
    for kind, work in (("float32", our_work(ours, given, tokens, a)), ("int8", smaller)):
        for threads in (1, 2):
            if peer := ctranslate.work(theirs, given, tokens, kind, threads):
                compare(f"{what}, {kind}", work, f"CTranslate2 with {threads} threads", peer, rounds, done)


def main() -> None:
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    if not ctranslate.available():
        print("CTranslate2 is not installed; skipped")
    measure("12 x 768", 1, 16, 128)
    measure("6 x 384", 1, 16, 256)
    measure("12 x 768", 8, 16, 32)
    measure("12 x 768", 32, 16, 32, rounds=3)
    measure("12 x 768", 1, 1000, 1)


if __name__ == "__main__":
    main()
