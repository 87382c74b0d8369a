"""The ways into a training, and that a way that fails leaves nothing behind."""

import json
import shutil
from pathlib import Path

import pytest
import torch

from conftest import SMALL, Silent
from glassformer.errors import UserError
from glassformer.store.run import Run
from glassformer.training import start
from glassformer.training.loop import fit


def train(texts: list[Path], out: Path, *settings: str, base: Run | None = None) -> Run:
    shape = ["batch_size=4", "sample=0"] if base else SMALL
    with start.begun(
        [str(path) for path in texts],
        out,
        preset_name="tiny",
        assignments=[*shape, "steps=2", *settings],
        base=base.checkpoint() if base else None,
    ) as training:
        fit(training, Silent())
    return training.run


@pytest.mark.parametrize(
    ("content", "settings", "message"),
    [
        (b"", [], "is empty"),
        (b"abc", [], r"the text has 5 tokens, 5 of them for training; context=8 needs at least 9"),
        (b"ab\xff\xfe" * 50, [], r"not UTF-8 at byte 2 \(0xff\)"),
        (b"abc" * 99, ["n_layer=3"], "unknown setting 'n_layer'; did you mean 'n_layers'"),
        (b"abc" * 99, ["n_heads=3"], "n_heads=3: n_heads = 3 must divide d_model = 16"),
        (b"abc" * 99, ["vocab_size=7"], "vocab_size follows from the tokenizer"),
        (b"abc" * 99, ["steps=many"], "steps=many: expected a whole number"),
        (b"abc" * 99, ["device=abacus"], "device=abacus cannot be used here"),
        (b"abc" * 99, ["tokenizer=bpe", "bpe_vocab_size=100"], "needs at least 257"),
    ],
)
def test_what_fails_leaves_nothing_behind(
    tmp_path: Path, content: bytes, settings: list[str], message: str
) -> None:
    text = tmp_path / "text.txt"
    text.write_bytes(content)
    with pytest.raises(UserError, match=message):
        train([text], tmp_path / "runs" / "new", *settings)
    assert sorted(tmp_path.iterdir()) == [text]


