"""Neighbours, analogies, the flat map, and the lists that vectors are measured with."""

from pathlib import Path

import gensim
import numpy as np
import pytest
from gensim.models import KeyedVectors

from glassformer import UserError
from glassformer.data.questions import Analogies, Similarity, accuracy, measure, spearman
from glassformer.data.space import WordSpace

CARRIED = Path(gensim.__file__).parent / "test" / "test_data"
ROYAL = WordSpace(
    ["king", "man", "woman", "queen", "apple", "nil"],
    np.array([[1, 1], [1, 0], [0.9, 0.1], [0.7, 1.2], [-1, -0.2], [0, 0]], np.float32),
    "royal",
)


def test_the_query_words_are_no_answer() -> None:
    """Without that rule the answer would be king: raw .995 against queen's .988."""
    target = ROYAL.vectors[0] - ROYAL.vectors[1] + ROYAL.vectors[2]
    raw = ROYAL.directions_nd @ target / np.linalg.norm(target)
    assert raw[[0, 3]] == pytest.approx([0.995, 0.988], abs=5e-4)
    found = ROYAL.analogy("man", "king", "woman")
    assert found[0][0] == "queen"
    assert {word for word, _ in found} == {"queen", "apple", "nil"}


def test_zeros_are_near_nothing_and_make_no_nan() -> None:
    assert dict(ROYAL.neighbours("king"))["nil"] == 0
    assert all(np.isfinite(cosine) for _, cosine in ROYAL.analogy("nil", "king", "woman"))
    with pytest.raises(UserError, match="nothing is near a vector of zeros"):
        ROYAL.neighbours("nil")
    assert ROYAL.similarity(0, 5) == 0


def test_an_unknown_word_is_named_with_the_nearest() -> None:
    with pytest.raises(UserError, match="unknown word in royal: 'quen'; did you mean 'queen'"):
        ROYAL.analogy("man", "king", "quen")
    assert ROYAL.neighbours("King", 1)[0][0] == "queen"


def random_space(n: int = 300, width: int = 20) -> tuple[WordSpace, KeyedVectors]:
    vectors = np.random.default_rng(1).standard_normal((n, width)).astype(np.float32)
    words = [f"w{i}" for i in range(n)]
    theirs = KeyedVectors(width)
    theirs.add_vectors(words, vectors)
    return WordSpace(words, vectors, "random"), theirs


def test_neighbours_and_analogies_are_gensims() -> None:
    ours, theirs = random_space()
    for mine, peer in [
        (ours.neighbours("w7", 5), theirs.most_similar("w7", topn=5)),
        (
            ours.analogy("w1", "w2", "w3", 5),
            theirs.most_similar(positive=["w2", "w3"], negative=["w1"], topn=5),
        ),
    ]:
        assert [word for word, _ in mine] == [word for word, _ in peer]
        np.testing.assert_allclose([x for _, x in mine], [x for _, x in peer], atol=1e-5)


def test_the_flat_map_keeps_most_of_the_spread() -> None:
    ours, _ = random_space(40, 6)
    points = ours.flat(range(40))
    rows = ours.vectors - ours.vectors.mean(0)
    values = np.linalg.svd(rows, compute_uv=False)
    np.testing.assert_allclose(np.linalg.norm(points, axis=0), values[:2], rtol=1e-4)
    assert WordSpace(["a", "b"], np.ones((2, 1), np.float32), "flat").flat([0, 1]).shape == (2, 2)


def test_spearman_with_ties() -> None:
    from scipy.stats import spearmanr

    chance = np.random.default_rng(0)
    for _ in range(5):
        a, b = chance.integers(0, 9, 50).tolist(), chance.random(50).tolist()
        assert spearman(a, b) == pytest.approx(spearmanr(a, b).statistic)
    assert spearman([1], [1]) is None
    assert spearman([1, 1], [1, 2]) is None


