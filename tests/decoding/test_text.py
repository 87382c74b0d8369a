"""Text: streaming never cuts a character, stop strings stop wherever tokens are cut, a seed is a text."""

import random
from dataclasses import asdict
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import glassformer
from glassformer import UserError
from glassformer.data.tokenizers import BPETokenizer, ByteTokenizer, CharTokenizer
from glassformer.decoding.loop import Row, write
from glassformer.decoding.samplers import Sampler
from glassformer.decoding.text import TextStream, generate, generate_batch, stream
from glassformer.models import GPT, Bert, BertConfig, GPTConfig
from glassformer.nn.blocks import initialise

BYTES, CHARS = ByteTokenizer(), CharTokenizer("abcdefgh")
BPE = BPETokenizer.train(iter(["春眠不觉晓，处处闻啼鸟。" * 9, "the other day " * 9]), 300)
TOKENIZERS = pytest.mark.parametrize("tokenizer", [BYTES, CHARS, BPE], ids=["bytes", "chars", "bpe"])
PROMPTS = ["", "a", "hgfedcbahg", "bad", "a"]
SAMPLER = Sampler(1.3, 200, 0.99, 1.1)
OPTIONS = {"tokens": 30, **asdict(SAMPLER)}


def make(vocab_size, **changes):
    torch.manual_seed(0)
    model = GPT(GPTConfig(vocab_size, 8, 2, 2, d_model=16, tie_embeddings=False, **changes))
    initialise(model, 1, std=0.3)
    return model.double().eval()


class Chain(GPT):
    """After each token of a text that has no token twice, END included, it is sure of the next."""

    def __init__(self, tokenizer, text):
        super().__init__(GPTConfig(tokenizer.vocab_size, 8, 1, 1, d_model=2))
        ring = [tokenizer.end, *tokenizer.encode(text), tokenizer.end]
        self.following = torch.zeros(tokenizer.vocab_size, tokenizer.vocab_size)
        self.following[ring[:-1], ring[1:]] = 1e4

    def forward(self, tokens, state=None, **rest):
        return self.following[tokens], state


class Pieces:
    """A tokenizer whose token i stands for the i-th of some byte strings."""

    def __init__(self, pieces):
        self.pieces = pieces

    def token_bytes(self, token):
        return self.pieces[token]


def streamed(pieces, stop=()):
    """What each piece releases, then what the end does; and whether a stop string was found."""
    text = TextStream(Pieces(pieces), stop)
    return [*(text.push(i) for i in range(len(pieces))), text.finish()], text.stopped


def cut(data, places):
    """`data` cut at some places."""
    at = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[a:b] for a, b in pairwise(at)]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("你😀".encode(), ["", "", "你", "", "", "", "😀", ""]),
        ("a\ufffdb".encode(), ["a", "", "", "\ufffd", "b", ""]),
        ("😀".encode()[:2], ["", "", "\ufffd"]),
        (b"\xe4\xbda", ["", "", "\ufffda", ""]),
        (b"\x80\xff", ["\ufffd", "\ufffd", ""]),
        (b"", [""]),
    ],
)
def test_a_character_comes_with_its_last_byte(data, expected):
    assert streamed([bytes([byte]) for byte in data])[0] == expected


@settings(derandomize=True, deadline=None, max_examples=300)
@given(st.lists(st.binary(max_size=5) | st.text(max_size=2).map(str.encode)))
def test_pieces_together_are_the_text(pieces):
    assert "".join(streamed(pieces)[0]) == b"".join(pieces).decode("utf-8", "replace")


@TOKENIZERS
@settings(derandomize=True, deadline=None)
@given(st.lists(st.integers(0, 10**6), max_size=30))
def test_pieces_together_are_decode(tokenizer, numbers):
    ids, text = [number % tokenizer.vocab_size for number in numbers], TextStream(tokenizer)
    assert "".join(map(text.push, ids)) + text.finish() == tokenizer.decode(ids)


