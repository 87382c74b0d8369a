"""A run's page and the exported lab in a browser: with and without scripts, quiet, usable, and quick."""

import re
import shutil
import time
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from browsing import serving, watched
from glass.reading import LETTERS, make
from glass.test_translation import make as translator
from glassformer.lab.export import export
from glassformer.lab.server import create_app
from lab.serving import address, save, save_encoder
from lab.test_masks import LETTERS as SIGNS
from lab.test_masks import model as filling
from lab.test_other_runs import vectors
from lab.test_steps import transformer

pytestmark = pytest.mark.slow

HOSTILE = "</script><img src=x onerror=alert(1)>שלום 👩‍👩‍👧‍👦\n\"'"
BOTH = pytest.mark.parametrize("java_script_enabled", [True, False], ids=["scripts", "no scripts"])
EDITED = {"text": "春眠 ab", "head": "1.2", "query": 8, "key": 3, "edit": ["cut:1.2.8.3", "scale:0.0.1:2"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("browser") / "runs"
    save(folder / "春 bytes", make(257, context=48, layers=3, heads=4))
    save(folder / "wide", make(257, context=16, layers=12, heads=12))
    save_encoder(folder / "encoder")
    save(folder / "fills", filling(), SIGNS, family="bert")
    save(folder / "pairs", translator(), LETTERS, family="seq2seq")
    save(folder / "transformer", transformer(), LETTERS, family="transformer")
    vectors(folder / "words")
    return folder


@pytest.fixture(scope="module")
def served(folder):
    """The lab's address, served from a thread."""
    with serving(lambda port: create_app(folder, port=port), h11_max_incomplete_event_size=1 << 18) as url:
        yield url


@pytest.fixture
def opened(chromium, served):
    """Opens a page of the lab; at the end, nobody else may have been asked."""
    with watched(chromium, f"{served}/", "data:image/png;base64,") as opens:
        yield lambda path, **options: opens(served + path, **options)


def run(language="en", name="春 bytes", **asked):
    return address(name, language, **asked)


def part(page, name):
    return page.locator(f"[data-part={name}]")


@BOTH
@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("colour", ["light", "dark"])
def test_the_page_is_quiet_and_accessible(opened, language, colour, java_script_enabled):
    page = opened(run(language, **EDITED), color_scheme=colour, java_script_enabled=java_script_enabled)
    assert part(page, "edits").locator("[type=checkbox]").count() == 2
    if java_script_enabled:
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()


@pytest.mark.parametrize("name", ["encoder", "wide"])
def test_other_models_pages_are_quiet_and_accessible(opened, name):
    page = opened(run("zh", name, text="the cat"))
    assert page.locator(".map").count() == (144 if name == "wide" else 8)
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


@BOTH
@pytest.mark.parametrize(
    ("name", "typed"), [("pairs", "abcdef" * 3), ("transformer", "abcde"), ("words", "king")]
)
@pytest.mark.parametrize(("language", "colour", "width"), [("zh", "light", 360), ("en", "dark", 1200)])
def test_what_is_asked_in_a_line_is_answered_without_scripts(
    opened, name, typed, language, colour, width, java_script_enabled
):
    view = {"viewport": {"width": width, "height": 800}, "java_script_enabled": java_script_enabled}
    page = opened(run(language, name), color_scheme=colour, **view)
    page.locator("#text").fill(typed)
    page.locator("button[type=submit]").click()
    page.wait_for_url("**text=*")
    assert page.locator("#text").input_value() == typed
    assert page.locator("tbody tr").count() > 5
    assert page.locator("html").evaluate("html => html.scrollWidth") <= width
    if java_script_enabled:
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()


@BOTH
@pytest.mark.parametrize(("language", "colour", "width"), [("zh", "light", 360), ("en", "dark", 1200)])
def test_a_translation_is_followed_step_by_step(opened, language, colour, width, java_script_enabled):
    view = {"viewport": {"width": width, "height": 800}, "java_script_enabled": java_script_enabled}
    page = opened(run(language, "transformer", text="abcde"), color_scheme=colour, **view)
    for step in (1, 2):
        page.locator(f"a.token >> nth={step}").click()
        page.wait_for_url(f"**query={step}*")
        assert page.locator(".token[aria-current]").text_content().startswith(str(step))
    page.locator("a.map >> nth=5").click()
    page.wait_for_url("**head=1.1*")
    assert page.locator(".token[aria-current]").text_content().startswith("2")
    assert page.locator(".map[aria-current]").count() == 1
    assert page.locator("html").evaluate("html => html.scrollWidth") <= width
    if java_script_enabled:
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()


@BOTH
@pytest.mark.parametrize(("language", "colour", "width"), [("zh", "dark", 360), ("en", "light", 1200)])
def test_masks_are_filled_and_followed(opened, language, colour, width, java_script_enabled):
    view = {"viewport": {"width": width, "height": 800}, "java_script_enabled": java_script_enabled}
    page = opened(run(language, "fills", text="abc"), color_scheme=colour, **view)
    page.locator(".note a").click()  # an example with a mask
    page.locator("#text").fill("ab[MASK]d[MASK]")
    page.locator("button[type=submit]").first.click()
    expect(part(page, "hidden").locator("table")).to_have_count(2)
    part(page, "hidden").locator("a[data-ask]").click()
    expect(page.locator("[name=query][value='5']")).to_be_checked()
    part(page, "looks").locator("a[data-ask]").nth(1).click()
    expect(part(page, "looks").locator(".followed th")).to_contain_text("1")
    assert page.locator("html").evaluate("html => html.scrollWidth") <= width
    if java_script_enabled:
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
    part(page, "hidden").locator("tbody a").first.click()
    expect(part(page, "hidden").locator("table")).to_have_count(1)
    assert page.locator("#text").input_value().count("[MASK]") == 1


@pytest.mark.parametrize("path", ["/zh/index.html", "/en/index.html"])
def test_the_list_of_runs_is_accessible_and_opens_one(opened, path):
    page = opened(path)
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    page.get_by_role("link", name="春 bytes").click()
    assert page.locator("h1").text_content() == "春 bytes"


@BOTH
@pytest.mark.parametrize("width", [360, 768, 1440])
def test_nothing_is_wider_than_the_screen(opened, width, java_script_enabled):
    options = {"viewport": {"width": width, "height": 800}, "java_script_enabled": java_script_enabled}
    for asked in (EDITED, {"text": "W" * 200, "temperature": 0.5}, {"text": HOSTILE}):
        page = opened(run("en", **asked), **options)
        assert page.locator("html").evaluate("html => html.scrollWidth") <= width


@BOTH
def test_hostile_text_makes_no_elements(opened, java_script_enabled):
    page = opened(run(text=HOSTILE), java_script_enabled=java_script_enabled)
    assert page.locator("#text").input_value() == HOSTILE
    assert page.locator("main script, [onerror], img:not(.map img)").count() == 0


def test_without_scripts_the_form_does_everything(opened):
    page = opened(run(), java_script_enabled=False)
    page.locator("#text").fill("abc\nd")
    page.get_by_role("button", name="Look").click()
    assert page.locator("#text").input_value() == "abc\nd"
    page.locator("[name=head][value='2.1']").check()
    page.locator("[name=query][value='3']").check()
    part(page, "heads").get_by_role("button", name="Update").click()
    assert "layer 2, head 1" in page.locator("#weights-title").text_content()
    page.get_by_role("button", name="Cut this connection").click()
    assert part(page, "edits").locator("[type=checkbox]").count() == 1
    page.locator("[name=factor]").fill("-1.5")
    page.get_by_role("button", name="Scale the value").click()
    assert "times -1.5" in part(page, "edits").text_content()
    page.locator("[type=checkbox][value^=cut]").uncheck()
    part(page, "edits").get_by_role("button", name="Update").click()
    assert part(page, "edits").locator("[type=checkbox]").count() == 1
    page.get_by_role("link", name="Take all back").click()
    assert part(page, "edits").locator("[type=checkbox]").count() == 0
    page.get_by_role("link", name="中文").click()
    assert page.locator("#text").input_value() == "abc\nd"
    assert "第 2 层，头 1" in page.locator("#weights-title").text_content()


def test_with_scripts_a_click_is_answered_in_place(opened):
    page = opened(run(text="abcd"))
    page.evaluate("window.same = true")
    page.locator("[name=head][value='2.1']").check(force=True)
    expect(page.locator("#weights-title")).to_contain_text("layer 2, head 1")
    page.locator("td[data-edge='2.1']").click()
    expect(page.locator("td.chosen")).to_have_attribute("data-edge", "2.1")
    assert "query=2" in page.url
    assert "key=1" in page.url
    page.get_by_role("button", name="Cut this connection").click()
    page.wait_for_selector("[data-part=edits] [type=checkbox]")
    assert page.locator("td[data-edge='2.1']").text_content() == "0.00"
    page.locator("[data-part=edits] [type=checkbox]").uncheck()
    page.wait_for_selector("[data-part=edits] [type=checkbox]", state="detached")
    page.go_back()
    page.wait_for_selector("[data-part=edits] [type=checkbox]")
    assert page.evaluate("window.same")


def test_sliders_and_typing_follow_the_hand(opened):
    page = opened(run("zh", text="abcd"))
    page.evaluate("window.slider = document.querySelector('[name=top_k]')")
    page.locator("[name=top_k]").fill("2")
    expect(part(page, "candidates")).to_contain_text("有 2 个")
    assert page.locator(".slider:has([name=top_k]) output").text_content() == "2"
    assert page.evaluate("window.slider.isConnected")
    assert "top_k=2" in page.url
    page.locator("#text").press_sequentially("ef")
    expect(page.locator("[name=query]")).to_have_count(6)
    assert page.evaluate("document.activeElement.id") == "text"
    assert "text=" in page.url
    page.reload()
    assert page.locator("[name=top_k]").input_value() == "2"
    assert page.locator("#text").input_value() == "efabcd"
    assert urlsplit(page.url).query.count("&") == 5


def test_the_keyboard_chooses_and_keeps_its_place(opened):
    page = opened(run(text="abcd", query=1))
    page.locator("[name=query][value='1']").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".followed th")).to_contain_text("2 c")
    expect(page.locator("[name=query][value='2']")).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".followed th")).to_contain_text("3 d")


