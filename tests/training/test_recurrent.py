"""Training with a carried state: what stops and resumes is the run that never stopped, and no gradient
reaches back over the edge of a window."""

import os
import signal
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from conftest import Silent
from glassformer.data.batches import Batch, Streams
from glassformer.data.tokenizers import ByteTokenizer
from glassformer.errors import UserError
from glassformer.models import GPT, RecurrentConfig, RecurrentLM
from glassformer.store import tensors
from glassformer.store.run import Run
from glassformer.training import evaluate as measuring
from glassformer.training import start
from glassformer.training.evaluate import evaluate
from glassformer.training.loop import Training, fit
from glassformer.training.task import NextInStream, NextToken, mean_loss
from glassformer.training.train import train

SMALL = ["context=8", "d_model=16", "n_layers=2", "batch_size=4", "sample=0", "lr=1e-2", "warmup=5"]
KINDS = pytest.mark.parametrize("kind", ["rnn", "lstm", "gru"])


def begin(text: Path, out: Path, kind: str, *settings: str) -> Training:
    """A training at step 0 with its first checkpoint saved."""
    wanted = [*SMALL, "steps=20", *settings]
    with start.begun([str(text)], out, preset_name="tiny", model_name=kind, assignments=wanted) as training:
        fit(training, Silent(), stop=lambda: True)
    return training


def until(training: Training, step: int) -> Silent:
    report = Silent()
    fit(training, report, stop=lambda: training.progress.step >= step)
    return report


def weights(training: Training) -> list[torch.Tensor]:
    return [parameter.detach().clone() for parameter in training.model.parameters()]


# An epoch of the test text is 52 steps of 4 rows, 3 of 64, and 17 of 3 x 4: later steps cross its end.
@KINDS
@pytest.mark.parametrize("settings", [["batch_size=4"], ["batch_size=64", "lr=1e-3"], ["accumulate=3"]])
@pytest.mark.parametrize("stop_at", [1, 10, 18])
def test_stopped_and_resumed_is_never_stopped(
    text_file: Path, tmp_path: Path, kind: str, settings: list[str], stop_at: int
) -> None:
    settings = ["dropout=0.3", "eval_every=7", *settings]
    whole = begin(text_file, tmp_path / "whole", kind, *settings)
    losses = until(whole, 20).losses
    first = until(begin(text_file, tmp_path / "parts", kind, *settings), stop_at).losses
    torch.manual_seed(123)  # what else has drawn numbers must not matter
    again = start.resumed(tmp_path / "parts")
    assert sorted(again.carried) == list(range(again.config.accumulate))
    assert first + until(again, 20).losses == losses
    for name in ("model.safetensors", "training.safetensors"):
        pair = [(tmp_path / run / "step-20" / name).read_bytes() for run in ("whole", "parts")]
        assert pair[0] == pair[1], name


class Killed(Silent):
    def stepped(self, step: int, loss: float, tokens_per_second: float) -> None:
        if step == 13:
            os.kill(os.getpid(), signal.SIGKILL)


def test_twenty_steps_are_ten_a_kill_and_ten_more(text_file: Path, tmp_path: Path) -> None:
    until(begin(text_file, tmp_path / "whole", "lstm", "eval_every=10"), 20)
    training = begin(text_file, tmp_path / "killed", "lstm", "eval_every=10")
    child = os.fork()
    if not child:
        try:
            fit(training, Killed())
        finally:
            os._exit(1)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    assert Run(tmp_path / "killed").checkpoint("last").step == 10
    until(start.resumed(tmp_path / "killed"), 20)
    files = [(tmp_path / run / "step-20/model.safetensors").read_bytes() for run in ("whole", "killed")]
    assert files[0] == files[1]


def test_the_state_that_is_carried_counts(text_file: Path, tmp_path: Path) -> None:
    """Without it the resumed run is another one: the test above tells them apart."""
    until(begin(text_file, tmp_path / "run", "lstm"), 10)
    losses = []
    for forgets in (False, True):
        training = start.resumed(tmp_path / "run")
        if forgets:
            training.carried = {}
        losses.append(until(training, 11).losses)
    assert losses[0] != losses[1]


