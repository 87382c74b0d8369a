"""Sources: which files are meant, their text to the last character, and pieces that encode like the whole."""

import io
import os
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glassformer.data import corpus, sources
from glassformer.data.tokenizers import BPETokenizer
from glassformer.errors import UserError

BOM = b"\xef\xbb\xbf"
CODE = "def f(x):\n    if x:\n\n\n        return  'don't'  \n\n\tx = 字 + 1\n \n  # end. \n" * 3
BPE = BPETokenizer.train(iter([CODE * 20]), 300)
SIZES = (1, 2, 3, 7, 1 << 20)


def read(path, chunk=1 << 20, longest=1 << 24):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sources, "CHUNK", chunk)
        patch.setattr(sources, "LONGEST_PIECE", longest)
        return list(sources.read(path))


def ids(text):
    return BPE.encode(text).tolist()


@pytest.fixture(scope="session")
def file(tmp_path_factory):
    return tmp_path_factory.mktemp("sources") / "text"


@pytest.mark.parametrize("chunk", SIZES)
@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (BOM + b"ab", "ab"),
        (BOM, ""),
        (BOM * 2 + b"a" + BOM, "\ufeffa\ufeff"),
        (b"a\r\nb\r\n", "a\nb\n"),
        (b"\r\n\r\n", "\n\n"),
        (b"a\rb\r", "a\rb\r"),
        (b"a\r\r\nb\n\r", "a\r\nb\n\r"),
        ("a\u2028b\u2029c\x85d\x0be\ff\x1cg\x00".encode(), "a\u2028b\u2029c\x85d\x0be\ff\x1cg\x00"),
        (" \n\n字😀e\u0301\n ".encode(), " \n\n字😀e\u0301\n "),
        (b"", ""),
    ],
)
def test_text_is_kept_but_for_bom_and_crlf(raw, text, chunk, file):
    file.write_bytes(raw)
    assert "".join(read(file, chunk)) == text


def test_only_line_feeds_end_lines(file):
    file.write_bytes("a\u2028b\fc".encode())
    assert read(file) == ["a\u2028b\fc"]


@settings(derandomize=True, deadline=None)
@given(
    text=st.lists(st.text(max_size=3) | st.sampled_from(["\r\n", "\r", "\n", " "])).map("".join),
    chunk=st.integers(1, 9),
)
def test_any_text_comes_back(text, chunk, file):
    file.write_bytes(BOM + text.encode())
    assert "".join(read(file, chunk)) == text.replace("\r\n", "\n")


@settings(derandomize=True, deadline=None, max_examples=300)
@given(
    text=st.lists(
        st.sampled_from([*"\n\n  \t\r.'!s1a字", "word", " the", "\r\n", "\n\n", "\x1c", "\x85", "\u3000"])
    ).map("".join),
    chunk=st.integers(1, 9),
)
def test_pieces_encode_like_the_whole(text, chunk, file):
    file.write_bytes(text.encode())
    pieces = read(file, chunk)
    assert [i for piece in pieces for i in ids(piece)] == ids("".join(pieces))


@pytest.mark.parametrize(
    "text",
    [
        CODE,
        CODE.replace("\n", "\r\n"),
        "a line, then none.\n\n" * 9,
        "trailing spaces  \n" * 9,
        "one long line " * 9,
    ],
)
def test_a_text_is_cut_into_many_pieces(text, file):
    file.write_bytes(text.encode())
    pieces = read(file, chunk=16)
    assert len(pieces) > 5
    assert max(map(len, pieces)) < 64
    assert [i for piece in pieces for i in ids(piece)] == ids(text.replace("\r\n", "\n"))


@pytest.mark.parametrize("text", ["字" * 1000, "a" * 1000, "\n" * 1000])
def test_a_text_without_places_to_cut_is_cut_all_the_same(text, file):
    file.write_bytes(text.encode())
    pieces = read(file, chunk=16, longest=64)
    assert "".join(pieces) == text
    assert max(map(len, pieces)) < 64 + 16


@pytest.mark.parametrize("chunk", SIZES)
@pytest.mark.parametrize(
    ("raw", "offset"),
    [
        (b"abc\xff", 3),
        (b"a" * 100 + b"\xe9b", 100),
        (BOM + b"ab\xff", 5),
        (BOM + b"\r\n\xffa", 5),
        (b"a\r\n" * 9 + b"\xff\xff", 27),
        ("字".encode() * 5 + b"\xe5\xad", 15),
        (b"ab\xf0\x9f\x98", 2),
        (b"ab\xe5\xad(", 2),
        (b"\xc0\xaf", 0),
        (BOM[:2], 0),
        (b"ab\xed\xa0\x80", 2),
    ],
)
def test_what_is_not_utf8_is_shown_by_its_byte(raw, offset, chunk, file):
    file.write_bytes(raw)
    with pytest.raises(UserError) as error:
        read(file, chunk)
    assert str(error.value).startswith(f"{file}: not UTF-8 at byte {offset} (0x{raw[offset]:02x}); ")


