"""Attention over a memory: padding is never seen, each score is its formula."""

import pytest
import torch

from glassformer.nn.additive import AdditiveAttention, masked_softmax

SCORES = pytest.mark.parametrize("score", ["additive", "dot", "general"])


def made(score):
    torch.manual_seed(0)
    return AdditiveAttention(4, 4, score).double(), torch.randn(2, 4).double(), torch.randn(2, 3, 4).double()


def test_padding_has_no_share_in_the_softmax():
    energies = torch.tensor([[1.0, 1.0, 0.0]])
    weights = masked_softmax(energies, torch.tensor([[True, True, False]]))
    assert weights.tolist() == [[0.5, 0.5, 0.0]]
    assert energies.softmax(-1)[0].tolist() == pytest.approx([0.422, 0.422, 0.155], abs=1e-3)  # the fault


@SCORES
def test_each_score_is_its_formula(score):
    attention, s, memory = made(score)
    context, weights = attention(s, memory)
    for b in range(2):
        energies = []
        for h in memory[b]:
            if score == "additive":
                inner = attention.of_state.weight @ s[b] + attention.of_memory.weight @ h
                energies.append(attention.v.weight[0] @ torch.tanh(inner))
            else:
                energies.append(s[b] @ (h if score == "dot" else attention.of_memory.weight @ h))
        expected = torch.stack(energies).softmax(0)
        torch.testing.assert_close(weights[b], expected)
        torch.testing.assert_close(context[b], expected @ memory[b])


@SCORES
def test_a_row_that_sees_nothing_gives_zeros_and_finite_gradients(score):
    attention, s, memory = made(score)
    memory.requires_grad_()
    context, weights = attention(s, memory, torch.tensor([[True, False, True], [False] * 3]))
    assert weights[0, 1] == 0
    assert float(weights[0].sum().detach()) == pytest.approx(1)
    assert not weights[1].any()
    assert not context[1].any()
    context.square().sum().backward()
    assert memory.grad.isfinite().all()
    assert not memory.grad[0, 1].any()


@SCORES
def test_gradients(score):
    attention, s, memory = made(score)
    valid = torch.tensor([[True, True, False], [True] * 3])
    inputs = [s.requires_grad_(), memory.requires_grad_()]
    assert torch.autograd.gradcheck(lambda s, m: attention(s, m, valid), inputs)


def test_a_dot_needs_one_width():
    with pytest.raises(ValueError, match="one width, not 4 and 6"):
        AdditiveAttention(4, 6, "dot")
