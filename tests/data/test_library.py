"""Foreign tokenizers: the ids and the text of `transformers`, behind our interface."""

import json

import numpy as np
import pytest
import transformers
from tokenizers import Tokenizer, decoders, models

from glassformer.data import corpus, tokenizers
from glassformer.data.library import LibraryTokenizer
from glassformer.decoding.text import TextStream
from glassformer.errors import UserError
from published import SCRIPTS, byte_bpe, metaspace, wordpiece

KINDS = {
    "byte-level": (byte_bpe(), {"eos": [0]}, True),
    "byte-level with bos": (byte_bpe(bos=True), {"bos": [1], "eos": [0, 1]}, True),
    "metaspace": (metaspace(), {"bos": [1], "eos": [2]}, True),
    "newer metaspace": (metaspace(legacy=False), {"bos": [1], "eos": [2]}, True),
    "wordpiece": (wordpiece(), {"pad": [0], "sep": [3], "cls": [2]}, False),
}
EVERY = pytest.mark.parametrize("name", KINDS)
DECODERS = pytest.mark.parametrize("name", [name for name in KINDS if name != "wordpiece"])


def kept(name):
    """The texts of which a kind loses nothing: a newer Metaspace takes a space that is there for its own."""
    return [text for text in SCRIPTS if not (name == "newer metaspace" and text.startswith(" "))]


def ours(name):
    library, roles, opens = KINDS[name]
    return LibraryTokenizer(library.to_str(), roles, opens=opens)


def theirs(name):
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(KINDS[name][0].to_str()), clean_up_tokenization_spaces=False
    )


@EVERY
def test_ids_and_text_are_those_of_transformers(name):
    mine, other = ours(name), theirs(name)
    for text in SCRIPTS:
        whole, plain = (other(text, add_special_tokens=special).input_ids for special in (True, False))
        assert mine.encode(text).tolist() == (plain if name == "wordpiece" else whole)
        assert mine.encode_part(text).tolist() == plain
        assert mine.encode_wrapped(text).tolist() == whole
        assert mine.encode(text).dtype == np.int64
        assert mine.decode(mine.encode(text)) == other.decode(plain)
        assert mine.decode(mine.encode_wrapped(text)) == other.decode(plain)


@DECODERS
def test_what_loses_nothing_decodes_to_itself(name):
    tokenizer = ours(name)
    for text in kept(name):
        assert tokenizer.decode(tokenizer.encode(text)) == text


@DECODERS
def test_pieces_as_they_stream_are_the_text(name):
    tokenizer = ours(name)
    for text in kept(name):
        ids = tokenizer.encode(text).tolist()
        stream = TextStream(tokenizer)
        streamed = "".join([*(stream.push(token) for token in ids), stream.finish()])
        assert streamed.removeprefix(" " if "metaspace" in name and text else "") == text


def test_a_word_piece_knows_whether_it_begins_a_word():
    tokenizer = ours("wordpiece")
    ids = tokenizer.encode("cat zzz").tolist()
    assert b"".join(map(tokenizer.token_bytes, ids)) == b" cat zzz"
    assert len(ids) > 2


@EVERY
def test_special_tokens_in_a_text_are_text_unless_allowed(name):
    tokenizer = ours(name)
    for token, spelled in tokenizer.special.items():
        text = f"a{spelled}b"
        ids = tokenizer.encode_part(text).tolist()
        assert token not in ids or spelled == "[UNK]"
        if name != "wordpiece":
            assert tokenizer.decode(ids) == text
        allowed = tokenizer.encode(text, allow_special=True).tolist()
        assert allowed.count(token) == 1 + (allowed[0] == token)
        plain = tokenizer.decode(allowed)
        assert spelled not in plain
        assert tokenizer.token_bytes(token) == b""


def test_what_opens_a_text_is_not_put_there_twice():
    tokenizer = ours("metaspace")
    assert tokenizer.encode("a")[0] == 1
    assert tokenizer.encode("<s>a", allow_special=True).tolist().count(1) == 1
    assert tokenizer.encode("").tolist() == [1]
    assert ours("wordpiece").encode("").tolist() == []


