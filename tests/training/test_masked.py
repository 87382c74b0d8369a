"""Training an encoder: what a step hides, what is kept and resumed, what is refused."""

import json

import pytest
import torch
import torch.nn.functional as F
import transformers

from conftest import Silent
from glassformer import UserError
from glassformer.data.batches import IGNORE
from glassformer.encoding.fill import fill
from glassformer.hub.export import export
from glassformer.hub.folder import open_folder
from glassformer.models import Bert
from glassformer.store import tensors
from glassformer.store.run import Run
from glassformer.training import masked, train
from glassformer.training.loop import fit
from published import CLOSE, WORDPIECE_ROLES, bert, save, wordpiece

SMALL = ["context=12", "d_model=16", "n_layers=2", "n_heads=2", "batch_size=4", "lr=1e-2", "eval_every=10"]


def trained(text, out, *settings, stop_at=None, **options):
    with masked.begun([str(text)], out, assignments=[*SMALL, *settings], **options) as training:
        steps = Silent()
        fit(training, steps, lambda: stop_at is not None and len(steps.steps) >= stop_at)
    return training, steps


@pytest.mark.parametrize("tokenizer", ["chars", "bytes", "bpe"])
def test_a_run_holds_the_encoder_that_was_trained(tokenizer, text_file, tmp_path):
    said = [f"tokenizer={tokenizer}", "bpe_vocab_size=300"]
    training, steps = trained(text_file, tmp_path / "run", "steps=40", *said)
    assert sum(steps.losses[-5:]) < sum(steps.losses[:5])
    opened = open_folder(tmp_path / "run", "last")
    model = opened.encoder()
    assert isinstance(model, Bert)
    assert model.config.mlm
    assert model.config.norm_order == "post"
    assert model.head.output.weight is model.embedding.weight
    for name, value in training.model.state_dict().items():
        assert torch.equal(model.state_dict()[name], value), name
    assert opened.tokenizer().to_json() == training.tokenizer.to_json()
    assert opened.tokenizer().mask == training.task.masking.mask
    with pytest.raises(UserError, match="is an encoder"):
        opened.language_model()


@pytest.mark.parametrize(
    "settings", [[], ["dropout=0.2", "accumulate=2", "short_share=0.5", "norm_order=pre", "optimiser=adamw"]]
)
def test_stopped_and_resumed_is_not_stopped(text_file, tmp_path, settings):
    trained(text_file, tmp_path / "whole", "steps=20", *settings)
    trained(text_file, tmp_path / "halves", "steps=20", *settings, stop_at=9)
    training = masked.resumed(tmp_path / "halves")
    assert training.progress.step == 9
    fit(training, Silent())
    whole, halves = (
        tensors.read(Run(tmp_path / name).checkpoint("last").folder / "model.safetensors")
        for name in ("whole", "halves")
    )
    assert all(torch.equal(whole[name], halves[name]) for name in whole)
    for setting in ("d_model=32", "mask_share=0.3"):
        with pytest.raises(UserError, match="same shape and text"):
            masked.resumed(tmp_path / "whole", [setting])


def test_the_loss_is_that_of_hidden_tokens_alone(text_file, tmp_path):
    training, _ = trained(text_file, tmp_path / "run", "steps=5")
    task, model = training.task, training.model.eval()
    [batch] = task.training_batches(3)
    chosen = batch.targets != IGNORE
    logits = model.token_logits(model(batch.inputs))[chosen]
    expected = F.cross_entropy(logits, batch.targets[chosen], reduction="sum")
    torch.testing.assert_close(task.loss_sum(model, batch), expected)
    assert batch.n_targets == int(chosen.sum())
    nothing = type(batch)(batch.inputs, torch.full_like(batch.targets, IGNORE))
    loss = task.loss_sum(model, nothing)
    loss.backward()
    assert float(loss.detach()) == 0
    assert all(p.grad is None or not p.grad.any() for p in model.parameters())


