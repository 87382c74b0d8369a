"""Blank and next word: what the sheet computes is what counting all sentences of the language gives."""

import math
from importlib import import_module

import numpy as np
import pytest

from glassformer.data.masking import BEHIND_ANOTHER, BEHIND_MASK, SHARE
from glassformer.lessons.trained import vectors
from glassformer.lessons.trained.leak import SIGN, language
from lessons.test_numbers_architectures import answers

blanks = import_module("glassformer.lessons.blanks")
SENTENCES = language()
LISTS = (blanks.FIRST, blanks.PEOPLE, blanks.VERBS, blanks.WHOSE)
FOODS = [english for english, _ in vectors.FOODS]
ANIMALS = [english for english, _ in vectors.ANIMALS]
EACH = pytest.mark.parametrize("given", ["OLD_KING", "YOUNG_GIRL", "TORN"])


def sentence_of(edits):
    places = [int(edits[name][0][0]) for name in ("first", "who", "verb", "whose")]
    words = [words[place].en for words, place in zip(LISTS, places, strict=True)]
    return (*words, ANIMALS[blanks.HORSE])


def distribution(sentence, place, *, after):
    """p of each word at a place, given the words before it and, if so, those after."""
    found = {}
    for words, p in SENTENCES.items():
        same = words[:place] == sentence[:place]
        same &= not after or words[place + 1 :] == sentence[place + 1 :]
        if same and len(words) > place:
            found[words[place]] = found.get(words[place], 0.0) + p
    return {word: p / sum(found.values()) for word, p in found.items()}


@EACH
def test_both_probabilities_are_those_of_the_language(given):
    edits = getattr(blanks, given)
    values, sentence = blanks.SHEET.evaluate(edits), sentence_of(edits)
    for way, after in (("next", False), ("fill", True)):
        for place in range(5):
            p = distribution(sentence, place, after=after)
            entropy = -sum(x * math.log(x) for x in p.values())
            assert values[f"H_{way}"][place, 0] == pytest.approx(entropy, abs=1e-12)
            cost = -math.log(p[sentence[place]])
            assert values[f"cost_{way}"][place, 0] == pytest.approx(cost, abs=1e-12)
        who = distribution(sentence, blanks.WHO, after=after)
        names = [person.en for person in blanks.PEOPLE]
        assert dict(zip(names, values[f"p_{way}"][:, 0].tolist(), strict=True)) == pytest.approx(who)
    assert values["sentence_next"] == pytest.approx(-math.log(SENTENCES[sentence]))
    assert values["sentence_fill"] < values["sentence_next"]


def test_what_the_text_says_of_the_three_sentences():
    saved = [
        blanks.SHEET.evaluate(edits)["saved"][:, 0]
        for edits in (blanks.OLD_KING, blanks.YOUNG_GIRL, blanks.TORN)
    ]
    assert saved[0] == pytest.approx(saved[1])
    assert saved[2][blanks.WHO] == pytest.approx(0, abs=1e-12)
    assert saved[0][2:] == pytest.approx(0, abs=1e-12)
    flat = blanks.SHEET.evaluate({"s": [[0.5]]})
    assert flat["p_fill"] == pytest.approx(np.full((8, 1), 1 / 8))
    assert flat["saved"][blanks.WHO, 0] == pytest.approx(0, abs=1e-12)
    sure = blanks.SHEET.evaluate({"s": [[0.02]]})
    assert sure["p_fill"][blanks.KING, 0] > 0.9


def test_in_the_mean_the_rest_of_a_sentence_helps():
    """The entropy of who, over all sentences about people, by what stands there."""
    mean = {"next": 0.0, "fill": 0.0}
    for first in range(8):
        for verb in range(6):
            for whose in range(2):
                values = blanks.SHEET.evaluate({"first": [[first]], "verb": [[verb]], "whose": [[whose]]})
                share = float(values["joint"].sum() * values["total_before"].item())
                for way in mean:
                    mean[way] += share * values[f"H_{way}"][blanks.WHO, 0]
    assert mean["fill"] < mean["next"] - 0.5


def test_masks_are_chosen_as_our_encoders_are_trained():
    values = blanks.SHEET.evaluate()
    assert (values["chosen"], values["hide"], values["swap"]) == (SHARE, BEHIND_MASK, BEHIND_ANOTHER)
    assert values["stay"] == pytest.approx(1 - BEHIND_MASK - BEHIND_ANOTHER)
    parts = sum(values[f"asked_{name}"] for name in ("hide", "swap", "stay"))
    assert parts == pytest.approx(values["asked"]) == 76.8
    words = {word for sentence in SENTENCES for word in sentence} | {SIGN[0]}
    assert len(words) == blanks.WORDS


def test_a_word_that_is_seen_is_believed_as_bayes_says():
    sentence = sentence_of(blanks.TORN)
    seen, right = 0.0, 0.0
    for true, p in distribution(sentence, blanks.WHO, after=True).items():
        shown_so = BEHIND_ANOTHER / blanks.WORDS  # put there by chance
        if true == sentence[blanks.WHO]:
            shown_so += 1 - BEHIND_MASK - BEHIND_ANOTHER
            right = p * shown_so
        seen += p * shown_so
    assert blanks.SHEET.evaluate(blanks.TORN)["trust"][0, 0] == pytest.approx(right / seen)


def test_what_is_answered():
    found = answers(blanks.LESSON)
    assert len(found) == 6
    assert found["next"] == pytest.approx(0.225)
    assert found["fill"] == pytest.approx(0.729)
    assert found["verb"] == 0
    assert found["saved"] == pytest.approx(0.736, abs=5e-4)
    assert found["sentence"] == pytest.approx(-math.log(SENTENCES[sentence_of(blanks.OLD_KING)]))
