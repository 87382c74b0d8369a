"""The page: inert whatever the text, whole as HTML, and its numbers are those of the trace."""

import base64
import io
import re

import numpy as np
import pytest
import torch
from PIL import Image

from glass.reading import LETTERS, NEXT, WEIGHTS, Reader, data_of, make, page, say, text_of
from glassformer import UserError, look, trace
from glassformer.data.tokenizers import END, BPETokenizer, ByteTokenizer, CharTokenizer
from glassformer.glass import words

HOSTILE = ["</script><b>x", "<!--<script>", "<img src=x onerror=alert(1)>", "\"'&amp;{{1}}", "\n", " ", ""]
LABELS = ["</script><b>x", "<!--<script>", "<img␣src=x␣onerror=alert(1)>", "\"'&amp;{{1}}", "⏎", "␣", ""]
RAW = ["</script><b", "<!--<script", "<b>", "<!--", "<img src=x", "<|end"]
DATA = "data:image/png;base64,"
LENGTHS = pytest.mark.parametrize(("n", "context"), [(1, 16), (20, 16), (48, 64), (49, 64), (70, 128)])


class Words(CharTokenizer):
    """Written as digits, each of which is a token with a hostile text."""

    def token_bytes(self, token):
        return b"" if token == self.end else HOSTILE[token].encode()


def weights_of(model, text):
    traced = trace(model, LETTERS.encode(text))
    return torch.cat([traced[f"blocks.{i}.attention.weights"] for i in range(model.config.n_layers)])


@pytest.mark.parametrize("kind", ["words", "chars", "bytes", "bpe"])
def test_hostile_text_is_inert(kind):
    text = "0123456" if kind == "words" else "".join(HOSTILE)
    kinds = {"words": Words, "chars": CharTokenizer, "bytes": lambda _: ByteTokenizer()}
    kinds["bpe"] = lambda text: BPETokenizer.train(iter([text] * 20), 320)
    tokenizer = kinds[kind](text)
    html = look(make(tokenizer.vocab_size, 128), tokenizer, text, language="zh")
    assert [raw for raw in RAW if raw in html] == []
    assert html.count("<script") == html.count("</script") == 2
    shown = re.sub(r'src="data:[^"]*"|<script.*?</script>', "", html, flags=re.DOTALL)
    assert not re.search(r"https?:|//\w|url\(|@import|\bnan\b|\binf\b", shown)
    (data,) = data_of(html)
    assert data["queries"] == data["keys"] == tokenizer.labels([int(i) for i in tokenizer.encode(text)])
    root, labels = Reader(html).root, tokenizer.labels([int(i) for i in tokenizer.encode(text)])
    assert {node.tag for node in root.iter()} <= {"strong", *(node.tag for node in page().iter())}
    for node in root.iter():
        assert not [name for name in node.attrib if name.startswith("on") or name in ("href", "action")]
        assert node.get("src", DATA).startswith(DATA)
    assert text_of(root.find(".//blockquote")) == text
    tokens = [text_of(li) for li in root.findall(".//section/ol/li")]
    assert tokens == [f"{i}{label}" for i, label in enumerate(labels)]
    if kind == "words":
        assert LABELS == labels == [text_of(name) for name in root.findall(f"{WEIGHTS}/th/bdi")]


def test_page_is_whole():
    root = page("abcdefgh" * 2)
    ids = [node.get("id") for node in root.iter() if "id" in node.attrib]
    assert [re.sub("-[0-9a-f]{8}$", "", name) for name in ids] == ["en", "zh"]
    assert [node.get("for") for node in root.iter("label")] == ids
    assert [img.get("alt") for img in root.iter("img")] == [f"L{i} H{j}" for i in (0, 1) for j in range(4)]
    for table in root.iter("table"):
        assert len({len(row) for row in table.iter("tr")}) == 1


@pytest.mark.parametrize(
    ("tokenizer", "labels", "cut"),
    [
        (ByteTokenizer(), ["字 1/3", "字 2/3", "字 3/3", "␣", "é 1/2", "é 2/2"], True),
        (CharTokenizer("字 é"), ["字", "␣", "é"], False),
        (BPETokenizer.train(iter(["字 é"] * 9), 300), ["字", "␣é"], False),
    ],
)
def test_labels_name_whole_characters(tokenizer, labels, cut):
    root = page("字 é", make(tokenizer.vocab_size), tokenizer)
    assert "\ufffd" not in text_of(root)
    assert [text_of(name) for name in root.findall(f"{WEIGHTS}/th/bdi")] == labels
    assert (say("bytes_note") in text_of(root)) is cut