@pytest.mark.parametrize(
    ("raw", "hint"),
    [
        ("\ufeff字".encode("utf-16-le"), "UTF-16"),
        ("\ufeff字".encode("utf-16-be"), "UTF-16"),
        ("汉字".encode("gbk"), "GBK"),
        ("é".encode("latin-1"), "Latin-1"),
    ],
)
def test_another_encoding_is_guessed(raw, hint, file):
    file.write_bytes(raw)
    with pytest.raises(UserError, match=hint):
        read(file)


def test_what_cannot_be_read_says_why(tmp_path, monkeypatch):
    for reader in (read, lambda path: corpus.prepare([path], path / "run" / "data", "bytes", 0)):
        with pytest.raises(UserError, match="Is a directory"):
            reader(tmp_path)
    with pytest.raises(UserError, match="gone: No such file"):
        read(tmp_path / "gone")

    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(UserError, match="mine: Permission denied"):
        read(tmp_path / "mine")


@pytest.fixture
def tree(tmp_path, monkeypatch):
    names = ["b.txt", "a.MD", "sub/c.rst", "sub/deep/d.text", "a/z.tex", "e.py", ".f.txt", ".git/g.txt"]
    for name in [*names, "sub/.h/i.txt", "x.txt/y.org", "[1].txt"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("text", encoding="utf-8")
    (tmp_path / "empty.txt").touch()
    (tmp_path / "bare").mkdir()
    (tmp_path / "unseen").mkdir()
    (tmp_path / "unseen" / ".txt.txt").write_text("text", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


FOLDER = ["[1].txt", "a.MD", "a/z.tex", "b.txt", "sub/c.rst", "sub/deep/d.text", "x.txt/y.org"]


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (["."], sorted(FOLDER, key=Path)),
        (["sub"], ["sub/c.rst", "sub/deep/d.text"]),
        ([".git"], [".git/g.txt"]),
        (["e.py", "b.txt"], ["e.py", "b.txt"]),
        (["[1].txt"], ["[1].txt"]),
        (["*.txt"], ["[1].txt", "b.txt"]),
        (["**/*.r*", "e.??"], ["sub/c.rst", "e.py"]),
        (["b.txt", "*.txt", "./b.txt", "sub/../b.txt"], ["b.txt", "[1].txt"]),
    ],
)
def test_which_files_are_meant(given, found, tree):
    with sources.opened(given) as paths:
        assert [path.resolve().relative_to(tree).as_posix() for path in paths] == found


def test_a_file_with_many_names_is_read_once(tree):
    (tree / "link.md").symlink_to(tree / "b.txt")
    with sources.opened(["sub/c.rst", "b.txt", "link.md", str(tree / "b.txt"), "sub"]) as paths:
        assert [path.resolve().name for path in paths] == ["c.rst", "b.txt", "d.text"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "no text given"),
        (["b.txt", "gone.txt"], "gone.txt: no such file or folder"),
        (["empty.txt"], "empty.txt is empty"),
        (["bare"], "bare holds no text: no file that ends in"),
        (["unseen"], "unseen holds no text"),
        (["*.doc"], "*.doc matches no file with text"),
        (["empt*"], "empt* matches no file with text"),
        (["s?b"], "s?b matches no file with text"),
    ],
)
def test_what_is_no_text_is_named(given, message, tree):
    with pytest.raises(UserError) as error, sources.opened(given):
        pass
    assert str(error.value).startswith(message)


def stdin(monkeypatch, raw):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(raw), encoding="ascii"))


def test_standard_input_is_a_file_while_it_is_needed(tree, monkeypatch):
    stdin(monkeypatch, BOM + "字\r\n".encode())
    with sources.opened(["b.txt", "-", "-"]) as paths:
        assert ["".join(sources.read(path)) for path in paths] == ["text", "字\n"]
    assert not os.path.lexists(paths[1])


def test_standard_input_may_not_be_empty(monkeypatch):
    stdin(monkeypatch, b"")
    with pytest.raises(UserError, match="standard input is empty"), sources.opened(["-"]):
        pass


def test_a_pipe_is_read_like_a_file(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes("春眠".encode()), daemon=True)
    writer.start()
    with sources.opened([str(pipe)]) as paths:
        assert "".join(sources.read(paths[0])) == "春眠"
    writer.join(10)
    with pytest.raises(UserError, match="/dev/null is empty"), sources.opened(["/dev/null"]):
        pass


def test_a_folder_that_may_not_be_read_is_named(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("text", encoding="utf-8")

    def refuse(path):
        raise PermissionError(13, "Permission denied", str(path))

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", refuse)
        with pytest.raises(UserError, match="Permission denied"):
            list(sources._files(tmp_path))
