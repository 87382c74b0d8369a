"""Training a Transformer on pairs: what a recipe sets, stopped and resumed, and the verbs."""

import dataclasses

import pytest
import torch

from conftest import Silent
from glassformer import UserError
from glassformer.data import tasks
from glassformer.decoding.translate import translate
from glassformer.models import Transformer
from glassformer.models.presets import TRANSFORMER_PRESETS
from glassformer.store import tensors
from glassformer.store.run import Run
from glassformer.training import pairs, train
from glassformer.training.loop import fit

SMALL = ["d_model=16", "n_heads=2", "batch_size=200", "eval_every=10", "warmup=5", "valid_fraction=0.1"]


@pytest.fixture(scope="module")
def reversals(tmp_path_factory):
    path = tmp_path_factory.mktemp("pairs") / "reverse.tsv"
    tasks.write("reverse", 300, path)
    return path


def trained(path, out, *settings, stop_at=None, **options):
    assignments = [*SMALL, *settings]
    with pairs.begun([str(path)], out, family="transformer", assignments=assignments, **options) as training:
        steps = Silent()
        fit(training, steps, lambda: stop_at is not None and len(steps.steps) >= stop_at)
    return training, steps


def weights_of(folder):
    return tensors.read(Run(folder).checkpoint("last").folder / "model.safetensors")


@pytest.mark.parametrize(
    ("settings", "options"),
    [
        ([], {}),
        (["dropout=0.2", "accumulate=2", "label_smoothing=0.1", "optimiser=adamw"], {}),
        (["steps=20"], {"recipe": "2017"}),
    ],
    ids=["preset", "adamw", "2017"],
)
def test_stopped_and_resumed_is_not_stopped(reversals, tmp_path, settings, options):
    trained(reversals, tmp_path / "whole", "steps=20", *settings, **options)
    trained(reversals, tmp_path / "halves", "steps=20", *settings, stop_at=9, **options)
    training = pairs.resumed(tmp_path / "halves")
    assert training.progress.step == 9
    fit(training, Silent())
    whole, halves = (weights_of(tmp_path / name) for name in ("whole", "halves"))
    assert whole.keys() == halves.keys()
    assert all(torch.equal(whole[name], halves[name]) for name in whole)


def test_a_run_holds_the_model_that_was_trained(reversals, tmp_path):
    training, steps = trained(reversals, tmp_path / "run", "steps=15", "n_layers=1", "n_decoder_layers=2")
    assert steps.losses[-1] < steps.losses[0]
    checkpoint = Run(tmp_path / "run").checkpoint("last")
    assert checkpoint.family == "transformer"
    model = checkpoint.translator()
    assert isinstance(model, Transformer)
    assert model.config == training.model.config
    for name, value in training.model.state_dict().items():
        assert torch.equal(model.state_dict()[name], value), name
    with pytest.raises(UserError, match="glassformer translate runs it"):
        checkpoint.model()


def test_the_recipe_of_2017(reversals, tmp_path):
    with pairs.begun(
        [str(reversals)], tmp_path / "run", family="transformer", recipe="2017", assignments=SMALL
    ) as training:
        c, t = training.model.config, training.config
    assert (c.norm, c.norm_order, c.positions, c.activation) == ("layernorm", "post", "sinusoidal", "relu")
    assert (c.bias, c.scale_embeddings, c.tie_embeddings) == (True, True, True)
    assert (t.optimiser, t.beta2, t.decay, t.min_lr) == ("adamw", 0.98, "inverse_sqrt", 0)
    assert training.task.label_smoothing == 0.1
    assert training.model.head.weight is training.model.embedding.weight
    for model, recipe, said in (
        ("transformer", "gpt2", "a Transformer that translates can have a recipe: 2017"),
        ("seq2seq", "2017", "a recurrent translator has no recipe"),
    ):
        with pytest.raises(UserError, match=said):
            train.train(reversals, tmp_path / "other", model=model, recipe=recipe)
        assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("optimiser", ["adamw", "muon"])
