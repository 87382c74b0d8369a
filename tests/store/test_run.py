"""The run folder: who reads what, and that no failure at any file operation loses a checkpoint."""

import contextlib
import errno
import itertools
import json
import os
import pickle
import re
import shutil
from pathlib import Path

import pytest
import torch

from glassformer.config import to_dict
from glassformer.data.tokenizers import CharTokenizer
from glassformer.errors import UserError
from glassformer.models import GPT, GPTConfig
from glassformer.store import tensors
from glassformer.store.load import load
from glassformer.store.run import Run

SHAPE = GPTConfig(5, context=4, n_layers=1, n_heads=1, d_model=4)
TRAINED = {"train": {"lr": 0.1}, "data": {}, "progress": {}}
SETTINGS = {"family": "gpt", "model": to_dict(SHAPE), **TRAINED}
FILES = ["config.json", "model.safetensors", "tokenizer.json", "training.safetensors"]


def gpt(step):
    torch.manual_seed(step)
    return GPT(SHAPE)


def save(run, step, best=False, **settings):
    training = {"moment": torch.full((3,), float(step))}
    return run.save(step, gpt(step), CharTokenizer("字abc"), {**SETTINGS, **settings}, training, best=best)


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def names(folder):
    return {path.name for path in folder.iterdir()}


def weights_are(model, step):
    return all(torch.equal(a, b) for a, b in zip(model.parameters(), gpt(step).parameters(), strict=True))


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture
def run(tmp_path):
    """Step 1 is the best, step 2 the last."""
    run = Run(tmp_path / "runs" / "cat")
    save(run, 1, best=True)
    save(run, 2)
    return run


def test_a_checkpoint_comes_back(run):
    opened = run.checkpoint("last")
    assert weights_are(opened.model(), 2)
    assert not opened.model().training
    assert opened.training_tensors()["moment"].tolist() == [2.0] * 3
    assert opened.tokenizer().encode("字c").tolist() == [3, 2]
    assert opened.step == opened.settings["step"] == 2
    assert opened.settings.items() >= SETTINGS.items()
    assert names(opened.folder) == {*FILES}


@pytest.mark.parametrize(("which", "step"), [("best", 1), ("last", 2), ("1", 1), ("2", 2)])
def test_readers_choose(which, step, run):
    assert run.checkpoint(which).step == step
    model, tokenizer = load(run.folder, which, device="cpu")
    assert weights_are(model, step)
    assert (tokenizer.vocab_size, model.training) == (5, False)


def test_readers_take_the_best(run):
    assert run.checkpoint().step == 1
    assert weights_are(load(run.folder, device="cpu")[0], 1)
    (run.folder / "best").unlink()
    assert run.checkpoint().step == 2


def test_only_best_and_last_stay(run):
    (run.folder / "log.jsonl").touch()
    (run.folder / "step-9.partial").mkdir()
    for step, best, steps in [(3, True, [3]), (4, False, [3, 4]), (5, False, [3, 5]), (6, True, [6])]:
        save(run, step, best)
        assert run.steps() == steps
        assert names(run.folder) == {"last", "best", "log.jsonl", *(f"step-{n}" for n in steps)}


def test_the_same_step_again_is_the_same_checkpoint(run):
    before = (run.folder / "step-2").stat().st_ino
    assert save(run, 2, best=True).stat().st_ino == before
    assert names(run.folder) == {"last", "best", "step-2"}


def test_a_checkpoint_that_is_not_there_is_told_with_those_that_are(run):
    save(run, 10)
    for which in ("2", "-1", "x", "../cat"):
        with pytest.raises(UserError, match=f"no checkpoint {which}; .* last, best, and the steps 1, 10$"):
            run.checkpoint(which)
    shutil.rmtree(run.folder / "step-10")
    with pytest.raises(UserError, match=r"no checkpoint last; .* steps 1$"):
        run.checkpoint("last")


def test_what_is_no_run(tmp_path):
    with pytest.raises(UserError, match="gone: no such run folder"):
        load(tmp_path / "gone")
    (tmp_path / "step-1").mkdir()
    with pytest.raises(UserError, match="is no run folder"):
        load(tmp_path)


