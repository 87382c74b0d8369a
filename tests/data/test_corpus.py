"""Token files: END between documents, encoded once, borrowed from a neighbour, whole or not there at all."""

import errno
import json
import os
import resource
import shutil
import subprocess
import sys

import numpy as np
import pytest

from glassformer.data import corpus, sources
from glassformer.data.tokenizers import END, CharTokenizer
from glassformer.errors import UserError

E = 256  # END among bytes
FILES = ["corpus.json", "tokenizer.json", "tokens.bin"]


@pytest.fixture
def prepare(tmp_path):
    """Encodes texts, given as bytes, as the documents of a run."""

    def prepared(*texts, run="a", tokenizer="bytes", vocab_size=300, **options):
        paths = [tmp_path / f"{i}.txt" for i in range(len(texts))]
        for path, text in zip(paths, texts, strict=True):
            path.write_bytes(text)
        return corpus.prepare(paths, tmp_path / "runs" / run / "data", tokenizer, vocab_size, **options)

    prepared.folder = lambda run: tmp_path / "runs" / run / "data"
    return prepared


@pytest.fixture
def encoded(monkeypatch):
    """How often something was encoded."""
    calls, encode = [], corpus._encode
    monkeypatch.setattr(corpus, "_encode", lambda *given: (calls.append(given), encode(*given)))
    return calls


@pytest.fixture
def no_links(monkeypatch):
    def refuse(*_):
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", refuse)


def inode(folder):
    return (folder / "tokens.bin").stat().st_ino


@pytest.mark.parametrize(
    ("texts", "tokens", "n_bytes"),
    [
        ([b"ab"], [E, 97, 98, E], 2),
        ([b"ab", b"c"], [E, 97, 98, E, 99, E], 3),
        ([b"\xef\xbb\xbfa\r\n", b"\n"], [E, 97, 10, E, 10, E], 3),
        ([b"a", b"a"], [E, 97, E, 97, E], 2),
        ([END.encode()], [E, *END.encode(), E], 13),
        (["字".encode()], [E, 0xE5, 0xAD, 0x97, E], 3),
    ],
)
def test_end_stands_before_between_and_after(texts, tokens, n_bytes, prepare):
    made = prepare(*texts)
    assert made.tokens.tolist() == tokens
    assert isinstance(made.tokens, np.memmap)
    meta = made.meta
    assert (meta.n_tokens, meta.n_documents, meta.n_bytes) == (len(tokens), len(texts), n_bytes)
    assert {path.name for path in prepare.folder("a").iterdir()} == {*FILES}


@pytest.mark.parametrize(("distinct", "dtype"), [((1 << 16) - 1, "uint16"), (1 << 16, "uint32")])
def test_ids_take_two_bytes_while_they_fit(distinct, dtype, prepare):
    made = prepare(
        b"ab", tokenizer=CharTokenizer(["a", "b", *(chr(0x10002 + i) for i in range(distinct - 2))])
    )
    assert made.tokens.dtype == made.meta.dtype == dtype
    assert made.tokens.tolist() == [distinct, 0, 1, distinct]


@pytest.mark.parametrize(("fraction", "n_valid"), [(0.0, 0), (0.1, 1), (0.25, 3), (0.5, 6)])
def test_split_cuts_by_position(fraction, n_valid, prepare):
    made = prepare(b"abcdefghij")
    seen, held_out = made.split(fraction)
    assert len(held_out) == n_valid
    assert [*seen, *held_out] == made.tokens.tolist()


@pytest.mark.parametrize("kind", ["auto", "bytes", "bpe"])
def test_a_neighbour_lends_its_file(kind, prepare, encoded):
    lent = prepare(b"ab ab", b"c", tokenizer=kind)
    made = prepare(b"ab ab", b"c", tokenizer=kind, run="b")
    assert inode(prepare.folder("a")) == inode(prepare.folder("b"))
    assert made.meta == lent.meta
    assert made.tokenizer.to_json() == lent.tokenizer.to_json()
    shutil.rmtree(prepare.folder("a"))
    assert corpus.load(prepare.folder("b")).tokens.tolist() == made.tokens.tolist() == lent.tokens.tolist()
    assert prepare(b"ab ab", b"c", tokenizer=kind, run="b").meta == made.meta
    assert len(encoded) == 1


def test_where_files_cannot_be_linked_they_are_copied(prepare, encoded, no_links):
    lent = prepare(b"ab")
    assert prepare(b"ab", run="b").tokens.tolist() == lent.tokens.tolist()
    assert len(encoded) == 1
    assert inode(prepare.folder("a")) != inode(prepare.folder("b"))


@pytest.mark.parametrize(
    ("texts", "options"),
    [
        ([b"ad", b"c"], {}),
        ([b"a", b"bc"], {}),
        ([b"c", b"ab"], {}),
        ([b"abc"], {}),
        ([b"ab", b"c"], {"tokenizer": "chars"}),
        ([b"ab", b"c"], {"tokenizer": "bpe", "vocab_size": 257}),
        ([b"ab", b"c"], {"tokenizer": CharTokenizer("abc")}),
    ],
)
def test_other_text_or_tokenizer_is_encoded_anew(texts, options, prepare, encoded):
    prepare(b"ab", b"c")
    made = prepare(*texts, run="b", **options)
    assert len(encoded) == 2
    documents = [made.tokenizer.encode(text.decode()).tolist() for text in texts]
    end = made.tokenizer.end
    assert made.tokens.tolist() == [end, *(i for document in documents for i in [*document, end])]


def damage(folder, how):
    tokens = (folder / "tokens.bin").read_bytes()
    (folder / "tokens.bin").unlink()  # the neighbours' stays as it is
    if how is not None:
        (folder / "tokens.bin").write_bytes(how(tokens))


