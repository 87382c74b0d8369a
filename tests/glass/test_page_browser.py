"""The page in a browser: it works without scripts and network, in two languages, dark and on a phone."""

import io
import re

import numpy as np
import pytest
import torch
from PIL import Image

from browsing import watched
from glassformer import look
from glassformer.data.tokenizers import CharTokenizer
from glassformer.glass.page import Subject
from glassformer.models import GPT, GPTConfig
from glassformer.nn.blocks import initialise

pytestmark = pytest.mark.slow

HOSTILE = "</script><b>x<!--<script>alert(1)</script><img src=x onerror=alert(1)>\"' onclick=alert(1)\n\t."
TEXTS = {"short": "床前明月光", "long": "春眠不觉晓，" * 20, "word": "W" * 100, "hostile": HOSTILE}
EVERY = pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)


def subject(text, context=96, layers=2, heads=12):
    tokenizer = CharTokenizer(text)
    torch.manual_seed(0)
    model = GPT(GPTConfig(tokenizer.vocab_size, context, layers, heads, d_model=4 * heads))
    initialise(model, 1, std=0.3)
    return Subject(model.eval(), tokenizer, text, name=f"runs/{layers}")


@pytest.fixture
def opened(chromium, tmp_path):
    """Opens a page; at the end, nothing may have been asked of the network or complained of."""
    path = tmp_path / "look.html"
    usual = {"java_script_enabled": False, "offline": True}
    with watched(chromium, path.as_uri(), "data:image/png", **usual) as opens_url:

        def opens(html, **options):
            path.write_text(html, encoding="utf-8", newline="\n")
            return opens_url(path.as_uri(), **options)

        yield opens


@pytest.fixture
def show(opened):
    """Opens the page of a text."""

    def shows(text, language="en", **options):
        shown = subject(text)
        return opened(look(shown.model, shown.tokenizer, text, language=language), **options)

    return shows


@pytest.fixture
def show_two(opened):
    """Opens a page with two subjects: a text, and another with a model of another size."""

    def shows(text, other, language="en", **options):
        shown, beside = subject(text), subject(other, layers=3, heads=4)
        page = look(shown.model, shown.tokenizer, text, name=shown.name, beside=beside, language=language)
        return opened(page, **options)

    return shows


def visible(page):
    """How many texts show in English and in Chinese."""
    return [page.locator(f"body span[lang={tag}]:visible").count() for tag in ("en", "zh-Hans")]


@EVERY
@pytest.mark.parametrize("java_script_enabled", [True, False])
def test_opens_quietly_with_all_its_pictures(show, text, java_script_enabled):
    page = show(text, java_script_enabled=java_script_enabled)
    sizes = page.eval_on_selector_all("img", "all => all.map(i => [i.complete, i.naturalWidth])")
    assert sizes == [[True, min(len(text), 64)]] * 24
    assert all(box["width"] == pytest.approx(box["height"], abs=1) for box in boxes(page, "img"))


def boxes(page, selector):
    return page.eval_on_selector_all(selector, "all => all.map(e => e.getBoundingClientRect().toJSON())")


@pytest.mark.parametrize("java_script_enabled", [True, False])
def test_hostile_text_makes_no_elements(show, java_script_enabled):
    page = show(HOSTILE, java_script_enabled=java_script_enabled)
    assert (
        page.locator(
            "main script:not([type]), b, iframe, [onclick], [onerror], img:not(.map), blockquote *"
        ).count()
        == 0
    )
    assert page.locator("blockquote").text_content() == HOSTILE
    names = page.locator("section > .tokens li").all_text_contents()
    assert "".join(name.removeprefix(str(i)) for i, name in enumerate(names)) == HOSTILE.translate(
        {ord(" "): "␣", ord("\n"): "⏎", ord("\t"): "⇥"}
    )


def test_languages_change_by_click(show):
    page = show(TEXTS["long"])
    english, chinese = visible(page)
    assert english > 30
    assert chinese == 0
    page.click("label[for^=zh]")
    assert visible(page) == [0, english]
    page.click("label[for^=en]")
    assert visible(page) == [english, 0]


def test_languages_change_by_keyboard(show):
    page = show(TEXTS["short"], language="zh")
    none, chinese = visible(page)
    assert none == 0
    page.keyboard.press("Tab")
    outline = "label => getComputedStyle(label).outlineStyle"
    assert page.eval_on_selector("label[for^=zh]", outline) == "solid"
    page.keyboard.press("ArrowLeft")
    assert visible(page) == [chinese, 0]
    page.keyboard.press("ArrowRight")
    assert visible(page) == [0, chinese]


def rgba(colour):
    """Of "rgb(r, g, b)", "rgba(r, g, b, a)", or the first colour of a gradient; transparent for "none"."""
    parts = [float(part) for part in re.findall(r"[0-9.]+", colour.split(")")[0])]
    return [*parts, 1.0][:4] if parts else [0.0] * 4


def luminance(colour):
    """As WCAG 2 defines it."""
    shares = [part / 255 for part in colour]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in shares]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


LAYERS = """all => all.map(e => {
  const layers = [];
  for (let at = e; at; at = at.parentElement) {
    const style = getComputedStyle(at);
    layers.unshift(style.backgroundColor, style.backgroundImage);
  }
  return [...layers, getComputedStyle(e).color];
})"""
READ = "h1, h2, p, figcaption, footer, label, small, th, .tokens li, .weights td:not(.masked), .next li"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("columns", [1, 2])
def test_every_text_stands_out_from_its_ground(show, show_two, scheme, columns):
    if columns == 1:
        page = show(TEXTS["long"], color_scheme=scheme)
    else:
        page = show_two(TEXTS["long"], TEXTS["word"], color_scheme=scheme)
    grounds = []
    for layers in page.eval_on_selector_all(READ, LAYERS):
        ground = [0.0] * 3
        for *colour, alpha in map(rgba, layers[:-1]):
            ground = [alpha * c + (1 - alpha) * g for c, g in zip(colour, ground, strict=True)]
        ink, paper = luminance(rgba(layers[-1])[:3]), luminance(ground)
        assert (max(ink, paper) + 0.05) / (min(ink, paper) + 0.05) >= 4.5, layers
        grounds.append(paper)
    assert len(grounds) > 1000
    assert max(grounds) > 0.8 if scheme == "light" else min(grounds) < 0.05


