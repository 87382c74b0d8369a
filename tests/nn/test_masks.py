"""Masks: one polarity (True = may look), absolute positions, combined as booleans."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from glassformer.nn import masks


@pytest.mark.parametrize(
    ("valid", "expected"),
    [
        ([0, 0, 1, 1, 1], [0, 0, 0, 1, 2]),
        ([1, 1, 1, 0, 0], [0, 1, 2, 2, 2]),
        ([1, 0, 1, 0, 1], [0, 0, 1, 1, 2]),
        ([0, 0], [0, 0]),
    ],
)
def test_positions_count_only_real_tokens(valid, expected):
    assert masks.positions(torch.tensor([valid]).bool()).tolist() == [expected]


def test_next_position_of_each_row_is_its_own_length():
    valid = torch.tensor([[1, 1, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1]]).bool()  # lengths 5 and 3, and one more
    assert masks.positions(valid)[:, -1:].tolist() == [[5], [3]]


def test_causal_goes_by_position_row_by_row():
    q_pos, k_pos = torch.tensor([[0, 2], [1, 1]]), torch.tensor([[0, 1, 2], [0, 0, 1]])
    expected = [[[1, 0, 0], [1, 1, 1]], [[1, 1, 1], [1, 1, 1]]]
    assert masks.causal(q_pos, k_pos).int().tolist() == expected


@pytest.mark.parametrize(("size", "row"), [(1, [0, 0, 1, 0, 0]), (2, [0, 1, 1, 1, 0]), (3, [1, 1, 1, 1, 1])])
def test_window_reaches_to_both_sides(size, row):
    pos = torch.arange(5)
    assert masks.window(pos, pos, size)[2].int().tolist() == row


def test_window_beside_causal_looks_back_only():
    pos = torch.arange(4)
    mask = masks.combine(masks.causal(pos, pos), masks.window(pos, pos, 2))
    assert mask.int().tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]


@pytest.mark.parametrize("size", [0, -1])
def test_window_must_hold_something(size):
    with pytest.raises(ValueError, match=f"not {size}"):
        masks.window(torch.arange(3), torch.arange(3), size)


def test_padding_stands_beside_heads_and_queries():
    valid = torch.tensor([[True, False, True], [False, True, True]])
    mask = masks.padding(valid)
    assert mask.shape == (2, 1, 1, 3)
    assert torch.equal(mask.expand(2, 4, 5, 3)[1, 3, 2], valid[1])


def test_combine_is_and_and_none_restricts_nothing():
    row, column = torch.tensor([[True, False]]), torch.tensor([[True], [False]])
    assert masks.combine(None, row, column).tolist() == [[True, False], [False, False]]
    assert masks.combine(row, None) is row
    assert masks.combine(None, None) is None
    assert masks.combine() is None


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64])
def test_additive_or_integer_masks_are_refused(dtype):
    """Two planes of finfo.min overflow to -inf when added, and 1 means "keep" here and "ignore" there."""
    wrong, right = torch.zeros(2, 2, dtype=dtype), torch.ones(2, 2).bool()
    for call in (lambda: masks.combine(right, wrong), lambda: masks.dense(wrong, 2, 2)):
        with pytest.raises(ValueError, match="must be boolean"):
            call()


@settings(derandomize=True, deadline=None)
@given(n=st.integers(0, 6), cached=st.integers(0, 6))
def test_dense_causal_is_aligned_bottom_right(n, cached):
    m = n + cached
    expected = [[j <= i + m - n for j in range(m)] for i in range(n)]
    assert masks.dense("causal", n, m).tolist() == expected


def test_dense_keeps_a_fitting_mask():
    mask = torch.ones(3, 1, 2, 5).bool()
    assert masks.dense(mask, 2, 5) is mask
    one_row = mask[:, :, :1]
    assert masks.dense(one_row, 2, 5) is one_row
    assert masks.dense(None, 2, 5) is None


@pytest.mark.parametrize("shape", [(5,), (2, 4), (3, 5), (2, 1)])
def test_dense_refuses_other_lengths(shape):
    with pytest.raises(ValueError, match="2 or 1 queries, 5 keys"):
        masks.dense(torch.ones(shape).bool(), 2, 5)


def test_dense_refuses_what_it_does_not_know():
    with pytest.raises(ValueError, match="'windowed'"):
        masks.dense("windowed", 2, 2)
    with pytest.raises(ValueError, match="3 queries, 2 keys"):
        masks.dense("causal", 3, 2)
