"""Four words, two heads, masks: the lecture's numbers, the stories, and `nn` on the same input."""

import math
import re
import subprocess
import sys
from dataclasses import fields, is_dataclass

import numpy as np
import pytest
import torch

from glassformer.lessons.four_words import LESSON as FOUR_WORDS
from glassformer.lessons.four_words import OUTPUT, SOURCE
from glassformer.lessons.lesson import Code, Edits, Lesson, Presets, Question, Sentence, Text
from glassformer.lessons.masks import BOTH, LARGE, OPEN, PADDING
from glassformer.lessons.masks import LESSON as MASKS
from glassformer.lessons.two_heads import CAUSAL, EVERYONE
from glassformer.lessons.two_heads import LESSON as TWO_HEADS
from glassformer.nn.attention import MultiHeadAttention, attend

LESSONS = (FOUR_WORDS, TWO_HEADS, MASKS)
ALL = pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.slug)
CAT, CHASES, MOUSE, IT = range(4)


class Weights:
    """A tap that keeps the weights."""

    def __call__(self, name, tensor):
        if name == "weights":
            self.seen = tensor
        return tensor

    def at(self, path):
        return self

    def wants(self, name):
        return name == "weights"


def evaluated(lesson: Lesson, edits: Edits | None = None):
    values = lesson.sheet.evaluate()
    given = {}
    for name, change in (edits or {}).items():
        if hasattr(change, "items"):
            given[name] = values[name].copy()
            for cell, value in change.items():
                given[name][cell] = value
        else:
            given[name] = np.array(change, dtype=float)
    return lesson.sheet.evaluate(given)


def questions(lesson: Lesson) -> list[Question]:
    inside = [block for block in lesson.body if isinstance(block, Question)]
    return [*lesson.predict, *inside, *lesson.check]


def answer(lesson: Lesson, key: str) -> float:
    [question] = [q for q in questions(lesson) if q.key == key]
    return float(at(evaluated(lesson, question.under), question.answer))


def at(values, cell):
    name, i, j = cell
    return values[name][i, j]


def texts(part):
    """All texts inside a part of a lesson."""
    if isinstance(part, Text):
        yield part
    elif is_dataclass(part):
        for field in fields(part):
            yield from texts(getattr(part, field.name))
    elif isinstance(part, tuple | list):
        for inner in part:
            yield from texts(inner)
    elif isinstance(part, dict):
        yield from texts(tuple(part.values()))


def attended(q, k, v, mask=None):
    tap = Weights()
    as_tensors = [torch.from_numpy(x) for x in (q, k, v)]
    out = attend(*as_tensors, mask=mask, backend="reference", tap=tap)
    return tap.seen.numpy(), out.numpy()


@ALL
def test_numbers_in_texts_name_cells_and_agree_between_languages(lesson):
    values = lesson.sheet.evaluate()
    for text in texts(lesson):
        found = [re.findall(r"«(\w+)\[(\d+),(\d+)\](?::\d)?»", side) for side in text]
        assert [len(side) for side in found] == [side.count("«") for side in text]
        assert sorted(found[0]) == sorted(found[1]), text
        for name, i, j in found[0]:
            assert math.isfinite(values[name][int(i), int(j)])
        assert all(side.strip() for side in text)


@ALL
def test_the_first_preset_is_the_sheet_as_defined(lesson):
    [presets] = [block for block in lesson.body if isinstance(block, Presets)]
    plain, first = lesson.sheet.evaluate(), evaluated(lesson, presets.choices[0].edits)
    assert all(np.array_equal(plain[name], first[name]) for name in plain)
    for choice in presets.choices:  # each sets the same matrices, so that the order of clicks plays no part
        assert choice.edits.keys() == presets.choices[0].edits.keys()


@ALL
def test_each_mistake_is_told_from_the_answer_and_from_the_others(lesson):
    for question in questions(lesson):
        values = evaluated(lesson, question.under)
        right = at(values, question.answer)
        wrong = [at(values, mistake.cell) for mistake in question.mistakes]
        if question.options:
            worth = [value for _, value in question.options]
            assert worth.count(right) == 1
            assert all(number in worth and number != right for number in wrong), question.key
        numbers = [right, *wrong]
        for k, number in enumerate(numbers):
            for other in numbers[:k]:
                assert abs(number - other) > 10**-question.decimals, question.key