@pytest.mark.parametrize("raw", [b"", b"[]", b"3", b"{}", b'{"step": "x"}', b'{"step": 1, "mod', b"\xff"])
def test_a_damaged_config_is_named(raw, run):
    (run.folder / "step-1" / "config.json").write_bytes(raw)
    with pytest.raises(UserError, match=r"step-1/config\.json is damaged"):
        run.checkpoint("best")
    assert run.checkpoint("last").step == 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        *(
            ({"family": family}, rf"step-1/config\.json: unknown family {shown}; known: gpt")
            for family, shown in [("gtp", "'gtp'"), (["gpt"], r"\['gpt'\]"), (None, "None"), ({}, r"\{\}")]
        ),
        *(
            ({part: value}, rf"step-1/config\.json is damaged: '{part}' is missing in it, or no object")
            for part in ("model", *TRAINED)
            for value in (None, [], "x")
        ),
        *(
            ({"model": {**to_dict(SHAPE), **wrong}}, rf"step-1/config\.json: {message}")
            for wrong, message in [
                ({"d_modell": 4}, "unknown key in GPTConfig 'd_modell'; did you mean 'd_model'"),
                ({"n_layers": "4"}, "n_layers = '4': expected a whole number"),
                ({"n_layers": 10**12}, "GPTConfig: n_layers must be at most 1024, not 1000000000000"),
                ({"d_model": 10**30}, r"d_model = 1000\d+ is beyond what can be used"),
                ({"norm_eps": 10**400}, r"norm_eps = 1000\d+\.\.\.0+ is beyond what can be used"),
                ({"norm": ["rmsnorm"]}, r"norm = \['rmsnorm'\]: expected layernorm \| rmsnorm"),
            ]
        ),
        ({"model": {**to_dict(SHAPE), "d_model": 8}}, r"model\.safetensors: .* the model needs \(5, 8\)"),
    ],
)
def test_a_config_of_another_model_is_refused(changes, message, run):
    path = run.folder / "step-1" / "config.json"
    path.write_text(json.dumps({**run.checkpoint("1").settings, **changes}), encoding="utf-8")
    with pytest.raises(UserError, match=message):
        load(run.folder, device="cpu")


def test_a_part_that_is_left_out_is_named(run):
    path = run.folder / "step-1" / "config.json"
    whole = json.loads(path.read_text(encoding="utf-8"))
    for part in ("model", "data", "progress"):
        kept = {key: value for key, value in whole.items() if key != part}
        path.write_text(json.dumps(kept), encoding="utf-8")
        with pytest.raises(UserError, match=rf"config\.json is damaged: '{part}' is missing"):
            run.checkpoint("1")
    imported = {key: value for key, value in whole.items() if key not in TRAINED}
    path.write_text(json.dumps(imported), encoding="utf-8")
    assert weights_are(run.checkpoint("1").model(), 1)


@pytest.mark.parametrize(
    "content", [b"", b"step-", b"step-1\n2", b"step-../x", b"step-" + b"9" * 300, b"\xff"]
)
def test_a_damaged_pointer_is_named_with_the_steps(content, run):
    (run.folder / "last").write_bytes(content)
    with pytest.raises(UserError, match=r"last is damaged: it should say step-N; there are the steps 1, 2$"):
        run.checkpoint("last")


def test_a_step_with_a_name_too_long_is_not_there(run):
    with pytest.raises(UserError, match=r"no checkpoint 9+; there are"):
        run.checkpoint("9" * 300)


@pytest.mark.parametrize("name", FILES)
def test_a_pickle_never_runs(name, run, tmp_path):
    marker = tmp_path / "marker"
    raw = pickle.dumps(type("Trap", (), {"__reduce__": lambda self: (Path.touch, (marker,))})())
    pickle.loads(raw)
    marker.unlink()  # whoever unpickles it does run it
    (run.folder / "step-1" / name).write_bytes(raw)
    with pytest.raises(UserError, match=re.escape(name)):
        load(run.folder, device="cpu")[0], run.checkpoint().training_tensors()
    assert not marker.exists()


