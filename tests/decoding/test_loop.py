"""The loop: a cache changes nothing but the speed, a batch nothing at all, and no length is too long."""

import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from glassformer.decoding.loop import Row, window_start, write
from glassformer.decoding.samplers import Sampler
from glassformer.models import GPT, GPTConfig
from glassformer.nn.blocks import initialise

POSITIONS = pytest.mark.parametrize("positions", ["rotary", "learned", "sinusoidal", "relative", "none"])
PROMPT = [7, 8, 9, 3, 1]
PROMPTS = [PROMPT, [4], [2, 10, 0, 5, 6, 1, 1, 3], [9, 9, 2], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0, 1, 2]]
GREEDY, SAMPLED = Sampler(0), Sampler(1.5, top_k=9, top_p=0.95, repetition_penalty=1.1)


def make(positions="rotary", context=8):
    """In float64 and with large weights: no two logits are so close that rounding could decide."""
    torch.manual_seed(3)
    sizes = {"n_layers": 2, "n_heads": 2, "d_model": 16, "tie_embeddings": False}
    model = GPT(GPTConfig(11, context, positions=positions, **sizes))
    initialise(model, 1, std=0.5)
    return model.double().eval()


def written(model, prompts, n, sampler=GREEDY, quotas=None, **options):
    """The new tokens of each row; `quotas[i]` ends row i after so many."""
    rows = [Row(list(prompt), random.Random(1)) for prompt in prompts]
    for active in write(model, rows, sampler, n, **options):
        for i, row in enumerate(rows):
            if row in active and quotas and len(row.tokens) - len(prompts[i]) == quotas[i]:
                row.done = True
    return [row.tokens[len(prompt) :] for row, prompt in zip(rows, prompts, strict=True)]