@pytest.mark.parametrize("change", ["batch_size=2", "accumulate=2", "seed=3"])
def test_other_rows_begin_with_an_empty_state(text_file: Path, tmp_path: Path, change: str) -> None:
    until(begin(text_file, tmp_path / "run", "gru"), 10)
    training = start.resumed(tmp_path / "run", [change])
    assert training.carried == {}
    assert len(until(training, 12).losses) == 2


def test_a_damaged_state_is_named(text_file: Path, tmp_path: Path) -> None:
    until(begin(text_file, tmp_path / "run", "lstm"), 10)
    path = tmp_path / "run" / "step-10" / "training.safetensors"
    stored = tensors.read(path)
    for changed in ({"carried/0/hidden": torch.zeros(2, 4, 5)}, {"carried/0/cell": torch.zeros(3)}):
        tensors.write(path, {**stored, **changed})
        with pytest.raises(UserError, match="the saved training state is not this model's: carried/0"):
            start.resumed(tmp_path / "run")


@pytest.mark.parametrize(("batch_size", "accumulate"), [(12, 1), (6, 2), (3, 4)])
def test_accumulation_changes_nothing_but_memory(
    text_file: Path, tmp_path: Path, batch_size: int, accumulate: int
) -> None:
    usual = ["lr=1e-3", "optimiser=adamw"]
    reference = begin(text_file, tmp_path / "one", "lstm", "batch_size=12", *usual)
    cut = [f"batch_size={batch_size}", f"accumulate={accumulate}", *usual]
    training = begin(text_file, tmp_path / "many", "lstm", *cut)
    assert until(training, 4).losses == pytest.approx(until(reference, 4).losses, abs=1e-5)
    for ours, theirs in zip(weights(training), weights(reference), strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=0)


def make(kind: str = "lstm", context: int = 8) -> RecurrentLM:
    torch.manual_seed(0)
    model = RecurrentLM(RecurrentConfig(257, kind, context, n_layers=2, d_model=8))  # type: ignore[arg-type]
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.5)
    return model


@KINDS
def test_windows_go_on_from_each_other_and_the_gradient_does_not(kind: str) -> None:
    """The loss of the second window depends on the first one's tokens, but no gradient flows back to them;
    and many windows train in turn without holding on to any graph."""
    model = make(kind)
    tokens = torch.arange(100).numpy().astype("uint16")
    task = NextInStream(Streams(tokens, 8), tokens[:0], 2, 1, 64, model.new_state)
    first, second = (task.training_batches(step)[0] for step in (0, 1))
    assert (first.fresh, second.fresh) == (True, False)
    vectors: list[torch.Tensor] = []

    def watched(inputs: torch.Tensor, state: object = None) -> object:
        vectors.append(model.embedding(inputs).detach().requires_grad_())
        out, after = model.blocks(vectors[-1], state)
        return model.head(out), after

    _, state = task.loss_and_state(watched, first, None)
    loss, after = task.loss_and_state(watched, second, state)
    assert not any(part.requires_grad for part in (*state.parts, *after.parts))
    gradients = torch.autograd.grad(loss, vectors, allow_unused=True)
    assert gradients[0] is None
    assert gradients[1] is not None
    assert loss.item() != pytest.approx(task.loss_sum(watched, second).item(), abs=1e-6)
    state = None
    for step in range(7):  # an epoch of 6 steps, and one of the next
        batch = task.training_batches(step)[0]
        loss, state = task.loss_and_state(model, batch, state)
        loss.backward()
        alone = task.loss_sum(model, batch)
        assert (loss.item() == alone.item()) == (step in (0, 6))  # a stream that restarts forgets


def whole_text(model: RecurrentLM, ids: torch.Tensor) -> float:
    """The loss of one unbroken pass."""
    with torch.no_grad():
        logits, _ = model(ids[None, :-1])
    return float(F.cross_entropy(logits[0], ids[1:]))


