"""C10: which attention follows its tokens, and a judge that can be contradicted."""

import pytest
import torch

from claims.altering import altered
from glassformer.claims import c10_order as c10
from glassformer.claims import claim, measured
from glassformer.claims.claim import Verdict

KEPT = measured("C10")


def test_without_positions_a_row_depends_on_its_token_and_the_set_of_all():
    attend = c10.attention("bare", 5)
    x = torch.randn(1, 7, c10.WIDTH, dtype=torch.float64)
    rows = attend(x)[0]
    for token in range(7):
        others = [i for i in reversed(range(7)) if i != token]
        torch.testing.assert_close(attend(x[:, [token, *others]])[0, 0], rows[token])


def test_the_experiment_finds_what_is_kept():
    again = c10._errors("causal") + c10._errors("rotary")
    assert again == pytest.approx(KEPT["errors"]["causal"] + KEPT["errors"]["rotary"], rel=1e-6)


def test_under_a_causal_mask_the_last_token_alone_is_followed_when_it_stays():
    attend = c10.attention("causal", 0)
    x = torch.randn(1, 5, c10.WIDTH, dtype=torch.float64)
    order = [3, 1, 0, 2, 4]
    change = (attend(x[:, order]) - attend(x)[:, order]).abs().amax(-1)[0]
    assert change[-1] < 1e-14 < 1e-3 < change[:-1].min()


def test_it_holds_as_it_was_measured():
    assert claim("C10").judge(KEPT).verdict is Verdict.HOLDS


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (1e-9, ("errors", "bare", 7)),
        *((1e-15, ("errors", case, 3)) for case in c10.CASES if case != "bare"),
        (1e-6, ("sentences", "bare", 1, "by_token", 1)),  # a row that does not follow
        (0.0, ("sentences", "bare", 0, "by_place", 2)),  # the two sentences are the same
    ],
)
def test_it_can_be_contradicted(value, path):
    assert claim("C10").judge(altered(KEPT, value, *path)).verdict is Verdict.FAILS