def test_labels_show_specials_spaces_and_parts_of_characters():
    tokenizer = ours("metaspace")
    labels = tokenizer.labels([*tokenizer.encode("a 囍"), tokenizer.end])
    assert labels == ["<s>", "␣", "a", "␣", "囍 1/3", "囍 2/3", "囍 3/3", "</s>"]
    tokenizer = ours("byte-level")
    assert tokenizer.labels(tokenizer.encode(" a\n")) == ["␣", "a", "⏎"]
    tokenizer = ours("wordpiece")
    assert tokenizer.labels(tokenizer.encode_wrapped("a"))[::2] == ["[CLS]", "[SEP]"]
    assert tokenizer.around == ([2], [3])
    assert ours("metaspace").around == ([1], [])
    assert ours("metaspace").mask is None


def test_an_added_token_that_is_not_special_is_text():
    tokenizer = ours("byte-level")
    ids = tokenizer.encode("x<tool>y").tolist()
    assert tokenizer.labels(ids) == ["x", "<tool>", "y"]
    assert tokenizer.decode(ids) == "x<tool>y"


def test_the_vocabulary_ends_with_the_largest_id_though_it_has_gaps():
    spec = json.loads(byte_bpe().to_str())
    spec["model"]["vocab"]["zzz"] = 9000
    tokenizer = LibraryTokenizer(json.dumps(spec), {"eos": [0]}, opens=True)
    assert tokenizer.vocab_size == 9001
    assert tokenizer.token_bytes(5000) == b""
    assert tokenizer.decode([5000, 9000]) == "zzz"


@EVERY
def test_it_comes_back_as_it_was_saved(name, tmp_path):
    tokenizer = ours(name)
    tokenizer.save(tmp_path)
    again = tokenizers.load(tmp_path)
    assert again.to_json() == tokenizer.to_json() == (tmp_path / "tokenizer.json").read_text(encoding="utf-8")
    assert json.loads(again.spec) == json.loads(KINDS[name][0].to_str())
    assert isinstance(again, LibraryTokenizer)
    assert (again.end, again.start, again.roles) == (tokenizer.end, tokenizer.start, tokenizer.roles)
    for text in SCRIPTS:
        assert again.encode(text).tolist() == tokenizer.encode(text).tolist()


@pytest.mark.parametrize(
    ("name", "start", "end"),
    [("byte-level", 0, 0), ("byte-level with bos", 1, 0), ("metaspace", 1, 2), ("wordpiece", 3, 3)],
)
def test_where_documents_begin_and_end(name, start, end, tmp_path):
    tokenizer = ours(name)
    assert (tokenizer.start, tokenizer.end) == (start, end)
    paths = [tmp_path / f"{i}.txt" for i in range(2)]
    for path in paths:
        path.write_text("a b", encoding="utf-8")
    text = corpus.prepare(paths, tmp_path / "run" / "data", tokenizer, 0)
    document = tokenizer.encode_part("a b").tolist()
    between = [end] if start == end else [end, start]
    assert text.tokens.tolist() == [start, *document, *between, *document, end]
    assert text.tokenizer.to_json() == tokenizer.to_json()


def test_text_that_is_no_unicode_is_refused():
    tokenizer = ours("byte-level")
    for encode in (tokenizer.encode, tokenizer.encode_part, tokenizer.encode_wrapped):
        with pytest.raises(UserError, match="no valid UTF-8"):
            encode("a\udcffb")


def of(decoder=None):
    library = Tokenizer(models.WordLevel({"a": 0, "b": 1}, "b"))
    if decoder is not None:
        library.decoder = decoder
    return library.to_str()


@pytest.mark.parametrize(
    ("spec", "roles", "message"),
    [
        (of(decoders.Fuse()), {}, r"no token is named that ends a text \(eos\)"),
        (of(decoders.Fuse()), {"eos": [2]}, "it has no token 2, which is to be eos"),
        (of(), {"eos": [0]}, "its decoder is missing; known: ByteLevel, Metaspace"),
        (of(decoders.CTC()), {"eos": [0]}, "its decoder is CTC; known: ByteLevel, Metaspace"),
        ("{}", {"eos": [0]}, "cannot be used: "),
        ('{"model": {"type": "Rhyme"}}', {"eos": [0]}, "cannot be used: "),
    ],
)
def test_what_cannot_be_used_is_told_in_one_line(spec, roles, message, tmp_path):
    with pytest.raises(UserError, match=rf"tokenizer\.json.*{message}") as error:
        LibraryTokenizer.read(spec, roles, True, tmp_path / "tokenizer.json")
    assert "\n" not in str(error.value)
