"""What counts as a word, and the vocabulary of a text."""

import json
import sys
import types

import numpy as np
import pytest

from glassformer import UserError
from glassformer.config import override
from glassformer.data import tokenizers
from glassformer.data.words import LONGEST, Words, WordsConfig, cleaned, learn, splitter


def words_of(text: str, how: str = "spaces", lower: bool = False) -> list[str]:
    return list(cleaned(text, splitter(how), lower))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don't go—now! 'tis", "Don't go now tis"),
        ("U.S.A. 3.5% new_york rock&roll a--b", "U.S.A 3.5 new_york rock&roll a b"),
        ("état-major हिन्दी, नमस्ते", "état-major हिन्दी नमस्ते"),
        ("-- ... ！？ 😀", ""),
        ("e\u0301te\u0301 你好,世界", "e\u0301te\u0301 你好 世界"),
    ],
)
def test_signs_separate_unless_one_stands_within_a_word(text: str, expected: str) -> None:
    assert words_of(text) == expected.split()


def test_characters_are_chinese_and_japanese_ones_only() -> None:
    assert words_of("我爱iPhone手机！100次", "characters") == ["我", "爱", "iPhone", "手", "机", "100", "次"]
    assert words_of("don't ひら", "characters") == ["don't", "ひ", "ら"]


def test_jieba_finds_words() -> None:
    assert words_of("我来到北京清华大学。", "jieba") == ["我", "来到", "北京", "清华大学"]


def test_without_jieba_its_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jieba", None)
    with pytest.raises(UserError, match="pip install jieba"):
        splitter("jieba")


def test_a_function_of_ones_own_splits(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("mine")
    module.cut = lambda text: text.split("|")  # type: ignore[attr-defined]
    module.bad = lambda text: [1]  # type: ignore[attr-defined]
    module.number = 3  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "mine", module)
    assert words_of("new york|!|ab", "mine:cut") == ["new_york", "ab"]
    for name, fault in [("mine:no", "no"), ("nowhere:cut", "nowhere"), ("mine:number", "is no function")]:
        with pytest.raises(UserError, match=fault):
            splitter(name)
    with pytest.raises(UserError, match="gave 1, which is no text"):
        words_of("x", "mine:bad")


def test_the_vocabulary_is_counted_and_ordered() -> None:
    made = learn(["b a b ", "B c a d"], WordsConfig(min_count=2))
    assert made.words == ["b", "a"]
    assert made.counts.tolist() == [3, 2]
    assert (made.end, made.vocab_size) == (2, 3)
    assert made.encode("A x b").tolist() == [1, 0]
    assert made.decode([1, 2, 0]) == "a b"
    assert made.find("A") == 1
    assert learn(["b a b B c a d"], WordsConfig(min_count=1, max_words=2, lower=False)).words == ["b", "a"]


def test_lines_end_with_a_break_where_they_are_to() -> None:
    made = learn(["a b\nb a\n"], WordsConfig(min_count=1, breaks="lines"))
    assert made.encode("a b\nb a\n").tolist() == [0, 1, 2, 1, 0, 2]


def test_a_word_may_not_be_endless() -> None:
    assert words_of("x" * 1000) == ["x" * LONGEST]


def test_what_is_saved_is_read(tmp_path) -> None:
    made = learn(["我 爱 我 \"q\" rock'n'roll"], WordsConfig(min_count=1))
    made.save(tmp_path)
    read = tokenizers.load(tmp_path)
    assert isinstance(read, Words)
    assert read.to_json() == made.to_json()


def test_a_run_names_no_code_to_be_called(tmp_path) -> None:
    Words(["a", "b"], [2, 1], split="os:system").save(tmp_path)
    with pytest.raises(UserError, match="is not called again"):
        tokenizers.load(tmp_path).encode("touch x")


def spec(**changes: object) -> str:
    whole = {
        "kind": "words",
        "split": "spaces",
        "lower": True,
        "breaks": "lines",
        "words": ["a"],
        "counts": [1],
    }
    return json.dumps(whole | changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"words": ["a", "a"], "counts": [1, 1]},
        {"words": [1]},
        {"words": [""]},
        {"words": "a"},
        {"counts": [0]},
        {"counts": [1.5]},
        {"counts": [1, 2]},
        {"counts": [1 << 70]},
        {"lower": 1},
        {"breaks": "never"},
        {"split": None},
    ],
)
def test_a_damaged_vocabulary_is_one_line(tmp_path, changes: dict[str, object]) -> None:
    (tmp_path / "tokenizer.json").write_text(spec(**changes), encoding="utf-8")
    with pytest.raises(UserError, match="is damaged"):
        tokenizers.load(tmp_path)


@pytest.mark.parametrize(
    "assignment", ["words=words", "words=a.b:c:d", "min_count=0", "valid_fraction=1", "epochs=0", "breaks=x"]
)
def test_settings_are_checked(assignment: str) -> None:
    with pytest.raises(UserError):
        override({"data": WordsConfig()}, [assignment])


def test_too_little_text_is_named() -> None:
    with pytest.raises(UserError, match="1 of the text's 2 words stand there 5 times or more"):
        learn(["a a a a a b"], WordsConfig())


def test_ids_fit_numpy() -> None:
    assert learn(["a b"], WordsConfig(min_count=1)).encode("a b a").dtype == np.int64
