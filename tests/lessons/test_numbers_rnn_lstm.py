"""The lessons on recurrence: their states are those of nn's steps, their Jacobians those of autograd."""

import numpy as np
import pytest
import torch
from torch.autograd.functional import jacobian

from glassformer.lab.writer import edited
from glassformer.lessons.lesson import Matrices, Presets
from glassformer.lessons.lstm import LESSON as LSTM
from glassformer.lessons.rnn import LESSON as RNN
from glassformer.lessons.rnn import STEPS
from glassformer.nn.recurrent import Weights, gru_step, lstm_step, rnn_step

PROVED = (2, 3, 5, 12, 33)  # steps whose Jacobians are compared
LESSONS = pytest.mark.parametrize("lesson", [RNN, LSTM], ids=lambda lesson: lesson.slug)


def presets(lesson):
    [block] = [block for block in lesson.body if isinstance(block, Presets)]
    return {choice.key: choice.edits for choice in block.choices}


def random_given(lesson, names, seed):
    rng, values = np.random.default_rng(seed), lesson.sheet.evaluate()
    return {name: rng.normal(size=values[name].shape) for name in names}


RNN_GIVEN = [
    *presets(RNN).values(),
    *(random_given(RNN, ("X", "W_x", "b", "W"), s) | {"sigma": 0.4 * s} for s in (1, 2, 6)),
]
LSTM_GIVEN = [
    *presets(LSTM).values(),
    *(random_given(LSTM, ("X", "W", "W_rz", "W_nx", "b_nx", "W_nh", "b_nh"), s) for s in (1, 2)),
]


def tensors(*arrays):
    return [torch.tensor(a) for a in arrays]


def near(sheet, other, tolerance=1e-12):
    np.testing.assert_allclose(sheet, np.asarray(other), rtol=tolerance, atol=tolerance)


def rnn_of(values, bias):
    w_x, w_h, b = tensors(values["W_x"], values["W_h"], bias)
    return Weights(w_x, w_h, b, torch.zeros(2, dtype=torch.float64))


def words_of(values):
    """The words as they are read, rows of one each."""
    return [x[None] for x in torch.tensor(values["X_read"].T)]


@LESSONS
def test_matrices_fit_their_axes(lesson):
    values = lesson.sheet.evaluate()
    for block in lesson.body:
        for shown in block.shown if isinstance(block, Matrices) else ():
            rows, columns = values[shown.name].shape
            assert not shown.rows or len(lesson.axes[shown.rows]) == rows, shown.name
            assert not shown.columns or len(lesson.axes[shown.columns]) == columns, shown.name
        for line in getattr(block, "lines", ()):
            assert values[line.y].shape == values[block.x].shape
    plain, first = lesson.sheet.evaluate(), edited(lesson, next(iter(presets(lesson).values())))
    assert all(np.array_equal(plain[name], first[name]) for name in plain)


@pytest.mark.parametrize("given", RNN_GIVEN)
def test_the_rnn_is_that_of_nn_and_its_jacobians_those_of_autograd(given):
    values = RNN.sheet.evaluate(given)
    weights, words = rnn_of(values, values["b"][:, 0]), words_of(values)
    near(values["norm_W_h"], values["sigma"])
    near(values["norm_W_h"][0, 0], np.linalg.norm(values["W_h"], 2))
    h = torch.zeros(1, 2, dtype=torch.float64)
    first = None
    for t, x in enumerate(words, start=1):
        before, h = h, rnn_step(x, h, weights)
        near(values[f"h_{t}"], h.T)
        if t == 1:
            first = h
            continue
        if t not in PROVED:
            continue
        near(values[f"J_{t}"], jacobian(lambda past, x=x: rnn_step(x, past, weights), before)[0, :, 0])

        def onward(past, t=t):
            for later in words[1:t]:
                past = rnn_step(later, past, weights)
            return past

        whole = jacobian(onward, first)[0, :, 0].numpy()
        near(values[f"P_{t}"], whole)
        near(values["norm"][t - 1, 0] / np.linalg.norm(whole, 2), 1)  # to as many digits where it is tiny
    assert values["norm"].shape == (STEPS, 1)


@pytest.mark.parametrize("given", RNN_GIVEN)
def test_no_gradient_exceeds_its_bound(given):
    for sigma in (0.1, 0.5, 0.95, 1.0, 1.5, 3.0):
        values = RNN.sheet.evaluate({**given, "sigma": sigma})
        near(values["bound"][:, 0] / sigma ** np.arange(STEPS), np.ones(STEPS))
        assert (values["norm"] <= values["bound"] * (1 + 1e-12)).all()
        assert sigma >= 1 or (np.diff(values["norm"][:, 0]) < 0).all()


def test_without_recurrent_weights_nothing_is_carried_on():
    values = RNN.sheet.evaluate({"W": np.zeros((2, 2))})
    assert values["norm"][:, 0].tolist() == values["bound"][:, 0].tolist() == [1] + [0] * (STEPS - 1)
    near(values["H"], np.tanh(values["U"]))


def test_above_1_is_necessary_and_not_sufficient():
    above, silent, shear = (edited(RNN, presets(RNN)[key]) for key in ("above", "silent", "shear"))
    assert above["farthest"] < 1 < above["farthest_bound"]
    near(silent["norm"] / silent["bound"], np.ones((STEPS, 1)))
    assert silent["farthest"] > 1000
    assert (shear["slope_2"] == 1).all()
    assert shear["farthest"] < 1e-9 < 1000 < shear["farthest_bound"]
    assert above["explodes"] == shear["explodes"] == 0
    assert silent["explodes"] == 1


