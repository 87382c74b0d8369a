"""Scale and order: their sheets against the theory, and against nn in float64."""

import math
import re
from dataclasses import fields, is_dataclass

import numpy as np
import pytest
import torch

from glassformer.lessons.order import LESSON as ORDER
from glassformer.lessons.order import SWAPPED
from glassformer.lessons.scale import LESSON as SCALE
from glassformer.lessons.scale import WIDTHS, N
from glassformer.nn.attention import attend
from glassformer.nn.positions import Rotary, Sinusoidal

ORDERS = ([0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0])
DEFAULT = ORDER.sheet.evaluate()


def answers(lesson):
    found = {}
    for question in (*lesson.predict, *lesson.check):
        values = lesson.sheet.evaluate(
            {name: edited(lesson, name, change) for name, change in question.under.items()}
        )
        name, i, j = question.answer
        found[question.key] = values[name][i, j]
        right = [value for _, value in question.options if value == values[name][i, j]]
        assert len(right) == (1 if question.options else 0)
        for mistake in question.mistakes:
            name, i, j = mistake.cell
            assert abs(values[name][i, j] - found[question.key]) > 0.5 * 10**-question.decimals
    return found


def edited(lesson, name, change):
    if not hasattr(change, "items"):
        return change
    values = lesson.sheet.evaluate()[name].copy()
    for place, x in change.items():
        values[place] = x
    return values


def texts(part):
    if isinstance(part, str):
        yield part
    elif is_dataclass(part):
        for field in fields(part):
            yield from texts(getattr(part, field.name))
    elif isinstance(part, dict):
        yield from texts(tuple(part.values()))
    elif isinstance(part, tuple):
        for each in part:
            yield from texts(each)


@pytest.mark.parametrize("lesson", [SCALE, ORDER], ids=lambda lesson: lesson.slug)
def test_texts_name_cells_that_exist(lesson):
    values = lesson.sheet.evaluate()
    cells = 0
    for text in texts(lesson):
        for inside in re.findall("«(.*?)»", text):
            name, i, j = re.fullmatch(r"(\w+)\[(\d+),(\d+)\](?::\d+)?", inside).groups()
            assert np.isfinite(values[name][int(i), int(j)])
            cells += 1
        assert text.count("$") % 2 == 0
    assert cells > 4


@pytest.mark.parametrize("lesson", [SCALE, ORDER], ids=lambda lesson: lesson.slug)
def test_matrices_fit_their_axes(lesson):
    values = lesson.sheet.evaluate()
    for block in lesson.body:
        for shown in getattr(block, "shown", ()):
            rows, columns = values[shown.name].shape
            assert not shown.rows or len(lesson.axes[shown.rows]) == rows, shown.name
            assert not shown.columns or len(lesson.axes[shown.columns]) == columns, shown.name
        for line in getattr(block, "lines", ()):
            assert values[line.y].shape == values[block.x].shape
        for mark in getattr(block, "marks", ()):
            assert all(values[name].shape == (1, 1) for name in mark)


@pytest.mark.parametrize("lesson", [SCALE, ORDER], ids=lambda lesson: lesson.slug)
def test_an_edit_is_cheap(lesson):
    values = lesson.sheet.evaluate({"log_d": 9} if lesson is SCALE else {})
    products = [matrix for matrix in lesson.sheet.matrices if matrix.op == "matmul"]
    assert sum(values[m.name].size * values[m.of[0]].shape[1] for m in products) < 200_000


def scale(d, seed=6):
    return SCALE.sheet.evaluate({"log_d": int(math.log2(d)), "seed": seed})


def test_the_answers_about_the_scale():
    found = answers(SCALE)
    assert found["deviation"] == 8
    assert found["ratio"] == 2
    assert found["scaled"] == 1
    assert found["too-much"] == 0.125
    assert found["slope"] == pytest.approx(0.0608, abs=5e-5)


