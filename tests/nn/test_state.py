"""The state is a value: old ones stay good, whatever is done with the new ones."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from glassformer.nn.state import HiddenState, KVState

LAYERS, HEADS, D = 2, 2, 3


def empty(batch=2, capacity=4):
    return KVState.empty(LAYERS, batch, HEADS, D, capacity)


def push(state, n, seed=0, valid=None):
    """The state after n random tokens, and what each of its layers then hands out."""
    new = torch.randn(LAYERS, 2, state.batch, HEADS, n, D, generator=torch.Generator().manual_seed(seed))
    state = state.extended(n, valid)
    return state, [state.layer(i).append(*new[i]) for i in range(LAYERS)], new


def held(state):
    """(layers, 2, b, g, m, d): everything a state holds."""
    nothing = torch.zeros(state.batch, HEADS, 0, D)
    reader = state.extended(0)
    return torch.stack([torch.stack(reader.layer(i).append(nothing, nothing)) for i in range(LAYERS)])


def test_append_hands_out_all_tokens_layer_by_layer():
    state, first, a = push(empty(), 1, seed=1)
    state, second, b = push(state, 2, seed=2)
    assert state.length == 3
    for i in range(LAYERS):
        for kind in range(2):
            assert torch.equal(first[i][kind], a[i, kind])
            assert torch.equal(second[i][kind], torch.cat((a[i, kind], b[i, kind]), 2))


@pytest.mark.parametrize("capacity", [1, 2, 5])
def test_it_grows_beyond_its_capacity(capacity):
    state, pieces = empty(capacity=capacity), []
    for seed in range(5):
        state, _, new = push(state, 1 + seed % 2, seed)
        pieces.append(new)
    assert torch.equal(held(state), torch.cat(pieces, -2))


def test_room_is_claimed_in_place_until_somebody_branches():
    """Decoding one token must not copy the whole cache."""
    state, out, _ = push(empty(), 2)
    straight, straight_out, _ = push(state, 1)
    assert straight_out[0][0].data_ptr() == out[0][0].data_ptr()
    _, branch_out, _ = push(state, 1)
    assert branch_out[0][0].data_ptr() != out[0][0].data_ptr()
    _, out, _ = push(straight, 1)
    assert out[0][0].data_ptr() == straight_out[0][0].data_ptr()


def test_reorder_repeats_and_leaves_out_rows():
    state, _, new = push(empty(batch=3), 2, valid=torch.tensor([[0, 1], [1, 1], [1, 0]]).bool())
    reordered = state.reorder(torch.tensor([2, 0, 2, 2]))
    assert reordered.batch == 4
    assert torch.equal(held(reordered), new[:, :, [2, 0, 2, 2]])
    assert reordered.valid.int().tolist() == [[1, 0], [0, 1], [1, 0], [1, 0]]
    assert empty().reorder(torch.tensor([1])).valid is None


def test_valid_marks_are_joined_only_when_there_are_some():
    state, *_ = push(empty(), 2)
    assert state.valid is None
    padded, *_ = push(state, 1, valid=torch.tensor([[True], [False]]))
    after, *_ = push(padded, 1)
    assert after.valid.int().tolist() == [[1, 1, 1, 1], [1, 1, 0, 1]]
    assert padded.valid.int().tolist() == [[1, 1, 1], [1, 1, 0]]
    assert state.valid is None


def test_it_refuses_to_train():
    new = torch.zeros(2, HEADS, 1, D)
    for k, v in ((new.clone().requires_grad_(), new), (new, new.clone().requires_grad_())):
        with pytest.raises(RuntimeError, match="no_grad"):
            empty().extended(1).layer(0).append(k, v)
        with torch.no_grad():
            empty().extended(1).layer(0).append(k, v)


def test_dtype_is_kept():
    state = KVState.empty(1, 1, 1, 1, 1, dtype=torch.bfloat16)
    for _ in range(3):
        state = state.extended(1)
        k, v = state.layer(0).append(*torch.ones(2, 1, 1, 1, 1, dtype=torch.bfloat16))
    assert k.dtype == v.dtype == torch.bfloat16
    assert k.shape == (1, 1, 3, 1)


@settings(derandomize=True, deadline=None, max_examples=150)
@given(
    steps=st.lists(
        st.tuples(st.integers(0, 20), st.sampled_from(["push", "push", "reorder"]), st.integers(0, 3)),
        max_size=12,
    ),
    capacity=st.integers(1, 8),
)
def test_no_state_ever_disturbs_another(steps, capacity):
    """Any tree of continuations and reorderings, against plain tensors."""
    states = [(empty(capacity=capacity), torch.zeros(LAYERS, 2, 2, HEADS, 0, D))]
    for seed, (which, action, n) in enumerate(steps):
        state, expected = states[which % len(states)]
        if action == "push":
            state, _, new = push(state, n, seed)
            expected = torch.cat((expected, new), -2)
        else:
            rows = torch.tensor([n % 2, 0])
            state, expected = state.reorder(rows), expected[:, :, rows]
        states.append((state, expected))
    for state, expected in states * 2:
        assert torch.equal(held(state), expected)


def hidden(cell, b=3):
    parts = torch.randn(2 if cell else 1, LAYERS, b, D, generator=torch.Generator().manual_seed(1))
    return HiddenState(*parts, length=7)


@pytest.mark.parametrize("cell", [False, True])
def test_a_hidden_state_is_a_value_too(cell):
    state, rows = hidden(cell), torch.tensor([2, 0, 2, 1])
    before = [part.clone() for part in state.parts]
    chosen = state.reorder(rows)
    assert (state.batch, chosen.batch, chosen.length) == (3, 4, 7)
    assert len(state.parts) == len(chosen.parts) == 1 + cell
    for old, new in zip(before, chosen.parts, strict=True):
        assert torch.equal(new, old[:, rows])
        new.zero_()
    assert all(torch.equal(a, b) for a, b in zip(state.parts, before, strict=True))
    halves = [state.part(i, 1) for i in range(LAYERS)]
    joined = HiddenState.joined(halves)
    assert joined.length == 7
    assert all(torch.equal(a, b) for a, b in zip(joined.parts, state.parts, strict=True))


def test_no_gradient_flows_back_through_a_detached_state():
    state = HiddenState(*(part.requires_grad_() for part in hidden(True).parts), length=7)
    assert all(part.requires_grad for part in state.reorder(torch.tensor([0])).parts)
    assert not any(part.requires_grad for part in state.detach().parts)
    assert state.detach().length == 7
