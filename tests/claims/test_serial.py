"""Counting what a layer does, against layers whose counts are known."""

import pytest
import torch

from glassformer.claims.serial import Cut, operations, products_in_a_row, steps_between
from glassformer.nn.attention import MultiHeadAttention
from glassformer.nn.recurrent import Recurrent


def test_products_that_do_not_wait_for_each_other_are_no_longer_chain():
    a, b, c = (torch.randn(4, 4, requires_grad=True) for _ in range(3))
    assert products_in_a_row((a @ b).sum()) == 1
    assert products_in_a_row((a @ b + b @ c).sum()) == 1
    assert products_in_a_row((a @ b @ c + torch.tanh(b @ c)).sum()) == 2


@pytest.mark.parametrize("backend", ["reference", "fused"])
def test_a_recurrent_layer_is_a_product_for_the_input_and_one_for_each_later_step(backend):
    layer = Recurrent("rnn", 4, 4)
    assert products_in_a_row(layer(torch.randn(2, 1, 4), backend=backend)[0]) == 1
    assert products_in_a_row(layer(torch.randn(2, 5, 4), backend=backend)[0]) == 5


def test_operations_of_a_product():
    a, b = torch.randn(3, 5), torch.randn(5, 7)
    assert operations(lambda: a @ b) == 2 * 3 * 5 * 7


def test_an_rnn_goes_from_token_to_token_and_attention_goes_at_once():
    torch.manual_seed(0)
    recurrent, attention = Recurrent("rnn", 4, 4), MultiHeadAttention(4, 2)
    assert steps_between(lambda x, tap: recurrent(x, tap=tap)[0], 6, 4) == 5
    assert steps_between(attention, 6, 4) == 1


def test_a_cut_changes_no_value():
    layer, x = MultiHeadAttention(4, 2), torch.randn(1, 3, 4)
    assert torch.equal(layer(x, tap=Cut(1)), layer(x))
