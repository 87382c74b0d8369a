"""Tokenizers: exact round trips, END only when asked for, labels that never show half a character."""

import json
import os
import signal
import threading

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from glassformer.data import tokenizers
from glassformer.data.labels import visible
from glassformer.data.tokenizers import (
    CLS,
    ENCODING,
    END,
    MASK,
    BPETokenizer,
    ByteTokenizer,
    CharTokenizer,
    choose,
)
from glassformer.errors import UserError

TRAINING_TEXT = f"the cat sat on the mat, don't!\n\n  字字字 你好 \t😀 {END} " * 20
BPE = BPETokenizer.train(iter([TRAINING_TEXT]), 300)
BPE_WITH_A_GAP = json.loads(BPE.to_json())
BPE_WITH_A_GAP["model"]["vocab"]["a a"] = 900
FAMILY = "👨\u200d👩\u200d👧"
ODD = ["ﬁ①Ａ㋀", "e\u0301", FAMILY, "\ufeffa\ufffdb", "a\r\nb\rc", "a\u2028b\fc\x85", "\x00\x1c", END, ""]

make = {"chars": CharTokenizer, "bytes": lambda text: ByteTokenizer(), "bpe": lambda text: BPE}
every_kind = pytest.mark.parametrize("kind", make)
texts = st.lists(st.text(max_size=4) | st.sampled_from(ODD), max_size=8).map("".join)


class Pieces(ByteTokenizer):
    """A tokenizer whose tokens are these bytes, cut wherever one likes; None is END."""

    def __init__(self, *pieces):
        self.pieces = pieces
        self.end = pieces.index(None) if None in pieces else -1

    def token_bytes(self, token):
        return self.pieces[token]


def labels(*pieces):
    return Pieces(*pieces).labels(range(len(pieces)))


@every_kind
@settings(derandomize=True, deadline=None)
@given(text=texts)
def test_decode_undoes_encode(kind, text):
    tokenizer = make[kind](text)
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert b"".join(map(tokenizer.token_bytes, ids.tolist())) == text.encode()
    assert all(0 <= i < tokenizer.vocab_size and i != tokenizer.end for i in ids)
    assert ids.dtype == np.int64


@every_kind
@pytest.mark.parametrize("text", ODD)
def test_nothing_is_normalised(kind, text):
    tokenizer = make[kind](text)
    assert tokenizer.decode(tokenizer.encode(text)) == text


@pytest.mark.parametrize(("text", "characters", "n_bytes"), [("e\u0301", 2, 3), (FAMILY, 5, 18), ("é", 1, 2)])
def test_lengths(text, characters, n_bytes):
    assert len(CharTokenizer(text).encode(text)) == characters
    assert len(ByteTokenizer().encode(text)) == n_bytes


@every_kind
@pytest.mark.parametrize(
    ("text", "ends", "without"),
    [(f"a{END}b", 1, "ab"), (f"{END}a{END}{END}", 3, "a"), (END, 1, ""), ("ab", 0, "ab"), ("", 0, "")],
)
def test_end_is_special_only_on_demand(kind, text, ends, without, tmp_path):
    made = make[kind](text)
    made.save(tmp_path)
    for tokenizer in (made, tokenizers.load(tmp_path)):
        plain, special = tokenizer.encode(text), tokenizer.encode(text, allow_special=True)
        assert tokenizer.end not in plain
        assert tokenizer.decode(plain) == text
        assert (special == tokenizer.end).sum() == ends
        assert tokenizer.decode(special) == without
    assert made.token_bytes(made.end) == b""


@every_kind
def test_an_encoder_has_more_special_tokens(kind, tmp_path):
    text = f"the cat {MASK} sat {CLS}{END} 字"
    made = choose(kind, lambda: iter([text + TRAINING_TEXT]), 300, ENCODING)
    plain = choose(kind, lambda: iter([text + TRAINING_TEXT]), 298)
    made.save(tmp_path)
    loaded = tokenizers.load(tmp_path)
    assert loaded.to_json() == made.to_json()
    for tokenizer in (made, loaded):
        ids = {name: token for token, name in tokenizer.special.items()}
        assert [*ids] == [*ENCODING]
        assert [*ids.values()] == [tokenizer.end, tokenizer.end + 1, tokenizer.end + 2]
        assert (tokenizer.mask, tokenizer.around) == (ids[MASK], ([ids[CLS]], [ids[END]]))
        assert tokenizer.vocab_size == plain.vocab_size + 2
        assert not set(tokenizer.encode(text).tolist()) & set(ids.values())
        assert tokenizer.decode(tokenizer.encode(text)) == text
        heard = tokenizer.encode(text, allow_special=True)
        assert [int(i) for i in heard if i in tokenizer.special] == [ids[MASK], ids[CLS], ids[END]]
        assert tokenizer.decode(heard) == "the cat  sat  字"
        assert tokenizer.labels([ids[MASK]]) == [MASK]
        assert all(tokenizer.token_bytes(token) == b"" for token in ids.values())
        wrapped = tokenizer.encode_wrapped("cat").tolist()
        assert wrapped == [ids[CLS], *tokenizer.encode("cat"), ids[END]]
    assert (plain.mask, plain.around) == (None, ([], []))
    assert plain.encode_wrapped("cat").tolist() == plain.encode("cat").tolist()


