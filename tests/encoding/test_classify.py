"""Labels: read, parted, learned, resumed, told, judged; and the verbs finetune, classify and eval."""

import json

import numpy as np
import pytest
import torch
from PIL import Image
from sklearn.metrics import confusion_matrix, f1_score

import glassformer as package
from conftest import Silent
from glassformer import UserError
from glassformer.data import labelled as data
from glassformer.data.labelled import Labelled, parted
from glassformer.data.tokenizers import ENCODING, CharTokenizer
from glassformer.encoding.classify import classify, judged, measure
from glassformer.encoding.rows import rows_of
from glassformer.glass import confusion
from glassformer.hub.export import export
from glassformer.hub.folder import open_folder
from glassformer.models import Bert, BertConfig
from glassformer.store import tensors
from glassformer.store.run import Run
from glassformer.training import labelled, masked, train
from glassformer.training.loop import fit
from published import WORDPIECE_ROLES, bert, save, wordpiece

QUICK = ["epochs=12", "batch_size=8", "lr=1e-2", "dropout=0"]


def examples(n=60):
    """Texts whose label is which of two letters is in them, at a chance place."""
    chance = np.random.default_rng(0)
    found = []
    for i in range(n):
        letters = chance.choice([*"cdefg"], size=int(chance.integers(3, 9))).tolist()
        letters[int(chance.integers(len(letters)))] = "ab"[i % 2]
        found.append(Labelled("".join(letters), ["猫", "dog"][i % 2]))
    return found


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A pre-trained run, a file of labelled texts, and the run that learned them."""
    folder = tmp_path_factory.mktemp("labels")
    (folder / "text.txt").write_text("".join(text for text, _ in examples(200)), encoding="utf-8")
    shape = ["context=12", "d_model=16", "n_layers=1", "n_heads=2", "batch_size=8", "steps=10"]
    with masked.begun([str(folder / "text.txt")], folder / "base", assignments=shape) as training:
        fit(training, Silent())
    tsv = "".join(f"{text}\t{label}\n" for text, label in examples())
    (folder / "labels.tsv").write_text(tsv, encoding="utf-8")
    finetuned(folder, folder / "run", *QUICK)
    return folder


def finetuned(folder, out, *settings, stop_at=None):
    base = open_folder(folder / "base")
    with labelled.begun(base, folder / "labels.tsv", out, assignments=settings) as training:
        steps = Silent()
        fit(training, steps, lambda: stop_at is not None and len(steps.steps) >= stop_at)
    return training, steps


def test_from_python_it_is_the_verb(made, tmp_path, glassformer, capsys):
    settings = {"epochs": 1, "batch_size": 8, "pooling": "mean"}
    run = package.finetune(made / "base", made / "labels.tsv", tmp_path / "ours", **settings)
    assert run == tmp_path / "ours"
    assert "accuracy" in capsys.readouterr().err
    said = [f"{key}={value}" for key, value in settings.items()]
    code, out, err = glassformer("finetune", made / "base", made / "labels.tsv", *said, "--out", "theirs")
    assert (code, out) == (0, "theirs\n"), err
    (model, tokenizer), (theirs, _) = package.load(run), package.load(tmp_path / "theirs")
    for ours, other in zip(model.parameters(), theirs.parameters(), strict=True):
        assert torch.equal(ours, other)
    assert package.classify(model, tokenizer, ["abc"]).shape == (1, 2)
    assert package.embed(model, tokenizer, ["abc", "b"]).shape == (2, 16)
    with pytest.raises(UserError, match="unknown setting 'epoch'"):
        package.finetune(made / "base", made / "labels.tsv", tmp_path / "other", epoch=3)


def test_a_share_of_each_label_is_held_out_and_no_text_is_on_both_sides():
    many = [Labelled(f"text {i % 90}", "abc"[i % 3] if i % 90 else "rare") for i in range(180)]
    seen, held_out = parted(many, 0.2)
    assert sorted(seen + held_out) == sorted(many)
    assert not {e.text for e in seen} & {e.text for e in held_out}
    for label in "abc":
        n = sum(e.label == label for e in many)
        assert abs(sum(e.label == label for e in held_out) - 0.2 * n) <= 2
    assert parted(many, 0.2) == (seen, held_out)
    assert parted(many, 0)[1] == []
    alone = [Labelled("a", "x"), Labelled("b", "y"), Labelled("c", "y")]
    assert {e.label for e in parted(alone, 0.5)[1]} == {"y"}


def test_an_epoch_deals_each_row_once():
    deal = data.Deal([[i] for i in range(10)], list(range(10)), 5, filler=0, seed=3)
    epochs = [
        sorted(deal.batch(step).labels.tolist() + deal.batch(step + 1).labels.tolist()) for step in (0, 2)
    ]
    assert epochs == [list(range(10))] * 2
    assert not torch.equal(deal.batch(0).labels, deal.batch(2).labels)
    assert torch.equal(
        torch.cat([deal.batch(0, micro=i, micros=2).labels for i in (0, 1)]),
        torch.cat([deal.batch(0).labels, deal.batch(1).labels]),
    )


@pytest.mark.parametrize("settings", [[], ["pooling=mean", "dropout=0.3", "accumulate=2"]])
def test_stopped_and_resumed_is_not_stopped(made, tmp_path, settings):
    finetuned(made, tmp_path / "whole", "steps=8", "batch_size=8", *settings)
    finetuned(made, tmp_path / "halves", "steps=8", "batch_size=8", *settings, stop_at=3)
    training = labelled.resumed(tmp_path / "halves")
    assert training.progress.step == 3
    fit(training, Silent())
    whole, halves = (
        tensors.read(Run(tmp_path / name).checkpoint("last").folder / "model.safetensors")
        for name in ("whole", "halves")
    )
    assert all(torch.equal(whole[name], halves[name]) for name in whole)
    train.resume(tmp_path / "whole", steps=9)
    with pytest.raises(UserError, match="only settings of the training"):
        labelled.resumed(tmp_path / "whole", ["n_layers=2"])
    (tmp_path / "whole" / "data" / "labels.tsv").write_text("other\ttext\n")
    with pytest.raises(UserError, match="its texts are not those that were saved"):
        labelled.resumed(tmp_path / "whole")


def test_what_was_learned_is_told(made, tmp_path):
    opened = open_folder(made / "run")
    model, tokenizer = opened.encoder(), opened.tokenizer()
    assert model.config.labels == ("dog", "猫")
    assert not model.config.mlm
    told = classify(model, tokenizer, [text for text, _ in examples()])
    assert told.sum(1) == pytest.approx(np.ones(60), abs=1e-5)
    right = [
        model.config.labels[i] == label for i, (_, label) in zip(told.argmax(1), examples(), strict=True)
    ]
    assert np.mean(right) > 0.9
    alone = [classify(model, tokenizer, [text])[0] for text, _ in examples(5)]
    assert np.stack(alone) == pytest.approx(told[:5], abs=1e-5)  # padding changes nothing
    result = measure(model, tokenizer, [made / "labels.tsv"])
    assert result.accuracy == pytest.approx(np.mean(right))


def test_the_loss_is_the_sum_over_texts(made, tmp_path):
    training, steps = finetuned(made, tmp_path / "run", *QUICK)
    assert steps.losses[-1] < steps.losses[0]
    [batch] = training.task.training_batches(0)
    model = training.model.eval()
    each = [
        training.task.loss_sum(
            model, data.LabelBatch(row[ok][None], torch.ones_like(row[ok][None]).bool(), label[None])
        )
        for row, ok, label in zip(batch.inputs, batch.valid, batch.labels, strict=True)
    ]
    torch.testing.assert_close(training.task.loss_sum(model, batch), sum(each))
    assert training.judged().n == len(training.held_out) == 6


def test_judging_agrees_with_scikit_learn():
    chance = np.random.default_rng(0)
    true, told = chance.integers(4, size=(2, 200))
    told[told == 3] = 0
    true[true == 3] = 1  # the fourth label never occurs
    result = judged("abcd", true.tolist(), told.tolist())
    assert result.matrix == confusion_matrix(true, told, labels=range(4)).tolist()
    assert result.macro_f1 == pytest.approx(f1_score(true, told, average="macro"))
    assert result.accuracy == pytest.approx((true == told).mean())


def test_the_picture_has_a_square_for_each_pair(tmp_path):
    missing = confusion.draw([[9, 1], [0, 5]], ["猫 $x$", "dog"], tmp_path / "c.png")
    assert missing == []
    with Image.open(tmp_path / "c.png") as picture:
        assert picture.size[0] > 200
    confusion.draw(np.eye(120, dtype=int).tolist(), [f"name {i}" for i in range(120)], tmp_path / "c.svg")
    assert "name 7" not in (tmp_path / "c.svg").read_text(encoding="utf-8")  # too many to be read
    confusion.draw([[1, 2], [0, 3]], ["name 1", "<&>"], tmp_path / "c.svg")
    assert "&lt;&amp;&gt;" in (tmp_path / "c.svg").read_text(encoding="utf-8")
    with pytest.raises(UserError, match=r"name the picture \.png"):
        confusion.draw([[1]], ["a"], tmp_path / "c.gif")


def test_long_texts_lose_their_end_alone():
    tokenizer = CharTokenizer("abc", ENCODING)
    model = Bert(BertConfig(tokenizer.vocab_size, context=6, n_layers=1, n_heads=1, d_model=4))
    rows, n_cut = rows_of(model, tokenizer, ["abcabc", "abca", ""])
    assert rows == [[4, 0, 1, 2, 0, 3], [4, 0, 1, 2, 0, 3], [4, 3]]
    assert n_cut == 1
    with pytest.raises(UserError, match="line 2: the vocabulary of 3 characters lacks 'x'"):
        rows_of(model, tokenizer, ["a", "x"], each="line")


def test_the_verbs(made, glassformer, tmp_path):
    code, out, err = glassformer("finetune", made / "base", made / "labels.tsv", "--out", "run", *QUICK)
    assert (code, out) == (0, "run\n")
    assert "54 texts to learn from, 6 held out; 2 labels" in err
    assert "accuracy  " in err
    assert "macro-F1  " in err
    assert (tmp_path / "run" / "confusion.png").stat().st_size > 1000
    code, out, _ = glassformer("classify", "run", "cdae")
    label, p = out.strip().split("\t")
    assert (code, label) == (0, "猫")
    assert 0.5 < float(p) <= 1
    (tmp_path / "texts.txt").write_text("cdae\n\ncbcd\n", encoding="utf-8")
    code, out, err = glassformer("classify", "run", "texts.txt", "-o", "out.tsv")
    assert (code, out) == (0, "out.tsv\n")
    lines = (tmp_path / "out.tsv").read_text(encoding="utf-8").split("\n")
    assert [line.split("\t")[0] for line in lines] == ["猫", "", "dog", ""]
    code, out, _ = glassformer("classify", "run", "texts.txt", "--json")
    assert [told and max(told, key=told.get) for told in json.loads(out)] == ["猫", None, "dog"]
    code, out, err = glassformer("classify", "run", "c" * 20)
    assert "1 text is longer than the context of 12 tokens" in err
    code, out, _ = glassformer("eval", "run", made / "labels.tsv", "--json")
    told = json.loads(out)
    assert told["accuracy"] > 0.9
    assert sum(map(sum, told["matrix"])) == 60
    code, out, _ = glassformer("eval", "run", made / "labels.tsv")
    assert out.splitlines()[-1] == "measured on    60 texts"
    assert glassformer("info", "run")[0] == 0
    assert glassformer("look", "run", "cdae", "-o", "look.html")[0] == 0
    code, out, _ = glassformer("finetune", made / "base", made / "labels.tsv", "--pooling", "mean", "steps=2")
    assert (code, out) == (0, "runs/labels\n")
    assert open_folder("runs/labels").shape.pooling == "mean"


def test_a_published_bert_learns_labels_and_goes_out_again(made, tmp_path):
    folder = save(bert(vocab_size=320), tmp_path / "bert", wordpiece())
    (folder / "tokenizer_config.json").write_text(json.dumps(WORDPIECE_ROLES), encoding="utf-8")
    with labelled.begun(
        open_folder(folder), made / "labels.tsv", tmp_path / "run", assignments=["steps=2"]
    ) as training:
        assert training.config.lr == pytest.approx(5e-5 * 768 / 32)
        pooler = open_folder(folder).encoder().pooler.weight
        assert torch.equal(training.model.pooler.weight, pooler)  # what is there is kept
        fit(training, Silent())
    out = export(open_folder(tmp_path / "run"), tmp_path / "out")
    text = ["the quick brown fox", "猫"]
    again, tokenizer = open_folder(out).encoder(), open_folder(out).tokenizer()
    here = open_folder(tmp_path / "run")
    expected = classify(here.encoder(), here.tokenizer(), text)
    assert classify(again, tokenizer, text) == pytest.approx(expected, abs=1e-6)
    assert again.config.labels == ("dog", "猫")


def test_mistakes_are_one_line(made, run_folder, glassformer, tmp_path):
    files = {
        "one.tsv": "a\tx\nb\tx\n",
        "no.tsv": "a\tx\nb x\n",
        "two.tsv": "a\tx\ty\n",
        "empty.tsv": "\n",
        "blank.tsv": "a\t \n",
        "other.tsv": "a\twolf\n",
        "unknown.tsv": "a\tx\nQ\ty\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    base, run = made / "base", made / "run"
    for words, said in (
        (("finetune", base, "one.tsv"), "all texts have the label 'x'"),
        (("finetune", base, "no.tsv"), "no.tsv: line 2 has no TAB; a line is text<TAB>label"),
        (("finetune", base, "two.tsv"), "line 1 has 2 TABs"),
        (("finetune", base, "empty.tsv"), "no labelled text in it"),
        (("finetune", base, "blank.tsv"), "line 1 has an empty label"),
        (("finetune", base, "none.tsv"), "none.tsv: no such file"),
        (("finetune", base, "unknown.tsv"), "lacks 'Q'"),
        (("finetune", base, "one.tsv", "no.tsv"), "one file of text<TAB>label lines"),
        (("finetune", base, made / "labels.tsv", "d_model=8"), "keeps its shape"),
        (("finetune", base, made / "labels.tsv", "epoch=8"), "did you mean 'epochs'"),
        (("finetune", base, made / "labels.tsv", "optimiser=muon"), "without optimiser"),
        (("finetune", base, made / "labels.tsv", "epochs=0"), "epochs must be at least 1"),
        (("finetune", run_folder, made / "labels.tsv"), "is no encoder"),
        (("classify", base, "abc"), "this encoder tells no labels"),
        (("classify", run, ""), "the text is empty"),
        (("classify", run, "abQ"), "text 1: the vocabulary of 7 characters lacks 'Q'"),
        (("classify", run_folder, "abc"), "is no encoder"),
        (("eval", run, "other.tsv"), "unknown label 'wolf'"),
        (("eval", run, "none.tsv"), "none.tsv: no such file"),
        (("fill", run, "a[MASK]"), "no head that tells hidden tokens"),
        (("generate", run), "has no next token to write"),
    ):
        code, out, err = glassformer(*words)
        assert (code, out) == (2, ""), (words, err)
        assert said in err
        assert err.count("\n") == 1
    assert not (tmp_path / "runs").exists()