def test_four_words_have_the_numbers_of_the_lecture():
    values = FOUR_WORDS.sheet.evaluate()
    expected = [[0.34, 0.18, 0.30, 0.18], [0.19, 0.32, 0.20, 0.29], [0.29, 0.18, 0.33, 0.19]]
    assert values["A"].round(2).tolist() == [*expected, [0.20, 0.30, 0.22, 0.28]]
    assert values["O"][0].round(4).tolist() == [0.4923, 0.3226, 0.5592]


def test_four_words_agree_with_nn():
    for choice in next(block for block in FOUR_WORDS.body if isinstance(block, Presets)).choices:
        values = evaluated(FOUR_WORDS, choice.edits)
        x = values["X"]
        weights, output = attended(x, x, x)
        np.testing.assert_allclose(values["A"], weights, rtol=0, atol=1e-14)
        np.testing.assert_allclose(values["O"], output, rtol=0, atol=1e-14)
    same = evaluated(FOUR_WORDS, {"X": [[1, 0, 0.5]] * 4})
    assert (same["A"] == 0.25).all()
    assert not same["unequal"].any()


def test_the_program_prints_what_the_page_says_it_prints():
    [code] = [block for block in FOUR_WORDS.body if isinstance(block, Code)]
    assert (code.source, code.output) == (SOURCE, OUTPUT)
    ran = subprocess.run([sys.executable, "-c", SOURCE], capture_output=True, encoding="utf-8", check=True)
    assert (ran.stdout, ran.stderr) == (OUTPUT, "")
    values = FOUR_WORDS.sheet.evaluate()
    rows = [" ".join(f"{x:.2f}" for x in row) for row in values["A"]]
    rows.append(" ".join(f"{x:.4f}" for x in values["O"][0]))
    assert OUTPUT.splitlines() == rows


def test_four_words_answers():
    assert answer(FOUR_WORDS, "symmetry") == 1
    assert answer(FOUR_WORDS, "favourite") == 1  # “love”
    assert answer(FOUR_WORDS, "columns") == pytest.approx(0.9461, abs=5e-5)


@pytest.mark.parametrize("mask", [EVERYONE, CAUSAL], ids=["open", "causal"])
def test_the_heads_tell_their_stories(mask):
    values = evaluated(TWO_HEADS, {"M": mask})
    one, two = values["A1"], values["A2"]
    for head in (one, two):
        assert head.sum(1) == pytest.approx(np.ones(4))
    # Head 1: who wants a noun finds one, the pronoun mostly one of the two.
    assert one[IT].argmax() == one[CHASES].argmax() == CAT
    assert one[IT, [CAT, MOUSE]].sum() > 0.9
    assert 0.6 < one[IT, CAT] < 0.95
    assert one[IT, CAT] > 3 * one[IT, MOUSE]
    # Head 2: the word before, and the first word itself.
    assert two.argmax(1).tolist() == [CAT, CAT, CHASES, MOUSE]
    assert two.max(1).min() > 0.6
    assert two[IT, MOUSE] > 0.6
    assert two[MOUSE, IT] < 0.02
    # The pronoun's mixtures have nothing in common.
    assert np.abs(values["O1"][IT] - values["O2"][IT]).min() > 0.8
    if mask is EVERYONE:
        assert one[MOUSE].tolist() == [0.25] * 4  # no wish, no choice
        assert max(two.max(), one.max()) < 0.95
    else:
        assert not np.triu(one, 1).any()
        assert not np.triu(two, 1).any()
        assert np.isneginf(values["masked1"][np.triu_indices(4, 1)]).all()


def test_the_lectures_three_questions():
    keys, future, same = TWO_HEADS.predict
    assert answer(TWO_HEADS, keys.key) == 4
    assert [label.en for label, worth in future.options if worth == answer(TWO_HEADS, future.key)] == ["no"]
    assert [label.en for label, worth in same.options if worth == answer(TWO_HEADS, same.key)] == ["no"]
    values = evaluated(TWO_HEADS, {"M": CAUSAL})
    assert np.array_equal(values["causal"], values["M"])  # the answer is that of the preset
    assert np.array_equal(values["causal1"], values["A1"])
    equal = {name: TWO_HEADS.sheet.evaluate()[name.replace("2", "1")] for name in ("W_Q2", "W_K2")}
    assert TWO_HEADS.sheet.evaluate(equal)["differ"] == 0