def by_definition(model, prompt, n):
    """Greedy, one whole pass per token over the window as docs/generation.md has it."""
    tokens, context = list(prompt), model.config.context
    for _ in range(n):
        start = 0
        while len(tokens) - start > context:
            start += max(1, context // 2)
        with torch.no_grad():
            tokens.append(int(model(torch.tensor([tokens[start:]]))[0][0, -1].argmax()))
    return tokens[len(prompt) :]


@pytest.fixture
def passes():
    """A model, and the (rows, tokens) of each of its passes."""
    model, shapes = make(), []
    model.register_forward_pre_hook(lambda module, args: shapes.append(tuple(args[0].shape)))
    return model, shapes


@POSITIONS
@pytest.mark.parametrize("context", [1, 2, 7, 8])
@pytest.mark.parametrize("prompt", [PROMPT, PROMPTS[-1]], ids=["short", "long"])
def test_cache_changes_nothing_across_the_limit(positions, context, prompt):
    model = make(positions, context)
    expected = by_definition(model, prompt, 20)
    assert written(model, [prompt], 20) == [expected]
    assert written(model, [prompt], 20, cache=False) == [expected]
    sampled = written(model, [prompt], 20, SAMPLED)
    assert written(model, [prompt], 20, SAMPLED, cache=False) == sampled
    assert len(set(sampled[0])) > 3


@POSITIONS
@pytest.mark.parametrize("sampler", [GREEDY, SAMPLED], ids=["greedy", "sampled"])
@pytest.mark.parametrize("cache", [True, False])
def test_each_row_comes_out_as_it_would_alone(positions, sampler, cache):
    """Five lengths: the rows slide at different times."""
    model = make(positions)
    alone = [written(model, [prompt], 14, sampler)[0] for prompt in PROMPTS]
    assert len(set(map(tuple, alone))) == 5
    assert written(model, PROMPTS, 14, sampler, cache=cache) == alone


@POSITIONS
@pytest.mark.parametrize("sampler", [GREEDY, SAMPLED], ids=["greedy", "sampled"])
@pytest.mark.parametrize("quotas", [[1, 2, 3, 4, 5], [9, 3, 1, 14, 6], [3, 3, 3, 3, 14]])
def test_rows_that_finish_leave_the_others_alone(positions, sampler, quotas):
    model = make(positions)
    alone = [written(model, [prompt], n, sampler)[0] for prompt, n in zip(PROMPTS, quotas, strict=True)]
    assert written(model, PROMPTS, 14, sampler, quotas) == alone


@POSITIONS
def test_padding_of_a_finished_row_takes_no_place_in_the_context(positions):
    """The row of 8 leaves 6 slots of padding behind: the other fills 14 slots with 8 tokens."""
    model, prompts = make(positions), [PROMPTS[2], [4, 7]]
    assert written(model, prompts, 7, quotas=[1, 7])[1] == by_definition(model, prompts[1], 7)


@settings(derandomize=True, deadline=None, max_examples=500)
@given(length=st.integers(0, 5000), context=st.integers(1, 600))
def test_window_hops_by_half_a_context(length, context):
    start, hop = window_start(length, context), max(1, context // 2)
    assert start % hop == 0
    if length <= context:
        assert start == 0
    else:
        assert context / 2 <= length - start <= context
        assert length - (start - hop) > context  # the first such multiple
    assert window_start(length + 1, context) - start in (0, hop)


@pytest.mark.parametrize(
    ("context", "starts"), [(1, [0, 0, 1, 2, 3, 4]), (2, [0, 0, 0, 1, 2, 3]), (4, [0, 0, 0, 0, 0, 2, 2, 4])]
)
def test_window_of_small_contexts(context, starts):
    assert [window_start(length, context) for length in range(len(starts))] == starts


@pytest.mark.parametrize(
    ("cache", "tokens"), [(True, [5, 1, 1, 1] * 5), (False, [5, 6, 7, 8] * 5)], ids=["cache", "no cache"]
)
def test_cache_is_rebuilt_at_hops_alone(passes, cache, tokens):
    model, shapes = passes
    written(model, [PROMPT], 20, cache=cache)
    assert shapes == [(1, n) for n in tokens]


def test_no_pass_holds_a_finished_row(passes):
    model, shapes = passes
    written(model, [PROMPT, [1, 2], [3]], 4, quotas=[3, 1, 4])
    assert shapes == [(3, 5), (2, 1), (2, 1), (1, 1)]


@pytest.mark.parametrize("sampler", [GREEDY, Sampler(50), Sampler(50, top_k=9, top_p=0.99)])
def test_ids_without_a_token_are_never_written(sampler):
    model = make()
    free, bound = (written(model, PROMPTS, 20, sampler, n_ids=n_ids) for n_ids in (None, 4))
    assert max(map(max, free)) >= 4
    assert max(map(max, bound)) < 4


def test_each_step_adds_one_token_to_each_row_it_yields():
    rows = [Row([1]), Row([2, 3]), Row([4], done=True)]
    for step, active in enumerate(write(make(), rows, SAMPLED, 5)):
        assert list(active) == (rows[:2] if step < 3 else rows[1:2])
        assert [len(row.tokens) for row in rows] == [2 + min(step, 2), 3 + step, 1]
        assert all(type(row.tokens[-1]) is int for row in active)
        assert not torch.is_inference_mode_enabled()
        rows[0].done = step >= 2
    assert step == 4


@pytest.mark.parametrize(("rows", "n"), [([], 3), ([Row([1], done=True)], 3), ([Row([1])], 0)])
def test_nothing_to_do_is_no_pass(passes, rows, n):
    model, shapes = passes
    assert list(write(model, rows, GREEDY, n)) == shapes == []


def test_chance_is_the_rows_own():
    model = make()

    def texts(*seeds):
        rows = [Row([1, 2], random.Random(seed)) for seed in seeds]
        list(write(model, rows, SAMPLED, 12))
        return [row.tokens for row in rows]

    first, second, third = texts(5, 6, 5)
    assert first == third != second
    assert texts(6) == [second]
