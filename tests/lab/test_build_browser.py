"""The training lab in a browser: order a training, watch it, stop it, look at its heads; in two languages."""

from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.responses import HTMLResponse

from browsing import serving, watched
from conftest import TEXT
from glassformer.lab import building
from glassformer.lab.pages import lesson_page
from glassformer.lab.trainings import Trainings
from glassformer.lab.words_build import WORDS
from glassformer.lessons.build import LESSON
from glassformer.store.run import Run

pytestmark = pytest.mark.slow

LANGUAGES = pytest.mark.parametrize("language", ["zh", "en"])
HOSTILE = "</script><img src=x onerror=alert(1)>"
STARTED = 60_000  # milliseconds: a process that loads torch on a busy machine


@pytest.fixture
def opened(chromium, tmp_path):
    """Opens the lesson `build`, of a server that has nothing else."""
    app = FastAPI()
    app.include_router(building.router(Trainings(tmp_path / "runs")))

    @app.get("/{language}/build.html")
    def page(language: str) -> HTMLResponse:
        page = lesson_page(
            (LESSON,),
            0,
            language,
            live_parts=building.live_parts(language),
            live_scripts=building.SCRIPTS,
            live_styles=building.STYLES,
        )
        return HTMLResponse(page.html, headers={"content-security-policy": page.policy})

    # A browser itself tells of every answer that refuses.
    refused = "the server responded with a status of 422"
    with serving(lambda port: app) as address, watched(chromium, address, forgiven=refused) as opens:
        yield lambda language, **options: opens(f"{address}/{language}/build.html", **options)


def order(page, text, probe, steps, name="cat"):
    """Start a training; with no text, on what stands in the form."""
    if text:
        page.fill("#build-text", text)
        page.fill("#build-probe", probe)
    page.fill("[name=name]", name)
    page.eval_on_selector(
        "[name=steps]", f"select => select.append(new Option('{steps}', '{steps}', true, true))"
    )
    page.click(".build-start")


def said(key, language, **values):
    return getattr(WORDS[key], language).format(**values)


@LANGUAGES
def test_train_watch_and_find_it_again(opened, language):
    page = opened(language)
    order(page, TEXT, "the cat", 4)
    page.wait_for_selector(".build-look:not([hidden])", timeout=STARTED)
    assert page.inner_text(".build-told") == said("finished", language, run="cat")
    assert page.get_attribute(".build-look", "href") == f"/{language}/runs/cat"
    assert page.eval_on_selector("progress", "bar => bar.value") == 1
    for line in ("line0", "line1", "line2"):
        points = page.get_attribute(f".build-curve polyline.{line}", "points").split()
        assert len(points) == {"line0": 4, "line1": 5, "line2": 5}[line]

    heat = page.locator(".build-heat tbody")
    assert page.locator("#build-moment").input_value() == "4"
    assert heat.locator("td.masked").count() == 7 * 6 / 2
    assert heat.locator("tr").first.locator("td").first.inner_text() == "1"
    assert page.locator(".build-sample span").text_content() == "the cat"
    after = heat.inner_text()
    page.locator("#build-moment").focus()
    page.keyboard.press("Home")
    page.wait_for_selector(
        f".build-heat figcaption:has-text('{said('heat', language, layer=0, head=0, step=0)}')"
    )
    assert page.inner_text("output[for=build-moment]") == said("untrained", language)
    assert heat.inner_text() != after
    page.select_option(".build-layer", "1")
    page.select_option(".build-head", "1")
    page.wait_for_selector(
        f".build-heat figcaption:has-text('{said('heat', language, layer=1, head=1, step=0)}')"
    )
    page.click(".build-play")
    page.wait_for_selector(
        f".build-heat figcaption:has-text('{said('heat', language, layer=1, head=1, step=4)}')"
    )
    assert page.inner_text(".build-play") == said("play", language)

    page.reload()
    page.wait_for_selector(".build-heat td.masked")
    assert page.inner_text(".build-told") == said("finished", language, run="cat")
    page.click(".build-again")
    assert page.is_visible(".build-start")


def test_stop_and_train_on_a_file(opened, tmp_path):
    page = opened("en", reduced_motion="reduce")
    path = tmp_path / "own.txt"
    path.write_bytes(b"\xff\xfe\x00")
    page.set_input_files("[type=file]", path)
    page.wait_for_selector(f".build-told:has-text('{WORDS['no_file'].en}')")
    path.write_text(HOSTILE * 40, encoding="utf-8")
    page.set_input_files("[type=file]", path)
    page.wait_for_selector("#build-count:not(:empty)")
    page.fill("#build-probe", HOSTILE)
    order(page, None, None, 2000, name=HOSTILE)
    page.wait_for_selector(".build-heat td.masked", timeout=STARTED)
    assert page.inner_text(".build-play") == WORDS["forward"].en
    page.click(".build-stop")
    page.wait_for_selector(".build-again:not([hidden])", timeout=STARTED)
    (folder,) = (tmp_path / "runs").iterdir()
    step = Run(folder).checkpoint("last").step
    assert page.inner_text(".build-told") == said("stopped", "en", run=folder.name, step=step)
    assert page.locator(".build-sample span").text_content() == HOSTILE
    page.locator("#build-moment").focus()
    page.keyboard.press("Home")
    page.click(".build-play")
    assert page.locator("#build-moment").input_value() == "1"


@LANGUAGES
def test_an_example_in_one_click_and_a_refusal(opened, language):
    page = opened(language)
    page.click("[data-example=stories]")
    page.wait_for_selector("#build-count:not(:empty)")
    assert page.input_value("#build-probe")
    refused = said("too_short", language, n=3, fewest="1,000")
    order(page, "abc", "abc", 1)
    page.wait_for_selector(f".build-told:has-text('{refused}')")


@LANGUAGES
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_nothing_is_wider_than_the_screen(opened, language, scheme):
    page = opened(language, viewport={"width": 360, "height": 740}, color_scheme=scheme)
    page.click("[data-example=stories]")
    page.wait_for_selector("#build-count:not(:empty)")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    order(page, None, None, 1)
    page.wait_for_selector(".build-look:not([hidden])", timeout=STARTED)
    page.wait_for_selector(".build-heat td.masked")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_without_scripts_it_says_so(opened):
    page = opened("zh", java_script_enabled=False)
    assert page.is_visible(".build-scripts")
    assert not page.is_visible(".build-start")


def test_the_page_from_disk_says_how_to_start_the_server(tmp_path: Path, chromium):
    path = tmp_path / "build.html"
    path.write_text(lesson_page((LESSON,), 0, "en").html, encoding="utf-8")
    page = chromium.new_page()
    page.goto(path.as_uri())
    assert "glassformer lab" in page.inner_text("[data-live=build]")
    page.close()
