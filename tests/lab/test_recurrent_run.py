"""A recurrent model among the lab's runs: listed, and its page says in a line where to look instead."""

import pytest

from glass.test_recurrent import recurrent
from lab.serving import address, client, save, text


@pytest.mark.parametrize(("language", "word"), [("en", "recurrent"), ("zh", "循环网络")])
def test_it_is_listed_and_told_apart(tmp_path, language, word):
    save(tmp_path / "gpt")
    save(tmp_path / "lstm", recurrent(vocab_size=257), family="recurrent")
    lab = client(tmp_path)
    listed = lab.get(f"/{language}/index.html")
    assert listed.status_code == 200
    assert "recurrent" in text(listed.text)
    for asked in ({}, {"text": "abc"}):
        page = lab.get(address("lstm", language, **asked))
        assert page.status_code == 422
        assert word in text(page.text)
        assert "glassformer look lstm TEXT" in text(page.text)
    report = lab.get(address("lstm", language).rstrip("?") + "/look?text=abc")
    assert report.status_code == 200
    assert 'alt="L0 f"' in report.text
