"""Translators and word vectors among the lab's runs: listed, and their pages say what to use instead."""

import pytest
import torch

from glass.test_translation import make
from glassformer.models import Word2Vec, Word2VecConfig
from lab.serving import address, client, save, text


@pytest.mark.parametrize("language", ["en", "zh"])
def test_they_are_listed_and_told_apart(tmp_path, language):
    save(tmp_path / "pairs", make(vocab_size=257), family="seq2seq")
    torch.manual_seed(0)
    save(tmp_path / "words", Word2Vec(Word2VecConfig(vocab_size=257, d_model=4)), family="word2vec")
    lab = client(tmp_path)
    listed = lab.get(f"/{language}/index.html")
    assert listed.status_code == 200
    for family in ("seq2seq", "word2vec"):
        assert family in text(listed.text)
    for name, said in (
        ("pairs", ["glassformer look pairs TEXT", "glassformer translate pairs TEXT"]),
        ("words", ["glassformer neighbours words WORD", "glassformer analogy words A B C"]),
    ):
        for asked in ({}, {"text": "abc"}):
            page = lab.get(address(name, language, **asked))
            assert page.status_code == 422
            assert all(command in text(page.text) for command in said)
            assert ("encoder-decoder" in page.text or "word vectors" in page.text) == (language == "en")
    report = lab.get(address("pairs", language).rstrip("?") + "/look?text=abc")
    assert report.status_code == 200
    assert 'class="weights"' in report.text
