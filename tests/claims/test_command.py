"""`glassformer claims`: a run over several claims goes on where it was stopped; its report holds all."""

import json
import re
from contextlib import contextmanager
from dataclasses import replace

import pytest

from glassformer.claims import MODULES, c07_variance_of_products, c10_order, measured

STANDINS = {"C7": c07_variance_of_products, "C10": c10_order}


@pytest.fixture(autouse=True)
def measuring(monkeypatch):
    """Which claims were measured; C7 and C10 find at once what was kept of them."""
    names = []
    for name, module in STANDINS.items():
        found = {k: v for k, v in measured(name).items() if k not in ("quick", "version", "seconds")}
        standin = replace(module.CLAIM, measure=lambda work, n=name, f=found: names.append(n) or f)
        monkeypatch.setattr(module, "CLAIM", standin)
    monkeypatch.setenv("LC_ALL", "en_US.UTF-8")
    return names


def sections(path):
    """The claims of a report, in their order."""
    return re.findall(r'<section class="claim" id="(C\d+)"', path.read_text(encoding="utf-8"))


def test_what_is_finished_is_taken_and_said_in_one_line(glassformer, measuring, monkeypatch):
    def stop(work):
        raise KeyboardInterrupt

    with monkeypatch.context() as context:
        context.setattr(c10_order, "CLAIM", replace(c10_order.CLAIM, measure=stop))
        assert glassformer("claims", "C7", "C10").code == 130
    told = glassformer("claims", "C7", "C10").out.splitlines()
    assert measuring == ["C7", "C10"]
    assert told[0] == "C7   A dot product's variance is d_k: holds (measured already)"
    assert told[1].startswith("C10 ")
    assert glassformer("claims", "C7", "--again").code == 0
    assert measuring == ["C7", "C10", "C7"]
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert "（已量过）" in glassformer("claims", "C7").out


def test_the_report_holds_what_the_folder_holds_in_the_order_of_the_claims(glassformer, tmp_path):
    glassformer("claims", "C10", "--quick")
    glassformer("claims", "C7")
    for language in ("zh", "en"):
        assert sections(tmp_path / "claims" / language / "claims.html") == ["C7", "C10"]


def test_a_quick_run_does_not_take_the_place_of_a_full_one(glassformer, measuring, tmp_path):
    glassformer("claims", "C10")
    before = (tmp_path / "claims/C10.json").read_text()
    code, out, error = glassformer("claims", "C7", "C10", "--quick")
    assert (code, out, error.count("\n")) == (2, "", 1)
    assert "C10.json is of a full run" in error
    assert measuring == ["C10"]  # refused before any work
    assert (tmp_path / "claims/C10.json").read_text() == before
    assert glassformer("claims", "C10", "--quick", "--again").code == 0
    assert json.loads((tmp_path / "claims/C10.json").read_text())["quick"]


def test_json_tells_also_of_what_was_taken(glassformer):
    glassformer("claims", "C10")
    told = json.loads(glassformer("claims", "C10", "C7", "--json").out)
    assert [one["claim"] for one in told] == ["C10", "C7"]


def test_claims_are_listed_as_lines_or_json(glassformer, measuring):
    listed = json.loads(glassformer("claims", "--list", "--json").out)
    assert [one["claim"] for one in listed] == list(MODULES)
    assert all(one.keys() == {"claim", "title", "statement"} for one in listed)
    lines = glassformer("claims", "--list").out.splitlines()
    assert lines[0] == f"C1   {listed[0]['title']}"
    assert len(lines) == len(MODULES)
    assert not measuring


def test_a_claim_that_is_not_measured_yet_is_refused_in_one_line(glassformer):
    code, _, error = glassformer("claims", "C16")
    assert (code, error.count("\n")) == (2, 1)
    assert "C16 (" in error


def test_nothing_is_said_while_a_bar_stands(glassformer, measuring, monkeypatch):
    """A bar that is drawn again takes lines with it that were printed below it."""
    standing = []

    @contextmanager
    def progress():
        standing.append(True)
        yield lambda what, done, total: None
        standing.pop()

    monkeypatch.setattr("glassformer.terminal.progress", progress)
    said = []
    monkeypatch.setattr("click.echo", lambda text="", **_: said.append((text, list(standing))))
    assert glassformer("claims", "C7", "C10").code == 0
    assert len(measuring) == 2 < len(said)
    assert not any(bars for _, bars in said)
