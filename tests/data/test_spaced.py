"""Words divided by spaces as tokens: exact round trips, and words that are not known."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glassformer import UserError
from glassformer.data import parallel, spaced, tokenizers
from glassformer.data.parallel import PairsConfig
from glassformer.data.spaced import SpacedWords
from glassformer.data.tokenizers import END

ODD = ["银行", "don't", "e\u0301", "\ufeffa", "a\u2028b", "a\u00a0b", END, "", "👨\u200d👩\u200d👧"]
texts = st.lists(st.text(max_size=4) | st.sampled_from(ODD), max_size=8).map(" ".join)


@given(texts)
@settings(derandomize=True, deadline=None)
def test_decode_undoes_encode(text):
    tokenizer = SpacedWords.learn([text])
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert len(tokenizer.labels(tokenizer.encode(text).tolist())) == len(tokenizer.encode(text))
    assert tokenizer.end not in tokenizer.encode(text)


def test_a_token_is_what_stands_between_spaces():
    tokenizer = SpacedWords.learn(["The bank, the  bank.", "我们 在 银行"])
    ids = tokenizer.encode("The bank, the  bank.").tolist()
    assert tokenizer.labels([*ids, tokenizer.end]) == ["The", "bank,", "the", "␣", "bank.", END]
    assert tokenizer.labels(tokenizer.encode("我们 在 银行").tolist()) == ["我们", "在", "银行"]
    assert tokenizer.encode("").tolist() == []


def test_unknown_words_are_named():
    tokenizer = SpacedWords.learn(["the bank"])
    with pytest.raises(UserError, match=r"vocabulary of 2 words lacks 'a', 'river'; a run trained with"):
        tokenizer.encode("the bank of a river the".replace(" of", ""))
    with pytest.raises(UserError, match="and 3 more"):
        tokenizer.encode("1 2 3 4 5 6 7 8")


def test_saved_and_loaded_it_is_the_same(tmp_path):
    made = SpacedWords.learn(ODD)
    made.save(tmp_path)
    loaded = tokenizers.load(tmp_path)
    assert isinstance(loaded, SpacedWords)
    assert (loaded.words, loaded.end, loaded.vocab_size) == (made.words, made.end, made.vocab_size)


@pytest.mark.parametrize("words", [None, "ab", ["b", "a"], ["a", "a"], ["a b"], [1], {"a": 1}])
def test_a_damaged_one_is_named(words, tmp_path):
    text = json.dumps({"kind": "spaced", "words": words})
    (tmp_path / "tokenizer.json").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=r"tokenizer\.json is damaged: its words are"):
        tokenizers.load(tmp_path)


def test_too_many_words_are_refused(monkeypatch):
    monkeypatch.setattr(spaced, "MOST", 3)
    with pytest.raises(UserError, match="more than 3 distinct words; tokenizer=bpe"):
        SpacedWords.learn(["a b", "c d", "e f"])


def test_pairs_take_it_by_name(tmp_path):
    (tmp_path / "pairs.tsv").write_text("the bank\t银行 这里\n", encoding="utf-8")
    made = parallel.prepare([tmp_path / "pairs.tsv"], tmp_path / "data", PairsConfig(tokenizer="words"))
    assert made.tokenizer.vocab_size == 5
    assert parallel.load(tmp_path / "data").encoded(made.pairs, 9) == made.encoded(made.pairs, 9)
