"""A long prompt in chunks is the same as at once: logits, state and text, with padding too."""

import pytest
import torch

from glassformer.decoding import loop
from glassformer.decoding.loop import Row, write
from glassformer.decoding.pace import Pace
from glassformer.decoding.samplers import Sampler
from glassformer.models import GPT, GPTConfig
from glassformer.nn.blocks import initialise

PROMPTS = [[7, 8, 9, 3, 1, 4, 4, 2, 5, 0, 1], [4], [2, 10, 0, 5, 6, 1, 1, 3], [9, 9, 2]]
POSITIONS = pytest.mark.parametrize("positions", ["rotary", "learned", "sinusoidal", "relative", "none"])


def make(positions):
    torch.manual_seed(0)
    model = GPT(GPTConfig(11, 24, 2, 2, d_model=16, positions=positions, tie_embeddings=False))
    initialise(model, 1, std=0.5)
    return model.eval()


@torch.inference_mode()
def read(model, prompts):
    return loop._read(model, Pace(model), prompts, model.new_state(len(prompts), 12))


@POSITIONS
@pytest.mark.parametrize("chunk", [1, 4, 12, 20, 43])
@pytest.mark.parametrize("rows", [1, 4])
def test_chunks_are_one_pass(positions, chunk, rows, monkeypatch):
    model, prompts = make(positions), PROMPTS[:rows]
    at_once, state = read(model, prompts)
    monkeypatch.setattr(loop, "CHUNK", chunk)
    logits, in_chunks = read(model, prompts)
    assert logits.shape == (rows, 1, 11)
    assert in_chunks.length == state.length == 11
    torch.testing.assert_close(logits, at_once, atol=1e-5, rtol=1e-5)
    with torch.inference_mode():
        for i, prompt in enumerate(prompts):
            alone = model(torch.tensor([prompt]))[0][0, -1]
            torch.testing.assert_close(logits[i, 0], alone, atol=1e-5, rtol=1e-5)
            after, _ = model(torch.tensor([[3]] * rows), in_chunks)
            alone = model(torch.tensor([[*prompt, 3]]))[0][0, -1]
            torch.testing.assert_close(after[i, 0], alone, atol=1e-5, rtol=1e-5)


@POSITIONS
def test_no_pass_is_larger_than_a_chunk(positions, monkeypatch):
    model, shapes = make(positions), []
    model.register_forward_pre_hook(lambda module, args: shapes.append(tuple(args[0].shape)))
    monkeypatch.setattr(loop, "CHUNK", 8)
    list(write(model, [Row(list(prompt)) for prompt in PROMPTS], Sampler(0), 2))
    assert shapes == [(4, 2)] * 5 + [(4, 1)] * 2
    shapes.clear()
    list(write(model, [Row(list(PROMPTS[0]))], Sampler(0), 2, cache=False))
    assert shapes == [(1, 11), (1, 12)]


def test_only_the_last_logits_on_request():
    model, tokens = make("rotary"), torch.tensor([[1, 2, 3], [4, 5, 6]])
    with torch.inference_mode():
        torch.testing.assert_close(model(tokens, last_only=True)[0], model(tokens)[0][:, -1:])