def test_a_step_is_a_function_of_its_number(text_file, tmp_path):
    training, _ = trained(text_file, tmp_path / "run", "steps=0", "accumulate=2", "short_share=0.4")
    task, again = training.task, masked.resumed(tmp_path / "run", ["steps=9"]).task
    widths = set()
    for step in range(40):
        ones, others = task.training_batches(step), again.training_batches(step)
        assert all(torch.equal(a.inputs, b.inputs) for a, b in zip(ones, others, strict=True))
        widths.add(ones[0].inputs.shape[1] - 2)
        assert ones[0].inputs.shape[0] * (ones[0].inputs.shape[1] - 2) <= 4 * 10
        assert not torch.equal(ones[0].targets != IGNORE, ones[1].targets != IGNORE)
    assert 10 in widths
    assert min(widths) >= 2
    assert len(widths) > 3
    epoch = task.windows.per_epoch
    rows = {tuple(row.tolist()) for batch in task.training_batches(0) for row in batch.targets}
    later = {tuple(row.tolist()) for batch in task.training_batches(epoch) for row in batch.targets}
    assert not rows & later


def test_measured_is_always_the_same_and_behind_the_mask(text_file, tmp_path):
    training, steps = trained(text_file, tmp_path / "run", "steps=10", "eval_tokens=100")
    ones, others = [*training.task.validation_batches()], [*training.task.validation_batches()]
    assert sum(batch.inputs.numel() for batch in ones) == 10 * 12
    for one, other in zip(ones, others, strict=True):
        assert torch.equal(one.inputs, other.inputs)
        assert (one.inputs[one.targets != IGNORE] == training.task.masking.mask).all()
    assert all(loss is not None for _, loss, _ in steps.validations)


def test_an_encoder_is_trained_on(text_file, run_folder, tmp_path):
    trained(text_file, tmp_path / "first", "steps=20")
    run = train.train(text_file, tmp_path / "second", base=tmp_path / "first", steps=0)
    one, two = (open_folder(folder).encoder() for folder in (tmp_path / "first", run))
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), two.parameters(), strict=True))
    settings = json.loads((Run(run).checkpoint().folder / "config.json").read_text())
    assert settings["train"]["lr"] == pytest.approx(1e-3)
    assert (settings["family"], settings["task"]) == ("bert", "mlm")
    for setting in ({"tokenizer": "bytes"}, {"n_layers": 3}, {"context": 8}):
        with pytest.raises(UserError, match=r"leave it out|leave out tokenizer"):
            train.train(text_file, tmp_path / "third", base=tmp_path / "first", **setting)
    other = tmp_path / "other.txt"
    other.write_text("完全不同" * 50, encoding="utf-8")
    with pytest.raises(UserError, match="lacks"):
        train.train(other, tmp_path / "third", base=tmp_path / "first", steps=1)
    with pytest.raises(UserError, match="is no encoder"):
        train.train(text_file, tmp_path / "third", model="bert", base=run_folder)
    assert not (tmp_path / "third").exists()


def test_a_published_encoder_is_trained_on(tmp_path):
    folder = save(bert(vocab_size=320), tmp_path / "bert", wordpiece())
    (folder / "tokenizer_config.json").write_text(json.dumps(WORDPIECE_ROLES), encoding="utf-8")
    (tmp_path / "text.txt").write_text(
        "the quick brown fox jumps over the lazy dog. " * 200, encoding="utf-8"
    )
    run = train.train(
        tmp_path / "text.txt", tmp_path / "run", base=folder, steps=2, accumulate=1, batch_size=2, lr=1e-3
    )
    before, after = open_folder(folder).encoder(), open_folder(run, "last")
    assert after.shape.mlm
    assert not torch.equal(after.encoder().embedding.weight, before.embedding.weight)
    assert after.tokenizer().mask == 4
    assert [len(best) for best in fill(after.encoder(), after.tokenizer(), "the [MASK] dog", n=3)] == [3]
    train.resume(run, steps=3)
    assert Run(run).checkpoint("last").step == 3