@every_kind
def test_saved_and_loaded_it_is_the_same(kind, tmp_path):
    text = "".join(ODD) + "\"\\ \n字 don't"
    made = make[kind](text)
    made.save(tmp_path)
    loaded = tokenizers.load(tmp_path)
    assert type(loaded) is type(made)
    assert (loaded.vocab_size, loaded.end, loaded.to_json()) == (made.vocab_size, made.end, made.to_json())
    assert loaded.encode(text).tolist() == made.encode(text).tolist()
    assert all(loaded.token_bytes(i) == made.token_bytes(i) for i in range(made.vocab_size))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x80\x04pickle",
        b"[]",
        b'"bytes"',
        b'{"kind": "words"}',
        b'{"kind": "chars"}',
        b'{"kind": "chars", "characters": 3}',
        b'{"model": {"type": "BPE"}}',
        BPE.to_json().replace(END, "<|other|>").encode(),
        BPE.to_json()[:-20].encode(),
        rb'{"kind": "chars", "characters": "a\ud800"}',
        b'{"kind": "chars", "characters": null}',
        b'{"kind": "chars", "characters": "abba"}',
        b'{"kind": "chars", "characters": "ba"}',
        b'{"kind": "chars", "kind": "bytes", "characters": "ab"}',
        b'{"kind": ["bytes"]}',
        b'{"kind": "library", "spec": null, "roles": {}, "opens": true}',
        b'{"kind": "library", "spec": {}, "roles": {"eos": [0]}, "opens": true}',
        b'{"kind": "library", "roles": {}, "opens": 1}',
        b"[" * 100_000,
        b'{"kind": "bytes", "special": ["<|endoftext|>", "[PAD]"]}',
        b'{"kind": "chars", "characters": "ab", "special": 3}',
        *(
            json.dumps({**json.loads(BPE.to_json()), **changes}).encode()
            for changes in (
                {"model": None},
                {"pre_tokenizer": None},
                {"decoder": {"type": "Rhyme"}},
                {"normalizer": {"type": "Lowercase"}},
                {"normalizer": {"type": "NFC"}},
            )
        ),
        json.dumps(BPE_WITH_A_GAP).encode(),
    ],
)
def test_a_damaged_tokenizer_is_named(content, tmp_path):
    with pytest.raises(UserError, match=r"holds no tokenizer\.json"):
        tokenizers.load(tmp_path)
    (tmp_path / "tokenizer.json").write_bytes(content)
    with pytest.raises(
        UserError, match=r"tokenizer\.json (is no|is damaged|cannot be used|describes none)"
    ) as error:
        tokenizers.load(tmp_path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        (["春天".encode(), b" the"], ["春天", "␣the"]),
        (["字".encode()[i : i + 1] for i in range(3)], ["字 1/3", "字 2/3", "字 3/3"]),
        ([b"\xe5\xad", b"\x97"], ["字 1–2/3", "字 3/3"]),
        ([b"a\xe5", b"\xad\x97b"], ["a 字 1/3", "字 2–3/3 b"]),
        ([b"\xf0\x9f\x98", b"\x80!"], ["😀 1–3/4", "😀 4/4 !"]),
        ([b" \n\t\r"], ["␣⏎⇥␍"]),
        ([b"\x00", b"\x7f", "\u200d\u2028\xa0".encode()], ["U+0000", "U+007F", "U+200D U+2028 U+00A0"]),
        (["e\u0301".encode(), "❤\ufe0f".encode()], ["e U+0301", "❤ U+FE0F"]),
        ([b"\xcc", b"\x81"], ["U+0301 1/2", "U+0301 2/2"]),
        ([b"\xff", b"\x97", b"a\xe5"], ["0xFF", "0x97", "a 0xE5"]),
        ([b"\xe5", None, b"\xad\x97"], ["0xE5", END, "0xAD 0x97"]),
        ([None], [END]),
        ([b"", b"a"], ["", "a"]),
        ([], []),
    ],
)
def test_labels(pieces, expected):
    assert labels(*pieces) == expected


def test_labels_of_characters():
    text = "春 a\n\u0301"
    tokenizer = CharTokenizer(text)
    assert tokenizer.labels([*tokenizer.encode(text), tokenizer.end]) == ["春", "␣", "a", "⏎", "U+0301", END]