@pytest.mark.parametrize("text", ["missing.txt", "folder", "*.nothing"])
def test_a_text_that_is_not_there_leaves_nothing_behind(tmp_path: Path, text: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(UserError, match=text.replace("*", r"\*")):
        train([tmp_path / text], tmp_path / "runs" / "new")
    assert not (tmp_path / "runs").exists()


def test_an_interrupted_beginning_leaves_nothing_behind(
    text_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("glassformer.training.start.corpus.load", interrupted)
    monkeypatch.setattr("glassformer.data.corpus.load", interrupted)
    with pytest.raises(KeyboardInterrupt):
        train([text_file], tmp_path / "runs" / "new")
    assert sorted(tmp_path.iterdir()) == [text_file]


def test_what_stands_at_out_is_never_overwritten(text_file: Path, tmp_path: Path) -> None:
    run = train([text_file], tmp_path / "run")
    before = {path: path.read_bytes() for path in run.folder.rglob("*") if path.is_file()}
    with pytest.raises(UserError, match="already holds a run; --resume"):
        train([text_file], tmp_path / "run")
    assert {path: path.read_bytes() for path in run.folder.rglob("*") if path.is_file()} == before
    with pytest.raises(UserError, match="no run folder and not empty"):
        train([text_file], tmp_path)
    with pytest.raises(UserError, match="no run folder and not empty"):
        train([text_file], text_file)


def test_what_a_kill_before_the_first_checkpoint_left_is_no_obstacle(text_file: Path, tmp_path: Path) -> None:
    (tmp_path / "run" / "data.partial").mkdir(parents=True)
    (tmp_path / "run" / "data.partial" / "tokens.bin").write_bytes(b"half")
    assert train([text_file], tmp_path / "run").checkpoint("last").step == 2


def test_fine_tuning_begins_with_the_weights_and_the_tokenizer_of_its_base(
    run_folder: Path, text_file: Path, tmp_path: Path
) -> None:
    base = Run(run_folder)
    tuned = train([text_file], tmp_path / "tuned", "steps=0", base=base)
    ours, theirs = tuned.checkpoint().model(), base.checkpoint().model()
    assert all(torch.equal(a, b) for a, b in zip(ours.parameters(), theirs.parameters(), strict=True))
    assert tuned.checkpoint().tokenizer().to_json() == base.checkpoint().tokenizer().to_json()
    settings = tuned.checkpoint().settings
    assert settings["train"]["lr"] == pytest.approx(0.1 * base.checkpoint().settings["train"]["lr"])
    assert settings["progress"]["step"] == 0


def test_fine_tuning_keeps_the_shape_and_lets_dropout_change(
    run_folder: Path, text_file: Path, tmp_path: Path
) -> None:
    base = Run(run_folder)
    with pytest.raises(UserError, match="keeps its shape: n_layers stays 2; only dropout may change"):
        train([text_file], tmp_path / "tuned", "n_layers=3", base=base)
    tuned = train([text_file], tmp_path / "tuned", "dropout=0.25", base=base)
    assert tuned.checkpoint().model().config.dropout == 0.25


def test_fine_tuning_on_unknown_characters_names_them(run_folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text("the cat Ω " * 20, encoding="utf-8")
    with pytest.raises(UserError, match=r"other.txt: the vocabulary of .* lacks 'Ω'"):
        train([other], tmp_path / "tuned", base=Run(run_folder))
    assert not (tmp_path / "tuned").exists()


def test_only_training_settings_may_change_on_resume(run_folder: Path) -> None:
    with pytest.raises(UserError, match="goes on with the same shape"):
        start.resumed(run_folder, ["d_model=32"])
    with pytest.raises(UserError, match="goes on with the same text"):
        start.resumed(run_folder, ["valid_fraction=0.5"])
    assert start.resumed(run_folder, ["steps=50"]).config.steps == 50


def test_a_run_resumes_from_its_folder_alone(text_file: Path, tmp_path: Path) -> None:
    run = train([text_file], tmp_path / "run")
    text_file.unlink()
    moved = run.folder.rename(tmp_path / "moved")
    training = start.resumed(moved, ["steps=4"])
    assert fit(training, Silent()) == "finished"
    assert Run(moved).checkpoint("last").step == 4


def test_a_neighbouring_run_lends_its_encoded_text(
    text_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = train([text_file], tmp_path / "runs" / "one")
    monkeypatch.setattr("glassformer.data.corpus._encode", None)  # encoding again would now fail
    second = train([text_file], tmp_path / "runs" / "two", "n_layers=1")
    files = [run.folder / "data" / "tokens.bin" for run in (first, second)]
    assert files[0].samefile(files[1])


@pytest.mark.parametrize("settings", [["n_heads=6", "d_model=192"], ["d_model=192", "n_heads=6"]])
def test_the_order_of_settings_does_not_matter(text_file: Path, tmp_path: Path, settings: list[str]) -> None:
    shape = train([text_file], tmp_path / "run", *settings, "steps=0").checkpoint().model().config
    assert (shape.n_heads, shape.d_model) == (6, 192)


def test_a_damaged_neighbour_lends_nothing_and_a_damaged_run_does_not_go_on(
    text_file: Path, tmp_path: Path
) -> None:
    first = train([text_file], tmp_path / "runs" / "one")
    tokens = first.folder / "data" / "tokens.bin"
    tokens.write_bytes(bytes(len(tokens.read_bytes())))
    second = train([text_file], tmp_path / "runs" / "two")
    assert set((second.folder / "data" / "tokens.bin").read_bytes()) != {0}
    with pytest.raises(UserError, match="data is damaged: its tokens or its tokenizer"):
        start.resumed(first.folder)


def test_what_does_not_belong_together_is_told(run_folder: Path, text_file: Path, tmp_path: Path) -> None:
    run = train([text_file], tmp_path / "run", "tokenizer=bytes", "steps=2")
    shutil.copytree(run_folder, tmp_path / "copy")
    shutil.rmtree(tmp_path / "copy" / "data")
    shutil.copytree(run.folder / "data", tmp_path / "copy" / "data")
    with pytest.raises(UserError, match="was encoded by another tokenizer"):
        start.resumed(tmp_path / "copy", ["steps=99"])
    swapped = run.checkpoint().folder / "tokenizer.json"
    swapped.write_text(Run(run_folder).checkpoint().tokenizer().to_json(), encoding="utf-8")
    with pytest.raises(UserError, match="the tokenizer has 19 ids, the model 257"):
        run.checkpoint().tokenizer()


def test_two_trainings_do_not_share_a_folder(text_file: Path, tmp_path: Path) -> None:
    run = train([text_file], tmp_path / "run")
    with Run(run.folder).locked():
        before = sorted(run.folder.rglob("*"))
        with pytest.raises(UserError, match="another training is using this folder"):
            fit(start.resumed(run.folder, ["steps=4"]), Silent())
        assert sorted(run.folder.rglob("*")) == before
    with Run(tmp_path / "new").locked():
        with pytest.raises(UserError, match="another training is using this folder"):
            train([text_file], tmp_path / "new")
        assert (tmp_path / "new").exists()
    assert fit(start.resumed(run.folder, ["steps=4"]), Silent()) == "finished"


def test_a_new_goal_survives_a_stop_before_the_first_step(text_file: Path, tmp_path: Path) -> None:
    run = train([text_file], tmp_path / "run")
    fit(start.resumed(run.folder, ["steps=5"]), Silent(), stop=lambda: True)
    again = start.resumed(run.folder)
    assert (again.progress.step, again.config.steps) == (2, 5)
    assert fit(again, Silent()) == "finished"


@pytest.mark.parametrize(
    "damage",
    [{"train": None}, {"train": []}, {"progress": None}, {"progress": {"step": "a"}}, {"progress": {"x": 1}}],
    ids=str,
)
def test_damaged_settings_are_one_line(run_folder: Path, tmp_path: Path, damage: dict[str, object]) -> None:
    shutil.copytree(run_folder, tmp_path / "run")
    path = Run(tmp_path / "run").checkpoint("last").folder / "config.json"
    settings = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**settings, **damage}), encoding="utf-8")
    with pytest.raises(UserError):
        start.resumed(tmp_path / "run")


def test_a_training_state_of_another_model_is_refused(
    run_folder: Path, text_file: Path, tmp_path: Path
) -> None:
    other = train([text_file], tmp_path / "other", "n_layers=3")
    shutil.copytree(run_folder, tmp_path / "run")
    for state in (tmp_path / "run").glob("step-*/training.safetensors"):
        shutil.copy(other.checkpoint("last").folder / state.name, state)
    with pytest.raises(UserError, match="the saved training state is not this model's"):
        start.resumed(tmp_path / "run", ["steps=99"])


def test_fine_tuning_keeps_its_tokenizer(run_folder: Path, text_file: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="keeps its tokenizer"):
        train([text_file], tmp_path / "tuned", "tokenizer=bytes", base=Run(run_folder))


@pytest.mark.parametrize(
    ("recipe", "positions", "order", "optimisers"),
    [("gpt2", "learned", "pre", 1), ("2017", "sinusoidal", "post", 1)],
)
def test_recipes_go_by_their_names_and_settings_win(
    text_file: Path, tmp_path: Path, recipe: str, positions: str, order: str, optimisers: int
) -> None:
    with start.begun(
        [str(text_file)], tmp_path / "run", recipe=recipe, assignments=[*SMALL, "warmup=7"]
    ) as training:
        shape = training.model.config
        assert (shape.positions, shape.norm_order, shape.d_model) == (positions, order, 16)
        assert (training.config.lr, training.config.warmup) == (0.01, 7)
        assert len(training.optimisers) == optimisers
    with (
        pytest.raises(UserError, match="can have a recipe: gpt2, 2017"),
        start.begun([str(text_file)], tmp_path / "other", recipe="soup"),
    ):
        pass
