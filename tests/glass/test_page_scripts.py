"""The page with its script: any head on view, its numbers right, figures and numbers to take away."""

import base64
import csv
import io
import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from PIL import Image

from browsing import watched
from glass.reading import data_of, make_encoder, wrapping
from glassformer import look, trace
from glassformer.data.tokenizers import END, ByteTokenizer, CharTokenizer
from glassformer.glass.page import Subject
from glassformer.models import GPT, GPTConfig
from glassformer.nn.blocks import initialise

pytestmark = pytest.mark.slow

TEXT = '猫追老鼠，它跑了。"cat", 猫'
BOTH = {"layer": 1, "head": 2}
LABELS = CharTokenizer(TEXT).labels([int(i) for i in CharTokenizer(TEXT).encode(TEXT)])


def make(tokenizer, context=64, layers=2, heads=4):
    torch.manual_seed(0)
    model = GPT(GPTConfig(tokenizer.vocab_size, context, layers, heads, d_model=12 * heads))
    initialise(model, 1, std=0.3)
    return model.eval()


@pytest.fixture
def opened(chromium, tmp_path):
    """Opens a page with scripts; at the end nothing may have been complained of or asked of the network."""
    asked, usual = ("data:image/png", "file:///", "blob:"), {"offline": True, "accept_downloads": True}
    with watched(chromium, *asked, **usual) as opens_url:

        def opens(html):
            path = tmp_path / "look.html"
            path.write_text(html, encoding="utf-8", newline="\n")
            page = opens_url(path.as_uri())
            page.locator(".view canvas").first.wait_for()
            return page

        yield opens


@pytest.fixture
def cat():
    tokenizer = CharTokenizer(TEXT)
    model = make(tokenizer)
    weights = trace(model, tokenizer.encode(TEXT), "blocks.*.attention.*")  # scores too, as the page does
    return look(model, tokenizer, TEXT, **BOTH), weights


def reading(page):
    """The edge and the number that the page reads out."""
    return page.locator(".view output").inner_text().split("   ")


def choose(page, layer, head):
    page.locator(".heads figure").nth(4 * layer + head).click()
    page.wait_for_function(f"document.querySelector('[data-layer]').textContent == '{layer}'")
    page.wait_for_function(f"document.querySelector('[data-head]').textContent == '{head}'")


def test_the_head_on_view_shows_the_models_own_numbers(opened, cat):
    page, weights = opened(cat[0]), cat[1].weights(1, 2)
    page.locator(".view canvas").focus()
    n = len(TEXT)
    for step in range(4):
        edge, number = reading(page)
        key = n - 1 - step
        assert edge == f"{n - 1} 猫 → {key} {LABELS[key]}"
        assert float(number) == pytest.approx(float(weights[n - 1, key]), rel=1e-6)
        page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowRight")
    assert reading(page)[0].startswith(f"{n - 2} ")


def test_another_head_is_shown_to_the_shades_of_its_picture(opened, cat, monkeypatch):
    monkeypatch.setattr("glassformer.glass.page.EXACT_SIZE", 4 * 8 * len(TEXT) ** 2 - 1)
    model = cat[1].model
    page = opened(look(model, CharTokenizer(TEXT), TEXT, **BOTH))
    choose(page, 0, 3)
    weights = cat[1].weights(0, 3)
    page.locator(".view canvas").focus()
    for key in range(len(TEXT) - 1, 0, -1):
        number = reading(page)[1]
        assert number.startswith("≈")
        assert float(number[1:]) == pytest.approx(float(weights[-1, key]), abs=1 / 255 + 1e-3)
        page.keyboard.press("ArrowLeft")
    assert page.locator("[data-rounded]").is_visible()
    assert not page.locator("[data-exact]").is_visible()
    choose(page, 1, 2)
    assert page.locator("[data-exact]").is_visible()


def test_every_head_of_a_short_text_is_exact(opened, cat):
    page = opened(cat[0])
    for layer, head in [(0, 3), (1, 0), (1, 2)]:
        choose(page, layer, head)
        page.locator(".view ol button").last.click()
        weights = cat[1].weights(layer, head)
        assert float(reading(page)[1]) == pytest.approx(float(weights[-1, -1]), rel=1e-6)
        assert page.locator("[data-exact]").is_visible()
    assert "The numbers of all heads are" in page.locator("[data-exact]").inner_text()


def test_heads_can_be_chosen_by_keyboard(opened, cat):
    page = opened(cat[0])
    figure = page.locator(".heads figure").nth(1)
    figure.focus()
    page.keyboard.press("Enter")
    page.wait_for_function("document.querySelector('[data-layer]').textContent == '0'")
    assert figure.get_attribute("aria-pressed") == "true"
    assert page.locator(".heads figure[aria-pressed=true]").count() == 1


