"""What the verbs read and write: pipes, consoles, encodings."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import SMALL, TEXT, Ended


def command(*words: object, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """The command in a process of its own, with an environment of its own."""
    return subprocess.run(
        [sys.executable, "-m", "glassformer", *map(str, words)],
        capture_output=True,
        env={**os.environ, **environment},
        check=False,
    )


def test_text_comes_from_standard_input(
    glassformer: Callable[..., Ended], run_folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source = tmp_path / "input"
    source.write_bytes(b"\xef\xbb\xbfthe cat\r\n")
    for words in (["look", run_folder, "-"], ["eval", run_folder, "-"]):
        with source.open(encoding="utf-8") as file:
            monkeypatch.setattr(sys, "stdin", file)
            assert glassformer(*words).code == 0
    assert "the cat\n" in (tmp_path / "look.html").read_text(encoding="utf-8")


def test_a_prompt_comes_from_standard_input(
    glassformer: Callable[..., Ended], run_folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source = tmp_path / "prompt"
    source.write_bytes("猫看".encode())
    with source.open(encoding="utf-8") as file:
        monkeypatch.setattr(sys, "stdin", file)
        written = glassformer("generate", run_folder, "--prompt", "-", "--tokens", 3, "--seed", 1)
    assert written.out.startswith("猫看")
    assert glassformer("generate", run_folder, "--prompt", "猫看", "--tokens", 3, "--seed", 1) == written


def test_a_page_goes_to_standard_output_alone(glassformer: Callable[..., Ended], run_folder: Path) -> None:
    looked = glassformer("look", run_folder, "the cat", "-o", "-", "--proof", "0.0.1.0")
    assert looked.out.startswith("<!doctype html>")
    assert looked.out.endswith("</html>\n") or looked.out.endswith("</html>")
    assert "layer 0, head 0" in looked.err


def test_a_locale_without_utf8_reads_and_writes_utf8_files(run_folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "look.html"
    ended = command(
        "look", run_folder, "猫看老鼠", "-o", page, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0"
    )
    assert ended.returncode == 0, ended.stderr
    assert '<blockquote dir="auto">猫看老鼠</blockquote>' in page.read_text(encoding="utf-8")


def test_a_console_that_lacks_a_character_does_not_end_the_program(run_folder: Path) -> None:
    words = ["generate", run_folder, "--prompt", "猫", "--tokens", 3, "--seed", 1]
    ended = command(*words, PYTHONIOENCODING="cp1252:strict")
    assert ended.returncode == 0, ended.stderr
    assert b"\\u732b" in ended.stdout


def test_no_file_is_opened_in_the_encoding_of_the_locale(run_folder: Path, tmp_path: Path) -> None:
    text = tmp_path / "t.txt"
    text.write_text(TEXT, encoding="utf-8")
    code = (
        "import sys, warnings\n"
        "warnings.filterwarnings('error', category=EncodingWarning, module='glassformer')\n"
        "from glassformer.cli import cli\n"
        "for words in {words!r}: cli(words, standalone_mode=False)\n"
    )
    run = str(run_folder)
    words = [
        ["train", str(text), "--out", str(tmp_path / "run"), "--steps", "2", *SMALL, "tokenizer=bpe"],
        ["train", "--resume", str(tmp_path / "run"), "--steps", "3"],
        ["generate", run, "--tokens", "2"],
        ["eval", run, str(text)],
        ["look", run, "the", "-o", str(tmp_path / "look.html")],
        ["info", run],
    ]
    ended = subprocess.run(
        [sys.executable, "-X", "warn_default_encoding", "-c", code.format(words=words)],
        capture_output=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr.decode()


def test_a_reader_that_has_gone_is_no_error(run_folder: Path) -> None:
    words = f"{sys.executable} -m glassformer generate {run_folder} --tokens 2000 --seed 1 | head -c 5"
    ended = subprocess.run(["bash", "-c", words], capture_output=True, check=False)
    assert len(ended.stdout) == 5
    assert ended.stderr == b""
