"""Word vectors in the common loop, and the verbs that read them."""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gensim
import numpy as np
import pytest
import torch
from gensim.models import KeyedVectors

from conftest import Silent
from glassformer import UserError
from glassformer.__main__ import main
from glassformer.data.vectors import write
from glassformer.store import tensors
from glassformer.store.run import Run
from glassformer.store.vectors import word_vectors
from glassformer.training import log, vectors
from glassformer.training.loop import fit

CARRIED = Path(gensim.__file__).parent / "test" / "test_data"
NOUNS = ["猫", "dog", "mouse"], ["song", "poem", "tune"]
VERBS = ["chases", "bites", "sees"], ["hears", "sings", "writes"]
SMALL = ["d_model=16", "min_count=1", "subsample=0", "valid_fraction=0.1", "batch_size=600", "lr=0.05"]


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two topics whose words stand only beside their own."""
    lines = [
        f"the {a} {verb} {b} ."
        for nouns, verbs in zip(NOUNS, VERBS, strict=True)
        for a in nouns
        for verb in verbs
        for b in nouns
    ]
    path = tmp_path_factory.mktemp("words") / "text.txt"
    path.write_text("\n".join(lines * 25), encoding="utf-8", newline="\n")
    return path


def trained(text: Path, out: Path, *settings: str, stop_at: int | None = None) -> Any:
    with vectors.begun([str(text)], out, assignments=[*SMALL, *settings]) as training:
        steps = Silent()
        fit(training, steps, lambda: stop_at is not None and len(steps.steps) >= stop_at)
    return training


@pytest.fixture(scope="module")
def run(text: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "words"
    trained(text, folder, "epochs=20", "breaks=lines")
    return folder


@pytest.mark.parametrize("objective", ["skipgram", "cbow"])
def test_words_of_a_topic_come_together(text: Path, tmp_path: Path, objective: str) -> None:
    training = trained(text, tmp_path / "run", f"objective={objective}", "epochs=20", "breaks=lines")
    space = word_vectors(training.run.folder)
    for nouns, verbs in zip(NOUNS, VERBS, strict=True):
        expected = {*nouns[1:], *(verbs if objective == "skipgram" else ())}
        assert {word for word, _ in space.neighbours(nouns[0], len(expected))} == expected
    losses = [entry["valid_loss"] for entry in log.read(training.run.folder) if "valid_loss" in entry]
    assert losses[-1] < 0.8 * losses[0]


@pytest.mark.parametrize("objective", ["skipgram", "cbow"])
def test_a_run_that_was_stopped_and_resumed_is_the_run_that_was_not(
    text: Path, tmp_path: Path, objective: str
) -> None:
    settings = [f"objective={objective}", "steps=20", "eval_every=7"]
    trained(text, tmp_path / "whole", *settings)
    trained(text, tmp_path / "cut", *settings, stop_at=10)
    assert Run(tmp_path / "cut").checkpoint("last").step == 10
    fit(vectors.resumed(tmp_path / "cut"), Silent())
    one, other = (
        tensors.read(Run(tmp_path / name).checkpoint("last").folder / "model.safetensors")
        for name in ("whole", "cut")
    )
    assert one.keys() == other.keys() == {"embedding.weight", "contexts.weight"}
    for name in one:
        assert torch.equal(one[name], other[name])
    spoken = [
        [
            {key: value for key, value in entry.items() if key != "seconds"}
            for entry in log.read(tmp_path / name)
        ]
        for name in ("whole", "cut")
    ]
    assert spoken[0] == spoken[1]


def test_the_rate_falls_along_a_line(run: Path) -> None:
    rates = {entry["step"]: entry["lr"] for entry in log.read(run) if "lr" in entry}
    steps = max(rates)
    for step, rate in rates.items():
        assert rate == pytest.approx(0.05 * (0.004 + 0.996 * (1 - (step - 1) / steps)))


def test_epochs_say_how_long_unless_steps_do(text: Path, tmp_path: Path) -> None:
    with vectors.begun([str(text)], tmp_path / "a", assignments=[*SMALL, "epochs=3"]) as training:
        per_epoch = training.config.eval_every
        assert training.config.steps == 3 * per_epoch
        seen = sum(training.task.batch(step)[1] for step in range(per_epoch))  # type: ignore[attr-defined]
        assert seen <= len(training.task.stretches.tokens) <= seen + 3 * 512  # type: ignore[attr-defined]
    with vectors.begun([str(text)], tmp_path / "b", assignments=[*SMALL, "steps=4"]) as training:
        assert training.config.steps == 4


def test_held_out_words_teach_nothing(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("a b " * 400 + "c d " * 20, encoding="utf-8")
    training = trained(path, tmp_path / "run", "steps=20", "valid_fraction=0.05")
    ids = training.tokenizer.ids
    assert not training.model.contexts.weight[[ids["c"], ids["d"]]].any()
    assert training.model.contexts.weight[ids["a"]].any()


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        (["vocab_size=3"], "vocab_size follows from the text"),
        (["muon_lr=1"], "word vectors are trained without muon_lr"),
        (["optimiser=adamw"], "word vectors are trained without optimiser"),
        (["min_count=1000000"], "give more text, or a smaller min_count"),
        (["windoww=3"], "did you mean 'window'"),
        (["words=nowhere.at_all:cut"], "No module named"),
        (["window=0"], "window must be at least 1"),
    ],
)
def test_a_wrong_setting_is_one_line_and_leaves_nothing(
    text: Path, tmp_path: Path, settings: list[str], fault: str
) -> None:
    with (
        pytest.raises(UserError, match=fault),
        vectors.begun([str(text)], tmp_path / "run", assignments=[*SMALL, *settings]),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_resumed_run_keeps_its_shape(run: Path) -> None:
    for setting in ("window=2", "min_count=2"):
        with pytest.raises(UserError, match="same shape and text"):
            vectors.resumed(run, [setting])


Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Command:
    monkeypatch.chdir(tmp_path)

    def call(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["glassformer", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0), *capsys.readouterr()

    return call


def test_from_a_text_to_answers(command: Command, text: Path, tmp_path: Path) -> None:
    words = ["--model", "word2vec", text, "--out", "run", *SMALL, "words=characters", "epochs=2"]
    code, out, err = command("train", *words)
    assert (code, out) == (0, "run\n")
    assert re.search(r"skip-gram, \d+ words x 16, [\d,]+ words of text, on cpu", err)
    assert "finished at step" in err
    assert (tmp_path / "run" / "loss.png").is_file()
    assert "is finished" in command("train", "--resume", "run")[2]
    assert "going on from step" in command("train", "--resume", "run", "--steps", 20)[2]

    code, out, _ = command("neighbours", "run", "猫", "--n", 3)
    assert code == 0
    assert re.fullmatch(r"( *-?\d\.\d{4}  \S+\n){3}", out)
    found = json.loads(command("analogy", "run", "dog", "bites", "song", "--json")[1])
    assert not {"dog", "bites", "song"} & {entry["word"] for entry in found}
    assert command("info", "run")[1].count("word2vec") == 1
    assert json.loads(command("info", "run", "--json")[1])["parameters"]["vectors"] > 0


@pytest.mark.parametrize("name", ["out.txt", "out.bin"])
def test_what_is_exported_gensim_opens_and_every_verb_reads(
    command: Command, run: Path, tmp_path: Path, name: str
) -> None:
    assert command("vectors", run, "-o", name)[:2] == (0, f"{name}\n")
    theirs = KeyedVectors.load_word2vec_format(str(tmp_path / name), binary=name.endswith("bin"))
    ours = word_vectors(run)
    assert theirs.index_to_key == ours.words
    assert (theirs.vectors == ours.vectors).all()
    for words in (["neighbours", "猫"], ["analogy", "dog", "bites", "song"]):
        verb, *rest = words
        assert command(verb, name, *rest)[1] == command(verb, run, *rest)[1] != ""


def test_eval_tells_coverage_and_names_what_is_unknown(command: Command, run: Path, tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").write_text("猫,dog,9\n猫,song,1\ndog,poem,2\nsun,moon,3\n", encoding="utf-8")
    (tmp_path / "q.txt").write_text(": a\ndog bites song hears\nsun moon dog x\n", encoding="utf-8")
    code, out, _ = command("eval", run, "pairs.csv", "q.txt")
    assert code == 0
    assert "Spearman correlation  " in out
    assert "pairs known           3 of 4" in out
    assert "of 1 known of 2  a" in out
    assert "unknown words: sun, moon, x" in out
    told = json.loads(command("eval", run, "pairs.csv", "--json")[1])
    assert told["covered"] == 3
    assert told["unknown"] == ["sun", "moon"]
    assert command("eval", run, CARRIED / "questions-words.txt")[0] == 0


@pytest.mark.parametrize("name", ["map.png", "map.svg", "map.pdf"])
def test_a_map_is_drawn(command: Command, run: Path, tmp_path: Path, name: str) -> None:
    code, out, _ = command("map", run, "猫", "dog", "song", "-o", name)
    assert (code, out) == (0, f"{name}\n")
    drawn = (tmp_path / name).read_bytes()
    assert drawn.startswith({"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[name[-3:]])
    if name.endswith("svg"):
        assert "猫".encode() in drawn


def test_a_map_without_a_font_says_so(
    command: Command, run: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("glassformer.glass.fonts.CHINESE", ())
    code, _, err = command("map", run)
    assert code == 0
    assert "no font here has 猫; a map in .svg shows them" in err
    assert (tmp_path / "map.png").is_file()


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (["neighbours", "RUN", "gost"], "unknown word in"),
        (["neighbours", "nowhere", "x"], "nowhere: no such"),
        (["neighbours", "LM", "x"], "holds no word vectors; train --model word2vec makes some"),
        (["analogy", "RUN", "dog", "bites", "nix"], "unknown word in"),
        (["map", "RUN", "猫"], "a map needs two words"),
        (["map", "RUN", "-o", "map.gif"], "name the picture .png, .svg or .pdf"),
        (["vectors", "RUN", "-o", "x.csv"], "name it .txt or .vec"),
        (["eval", "RUN", "TEXT"], "is neither two words and a number"),
        (["eval", "RUN", "none.csv"], "none.csv: no such file"),
        (["generate", "RUN"], "holds word vectors; neighbours, analogy, map and eval read them"),
        (["look", "RUN", "x"], "holds word vectors; neighbours"),
        (["export", "RUN", "x"], "holds word vectors; neighbours"),
        (["train", "--from", "RUN", "TEXT"], "word vectors begin from nothing"),
        (["train", "TEXT", "--model", "word2vec", "--preset", "tiny"], "word vectors have no preset"),
        (["train", "TEXT", "--model", "word2vec", "--recipe", "gpt2"], "word vectors have no recipe"),
        (
            ["train", "TEXT", "--model", "word2vec", "--window", "3"],
            "window is a setting; write window=VALUE",
        ),
        (["train", "TEXT", "optimiser=sgd"], "optimiser=sgd is for word vectors"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_is_one_line(
    command: Command, run: Path, run_folder: Path, text: Path, tmp_path: Path, words: list[str], fault: str
) -> None:
    names = {"RUN": run, "LM": run_folder, "TEXT": text}
    code, out, err = command(*(names.get(word, word) for word in words))
    assert code == 2, err
    assert fault in err
    assert "Traceback" not in err
    assert out == ""
    assert not [path for path in tmp_path.iterdir() if path.name != "x"]


def test_a_damaged_run_is_one_line(command: Command, text: Path, tmp_path: Path) -> None:
    trained(text, tmp_path / "run", "steps=2")
    folder = Run(tmp_path / "run").checkpoint("best").folder
    vocabulary = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    vocabulary["words"].append("more")
    vocabulary["counts"].append(1)
    (folder / "tokenizer.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    code, _, err = command("neighbours", "run", "猫")
    assert code == 2
    assert "they do not belong together" in err


@pytest.mark.parametrize("name", ["king.txt", "king.bin"])
def test_a_file_of_vectors_becomes_a_run(command: Command, tmp_path: Path, name: str) -> None:
    words, numbers = ["King", "queen", "apple"], np.array([[1, 0.1], [0.9, 0.2], [-1, 3]], np.float32)
    write(tmp_path / name, words, numbers)
    code, out, err = command("import", name, "kings")
    assert (code, out) == (0, "kings\n"), err
    space = word_vectors(tmp_path / "kings")
    assert space.words == words
    assert np.array_equal(space.vectors, numbers)
    for verb in (["neighbours", "FROM", "King"], ["analogy", "FROM", "King", "queen", "apple"]):
        told = [command(*(given if word == "FROM" else word for word in verb)) for given in (name, "kings")]
        assert told[0] == told[1]
        assert told[0][0] == 0
    for words, said in (
        (["import", name, "kings"], "kings"),
        (["import", "missing.txt", "new"], "missing.txt"),
        (["train", "--resume", "kings"], "kings was imported, not trained: there is nothing to resume"),
    ):
        code, _, err = command(*words)
        assert code == 2
        assert said in err
        assert err.count("\n") == 1
    (tmp_path / "bad.txt").write_text("hello world\n", encoding="utf-8")
    assert "holds no word vectors" in command("import", "bad.txt", "new")[2]
    assert not (tmp_path / "new").exists()
