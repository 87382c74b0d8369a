"""Greedy decoding beside Hugging Face: the same GPT-2 weights, one prompt of 16 tokens, all new tokens."""

import random
import tempfile
from pathlib import Path

import torch
from transformers import GPT2Config, GPT2LMHeadModel, logging

from glassformer.decoding.loop import Row, write
from glassformer.decoding.samplers import Sampler
from glassformer.hub.folder import open_folder

from .side_by_side import compare

PROMPT = 16


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
    return open_folder(folder).decoder(), theirs


def measure(layers: int, width: int, heads: int, vocabulary: int, tokens: int, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = models(Path(folder), layers, width, heads, vocabulary)
    prompt = [random.Random(0).randrange(vocabulary) for _ in range(PROMPT)]
    written: dict[str, list[int]] = {}

    def our_work() -> None:
        row = Row(list(prompt))
        for _ in write(ours, [row], Sampler(0.0), tokens):
            pass
        written["ours"] = row.tokens

    def their_work() -> None:
        with torch.inference_mode():
            written["theirs"] = theirs.generate(
                torch.tensor([prompt]), max_new_tokens=tokens, do_sample=False, pad_token_id=0
            )[0].tolist()

    compare(f"{layers} x {width}, {tokens} tokens", our_work, "Hugging Face", their_work, rounds, tokens)
    assert written["ours"] == written["theirs"], "not the same continuation"


def main() -> None:
    logging.set_verbosity_error()
    measure(12, 768, 12, 50257, 128, 5)
    measure(6, 384, 6, 256, 256, 5)


if __name__ == "__main__":
    main()