@pytest.mark.parametrize("tokenizer", ["chars", "bpe"])
def test_transformers_opens_what_was_trained(tokenizer, text_file, tmp_path):
    said = [f"tokenizer={tokenizer}", "bpe_vocab_size=300", "context=32"]
    trained(text_file, tmp_path / "run", "steps=3", *said)
    out = export(open_folder(tmp_path / "run"), tmp_path / "out")
    theirs = transformers.AutoModelForMaskedLM.from_pretrained(out).eval()
    their_tokenizer = transformers.AutoTokenizer.from_pretrained(out)
    opened = open_folder(tmp_path / "run")
    model, ours = opened.encoder(), opened.tokenizer()
    texts = ["the [MASK]at", "cat", "the cat sees"]
    batch = their_tokenizer(texts, padding=True, return_tensors="pt")
    assert (
        batch.input_ids[1][: len(ours.encode_wrapped("cat"))].tolist() == ours.encode_wrapped("cat").tolist()
    )
    assert batch.input_ids[0].tolist().count(ours.mask) == 1
    valid = batch.attention_mask.bool()
    with torch.no_grad():
        expected = theirs(batch.input_ids, attention_mask=batch.attention_mask).logits
        here = model.token_logits(model(batch.input_ids, valid_bn=valid))
    torch.testing.assert_close(here[valid], expected[valid], **CLOSE)
    back = open_folder(out)
    [one], [other] = (
        fill(m, t, "the [MASK]at", n=1) for m, t in ((model, ours), (back.encoder(), back.tokenizer()))
    )
    assert one[0].text == other[0].text


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("vocab_size=5", "follows from the tokenizer"),
        ("mlm=false", "trained here with mlm = True"),
        ("pooler=true", "pooler"),
        ("sample=9", "leave out sample"),
        ("context=2", r"context=2, 2 of them around a text"),
        ("context=4000", "give more text"),
        ("mask_share=0", r"mask_share must lie in \(0, 1\)"),
        ("short_share=2", r"short_share must lie in \[0, 1\]"),
        ("mask_shar=0.2", "did you mean 'mask_share'"),
        ("norm_order=both", "norm_order"),
    ],
)
def test_what_does_not_go_together_is_refused(setting, said, text_file, tmp_path):
    with pytest.raises(UserError, match=said) as error:
        trained(text_file, tmp_path / "run", setting)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "run").exists()


def test_from_the_outside(text_file, tmp_path):
    run = train.train(text_file, tmp_path / "run", model="bert", steps=2, **dict(s.split("=") for s in SMALL))
    train.resume(run, steps=4)
    assert Run(run).checkpoint("last").step == 4
    with pytest.raises(UserError, match="no recipe"):
        train.train(text_file, tmp_path / "other", model="bert", recipe="gpt2")


@pytest.mark.slow
def test_it_learns_what_only_both_sides_tell(tmp_path):
    """Each capital stands between two letters that tell it together, and neither alone. Windows of 15 begin
    at any of the four places of a word."""
    draws = torch.randint(4, (6000, 2), generator=torch.Generator().manual_seed(0)).tolist()
    words = {
        (a, b): f"{'abcd'[a]}{'ABCDEFGHIJKLMNOP'[4 * a + b]}{'wxyz'[b]}" for a in range(4) for b in range(4)
    }
    (tmp_path / "text.txt").write_text(" ".join(words[a, b] for a, b in draws))
    shape = ["context=17", "d_model=64", "batch_size=64", "steps=800", "eval_every=800", "lr=3e-3"]
    training, _ = trained(tmp_path / "text.txt", tmp_path / "run", *shape)
    model, tokenizer = training.model.eval(), training.tokenizer
    for word in words.values():
        ids = tokenizer.encode(f"aAw cJy {word[0]}[MASK]{word[2]} bFx", allow_special=True)
        row = torch.tensor([[*tokenizer.around[0], *ids, *tokenizer.around[1]]])
        with torch.no_grad():
            logits = model.token_logits(model(row)[row == tokenizer.mask])
        assert tokenizer.decode(logits.argmax(-1)) == word[1]
