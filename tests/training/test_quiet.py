"""Quiet trainings: trained to their end, and nothing left behind."""

import tempfile

import numpy as np
import pytest
import torch

from conftest import SMALL, TEXT
from glassformer.data.batches import Windows
from glassformer.models import GPT, GPTConfig
from glassformer.training import start
from glassformer.training.quiet import final_loss, finished, translator
from glassformer.training.settings import TrainConfig
from glassformer.training.task import NextToken, mean_loss


@pytest.fixture
def temporary(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_text_is_learned_to_the_end_and_its_folder_is_gone(temporary):
    training = finished(start.begun, TEXT, [*SMALL, "steps=3"], preset_name="tiny")
    assert training.progress.step == 3
    assert not training.model.training
    assert len(training.task.held_out) > 8  # still there to measure with
    assert not list(temporary.glob("tmp*"))


def test_pairs_are_learned_in_their_order(temporary, capsys):
    settings = ["d_model=8", "steps=2", "batch_size=64", "context=8", "valid_fraction=0"]
    model, tokenizer = translator([("ab", "cd"), ("ba", "dc")], settings)
    assert model.config.d_model == 8
    assert tokenizer.decode(tokenizer.encode("abcd").tolist()) == "abcd"
    assert capsys.readouterr() == ("", "")
    assert not list(temporary.glob("tmp*"))


def test_the_final_loss_is_that_after_the_last_step(temporary):
    tokens = np.tile(np.arange(4), 60)
    task = NextToken(Windows(tokens, 8), tokens[:33], 4, 1, 1000)
    torch.manual_seed(0)
    model = GPT(GPTConfig(5, context=8, n_layers=1, n_heads=1, d_model=8))
    before = mean_loss(task, model, task.validation_batches(), torch.device("cpu"))
    config = TrainConfig(steps=20, lr=0.03, warmup=1, eval_every=7, device="cpu", sample=0)
    found = final_loss(model, task, config)
    assert found == mean_loss(task, model, task.validation_batches(), torch.device("cpu"))
    assert found < before - 0.5
    assert not list(temporary.glob("tmp*"))