def test_other_sentences_fit_the_sheet_of_two_heads():
    [sentence] = [block for block in TWO_HEADS.body if isinstance(block, Sentence)]
    for n in range(1, sentence.most + 1):
        x = np.random.default_rng(n).integers(-4, 5, (n, 4)) / 4
        values = TWO_HEADS.sheet.evaluate({sentence.embedded: x, "M": np.tril(np.ones((n, n)))})
        assert values["keys_open"][0, 0] == n
        assert np.array_equal(values["causal"], values["M"])


@pytest.mark.parametrize("mask", [None, "causal"])
def test_two_heads_agree_with_nn(mask):
    values = evaluated(TWO_HEADS, {"M": CAUSAL if mask else EVERYONE})
    model = MultiHeadAttention(4, 2, bias=False).double()
    joined = {
        layer: torch.from_numpy(np.hstack([values[f"W_{m}1"], values[f"W_{m}2"]]).T.copy())
        for layer, m in (("query", "Q"), ("key", "K"), ("value", "V"))
    }
    state = {f"{layer}.weight": weight for layer, weight in joined.items()}
    model.load_state_dict(state | {"output.weight": torch.eye(4, dtype=torch.float64)})
    tap = Weights()
    with torch.no_grad():
        out = model(torch.from_numpy(values["X"])[None], mask=mask, backend="reference", tap=tap)[0]
    for h in (1, 2):
        np.testing.assert_allclose(values[f"A{h}"], tap.seen[0, h - 1].numpy(), rtol=0, atol=1e-14)
    np.testing.assert_allclose(values["O"], out.numpy(), rtol=0, atol=1e-14)


def test_a_row_that_may_look_nowhere_gives_zeros_or_with_a_low_number_everything():
    values = evaluated(MASKS, {"M": BOTH})
    assert values["A"][0].tolist() == [0] * 4
    assert values["O"][0].tolist() == [0] * 2
    assert values["B"][0].tolist() == [0.25] * 4
    assert values["gap"] == 0.25
    assert np.array_equal(values["A"][1:], values["B"][1:])
    assert answer(MASKS, "nowhere") == 0
    assert answer(MASKS, "low") == 1


def test_a_low_number_for_minus_infinity_agrees_until_scores_are_lower():
    for mask in (OPEN, CAUSAL, PADDING):
        values = evaluated(MASKS, {"M": mask})
        assert values["gap"] == 0
        assert np.array_equal(values["A"], values["B"])
    values = evaluated(MASKS, {"M": CAUSAL, "c": LARGE})
    assert values["A"][0].tolist() == [1, 0, 0, 0]
    assert values["B"][0].tolist() == pytest.approx([0, 1 / 3, 1 / 3, 1 / 3])
    assert not values["stray_A"].any()
    assert answer(MASKS, "large") == pytest.approx(1)
    assert np.isfinite(values["A"]).all()


def test_nothing_of_the_future_comes_through_a_causal_mask():
    values = MASKS.sheet.evaluate()
    assert values["leak"][:3].min() > 0.05
    assert values["change_O"][:3, 0].min() > 0.05
    values = evaluated(MASKS, {"M": CAUSAL, "change_V": np.full((4, 2), 1e6) * [[0], [0], [0], [1]]})
    assert not values["leak"].any()
    assert not values["change_O"][:3].any()
    assert values["change_O"][3].all()
    assert answer(MASKS, "past") == 0
    assert answer(MASKS, "late") == pytest.approx(1 - answer(MASKS, "leak"))


@pytest.mark.parametrize("mask", [OPEN, CAUSAL, PADDING, BOTH])
def test_masks_agree_with_nn(mask):
    values = evaluated(MASKS, {"M": mask})
    scores = values["S"] * 2  # q kᵀ / √4 with k = I
    weights, output = attended(scores, np.eye(4), values["V"], torch.tensor(mask, dtype=torch.bool))
    np.testing.assert_allclose(values["A"], weights, rtol=0, atol=1e-14)
    np.testing.assert_allclose(values["O"], output, rtol=0, atol=1e-14)