@KINDS
@pytest.mark.parametrize("n", [2, 8, 9, 10, 500])
def test_held_out_text_is_read_with_the_state_carried(kind: str, n: int) -> None:
    """Whatever is left for the last window, one target or none."""
    model, ids = make(kind).eval(), torch.randint(257, (n,), generator=torch.Generator().manual_seed(1))
    tokens = ids.numpy().astype("uint16")
    task = NextInStream(Streams(tokens.repeat(9), 8), tokens, 4, 1, 10_000, model.new_state)
    measured = mean_loss(task, model, task.validation_batches(), torch.device("cpu"))
    if n <= 8:
        assert measured is None
    else:
        assert measured == pytest.approx(whole_text(model, ids), abs=1e-5)


@KINDS
def test_an_evaluation_is_one_unbroken_reading(kind: str, tmp_path: Path) -> None:
    text = "the cat sees the mouse. " * 20
    path = tmp_path / "t.txt"
    path.write_text(text, encoding="utf-8", newline="\n")
    model = make(kind).eval()
    result = evaluate(model, ByteTokenizer(), str(path))
    ids = torch.tensor([256, *text.encode()])
    assert result.n_tokens == len(text)
    assert result.loss == pytest.approx(whole_text(model, ids), abs=1e-5)
    some = evaluate(model, ByteTokenizer(), str(path), 100)
    assert some.n_tokens == 100
    assert some.loss == pytest.approx(whole_text(model, ids[:101]), abs=1e-5)


def test_a_long_text_is_evaluated_in_stretches_side_by_side(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "".join(f"{i} cats see {i * i} mice.\n" for i in range(400))
    path = tmp_path / "t.txt"
    path.write_text(text, encoding="utf-8", newline="\n")
    model, rows = make(context=50).eval(), []
    measured = measuring.carried_loss

    def watched(model: RecurrentLM, batch: Batch, state: object) -> object:
        rows.append(len(batch.inputs))
        return measured(model, batch, state)

    monkeypatch.setattr(measuring, "carried_loss", watched)
    result = evaluate(model, ByteTokenizer(), str(path))
    assert set(rows) == {len(text) // 1024}
    assert (result.n_tokens, result.n_bytes) == (len(text), len(text))
    ids = torch.tensor([256, *text.encode()])
    assert result.loss == pytest.approx(whole_text(model, ids), abs=0.02)


@KINDS
def test_it_learns_and_is_a_run_like_any_other(text_file: Path, tmp_path: Path, kind: str) -> None:
    settings = {"steps": 60, "eval_every": 30, "d_model": 32, "context": 16, "sample": 0}
    folder = train(text_file, tmp_path / "run", model=kind, **settings)
    checkpoint = Run(folder).checkpoint()
    assert checkpoint.family == "recurrent"
    assert checkpoint.predicts
    model, tokenizer = checkpoint.load("cpu")
    assert isinstance(model, RecurrentLM)
    assert model.config.kind == kind
    assert evaluate(model, tokenizer, str(text_file)).loss < 1.5  # from about 3.5
    task = start.resumed(folder).task
    assert isinstance(task, NextInStream)
    tuned = train(text_file, tmp_path / "tuned", base=folder, steps=2, context=24, sample=0)
    assert Run(tuned).checkpoint().shape.context == 24
    with pytest.raises(UserError, match="a fine-tuned model keeps its shape: d_model stays 32"):
        train(text_file, tmp_path / "other", base=folder, d_model=64)


def test_a_transformer_is_trained_as_ever(text_file: Path, tmp_path: Path) -> None:
    sizes = {"d_model": 16, "context": 8, "n_heads": 2, "sample": 0}
    training = start.resumed(train(text_file, tmp_path / "run", steps=1, **sizes))
    assert isinstance(training.model, GPT)
    assert type(training.task) is NextToken
    assert training.carried == {}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "lstn"}, "unknown model 'lstn'; did you mean 'lstm'"),
        ({"model": "gru", "recipe": "gpt2"}, "a new GPT can have a recipe"),
        ({"model": "rnn", "n_heads": 2}, "unknown setting 'n_heads'"),
        ({"model": "rnn", "kind": "elman"}, "kind=elman: expected rnn | lstm | gru"),
    ],
)
def test_what_cannot_be_trained_is_named(
    text_file: Path, tmp_path: Path, options: dict[str, str], message: str
) -> None:
    with pytest.raises(UserError, match=message.replace("|", r"\|")):
        train(text_file, tmp_path / "run", **options)
    assert not (tmp_path / "run").exists()