@settings(derandomize=True, deadline=None)
@given(st.text(), st.lists(st.integers(0, 1000)))
def test_whole_characters_never_wait(text, places):
    pieces = cut(text.encode(), places)
    released = streamed(pieces)[0]
    for i in range(len(pieces)):
        assert "".join(released[: i + 1]) == b"".join(pieces[: i + 1]).decode("utf-8", "ignore")


SHORT = st.text("a你😀", min_size=1, max_size=4)


@settings(derandomize=True, deadline=None, max_examples=500)
@given(st.text("a你😀", max_size=12), st.lists(SHORT, max_size=3), st.lists(st.integers(0, 99)))
def test_stops_where_a_stop_string_is_first_complete(text, stop, places):
    expected, found = text, False
    for n in range(len(text) + 1):
        if ends := [s for s in stop if text[:n].endswith(s)]:
            expected, found = text[: n - max(map(len, ends))], True
            break
    released, stopped = streamed(cut(text.encode(), places), stop)
    assert ("".join(released), stopped) == (expected, found)


@pytest.mark.parametrize(
    ("pieces", "stop", "expected"),
    [
        (["xab", "d"], ["abc"], ["x", "abd", ""]),
        (["xab"], ["abc"], ["x", "ab"]),
        (["xab", "cy", "z"], ["abc"], ["x", "", "", ""]),
        (["aa", "a", "b"], ["aab"], ["", "a", "", ""]),
        (["a", "b"], ["", "b"], ["a", "", ""]),
        (["a", "b"], [""], ["a", "b", ""]),
        (["ba", "b"], "ab", ["b", "", ""]),
        (["abcd"], ["bcd", "c"], ["ab", ""]),
    ],
)
def test_what_may_be_a_stop_string_waits_until_it_is_decided(pieces, stop, expected):
    assert streamed([piece.encode() for piece in pieces], stop)[0] == expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "bcdefgh"),
        ({"tokens": 0}, ""),
        ({"tokens": 3}, "bcd"),
        ({"stop": ["ef"]}, "bcd"),
        ({"stop": ["gf", "h", "de"]}, "bc"),
        ({"stop": ["efh", "gx"], "tokens": 4}, "bcde"),
        ({"stop": ["efh", "b"]}, ""),
    ],
)
@pytest.mark.parametrize("cache", [True, False])
def test_a_text_ends_at_end_at_a_stop_string_or_after_its_tokens(options, expected, cache):
    model = Chain(CHARS, "abcdefgh")
    assert generate(model, CHARS, "a", cache=cache, **options) == expected
    assert generate_batch(model, CHARS, ["h", "a"], cache=cache, **options) == ["", expected]


@pytest.mark.parametrize(("tokens", "text"), [(9, "你😀"), (7, "你😀"), (5, "你\ufffd"), (2, "\ufffd")])
def test_an_empty_prompt_begins_a_document_and_bytes_cut_by_the_end_are_one_mark(tokens, text):
    model = Chain(BYTES, "你😀")
    assert generate(model, BYTES, tokens=tokens) == text
    assert all(piece for _, piece in stream(model, BYTES, [""], tokens=tokens))


@TOKENIZERS
def test_all_ways_to_write_agree_with_the_loop(tokenizer):
    model, seeds = make(tokenizer.vocab_size), [f"3/{i}" for i in (0, 1) * 5]
    texts, parts = generate_batch(model, tokenizer, PROMPTS, 2, seed=3, **OPTIONS), [""] * 10
    prompts = [prompt for prompt in PROMPTS for _ in range(2)]
    for i, piece in stream(model, tokenizer, prompts, tokens=30, sampler=SAMPLER, seeds=seeds):
        parts[i] += piece
    assert parts == texts
    assert generate_batch(model, tokenizer, []) == []
    assert [generate(model, tokenizer, prompt, seed=3, **OPTIONS) for prompt in PROMPTS] == texts[::2]
    assert generate_batch(model, tokenizer, PROMPTS, 2, seed=3, cache=False, **OPTIONS) == texts
    for prompt, seed, text in zip(prompts, seeds, texts, strict=True):
        row = Row(tokenizer.encode(prompt).tolist() or [tokenizer.end], random.Random(seed))
        n = len(row.tokens)
        list(write(model, [row], SAMPLER, 30))
        written = [*row.tokens[n:], tokenizer.end]
        assert tokenizer.decode(written[: written.index(tokenizer.end)]) == text