def test_a_token_colours_those_it_reads_and_equal_tokens_stay_apart(opened, cat):
    page, weights = opened(cat[0]), cat[1].weights(1, 2)
    buttons = page.locator(".view ol button")
    assert buttons.all_inner_texts() == LABELS
    buttons.nth(5).click()
    strengths = [
        float(page.locator(".view ol li").nth(i).evaluate("e => e.style.getPropertyValue('--w')"))
        for i in range(len(TEXT))
    ]
    expected = [float(weights[5, i]) ** 0.5 if i <= 5 else 0 for i in range(len(TEXT))]
    assert strengths == pytest.approx(expected, abs=1e-3)
    assert page.locator(".view ol [aria-pressed=true]").count() == 1


def taken(page, ending, layer=1, head=2):
    with page.expect_download() as download:
        page.click(f"[data-save={ending}]")
    assert download.value.suggested_filename == f"layer-{layer}-head-{head}.{ending}"
    return download.value.path().read_bytes()


def test_the_numbers_and_the_figure_can_be_taken_away(opened, cat):
    page, weights = opened(cat[0]), cat[1].weights(1, 2).numpy()
    rows = list(csv.DictReader(io.StringIO(taken(page, "csv").decode())))
    n = len(TEXT)
    assert len(rows) == n * (n + 1) // 2
    for row in rows:
        query, key = int(row["query"]), int(row["key"])
        assert (row["query_token"], row["key_token"]) == (LABELS[query], LABELS[key])
        assert np.float32(row["weight"]) == weights[query, key]
    root = ElementTree.fromstring(taken(page, "svg").decode())
    assert root.get("viewBox") == f"0 0 {n} {n}"
    assert len(root) == int((np.sqrt(weights) > 0.004).sum())
    assert Image.open(io.BytesIO(taken(page, "png"))).size[0] >= n


def test_the_future_is_masked(opened, cat):
    page = opened(cat[0])
    page.locator(".view ol button").nth(2).click()
    page.locator(".view canvas").focus()
    page.keyboard.press("ArrowRight")
    assert reading(page)[1] == "0 (a later token: not seen)"
    page.click("label[for^=zh]")
    assert reading(page)[1] == "0 (后面的词元，看不到)"
    page.locator(".view canvas").focus()
    page.keyboard.press("ArrowLeft")
    assert "(" not in reading(page)[1]


def test_names_stand_apart_from_their_surroundings_and_special_ones_are_marked(opened):
    class Opened(CharTokenizer):
        def _encode(self, text):
            return np.concatenate([[self.end], super()._encode(text)])

    text = "שלום عرب"
    tokenizer = Opened(text)
    page = opened(look(make(tokenizer), tokenizer, text))
    names = page.locator(".view ol button > bdi")
    labels = [END, *text.replace(" ", "␣")]
    assert names.all_text_contents() == labels
    assert page.locator(".view .special").all_text_contents() == [END]
    page.locator(".view ol button").nth(2).click()
    page.locator(".view canvas").focus()
    for _ in range(2):
        page.keyboard.press("ArrowLeft")
    assert page.locator(".view output bdi").all_text_contents() == ["ל", END]
    assert page.locator(".view output .special").count() == 1
    left, right = (page.locator(".view output bdi").nth(i).bounding_box()["x"] for i in (0, 1))
    assert left < right


def test_hostile_and_cut_characters_are_text(opened):
    text = "</script><b>字<!--<script>"
    tokenizer = ByteTokenizer()
    page = opened(look(make(tokenizer), tokenizer, text))
    labels = tokenizer.labels(list(text.encode()))
    assert page.locator(".view ol button").all_text_contents() == labels
    assert "字 2/3" in labels
    assert page.locator(".view b, main script:not([type])").count() == 0


def test_a_page_of_512_tokens_opens_and_answers(opened):
    tokenizer = ByteTokenizer()
    page = opened(look(make(tokenizer, 512, 12, 12), tokenizer, "the other day " * 40, layer=0, head=0))
    assert reading(page)[0].startswith("511 ")
    page.locator(".heads figure").nth(143).click()
    page.wait_for_function("document.querySelector('[data-layer]').textContent == '11'")
    assert page.locator(".view ol button").count() == 512


def test_an_encoder_reads_what_comes_later(opened):
    tokenizer = wrapping()
    model, text = make_encoder(tokenizer.vocab_size), "the cat sees"
    ids = tokenizer.encode_wrapped(text).tolist()
    weights = trace(model, ids).weights(1, 2).numpy()
    page, n = opened(look(model, tokenizer, text, **BOTH)), len(ids)
    assert page.locator(".view .special").all_text_contents()[-2:] == ["[CLS]", "[SEP]"]
    page.locator(".view ol button").first.click()
    page.locator(".view canvas").focus()
    for key in range(1, n):
        page.keyboard.press("ArrowRight")
        assert reading(page)[0].startswith("0 [CLS] → ")
        assert float(reading(page)[1]) == pytest.approx(weights[0, key], rel=1e-6)
    strengths = page.eval_on_selector_all(
        ".view ol li", "all => all.map(e => +e.style.getPropertyValue('--w'))"
    )
    assert strengths == pytest.approx(np.sqrt(weights[0]), abs=1e-3)
    rows = list(csv.DictReader(io.StringIO(taken(page, "csv").decode())))
    assert [np.float32(row["weight"]) for row in rows] == weights.flatten().tolist()
    root = ElementTree.fromstring(taken(page, "svg").decode())
    assert len(root) == int((np.sqrt(weights) > 0.004).sum())
    assert not page.locator("[data-unseen]").is_visible()


