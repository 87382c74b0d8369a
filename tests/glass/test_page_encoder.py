"""An encoder's page: it shows what every token reads and nothing of a next token; its mask hides nothing."""

import re

import numpy as np
import pytest
import torch

from glass.reading import LETTERS, READS, WEIGHTS, Reader, data_of, make, make_encoder, say, text_of, wrapping
from glassformer import UserError, compare, effect, lens, look, trace
from glassformer.glass import check as checking
from glassformer.glass import edits, proof, sections
from glassformer.glass.effect import plan
from glassformer.glass.pictures import picture
from glassformer.glass.report import write_npz
from glassformer.glass.trace import ids_of
from glassformer.glass.words import WORDS

TEXT = "The cat sees the mouse, the cat."
TOKENIZER = wrapping()
IDS = TOKENIZER.encode_wrapped(TEXT).tolist()
LABELS = TOKENIZER.labels(IDS)
DECODERS_ALONE = ["reads", "reads_note", "lens", "lens_note", "next_note", "cut", "zeroed", "actual"]
CAUSAL_ALONE = ["sight_causal", "hatched_causal", "hatched_some", "unseen_causal"]


@pytest.fixture(scope="module")
def encoder():
    return make_encoder(TOKENIZER.vocab_size)


def page(model, text=TEXT, **options):
    return Reader(look(model, TOKENIZER, text, **options)).root


@pytest.mark.parametrize(("language", "tag"), [("en", "en"), ("zh", "zh-Hans")])
def test_nothing_is_said_of_a_next_token_or_of_a_future(encoder, language, tag):
    root = page(encoder, language=language)
    shown = text_of(root.find("body"), tag)
    said = {name: texts[language == "zh"].split("{")[0] for name, texts in WORDS.items()}
    assert [name for name in DECODERS_ALONE + CAUSAL_ALONE if said[name] in shown] == []
    assert [name for name in ("encoder", "sight_all", "read") if said[name] not in shown] == []
    assert len(root.findall(".//h2")) == 6
    assert [table.get("class") for table in root.iter("table")] == ["weights", "plain", "proof"]
    assert len(list(root.iter("img"))) == 8


def test_special_tokens_stand_around_the_text_and_are_marked(encoder):
    items = page(encoder).findall(".//section/ol/li")
    assert [text_of(item) for item in items] == [f"{i}{label}" for i, label in enumerate(LABELS)]
    marked = [i for i, item in enumerate(items) if item.find("bdi").get("class") == "special"]
    assert marked == [0, len(IDS) - 1]
    assert (LABELS[0], LABELS[-1]) == ("[CLS]", "[SEP]")


@pytest.mark.parametrize("words", [7, 60])
def test_every_row_sees_every_key(words):
    model = make_encoder(TOKENIZER.vocab_size, 512)
    text = "cat " * words
    weights = trace(model, ids_of(model, TOKENIZER, text)).weights(1, 2)
    n = len(weights)
    first = max(0, n - 48)
    rows = page(model, text, layer=1, head=2).findall(WEIGHTS)
    assert len(rows) == n - first
    for i, row in zip(range(first, n), rows, strict=True):
        expected = [*([weights[i, :first].sum()] if first else []), *weights[i, first:]]
        assert [cell.get("class") for cell in row[1:]] == [None] * len(expected)
        for cell, weight in zip(row[1:], expected, strict=True):
            assert float(text_of(cell).replace("·", "0")) == pytest.approx(float(weight), abs=0.0051)
    (data,) = data_of(look(model, TOKENIZER, text))
    assert len(data["masks"]) == 1
    assert data["queries"] == data["keys"]
    assert len(data["keys"]) == n


def test_what_a_token_reads_is_sorted_by_what_it_moves(encoder):
    layer, head, query, d = 1, 2, 3, 8
    traced = trace(encoder, IDS)
    rows = page(encoder, layer=layer, head=head, edge=(query, 0)).findall(READS)
    weights = traced.weights(layer, head)[query].numpy()
    values = traced[f"blocks.{layer}.attention.v"][0, head].numpy()
    output = encoder.blocks[layer].attention.output.weight.detach().numpy()[:, head * d : (head + 1) * d]
    moved = np.linalg.norm((weights[:, None] * values) @ output.T, axis=1)
    order = np.argsort(-moved)
    assert [text_of(row[0]) for row in rows] == [f"{i} {LABELS[i]}" for i in order]
    for row, i in zip(rows, order, strict=True):
        numbers = [float(text_of(cell)) for cell in row[1:]]
        assert numbers == pytest.approx([weights[i], moved[i], np.linalg.norm(values[i])], abs=6e-4)


def test_the_reader_is_the_last_token_that_stands_for_text(encoder):
    last = len(IDS) - 2
    root = page(encoder)
    assert say("read_note", place=last, token=LABELS[last]) in text_of(root)
    assert f"How much token {last} “" in text_of(root)
    assert say("read_note", place=2, token=LABELS[2]) in text_of(page(encoder, edge=(2, 5)))
    assert say("read_note", place=1, token="[SEP]") in text_of(page(encoder, ""))


def test_the_least_uniform_head_is_measured_over_all_keys(encoder):
    traced = trace(encoder, IDS)
    weights = torch.stack([traced[f"blocks.{i}.attention.weights"][0] for i in (0, 1)])
    sharpness = np.log(len(IDS)) - torch.special.entr(weights).sum(-1).mean(-1)
    layer, head = divmod(int(sharpness.argmax()), 4)
    assert say("large", layer=layer, head=head) in text_of(page(encoder))


