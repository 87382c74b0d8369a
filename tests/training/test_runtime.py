"""What "auto" means, and that compiling changes nothing but the speed."""

from pathlib import Path

import pytest
import torch

from conftest import SMALL, Silent
from glassformer.errors import UserError
from glassformer.models import GPT, GPTConfig, RecurrentConfig, RecurrentLM, Seq2Seq, Seq2SeqConfig
from glassformer.training import runtime, start
from glassformer.training.loop import fit
from glassformer.training.settings import TrainConfig


def test_on_a_cpu_auto_is_fp32_and_not_compiled() -> None:
    chosen = runtime.choose(TrainConfig(device="cpu"))
    assert str(chosen) == "cpu, fp32"
    with chosen.autocast():
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.float32


@pytest.mark.parametrize("able", ["avx512_bf16", "amx_bf16"])
def test_a_wide_transformer_takes_bf16_on_a_cpu_that_computes_it(
    able: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {able: True})
    assert runtime.choose(TrainConfig(device="cpu"), 256).bf16
    assert not runtime.choose(TrainConfig(device="cpu"), 255).bf16
    assert not runtime.choose(TrainConfig(device="cpu")).bf16
    assert not runtime.choose(TrainConfig(device="cpu", precision="fp32"), 256).bf16


@pytest.mark.parametrize("capabilities", [{}, {"avx512_bf16": False, "avx512_f": True}])
def test_a_cpu_that_only_emulates_bf16_stays_in_fp32(
    capabilities: dict[str, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities)
    assert not runtime.choose(TrainConfig(device="cpu"), 4096).bf16


def test_recurrent_layers_stay_in_fp32(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": True})
    wide: dict[str, int] = {"context": 8, "d_model": 256, "n_layers": 1}
    for model in (RecurrentLM(RecurrentConfig(9, "lstm", **wide)), Seq2Seq(Seq2SeqConfig(9, **wide))):
        assert not runtime.choose(TrainConfig(device="cpu"), start.width_of(model)).bf16
    assert runtime.choose(TrainConfig(device="cpu"), start.width_of(GPT(GPTConfig(9, **wide)))).bf16


def test_bf16_and_compiling_are_there_to_be_asked_for() -> None:
    chosen = runtime.choose(TrainConfig(device="cpu", precision="bf16", compile="on"))
    assert str(chosen) == "cpu, bf16, compiled"
    with chosen.autocast():
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.bfloat16


def test_compiling_without_a_compiler_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(UserError, match=r"needs a C\+\+ compiler"):
        runtime.choose(TrainConfig(device="cpu", compile="on"))


def test_training_in_bf16_learns_too(text_file: Path, tmp_path: Path) -> None:
    settings = [*SMALL, "steps=20", "precision=bf16", "warmup=0"]
    with start.begun(
        [str(text_file)], tmp_path / "run", preset_name="tiny", assignments=settings
    ) as training:
        report = Silent()
        fit(training, report)
    assert report.losses[-1] < report.losses[0] - 0.3
    assert all(p.dtype == torch.float32 for p in training.model.parameters())


@pytest.mark.slow
@pytest.mark.filterwarnings("default::DeprecationWarning:torch")  # the compiler's own
def test_a_compiled_training_is_the_plain_one(text_file: Path, tmp_path: Path) -> None:
    losses = []
    for compiled in ("off", "on"):
        settings = [*SMALL, "steps=5", f"compile={compiled}", "dropout=0", "lr=1e-3"]
        with start.begun(
            [str(text_file)], tmp_path / compiled, preset_name="tiny", assignments=settings
        ) as training:
            report = Silent()
            fit(training, report)
        losses.append(report.losses)
        assert training.run.checkpoint("last").model().tap_names()
    assert losses[1] == pytest.approx(losses[0], abs=1e-4)
