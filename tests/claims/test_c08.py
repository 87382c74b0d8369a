"""C8: softmax's gradients against their formulas, and a judge that can be contradicted."""

import numpy as np
import pytest
import torch

from claims.altering import altered
from glassformer.claims import c08_saturation as c08
from glassformer.claims import claim, measured
from glassformer.claims.claim import Verdict

KEPT = measured("C8")


@pytest.mark.parametrize("scale", [1.0, 0.25])
def test_gradients_are_those_of_the_formulas(scale):
    found = c08.saturation(16, 3, scale)
    chance = torch.Generator().manual_seed(3)
    q, k, v, above = (
        torch.randn(rows, d, generator=chance, dtype=torch.float64).numpy()
        for rows, d in ((c08.QUERIES, 16), (c08.KEYS, 16), (c08.KEYS, c08.D_V), (c08.QUERIES, c08.D_V))
    )
    p = np.exp(scale * q @ k.T)
    p /= p.sum(1, keepdims=True)
    gain = above @ v.T
    of_scores = p * (gain - (p * gain).sum(1, keepdims=True))
    of_q = scale * of_scores @ k
    assert found["largest"] == pytest.approx(p.max(1).mean())
    assert found["slopes"] == pytest.approx((1 - (p**2).sum(1)).mean())
    assert found["scores"] == pytest.approx(np.linalg.norm(of_scores, axis=1).mean())
    assert found["q"] == pytest.approx(np.linalg.norm(of_q, axis=1).mean())
    assert found["scores_median"] < found["scores"]


def test_it_holds_as_it_was_measured():
    assert claim("C8").judge(KEPT).verdict is Verdict.HOLDS


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (0.5, ("without", "largest", -1, ...)),  # not saturated
        (0.9, ("without", "slopes", -1, ...)),
        (0.6, ("without", "scores", -1, ...)),
        (0.6, ("without", "scores_median", -1, ...)),
        (1.1, ("without", "q", -1, ...)),  # no more than with the scale, twice
        (9.0, ("without", "q", 0, ...)),  # as large before
        (lambda found: found / 2, ("with", "scores", 4, ...)),  # the scale does not hold it
    ],
)
def test_it_can_be_contradicted(value, path):
    assert claim("C8").judge(altered(KEPT, value, *path)).verdict is Verdict.FAILS
