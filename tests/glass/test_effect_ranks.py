"""What is made of measured effects: ranks, their correlation, the strongest, the ones that disagree."""

import numpy as np
import pytest

from glassformer.glass.effect import Effects, ranks, spearman


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([10.0, 30.0, 20.0], [0, 2, 1]),
        ([10.0, 20.0, 20.0, 5.0], [1, 2.5, 2.5, 0]),
        ([1.0, 1.0, 1.0], [1, 1, 1]),
        ([], []),
    ],
)
def test_ranks(values, expected):
    assert ranks(np.array(values)).tolist() == expected


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ([1, 2, 3, 4, 5], [2, 1, 4, 3, 5], 0.8),  # 1 - 6 · 4 / (5 · 24)
        ([1, 2, 3], [1, 10, 100], 1.0),
        ([1, 2, 3], [3, 2, -1], -1.0),
        ([1, 2, 2, 3], [1, 3, 2, 4], 4.5 / (4.5 * 5) ** 0.5),
        ([1, 1, 2, 2], [1, 2, 2, 1], 0.0),
    ],
)
def test_spearman(a, b, expected):
    assert spearman(np.array(a, float), np.array(b, float)) == pytest.approx(expected, abs=1e-12)
    assert spearman(np.array(b, float), np.array(a, float)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("a", "b"), [([1, 2, 3], [5, 5, 5]), ([0, 0, 0], [1, 2, 3]), ([1, 2], [1, 2]), ([], [])]
)
def test_spearman_is_not_defined(a, b):
    assert np.isnan(spearman(np.array(a, float), np.array(b, float)))


def by_hand(weight, cut, **columns):
    place = {name: np.arange(len(weight)) for name in ("layer", "head", "query", "key")}
    given = {"moved": weight, "zeroed": cut} | columns
    floats = {
        name: np.array(values, float) for name, values in (given | {"weight": weight, "cut": cut}).items()
    }
    return Effects(0, 0, -1.0, "zero", **place, **floats)


def test_strongest_go_by_size_and_equal_ones_keep_their_order():
    effects = by_hand([0.1] * 5, [0.5, -2.0, 0.0, 2.0, -1.0])
    assert effects.strongest().tolist() == [1, 3, 4, 0, 2]
    assert effects.strongest(2).tolist() == [1, 3]


def test_disagreements_go_by_the_distance_of_ranks():
    effects = by_hand([0.4, 0.3, 0.2, 0.1], [0.1, -0.4, 0.3, 0.2])  # ranks 3 2 1 0 and 0 3 2 1
    assert effects.disagreements().tolist() == [0, 1, 2, 3]
    assert effects.disagreements(1).tolist() == [0]


def test_edges_of_neither_weight_nor_effect_do_not_disagree():
    effects = by_hand([0.5, 0.009, 0.4, 0.0], [0.019, -0.019, 1.0, 0.001])
    assert sorted(effects.disagreements().tolist()) == [0, 2]


def test_agreement_is_of_the_weight_with_the_size_of_an_effect():
    effects = by_hand([0.1, 0.2, 0.3], [0.1, -0.2, 0.3], zeroed=[-3, 2, -1], moved=[1, 3, 2])
    assert effects.agreement() == effects.agreement("cut") == pytest.approx(1.0)
    assert effects.agreement("zeroed") == pytest.approx(-1.0)
    assert effects.agreement("moved") == pytest.approx(0.5)
