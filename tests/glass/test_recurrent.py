"""Looking into a recurrent model: what the page shows are the values of the trace, whatever the text."""

import base64
import io
import re

import numpy as np
import pytest
import torch
from PIL import Image

from glass.reading import LETTERS, NEXT, Reader, make, say, text_of
from glass.test_page import HOSTILE, RAW, Words
from glassformer import Subject, UserError, compare, effect, lens, look, trace
from glassformer.data.tokenizers import END, ByteTokenizer, CharTokenizer
from glassformer.glass import over_time, words_recurrent
from glassformer.glass.check import GATES, check
from glassformer.glass.edits import patch
from glassformer.glass.page import _PART
from glassformer.glass.pictures import over_time as drawn
from glassformer.glass.report import write_npz
from glassformer.models import RecurrentConfig, RecurrentLM
from glassformer.nn.recurrent import INSIDE

KINDS = pytest.mark.parametrize("kind", ["rnn", "lstm", "gru"])
DATA = "data:image/png;base64,"
TEXT = "abcdefgh"


def recurrent(kind="lstm", vocab_size=LETTERS.vocab_size, d_model=12, n_layers=2):
    torch.manual_seed(0)
    model = RecurrentLM(RecurrentConfig(vocab_size, kind, 4, n_layers, d_model, tie_embeddings=False))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.6)
    return model.eval()


def page(kind="lstm", text=TEXT, **options):
    return Reader(look(recurrent(kind), LETTERS, text, **options)).root


def tell(key, **values):
    return text_of(Reader(f"<p>{over_time.tell(key, **values)}</p>").root)


def tables(root):
    return [table for table in root.iter("table") if table.get("class") == "plain"]


@KINDS
def test_there_is_a_map_of_every_value_of_every_layer(kind):
    root = page(kind)
    names = [f"L{i} {name}" for i in range(2) for name in INSIDE[kind]]
    assert [image.get("alt") for image in root.iter("img")] == names
    traced = trace(recurrent(kind), LETTERS.encode(TEXT))
    for image, name in zip(root.iter("img"), names, strict=True):
        layer, _, value = name.partition(" ")
        values = traced[f"blocks.{layer[1:]}.{value}"][0].T.numpy()  # a row for each unit
        png = io.BytesIO(base64.b64decode(image.get("src").removeprefix(DATA)))
        pixels = np.asarray(Image.open(png)).astype(float)
        assert pixels.shape[:2] == (12, 8)
        strongest = 1 if value in GATES else np.abs(values).max()
        assert np.abs(pixels[..., 3] / 255 - np.abs(values) / strongest).max() <= 0.51 / 255
        seen = pixels[..., 3] > 0
        assert ((pixels[..., 2] > pixels[..., 0]) == (values < 0))[seen].all()  # blue is below 0
    axes = [text_of(axis) for axis in root.iter("ol") if axis.get("class") == "axis"]
    assert axes == [TEXT] * len(names)
    for table in root.iter("table"):
        assert len({len(row) for row in table.iter("tr")}) == 1


