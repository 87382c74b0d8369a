"""The verbs as a user meets them: what they print, what they leave, how they end."""

import json
import math
import re
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from conftest import SMALL, TEXT, Ended
from glassformer.cli import cli
from glassformer.decoding.kernel import kernel

SETTINGS = [*SMALL, "eval_every=5"]


def test_every_verb_has_help_that_says_what_its_options_do(glassformer: Callable[..., Ended]) -> None:
    for name, command in cli.commands.items():
        shown = glassformer(name, "--help")
        assert shown.code == 0
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.opts[0] in shown.out
                assert parameter.help, (name, parameter.name)


def test_from_a_text_to_a_page(glassformer: Callable[..., Ended], text_file: Path, tmp_path: Path) -> None:
    trained = glassformer("train", text_file, "--steps", 10, "--out", "runs/cat", *SETTINGS)
    assert trained.code == 0, trained.err
    assert trained.out == "runs/cat\n"
    assert "finished at step 10, best validation" in trained.err
    assert (tmp_path / "runs/cat/loss.png").read_bytes().startswith(b"\x89PNG")

    written = glassformer("generate", "runs/cat", "--prompt", "the c", "--tokens", 20, "--seed", 1)
    assert written.code == 0
    assert written.out.startswith("the c")
    assert len(written.out.rstrip("\n")) <= 25

    measured = glassformer("eval", "runs/cat", text_file)
    assert measured.code == 0
    assert re.search(r"loss +\d+\.\d{4} nats per token\nperplexity +\d", measured.out)
    assert f"{len(TEXT):,} tokens, {len(TEXT.encode()):,} bytes" in measured.out

    looked = glassformer("look", "runs/cat", "猫看老鼠", "-o", "pages/look.html", "--lang", "zh")
    assert looked.code == 0
    assert looked.out == "pages/look.html\n"
    assert "猫" in (tmp_path / "pages/look.html").read_text(encoding="utf-8")

    told = glassformer("info", "runs/cat", "--checkpoint", "last")
    assert told.code == 0
    assert "step-10" in told.out
    assert "feed-forward" in told.out


