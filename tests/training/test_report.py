"""What a person sees of a training, and what two Ctrl-Cs do."""

import io
import os
import shutil
import signal
from pathlib import Path

import pytest
from rich.console import Console

import glassformer
from conftest import SMALL
from glassformer.errors import UserError
from glassformer.training import report, start
from glassformer.training.interrupt import stop_requested
from glassformer.training.report import TrainingReport, train_visibly

SETTINGS: dict[str, object] = dict(pair.split("=") for pair in SMALL)


@pytest.fixture
def console() -> Console:
    return Console(file=io.StringIO(), width=200)


def said(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_shown_loss_is_a_mean_in_which_recent_steps_count_more(
    run_folder: Path, console: Console
) -> None:
    shown = TrainingReport(start.resumed(run_folder, ["steps=99"]), console)
    shown.stepped(1, 4.0, 100)
    shown.stepped(2, 2.0, 300)
    shown.validated(2, None, best=True)
    # (0.95 · 4 + 2) / (0.95 + 1), and so for the speed
    assert "step 2  loss 2.9744  203 tokens/s" in said(console)


def test_a_rate_that_never_rises_to_its_height_is_told(
    run_folder: Path, tmp_path: Path, console: Console
) -> None:
    run = shutil.copytree(run_folder, tmp_path / "run")
    train_visibly(start.resumed(run, ["steps=31", "warmup=31"]), console)
    assert "the rate never comes to lr=0.01 and muon_lr=0.04: warmup=31 takes all 31 steps" in said(console)


def test_the_first_signal_is_answered_and_the_second_stops(capfd: pytest.CaptureFixture[str]) -> None:
    with stop_requested() as stop:
        assert not stop()
        os.kill(os.getpid(), signal.SIGINT)
        assert stop()
        assert "stopping after this step, and saving; once more stops at once" in capfd.readouterr().err
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), RuntimeError("the compiler's child was stopped")])
def test_who_stops_at_once_hears_what_is_kept(
    text_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: BaseException
) -> None:
    run = glassformer.train(text_file, tmp_path / "a run", steps=2, **SETTINGS)

    def interrupted(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        raise failure

    monkeypatch.setattr(report, "fit", interrupted)
    with pytest.raises(KeyboardInterrupt, match=r"stopped at once; step 2 is kept. Go on with: .* '.*a run'"):
        glassformer.resume(run, steps=5)


def test_a_failure_without_a_signal_is_no_stop(
    run_folder: Path, console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> None:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(report, "fit", failing)
    with pytest.raises(RuntimeError, match="a fault of ours"):
        train_visibly(start.resumed(run_folder, ["steps=99"]), console)


def test_training_from_python_is_that_of_the_command_line(text_file: Path, tmp_path: Path) -> None:
    run = glassformer.train([text_file], tmp_path / "run", preset="tiny", steps=2, eval_every=1, **SETTINGS)
    assert glassformer.resume(run, steps=3) == run
    model, tokenizer = glassformer.load(run)
    assert model.config.n_layers == 2
    measured = glassformer.evaluate(model, tokenizer, str(text_file))
    assert 0 < measured.loss < 10
    tuned = glassformer.train(text_file, tmp_path / "tuned", base=run, steps=1)
    assert glassformer.load(tuned)[0].config == model.config
    with pytest.raises(UserError, match="unknown setting 'layers'; did you mean 'n_layers'"):
        glassformer.train(text_file, tmp_path / "other", layers=3)
    assert not (tmp_path / "other").exists()


def test_a_training_that_fails_before_anything_is_kept_does_not_speak_of_it(
    text_file: Path, tmp_path: Path
) -> None:
    with start.begun([str(text_file)], tmp_path / "run", preset_name="tiny", assignments=SMALL) as training:
        training.model.embedding.weight.data.fill_(float("nan"))
        with pytest.raises(UserError, match=r"nan at step 0: training has diverged.*warmup$"):
            train_visibly(training, Console(file=io.StringIO()))