@LENGTHS
def test_weights_are_those_of_the_trace(n, context):
    model, text = make(context=context), ("abcdefgh" * 9)[:n]
    rows = page(text, model, layer=1, head=2).findall(WEIGHTS)
    weights = weights_of(model, text[-context:])[1, 2]
    first = max(0, len(weights) - 48)  # what stands before is one column, "earlier"
    for i, row in zip(range(first, len(weights)), rows, strict=True):
        expected = [*([weights[i, :first].sum()] if first else []), *weights[i, first:]]
        visible = i - first + 1 + (first > 0)
        masked = [cell.get("class") == "masked" for cell in row[1:]]
        assert masked == [place >= visible for place in range(len(expected))]
        for cell, weight in zip(row[1 : visible + 1], expected[:visible], strict=True):
            assert float(text_of(cell).replace("·", "0")) == pytest.approx(float(weight), abs=0.0051)
            assert float(cell.get("style")[len("--w:") :]) == pytest.approx(float(weight.sqrt()), abs=6e-4)


@LENGTHS
def test_predictions_are_those_of_the_trace(n, context):
    model, text = make(context=context), ("abcdefgh" * 9)[:n]
    shown, names = text[-context:], ["a", "b", "c", "d", "e", "f", "g", "h", END]
    first = max(0, len(shown) - 48)
    rows = page(text, model).findall(NEXT)
    assert [text_of(row[0]) for row in rows] == [f"after {i} {shown[i]}" for i in range(first, len(shown))]
    mass = trace(model, LETTERS.encode(shown)).probabilities[0]
    for row, p, following in zip(rows, mass[first:].tolist(), [*shown[first + 1 :], ""], strict=True):
        order = sorted(range(9), key=lambda i: -p[i])
        guesses = [f"{'✓ ' * (names[i] == following)}{names[i]} {100 * p[i]:.1f} %" for i in order[:5]]
        assert [text_of(li) for li in row.iter("li")] == guesses
        last = say("end")
        if following:
            i = names.index(following)
            rated = say("rated", percent=f"{100 * p[i]:.1f}", rank=order.index(i) + 1)
            last = f"what follows {following} {rated}"
        assert text_of(row[2]) == last