def test_the_language_link_keeps_what_is_shown(opened):
    page = opened(run(text="abcd"))
    page.locator("[name=head][value='2.1']").check(force=True)
    expect(page.locator(".language")).to_have_attribute("href", re.compile(r"head=2\.1"))
    page.get_by_role("link", name="中文").click()
    assert urlsplit(page.url).path.startswith("/zh/")
    assert page.locator("[name=head][value='2.1']").is_checked()


def test_an_answer_comes_quickly(opened):
    page = opened(run(text="a" * 40))
    began = time.monotonic()
    for value in ("1.1", "2.2", "0.3"):
        page.locator(f"[name=head][value='{value}']").check(force=True)
        layer, head = value.split(".")
        expect(page.locator("#weights-title")).to_contain_text(f"layer {layer}, head {head}")
    assert time.monotonic() - began < 6


def test_a_run_that_goes_while_it_is_open_is_told(chromium, served, folder):
    save(folder / "short-lived")
    page = chromium.new_page()
    page.goto(served + run("zh", "short-lived", text="abc"))
    shutil.rmtree(folder / "short-lived")
    page.locator("[name=query][value='1']").click(force=True)
    expect(page.locator("h1")).to_have_text("这个模型不在了")
    page.close()


@BOTH
@pytest.mark.parametrize(("locale", "language"), [("zh-CN", "zh"), ("en-US", "en"), ("fr-FR", "en")])
def test_the_exported_lab_opens_from_disk(chromium, tmp_path, locale, language, java_script_enabled):
    first = export(tmp_path / "lab")
    with watched(chromium, "file:", offline=True) as opens:
        page = opens(first.as_uri(), locale=locale, java_script_enabled=java_script_enabled)
        if java_script_enabled:
            page.wait_for_url(re.compile(f"/{language}/index.html$"))
        else:
            page.locator(f"[href='{language}/index.html']").click()
        page.locator(".contents a").first.click()
        page.locator(".language").click()
        assert page.locator("h1").is_visible()
        page.locator(".home").click()
        other = "en" if language == "zh" else "zh"
        assert page.url.endswith(f"/{other}/index.html")
