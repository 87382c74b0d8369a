"""C2: products of Jacobians against automatic differentiation, and a judge that can be contradicted."""

import math

import numpy as np
import pytest
import torch
from torch.autograd.functional import jacobian

from claims.altering import altered
from glassformer.claims import claim, measured
from glassformer.claims.c02_rnn_gradients import SETTINGS, recurrent, step_jacobians
from glassformer.claims.claim import Verdict
from glassformer.claims.jacobians import log_norms
from glassformer.nn.recurrent import rnn_step

KEPT = measured("C2")


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_product_is_the_jacobian_over_several_steps(setting):
    weights, x_nD = recurrent(setting, 1.5, seed=0)
    assert np.linalg.svd(weights.w_h, compute_uv=False)[0] == pytest.approx(1.5)

    def states(h, x):
        for each in x:
            h = rnn_step(each, h, weights)
        return h

    h_k = states(torch.zeros(32, dtype=torch.float64), x_nD[:4])
    expected = jacobian(lambda h: states(h, x_nD[4:9]), h_k)
    steps = step_jacobians(weights, x_nD[:9])[4:]
    torch.testing.assert_close(torch.linalg.multi_dot(list(steps.flip(0))), expected)
    norms = log_norms(list(steps), [1, 5])
    assert norms[1] == pytest.approx(math.log10(np.linalg.norm(expected, 2)))


def test_norms_are_told_beyond_the_range_of_floats():
    matrix = torch.diag(torch.tensor([1e-120, 1e-200], dtype=torch.float64))
    assert log_norms([matrix] * 4, [4]).item() == pytest.approx(-480)
    huge = torch.tensor([[0, 1e150], [1e160, 0]], dtype=torch.float64)
    assert log_norms([huge] * 4, [2, 4]).tolist() == pytest.approx([310, 620])


def test_only_the_rows_that_are_asked_for_count():
    matrix = torch.diag(torch.tensor([1e3, 1e-2], dtype=torch.float64))
    assert log_norms([matrix] * 2, [2], rows=slice(1, None)).item() == pytest.approx(-4)


def test_it_holds_as_it_was_measured():
    assert claim("C2").judge(KEPT).verdict is Verdict.HOLDS


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (1e-6, ("gaussian driven", 3, "over")),  # above the bound
        (-1.0, ("orthogonal driven", 1, "logs", -1, 2)),  # 0.9 does not vanish
        (lambda last: [80.0, *last[1:]], ("gaussian driven", 4, "logs", -1)),  # scattered too far
        (0.0, ("gaussian driven", 4, "logs", -1, ...)),  # all that is above 1 explodes, or stays
        (0.0, ("orthogonal rest", 4, "logs", -1, ...)),  # nothing explodes
    ],
)
def test_it_can_be_contradicted(value, path):
    assert claim("C2").judge(altered(KEPT, value, "norms", *path)).verdict is Verdict.FAILS