def test_settings_that_are_no_json_leave_nothing(run):
    with pytest.raises(ValueError, match="nan"):
        save(run, 3, loss=float("nan"))
    assert names(run.folder) == {"last", "best", "step-1", "step-2"}


def test_all_is_on_the_disk_before_it_has_its_name(run, monkeypatch):
    synced, rename, replace = set(), Path.rename, Path.replace  # inodes

    def renamed(path, target):
        assert {p.stat().st_ino for p in (path, *path.iterdir())} <= synced
        synced.clear()
        rename(path, target)

    def replaced(path, target):
        assert {path.stat().st_ino, run.folder.stat().st_ino} <= synced
        synced.clear()
        replace(path, target)

    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.add(os.fstat(descriptor).st_ino))
    monkeypatch.setattr(Path, "rename", renamed)
    monkeypatch.setattr(Path, "replace", replaced)
    save(run, 3, best=True)
    assert synced == {run.folder.stat().st_ino}


class Killed(BaseException):
    pass


class Disk:
    """Counts operations on files. One fails, as on a full disk; or there the whole process ends."""

    def __init__(self, patch, fails_at, killed):
        self.calls, self.fails_at, self.killed, self.cleaning = 0, fails_at, killed, 0
        writing = ("open", "mkdir", "touch", "chmod", "rename", "replace", "unlink")
        operations = [(os, "fsync"), (os, "open"), (os, "unlink"), (os, "rmdir"), (shutil, "rmtree")]
        operations += [(tensors, "save_file"), *((Path, name) for name in writing)]
        for where, name in operations:
            patch.setattr(where, name, self.watched(name, getattr(where, name)))

    def watched(self, name, real):
        cleans = name in ("unlink", "rmdir", "rmtree")  # what a full disk does not keep from working

        def call(*args, **options):
            if self.killed or not (cleans or self.cleaning):
                self.calls += 1
                if self.calls == self.fails_at and name == "save_file":
                    args[1].write_bytes(b"half")
                if self.calls == self.fails_at or (self.killed and self.calls > self.fails_at):
                    raise Killed if self.killed else OSError(errno.ENOSPC, "No space left on device")
            self.cleaning += cleans
            try:
                return real(*args, **options)
            finally:
                self.cleaning -= cleans

        return call


@pytest.mark.parametrize("killed", [False, True], ids=["disk full", "killed"])
@pytest.mark.parametrize("best", [False, True])
@pytest.mark.parametrize(("before", "again"), [(False, 3), (True, 3), (True, 4)])
def test_a_save_that_fails_anywhere_loses_nothing(killed, best, before, again, run, tmp_path, monkeypatch):
    good = {f"step-{step}": content(run.folder / f"step-{step}") for step in (1, 2)}
    good |= {f"step-{step}": content(save(Run(tmp_path / "good"), step)) for step in (3, 4)}
    for fails_at in itertools.count(1):
        tried = Run(tmp_path / str(fails_at))
        if before:
            shutil.copytree(run.folder, tried.folder)
        with monkeypatch.context() as patch:
            disk = Disk(patch, fails_at, killed)
            with contextlib.suppress(OSError, Killed):
                save(tried, 3, best)
        if disk.calls < fails_at:
            break
        left = names(tried.folder) if tried.folder.exists() else set()
        extra = {"step-3.partial", "last.partial", "best.partial"} if killed else set()
        assert left <= {"last", "best", "step-1", "step-2", "step-3"} | extra
        assert tried.exists() or not before
        bests = {1, 3} if best or not before else {1}
        for which, steps in [("last", {2, 3}), ("best", bests)] if tried.exists() else []:
            opened = tried.checkpoint(which)
            assert opened.step in steps
            assert content(opened.folder) == good[opened.folder.name]
            assert weights_are(opened.model(), opened.step)
        save(tried, again, best=True)
        assert content(tried.checkpoint("last").folder) == good[f"step-{again}"]
        assert names(tried.folder) == {"last", "best", f"step-{again}"}
    assert fails_at > 25
