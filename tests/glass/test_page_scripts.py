"""The page with its script: any head on view, its numbers right, figures and numbers to take away."""

import csv
import io
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from PIL import Image

from glassformer import look, trace
from glassformer.data.tokenizers import END, ByteTokenizer, CharTokenizer
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
    heard, contexts = [], []

    def opens(html):
        path = tmp_path / "look.html"
        path.write_text(html, encoding="utf-8", newline="\n")
        contexts.append(chromium.new_context(offline=True, accept_downloads=True))
        page = contexts[-1].new_page()
        page.set_default_timeout(20_000)
        page.on("console", lambda message: heard.append(message.text))
        page.on("pageerror", lambda error: heard.append(str(error)))
        page.on("request", lambda request: heard.append(request.url))
        page.goto(path.as_uri())
        page.locator("#view canvas").wait_for()
        return page

    yield opens
    for context in contexts:
        context.close()
    assert [what for what in heard if not what.startswith(("data:image/png", "file:///", "blob:"))] == []


@pytest.fixture
def cat():
    tokenizer = CharTokenizer(TEXT)
    model = make(tokenizer)
    weights = trace(model, tokenizer.encode(TEXT), "blocks.*.attention.weights")
    return look(model, tokenizer, TEXT, **BOTH), weights


def reading(page):
    """The edge and the number that the page reads out."""
    return page.locator("#view output").inner_text().split("   ")


def choose(page, layer, head):
    page.locator(".heads figure").nth(4 * layer + head).click()
    page.wait_for_function(f"document.querySelector('[data-layer]').textContent == '{layer}'")
    page.wait_for_function(f"document.querySelector('[data-head]').textContent == '{head}'")


def test_the_head_on_view_shows_the_models_own_numbers(opened, cat):
    page, weights = opened(cat[0]), cat[1].weights(1, 2)
    page.locator("#view canvas").focus()
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


def test_another_head_is_shown_to_the_shades_of_its_picture(opened, cat):
    page = opened(cat[0])
    choose(page, 0, 3)
    weights = cat[1].weights(0, 3)
    page.locator("#view canvas").focus()
    for key in range(len(TEXT) - 1, 0, -1):
        number = reading(page)[1]
        assert number.startswith("≈")
        assert float(number[1:]) == pytest.approx(float(weights[-1, key]), abs=1 / 255 + 1e-3)
        page.keyboard.press("ArrowLeft")
    assert page.locator("[data-rounded]").is_visible()
    assert not page.locator("[data-exact]").is_visible()
    choose(page, 1, 2)
    assert page.locator("[data-exact]").is_visible()


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
    buttons = page.locator("#view ol button")
    assert buttons.all_inner_texts() == LABELS
    buttons.nth(5).click()
    strengths = [
        float(page.locator("#view ol li").nth(i).evaluate("e => e.style.getPropertyValue('--w')"))
        for i in range(len(TEXT))
    ]
    expected = [float(weights[5, i]) ** 0.5 if i <= 5 else 0 for i in range(len(TEXT))]
    assert strengths == pytest.approx(expected, abs=1e-3)
    assert page.locator("#view ol [aria-pressed=true]").count() == 1


def taken(page, ending):
    with page.expect_download() as download:
        page.click(f"[data-save={ending}]")
    assert download.value.suggested_filename == f"layer-1-head-2.{ending}"
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
    page.locator("#view ol button").nth(2).click()
    page.locator("#view canvas").focus()
    page.keyboard.press("ArrowRight")
    assert reading(page)[1] == "0 (a later token: not seen)"
    page.click("label[for=zh]")
    assert reading(page)[1] == "0 (后面的词元，看不到)"
    page.locator("#view canvas").focus()
    page.keyboard.press("ArrowLeft")
    assert "(" not in reading(page)[1]


def test_names_stand_apart_from_their_surroundings_and_special_ones_are_marked(opened):
    class Opened(CharTokenizer):
        def _encode(self, text):
            return np.concatenate([[self.end], super()._encode(text)])

    text = "שלום عرب"
    tokenizer = Opened(text)
    page = opened(look(make(tokenizer), tokenizer, text))
    names = page.locator("#view ol button > bdi")
    labels = [END, *text.replace(" ", "␣")]
    assert names.all_text_contents() == labels
    assert page.locator("#view .special").all_text_contents() == [END]
    page.locator("#view ol button").nth(2).click()
    page.locator("#view canvas").focus()
    for _ in range(2):
        page.keyboard.press("ArrowLeft")
    assert page.locator("#view output bdi").all_text_contents() == ["ל", END]
    assert page.locator("#view output .special").count() == 1
    left, right = (page.locator("#view output bdi").nth(i).bounding_box()["x"] for i in (0, 1))
    assert left < right


def test_hostile_and_cut_characters_are_text(opened):
    text = "</script><b>字<!--<script>"
    tokenizer = ByteTokenizer()
    page = opened(look(make(tokenizer), tokenizer, text))
    labels = tokenizer.labels(list(text.encode()))
    assert page.locator("#view ol button").all_text_contents() == labels
    assert "字 2/3" in labels
    assert page.locator("#view b, main script").count() == 0


def test_a_page_of_512_tokens_opens_and_answers(opened):
    tokenizer = ByteTokenizer()
    page = opened(look(make(tokenizer, 512, 12, 12), tokenizer, "the other day " * 40, layer=0, head=0))
    assert reading(page)[0].startswith("511 ")
    page.locator(".heads figure").nth(143).click()
    page.wait_for_function("document.querySelector('[data-layer]').textContent == '11'")
    assert page.locator("#view ol button").count() == 512
