"""C7: what its experiment measures, and a judge that can be contradicted."""

import pytest

from glassformer.claims import claim, measured
from glassformer.claims.claim import Verdict, Work

C7 = claim("C7")


def test_it_holds_for_what_is_drawn():
    found = C7.measure(Work(quick=True))
    assert found["variances"][5][0] == pytest.approx(64, rel=0.2)
    assert C7.judge(found).verdict is Verdict.HOLDS


def test_variances_that_grow_otherwise_contradict_it():
    kept = measured("C7")
    grown = [[v * d**0.1 for v in vs] for d, vs in zip(kept["widths"], kept["variances"], strict=True)]
    assert C7.judge({**kept, "variances": grown}).verdict is Verdict.FAILS