def test_muon_takes_the_matrices_of_both_stacks(reversals, tmp_path, optimiser):
    settings = [*SMALL, f"optimiser={optimiser}"]
    with pairs.begun(
        [str(reversals)], tmp_path / "run", family="transformer", assignments=settings
    ) as training:
        taken = [
            [id(p) for group in each.param_groups for p in group["params"]] for each in training.optimisers
        ]
        blocks = [
            id(p) for name, p in training.model.named_parameters() if "blocks." in name and p.dim() == 2
        ]
    assert sorted(i for each in taken for i in each) == sorted(map(id, training.model.parameters()))
    assert len(taken) == (2 if optimiser == "muon" else 1)
    assert sorted(taken[-1]) == sorted(blocks) if optimiser == "muon" else True


def test_presets_grow():
    with tensors.shapes_only():
        sizes = [
            sum(p.numel() for p in Transformer(dataclasses.replace(shape, vocab_size=4096)).parameters())
            for shape in TRANSFORMER_PRESETS.values()
        ]
    assert sizes[0] < 2e6 < sizes[1] < 2e7 < sizes[2]


def test_from_pairs_to_translations(glassformer, reversals, tmp_path):
    command = "train", reversals, "--model", "transformer", "--steps", 5, "--out", "run", "context=16", *SMALL
    code, out, err = glassformer(*command)
    assert (code, out) == (0, "run\n"), err
    assert "Transformer of 2 + 2 layers" in err
    code, out, err = glassformer("train", "--resume", "run", "--steps", 8)
    assert (code, out) == (0, "run\n"), err
    code, out, err = glassformer("train", "--from", "run", reversals, "--steps", 1, "--out", "tuned")
    assert (code, out) == (0, "tuned\n"), err
    code, out, err = glassformer("translate", "run", "abc", "--beam", 2, "--alignment", "a.png")
    assert code == 0, err
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    (tmp_path / "sources.txt").write_text("abc\n\nde\n", encoding="utf-8")
    (tmp_path / "refs.txt").write_text("cba\n\ned\n", encoding="utf-8")
    words = "translate", "run", "sources.txt", "--beam", 3
    code, plain, _ = glassformer(*words)
    code, out, err = glassformer(*words, "--n-best", 3, "-o", "o.txt", "--against", "refs.txt")
    assert (code, out) == (0, "o.txt\n"), err
    assert "tok:13a" in err
    rows = [line.split("\t") for line in (tmp_path / "o.txt").read_text(encoding="utf-8").splitlines()]
    assert [row[0] for row in rows] == ["1"] * 3 + ["2"] + ["3"] * 3
    scores = [float(row[1]) for row in rows]
    assert scores[:3] == sorted(scores[:3], reverse=True)
    assert [rows[i][2] for i in (0, 3, 4)] == plain.split("\n")[:3]
    code, out, _ = glassformer("info", "run")
    assert code == 0
    assert "norm_order       pre" in out
    code, out, err = glassformer("translate", "run", "abc", "--n-best", 2)
    assert (code, out) == (2, "")
    assert "take a wider beam" in err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "recipe", "settings"),
    [("chinese", "2017", ["steps=700", "warmup=100", "lr=2e-3"]), ("english", None, ["steps=800"])],
)
def test_generated_tasks_are_learned(tmp_path, task, recipe, settings):
    """The preset `tiny`, a minute or two on one thread."""
    tasks.write(task, 6000, tmp_path / "pairs.tsv")
    settings = ["batch_size=1024", "eval_every=200", *settings]
    with pairs.begun(
        *([str(tmp_path / "pairs.tsv")], tmp_path / "run"),
        family="transformer",
        recipe=recipe,
        assignments=settings,
    ) as training:
        fit(training, Silent())
    checkpoint = Run(tmp_path / "run").checkpoint()
    known = {line.partition("\t")[0] for line in (tmp_path / "pairs.tsv").read_text().splitlines()}
    unseen = {e.source: e for e in tasks.examples(task, 1500, seed=1) if e.source not in known}
    written = translate(checkpoint.translator(), checkpoint.tokenizer(), list(unseen))
    right = sum(text == e.target for text, e in zip(written, unseen.values(), strict=True)) / len(unseen)
    print(f"{task}, {recipe or 'preset'}: {right:.2%} of {len(unseen)} new texts")
    assert len(unseen) > 300
    assert right >= 0.99