@EVERY
@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("width", [360, 1280])
def test_page_is_no_wider_than_the_screen(show, text, language, width):
    page = show(text, language, viewport={"width": width, "height": 640})
    overflowing = "all => all.filter(e => e.scrollWidth > e.clientWidth).map(e => e.tagName)"
    assert page.eval_on_selector_all("html, blockquote, p", overflowing) == []
    assert all(box["right"] <= width for box in boxes(page, ".tokens li, .scroll, .map, .proof, .languages"))


PHONE = {"width": 390, "height": 844}
WORD_BREAKS = """all => all.flatMap(e => {
  const found = [], walk = document.createTreeWalker(e, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    for (const word of walk.currentNode.data.matchAll(/[\\w-]+/g)) {
      const range = document.createRange();
      range.setStart(walk.currentNode, word.index);
      range.setEnd(walk.currentNode, word.index + word[0].length);
      if (range.getClientRects().length > 1) found.push(word[0]);
    }
  }
  return found;
})"""


@EVERY
@pytest.mark.parametrize("width", [360, 390, 700, 1280])
def test_words_and_commands_stay_whole(show, text, width):
    page = show(text, viewport=PHONE | {"width": width})
    assert page.locator(".proof td").count() > 8
    assert page.eval_on_selector_all(".proof td, .plain th, code", WORD_BREAKS) == []
    lines = page.eval_on_selector_all("code", "all => all.map(e => e.getClientRects().length)")
    assert max(lines) == 1
    assert all(box["right"] <= width for box in boxes(page, ".proof, .proof td"))


def test_what_runs_on_beyond_the_edge_says_so(show):
    """Where a table scrolls, its edge is shaded; where it fits, it is not."""
    page = show(TEXTS["long"], viewport=PHONE)
    table = page.locator(".scroll").nth(1)
    assert table.evaluate("e => e.scrollHeight > e.clientHeight")

    def bottom():
        box = table.bounding_box()
        clip = {
            "x": box["x"] + box["width"] - 60,
            "y": box["y"] + box["height"] - 4,
            "width": 40,
            "height": 2,
        }
        points = np.asarray(Image.open(io.BytesIO(page.screenshot(clip=clip))).convert("L"))
        return int(points.max())

    table.scroll_into_view_if_needed()
    page.evaluate("scrollBy(0, 400)")
    shaded = bottom()
    table.evaluate("e => e.scrollTo(0, e.scrollHeight)")
    assert shaded < 240 < bottom()


def test_a_phone_shows_what_each_probability_is_of(show):
    page = show(TEXTS["short"], viewport=PHONE)
    rows = page.locator(".next tbody tr")
    assert rows.nth(0).inner_text().startswith("after 0 床")
    assert "what follows 前" in rows.nth(0).inner_text()
    page.set_viewport_size({"width": 1280, "height": 800})
    assert "what follows" not in rows.nth(0).inner_text()
    assert page.locator(".next thead").is_visible()


SECTIONS = ["read", "every", "numbers", "reads", "proved", "lens", "expected"]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("java_script_enabled", [True, False])
def test_two_stand_side_by_side_section_by_section(show_two, language, java_script_enabled):
    page = show_two(
        TEXTS["short"],
        TEXTS["hostile"],
        language,
        java_script_enabled=java_script_enabled,
        viewport={"width": 1280, "height": 800},
    )
    sections = [*SECTIONS, *(["view"] if java_script_enabled else [])]
    for name in sections:
        left, right = boxes(page, f"section.{name}")
        assert left["top"] == right["top"], name
        assert left["right"] < right["left"]
    tops = [box["top"] for name in SECTIONS for box in boxes(page, f"section.{name}")]
    assert tops == sorted(tops)
    assert page.locator("section.view:visible").count() == (2 if java_script_enabled else 0)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("width", [360, 390, 960])
def test_two_stand_one_above_the_other_where_it_is_narrow(show_two, language, width):
    page = show_two(TEXTS["short"], TEXTS["long"], language, viewport={"width": width, "height": 800})
    first, second = boxes(page, ".subject")
    assert first["bottom"] <= second["top"]
    assert first["left"] == second["left"]
    assert page.locator(".about h2").all_inner_texts() == ["runs/2", "runs/3"]
    letter = "all => all.map(e => getComputedStyle(e, '::before').content)"
    marks = page.eval_on_selector_all(".subject h2", letter)
    assert marks == ['"A · "'] * (len(marks) // 2) + ['"B · "'] * (len(marks) // 2)


@EVERY
@pytest.mark.parametrize("width", [360, 961, 1100, 1920])
def test_two_are_no_wider_than_the_screen(show_two, text, width):
    page = show_two(text, TEXTS["long"], viewport={"width": width, "height": 640})
    overflowing = "all => all.filter(e => e.scrollWidth > e.clientWidth).map(e => e.tagName)"
    assert page.eval_on_selector_all("html, blockquote, p, article, section", overflowing) == []
    assert all(box["right"] <= width for box in boxes(page, ".tokens li, .scroll, .map, .proof, .languages"))
    assert page.eval_on_selector_all(".proof td, .plain th, code", WORD_BREAKS) == []
