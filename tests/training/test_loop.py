"""The loop: one gradient however it is cut, and a resumed run that is the run that never stopped."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch

from conftest import SMALL, Silent
from glassformer.data.batches import IGNORE, Batch
from glassformer.errors import UserError
from glassformer.training import log, start
from glassformer.training.loop import Training, fit
from glassformer.training.optimiser import rate_share


def begin(text: Path, out: Path, *settings: str) -> Training:
    """A training at step 0 with its first checkpoint saved."""
    with start.begun(
        [str(text)], out, preset_name="tiny", assignments=[*SMALL, "steps=20", *settings]
    ) as training:
        fit(training, Silent(), stop=lambda: True)
    return training


def until(training: Training, step: int) -> Silent:
    report = Silent()
    fit(training, report, stop=lambda: training.progress.step >= step)
    return report


def weights(training: Training) -> dict[str, torch.Tensor]:
    return {name: p.detach().clone() for name, p in training.model.named_parameters()}


def same(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def without_times(folder: Path) -> list[dict[str, object]]:
    return [{k: v for k, v in entry.items() if k != "seconds"} for entry in log.read(folder)]


# An epoch of the test text has 208 windows: batches of 104 end with it, 3 x 4 a step cross it in step 18.
@pytest.mark.parametrize("settings", [["batch_size=4"], ["batch_size=104", "lr=1e-3"], ["accumulate=3"]])
@pytest.mark.parametrize("stop_at", [1, 10])
def test_stopped_and_resumed_is_never_stopped(
    text_file: Path, tmp_path: Path, settings: list[str], stop_at: int
) -> None:
    settings = ["dropout=0.3", "eval_every=7", *settings]
    whole = begin(text_file, tmp_path / "whole", *settings)
    losses = until(whole, 20).losses
    begun = begin(text_file, tmp_path / "parts", *settings)
    first = until(begun, stop_at).losses
    torch.manual_seed(123)  # what else has drawn numbers must not matter
    torch.rand(7)
    again = start.resumed(tmp_path / "parts")
    assert again.progress.step == stop_at
    second = until(again, 20).losses
    assert first + second == losses
    assert same(weights(whole), weights(again))
    assert without_times(tmp_path / "parts") == without_times(tmp_path / "whole")
    files = "model.safetensors", "training.safetensors"
    for name in files:
        pair = [(tmp_path / run / "step-20" / name).read_bytes() for run in ("whole", "parts")]
        assert pair[0] == pair[1], name


def test_a_log_that_ran_ahead_of_its_checkpoint_is_cut_back(text_file: Path, tmp_path: Path) -> None:
    training = begin(text_file, tmp_path / "run", "eval_every=5")
    until(training, 10)
    with (tmp_path / "run" / "log.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"step": 11, "loss": 9.0}\n{"step": 12, "lo')
    until(start.resumed(tmp_path / "run"), 20)
    steps = [entry["step"] for entry in log.read(tmp_path / "run") if "loss" in entry]
    assert steps == [10, 20]


@pytest.mark.parametrize(
    "line",
    [
        "[]",
        "null",
        "7",
        '{"loss": 1}',
        '{"step": "x"}',
        '{"step": 1, "loss": NaN}',
        '{"step": 1, "loss": [1]}',
        "{",
    ],
)
def test_a_damaged_log_is_named_with_its_line(run_folder: Path, tmp_path: Path, line: str) -> None:
    (tmp_path / "log.jsonl").write_text(f'{{"step": 0}}\n{line}\n{{"step": 2}}\n', encoding="utf-8")
    with pytest.raises(UserError, match=r"log\.jsonl: line 2 is damaged"):
        log.read(tmp_path)


@pytest.mark.parametrize(("batch_size", "accumulate"), [(12, 1), (6, 2), (3, 4)])
def test_accumulation_changes_nothing_but_memory(
    text_file: Path, tmp_path: Path, batch_size: int, accumulate: int
) -> None:
    usual = ["lr=1e-3", "optimiser=adamw"]
    reference = begin(text_file, tmp_path / "one", "batch_size=12", *usual)
    training = begin(
        text_file, tmp_path / "many", f"batch_size={batch_size}", f"accumulate={accumulate}", *usual
    )
    until(reference, 1)
    until(training, 1)
    for name, moment in reference.optimisers[0].state.items():
        assert moment["step"] == 1, name
    for ours, theirs in zip(training.model.parameters(), reference.model.parameters(), strict=True):
        a, b = (t.optimisers[0].state[p]["exp_avg"] for t, p in ((training, ours), (reference, theirs)))
        assert torch.allclose(a, b, atol=1e-6)


class Unequal:
    """A task of micro-batches with different numbers of targets and losses of our choice."""

    def __init__(self, parameter: torch.Tensor, gradients: list[list[float]], counts: list[int]) -> None:
        self.parameter, self.gradients, self.counts = parameter, gradients, counts

    def training_batches(self, step: int) -> list[Batch]:
        rows = []
        for number, count in enumerate(self.counts):
            targets = torch.full((1, max(self.counts) + 1), IGNORE)
            targets[0, :count] = 1
            rows.append(Batch(torch.full((1, 1), number), targets))
        return rows

    def validation_batches(self) -> list[Batch]:
        return []

    def loss_sum(self, model: object, batch: Batch) -> torch.Tensor:
        gradient = torch.tensor(self.gradients[int(batch.inputs)])
        return (self.parameter * gradient).sum() * batch.n_targets


def stepped(text: Path, out: Path, gradients: list[list[float]], counts: list[int], clip: float) -> Training:
    """One step in which the final norm's first weights have the given gradients per target."""
    training = begin(text, out, f"clip={clip}", "lr=0.1", "warmup=0")
    norm = training.model.final_norm.weight
    training.task = Unequal(norm[: len(gradients[0])], gradients, counts)
    training.task.parameter = norm
    padded = [g + [0.0] * (len(norm) - len(g)) for g in gradients]
    training.task.gradients = padded
    until(training, 1)
    return training


