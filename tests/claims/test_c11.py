"""C11: the rotation against trigonometry, and a judge that can be contradicted."""

import math

import pytest
import torch

from claims.altering import altered
from glassformer.claims import claim, measured
from glassformer.claims.c11_rotation import ALLOWED, _code, _errors, rotation
from glassformer.claims.claim import Verdict

KEPT = measured("C11")


def test_a_pair_turns_by_its_angle():
    before, after = (
        torch.tensor([f(pos * w) for w in (1, 0.01) for f in (math.sin, math.cos)], dtype=torch.float64)
        for pos in (5, 8)
    )
    torch.testing.assert_close(rotation(3, 4) @ before, after, rtol=0, atol=1e-14)


def test_rotations_add_up():
    torch.testing.assert_close(rotation(7, 16) @ rotation(-19, 16), rotation(-12, 16), rtol=0, atol=1e-13)


def test_another_rotation_is_no_match():
    assert (rotation(6, 16) @ _code(100, 16, "float64") - _code(105, 16, "float64")).abs().max() > 0.1


def test_angles_in_float32_lose_a_position_and_rounding_at_the_end_does_not():
    exact = _code(1_000_000, 64, "float64")
    assert (_code(1_000_000, 64, "float32") - exact).abs().max() > 1e-3
    assert (_code(1_000_000, 64, "rounded") - exact).abs().max() < 1e-7


def test_errors_are_roundings_of_the_angles():
    assert _errors(16, "float64")["roundings"] <= ALLOWED


def test_it_holds_as_it_was_measured():
    assert claim("C11").judge(KEPT).verdict is Verdict.HOLDS


@pytest.mark.parametrize(
    ("value", "path"),
    [(100.0, ("exact", "64", "roundings")), (1e-3, ("exact", "16", "orthogonal"))],
)
def test_it_can_be_contradicted(value, path):
    assert claim("C11").judge(altered(KEPT, value, *path)).verdict is Verdict.FAILS
