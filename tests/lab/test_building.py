"""Trainings from the page: one at a time, bounded, stopped when asked, and runs like any other."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
import torch
from fastapi import FastAPI
from fastapi.testclient import TestClient

from conftest import TEXT, Silent
from glassformer.errors import UserError
from glassformer.glass.trace import trace
from glassformer.lab import building, job
from glassformer.lab.examples import example
from glassformer.lab.task import FEWEST_CHARACTERS, MOMENTS, MOST_BYTES, MOST_STEPS, PROBE, Task, moments
from glassformer.lab.trainings import Trainings
from glassformer.lab.words_build import WORDS
from glassformer.store.run import Run
from glassformer.training import start
from glassformer.training.loop import fit

PROBE_TEXT = "the cat sees"
ORDER = {"text": TEXT, "probe": PROBE_TEXT, "size": "mini", "steps": 3, "language": "en"}
GOING = ("preparing", "training", "stopping")


@pytest.fixture
def trainings(tmp_path):
    return Trainings(tmp_path / "runs")


@pytest.fixture
def client(trainings):
    app = FastAPI()
    app.include_router(building.router(trainings))
    with TestClient(app) as client:
        yield client


def until(client, done, seconds=120):
    """The state as soon as `done(state)`."""
    end = time.monotonic() + seconds
    while not done(state := client.get("/api/build").json()):
        assert time.monotonic() < end, state
        time.sleep(0.1)
    return state


def over(state):
    return state["state"] not in GOING


def test_a_training_from_start_to_end(client, tmp_path):
    assert client.get("/api/build").json() is None
    assert client.delete("/api/build").json() is None
    begun = client.post("/api/build", json={**ORDER, "name": "My cat / 我的猫"})
    assert begun.status_code == 201
    assert begun.json()["state"] == "preparing"
    second = client.post("/api/build", json=ORDER)
    assert second.status_code == 409
    assert second.json() == {"detail": WORDS["busy"].en}

    state = until(client, over)
    assert state["state"] == "finished", state
    assert (state["run"], state["step"], state["reason"]) == ("My-cat-我的猫", 3, None)
    assert len(state["losses"]) == 3
    assert [step for step, _ in state["validations"]] == [0, 1, 2, 3]
    assert [moment["step"] for moment in state["moments"]] == [0, 1, 2, 3]
    assert all(moment["sample"] for moment in state["moments"])
    assert (state["layers"], state["heads"]) == (2, 2)

    run = Run(tmp_path / "runs" / state["run"])
    last = run.checkpoint("last")
    model, tokenizer = last.language_model(), last.tokenizer()
    assert state["vocabulary"] == tokenizer.vocab_size
    ids = tokenizer.encode(PROBE_TEXT).tolist()
    traced = trace(model, ids, "blocks.*.attention.weights")
    moment = client.get("/api/build/moments/3").json()
    assert (moment["step"], moment["tokens"]) == (3, tokenizer.labels(ids))
    for layer in range(2):
        told = torch.tensor(moment["weights"][layer])
        assert (told - traced[f"blocks.{layer}.attention.weights"][0]).abs().max() < 1e-5
        assert (told.sum(-1) - 1).abs().max() < 1e-4
    assert client.get("/api/build/moments/4").status_code == 404
    assert client.get("/api/build/moments/-1").status_code == 422
    assert client.get(f"/api/build/moments/{MOMENTS}").status_code == 422

    # The run goes on like any other, what was watched stays, and its name is never taken again.
    training = start.resumed(run.folder, ["steps=4"])
    assert fit(training, Silent()) == "finished"
    assert len(list((run.folder / "moments").iterdir())) == 4
    again = client.post("/api/build", json={**ORDER, "name": "../My cat/我的猫", "steps": 1}).json()
    assert again["run"] == "My-cat-我的猫-2"
    assert until(client, over)["state"] == "finished"


def test_stopping_keeps_what_was_learned(client, tmp_path):
    client.post("/api/build", json={**ORDER, "steps": MOST_STEPS})
    until(client, lambda state: state["step"] >= 2)
    assert client.delete("/api/build").json()["state"] == "stopping"
    state = until(client, over)
    assert (state["state"], state["reason"]) == ("stopped", None)
    run = Run(tmp_path / "runs" / state["run"])
    assert run.checkpoint("last").step == state["step"] == len(state["losses"]) < MOST_STEPS
    assert state["moments"][-1]["step"] == state["step"]
    training = start.resumed(run.folder)
    assert training.progress.step == state["step"]


def test_a_process_that_is_killed_has_failed(client, trainings):
    client.post("/api/build", json={**ORDER, "steps": MOST_STEPS})
    until(client, lambda state: state["step"] >= 1)
    os.kill(trainings._job._leash._process.pid, signal.SIGKILL)
    state = until(client, over)
    assert state["state"] == "failed"
    assert state["reason"] == WORDS["died"].en.format(code=-9)
    assert not trainings._job._text.exists()


def test_it_ends_with_the_server(trainings, tmp_path):
    app = FastAPI()
    app.include_router(building.router(trainings))
    with TestClient(app) as client:
        client.post("/api/build", json={**ORDER, "steps": MOST_STEPS})
        until(client, lambda state: state["step"] >= 1)
    assert trainings.now().state == "stopped"
    assert trainings._job._leash._process.returncode == 0
    assert Run(tmp_path / "runs" / "build").checkpoint("last").step == trainings.now().step


@pytest.mark.slow
def test_it_ends_with_a_server_that_is_killed(tmp_path):
    code = f"""
