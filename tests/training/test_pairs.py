"""Training on pairs: kept, stopped, resumed, and what comes of it; and the verbs."""

import dataclasses
import json
import math
import os
import signal

import pytest
import torch

from conftest import Silent
from glassformer import UserError
from glassformer.data import tasks
from glassformer.decoding.translate import alignment, translate
from glassformer.models import Seq2Seq
from glassformer.models.presets import SEQ2SEQ_PRESETS
from glassformer.store import tensors
from glassformer.store.run import Run
from glassformer.training import pair_presets, pairs, train
from glassformer.training.loop import fit

SMALL = ["d_model=16", "batch_size=200", "eval_every=10", "lr=1e-2", "warmup=5", "valid_fraction=0.1"]


@pytest.fixture(scope="module")
def reversals(tmp_path_factory):
    path = tmp_path_factory.mktemp("pairs") / "reverse.tsv"
    tasks.write("reverse", 300, path)
    return path


def trained(path, out, *settings, stop_at=None):
    with pairs.begun([str(path)], out, assignments=[*SMALL, *settings]) as training:
        steps = Silent()
        fit(training, steps, lambda: stop_at is not None and len(steps.steps) >= stop_at)
    return training, steps


@pytest.fixture(scope="module")
def run(reversals, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "reverse"
    trained(reversals, folder, "steps=20")
    return folder


def test_a_run_holds_the_model_that_was_trained(reversals, tmp_path):
    training, steps = trained(reversals, tmp_path / "run", "steps=20", "kind=lstm", "attention=general")
    assert steps.losses[-1] < steps.losses[0]
    checkpoint = Run(tmp_path / "run").checkpoint("last")
    model = checkpoint.translator()
    assert isinstance(model, Seq2Seq)
    assert model.config == training.model.config
    for name, value in training.model.state_dict().items():
        assert torch.equal(model.state_dict()[name], value), name
    assert checkpoint.tokenizer().to_json() == training.tokenizer.to_json()
    with pytest.raises(UserError, match="glassformer translate runs it"):
        checkpoint.model()


@pytest.mark.parametrize("settings", [[], ["dropout=0.2", "accumulate=2", "label_smoothing=0.1"]])
def test_stopped_and_resumed_is_not_stopped(reversals, tmp_path, settings):
    trained(reversals, tmp_path / "whole", "steps=20", *settings)
    trained(reversals, tmp_path / "halves", "steps=20", *settings, stop_at=9)
    training = pairs.resumed(tmp_path / "halves")
    assert training.progress.step == 9
    fit(training, Silent())
    whole, halves = (
        tensors.read(Run(tmp_path / name).checkpoint("last").folder / "model.safetensors")
        for name in ("whole", "halves")
    )
    assert all(torch.equal(whole[name], halves[name]) for name in whole)
    with pytest.raises(UserError, match="same shape and pairs"):
        pairs.resumed(tmp_path / "whole", ["d_model=32"])


class Killed(Silent):
    def stepped(self, step, loss, tokens_per_second):
        if step == 13:
            os.kill(os.getpid(), signal.SIGKILL)


def test_twenty_steps_are_ten_a_kill_and_ten_more(reversals, tmp_path):
    settings = ["steps=20", "eval_every=10", "dropout=0.2"]
    trained(reversals, tmp_path / "whole", *settings)
    child = os.fork()
    if not child:
        try:
            with pairs.begun(
                [str(reversals)], tmp_path / "killed", assignments=[*SMALL, *settings]
            ) as training:
                fit(training, Killed())
        finally:
            os._exit(1)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    assert Run(tmp_path / "killed").checkpoint("last").step == 10
    fit(pairs.resumed(tmp_path / "killed"), Silent())
    files = [(tmp_path / run / "step-20/model.safetensors").read_bytes() for run in ("whole", "killed")]
    assert files[0] == files[1]


def test_smoothing_is_for_learning_only(reversals, tmp_path):
    with pairs.begun(
        [str(reversals)], tmp_path / "run", assignments=[*SMALL, "label_smoothing=0.3"]
    ) as training:
        task, model = training.task, training.model
        [batch] = task.training_batches(0)
        logits = model(batch.source, batch.valid, batch.inputs).log_softmax(-1)
        real = batch.targets >= 0
        plain = -logits[real].gather(-1, batch.targets[real][:, None]).sum()
        uniform = -logits[real].mean(-1).sum()
        torch.testing.assert_close(task.loss_sum(model, batch), 0.7 * plain + 0.3 * uniform)
        with torch.no_grad():
            torch.testing.assert_close(task.loss_sum(model, batch), plain)


def test_what_does_not_go_together_is_refused(reversals, tmp_path):
    for setting, said in (
        ("optimiser=muon", "without optimiser"),
        ("vocab_size=5", "follows from the tokenizer"),
        ("context=1", "no pair is left to learn from"),
        ("label_smoothing=1", "label_smoothing"),
        ("attenton=none", "attention"),
    ):
        with (
            pytest.raises(UserError, match=said),
            pairs.begun([str(reversals)], tmp_path / "run", assignments=[setting]),
        ):
            pass
        assert not (tmp_path / "run").exists()
    with pytest.raises(UserError, match="no recipe"):
        train.train(reversals, tmp_path / "run", model="seq2seq", recipe="gpt2")


@pytest.mark.parametrize("name", ["tiny", "small", "base"])
def test_a_preset_is_a_shape_and_a_recipe(reversals, tmp_path, name):
    assert pair_presets.settings(name)["model"] == SEQ2SEQ_PRESETS[name]
    small = ["d_model=8", "n_layers=1", "batch_size=64"]
    with pairs.begun([str(reversals)], tmp_path / name, preset_name=name, assignments=small) as training:
        assert training.model.config.dropout == SEQ2SEQ_PRESETS[name].dropout
        assert training.model.config.context == SEQ2SEQ_PRESETS[name].context
        assert training.config == dataclasses.replace(pair_presets.settings(name)["train"], batch_size=64)
        assert training.task.label_smoothing == pair_presets.settings(name)["data"].label_smoothing
    with (
        pytest.raises(UserError, match="unknown preset 'huge'"),
        pairs.begun([str(reversals)], tmp_path / "huge", preset_name="huge"),
    ):
        pass


def test_presets_grow():
    with tensors.shapes_only():
        sizes = [
            sum(p.numel() for p in Seq2Seq(dataclasses.replace(shape, vocab_size=4096)).parameters())
            for shape in SEQ2SEQ_PRESETS.values()
        ]
    assert sizes[0] < 2e6 < sizes[1] < 2e7 < sizes[2]


def test_a_run_is_fine_tuned_on_other_pairs(reversals, run, tmp_path):
    (tmp_path / "more.tsv").write_text("abc\tcba\nde\ted\nfab\tbaf\n" * 9, encoding="utf-8")
    base = Run(run).checkpoint()
    with pairs.begun(
        [str(tmp_path / "more.tsv")], tmp_path / "tuned", base=base, assignments=["steps=3", "dropout=0.1"]
    ) as training:
        for name, value in base.translator().state_dict().items():
            assert torch.equal(training.model.state_dict()[name], value), name
        assert training.model.config == dataclasses.replace(base.shape, dropout=0.1)
        assert training.tokenizer.to_json() == base.tokenizer().to_json()
        assert training.config.lr == pytest.approx(1e-3)  # a tenth
        assert (training.progress.step, training.config.steps) == (0, 3)
        fit(training, Silent())
    assert Run(tmp_path / "tuned").checkpoint("last").step == 3


@pytest.mark.parametrize(
    ("lines", "settings", "said"),
    [
        ("abc\tcba\n", ["d_model=32"], "keeps its shape: d_model stays 16"),
        ("abc\tcba\n", ["attention=none"], "keeps its shape: attention stays additive"),
        ("abc\tcba\n", ["tokenizer=bpe"], "keeps its tokenizer"),
        ("abc\txyz\n", [], "the pair of 'abc': the vocabulary of 10 characters lacks 'x', 'y', 'z'"),
        ("no tab here\n", [], "line 1 has no TAB; a pair is source<TAB>target"),
    ],
)
def test_what_does_not_fit_a_run_is_refused(run, tmp_path, lines, settings, said):
    (tmp_path / "more.tsv").write_text(lines, encoding="utf-8")
    with (
        pytest.raises(UserError, match=said),
        pairs.begun(
            [str(tmp_path / "more.tsv")],
            tmp_path / "tuned",
            base=Run(run).checkpoint(),
            assignments=settings,
        ),
    ):
        pass
    assert not (tmp_path / "tuned").exists()


def test_the_family_of_a_run_decides_how_it_is_tuned(glassformer, run, run_folder, reversals, tmp_path):
    code, out, err = glassformer("train", "--from", run, reversals, "--steps", 1, "--out", "tuned")
    assert (code, out) == (0, "tuned\n"), err
    assert "gru with additive attention" in err
    assert Run(tmp_path / "tuned").checkpoint().family == "seq2seq"
    for extra in (["--preset", "small"], ["--model", "seq2seq"], ["--recipe", "gpt2"]):
        code, _, err = glassformer("train", "--from", run, reversals, *extra, "--out", "other")
        assert code == 2
        assert "leave out --preset, --recipe and --model" in err
    with (
        pytest.raises(UserError, match="translates nothing; train --model transformer"),
        pairs.begun([str(reversals)], tmp_path / "other", base=Run(run_folder).checkpoint()),
    ):
        pass
    assert not (tmp_path / "other").exists()


def test_from_pairs_to_a_picture(glassformer, reversals, tmp_path):
    code, out, err = glassformer(
        *("train", reversals, "--model", "seq2seq", "--steps", 5, "--out", "run", *SMALL)
    )
    assert (code, out) == (0, "run\n"), err
    assert "gru with additive attention" in err
    code, out, err = glassformer("train", "--resume", "run", "--steps", 8)
    assert (code, out) == (0, "run\n"), err
    code, out, err = glassformer("translate", "run", "abc", "--beam", 2, "--alignment", "a.png")
    assert code == 0, err
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    (tmp_path / "sources.txt").write_text("abc\n\nde\n", encoding="utf-8")
    (tmp_path / "refs.txt").write_text("cba\n\ned\n", encoding="utf-8")
    code, out, err = glassformer("translate", "run", "sources.txt", "-o", "o.txt", "--against", "refs.txt")
    assert (code, out) == (0, "o.txt\n"), err
    assert "BLEU" in err
    assert "tok:13a" in err
    assert (tmp_path / "o.txt").read_text(encoding="utf-8").split("\n")[1::2] == ["", ""]
    code, out, _ = glassformer("info", "run")
    assert code == 0
    assert "attention        additive" in out


def test_what_translate_refuses(glassformer, run, run_folder, tmp_path):
    (tmp_path / "refs.txt").write_text("a\nb\n", encoding="utf-8")
    (tmp_path / "lines.txt").write_text("a\n\nz\n", encoding="utf-8")
    (tmp_path / "two.txt").write_text("a\nb\n", encoding="utf-8")
    for words, said in (
        ((run, "xyz"), "text 1: the vocabulary of 10 characters lacks"),
        ((run, "lines.txt"), "lines.txt: line 3: the vocabulary of 10 characters lacks"),
        ((run, " "), "the text to translate is empty"),
        ((run, "abc", "--against", "refs.txt"), "refs.txt has 2 lines, for 1 to translate"),
        ((run, "two.txt", "--alignment", "a.png"), "--alignment draws one text"),
        ((run, "abc", "--alignment", "a.gif"), "name the picture .png, .svg or .pdf"),
        ((run_folder, "abc"), "translates nothing"),
        ((tmp_path / "none", "abc"), "no such run folder"),
        ((run, "missing.tsv"), "missing.tsv: no such file"),
    ):
        code, out, err = glassformer("translate", *words)
        assert (code, out) == (2, ""), words
        assert said in err
        assert err.count("\n") == 1
    for verb, said in (
        (("generate", run), "translate"),
        (("look", run, "abc", "--generate", 3), "translate"),
        (("look", run, "abc", "--npz", "w.npz"), "it has no heads, and so no weights to save"),
        (("look", run, "abc", "--head", 0), "no heads to choose"),
        (("look", run, "abc", "--proof", "0.0.0.0"), "no heads to choose"),
        (("look", run, "abc", "--layer", 0), "no heads to choose"),
        (("look", run, "abc", "--beside-text", "a"), "no heads to choose"),
        (("look", run, "xyz"), "lacks"),
        (("look", run, ""), "empty"),
        (("look", run_folder, "cat", "--target", "a"), "only an encoder-decoder"),
        (("effect", run, "abc"), "no heads, and so no edges to measure"),
        (("eval", run, "two.txt"), "line 1 has no TAB; a pair is source<TAB>target"),
        (("eval", run, "none.tsv"), "none.tsv"),
    ):
        code, _, err = glassformer(*verb)
        assert code == 2
        assert said in err


def test_eval_is_the_mean_over_all_target_tokens(glassformer, run, tmp_path):
    held = [("abc", "cba"), ("de", "ed"), ("a" * 150, "ab")]  # the last one longer than the context
    text = "".join(f"{source}\t{target}\n" for source, target in held)
    (tmp_path / "held.tsv").write_text(text, encoding="utf-8")
    checkpoint = Run(run).checkpoint()
    model, tokenizer = checkpoint.translator(), checkpoint.tokenizer()
    total = n = 0
    with torch.no_grad():
        for pair in held:
            source, target = (tokenizer.encode(side).tolist() for side in pair)
            logits = model(torch.tensor([source]), None, torch.tensor([[tokenizer.start, *target]]))
            each = logits[0].log_softmax(-1)
            total -= sum(float(each[t, token]) for t, token in enumerate([*target, tokenizer.end]))
            n += len(target) + 1
    code, out, err = glassformer("eval", run, "held.tsv", "--json")
    assert code == 0, err
    told = json.loads(out)
    assert (told["n_tokens"], told["n_bytes"]) == (n, 7)
    assert told["loss"] == pytest.approx(total / n, abs=1e-5)
    assert told["perplexity"] == pytest.approx(math.exp(total / n), rel=1e-4)
    assert "measured on    10 tokens" in glassformer("eval", run, "held.tsv")[1]


def test_a_file_of_pairs_is_sources_and_references(glassformer, run, tmp_path):
    (tmp_path / "p.tsv").write_text("abc\tcba\n\n" + "de\ted\n" * 2, encoding="utf-8")
    (tmp_path / "s.txt").write_text("abc\n\nde\nde\n", encoding="utf-8")
    (tmp_path / "r.txt").write_text("cba\n\ned\ned\n", encoding="utf-8")
    told = [
        glassformer("translate", run, sources, "--against", references, "--beam", 2)
        for sources, references in (("p.tsv", "p.tsv"), ("s.txt", "r.txt"), ("p.tsv", "r.txt"))
    ]
    assert told[0] == told[1] == told[2]
    assert told[0][0] == 0
    assert "characters of source" in told[0][2]
    (tmp_path / "p.tsv").write_text("abc\tcba\na\tb\tc\n", encoding="utf-8")
    code, _, err = glassformer("translate", run, "p.tsv")
    assert code == 2
    assert "p.tsv: line 2 has 2 TABs; a pair is source<TAB>target" in err


def test_a_byte_order_mark_line_ends_and_empty_lines_change_no_translation(glassformer, run, tmp_path):
    plain, other = "abc\n\n   \ncab\n", "\ufeffabc\r\n\r\n   \r\ncab\r\n"
    written = []
    for name, text in (("plain.txt", plain), ("other.txt", other)):
        (tmp_path / name).write_bytes(text.encode())
        code, _, err = glassformer("translate", run, name, "-o", "out.txt")
        assert code == 0, err
        written.append((tmp_path / "out.txt").read_bytes().split(b"\n"))
    assert written[0] == written[1]
    assert [bool(line) for line in written[0]] == [True, False, False, True, False]


def test_an_interrupted_translation_writes_nothing(glassformer, run, tmp_path, monkeypatch):
    def interrupted(*given, **options):
        raise KeyboardInterrupt

    (tmp_path / "sources.txt").write_text("abc\ncab\n", encoding="utf-8")
    monkeypatch.setattr("glassformer.decoding.translate.search", interrupted)
    code, out, err = glassformer("translate", run, "sources.txt", "-o", "out.txt")
    assert (code, out) == (130, "")
    assert "Traceback" not in err
    assert not (tmp_path / "out.txt").exists()


def learned(task, folder, *settings):
    """A model and tokenizer after half a minute on one thread, and new examples, of which at least 99 % were
    translated as they should be."""
    tasks.write(task, 6000, folder / "pairs.tsv")
    settings = ["steps=800", "batch_size=1024", "eval_every=100", *settings]
    with pairs.begun([str(folder / "pairs.tsv")], folder / "run", assignments=settings) as training:
        fit(training, Silent())
    checkpoint = Run(folder / "run").checkpoint()
    model, tokenizer = checkpoint.translator(), checkpoint.tokenizer()
    known = {line.partition("\t")[0] for line in (folder / "pairs.tsv").read_text().splitlines()}
    new = {e.source: e for e in tasks.examples(task, 3000, seed=1) if e.source not in known}
    written = translate(model, tokenizer, list(new))
    right = sum(text == e.target for text, e in zip(written, new.values(), strict=True)) / len(new)
    print(f"{task}: {right:.2%} of {len(new)} new texts")
    assert len(new) > 500
    assert right >= 0.99
    return model, tokenizer, new


@pytest.mark.slow
@pytest.mark.parametrize("task", ["chinese", "from-english", "dates"])
def test_numbers_and_dates_are_learned(task, tmp_path):
    learned(task, tmp_path, "d_model=96", "lr=4e-3")


@pytest.mark.slow
def test_reversal_is_learned_and_so_is_its_alignment(tmp_path):
    """Texts of one to eight letters."""
    model, tokenizer, new = learned("reverse", tmp_path, "d_model=64", "lr=5e-3")
    near = total = 0
    for example in list(new.values())[:200]:
        source, target = (tokenizer.encode(text).tolist() for text in (example.source, example.target))
        places = alignment(model, source, target, tokenizer.start)[:-1].argmax(-1).tolist()
        near += sum(abs(at - true) <= 1 for at, (true,) in zip(places, example.alignment, strict=True))
        total += len(places)
    print(f"{near / total:.2%} within a letter of the true alignment")
    assert near / total >= 0.9
