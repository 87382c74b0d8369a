"""Recurrent models write with the same loop: a batch changes nothing, and no text is too long."""

import random

import pytest
import torch

from glassformer import generate, int8
from glassformer.data.tokenizers import CharTokenizer
from glassformer.decoding import loop
from glassformer.decoding.kernel import kernel
from glassformer.decoding.loop import Row, write
from glassformer.decoding.samplers import Sampler
from glassformer.models import RecurrentConfig, RecurrentLM

KINDS = pytest.mark.parametrize("kind", ["rnn", "lstm", "gru"])
PROMPTS = [[7, 8, 9, 3, 1], [4], [2, 10, 0, 5, 6, 1, 1, 3], [9, 9, 2], [*range(11), 0, 1, 2]]
SAMPLED = Sampler(1.5, top_k=9, top_p=0.95, repetition_penalty=1.1)


def make(kind="lstm", dtype=torch.float64):
    """With large weights: no two logits are so close that rounding could decide."""
    torch.manual_seed(0)
    model = RecurrentLM(RecurrentConfig(11, kind, context=4, n_layers=2, d_model=16, tie_embeddings=False))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.6)
    return model.to(dtype).eval()


def written(model, prompts, n, sampler, quotas=None, **options):
    rows = [Row(list(prompt), random.Random(1)) for prompt in prompts]
    for active in write(model, rows, sampler, n, **options):
        for i, row in enumerate(rows):
            if row in active and quotas and len(row.tokens) - len(prompts[i]) == quotas[i]:
                row.done = True
    return [row.tokens[len(prompt) :] for row, prompt in zip(rows, prompts, strict=True)]


@KINDS
def test_greedy_is_the_likeliest_after_the_whole_text(kind):
    """Far beyond the context, which is that of training alone."""
    model, tokens = make(kind), [*PROMPTS[0]]
    with torch.no_grad():
        for _ in range(40):
            tokens.append(int(model(torch.tensor([tokens]))[0][0, -1].argmax()))
    expected = tokens[len(PROMPTS[0]) :]
    assert written(model, PROMPTS[:1], 40, Sampler(0)) == [expected]
    assert written(model, PROMPTS[:1], 40, Sampler(0), cache=False) == [expected]


@KINDS
@pytest.mark.parametrize("sampler", [Sampler(0), SAMPLED], ids=["greedy", "sampled"])
@pytest.mark.parametrize("chunk", [3, 256])
def test_each_row_comes_out_as_it_would_alone(kind, sampler, chunk, monkeypatch):
    """Unequal prompts, rows that end early, and prompts read in chunks, some of which are all padding."""
    monkeypatch.setattr(loop, "CHUNK", chunk * len(PROMPTS))
    model, quotas = make(kind), [3, 20, 1, 20, 7]
    together = written(model, PROMPTS, 20, sampler, quotas)
    alone = [written(model, [prompt], 20, sampler, [n])[0] for prompt, n in zip(PROMPTS, quotas, strict=True)]
    assert together == alone
    assert [len(row) for row in together] == quotas


def test_every_token_is_read_once(monkeypatch):
    model, passes = make(), []
    forward = RecurrentLM.forward

    def watched(self, tokens, state=None, **options):
        passes.append(tokens.shape[1])
        return forward(self, tokens, state, **options)

    monkeypatch.setattr(RecurrentLM, "forward", watched)
    written(model, PROMPTS[:1], 30, Sampler(0))
    assert passes == [5] + [1] * 29  # a window would be rebuilt


@KINDS
def test_text_is_written_and_int8_is_for_the_head(kind):
    tokenizer = CharTokenizer("abcdefghij")
    model = make(kind, torch.float32)
    text = generate(model, tokenizer, "abc", tokens=20, temperature=0)
    assert text == generate(model, tokenizer, "abc", tokens=20, temperature=0, cache=False)
    if kernel() is not None:
        assert isinstance(generate(int8(model), tokenizer, "abc", tokens=5), str)
