"""Training a GPT: its losses, gradient and step are those of torch, in float64."""

import contextlib
import io

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from glassformer.lessons.build import CONTEXTS, LESSON, RATES, SHEET, TARGETS
from glassformer.lessons.lesson import Code, Presets

CLOSE = 1e-12
PRESETS = {
    choice.key: choice.edits
    for block in LESSON.body
    if isinstance(block, Presets)
    for choice in block.choices
}
X, Y = torch.tensor(CONTEXTS), torch.tensor(TARGETS)


def loss_of(w):
    return F.cross_entropy(w[X], Y)


def near(sheet, torch_value):
    theirs = torch.as_tensor(torch_value).detach().numpy().reshape(sheet.shape)
    return np.all(np.abs(sheet - theirs) <= CLOSE * np.maximum(1, np.abs(theirs)))


@pytest.mark.parametrize("eta", [0.0, 2.0, 40.0])
@pytest.mark.parametrize("preset", PRESETS)
def test_the_sheet_is_torch(preset, eta):
    values = SHEET.evaluate({**PRESETS[preset], "eta": [[eta]]})
    w = torch.tensor(values["W"], requires_grad=True)
    loss = loss_of(w)
    loss.backward()
    assert near(values["Z"], w[X])
    assert near(values["P"], w[X].softmax(-1))
    assert near(values["loss"], F.cross_entropy(w[X], Y, reduction="none"))
    assert near(values["L"], loss)
    assert near(values["perplexity"], loss.exp())
    assert near(values["G"], w.grad)
    after = w.detach() - eta * w.grad
    assert near(values["W_after"], after)
    assert near(values["L_after"], loss_of(after))
    assert near(values["change"], loss_of(after) - loss.detach())
    assert near(values["predicted"], -eta * (w.grad**2).sum())
    for k in range(RATES):
        assert near(values["L_all"][k : k + 1], loss_of(w.detach() - k * w.grad))


def test_p_minus_y_is_the_gradient_by_the_logits_of_each_place():
    values = SHEET.evaluate()
    logits = torch.tensor(values["Z"], requires_grad=True)
    F.cross_entropy(logits, Y, reduction="sum").backward()
    assert near(values["D"], logits.grad)


def test_the_lowest_loss_is_where_long_training_ends():
    w = torch.zeros(4, 4, dtype=torch.float64, requires_grad=True)
    for _ in range(3000):
        (gradient,) = torch.autograd.grad(loss_of(w), w)
        w = (w - 5 * gradient).detach().requires_grad_()
    best = SHEET.evaluate()["best"][0, 0]
    assert best == pytest.approx(2 * np.log(2) / 5, abs=CLOSE)
    assert 0 < loss_of(w).item() - best < 1e-3


def test_the_first_preset_is_how_the_page_begins():
    first = next(iter(PRESETS.values()))
    assert np.array_equal(SHEET.evaluate(first)["L"], SHEET.evaluate()["L"])
    assert SHEET.evaluate(PRESETS["nothing"])["L"] == pytest.approx(np.log(4), abs=CLOSE)
    assert SHEET.evaluate(PRESETS["wrong"])["L"] > np.log(4)


def test_answers_are_those_that_the_texts_give():
    values = SHEET.evaluate()
    assert values["raises"][0].tolist() == [0, 0, 0, 1]  # 小: only the logit of 狗 rises
    assert SHEET.evaluate({"eta": [[40]]})["worse"] == 1
    assert values["best"] < values["L_after"] < values["L"] < values["ln_V"]


def test_the_program_prints_what_the_page_says():
    (code,) = (block for block in LESSON.body if isinstance(block, Code))
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code.source, {})
    assert printed.getvalue() == code.output