@pytest.mark.parametrize("t", range(5))
def test_an_edit_moves_its_own_state_and_every_later_one(t):
    before = RNN.sheet.evaluate()
    after = edited(RNN, {"X": {(0, t): 2.0}})
    moved = (after["H"] != before["H"]).any(0)
    assert moved.tolist() == [k >= t for k in range(5)]
    assert before["how_many"] == 4


def test_the_rnn_has_as_many_weights_as_its_matrices_have_numbers():
    assert RNN.sheet.evaluate()["weights"] == 4 + 4 + 2


def lstm_of(values):
    """The sheet's gates f, i, o, c̃ in PyTorch's order i, f, c̃, o."""
    order = [2, 3, 0, 1, 6, 7, 4, 5]
    w, b = tensors(values["W"][order], values["b"][order, 0])
    return Weights(w[:, 2:], w[:, :2], b, torch.zeros(8, dtype=torch.float64))


@pytest.mark.parametrize("given", LSTM_GIVEN)
def test_the_lstm_is_that_of_nn_and_its_gradient_that_of_autograd(given):
    values = LSTM.sheet.evaluate(given)
    weights, words = lstm_of(values), words_of(values)
    seen = {}

    def tap(name, value):
        seen[name] = value
        return value

    h = c = torch.zeros(1, 2, dtype=torch.float64)
    path = np.ones(2)
    for t, x in enumerate(words, start=1):
        h, c = lstm_step(x, h, c, weights, tap)
        near(values[f"h_{t}"], h.T)
        near(values[f"c_{t}"], c.T)
        for ours, theirs in (("f", "f"), ("i", "i"), ("o", "o"), ("c̃", "candidate")):
            near(values[f"{ours}_{t}"], seen[theirs].T)
        if t == 1:
            o, first = seen["o"], c
            continue
        path = path * seen["f"][0].numpy()
        near(values[f"direct_{t}"][:, 0], path)
        if t not in PROVED:
            continue

        def onward(memory, o=o, t=t):
            state = o * torch.tanh(memory)
            for later in words[1:t]:
                state, memory = lstm_step(later, state, memory, weights)
            return memory

        whole = jacobian(onward, first)[0, :, 0].numpy()
        near(values[f"G_{t}"], whole)
        near(values["whole"][t - 1, 0] / np.linalg.norm(whole, 2), 1)
    near(values["memory_1_last"][0, 0], c[0, 0])
    near(values["path_1_last"][0, 0], path[0])


@pytest.mark.parametrize("given", LSTM_GIVEN)
def test_the_gru_is_that_of_nn(given):
    values = LSTM.sheet.evaluate(given)
    w_rz, w_nx, w_nh = tensors(values["W_rz"], values["W_nx"], values["W_nh"])
    b_rz, b_nx, b_nh = tensors(values["b_rz"][:, 0], values["b_nx"][:, 0], values["b_nh"][:, 0])
    weights = Weights(
        torch.cat([w_rz[:, 2:], w_nx]),
        torch.cat([w_rz[:, :2], w_nh]),
        torch.cat([b_rz, b_nx]),
        torch.cat([torch.zeros(4, dtype=torch.float64), b_nh]),
    )
    h = torch.zeros(1, 2, dtype=torch.float64)
    for t, x in enumerate(words_of(values)[:5]):
        h = gru_step(x, h, weights)
        near(values["G_gru"][:, t], h[0])


def test_the_rnn_beside_the_lstm_is_that_of_nn():
    values = LSTM.sheet.evaluate({"size": 1.3})
    weights = rnn_of(values, np.zeros(2))
    h = torch.zeros(1, 2, dtype=torch.float64)
    whole = torch.eye(2, dtype=torch.float64)
    for t, x in enumerate(words_of(values)):
        before, h = h, rnn_step(x, h, weights)
        if t:
            whole = jacobian(lambda past, x=x: rnn_step(x, past, weights), before)[0, :, 0] @ whole
        near(values["rnn"][t, 0], torch.linalg.matrix_norm(whole, 2))


def test_gates_mitigate_and_do_not_cure():
    for b_f in (-4, 0, 3, 6, 8):
        values = LSTM.sheet.evaluate({"b_f": b_f})
        assert (np.diff(values["path_1"][:, 0]) < 0).all()
    begin, wide, shut = (edited(LSTM, presets(LSTM)[key]) for key in ("mostly", "wide", "shut"))
    assert begin["path_1_last"] > 10 * begin["rnn_last"]
    assert wide["path_1_last"] > 0.9
    assert shut["path_1_last"] < 1e-30 < shut["whole_last"]
    assert begin["more"] == 1


def test_where_gates_do_not_read_the_state_the_direct_path_is_all():
    w = LSTM.sheet.evaluate()["W"].copy()
    w[:, :2] = 0
    values = LSTM.sheet.evaluate({"W": w})
    near(values["whole"], np.maximum(values["path_1"], values["path_2"]))
    assert values["more"] == 0


def test_memory_of_the_first_word_lasts_as_long_as_the_gate_is_open():
    lasts = [LSTM.sheet.evaluate({"b_f": b_f})["memory_1_last"][0, 0] for b_f in (-4, 0, 3)]
    assert lasts[0] < 0.05
    assert lasts[1] < 0.05
    assert lasts[2] > 0.5


def test_the_answers():
    values = LSTM.sheet.evaluate()
    assert values["left"] == pytest.approx(0.99**100, abs=1e-12)
    assert values["needed"] == pytest.approx(0.5**0.01, abs=1e-12)
    assert values["g_2"][0, 0] == pytest.approx(0.4957, abs=5e-5)
    assert values["c_3"][0, 0] == pytest.approx(0.8960, abs=5e-5)
    assert edited(RNN, {"sigma": [[0.5]]})["bound"][4, 0] == pytest.approx(0.0625, abs=1e-12)