def test_a_seed_is_a_text_and_samples_differ():
    model = make(257)
    first = generate_batch(model, BYTES, ["a", "b", "a"], 3, seed=1, **OPTIONS)
    assert first == generate_batch(model, BYTES, ["a", "b", "a"], 3, seed=1, **OPTIONS)
    assert first[:3] == first[6:] == generate_batch(model, BYTES, ["a"], 3, seed=1, **OPTIONS)
    assert len(set(first)) == 6
    others = [generate(model, BYTES, "a", seed=seed, **OPTIONS) for seed in range(5)]
    assert len(set(others)) == 5
    assert others[1] == first[0]
    pieces = stream(model, BYTES, ["a"], tokens=30, sampler=SAMPLER)
    assert "".join(piece for _, piece in pieces) == others[0]
    greedy = generate_batch(model, BYTES, ["a"], 3, temperature=0)
    assert len(set(greedy)) == 1


def test_pieces_come_as_they_are_written():
    model, calls = make(9), []
    model.register_forward_pre_hook(lambda *_: calls.append(1))
    for n, (i, _) in enumerate(stream(model, CHARS, ["a"], tokens=5, sampler=Sampler(0)), 1):
        assert (i, len(calls)) == (0, n)


@pytest.mark.parametrize(("prompt", "named"), [("é", "'é'"), (" ", "' '"), ("a c", "' '.*'c'")])
def test_a_prompt_outside_the_vocabulary_names_the_character(prompt, named):
    abab = CharTokenizer("abab")
    with pytest.raises(UserError, match=f"lacks .*{named}"):
        generate(make(3), abab, prompt)
    assert set(generate(make(3), abab, "", tokens=40)) <= {"a", "b"}


@TOKENIZERS
def test_a_model_with_more_ids_than_tokens_writes_tokens(tokenizer):
    texts = generate_batch(make(2000), tokenizer, PROMPTS, tokens=30, temperature=9.0)
    assert max(map(len, texts)) > 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tokens": -1}, "tokens must be 0 or more, not -1"),
        ({"temperature": -1}, "temperature must be"),
        ({"samples": 0}, "samples must be at least 1, not 0"),
    ],
)
def test_impossible_wishes_are_named(options, message):
    with pytest.raises(UserError, match=message):
        generate_batch(make(9), CHARS, ["a"], **options)


@pytest.mark.parametrize("options", [{"temprature": 0}, {"samples": 2}])
def test_misspelt_options_are_refused(options):
    with pytest.raises(TypeError, match=next(iter(options))):
        glassformer.generate(make(9), CHARS, "a", **options)


@pytest.mark.parametrize("training", [True, False])
def test_writes_without_dropout_and_leaves_the_mode_as_it_was(training):
    model = make(9, dropout=0.5).train(training)
    assert generate(model, CHARS, "a") == generate(make(9), CHARS, "a")
    assert model.training is training
    pieces = stream(model, CHARS, ["a"])
    next(pieces)
    pieces.close()
    assert model.training is training


def test_an_encoder_is_told_apart():
    encoder = Bert(BertConfig(CHARS.vocab_size, context=8, n_layers=1, n_heads=2, d_model=8))
    with pytest.raises(UserError, match=r"^an encoder reads a text, but has no next token to write$"):
        generate(encoder, CHARS, "ab")


def test_any_of_several_ends_ends_a_text(monkeypatch):
    monkeypatch.setattr(CharTokenizer, "ends", frozenset((CHARS.end, 3)))
    texts = generate_batch(make(CHARS.vocab_size).float(), CHARS, ["a"], samples=20, tokens=200)
    assert all("d" not in text for text in texts)
    assert len({len(text) for text in texts}) > 3
