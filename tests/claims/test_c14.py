"""C14: the norms against their formulas, and a judge that can be contradicted."""

import pytest
import torch

from claims.altering import altered
from glassformer.claims import claim, measured
from glassformer.claims.c14_norms import WIDTH, Norm
from glassformer.claims.claim import Verdict

KEPT = measured("C14")
TRAINING = ("changes", "batchnorm training")


@pytest.mark.parametrize(("kind", "over"), [("layernorm", -1), ("batchnorm training", (0, 1))])
def test_each_norm_is_over_its_own_axes(kind, over):
    x = 3 + 2 * torch.randn(5, 4, WIDTH, dtype=torch.float64)
    variance, average = torch.var_mean(x, over, correction=0, keepdim=True)
    torch.testing.assert_close(Norm(kind)(x), (x - average) / (variance + 1e-5).sqrt())


def test_in_evaluation_stored_statistics_are_used():
    torch.manual_seed(0)
    norm = Norm("batchnorm evaluation")
    x = torch.randn(1, 4, WIDTH, dtype=torch.float64)
    deviation = (norm.norm.running_var + 1e-5).sqrt()
    torch.testing.assert_close(norm(x), (x - norm.norm.running_mean) / deviation)
    assert norm.norm.running_mean.abs().min() > 0


def test_it_holds_as_it_was_measured():
    assert claim("C14").judge(KEPT).verdict is Verdict.HOLDS


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (1e-6, ("changes", "layernorm", "alike", 3, 0)),
        (1e-6, ("positions", "layernorm", 0)),
        (0.0, (*TRAINING, "alike", ..., 2)),
        (0.0, (*TRAINING, "others", ..., -1)),
    ],
)
def test_it_can_be_contradicted(value, path):
    assert claim("C14").judge(altered(KEPT, value, *path)).verdict is Verdict.FAILS
