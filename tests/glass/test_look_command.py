"""The verb look, for encoders and for two side by side."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Ended
from published import WORDPIECE_ROLES, bert, save, wordpiece


@pytest.fixture(scope="session")
def encoder_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A published encoder with 64 positions; not to be changed."""
    folder = save(bert(), tmp_path_factory.mktemp("published") / "bert", wordpiece())
    (folder / "tokenizer_config.json").write_text(json.dumps(WORDPIECE_ROLES), encoding="utf-8")
    return folder


def test_an_encoder_is_looked_into(
    glassformer: Callable[..., Ended], encoder_folder: Path, tmp_path: Path
) -> None:
    looked = glassformer("look", encoder_folder, "the cat", "--proof", "1.3.1.3", "--npz", "w.npz")
    assert looked.code == 0, looked.err
    assert "layer 1, head 3: how much '␣the' (1) reads '[SEP]' (3)" in looked.out
    assert (tmp_path / "w.npz").is_file()
    page = (tmp_path / "look.html").read_text(encoding="utf-8")
    assert page.count("<article") == 1
    assert "[CLS]" in page


def test_two_runs_texts_and_checkpoints_stand_side_by_side(
    glassformer: Callable[..., Ended], run_folder: Path, encoder_folder: Path, tmp_path: Path
) -> None:
    def columns(*words: object) -> list[str]:
        looked = glassformer("look", run_folder, "the cat", "--lang", "en", *words)
        assert looked.code == 0, looked.err
        page = (tmp_path / "look.html").read_text(encoding="utf-8")
        return page.split('<article class="subject"')[1:]

    def named(column: str) -> tuple[str, ...]:
        step = re.search(r"Checkpoint of step (\d+)", column)
        text = re.search(r"<blockquote[^>]*>(.*?)</blockquote>", column)
        assert text
        name = re.search(r"<h2>(.*?)</h2>", column)
        assert name
        return name[1], step[1] if step else "", text[1]

    run, best = str(run_folder), named(columns("--beside-text", "the")[0])[1]
    assert len(columns()) == 1
    assert [named(c) for c in columns("--beside-text", "a mouse")] == [
        (run, best, "the cat"),
        (run, best, "a mouse"),
    ]
    assert [named(c) for c in columns("--beside-checkpoint", "last")] == [
        (run, best, "the cat"),
        (run, "30", "the cat"),
    ]
    assert [named(c) for c in columns("--beside-run", encoder_folder)] == [
        (run, best, "the cat"),
        (str(encoder_folder), "", "the cat"),
    ]
    both = columns(
        "--checkpoint", "last", "--beside-run", run_folder, "--beside-text", "the", "--generate", 2
    )
    first, second = map(named, both)
    assert first[:2] == second[:2] == (run, "30")
    assert re.fullmatch("the cat<ins>.{2}</ins>", first[2], re.DOTALL)
    assert re.fullmatch("the<ins>.{2}</ins>", second[2], re.DOTALL)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["look", "RUN", "the", "--beside-run", "ENCODER", "--generate", "2"], "ENCODER is an encoder"),
        (["look", "ENCODER", "the", "--generate", "2"], "ENCODER is an encoder: it reads a text, but has no"),
        (
            ["look", "ENCODER", "the " * 63],
            "the text has 65 tokens, special ones included; this encoder sees",
        ),
        (["look", "ENCODER", "the", "--proof", "0.0.3.0"], "query 3 is not there"),
        (["effect", "ENCODER", "the"], "ENCODER is an encoder"),
    ],
)
def test_what_an_encoder_cannot_do_is_one_line(
    glassformer: Callable[..., Ended],
    words: list[str],
    message: str,
    run_folder: Path,
    encoder_folder: Path,
    tmp_path: Path,
) -> None:
    names = {"RUN": str(run_folder), "ENCODER": str(encoder_folder)}
    ended = glassformer(*(names.get(word, word) for word in words))
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.count("\n") == 1
    assert message.replace("ENCODER", str(encoder_folder)) in ended.err
    assert not list(tmp_path.iterdir())
