"""Word vectors as files: ours, gensim's, GloVe's, damaged ones."""

from pathlib import Path

import gensim
import numpy as np
import pytest
from gensim.models import KeyedVectors

from glassformer import UserError
from glassformer.data import vectors

WORDS = ["the", "état-major", "猫", "New_York", "😀"]
NUMBERS = np.random.default_rng(0).standard_normal((5, 7)).astype(np.float32) * 1e-3
CARRIED = Path(gensim.__file__).parent / "test" / "test_data"


@pytest.mark.parametrize("name", ["v.bin", "v.txt", "v.vec"])
def test_what_is_written_is_read_and_gensim_reads_the_same(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    vectors.write(path, WORDS, NUMBERS)
    words, numbers = vectors.read(path)
    assert words == WORDS
    np.testing.assert_array_equal(numbers, NUMBERS)
    theirs = KeyedVectors.load_word2vec_format(str(path), binary=name.endswith("bin"))
    assert theirs.index_to_key == WORDS
    np.testing.assert_array_equal(theirs.vectors, NUMBERS)


@pytest.mark.parametrize("binary", [False, True])
def test_gensims_files_are_read(tmp_path: Path, binary: bool) -> None:
    theirs = KeyedVectors(7)
    theirs.add_vectors(WORDS, NUMBERS)
    theirs.save_word2vec_format(str(tmp_path / "v"), binary=binary)
    words, numbers = vectors.read(tmp_path / "v")
    assert words == WORDS
    np.testing.assert_array_equal(numbers, NUMBERS)


@pytest.mark.parametrize("name", ["euclidean_vectors.bin", "high_precision.kv.txt", "word2vec_pre_kv_c"])
def test_files_that_others_made_are_read_as_gensim_reads_them(name: str) -> None:
    path = CARRIED / name
    theirs = KeyedVectors.load_word2vec_format(str(path), binary=name.endswith("bin"))
    words, numbers = vectors.read(path)
    assert words == theirs.index_to_key
    np.testing.assert_allclose(numbers, theirs.vectors, rtol=1e-6)


def test_gloves_text_has_no_first_line_and_words_with_spaces(tmp_path: Path) -> None:
    path = tmp_path / "glove.txt"
    path.write_text("the 0.5 -1\n. . . 1 2\n猫 3e-2 4\n", encoding="utf-8", newline="\n")
    words, numbers = vectors.read(path)
    assert words == ["the", ". . .", "猫"]
    np.testing.assert_allclose(numbers, [[0.5, -1], [1, 2], [0.03, 4]])


def test_of_a_word_twice_the_first_counts(tmp_path: Path) -> None:
    path = tmp_path / "v.txt"
    path.write_text("3 1\na 1\nb 2\na 3\n", encoding="utf-8")
    words, numbers = vectors.read(path)
    assert words == ["a", "b"]
    assert numbers.ravel().tolist() == [1, 2]


BINARY = b"2 2\na " + np.array([1, 2], "<f4").tobytes() + b"\nb " + np.array([3, 4], "<f4").tobytes()
NAN = np.array([np.nan, 2], "<f4").tobytes()


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "holds no word vectors"),
        (b"hello world\n", "holds no word vectors"),
        (b"\x00\xff\x01" * 50, "holds no word vectors"),
        (b"2 0\n", "vectors of 0 numbers"),
        (b"2 999999\n", "there can be 1 to 16384"),
        (b"999999999999 300\na 1 2\n", "is cut short"),
        (b"2 2\na 1 2\n", "cut short|holds 1"),
        (b"2 2\na 1 2\nb 1\n\n\n\n", "line 3 is no word and 2 numbers"),
        (b"2 2\na 1 2\nb 1 x\n", "line 3 is no word and 2 numbers"),
        (b"2 2\na 1 2\nb 1 2\nc 1 2\n", "says that it holds 2 words, and holds 3"),
        (b"a 1 2\nb 1\n", "line 2 is no word and 2 numbers"),
        (b"a 1 2\nb 1 nan\n", "'b' holds what is no finite number"),
        (BINARY[:-1], "cut short"),
        (BINARY + b"xx", "2 bytes follow"),
        (b"2 2\na " + NAN + b"b " + NAN, "'a' holds what is no finite number"),
        (b"1 2\n" + b"\xff" * 9000, "word 1 of 1 is not whole|follow"),
    ],
)
def test_a_damaged_file_is_one_line(tmp_path: Path, content: bytes, fault: str) -> None:
    path = tmp_path / "v"
    path.write_bytes(content)
    with pytest.raises(UserError, match=fault) as raised:
        vectors.read(path)
    assert str(path) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_every_cut_of_a_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "v.bin"
    for n in range(len(BINARY)):
        path.write_bytes(BINARY[:n])
        with pytest.raises(UserError):
            vectors.read(path)
    path.write_bytes(BINARY)
    assert vectors.read(path)[0] == ["a", "b"]


@pytest.mark.parametrize("word", ["", "new york", "a\nb", "\u3000"])
def test_a_word_that_no_format_can_hold_is_refused(tmp_path: Path, word: str) -> None:
    with pytest.raises(UserError, match="white space"):
        vectors.write(tmp_path / "v.txt", [word], np.zeros((1, 2), np.float32))
    assert list(tmp_path.iterdir()) == []


def test_the_name_says_the_format(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="name it"):
        vectors.write(tmp_path / "v.csv", ["a"], np.zeros((1, 2), np.float32))
    with pytest.raises(UserError, match="no such file"):
        vectors.read(tmp_path / "none")