@pytest.mark.parametrize("d", WIDTHS)
def test_the_example_is_the_beginning_of_the_sample(d):
    values = scale(d)
    assert values["d_k"][0, 0] == d
    assert values["q"].shape == (1, d)
    assert (values["q"] == values["Q_all"][:1, :d]).all()
    assert (values["K"] == values["K_all"][:, :d]).all()
    np.testing.assert_allclose(
        values[f"S@{d}"], values["Q_all"][:, :d] @ values["K_all"][:, :d].T, atol=1e-12
    )
    np.testing.assert_allclose(values[f"S@{d}"][:1], values["s"], atol=1e-12)
    np.testing.assert_allclose(values[f"a_scaled@{d}"][:1], values["a_scaled"], atol=1e-12)
    for of in ("variance", "top", "top_scaled", "slope", "slope_scaled"):
        assert values[f"{of}_here"] == values[f"{of}@{d}"]
    assert values["top_here"] == pytest.approx(values[f"a@{d}"].max(1).mean())


def test_variance_is_d_k_within_its_error():
    """Every width for every seed of the slider; and their mean over the seeds."""
    ratios = []
    for seed in range(1, 41):
        values = scale(64, seed)
        measured = values["variance_by_d"][:, 0]
        d = np.array(WIDTHS)
        error = np.sqrt(d * (4 / N + 2 / N**2) + d**2 * 2 / N**2)
        assert values["error"][0, 0] == pytest.approx(error[5])
        assert (abs(measured - d) < 4.5 * error).all()
        ratios.append((measured - d) / error)
    ratios = np.array(ratios)
    assert (abs(ratios.mean(0)) < 4 / math.sqrt(40)).all()
    assert (abs(ratios.std(0) - 1) < 0.5).all()  # so the error is the right one


def test_saturation_grows_without_the_scale_only():
    runs = [scale(64, seed) for seed in range(1, 11)]
    mean = {
        name: np.mean([values[f"{name}_by_d"][:, 0] for values in runs], 0)
        for name in ("top", "top_scaled", "slope", "slope_scaled")
    }
    assert (np.diff(mean["top"]) > 0).all()
    assert (np.diff(mean["slope"]) < 0).all()
    assert mean["top"][-1] > 0.9
    assert mean["slope"][-1] < 0.01
    assert np.ptp(mean["top_scaled"]) < 0.06
    assert np.ptp(mean["slope_scaled"]) < 0.006
    assert mean["top_scaled"][-1] < 0.35


def test_the_gradient_is_the_one_with_respect_to_the_scores():
    values = scale(64)
    scores = torch.tensor(values["s"][0], requires_grad=True)
    top = scores.softmax(0).max()
    top.backward()
    assert scores.grad.max().item() == pytest.approx(values["top_slope"][0, 0], abs=1e-14)


def order(chosen, **given):
    return ORDER.sheet.evaluate({"order": [[i] for i in chosen], **given})


def test_the_answers_about_order():
    found = answers(ORDER)
    assert found["shuffle"] == 1
    assert found["causal"] == 0
    assert found["row"] == 3
    assert found["own"] == pytest.approx(4, abs=1e-14)
    assert found["shift"] == pytest.approx(DEFAULT["S_rotary"][0, 2], abs=1e-12)


@pytest.mark.parametrize("chosen", ORDERS)
def test_attention_alone_is_equivariant(chosen):
    values = order(chosen)
    assert values["gap"] <= 1e-15
    np.testing.assert_allclose(values["total"], values["total_P"], atol=2e-15)
    np.testing.assert_allclose(values["A_P"], values["A"][np.ix_(chosen, chosen)], atol=1e-15)
    assert values["first_row"] == chosen[0] + 1
    assert values["outcome"] == (0 if chosen == [0, 1, 2] else 1)
    broken = 0 if chosen == [0, 1, 2] else 1
    for kind in ("added", "causal", "rotary"):
        assert (values[f"gap_{kind}"] > 0.1) == broken, kind
        assert values[f"follows_{kind}"] == 1 - broken


def test_equivariance_does_not_depend_on_the_numbers():
    rng = np.random.default_rng(0)
    for _ in range(5):
        given = {name: rng.normal(size=DEFAULT[name].shape) for name in ("X", "W_Q", "W_K", "W_V")}
        values = order([1, 2, 0], **given)
        assert values["gap"] <= 3e-15
        assert values["outcome"] == 1