import os, time
from pathlib import Path
from glassformer.lab.trainings import Order, Trainings
trainings = Trainings(Path({str(tmp_path)!r}))
trainings.start(Order.model_validate({ {**ORDER, "steps": MOST_STEPS}!r}))
while not trainings.now().step:
    time.sleep(0.1)
os.kill(os.getpid(), 9)
"""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environment = os.environ | {"TMPDIR": str(temporary)}
    done = subprocess.run([sys.executable, "-c", code], timeout=120, check=False, env=environment)
    assert done.returncode == -9
    run = Run(tmp_path / "build")
    end = time.monotonic() + 60
    while True:
        with contextlib.suppress(UserError), run.locked():
            break
        assert time.monotonic() < end
        time.sleep(0.2)
    assert 0 < run.checkpoint("last").step < MOST_STEPS
    assert list(temporary.glob("glassformer-*")) == []


@pytest.mark.slow
def test_a_training_that_takes_too_long_is_stopped(tmp_path):
    trainings = Trainings(tmp_path, seconds=0.5, grace=120)  # a busy machine starts the process late
    trainings.start(building.Order.model_validate({**ORDER, "steps": MOST_STEPS}))
    trainings._job.wait()
    assert trainings.now().state == "stopped"
    assert trainings.now().reason == WORDS["time_up"].en.format(minutes=0)


@pytest.mark.slow
def test_a_process_that_does_not_stop_is_ended(tmp_path):
    trainings = Trainings(tmp_path, grace=0)
    trainings.start(building.Order.model_validate({**ORDER, "language": "zh"}))
    trainings.close()
    assert trainings.now().state == "stopped"
    assert trainings.now().reason == WORDS["killed"].zh
    assert not trainings._job._text.exists()


def test_a_process_that_cannot_start_leaves_no_text_behind(tmp_path, monkeypatch):
    def refuse(*arguments, **options):
        raise OSError("no process")

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(subprocess, "Popen", refuse)
    trainings = Trainings(tmp_path / "runs")
    with pytest.raises(OSError, match="no process"):
        trainings.start(building.Order.model_validate(ORDER))
    assert trainings.now() is None
    assert list(tmp_path.iterdir()) == []


BAD = {
    "short": {"text": "ab" * (FEWEST_CHARACTERS // 2 - 1)},
    "long": {"text": "猫 " * (MOST_BYTES // 4 + 1)},
    "one character": {"text": "a" * 2000, "probe": "a"},
    "no text": {"text": None},
    "unknown character": {"probe": "the dog 狗\0"},
    "no probe": {"probe": ""},
    "long probe": {"probe": "t" * (PROBE + 1)},
    "no steps": {"steps": 0},
    "many steps": {"steps": MOST_STEPS + 1},
    "true steps": {"steps": True},
    "spelled steps": {"steps": "3"},
    "broken steps": {"steps": 1.5},
    "size": {"size": "huge"},
    "language": {"language": "fr"},
    "long name": {"name": "x" * 201},
    "more": {"</script>\n": 1},
    "surrogate": {"text": "\ud800" * 2000},
    "surrogate key": {"\ud800": 1},
    "not a number": {"steps": float("nan")},
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_a_bad_order_is_refused_in_one_line(client, tmp_path, bad):
    body = json.dumps({**ORDER, **bad})
    answer = client.post("/api/build", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 422, answer.text
    (detail,) = answer.json().values()
    assert detail == detail.strip()
    assert "\n" not in detail
    assert len(detail) < 300
    assert client.get("/api/build").json() is None
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"[" * 100_000, b"\xff\xfe", b"null", b'"text"'])
def test_what_is_no_order_is_refused(client, body):
    answer = client.post("/api/build", content=body, headers={"content-type": "application/json"})
    assert answer.status_code in (400, 422)
    assert (
        client.post("/api/build", content=json.dumps(ORDER)).status_code == 422
    )  # as a foreign form sends it
    assert client.post("/api/build", json={}).status_code == 422


def test_refusals_speak_the_reader_s_language(client):
    told = client.post("/api/build", json={**ORDER, "probe": "犬\n", "language": "zh"}).json()["detail"]
    assert told == WORDS["probe_lacks"].zh.format(characters="犬")


def test_hostile_text_is_text(client, tmp_path):
    hostile = "</script><img src=x onerror=alert(1)>\0\u202e\u2028{{7*7}}${x}\r\n'\";--"
    order = {**ORDER, "text": hostile * 30, "probe": hostile[:PROBE], "name": "../../..//\0", "steps": 1}
    begun = client.post("/api/build", json=order)
    assert begun.status_code == 201, begun.text
    state = until(client, over)
    assert (state["state"], state["run"]) == ("finished", "build")
    tokens = client.get("/api/build/moments/0").json()["tokens"]
    assert tokens[:3] == ["<", "/", "s"]
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["build"]
    assert list(tmp_path.iterdir()) == [tmp_path / "runs"]


@pytest.mark.parametrize("steps", [1, 25])
def test_watching_changes_nothing(text_file, tmp_path, steps):
    handed = shutil.copy(text_file, tmp_path / "handed over.txt")
    task = Task(str(handed), str(tmp_path / "watched"), PROBE_TEXT, "mini", steps)
    told = []
    assert job.run(task, lambda: False, lambda **what: told.append(what)) == "finished"
    settings = job.settings(task)
    with start.begun(
        [str(text_file)], tmp_path / "alone", preset_name="tiny", assignments=settings
    ) as training:
        report = Silent()
        fit(training, report)
    assert [what["loss"] for what in told if "loss" in what] == report.losses
    assert [what["step"] for what in told if "sample" in what] == moments(steps)
    for name in ("model.safetensors", "training.safetensors"):
        pair = [(tmp_path / run / f"step-{steps}" / name).read_bytes() for run in ("watched", "alone")]
        assert pair[0] == pair[1], name


def test_moments_are_few_and_have_both_ends():
    for steps in range(1, MOST_STEPS + 1):
        found = moments(steps)
        assert found[0] == 0
        assert found[-1] == steps
        assert len(found) == len(set(found)) <= MOMENTS


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("which", ["stories", "manual"])
def test_examples_can_be_trained_on(client, which, language):
    found = client.get(f"/api/build/examples/{which}", params={"language": language}).json()
    assert (found["text"], found["probe"]) == example(which, language)
    assert set(found["probe"]) <= set(found["text"])
    assert len(found["probe"]) <= PROBE
    assert FEWEST_CHARACTERS < len(found["text"].encode()) < MOST_BYTES


@pytest.mark.parametrize("language", ["zh", "en"])
def test_the_part_of_the_page(language):
    part = building.live_parts(language)["build"]
    assert getattr(WORDS["start"], language) in part
    assert "style=" not in part
    off = building.live_parts(language, trains=False)["build"]
    assert "<form" not in off
    assert "<code>glassformer lab</code>" in off


def test_the_routes_are_described(client):
    paths = client.get("/openapi.json").json()["paths"]
    assert set(paths["/api/build"]) == {"get", "post", "delete"}
    assert set(paths["/api/build"]["post"]["responses"]) == {"201", "409", "422"}
    answer = paths["/api/build/moments/{k}"]["get"]["responses"]["200"]["content"]["application/json"]
    assert answer["schema"] == {"$ref": "#/components/schemas/Weights"}
