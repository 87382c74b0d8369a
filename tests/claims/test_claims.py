"""Every claim: it can be told in both languages, its judge takes what its experiment gives, and its kept
measurement is of the full run."""

import re
from pathlib import Path

import pytest

from glassformer.claims import MODULES, UNMEASURED, claim, measured
from glassformer.claims.__main__ import main, renewed
from glassformer.claims.claim import Judgement, Verdict
from glassformer.claims.figure import svg
from glassformer.errors import UserError
from glassformer.lab.outcomes import SIGNS, kept
from glassformer.lab.pages import claims_page
from glassformer.lab.words import WORDS
from glassformer.texts import LANGUAGES

NAMES = list(MODULES)
ROOT = Path(__file__).parents[2]


def test_an_unknown_claim_names_the_nearest():
    with pytest.raises(UserError, match=r"known: C1, C2, C3, .* C9, C10, C11"):
        claim("C77")


@pytest.mark.parametrize("name", list(UNMEASURED))
def test_a_claim_that_is_not_measured_yet_says_so(name):
    with pytest.raises(UserError, match=rf"{name} \(.*\) is not measured in this version"):
        claim(name.lower())
    assert name not in MODULES
    assert name in (ROOT / "docs/claims.md").read_text(encoding="utf-8")
    for text in WORDS["claims_lead"]:
        assert name in text


@pytest.mark.parametrize("name", NAMES)
def test_the_kept_measurement_is_of_the_full_run_and_can_be_judged_and_drawn(name):
    kept = measured(name)
    judgement = claim(name).judge(kept)
    assert not kept["quick"]
    assert judgement.verdict is not Verdict.UNDECIDED
    figures = claim(name).figures(kept)
    assert figures
    for language in LANGUAGES:
        for figure in figures:
            assert svg(figure, language).count("h0") > 2 * len(figure.series)  # one each in the legend


@pytest.mark.parametrize("name", NAMES)
def test_a_claim_speaks_both_languages(name):
    found = claim(name)
    assert found.name == name
    judgement = found.judge(measured(name))
    texts = [found.title, found.statement, found.method, judgement.found]
    texts += [text for text in (judgement.reason, judgement.within) if text]
    for text in texts:
        assert text.en.isascii() or not any("\u4e00" <= c <= "\u9fff" for c in text.en)
        assert any("\u4e00" <= c <= "\u9fff" for c in text.zh)


def test_every_verdict_has_a_sign_of_its_own():
    assert list(SIGNS) == list(Verdict)
    assert len(set(SIGNS.values())) == len(Verdict)
    page = claims_page(kept(NAMES), "en", reruns=True).html
    for name in NAMES:
        verdict = claim(name).judge(measured(name)).verdict.name.lower()
        part = page.split(f'<section class="claim" id="{name}"')
        assert f'class="sign {verdict}"' in part[1].split("</section>")[0]
    assert page.count('class="sign ') == 2 * len(NAMES)  # in the table as well


def test_bounds_are_told_with_the_verdict_that_needs_them():
    with pytest.raises(AssertionError):
        Judgement(Verdict.WITHIN, claim("C7").title)


@pytest.mark.parametrize("path", ["README.md", "docs/claims.md"])
def test_the_tables_of_verdicts_are_those_of_the_kept_measurements(path):
    text = (ROOT / path).read_text(encoding="utf-8")
    assert all(f"| {name} |" in text for name in NAMES)
    assert renewed(text, found=path.endswith("claims.md")) == text


def test_the_lines_of_python_in_the_docs_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs/claims.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert blocks
    for block in blocks:
        exec(block, {})
    assert "holds" in capsys.readouterr().out


def test_a_file_without_marks_is_refused(tmp_path):
    (tmp_path / "README.md").write_text("nothing")
    with pytest.raises(UserError, match="verdicts"):
        main([str(tmp_path / "README.md")])