@pytest.fixture(scope="module")
def news() -> tuple[WordSpace, KeyedVectors]:
    """Vectors of WordSim's and Google's words, so that all of it is covered."""
    words: dict[str, None] = {}
    for line in (CARRIED / "wordsim353.tsv").read_text(encoding="utf-8").splitlines():
        words |= {} if line.startswith("#") else dict.fromkeys(line.lower().split("\t")[:2])
    for line in (CARRIED / "questions-words.txt").read_text(encoding="utf-8").splitlines()[:3000]:
        words |= {} if line.startswith(":") else dict.fromkeys(line.lower().split())
    vectors = np.random.default_rng(2).standard_normal((len(words), 8)).astype(np.float32)
    theirs = KeyedVectors(8)
    theirs.add_vectors(list(words), vectors)
    return WordSpace(list(words), vectors, "news"), theirs


def test_wordsim_is_measured_as_gensim_measures_it(news: tuple[WordSpace, KeyedVectors]) -> None:
    result = measure(news[0], CARRIED / "wordsim353.tsv")
    assert isinstance(result, Similarity)
    assert (result.covered, result.pairs, result.unknown) == (353, 353, [])
    _, peer, unknown = news[1].evaluate_word_pairs(str(CARRIED / "wordsim353.tsv"), case_insensitive=True)
    assert unknown == 0
    assert result.spearman == pytest.approx(peer.statistic, abs=1e-6)


def test_googles_analogies_are_measured_as_gensim_measures_them(
    news: tuple[WordSpace, KeyedVectors],
) -> None:
    result = measure(news[0], CARRIED / "questions-words.txt")
    assert isinstance(result, Analogies)
    _, sections = news[1].evaluate_word_analogies(str(CARRIED / "questions-words.txt"))
    theirs = {s["section"]: (len(s["correct"]), len(s["correct"]) + len(s["incorrect"])) for s in sections}
    for section in result.sections:
        assert (section.right, section.covered) == theirs[section.name]
    assert result.total.questions == 19_544
    assert result.total.covered == theirs["Total accuracy"][1] > 2500


def test_both_kinds_are_told_apart_and_coverage_is_told(tmp_path: Path) -> None:
    path = tmp_path / "list"
    path.write_text("Word 1,Word 2,Human\nking,queen,8\nman,unicorn,1\n# x\nman,apple,0\n", encoding="utf-8")
    similar = measure(ROYAL, path)
    assert similar == Similarity(pytest.approx(1.0), 2, 3, ["unicorn"])
    path.write_text(": royal\nman king woman queen\nman king woman dragon\n: none\n", encoding="utf-8")
    analogies = measure(ROYAL, path)
    assert isinstance(analogies, Analogies)
    assert [(s.name, s.right, s.covered, s.questions) for s in analogies.sections] == [
        ("royal", 1, 1, 2),
        ("none", 0, 0, 0),
    ]
    assert analogies.unknown == ["dragon"]
    assert accuracy(analogies.sections[1]) is None


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("", "holds no questions"),
        ("To be, or not\n", "line 1 is neither two words and a number"),
        ("a\tb\t1\nc\td\tx\n", "line 2 is neither"),
        ("a\tb\tnan\nc d e f\n", "line 2 is neither"),
        (": s\na b c\n", "line 2 has 3 words; an analogy has four"),
    ],
)
def test_another_file_is_one_line(tmp_path: Path, content: str, fault: str) -> None:
    path = tmp_path / "list"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match=fault):
        measure(ROYAL, path)


def test_without_the_offset_the_answer_is_the_word_nearest_to_c() -> None:
    ours, theirs = random_space()
    questions = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
    expected = []
    for question in questions:
        near = [ours.place(word) for word, _ in theirs.most_similar(f"w{question[2]}", topn=3)]
        expected.append(next(place for place in near if place not in question))
    assert ours.answers(questions, offset=False).tolist() == expected
    assert ours.answers(questions).tolist() != expected
