"""Kill it, stop it, fill its disk: what was saved stays, and going on is exact."""

import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import SMALL, Silent
from glassformer.store.run import Run
from glassformer.training.loop import fit
from glassformer.training.start import begun, resumed

SETTINGS = [*SMALL, "steps=20", "eval_every=10", "dropout=0.2"]
ONE_THREAD = {**os.environ, "OMP_NUM_THREADS": "1"}


def start(*words: object, prepare: Callable[[], None] | None = None) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "glassformer", "train", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ONE_THREAD,
        preexec_fn=prepare,
    )


def finish(*words: object) -> str:
    process = start(*words)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return err


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    while not condition():
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.002)


def weights(folder: Path, step: int) -> bytes:
    return (folder / f"step-{step}" / "model.safetensors").read_bytes()


class Killed(Silent):
    """A reporter that kills its own process after a step."""

    def __init__(self, step: int) -> None:
        super().__init__()
        self.step = step

    def stepped(self, step: int, loss: float, tokens_per_second: float) -> None:
        if step == self.step:
            os.kill(os.getpid(), signal.SIGKILL)


def train(text: Path, folder: Path, report: Silent) -> None:
    """Begin a run of 20 steps, or go on with it."""
    if Run(folder).exists():
        fit(resumed(folder), report)
        return
    with begun([str(text)], folder, preset_name="tiny", assignments=SETTINGS) as training:
        fit(training, report)


def in_child(work: Callable[[], None]) -> int:
    """Run `work` in a process of its own; returns the signal that ended it, 0 if none did."""
    child = os.fork()
    if not child:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    status = os.waitpid(child, 0)[1]
    assert not os.WIFEXITED(status) or os.WEXITSTATUS(status) == 0
    return os.WTERMSIG(status)


def same_end(folder: Path, whole: Path) -> bool:
    names = "model.safetensors", "training.safetensors"
    return all((folder / "step-20" / n).read_bytes() == (whole / "step-20" / n).read_bytes() for n in names)


def test_twenty_steps_are_ten_a_kill_and_ten_more(text_file: Path, tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    train(text_file, whole, Silent())
    assert in_child(lambda: train(text_file, parts, Killed(13))) == signal.SIGKILL
    assert Run(parts).checkpoint("last").step == 10
    assert "going on from step 10" in finish("--resume", parts)
    assert same_end(parts, whole)


@pytest.mark.parametrize("operation", ["fsync", "rename", "replace", "rmdir", "unlink"])
def test_a_kill_at_any_operation_of_a_save_loses_nothing(
    text_file: Path, tmp_path: Path, operation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = tmp_path / "whole"
    train(text_file, whole, Silent())
    original = getattr(os, operation)
    for moment in range(100):
        folder = tmp_path / f"killed-{moment}"
        left = moment

        def dying(*arguments: object, **options: object) -> object:
            nonlocal left
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return original(*arguments, **options)

        monkeypatch.setattr(os, operation, dying)
        ended = in_child(lambda folder=folder: train(text_file, folder, Silent()))
        monkeypatch.setattr(os, operation, original)
        if not ended:
            break
        if Run(folder).exists():
            for name in ("last", "best"):
                Run(folder).checkpoint(name).model()
        train(text_file, folder, Silent())
        assert same_end(folder, whole)
        assert len(Run(folder).steps()) <= 2
    assert 0 < moment < 100


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_kills_at_any_moment_lose_nothing(text_file: Path, tmp_path: Path, seed: int) -> None:
    settings = [*SETTINGS, "steps=60", "eval_every=1", "eval_tokens=8"]
    finish(text_file, "--out", tmp_path / "whole", *settings)
    chance = random.Random(seed)
    folder = tmp_path / "killed"
    process = start(text_file, "--out", folder, *settings)
    wait_for(Run(folder).exists, process)
    for _ in range(5):
        time.sleep(chance.uniform(0, 0.3))
        process.kill()
        process.communicate()
        checkpoint = Run(folder).checkpoint("last")
        checkpoint.model()
        checkpoint.training_tensors()
        Run(folder).checkpoint("best").model()
        reached = checkpoint.step
        process = start("--resume", folder)
        if reached < 55:
            wait_for(lambda least=reached: Run(folder).checkpoint("last").step > least, process)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert weights(folder, 60) == weights(tmp_path / "whole", 60)
    assert len(Run(folder).steps()) <= 2
    assert not list(folder.glob("*.partial"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_saves_says_where_and_exits_130(text_file: Path, tmp_path: Path, number: int) -> None:
    folder = tmp_path / "run"
    process = start(text_file, "--out", folder, *SETTINGS, "steps=100000", "eval_every=100000")
    wait_for(
        lambda: (
            (folder / "log.jsonl").is_file()
            and '"loss"' in (folder / "log.jsonl").read_text(encoding="utf-8")
        ),
        process,
    )
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    stopped = Run(folder).checkpoint("last").step
    assert stopped > 0
    assert f"stopped after step {stopped}; saved. Go on with: glassformer train --resume {folder}" in err
    assert "Traceback" not in err
    assert out == ""
    assert "stopping after this step" in err
    assert f"going on from step {stopped}" in finish("--resume", folder, "--steps", stopped + 3)


def limit_files_to(size: int) -> Callable[[], None]:
    """No file may grow beyond `size` bytes, as if the disk were full from there on."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


# A checkpoint's files: 28 kB of weights, 31 kB of training state, 1 kB of settings; the log passes 600 bytes.
@pytest.mark.parametrize("size", [5, 600, 1000, 20_000, 29_000])
def test_a_full_disk_loses_nothing(text_file: Path, tmp_path: Path, size: int) -> None:
    whole, folder = tmp_path / "whole", tmp_path / "run"
    train(text_file, whole, Silent())
    assert in_child(lambda: train(text_file, folder, Killed(13))) == signal.SIGKILL
    before = weights(folder, 10)

    def on_a_full_disk() -> None:
        limit_files_to(size)()
        with pytest.raises(OSError, match="File too large"):
            train(text_file, folder, Silent())

    assert in_child(on_a_full_disk) == 0
    assert weights(folder, Run(folder).checkpoint("last").step) == before
    Run(folder).checkpoint("best").model()
    assert not list(folder.glob("step-*.partial"))
    train(text_file, folder, Silent())
    assert same_end(folder, whole)


def test_a_full_disk_is_one_line_and_exit_code_1(text_file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    train(text_file, folder, Silent())
    process = start("--resume", folder, "--steps", 40, prepare=limit_files_to(29_000))
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert err.strip().splitlines()[-1].startswith("glassformer: File too large: ")
    assert "Traceback" not in err
    assert Run(folder).steps()[-1] == 20


def test_a_disk_that_is_full_from_the_start_leaves_nothing(text_file: Path, tmp_path: Path) -> None:
    process = start(text_file, "--out", tmp_path / "runs" / "run", *SETTINGS, prepare=limit_files_to(20_000))
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "File too large" in err
    assert not (tmp_path / "runs").exists()
