"""The language of pronouns: its rule, and that nothing but the rule tells the referent."""

from collections import Counter

import pytest

from glassformer.data.pronouns import ANIMALS, DEEDS, KINDS, MASK, STATES, pairs, sentences, tokenizer

ALL = {held_out: list(sentences(held_out)) for held_out in (False, True)}


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("猫 追 老鼠 ， 因为 它 饿了 。 谁 饿了 ？", "猫"),
        ("猫 追 老鼠 ， 所以 它 饿了 。 谁 饿了 ？", "老鼠"),
        ("老鼠 被 猫 追 ， 因为 它 饿了 。 谁 饿了 ？", "猫"),
        ("老鼠 被 猫 追 ， 所以 它 饿了 。 谁 饿了 ？", "老鼠"),
        ("the cat chased the mouse because it was hungry . who was hungry ? the", "cat"),
        ("the mouse was chased by the cat so it was hungry . who was hungry ? the", "mouse"),
    ],
)
def test_the_rule(text, answer):
    [found] = [each for each in ALL[True] if each.text == text]
    assert found.answer == answer
    words = text.split(" ")
    kind = found.kind
    assert words[kind.referent] == answer
    assert words[kind.other] == found.other != answer
    assert words[kind.pronoun] in ("它", "it")


def test_nothing_alone_tells_the_referent():
    """Of the sentences with any one property, half mean the animal that comes first."""
    first, count = Counter(), Counter()
    for each in ALL[True]:
        kind, words = each.kind, each.text.split(" ")
        signs = {
            ("language", kind.language),
            ("voice", kind.language, kind.passive),
            ("conjunction", kind.language, kind.because),
            *(("word", word) for word in words if word not in dict(ANIMALS) and word not in names("en")),
            ("pair", *sorted((each.answer, each.other))),
        }
        for sign in signs:
            count[sign] += 1
            first[sign] += kind.referent < kind.other
    assert min(count.values()) > 10
    assert all(2 * first[sign] == count[sign] for sign in count)


def names(language):
    return {animal[language == "en"] for animal in ANIMALS}


@pytest.mark.parametrize("held_out", [False, True])
def test_an_animal_is_meant_as_often_as_not(held_out):
    meant = Counter(each.answer for each in ALL[held_out])
    other = Counter(each.other for each in ALL[held_out])
    assert meant == other
    assert meant.keys() == names("zh") | names("en")


def test_pairs_are_held_out_as_a_whole():
    seen, kept = pairs(False), pairs(True)
    assert (0, 1) in kept
    assert len({*seen, *kept}) == len(seen) + len(kept) == len(ANIMALS) * (len(ANIMALS) - 1)
    for place in (0, 1):  # each animal is known in both roles
        assert {pair[place] for pair in seen} == {*range(len(ANIMALS))}
    assert {each.text for each in ALL[True]}.isdisjoint(each.text for each in ALL[False])
    assert len(ALL[False]) == len(seen) * len(DEEDS) * len(STATES) * len(KINDS)


def test_every_word_is_a_token():
    words = tokenizer()
    for each in ALL[True][:: len(ALL[True]) // 40]:
        ids = words.encode(f"{each.text} {each.answer}")
        assert words.decode(ids) == f"{each.text} {each.answer}"
    assert len(words.encode(MASK)) == 1
