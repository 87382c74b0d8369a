"""C1: counts, their information and the language against definitions; what contradicts the claim."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from glassformer.claims import c01_meaning, claim, measured, words
from glassformer.claims.claim import Verdict, Work
from glassformer.data.space import WordSpace
from glassformer.errors import UserError

C1 = claim("C1")
PUBLISHED = {"vectors": "glove.txt", "questions": "q.txt", "asked": 900, "covered": 800}


def test_counts_are_those_of_pairs_within_a_sentence():
    text, window, end = [0, 1, 2, 9, 1, 0, 1, 1], 3, 9
    expected = np.zeros((9, 9))
    for i, j in itertools.permutations(range(len(text)), 2):
        between = text[min(i, j) : max(i, j) + 1]
        if abs(i - j) <= window and end not in between:
            expected[text[i], text[j]] += (window - abs(i - j) + 1) / window
    np.testing.assert_allclose(words.counted(np.array(text, np.uint16), end, window), expected)


def test_information_is_that_of_its_definition():
    counts = np.array([[0, 4.0, 1], [4, 0, 2], [1, 2, 8]])
    found = words.ppmi(counts)
    for i, j in itertools.product(range(3), repeat=2):
        p = counts[i, j] / counts.sum()
        context = counts[:, j].sum() ** 0.75 / sum(counts[:, k].sum() ** 0.75 for k in range(3))
        expected = max(0, math.log(p / (counts[i].sum() / counts.sum() * context))) if p else 0
        assert found[i, j] == pytest.approx(expected)


def test_reduced_rows_are_those_of_a_symmetric_matrix():
    q = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 6)))[0]
    matrix = (q * [9, 5, 2, 1e-9, 0, 0]) @ q.T
    rows = words.reduced(matrix, 3)
    np.testing.assert_allclose(rows @ rows.T, matrix, atol=1e-8)


def test_analogies_are_all_that_there_are_and_more_than_enough():
    asked = words.analogies()
    assert len(asked) == len(set(asked)) == 960 >= c01_meaning.ENOUGH
    for a, b, c, d in asked:
        one, two, three, four = (np.array(words.NOUNS[word]) for word in (a, b, c, d))
        assert np.array_equal(two - one, four - three)
        assert np.abs(two - one).sum() == 1
        assert a != c


def test_vectors_made_of_features_get_all_right_and_none_without_the_offset():
    features = np.array(list(words.NOUNS.values()))
    table = np.concatenate(
        [np.eye(8)[features[:, 0]], np.eye(2)[features[:, 1]], np.eye(2)[features[:, 2]]], 1
    )
    found = words.on_nouns(WordSpace(list(words.NOUNS), table.astype(np.float32), "features"))
    assert found["similarity"] == pytest.approx(1)
    assert found["nearest"] == found["analogies"] == 1
    assert found["without_offset"] < 0.7


def test_sentences_hold_a_noun_among_words_of_its_features():
    lines = [line.split() for line in words.language(1, 3_000).splitlines()]
    own = sum(one[:3] == f"m1{words.NOUNS[noun][1]}" for one, noun, *_ in lines) / len(lines)
    assert own == pytest.approx(1 - words.SLIPS / 2, abs=0.03)
    assert words.language(1, 50) == words.language(1, 50) != words.language(2, 50)


def test_neighbours_of_one_class_are_counted_against_chance():
    known = [word for names in words.CLASSES[:2] for word in names]
    table = np.repeat(np.eye(2), [len(names) for names in words.CLASSES[:2]], 0)
    found = words.on_classes(
        WordSpace(known, (table + 0.01 * np.eye(2)[[0] * len(known)]).astype(np.float32), "")
    )
    a, b = (len(names) for names in words.CLASSES[:2])
    assert found == {
        "nearest": 1,
        "chance": pytest.approx((a * (a - 1) + b * (b - 1)) / (a + b) / (a + b - 1)),
        "words": a + b,
    }


@pytest.fixture
def files(tmp_path):
    """Vectors of the nouns by their features, and their analogies with one that is not known."""
    vectors, questions = tmp_path / "v.txt", tmp_path / "q.txt"
    lines = []
    for noun, (kind, *rest) in words.NOUNS.items():
        numbers = [*(int(kind == k) for k in range(8)), *(1.2 * value - 0.6 for value in rest)]
        lines.append(" ".join([noun, *map(str, numbers)]))
    vectors.write_text("\n".join(lines))
    asked = [" ".join(question) for question in words.analogies()]
    questions.write_text("\n".join([": small", *asked, "no such words here"]))
    return vectors, questions


def test_published_vectors_are_asked_with_and_without_the_offset(files):
    found = c01_meaning.published(*files)
    assert (found["asked"], found["covered"]) == (961, 960)
    assert found["right"] == 1
    gain, low, high = found["gain"]
    assert gain == pytest.approx(1 - found["without_offset"])
    assert low < gain < high


def test_of_few_known_analogies_nothing_is_told(files):
    vectors, questions = files
    questions.write_text("\n".join([": small", *(" ".join(q) for q in words.analogies()[:499])]))
    found = c01_meaning.published(vectors, questions)
    assert found["covered"] == 499
    assert "right" not in found
    told = C1.judge({**measured("C1"), "published": found}).found
    assert "not covered, with 499 of 499" in told.en


def test_a_list_of_similarities_is_no_list_of_analogies(files):
    files[1].write_text("a\tb\t3\n")
    with pytest.raises(UserError, match="holds no analogies"):
        c01_meaning.published(*files)


def test_the_command_line_hands_over_published_vectors(files, glassformer, monkeypatch):
    taken = []
    monkeypatch.setattr(
        c01_meaning,
        "CLAIM",
        replace(
            C1,
            measure=lambda work: taken.append(work.given.published) or {**measured("C1"), "published": None},
        ),
    )
    code, out, _ = glassformer("claims", "C1", "--published", *files)
    assert code == 0
    assert taken == [files]
    assert "No file of published vectors" in out or "没有给出" in out


def altered(part, what, value, way="trained"):
    kept = measured("C1")
    return {**kept, part: [{**run, way: {**run[way], what: value(run[way])}} for run in kept[part]]}


def test_vectors_that_know_no_meaning_contradict_it():
    chances = [0.05, -0.05] * 4
    kept = measured("C1")
    runs = zip(kept["language"], chances, strict=True)
    unlike = [{**run, "trained": {**run["trained"], "similarity": x}} for run, x in runs]
    for contradicting in (
        {**kept, "language": unlike},
        altered("language", "nearest", lambda run: kept["chance"]),
        altered("manual", "nearest", lambda run: run["chance"]),
    ):
        assert C1.judge(contradicting).verdict is Verdict.FAILS
        assert C1.judge({**contradicting, "quick": True}).verdict is Verdict.UNDECIDED


def test_analogies_no_better_than_the_nearest_word_leave_similarity():
    judgement = C1.judge(altered("language", "analogies", lambda run: run["without_offset"]))
    assert judgement.verdict is Verdict.WITHIN
    assert judgement.within.en == "similarity"


def test_published_vectors_can_contradict_it_as_well():
    right = {**PUBLISHED, "right": 0.7, "without_offset": 0.2, "gain": [0.5, 0.45, 0.55]}
    assert C1.judge({**measured("C1"), "published": right}).verdict is Verdict.HOLDS
    assert (
        "of 800 known analogies 70.0 % come out" in C1.judge({**measured("C1"), "published": right}).found.en
    )
    wrong = {**PUBLISHED, "right": 0.2, "without_offset": 0.2, "gain": [0, -0.05, 0.05]}
    assert C1.judge({**measured("C1"), "published": wrong}).verdict is Verdict.WITHIN


@pytest.mark.slow
def test_a_quick_run_does_not_contradict_it():
    measured_now = {"quick": True, **C1.measure(Work(quick=True))}
    assert C1.judge(measured_now).verdict is not Verdict.FAILS