@pytest.mark.parametrize(
    ("end", "x", "mask", "places"),
    [
        ("", "X", None, None),
        ("_P", "PX", None, None),
        ("_added", "X_added", None, None),
        ("_P_added", "PX_added", None, None),
        ("_causal", "X", "causal", None),
        ("_P_causal", "PX", "causal", None),
        ("_rotary", "X", None, (0, 1, 2)),
        ("_P_rotary", "PX", None, (0, 1, 2)),
        ("_rotary_shifted", "X", None, (7, 8, 9)),
    ],
)
def test_attention_is_that_of_nn(end, x, mask, places):
    values = ORDER.sheet.evaluate({"shift": 7})
    q, k, v = (torch.tensor(values[x] @ values[f"W_{part}"])[None, None] for part in "QKV")
    if places:
        turn = Rotary(4, style="interleaved").rotation(torch.tensor(places))
        q, k = turn(q), turn(k)
        np.testing.assert_allclose(values[f"Q_turned{end}"], q[0, 0], atol=1e-14)
        np.testing.assert_allclose(values[f"K_turned{end}"], k[0, 0], atol=1e-14)
    out = attend(q, k, v, mask, backend="reference")
    np.testing.assert_allclose(values[f"O{end}"], out[0, 0], atol=1e-13)


@pytest.mark.parametrize(("name", "d"), [("PE", 8), ("PE_wide", 32), ("PE_3", 4)])
def test_the_table_is_that_of_nn(name, d):
    table = DEFAULT[name]
    zeros = torch.zeros(table.shape, dtype=torch.float64)
    expected = Sinusoidal(d).embed(zeros, torch.arange(len(table)))
    np.testing.assert_allclose(table, expected, atol=1e-12, rtol=0)
    frequencies = DEFAULT[f"omega_{d}"][0]
    assert (frequencies[0::2] == frequencies[1::2]).all()
    np.testing.assert_allclose(frequencies[0::2], 10000.0 ** (-np.arange(0, d, 2) / d), rtol=1e-14)


def test_a_step_is_a_rotation_that_depends_on_it_alone():
    rotations: dict[int, np.ndarray] = {}
    for pos in (0, 1, 5, 17, 60, 1000):
        for delta in (-20, 0, 1, 3, 40, 500):
            values = ORDER.sheet.evaluate({"pos": pos, "delta": delta})
            expected = Sinusoidal(8).embed(
                torch.zeros(1, 8, dtype=torch.float64), torch.tensor([pos + delta])
            )
            np.testing.assert_allclose(values["there"], expected, atol=1e-12)
            np.testing.assert_allclose(values["here_R"], expected, atol=1e-12)
            assert values["error"] <= 1e-12
            r = values["R"]
            assert (r == rotations.setdefault(delta, r)).all()
            np.testing.assert_allclose(r @ r.T, np.eye(8), atol=1e-14)
            assert not r[np.abs(np.subtract.outer(np.arange(8) // 2, np.arange(8) // 2)) > 0].any()


def test_products_depend_on_the_distance_alone():
    curves = []
    for pos in (0, 9, 60):
        values = ORDER.sheet.evaluate({"pos": pos, "delta": 11})
        curves.append(values["product_by_distance"])
        np.testing.assert_allclose(curves[-1], values["formula_by_distance"], atol=1e-12)
        assert values["product"] == pytest.approx(curves[-1][11, 0], abs=1e-12)
    np.testing.assert_allclose(curves[0], curves[2], atol=1e-12)
    for step in range(32):
        assert np.ptp(np.diagonal(DEFAULT["products"], step)) < 1e-12


def test_rotary_scores_do_not_change_with_a_shift_and_added_ones_do():
    for shift in (1, 5, 50, 1000):
        values = ORDER.sheet.evaluate({"shift": shift})
        assert values["change_rotary_most"] < 1e-12
        assert values["change_added_most"] > 0.1
        np.testing.assert_allclose(values["score_by_distance"], DEFAULT["score_by_distance"], atol=1e-12)
        assert values["score_by_distance"][2, 0] == pytest.approx(values["S_rotary"][0, 2], abs=1e-12)
        assert not values["change_V_rotary"].any()
        assert values["change_V_added"].any()


def test_the_sheet_stands_at_the_first_preset():
    assert (DEFAULT["order"] == SWAPPED["order"]).all()
    assert (DEFAULT["P"] == np.eye(3)[::-1]).all()