@pytest.mark.parametrize(("units", "n"), [(64, 256), (65, 257), (200, 1000)])
@pytest.mark.parametrize("signed", [True, False])
def test_a_pooled_map_has_the_mean_of_a_gate_and_the_farthest_of_the_rest(units, n, signed):
    torch.manual_seed(1)
    values = torch.rand(n, units) - (0.5 if signed else 0)
    uri, strongest = drawn(values, signed)
    pixels = np.asarray(Image.open(io.BytesIO(base64.b64decode(uri.removeprefix(DATA))))).astype(float)
    rows, columns = min(units, 64), min(n, 256)
    assert pixels.shape[:2] == (rows, columns)

    def edges(length, points):
        return [(i * length // points, -(-(i + 1) * length // points)) for i in range(points)]

    areas = [[values.T[a:b, c:d].flatten() for c, d in edges(n, columns)] for a, b in edges(units, rows)]
    expected = [[float(v[v.abs().argmax()] if signed else v.mean()) for v in row] for row in areas]
    assert strongest == pytest.approx(np.abs(expected).max() if signed else 1)
    assert np.abs(pixels[..., 3] / 255 - np.abs(expected) / strongest).max() <= 0.51 / 255


@KINDS
@pytest.mark.parametrize("layer", [None, 0])
def test_the_numbers_are_those_of_the_trace_and_obey_the_formula(kind, layer):
    root, chosen = page(kind, "abcdefgh" * 4, layer=layer), 1 if layer is None else layer
    memory = "cell" if kind == "lstm" else "hidden"
    traced = trace(recurrent(kind), LETTERS.encode("abcdefgh" * 4))
    values = traced[f"blocks.{chosen}.{memory}"][0]
    swing = values.amax(0) - values.amin(0)
    units, inside = tables(root)
    named = [int(text_of(head).removeprefix("unit ")) for head in list(units.iter("th"))[1:9]]
    assert named == swing.topk(8).indices.tolist()
    rows = [[text_of(cell) for cell in row] for row in units.findall("tbody/tr")]
    assert [row[0] for row in rows] == [f"{i} {('abcdefgh' * 4)[i]}" for i in range(8, 32)]
    for row, expected in zip(rows, values[8:, named].tolist(), strict=True):
        assert [float(cell) for cell in row[1:]] == pytest.approx(expected, abs=0.0051)
    assert tell("last_tokens", n=24) in text_of(root)
    rows = [[float(text_of(cell)) for cell in row[1:]] for row in inside.findall("tbody/tr")]
    columns = dict(zip(INSIDE[kind], np.array(rows).T, strict=True))
    for name, column in columns.items():
        assert column == pytest.approx(traced[f"blocks.{chosen}.{name}"][0, 8:, named[0]], abs=6e-4)
    before = columns[memory][:-1]
    if kind == "lstm":
        f, i, candidate = (columns[name][1:] for name in ("f", "i", "candidate"))
        assert columns["cell"][1:] == pytest.approx(f * before + i * candidate, abs=5e-3)
    if kind == "gru":
        z, n = columns["z"][1:], columns["n"][1:]
        assert columns["hidden"][1:] == pytest.approx((1 - z) * n + z * before, abs=5e-3)
    below = [cell.get("class") for row in inside.findall("tbody/tr") for cell in row[1:]]
    assert below == ["shaded below" if x < 0 else "shaded" for row in rows for x in row]


@KINDS
def test_predictions_are_those_of_the_trace(kind):
    rows, names = page(kind).findall(NEXT), [*TEXT, END]
    mass = trace(recurrent(kind), LETTERS.encode(TEXT)).probabilities[0]
    assert [text_of(row[0]) for row in rows] == [f"after {i} {TEXT[i]}" for i in range(8)]
    for row, p, following in zip(rows, mass.tolist(), [*TEXT[1:], ""], strict=True):
        order = sorted(range(9), key=lambda i: -p[i])
        guesses = [f"{'✓ ' * (names[i] == following)}{names[i]} {100 * p[i]:.1f} %" for i in order[:5]]
        assert [text_of(li) for li in row.iter("li")] == guesses


@pytest.mark.parametrize("kind", ["words", "chars", "bytes"])
def test_hostile_text_is_inert(kind):
    text = "0123456" if kind == "words" else "".join(HOSTILE)
    tokenizer = {"words": Words, "chars": CharTokenizer, "bytes": lambda _: ByteTokenizer()}[kind](text)
    html = look(recurrent(vocab_size=tokenizer.vocab_size), tokenizer, text, language="zh")
    assert [raw for raw in RAW if raw in html] == []
    assert "<script" not in html
    shown = re.sub(r'src="data:[^"]*"', "", html)
    assert not re.search(r"https?:|//\w|url\(|@import|\bnan\b|\binf\b", shown)
    root, labels = Reader(html).root, tokenizer.labels([int(i) for i in tokenizer.encode(text)])
    for node in root.iter():
        assert not [name for name in node.attrib if name.startswith("on") or name in ("href", "action")]
        assert node.get("src", DATA).startswith(DATA)
    assert text_of(root.find(".//blockquote")) == text
    tokens = [text_of(li) for li in root.find(".//ol[@class='tokens']")]
    assert tokens == [f"{i}{label}" for i, label in enumerate(labels)]
    assert (say("bytes_note") in text_of(root)) == any(map(_PART.search, labels))


@KINDS
@pytest.mark.parametrize(("language", "tag"), [("en", "en"), ("zh", "zh-Hans")])
def test_every_text_stands_in_both_languages_and_one_is_checked(kind, language, tag):
    root = page(kind, TEXT * 200, step=7, language=language, written="abc")
    assert root.get("lang") == tag
    assert [node.get("class") for node in root.iter("input") if "checked" in node.attrib] == [language]
    ids = [node.get("id") for node in root.iter() if "id" in node.attrib]
    assert [re.sub("-[0-9a-f]{8}$", "", name) for name in ids] == ["en", "zh"]
    for english, chinese in words_recurrent.WORDS.values():
        assert {*re.findall(r"{(\w*)", english)} == {*re.findall(r"{(\w*)", chinese)}
    english, chinese = (text_of(root.find("body"), tag) for tag in ("en", "zh-Hans"))
    assert re.findall(r"[\u4e00-\u9fff]+", english) == ["中文"]
    assert say("checkpoint", step=7) in english
    assert tell("cropped", all=1603, n=1024) in english
    assert tell("pooled", units=12, n=1024, rows=12, columns=256) in english
    assert f"steps_{kind}" not in english
    assert len([axis for axis in root.iter("ol") if axis.get("class") == "axis"]) == 0  # too many to name
    assert text_of(root.find(".//blockquote/ins")) == "abc"
    assert "步" in chinese


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layer": 2}, "layer 2 is not there: the model has layers 0 to 1"),
        ({"head": 0}, "a recurrent model has no heads"),
        ({"edge": (0, 0)}, "a recurrent model has no heads"),
        ({"beside": Subject(recurrent(), LETTERS, "a")}, "a recurrent model has no heads"),
        ({"text": ""}, "empty"),
        ({"text": "xyz"}, "lacks 'x', 'y', 'z'"),
        ({"language": "fr"}, "does not speak"),
    ],
)
def test_impossible_wishes_are_named(options, message):
    with pytest.raises(UserError, match=message):
        page(**options)


