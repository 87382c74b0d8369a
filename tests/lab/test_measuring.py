"""Quick runs of claims from the lab: started, followed, stopped and gone on with."""

import time

import pytest
from starlette.testclient import TestClient

from glassformer import __version__
from glassformer.claims import MODULES
from glassformer.lab.measuring import Measurements
from glassformer.lab.server import create_app
from glassformer.lab.words import say
from glassformer.lessons import LESSONS
from glassformer.texts import LANGUAGES

BASE = "http://127.0.0.1:8000"


@pytest.fixture
def lab(tmp_path):
    app = create_app(tmp_path, trains=True)
    with TestClient(app, base_url=BASE) as client:
        yield client


def until(what, seconds=60.0):
    """Wait until `what()` is true."""
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_every_claim_belongs_to_a_lesson():
    assert {name for lesson in LESSONS for name in lesson.claims} == set(MODULES)


@pytest.mark.parametrize("language", ["zh", "en"])
def test_pages_offer_a_run_only_where_a_server_does_it(lab, tmp_path, language):
    silent = TestClient(create_app(tmp_path), base_url=BASE)
    for path in ("claims.html", "scale.html"):
        assert 'class="rerun"' in lab.get(f"/{language}/{path}").text
        told = silent.get(f"/{language}/{path}").text
        assert 'id="C7"' in told
        assert 'class="rerun"' not in told


def test_a_claim_is_measured_and_shown(lab):
    assert lab.get("/api/claims").json() is None
    assert lab.get("/api/claims/C7").status_code == 404
    assert lab.post("/api/claims/C7").json()["state"] == "measuring"
    assert lab.post("/api/claims/C7").status_code == 409
    until(lambda: lab.get("/api/claims").json()["state"] == "finished")
    state = lab.get("/api/claims").json()
    assert 0 < state["done"] == state["total"]
    for language in LANGUAGES:
        part = lab.get(f"/api/claims/c7?language={language}").json()["html"]
        assert f"<h4>{say('claims_rerun_found', language)}</h4>" in part
        assert f"{__version__}{'.' if language == 'en' else '。'}</p>" in part
        assert f"<h4>{say('claims_kept', language)}</h4>" in lab.get(f"/{language}/claims.html").text


def test_only_the_claim_that_is_measured_is_stopped(lab):
    lab.post("/api/claims/C7")
    assert lab.delete("/api/claims/C8").json()["state"] == "measuring"  # another page's button, pressed late
    assert lab.delete("/api/claims/c7").json()["state"] == "stopping"
    until(lambda: lab.get("/api/claims").json()["state"] == "stopped")


def test_a_process_that_cannot_be_started_leaves_nothing_behind(monkeypatch):
    def fail(*_):
        raise OSError("too many open files")

    measurements = Measurements()
    with monkeypatch.context() as context:
        context.setattr("glassformer.lab.measuring.Leash", fail)
        with pytest.raises(OSError, match="too many"):
            measurements.start("C7")
    assert measurements.now() is None
    assert measurements.stop() is None
    assert measurements.start("C7").state == "measuring"
    measurements.close()


@pytest.mark.parametrize("language", ["fr", ""])
def test_a_language_that_there_is_not_is_refused_in_one_line(lab, language):
    for answer in (
        lab.get(f"/api/claims/C7?language={language}"),
        lab.post(f"/api/claims/C7?language={language}"),
    ):
        assert answer.status_code == 422
        assert "language: zh, en" in answer.text


def test_an_unknown_claim_is_refused_in_one_line(lab):
    for answer in (
        lab.post("/api/claims/C99"),
        lab.get("/api/claims/%3Cb%3E"),
        lab.delete("/api/claims/C99"),
    ):
        assert answer.status_code == 404
        assert "\n" not in answer.json()["detail"]


def test_a_run_that_was_stopped_is_no_result_and_can_be_asked_for_again():
    measurements = Measurements()
    assert measurements.stop() is None
    measurements.start("C7")
    assert measurements.stop().state == "stopping"
    assert measurements.start("C7") is None
    until(lambda: not measurements.now().going)
    assert measurements.now().state == "stopped"
    assert measurements.outcome("C7") is None
    assert measurements.start("C7").state == "measuring"
    until(lambda: not measurements.now().going)
    first = measurements.outcome("C7").measured
    assert first["quick"]
    measurements.start("C7")  # asked for after it has finished, it is measured anew
    until(lambda: not measurements.now().going)
    assert measurements.outcome("C7").measured["seconds"] != first["seconds"]
    measurements.close()