@settings(derandomize=True, deadline=None)
@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\ufffd")), data=st.data())
def test_labels_never_show_half_a_character(text, data):
    raw = text.encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=5)))
    pieces = [raw[a:b] for a, b in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
    names = labels(*pieces)
    assert "\ufffd" not in "".join(names)
    assert "0x" not in "".join(names) or "0x" in text
    assert CharTokenizer(text).labels(CharTokenizer(text).encode(text)) == [visible(c) for c in text]
    assert [bool(name) for name in names] == [bool(piece) for piece in pieces]


@settings(derandomize=True, deadline=None)
@given(pieces=st.lists(st.binary(max_size=4)))
def test_labels_of_any_bytes_at_all(pieces):
    assume("\ufffd".encode() not in b"".join(pieces))
    assert len(labels(*pieces)) == len(pieces)
    assert "\ufffd" not in "".join(labels(*pieces))


def test_decode_marks_what_is_no_character():
    assert ByteTokenizer().decode([97, 0xF0, 0x9F, 98]) == "a\ufffdb"


@pytest.mark.parametrize(("distinct", "kind"), [(2, "chars"), (10_000, "chars"), (10_001, "bpe")])
def test_auto_counts_distinct_characters(distinct, kind):
    pieces = ["".join(chr(0x4E00 + i) for i in range(a, distinct, 2)) for a in range(2)] * 2
    made = choose("auto", lambda: iter(pieces), 300)
    assert made.kind == kind
    assert made.vocab_size == (distinct + 1 if kind == "chars" else 300)
    assert choose("chars", lambda: iter(pieces), 300).vocab_size == distinct + 1


@pytest.mark.parametrize("kind", ["auto", "chars"])
def test_a_text_of_one_character_teaches_nothing(kind):
    with pytest.raises(UserError, match="the text has one distinct character; nothing can be learned"):
        choose(kind, lambda: iter(["aa", "a"]), 300)


@pytest.mark.parametrize("kind", ["bytes", "bpe"])
def test_an_asked_for_kind_is_given(kind):
    assert choose(kind, lambda: iter([TRAINING_TEXT]), 260).kind == kind


@pytest.mark.parametrize("size", [257, 258, 280])
def test_bpe_has_the_size_that_was_asked_for(size):
    made = BPETokenizer.train(iter([TRAINING_TEXT]), size)
    assert made.vocab_size == size
    pieces = [made.token_bytes(i) for i in range(size)]
    assert len(set(pieces)) == size
    assert {bytes([byte]) for byte in range(256)} < set(pieces)


def test_bpe_stops_where_the_text_allows_no_more():
    assert BPETokenizer.train(iter(["ab ab"]), 300).vocab_size == 257 + 2  # ab, and ab after a space


@pytest.mark.parametrize("size", [-1, 0, 256])
def test_bpe_needs_all_bytes(size):
    with pytest.raises(UserError, match=f"vocab_size={size}: .* at least 257"):
        BPETokenizer.train(iter([TRAINING_TEXT]), size)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("é", "lacks 'é';"),
        (" ", "lacks ' ';"),
        ("a\nb\n", r"lacks '\n';"),
        ("\u0301", r"lacks '\u0301';"),
        ("zaz字b\x00", r"lacks '\x00', 'z', '字';"),
        ("cdefghijklmn", "lacks 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l' and 2 more;"),
    ],
)
def test_unknown_characters_are_listed_visibly(text, shown):
    tokenizer = CharTokenizer("abab")
    assert tokenizer.encode("").tolist() == []
    with pytest.raises(UserError) as error:
        tokenizer.encode(text)
    assert str(error.value).startswith(f"the vocabulary of 2 characters {shown}")
    assert str(error.value).isprintable()


@every_kind
def test_bytes_that_were_no_text_are_refused(kind):
    with pytest.raises(UserError, match="no valid UTF-8"):
        make[kind]("ab").encode("a\udcff")


def test_the_files_are_plain_json():
    assert json.loads(CharTokenizer("b字a").to_json()) == {"kind": "chars", "characters": "ab字"}
    assert json.loads(ByteTokenizer().to_json()) == {"kind": "bytes"}
    assert json.loads(BPE.to_json())["normalizer"] is None


def test_a_text_without_spaces_is_cut_into_words_that_can_be_learned():
    tokenizer = BPETokenizer.train(iter(["春眠不覺曉" * 400]), 300)
    longest = max(len(tokenizer.token_bytes(token).decode("utf-8", "ignore")) for token in range(300))
    assert longest <= 64
    text = "春眠不覺曉" * 77 + " " * 200 + "x" * 100
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_learning_can_be_stopped_and_hands_on_what_fails():
    held = threading.Event()
    threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        tokenizers._interruptibly(held.wait)
    held.set()

    def texts():
        yield "some text"
        raise UserError("the file is gone")

    with pytest.raises(UserError, match="the file is gone"):
        BPETokenizer.train(texts(), 300)