def test_a_weight_is_proved_and_all_are_saved_with_the_special_tokens(encoder, tmp_path):
    query, key = 2, len(IDS) - 1  # a later key
    spelled = proof.of_text(encoder, TOKENIZER, TEXT, (1, 3, query, key))
    weight = float(trace(encoder, IDS).weights(1, 3)[query, key])
    assert f"how much {LABELS[query]!r} ({query}) reads '[SEP]' ({key})" in spelled
    assert f"row sum over {len(IDS)} visible keys" in spelled
    used = re.search("the model used (.*),", spelled)[1]
    assert float(used) == pytest.approx(weight, abs=1e-7)
    write_npz(encoder, TOKENIZER, TEXT, tmp_path / "w.npz")
    saved = np.load(tmp_path / "w.npz")
    assert saved["ids"].tolist() == IDS
    assert saved["weights"].shape == (2, 4, len(IDS), len(IDS))
    assert (saved["weights"][1, 3] == trace(encoder, IDS).weights(1, 3).numpy()).all()
    assert trace(encoder, IDS)._repr_html_().count("<img") == 8


def test_a_text_is_never_cut(encoder):
    longest = "a" + " a" * 61
    assert len(ids_of(encoder, TOKENIZER, longest)) == 64
    page(encoder, longest)
    with pytest.raises(UserError, match=r"^the text has 65 tokens, .*at most 64, and a cut would lose"):
        page(encoder, longest + " a")


def test_an_encoder_may_have_a_tokenizer_that_wraps_nothing():
    model = make_encoder(LETTERS.vocab_size)
    root = Reader(look(model, LETTERS, "abca")).root
    assert [text_of(li) for li in root.findall(".//section/ol/li")] == ["0a", "1b", "2c", "3a"]


@pytest.mark.parametrize(
    "ask",
    [
        lambda model: compare(model, IDS, [edits.silence(0, 0)]),
        lambda model: lens(model, IDS),
        lambda model: effect(model, IDS),
        lambda model: plan(model, 3),
        lambda model: trace(model, IDS, "final").effect(),
    ],
    ids=["compare", "lens", "effect", "plan", "trace.effect"],
)
def test_what_measures_a_next_token_says_that_there_is_none(encoder, ask):
    with pytest.raises(UserError, match=r"^the model is an encoder: .* no next token to measure$"):
        ask(encoder)


def test_edits_of_an_encoder_are_traced(encoder):
    plain = trace(encoder, IDS, ["final", "blocks.*.weights"])
    cut = trace(encoder, IDS, ["final", "blocks.*.weights"], edits=[edits.cut(0, 1, edges=[(1, 4)])])
    assert cut.weights(0, 1)[1, 4] == 0
    assert not torch.equal(cut["final"], plain["final"])


def test_the_self_check_holds_an_encoder_to_its_final_vectors(encoder, monkeypatch):
    checking.check(encoder, IDS)
    changed = [edits.scale_value(0, 0, 1.01)]
    monkeypatch.setattr(checking, "noop", lambda layer: [] if layer else changed)
    with pytest.raises(UserError, match="an edit that changes nothing changes the final vectors by"):
        checking.check(encoder, IDS)
    model = make_encoder(TOKENIZER.vocab_size)
    model.blocks[1].ffn_norm.weight.data[0] = torch.nan
    with pytest.raises(UserError, match="self-check: the model gives final vectors that are no numbers"):
        checking.check(model, IDS)
    with pytest.raises(UserError, match="that are no numbers; the model is damaged"):
        page(model)


def rectangle(masks_nm):
    """Two heads of 3 queries and 5 keys, whose names are other tokens."""
    torch.manual_seed(0)
    weights_nm = torch.randn(1, 2, 3, 5).masked_fill(~masks_nm, -torch.inf).softmax(-1)
    names = [sections.labels(LETTERS, LETTERS.encode(text)) for text in ("aba", "cdecd")]
    return sections.Attention(weights_nm, masks_nm.expand(1, 2, 3, 5), *names)


def test_queries_and_keys_are_counted_apart():
    attention = rectangle(torch.ones(3, 5, dtype=torch.bool))
    table = sections.weight_table(attention, 0, 1, 1, 2)
    weights = attention.weights_Lhnm[0, 1]
    assert [len(row) for row in table] == [4, 4]
    assert [row[0].shade for row in table] == pytest.approx(
        [float(weights[i, :2].sum() ** 0.5) for i in (1, 2)], abs=1e-3
    )
    assert attention.sight == "all"
    assert attention.has(0, 1)
    assert not attention.has(1, 0)
    assert not attention.has(0, 2)
    assert picture(torch.rand(3, 100)).startswith("data:image/png")


def test_what_the_mask_hides_is_hatched_wherever_it_lies():
    band = (torch.arange(3)[:, None] - torch.arange(5)).abs() < 2
    attention = rectangle(band)
    assert attention.sight == "some"
    table = sections.weight_table(attention, 0, 0, 0, 0)
    assert [[bool(cell.text) for cell in row] for row in table] == band.tolist()
    square = trace(make(), [1, 2, 3], "blocks.*.mask")["blocks.0.attention.mask"]
    assert sections.Attention(square.float(), square, [], []).sight == "causal"
