"""What each operation computes, against numpy and by its properties."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from glassformer.sheet import Sheet

inf = math.inf
NUMBERS = st.floats(-20, 20) | st.just(-inf)


def matrices(elements=NUMBERS, shape=None):
    return arrays(np.float64, shape or st.tuples(st.integers(1, 5), st.integers(1, 5)), elements=elements)


def result(op, *values, **options):
    """What an operation makes of given matrices."""
    sheet = Sheet()
    of = [sheet.const(f"of {k}", value) for k, value in enumerate(values)]
    name = getattr(sheet, op)("result", *of, **options)
    return sheet.evaluate()[name]


@given(matrices())
def test_rows_of_a_softmax_sum_to_one_or_see_nothing(scores):
    weights = result("softmax", scores)
    hidden = scores == -inf
    assert (weights[hidden] == 0).all()
    nothing = hidden.all(1)
    assert (weights[nothing] == 0).all()
    np.testing.assert_allclose(weights[~nothing].sum(1), 1, rtol=1e-14)


@given(matrices(), st.data())
def test_masked_cells_are_the_fill_and_weigh_nothing(scores, data):
    shape = tuple(data.draw(st.sampled_from([1, n])) for n in scores.shape)
    allowed = data.draw(matrices(st.sampled_from([0.0, 1.0, -2.0]), shape))
    hidden = np.broadcast_to(allowed == 0, scores.shape)
    masked = result("mask", scores, allowed)
    np.testing.assert_array_equal(masked, np.where(hidden, -inf, scores))
    assert (result("softmax", masked)[hidden] == 0).all()
    np.testing.assert_array_equal(result("mask", scores, allowed, fill=-1e5), np.where(hidden, -1e5, scores))


BINARY = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "less": np.less}


@pytest.mark.parametrize("op", BINARY)
@given(data=st.data())
@settings(max_examples=30)
def test_broadcasting_is_numpys(op, data):
    shape = data.draw(st.tuples(st.integers(1, 4), st.integers(1, 4)))
    smaller = [tuple(data.draw(st.sampled_from([1, n])) for n in shape) for _ in range(2)]
    a, b = (data.draw(matrices(st.floats(-9, 9) | st.sampled_from([inf, -inf]), s)) for s in smaller)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(result(op, a, b), BINARY[op](a, b).astype(np.float64))


@given(matrices(st.floats(-9, 9)))
def test_elementwise_and_shapes(a):
    for op in ("exp", "sin", "cos", "tanh"):
        np.testing.assert_array_equal(result(op, a), getattr(np, op)(a))
    np.testing.assert_array_equal(result("relu", a), np.maximum(a, 0))
    np.testing.assert_allclose(result("sigmoid", a), np.exp(a) / (1 + np.exp(a)), rtol=1e-13)
    np.testing.assert_array_equal(result("transpose", a), a.T)
    np.testing.assert_array_equal(result("concat", a, a, axis="rows"), np.concatenate([a, a]))
    np.testing.assert_array_equal(result("concat", a, a, a), np.concatenate([a, a, a], 1))
    np.testing.assert_array_equal(result("slice", a, rows=(0, 1), columns=None), a[:1])
    np.testing.assert_array_equal(result("argmax", a)[:, 0], a.argmax(1))
    for over, axis in (("columns", 1), ("rows", 0), ("all", None)):
        np.testing.assert_array_equal(result("sum", a, over=over), a.sum(axis, keepdims=True))
        np.testing.assert_array_equal(result("max", a, over=over), a.max(axis, keepdims=True))
    np.testing.assert_allclose(result("matmul", a, a.T), np.einsum("ik,jk->ij", a, a), atol=1e-12)


def test_ieee_without_complaint():
    zeros = [[0.0, -0.0]]
    assert result("div", [[1, 1]], zeros).tolist() == [[inf, -inf]]
    assert np.isnan(result("div", zeros, zeros)).all()
    assert result("log", zeros).tolist() == [[-inf, -inf]]
    assert np.isnan(result("sqrt", -1))
    assert result("exp", [[1000, -1000]]).tolist() == [[inf, 0]]
    assert result("sigmoid", [[-1000, 1000]]).tolist() == [[0, 1]]
    assert str(result("sum", zeros)) == str(result("max", [[-0.0]])) == "[[0.]]"
    assert result("argmax", [[1, 3, 3], [-inf, -inf, -inf]]).tolist() == [[1], [0]]


def test_range_and_onehot():
    sheet = Sheet()
    count = sheet.const("n", 3)
    sheet.range("r", count, 1, 0.5)
    sheet.onehot("h", sheet.const("i", [[2], [0]]), count)
    values = sheet.evaluate()
    assert values["r"].tolist() == [[1], [1.5], [2]]
    assert values["h"].tolist() == [[0, 0, 1], [1, 0, 0]]
    assert sheet.evaluate({"n": 4})["r"].shape == (4, 1)


def drawn(rows, cols, seed):
    sheet = Sheet()
    name = sheet.normal("z", rows, cols, seed)
    return sheet.evaluate()[name]


@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_a_drawn_number_depends_on_the_seed_and_its_place_only(rows, cols, seed):
    np.testing.assert_array_equal(drawn(rows, cols, seed), drawn(9, 9, seed)[:rows, :cols])


def test_drawn_numbers_are_standard_normal_and_independent():
    z = drawn(1000, 1000, 5)
    moments = [(z**k).mean() for k in range(1, 5)]
    np.testing.assert_allclose(moments, [0, 1, 0, 3], atol=0.02)
    for other in (drawn(1000, 1000, 6), np.roll(z, 1, 0), np.roll(z, 1, 1), z.T):
        apart = ~np.eye(1000, dtype=bool)
        assert abs(np.corrcoef(z[apart], other[apart])[0, 1]) < 0.005
    assert np.abs(np.corrcoef(z) - np.eye(1000)).max() < 0.2
    assert len(np.unique(z)) > 999_000


def test_drawn_numbers_and_embeddings_stay_what_they_are():
    """Lessons speak of them."""
    np.testing.assert_allclose(drawn(1, 3, 1), [[-0.95242294, 2.00798788, -0.52502228]], atol=1e-8)
    sheet = Sheet()
    name = sheet.embed("e", ["the", "猫"], 4)
    assert sheet.evaluate()[name].tolist() == [[-1.0, 1.0, 0.25, -0.75], [0.25, -1.0, 1.0, -0.75]]


def test_embeddings_are_quarters_and_tell_tokens_apart():
    sheet = Sheet()
    name = sheet.embed("e", [f"token {k}" for k in range(4000)], 12)
    values = sheet.evaluate()[name]
    counts = np.unique(values, return_counts=True)
    assert counts[0].tolist() == [k / 4 for k in range(-4, 5)]
    np.testing.assert_allclose(counts[1] / values.size, 1 / 9, rtol=0.05)
    assert len(np.unique(values, axis=0)) == 4000