@pytest.mark.parametrize("n", [64, 65, 100])
def test_a_map_keeps_the_largest_weight_of_each_area(n):
    model, text, size = make(context=128), ("abcdefgh" * 20)[:n], min(n, 64)
    edges = [(i * n // size, -(-(i + 1) * n // size)) for i in range(size)]
    images = page(text, model).iter("img")
    for weights, image in zip(weights_of(model, text).flatten(0, 1), images, strict=True):
        png = io.BytesIO(base64.b64decode(image.get("src").removeprefix(DATA)))
        areas = [[weights[a:b, c:d].max().item() for c, d in edges] for a, b in edges]
        assert np.abs(np.asarray(Image.open(png))[..., 3] - 255 * np.sqrt(areas)).max() <= 0.501


@pytest.mark.parametrize("n", [48, 49, 64, 65, 100, 101])
def test_says_what_it_leaves_out(n):
    text = text_of(page(("abcdefgh" * 20)[:n], make(context=100)))
    assert (say("earlier_note", n=48) in text) == (n > 48)
    pooled = say("pooled", n=min(n, 100), m=min(n, 100), rows=64, columns=64)
    assert (pooled in text) == (n > 64)
    assert (say("cropped", all=n, n=100) in text) == (n > 100)


@pytest.mark.parametrize(("layer", "head"), [(None, None), (0, None), (1, None), (None, 3), (1, 0)])
def test_shows_the_least_uniform_head_of_those_that_fit(layer, head):
    weights = weights_of(make(), "abcdefgh").tolist()

    def sharpness(place):
        rows = enumerate(weights[place[0]][place[1]], 1)
        return sum(np.log(i) + sum(w * np.log(w) for w in row[:i]) for i, row in rows)

    fits = [(i, j) for i in range(2) for j in range(4) if layer in (None, i) and head in (None, j)]
    best, root = max(fits, key=sharpness), page(layer=layer, head=head)
    assert say("large", layer=best[0], head=best[1]) in text_of(root)
    assert [figure.get("class") for figure in root.iter("figure")].index("chosen") == best[0] * 4 + best[1]
    assert (say("chosen") in text_of(root)) == (layer is head is None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layer": 2}, "layer 2 is not there: the model has layers 0 to 1"),
        ({"head": 4}, "head 4 is not there: the model has heads 0 to 3"),
        ({"layer": 1, "head": -2}, "head -2"),
        ({"text": ""}, "empty"),
        ({"text": "xyz"}, "lacks 'x', 'y', 'z'"),
    ],
)
def test_impossible_wishes_are_named(options, message):
    with pytest.raises(UserError, match=message):
        page(**options)


def test_what_the_model_wrote_is_marked_and_looked_at():
    root = page("abcd", written="efg")
    assert text_of(root.find(".//blockquote")) == "abcdefg"
    assert text_of(root.find(".//blockquote/ins")) == "efg"
    assert len(root.findall(".//section/ol/li")) == 7
    assert page("abcdefg").find(".//ins") is None


def test_a_model_of_nan_is_refused():
    model = make()
    model.head.weight.data[3, 0] = torch.nan
    with pytest.raises(UserError, match="that are no numbers"):
        page(model=model)


def test_ids_without_a_token_are_not_shown():
    guesses = [text_of(li).removeprefix("✓ ") for li in page(model=make(50)).findall(f"{NEXT}//li")]
    assert {guess.split()[0] for guess in guesses} <= {*"abcdefgh", END}
    assert len(guesses) == 8 * 5


@pytest.mark.parametrize(("language", "tag"), [("en", "en"), ("zh", "zh-Hans")])
def test_every_text_stands_in_both_languages_and_one_is_checked(language, tag):
    root = page("abcdefgh" * 20, make(context=100), step=7, language=language)
    assert root.get("lang") == tag
    assert [node.get("class") for node in root.iter("input") if "checked" in node.attrib] == [language]
    for node in root.iter():
        spans = [child for child in node if child.tag == "span" and "lang" in child.attrib]
        assert [span.get("lang") for span in spans] == ["en", "zh-Hans"] * (len(spans) // 2)
        assert all(text_of(span, span.get("lang")).strip() for span in spans)
    for english, chinese in words.WORDS.values():
        assert {*re.findall(r"{(\w*)", english)} == {*re.findall(r"{(\w*)", chinese)}
    english, chinese = (text_of(root.find("body"), tag) for tag in ("en", "zh-Hans"))
    assert re.findall(r"[\u4e00-\u9fff]+", english) == ["中文"]
    latins = set(re.findall(r"[A-Za-z]{2,}", chinese.replace(END, "")))
    latin = {"English", "softmax", "layer", "proof", "float", "exp", "PNGSVGCSV", "Glassformer"}
    assert {word for word in latins if set(word) - set("abcdefgh")} == latin
    parameters = f"{sum(p.numel() for p in make().parameters()):,}"
    assert say("machine", layers=2, heads=4, parameters=parameters, context=100) in english
    assert say("checkpoint", step=7) in english


def floats(held, *shape):
    return np.frombuffer(base64.b64decode(held["float32"]), "<f4").reshape(shape)


@pytest.mark.parametrize("room", [8 * 4 * 64, 8 * 4 * 64 - 1])
def test_the_exact_numbers_of_every_head_are_there_while_there_is_room(room, monkeypatch):
    monkeypatch.setattr("glassformer.glass.page.EXACT_SIZE", room)
    model, every = make(), room == 8 * 4 * 64
    html = look(model, LETTERS, "abcdefgh", layer=1, head=2)
    (data,) = data_of(html)
    weights = weights_of(model, "abcdefgh").numpy()
    for layer, head in np.ndindex(2, 4):
        held = data["heads"][layer][head]
        if every or (layer, head) == (1, 2):
            assert (floats(held, 8, 8) == weights[layer, head]).all()
        else:
            png = io.BytesIO(base64.b64decode(held["shades"].removeprefix(DATA)))
            shades = np.asarray(Image.open(png)) / 255
            assert np.abs(shades - np.sqrt(weights[layer, head])).max() <= 0.501 / 255
    text = text_of(Reader(html).root)
    assert (say("exact_all") in text, say("exact") in text) == (every, not every)


def test_a_mask_that_all_heads_share_is_there_once():
    (data,) = data_of(look(make(), LETTERS, "abcdefg"))
    (mask,) = data["masks"]
    assert data["mask"] == [[0] * 4] * 2
    bits = np.unpackbits(np.frombuffer(base64.b64decode(mask), np.uint8))[:49].reshape(7, 7)
    assert (bits == np.tril(np.ones((7, 7)))).all()


@pytest.mark.parametrize(("n", "limit"), [(256, 5e6), pytest.param(512, 20e6, marks=pytest.mark.slow)])
def test_a_large_page_stays_small(n, limit):
    model = make(ByteTokenizer().vocab_size, n, layers=12, heads=12)
    assert len(look(model, ByteTokenizer(), "the other day " * 40).encode()) < limit