def first_moment(training: Training) -> list[float]:
    moment = training.optimisers[0].state[training.model.final_norm.weight]["exp_avg"]
    return (moment[:2] / (1 - training.config.beta1)).tolist()


def test_a_token_weighs_the_same_in_whichever_micro_batch(text_file: Path, tmp_path: Path) -> None:
    training = stepped(text_file, tmp_path / "run", [[1.0], [3.0]], [10, 2], clip=0)
    assert first_moment(training)[0] == pytest.approx(16 / 12, abs=1e-5)  # a mean of means would be 2


def test_gradients_are_clipped_once_after_accumulation(text_file: Path, tmp_path: Path) -> None:
    # Per target the sum of the two is (2, 2): clipped to length 1 each is 0.7071.
    training = stepped(text_file, tmp_path / "run", [[4.0, 0.0], [0.0, 4.0]], [3, 3], clip=1)
    assert first_moment(training) == pytest.approx([math.sqrt(0.5)] * 2, abs=1e-4)


def test_a_step_without_any_target_moves_nothing(text_file: Path, tmp_path: Path) -> None:
    training = begin(text_file, tmp_path / "run", "weight_decay=0.5")
    before = weights(training)
    training.task = Unequal(training.model.final_norm.weight, [[1.0] * 16], [0])
    report = until(training, 1)
    assert report.losses == [0.0]
    assert same(before, weights(training))


def test_the_log_tells_the_rate_that_was_used(text_file: Path, tmp_path: Path) -> None:
    training = begin(text_file, tmp_path / "run")
    until(training, 20)
    logged = {entry["step"]: entry["lr"] for entry in log.read(tmp_path / "run") if "lr" in entry}
    assert logged == {s: training.config.lr * rate_share(training.config, s - 1) for s in (10, 20)}


def test_early_stopping_keeps_the_best(text_file: Path, tmp_path: Path) -> None:
    training = begin(
        text_file, tmp_path / "run", "eval_every=2", "patience=2", "steps=1000", "lr=0", "muon_lr=0"
    )
    report = Silent()
    assert fit(training, report) == "no longer improving"
    assert report.validations[-1][0] == 4
    assert training.run.checkpoint("best").step == 0
    assert training.run.checkpoint("last").step == 4
    again = start.resumed(tmp_path / "run")
    assert again.progress.outcome == "no longer improving"
    assert start.resumed(tmp_path / "run", ["patience=0"]).progress.outcome == "stopped"


def test_the_best_checkpoint_is_that_of_the_lowest_validation_loss(run_folder: Path) -> None:
    measured = {e["step"]: e["valid_loss"] for e in log.read(run_folder) if "valid_loss" in e}
    best = min(measured, key=measured.__getitem__)
    assert sorted(measured) == [0, 10, 20, 30]
    assert (run_folder / "best").read_text(encoding="utf-8").strip() == f"step-{best}"
    assert measured[best] < math.log(30) < measured[0] + 1


def test_divergence_stops_with_a_reason_and_keeps_the_checkpoint(text_file: Path, tmp_path: Path) -> None:
    training = begin(text_file, tmp_path / "run")
    with torch.no_grad():
        training.model.final_norm.weight.fill_(math.nan)
    with pytest.raises(
        UserError,
        match=r"loss is nan at step 1: training has diverged. Try less than lr=0.01 and muon_lr=0.04",
    ):
        until(training, 5)
    kept = training.run.checkpoint("last")
    assert kept.step == 0
    assert all(torch.isfinite(p).all() for p in kept.model().parameters())


def test_without_validation_the_last_is_the_best(text_file: Path, tmp_path: Path) -> None:
    training = begin(text_file, tmp_path / "run", "valid_fraction=0", "eval_every=5")
    report = until(training, 10)
    assert report.validations == [(5, None, True), (10, None, True)]
    assert training.run.checkpoint("best").step == 10
    assert training.run.steps() == [10]


def test_checkpoints_hold_no_more_than_two_folders_and_no_pickle(run_folder: Path) -> None:
    folders = sorted(path.name for path in run_folder.glob("step-*"))
    named = {(run_folder / name).read_text(encoding="utf-8").strip() for name in ("last", "best")}
    assert set(folders) == named
    for path in run_folder.rglob("*"):
        assert path.suffix in {"", ".safetensors", ".json", ".jsonl", ".bin", ".png"}, path
    config = json.loads((run_folder / folders[0] / "config.json").read_text(encoding="utf-8"))
    assert config["versions"]["torch"] == torch.__version__


def test_data_order_does_not_depend_on_what_was_drawn_before(text_file: Path, tmp_path: Path) -> None:
    training = begin(text_file, tmp_path / "run")
    before = training.task.training_batches(7)[0].inputs
    np.random.seed(5)
    torch.manual_seed(5)
    assert torch.equal(training.task.training_batches(7)[0].inputs, before)
