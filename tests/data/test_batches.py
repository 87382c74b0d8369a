"""Batches: targets shifted once, and an order that only (seed, step, rank) decides."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from glassformer.data.batches import (
    IGNORE,
    STRETCH,
    Batch,
    Streams,
    Windows,
    in_order,
    in_streams,
    windows_at,
)

sizes = given(n=st.integers(9, 200), context=st.integers(1, 8), seed=st.integers(0, 5))


def tokens(n):
    return np.arange(n, dtype=np.uint16)  # each token is its own place


def starts(windows, samples, first=0):
    return [int(windows.batch(i, 1).inputs[0, 0]) for i in range(first, first + samples)]


@settings(derandomize=True, deadline=None)
@sizes
def test_targets_are_inputs_one_place_on(n, context, seed):
    batch = Windows(tokens(n), context, seed).batch(3, 4)
    assert batch.inputs.shape == batch.targets.shape == (4, context)
    assert batch.inputs.dtype == batch.targets.dtype == torch.int64
    assert torch.equal(batch.inputs, batch.inputs[:, :1] + torch.arange(context))
    assert torch.equal(batch.targets, batch.inputs + 1)


def test_a_model_that_knows_the_next_token_has_no_loss():
    """Shifted twice the loss would be 100; not at all, 83."""
    ids = np.array([1, 4, 2, 6, 3, 5], dtype=np.uint16)
    batch = windows_at(ids, 5, [0])
    assert batch.inputs.tolist() == [[1, 4, 2, 6, 3]]
    logits = 100.0 * F.one_hot(torch.tensor([4, 2, 6, 3, 5]), 7)
    assert F.cross_entropy(logits, batch.targets[0]) == 0


@settings(derandomize=True, deadline=None)
@sizes
def test_each_epoch_takes_each_window_once(n, context, seed):
    windows = Windows(tokens(n), context, seed)
    for epoch in range(3):
        seen = sorted(starts(windows, windows.per_epoch, epoch * windows.per_epoch))
        assert seen[-1] + context < n
        assert seen == list(range(seen[0], seen[0] + windows.per_epoch * context, context))


def test_epochs_and_seeds_differ_in_offset_and_order():
    seen = {
        (seed, epoch): starts(Windows(tokens(98), 8, seed), 11, 11 * epoch)
        for seed in (0, 1)
        for epoch in (0, 1)
    }
    assert len({tuple(places) for places in seen.values()}) == 4
    assert len({min(places) for places in seen.values()}) > 1
    assert all(places != sorted(places) for places in seen.values())


def test_every_offset_and_every_target_but_the_edges_comes_up():
    windows = Windows(tokens(32), 8)
    assert windows.per_epoch == 3
    epochs = [starts(windows, 3, 3 * epoch) for epoch in range(200)]
    assert {min(places) for places in epochs} == set(range(8))
    assert {start + i for places in epochs for start in places for i in range(1, 9)} == set(range(1, 32))


@settings(derandomize=True, deadline=None)
@sizes
def test_the_order_is_a_function_of_seed_and_step(n, context, seed):
    one, other = Windows(tokens(n), context, seed), Windows(tokens(n), context, seed)
    forward = [one.batch(step, 3, micro=1, micros=2, rank=1, ranks=2).inputs for step in range(6)]
    torch.manual_seed(1)
    backward = [
        other.batch(step, 3, micro=1, micros=2, rank=1, ranks=2).inputs for step in reversed(range(6))
    ]
    assert all(torch.equal(a, b) for a, b in zip(forward, reversed(backward), strict=True))


@pytest.mark.parametrize(("micros", "ranks", "size"), [(1, 4, 2), (4, 1, 2), (2, 2, 2), (2, 4, 1), (1, 1, 8)])
def test_ranks_and_micro_batches_share_one_stream(micros, ranks, size):
    windows = Windows(tokens(300), 8, 5)
    for step in range(6):  # 48 windows: one epoch and a part of the next
        parts = [
            windows.batch(step, size, micro=micro, micros=micros, rank=rank, ranks=ranks)
            for micro in range(micros)
            for rank in range(ranks)
        ]
        assert torch.equal(torch.cat([part.inputs for part in parts]), windows.batch(step, 8).inputs)
        assert torch.equal(torch.cat([part.targets for part in parts]), windows.batch(step, 8).targets)


@pytest.mark.parametrize(("n", "per_epoch"), [(9, 1), (16, 1), (17, 1), (24, 2), (25, 2), (80, 9)])
def test_windows_in_an_epoch(n, per_epoch):
    assert Windows(tokens(n), 8).per_epoch == per_epoch


def test_nine_tokens_hold_one_window_of_eight():
    windows = Windows(tokens(9), 8)
    assert starts(windows, 5) == [0] * 5
    assert windows.batch(0, 2).targets.tolist() == [list(range(1, 9))] * 2


@pytest.mark.parametrize("n", [0, 1, 8])
def test_too_few_tokens_are_told_with_numbers(n):
    with pytest.raises(ValueError, match=f"^{n} tokens are too few: one window of context 8 needs 9$"):
        Windows(tokens(n), 8)


@settings(derandomize=True, deadline=None)
@given(n=st.integers(0, 60), context=st.integers(1, 9), size=st.integers(1, 4))
def test_in_order_every_token_but_the_first_is_a_target_once(n, context, size):
    batches = list(in_order(tokens(n), context, size))
    assert [int(i) for batch in batches for i in batch.targets.flatten()] == list(range(1, n))
    assert [int(i) for batch in batches for i in batch.inputs.flatten()] == list(range(n - 1))
    assert all(len(batch.inputs) <= size and 1 <= batch.inputs.shape[1] <= context for batch in batches)
    assert all(batch.inputs.shape[1] == context for batch in batches[:-1])


def test_ids_beyond_two_bytes_survive():
    batch = windows_at(np.array([70_000, 4_000_000_000, 5], dtype=np.uint32), 2, [0])
    assert batch.targets.tolist() == [[4_000_000_000, 5]]


def test_targets_that_do_not_count_are_not_counted():
    batch = Batch(torch.zeros(2, 3).long(), torch.tensor([[1, IGNORE, 0], [IGNORE] * 3]))
    assert batch.n_targets == batch.to(torch.device("cpu")).n_targets == 2
    assert IGNORE == -100  # what torch leaves out by default


streams = given(
    n=st.integers(9, 400), context=st.integers(1, 8), rows=st.integers(1, 5), seed=st.integers(0, 3)
)


@settings(derandomize=True, deadline=None)
@streams
def test_each_row_of_a_stream_goes_on_where_it_was(n, context, rows, seed):
    source = Streams(tokens(n), context, seed)
    per_epoch, before = source.per_epoch(rows), None
    for step in range(3 * per_epoch):
        batch = source.batch(step, rows)
        assert batch.fresh == (step % per_epoch == 0)
        assert torch.equal(batch.targets, batch.inputs + 1)
        assert torch.equal(batch.inputs[:, 1:], batch.targets[:, :-1])
        assert batch.targets.max() < n
        if not batch.fresh:
            assert torch.equal(batch.inputs[:, 0], before.targets[:, -1])
        before = batch


@settings(derandomize=True, deadline=None)
@streams
def test_an_epoch_of_streams_takes_no_target_twice_and_nearly_all(n, context, rows, seed):
    source = Streams(tokens(n), context, seed)
    per_epoch = source.per_epoch(rows)
    if rows * context > n - 1:
        return  # too short for that
    for epoch in range(2):
        steps = range(epoch * per_epoch, (epoch + 1) * per_epoch)
        targets = torch.cat([source.batch(step, rows).targets.flatten() for step in steps]).tolist()
        assert len(set(targets)) == len(targets) > n - 1 - rows * context


@pytest.mark.parametrize(("micros", "size"), [(1, 6), (2, 3), (3, 2), (6, 1)])
def test_micro_batches_of_streams_are_the_rows_of_one_batch(micros, size):
    source = Streams(tokens(500), 4, 5)
    for step in (0, 7, 19, 20, 41):
        parts = [source.batch(step, size, micro=i, micros=micros) for i in range(micros)]
        whole = Streams(tokens(500), 4, 5).batch(step, 6)
        assert torch.equal(torch.cat([part.inputs for part in parts]), whole.inputs)
        assert {part.fresh for part in parts} == {whole.fresh}


def test_epochs_and_seeds_of_streams_differ_in_offset():
    source = Streams(tokens(100), 8)
    assert source.per_epoch(3) == 4
    offsets = [int(source.batch(4 * epoch, 3).inputs.min()) for epoch in range(100)]
    assert set(offsets) == set(range(4))


def test_streams_need_a_window():
    with pytest.raises(ValueError, match="8 tokens are too few: one window of context 8 needs 9"):
        Streams(tokens(8), 8)


@pytest.mark.parametrize("n", [2, 9, 10, 1024, 1025, 2048, 2049, 5000])
@pytest.mark.parametrize("rows", [1, 4])
def test_stretches_have_every_target_once(n, rows):
    batches = list(in_streams(tokens(n), 7, rows))
    stretches = max(1, min(rows, (n - 1) // STRETCH))
    assert {len(batch.inputs) for batch in batches} == {stretches}
    assert [batch.fresh for batch in batches] == [True] + [False] * (len(batches) - 1)
    seen = torch.cat([batch.targets for batch in batches], 1)
    inputs = torch.cat([batch.inputs for batch in batches], 1)
    assert sorted(seen[seen != IGNORE].tolist()) == list(range(1, n))
    assert torch.equal(inputs[seen != IGNORE], seen[seen != IGNORE] - 1)
    for row in seen:
        counted = row[row != IGNORE]
        assert torch.equal(counted, counted[0] + torch.arange(len(counted)))


def test_a_part_of_a_long_text_is_the_beginnings_of_its_stretches():
    batches = list(in_streams(tokens(5000), 64, 4, most=1000))
    assert [int(first) for first in batches[0].inputs[:, 0]] == [0, 1250, 2500, 3750]
    assert sum(batch.n_targets for batch in batches) == 1000
    assert [batch.inputs.shape[1] for batch in batches] == [64, 64, 64, 58]


def test_nothing_to_predict_is_no_stretch():
    assert list(in_streams(tokens(1), 4, 3)) == []