@pytest.fixture(scope="session")
def lstm_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recurrent run of 10 steps; not to be changed."""
    from glassformer.training.train import train

    folder = tmp_path_factory.mktemp("lstm")
    (folder / "text.txt").write_text(TEXT, encoding="utf-8", newline="\n")
    settings = {"context": 8, "d_model": 16, "batch_size": 4, "sample": 0, "steps": 10, "eval_every": 5}
    return train(folder / "text.txt", folder / "runs" / "cat", model="lstm", **settings)


def test_recurrent_networks_go_all_the_way_too(
    glassformer: Callable[..., Ended], text_file: Path, tmp_path: Path
) -> None:
    shape = ["context=8", "d_model=16", "batch_size=4", "sample=0", "eval_every=5"]
    for model in ("rnn", "lstm", "gru"):
        trained = glassformer("train", text_file, "--model", model, "--steps", 6, "--out", model, *shape)
        assert trained.code == 0, trained.err
        assert glassformer("train", "--resume", model, "--steps", 10).code == 0
        written = glassformer("generate", model, "--prompt", "the c", "--tokens", 20, "--seed", 1)
        assert written.out.startswith("the c")
        measured = glassformer("eval", model, text_file)
        assert f"{len(TEXT):,} tokens, {len(TEXT.encode()):,} bytes" in measured.out
        looked = glassformer("look", model, "猫看老鼠", "-o", "look.html", "--layer", 0, "--generate", 2)
        assert looked.out == "look.html\n"
        assert 'alt="L1 hidden"' in (tmp_path / "look.html").read_text(encoding="utf-8")
        told = glassformer("info", model, "--checkpoint", "last")
        assert "family recurrent" in told.out
        assert "bytes of state after any text" in told.out
    tuned = glassformer("train", "--from", "gru", text_file, "--out", "tuned", "--steps", 2, "sample=0")
    assert tuned.code == 0, tuned.err


def test_a_finished_run_says_so_and_goes_on_only_with_more_steps(
    glassformer: Callable[..., Ended], text_file: Path
) -> None:
    glassformer("train", text_file, "--steps", 4, "--out", "run", *SETTINGS)
    again = glassformer("train", "--resume", "run")
    assert again.code == 0
    assert "run is finished (finished at step 4)" in again.err
    more = glassformer("train", "--resume", "run", "--steps", 6)
    assert more.code == 0
    assert "going on from step 4" in more.err
    assert "finished at step 6" in more.err


def test_no_steps_at_all_make_a_run_of_first_weights(
    glassformer: Callable[..., Ended], text_file: Path, tmp_path: Path
) -> None:
    begun = glassformer("train", text_file, "--steps", 0, "--out", "run", *SMALL)
    assert begun.code == 0, begun.err
    assert (tmp_path / "run/last").read_text(encoding="utf-8") == "step-0\n"
    assert "run is finished" in glassformer("train", "--resume", "run").err


def test_too_little_memory_names_what_takes_it(
    glassformer: Callable[..., Ended], text_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: object) -> None:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes")

    monkeypatch.setattr("glassformer.training.loop._backward", full)
    ended = glassformer("train", text_file, "--steps", 1, "--out", "run", *SMALL)
    assert ended.code == 2
    assert "glassformer: not enough memory for batch_size=4 at context=8: take a smaller" in ended.err


def test_fine_tuning_makes_a_run_of_its_own(
    glassformer: Callable[..., Ended], run_folder: Path, text_file: Path
) -> None:
    words = ["--from", run_folder, text_file, "--out", "tuned", "--steps", 2, "sample=0"]
    assert glassformer("train", *words).code == 0
    assert glassformer("generate", "tuned", "--tokens", 3, "--seed", 0).code == 0


def test_the_same_seed_writes_the_same_text(glassformer: Callable[..., Ended], run_folder: Path) -> None:
    ask = ["generate", run_folder, "--prompt", "the ", "--tokens", 30]
    first = glassformer(*ask, "--seed", 5)
    assert first.out == glassformer(*ask, "--seed", 5).out
    assert first.err == ""
    unseeded = glassformer(*ask)
    seed = re.search(r"seed (\d+)", unseeded.err)
    assert seed
    assert glassformer(*ask, "--seed", seed[1]).out == unseeded.out


def test_several_samples_stand_apart_and_the_first_is_the_lone_one(
    glassformer: Callable[..., Ended], run_folder: Path
) -> None:
    ask = ["generate", run_folder, "--prompt", "the ", "--tokens", 30, "--seed", 5]
    alone = glassformer(*ask).out
    several = glassformer(*ask, "--samples", 3).out
    parts = re.split(r"--- \d of 3 ---\n", several)[1:]
    assert len(parts) == 3
    assert parts[0] == alone
    assert len(set(parts)) > 1


def test_effects_are_measured_after_their_cost_is_told(
    glassformer: Callable[..., Ended], run_folder: Path, tmp_path: Path
) -> None:
    measured = glassformer("effect", run_folder, "the cat", "--target", " ", "--csv", "e.csv", "--rows", 2)
    assert measured.code == 0, measured.err
    assert "28 edges, each cut and zeroed: 56 passes" in measured.err
    assert measured.out.startswith("target ␣ after token 6 (t)")
    assert len((tmp_path / "e.csv").read_text(encoding="utf-8").splitlines()) == 29
    long = glassformer("effect", run_folder, "the cat sees the mouse", "--head", 0, "--layer", 0)
    assert "the text has 22 tokens; measured are the last 8, counted from 0" in long.err
    assert long.out.startswith("target")
    some = glassformer("effect", run_folder, "the cat", "--layer", 1, "--head", 0, "--query", "all")
    assert "28 edges" in some.err


def test_a_weight_is_worked_out_and_all_are_saved(
    glassformer: Callable[..., Ended], run_folder: Path, tmp_path: Path
) -> None:
    looked = glassformer(
        "look", run_folder, "the cat", "--proof", "1.0.6.2", "--npz", "w.npz", "--generate", 1
    )
    assert looked.code == 0, looked.err
    assert "layer 1, head 0: how much 't' (6) reads 'e' (2)" in looked.out
    assert "<ins>" in (tmp_path / "look.html").read_text(encoding="utf-8")
    assert (tmp_path / "w.npz").is_file()


def test_a_checkpoint_may_be_named_as_its_folder_is(
    glassformer: Callable[..., Ended], run_folder: Path
) -> None:
    by_number, by_name = (
        glassformer("info", run_folder, "--checkpoint", which) for which in ("30", "step-30")
    )
    assert by_number.code == 0
    assert by_number == by_name


def test_figures_come_as_json_too(
    glassformer: Callable[..., Ended], run_folder: Path, text_file: Path
) -> None:
    measured = json.loads(glassformer("eval", run_folder, text_file, "--json").out)
    assert measured["n_bytes"] == len(TEXT.encode())
    assert measured["perplexity"] == pytest.approx(math.exp(measured["loss"]))
    described = json.loads(glassformer("info", run_folder, "--json").out)
    assert described["config"]["d_model"] == 16
    assert described["step"] in (10, 20, 30)
    assert sum(described["parameters"].values()) > 1000


def test_a_part_of_a_long_text_is_measured(
    glassformer: Callable[..., Ended], run_folder: Path, text_file: Path, tmp_path: Path
) -> None:
    part = json.loads(glassformer("eval", run_folder, text_file, "--tokens", 100, "--json").out)
    assert 100 <= part["n_tokens"] < 100 + 16 * 8
    (tmp_path / "start.txt").write_text(TEXT[: part["n_tokens"]], encoding="utf-8", newline="\n")
    alone = json.loads(glassformer("eval", run_folder, "start.txt", "--json").out)
    assert part == pytest.approx(alone, abs=1e-6)


MISTAKES = [
    (["train"], "no text given"),
    (["train", "none.txt"], "none.txt: no such file or folder"),
    (["train", "TEXT", "--resume", "RUN"], "--resume takes all from the run folder"),
    (["train", "--from", "RUN", "TEXT", "--preset", "tiny"], "leave out --preset"),
    (["train", "--resume", "nowhere"], "nowhere: no such run folder"),
    (["train", "--resume", "."], ". is no run folder: it has no checkpoint"),
    (["train", "TEXT", "--out", "RUN"], "already holds a run; --resume"),
    (["train", "TEXT", "layers=3"], "unknown setting 'layers'; did you mean 'n_layers'"),
    (["train", "TEXT", "--preset", "huge"], "'huge' is not one of 'tiny', 'small', 'base'"),
    (["train", "TEXT", "--steps", "-1"], "-1"),
    (["train", "TEXT", "--lr", "3"], "lr is a setting; write lr=VALUE without dashes"),
    (["train", "TEXT", "--batch-size", "3"], "batch_size is a setting; write batch_size=VALUE"),
    (["train", "TEXT", "--sparkle", "3"], "No such option"),
    (["train", "TEXT", "N_LAYERS=3"], "unknown setting 'N_LAYERS'; did you mean 'n_layers'"),
    (["train", "TEXT", "n-layers = 3"], "unknown setting 'n-layers'; did you mean 'n_layers'"),
    (["train", "TEXT", "preset=tiny"], "preset is an option; write --preset tiny"),
    (["train", "TEXT", "bpe_vocab_size=3", "tokenizer=bpe"], "bpe_vocab_size=3: byte-level BPE needs"),
    (["train", "--resume", "RUN", "n_layers=3"], "--resume goes on with the same shape"),
    (["train", ""], "an empty name is no text"),
    (["train", "TEXT", "lr=inf"], "lr=inf: expected a number"),
    (["train", "TEXT", "lr=nan"], "lr=nan: expected a number"),
    (["generate", "nowhere"], "nowhere: no such run folder"),
    (["generate", "RUN", "--prompt", "Ω🙂"], "lacks 'Ω', '🙂'"),
    (["generate", "RUN", "--temperature", "-1"], "temperature must be 0 (greedy) or more"),
    (["generate", "RUN", "--temperature", "nan"], "temperature must be 0 (greedy) or more"),
    (["generate", "RUN", "--top-p", "2"], "top_p must lie between 0 and 1"),
    (["generate", "RUN", "--top-k", "-3"], "top_k must be 0 (off) or more"),
    (["generate", "RUN", "--tokens", "-3"], "-3 is not in the range x>=0"),
    (["generate", "RUN", "--samples", "0"], "0 is not in the range x>=1"),
    (["generate", "RUN", "--checkpoint", "7"], "has no checkpoint 7; there are last, best, and the steps"),
    (["generate", "RUN", "--device", "abacus"], "device=abacus cannot be used here"),
    (["eval", "RUN"], "Missing argument 'TEXT…'"),
    (["eval", "RUN", "none.txt"], "none.txt: no such file or folder"),
    (["look", "RUN", ""], "the text to look at is empty"),
    (["look", "RUN", "the", "--layer", "9"], "layer 9 is not there: the model has layers 0 to 1"),
    (["look", "RUN", "the", "-o", "DIR"], "DIR"),
    (["look", "RUN", "the", "--proof", "1.2"], "'1.2' names no weight; write LAYER.HEAD.QUERY.KEY"),
    (["look", "RUN", "the", "--proof", "0.0.9.0"], "query 9 is not there"),
    (["look", "RUN", "the", "--beside-text", ""], "beside: the text to look at is empty"),
    (["look", "RUN", "the", "--beside-text", "Ω"], "lacks 'Ω'"),
    (["look", "RUN", "the", "--beside-run", "nowhere"], "nowhere: no such run folder"),
    (["look", "RUN", "the", "--beside-checkpoint", "7"], "has no checkpoint 7; there are last, best"),
    (["effect", "RUN", "the", "--target", "ab"], "lacks 'b'"),
    (["effect", "RUN", "the", "--target", "ca"], "is 2 tokens (c a); it must be one"),
    (["effect", "RUN", "the", "--query", "first"], "say last, all, or the place of a token"),
    (["effect", "RUN", "the", "--head", "2"], "head 2 is not there"),
    (["effect", "RUN", ""], "the text is empty"),
    (["effect", "RUN", "the", "--csv", "DIR"], "File 'DIR' is a directory"),
    (["look", "RUN", "the", "-o", "a", "--npz", "a"], "a is named twice"),
    (["look", "RUN", "the", "--layer", "-1"], "-1 is not in the range x>=0"),
    (["info", "nowhere"], "nowhere: no such run folder"),
    (["inform"], "No such command 'inform'"),
    (["train", "TEXT", "--model", "elman"], "'elman' is not one of 'gpt', 'rnn', 'lstm', 'gru'"),
    (["train", "TEXT", "--model", "lstm", "n_heads=2"], "unknown setting 'n_heads'"),
    (["train", "TEXT", "--model", "lstm", "--recipe", "gpt2"], "a new GPT can have a recipe"),
    (["train", "TEXT", "model=lstm"], "model is an option; write --model lstm"),
    (["train", "--from", "LSTM", "TEXT", "--model", "gru"], "leave out --preset, --recipe and --model"),
    (["train", "--resume", "LSTM", "--model", "gru"], "--resume takes all from the run folder"),
    (["effect", "LSTM", "the"], "the model is recurrent: it has no attention, and so no edges to measure"),
    (["look", "LSTM", "the", "--head", "0"], "a recurrent model has no heads"),
    (["look", "LSTM", "the", "--proof", "0.0.1.0"], "a recurrent model has no heads"),
    (["look", "LSTM", "the", "--npz", "w.npz"], "it has no attention, and so no weights to save"),
    (["look", "LSTM", "the", "--beside-text", "cat"], "a recurrent model has no heads"),
    (["look", "RUN", "the", "--beside-run", "LSTM"], "it has no attention, and so no heads to show"),
    (["look", "LSTM", "the", "--layer", "2"], "layer 2 is not there: the model has layers 0 to 1"),
    (["export", "LSTM", "out"], "no family of transformers has this shape"),
]


@pytest.mark.parametrize(("words", "message"), MISTAKES, ids=[" ".join(words) for words, _ in MISTAKES])
def test_a_mistake_is_one_line_and_exit_code_2(
    glassformer: Callable[..., Ended],
    words: list[str],
    message: str,
    run_folder: Path,
    lstm_folder: Path,
    text_file: Path,
    tmp_path: Path,
) -> None:
    (tmp_path / "DIR").mkdir()
    names = {"RUN": str(run_folder), "LSTM": str(lstm_folder), "TEXT": str(text_file)}
    before = sorted(tmp_path.rglob("*"))
    ended = glassformer(*(names.get(word, word) for word in words))
    assert ended.code == 2, ended
    lines = [line for line in ended.err.splitlines() if not line.startswith(("Usage:", "Try ", "seed "))]
    assert len([line for line in lines if line]) == 1, ended.err
    assert message in ended.err
    assert "Traceback" not in ended.err
    assert ended.out == ""
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.skipif(kernel() is None, reason="no C compiler here")
@pytest.mark.parametrize("samples", [1, 2])
def test_int8_weights_say_what_they_cost(
    glassformer: Callable[..., Ended], run_folder: Path, samples: int
) -> None:
    words = ("--prompt", "the c", "--tokens", 12, "--temperature", 0, "--samples", samples)
    exact = glassformer("generate", run_folder, *words)
    assert "int8" not in exact.err
    ended = glassformer("generate", run_folder, *words, "--weights", "int8")
    assert ended.code == 0
    assert "the c" in ended.out
    found = re.search(
        r"^int8 weights: (\d\.\d{4}) nats per token above float32, the same likeliest token "
        r"(\d+) of (\d+) times, over this text$",
        ended.err,
        re.MULTILINE,
    )
    assert found, ended.err
    assert float(found[1]) < 0.01
    assert 0.8 * int(found[3]) <= int(found[2]) <= int(found[3])


@pytest.mark.skipif(kernel() is None, reason="no C compiler here")
def test_int8_weights_are_measured(
    glassformer: Callable[..., Ended], run_folder: Path, text_file: Path
) -> None:
    losses = []
    for weights in ("float32", "int8"):
        ended = glassformer("eval", run_folder, text_file, "--weights", weights, "--json")
        losses.append(json.loads(ended.out)["loss"])
    assert losses[0] != losses[1] == pytest.approx(losses[0], abs=0.01)


def test_int8_weights_without_a_compiler_are_one_line(
    glassformer: Callable[..., Ended], run_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("glassformer.decoding.prepare.kernel", lambda: None)
    for words in (("generate", run_folder), ("eval", run_folder, "-")):
        ended = glassformer(*words, "--weights", "int8")
        assert (ended.code, ended.out) == (2, "")
        assert re.fullmatch(r"glassformer: int8 weights need a C compiler .*\n", ended.err)
