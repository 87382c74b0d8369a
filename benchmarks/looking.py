"""Recording every attention weight of a 124M model, beside not recording, Hugging Face and TransformerLens;
the page, beside BertViz."""

import tempfile
import time
from pathlib import Path

import torch
from transformers import logging

import glassformer
from glassformer.data.tokenizers import BPETokenizer
from glassformer.glass.trace import trace
from glassformer.models import GPT, GPTConfig

from . import viewers
from .decoding import models
from .side_by_side import compare

WEIGHTS = "blocks.*.attention.weights"


def tracing(tokens: int = 512, rounds: int = 5) -> None:
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = models(Path(folder), 12, 768, 12, 50257)
    theirs.set_attn_implementation("eager")
    ids = torch.randint(50257, (1, tokens), generator=torch.Generator().manual_seed(0))

    @torch.no_grad()
    def forward() -> None:
        ours(ids)

    @torch.no_grad()
    def their_weights() -> None:
        theirs(ids, output_attentions=True)

    what = f"trace of all weights, 12 x 768, {tokens} tokens"
    compare(what, lambda: trace(ours, ids, WEIGHTS), "our own forward without", forward, rounds)
    compare(what, lambda: trace(ours, ids, WEIGHTS), "Hugging Face eager", their_weights, rounds)
    if viewers.available("transformer_lens"):
        lens = viewers.transformer_lens_weights(theirs, ids)
        compare(what, lambda: trace(ours, ids, WEIGHTS), "TransformerLens", lens, rounds)


def page(tokens: int = 256) -> None:
    torch.manual_seed(0)
    tokenizer = BPETokenizer.train(iter(["the cat sees the mouse " * 50]), 300)
    model = GPT(GPTConfig(tokenizer.vocab_size, 1024, 12, 12, d_model=768)).eval()
    text = "the cat sees the mouse. " * tokens
    text = tokenizer.decode(tokenizer.encode(text)[:tokens])
    ids = tokenizer.encode(text)
    with torch.no_grad():
        started = time.perf_counter()
        model(torch.as_tensor(ids)[None])
        forward = time.perf_counter() - started
    started = time.perf_counter()
    html = glassformer.look(model, tokenizer, text)
    seconds = time.perf_counter() - started
    print(
        f"look, 12 x 12 heads, {len(ids)} tokens: {seconds:.2f} s, "
        f"{seconds - forward:.2f} s beyond one forward pass, {len(html) / 1e6:.1f} MB"
    )
    if viewers.available("bertviz"):
        with tempfile.TemporaryDirectory() as folder:
            theirs = models(Path(folder), 12, 768, 12, tokenizer.vocab_size)[1]
        theirs.set_attn_implementation("eager")
        work = viewers.bertviz_page(theirs, torch.as_tensor(ids)[None], tokenizer.labels(ids))
        started = time.perf_counter()
        html = work()
        seconds = time.perf_counter() - started
        print(f"BertViz's view of the same: {seconds:.2f} s, {len(html) / 1e6:.1f} MB")


def main() -> None:
    logging.set_verbosity_error()
    tracing()
    page()


if __name__ == "__main__":
    main()