def test_what_needs_attention_refuses_in_one_line(tmp_path):
    model, ids = recurrent(), LETTERS.encode(TEXT)
    for refused in (
        lambda: effect(model, ids),
        lambda: trace(model, ids).effect(),
        lambda: lens(model, ids),
        lambda: look(make(), LETTERS, TEXT, beside=Subject(model, LETTERS, TEXT)),
        lambda: write_npz(model, LETTERS, TEXT, tmp_path / "w.npz"),
    ):
        with pytest.raises(
            UserError, match="the model is recurrent: it has no attention, and so no"
        ) as error:
            refused()
        assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


@KINDS
def test_a_trace_says_which_path_it_took(kind):
    model, ids = recurrent(kind), LETTERS.encode(TEXT)
    assert trace(model, ids, "logits").attention == "fused"
    assert trace(model, ids, "blocks.*.output").attention == "fused"
    assert trace(model, ids, "blocks.1.hidden").attention == "reference"
    assert "Trace" in trace(model, ids)._repr_html_()
    with pytest.raises(ValueError, match="hiden"):
        trace(model, ids, "blocks.0.hiden")


def test_edits_and_comparisons_reach_every_later_step():
    model, ids = recurrent(), LETTERS.encode(TEXT)
    plain = trace(model, ids)
    gate = torch.zeros_like(plain["blocks.0.f"])
    shut = patch("blocks.0.f", gate, [3])
    edited = trace(model, ids, edits=[shut])
    cells = [traced["blocks.0.cell"][0] for traced in (plain, edited)]
    assert torch.equal(cells[0][:3], cells[1][:3])
    i, candidate = (plain[f"blocks.0.{name}"][0, 3] for name in ("i", "candidate"))
    torch.testing.assert_close(cells[1][3], i * candidate)  # nothing of before is left
    assert (cells[0][4:] != cells[1][4:]).any(-1).all()
    compared = compare(model, ids, [shut])
    assert compared.logits == pytest.approx(float((plain["logits"] - edited["logits"])[0, -1].abs().max()))
    assert len(compared.layers) == 2
    assert min(compared.layers) > 0


@KINDS
def test_the_check_passes_healthy_models_and_refuses_damaged_ones(kind, monkeypatch):
    model, ids = recurrent(kind), LETTERS.encode(TEXT * 20)
    traced = check(model, ids, ["embedding"])
    inside = {f"blocks.{i}.{name}" for i in range(2) for name in INSIDE[kind]}
    assert set(traced) == inside | {"logits", "embedding"}
    with torch.no_grad():
        model.head.weight[0, 0] = torch.nan
    with pytest.raises(UserError, match="logits that are no numbers"):
        check(model, ids)
    layer = recurrent(kind).blocks.layers[0]
    monkeypatch.setattr(
        type(layer), "_fused", lambda self, *given: (self._reference(*given)[0] * 1.01, given[1])
    )
    with pytest.raises(UserError, match="a traced pass changes the logits"):
        check(recurrent(kind), ids)


def test_a_gate_that_is_no_gate_is_refused(monkeypatch):
    model, ids = recurrent(), LETTERS.encode(TEXT)
    monkeypatch.setattr(torch, "sigmoid", lambda x: 1.5 * x.sigmoid())
    with pytest.raises(UserError, match=r"self-check: the gate blocks\.0\.f has values that are not between"):
        check(model, ids)


@pytest.mark.slow
def test_a_long_text_makes_a_small_page_soon():
    model = RecurrentLM(RecurrentConfig(257, "lstm", d_model=256)).eval()
    assert len(look(model, ByteTokenizer(), "the other day " * 300).encode()) < 2e6