DAMAGES = [lambda raw: raw[:-1], lambda raw: raw[:-2], lambda raw: raw + b"x", lambda raw: b"", None]


@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_token_file_is_named_and_not_lent(how, prepare):
    prepare(b"abc")
    damage(prepare.folder("a"), how)
    with pytest.raises(UserError, match=r"runs/a/data/tokens\.bin"):
        corpus.load(prepare.folder("a"))
    assert prepare(b"abc", run="b").tokens.tolist() == [E, 97, 98, 99, E]
    assert prepare(b"abc", run="a").tokens.tolist() == [E, 97, 98, 99, E]


@pytest.mark.parametrize(
    "content",
    [
        None,
        *("", "[]", "3", "{}", '{"key": "', '{"key": "x", "dtype": "uint16"}'),
        *({name: None} for name in ("key", "dtype", "n_tokens", "content")),
        *({"dtype": dtype} for dtype in ("O", "float16", "int16", ["uint16"])),
        *({"n_tokens": n} for n in (-5, "5", 1e30, 10**30)),
        {"more": 1},
    ],
)
def test_a_damaged_description_is_named(content, prepare):
    prepare(b"abc")
    meta = prepare.folder("a") / "corpus.json"
    if isinstance(content, dict):
        content = json.dumps(json.loads(meta.read_text(encoding="utf-8")) | content)
    meta.unlink()
    if content is not None:
        meta.write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match=r"runs/a/data/(corpus\.json|tokens\.bin is)"):
        corpus.load(prepare.folder("a"))
    assert prepare(b"abc").meta.n_tokens == 5


@pytest.mark.parametrize(
    ("texts", "options", "message"),
    [
        ([b"ab", b"c\xff"], {}, r"1\.txt: not UTF-8 at byte 1"),
        ([b"ab", b"c\xff"], {"tokenizer": "bpe"}, r"1\.txt: not UTF-8 at byte 1"),
        ([b"ab", b"c"], {"tokenizer": CharTokenizer("ab")}, r"1\.txt: the vocabulary .* lacks 'c'"),
        ([b"ab"], {"tokenizer": "bpe", "vocab_size": 256}, "at least 257"),
        ([b"aaaa", b"a"], {"tokenizer": "auto"}, "one distinct character; nothing can be learned from it"),
    ],
)
def test_failure_leaves_what_was_there(texts, options, message, prepare):
    with pytest.raises(UserError, match=message):
        prepare(*texts, **options)
    assert list(prepare.folder("a").parent.iterdir()) == []
    before = prepare(b"before").tokens.tolist()
    with pytest.raises(UserError, match=message):
        prepare(*texts, **options)
    assert list(prepare.folder("a").parent.iterdir()) == [prepare.folder("a")]
    assert corpus.load(prepare.folder("a")).tokens.tolist() == before


@pytest.mark.parametrize("lent", [False, True])
def test_a_full_disk_leaves_nothing(lent, prepare, no_links):
    if lent:
        prepare(b"a" * 5000, run="b")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        with pytest.raises(OSError, match="File too large") as error:  # noqa: PT012
            resource.setrlimit(resource.RLIMIT_FSIZE, (6000, before[1]))
            prepare(b"a" * 5000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert error.value.errno == errno.EFBIG
    assert list(prepare.folder("a").parent.iterdir()) == []
    assert prepare(b"a" * 5000).meta.n_tokens == 5002


def test_an_interruption_leaves_nothing(prepare):
    def stop(what, done, total):
        if what.startswith("encoding"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prepare(b"ab", advance=stop)
    assert list(prepare.folder("a").parent.iterdir()) == []


TEXT = b"  one two\n\nthree  \n\tfour \n" * 200


@pytest.mark.parametrize("kind", ["bytes", "chars", "bpe"])
def test_a_text_of_any_size_is_streamed(kind, prepare, monkeypatch):
    whole = prepare(TEXT, TEXT[:1000], tokenizer=kind)
    sizes, made = [], type(whole.tokenizer)
    monkeypatch.setattr(sources, "CHUNK", 64)
    encode = made._encode
    monkeypatch.setattr(made, "_encode", lambda self, text: (sizes.append(len(text)), encode(self, text))[1])
    told = []
    shutil.rmtree(prepare.folder("a"))
    pieces = prepare(TEXT, TEXT[:1000], tokenizer=kind, advance=lambda *given: told.append(given))
    assert max(sizes) < 128
    assert pieces.tokens.tolist() == whole.tokens.tolist()
    assert pieces.tokenizer.decode(pieces.tokens) == (TEXT + TEXT[:1000]).decode()
    whats = {"checking": len(TEXT) + 1000, "encoding 0.txt": len(TEXT), "encoding 1.txt": 1000}
    for what, total in whats.items():
        done = [entry[1] for entry in told if entry[0] == what]
        assert done == sorted(done)
        assert {(entry[0], entry[2]) for entry in told if entry[0] == what} == {(what, total)}
        assert done[-1] == total


def test_the_locale_does_not_matter(tmp_path):
    text = tmp_path / "text"
    text.write_bytes("é你\n".encode())
    script = (
        "import sys; from pathlib import Path; from glassformer.data import corpus;"
        "made = corpus.prepare([Path(sys.argv[1])], Path(sys.argv[2]), 'chars', 0);"
        "assert made.tokenizer.decode(made.tokens) == '\\xe9\\u4f60\\n'"
    )
    flags = ["-X", "warn_default_encoding", "-W", "error::EncodingWarning"]
    env = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    subprocess.run([sys.executable, *flags, "-c", script, text, tmp_path / "data"], env=env, check=True)
    assert json.loads((tmp_path / "data" / "tokenizer.json").read_bytes())["characters"] == "\né你"
