"""The loss: targets shifted once, sums divided by counts, nothing to predict is no accident."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import Tensor

from glassformer.data.batches import IGNORE, Batch, Windows
from glassformer.training.task import NextToken, mean_loss, next_token_loss

CPU = torch.device("cpu")


def certain(answers: dict[int, int], vocabulary: int = 8):
    """A model that is sure which token follows which."""

    def forward(tokens: Tensor) -> tuple[Tensor, None]:
        logits = torch.zeros(*tokens.shape, vocabulary)
        for token, following in answers.items():
            logits[tokens == token] = 100.0 * torch.eye(vocabulary)[following]
        return logits, None

    return forward


def task(held_out: list[int] = (), **options: int) -> NextToken:
    tokens = np.array([1, 4, 2, 6, 3, 5] * 4, np.uint16)
    settings = {"batch_size": 2, "accumulate": 1, "eval_tokens": 1000, **options}
    return NextToken(Windows(tokens, 5), np.array(held_out, np.uint16), **settings)


def test_targets_are_shifted_exactly_once() -> None:
    ids = [1, 4, 2, 6, 3, 5]
    follows = dict(pairwise(ids))
    batch = Batch(torch.tensor([ids[:-1]]), torch.tensor([ids[1:]]))
    assert float(next_token_loss(certain(follows), batch)) == pytest.approx(0, abs=1e-6)
    windows = task().training_batches(0)[0]
    assert torch.equal(windows.inputs[:, 1:], windows.targets[:, :-1])
    follows[5] = 1
    assert float(next_token_loss(certain(follows), windows)) == pytest.approx(0, abs=1e-6)


def test_ignored_targets_cost_nothing_and_count_nothing() -> None:
    inputs, targets = torch.tensor([[1, 2]]), torch.tensor([[IGNORE, IGNORE]])
    batch = Batch(inputs, targets)
    weight = torch.ones(8, requires_grad=True)
    loss = next_token_loss(lambda tokens: (weight.expand(*tokens.shape, 8), None), batch)
    loss.backward()
    assert batch.n_targets == 0
    assert float(loss.detach()) == 0
    assert (weight.grad == 0).all()


def test_the_mean_is_over_tokens_and_not_over_batches() -> None:
    class Fixed:
        def loss_sum(self, model: object, batch: Batch) -> Tensor:
            return torch.tensor(10.0 if batch.n_targets == 10 else 6.0)  # 10 tokens at 1, 2 tokens at 3

    batches = [Batch(torch.zeros(1, n).long(), torch.zeros(1, n).long()) for n in (10, 2)]
    assert mean_loss(Fixed(), None, batches, CPU) == pytest.approx(16 / 12)
    assert mean_loss(Fixed(), None, [], CPU) is None


@pytest.mark.parametrize("n", [0, 1, 5])
def test_too_little_held_out_text_is_no_validation(n: int) -> None:
    assert list(task(held_out=[1] * n).validation_batches()) == []


def test_a_measurement_reads_all_or_an_even_spread_of_the_held_out_text() -> None:
    held_out = list(range(1, 8)) * 30
    everything = list(task(held_out).validation_batches())
    assert sum(batch.n_targets for batch in everything) == len(held_out) - 1
    some = list(task(held_out, eval_tokens=20).validation_batches())
    assert sum(batch.n_targets for batch in some) == 20
    first, last = some[0].inputs[0], some[-1].inputs[-1]
    assert first.tolist() == held_out[:5]
    start = (len(held_out) - 1) // 5 * 5 - 5
    assert last.tolist() == held_out[start : start + 5]