def test_queries_and_keys_are_counted_and_named_apart(opened, cat):
    """As cross-attention would have them: 2 queries, 3 keys, one cell hidden."""
    (data,) = data_of(cat[0])
    weights = np.array([[0.5, 0.25, 0.25], [0.0, 0.125, 0.875]], "<f4")
    held = {"float32": base64.b64encode(weights.tobytes()).decode()}
    data |= {"queries": ["猫", "猫"], "keys": ["a", "a", "<b>"], "same": False, "heads": [[held] * 4] * 2}
    data |= {"special": {"queries": [], "keys": [2]}, "masks": [base64.b64encode(b"\xec").decode()]}
    block = json.dumps(data).replace("<", "\\u003c")
    page = opened(re.sub('(json">).*?(</script>)', lambda found: found[1] + block + found[2], cat[0]))
    assert page.locator(".view ol").count() == 2
    assert page.locator(".view ol button").all_text_contents() == ["猫", "猫"]
    assert page.locator(".view ol").last.locator("li").all_text_contents() == ["a", "a", "<b>"]
    assert reading(page) == ["1 猫 → 2 <b>", "0.8750000"]
    page.locator(".view canvas").focus()
    for _ in range(2):
        page.keyboard.press("ArrowLeft")
    assert reading(page)[0] == "1 猫 → 0 a"
    assert reading(page)[1].startswith("0 (")
    page.locator(".view ol button").first.click()
    assert reading(page) == ["0 猫 → 0 a", "0.5000000"]
    strengths = "all => all.map(e => +e.style.getPropertyValue('--w'))"
    assert page.locator(".view ol").last.locator("li").evaluate_all(strengths) == [0.707, 0.5, 0.5]
    rows = list(csv.reader(io.StringIO(taken(page, "csv").decode())))[1:]
    assert rows == [
        ["0", "猫", "0", "a", "0.5"],
        ["0", "猫", "1", "a", "0.25"],
        ["0", "猫", "2", "<b>", "0.25"],
        ["1", "猫", "1", "a", "0.125"],
        ["1", "猫", "2", "<b>", "0.875"],
    ]
    assert ElementTree.fromstring(taken(page, "svg").decode()).get("viewBox") == "0 0 3 2"
    width, height = Image.open(io.BytesIO(taken(page, "png"))).size
    assert width * 2 == height * 3


def heads_on_view(page):
    headings = page.locator(".view h2 [lang=en]").all_text_contents()
    return [".".join(re.findall(r"\d+", heading)) for heading in headings]


def two(layers, heads):
    tokenizer = CharTokenizer(TEXT)
    beside = Subject(make(tokenizer, layers=layers, heads=heads), tokenizer, "猫追")
    return look(make(tokenizer), tokenizer, TEXT, beside=beside, **BOTH)


def test_a_head_chosen_in_one_is_chosen_in_the_other_where_it_is_there(opened):
    page = opened(two(layers=1, heads=3))
    own = heads_on_view(page)[1]
    first, second = (page.locator(".subject").nth(i) for i in (0, 1))
    assert heads_on_view(page) == ["1.2", own]
    first.locator(".heads figure").nth(4).click()
    assert heads_on_view(page) == ["1.0", own]
    first.locator(".heads figure").nth(1).click()
    assert heads_on_view(page) == ["0.1", "0.1"]
    second.locator(".heads figure").nth(2).click()
    assert heads_on_view(page) == ["0.2", "0.2"]
    assert page.locator(".heads figure[aria-pressed=true]").count() == 2
    first.locator("ol button").first.click()  # what is pointed at stays each one's own
    readings = page.locator(".view output").all_inner_texts()
    assert readings[0].startswith("0 猫 → 0 猫")
    assert readings[1].startswith("1 追 → 1 追")


def test_two_pages_in_one_document_do_not_disturb_each_other(opened, cat):
    tokenizer = CharTokenizer("abc")
    other = look(make(tokenizer), tokenizer, "abc", layer=0, head=0)
    bodies = [re.search("<body>(.*)</body>", html, re.DOTALL)[1] for html in (cat[0], other)]
    both = "".join(f"<div>{body}</div>" for body in bodies)
    page = opened(cat[0].replace(bodies[0], both))
    assert heads_on_view(page) == ["1.2", "0.0"]
    assert page.locator(".view ol button").count() == len(TEXT) + 3
    page.locator(".subject").first.locator(".heads figure").nth(1).click()
    assert heads_on_view(page) == ["0.1", "0.0"]
    page.locator("label[for^=zh]").last.click()
    assert page.locator("h1 [lang=en]:visible").count() == 1
    assert page.locator("h1 [lang=zh-Hans]:visible").count() == 1
