"""The claims in a browser: their page, and a quick run from a lesson; in two languages, light and dark."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from browsing import serving, watched
from glassformer.lab.server import create_app
from glassformer.lab.words import say

pytestmark = pytest.mark.slow

LANGUAGES = pytest.mark.parametrize("language", ["zh", "en"])
MEASURED = 60_000  # milliseconds: a process that loads torch on a busy machine


@pytest.fixture
def opened(chromium, tmp_path):
    """Opens a page of a lab that measures."""
    with (
        serving(lambda port: create_app(tmp_path, port=port, trains=True)) as address,
        watched(chromium, address) as opens,
    ):
        yield lambda path, **options: opens(f"{address}/{path}", **options)


def points(part):
    """How many points stand in the figures of a part of a page."""
    return sum(path.get_attribute("d").count("M") for path in part.locator("path.dots").all())


@LANGUAGES
def test_a_claim_is_measured_from_its_lesson(opened, language):
    page = opened(f"{language}/scale.html")
    claim = page.locator("#C7")
    claim.get_by_role("button", name=say("claims_rerun", language)).click()
    page.wait_for_selector("#C7 .result figure", timeout=MEASURED)
    expect(claim.locator("output")).to_have_text(say("claims_finished", language))
    assert claim.locator("progress").is_hidden()
    assert points(claim.locator(".result")) > 10
    assert claim.get_by_role("heading", level=4).all_inner_texts() == [
        say("claims_kept", language), say("claims_rerun_found", language)
    ]  # fmt: skip


def test_a_quick_run_is_stopped_and_goes_on(opened):
    page = opened("en/claims.html")
    claim = page.locator("#C7")
    claim.get_by_role("button", name=say("claims_rerun", "en")).click()
    claim.get_by_role("button", name=say("claims_stop", "en")).click()
    expect(claim.locator("output")).to_have_text(say("claims_stopped", "en"))
    claim.get_by_role("button", name=say("claims_rerun", "en")).click()
    page.wait_for_selector("#C7 .result figure", timeout=MEASURED)


def test_a_page_whose_run_was_replaced_offers_to_measure_again_and_stops_no_other(chromium, tmp_path):
    with (
        serving(lambda port: create_app(tmp_path, port=port, trains=True)) as address,
        watched(chromium, address, forgiven="Failed to load resource") as opens,
    ):
        one, other = (opens(f"{address}/en/claims.html") for _ in range(2))
        mine, theirs = one.locator("#C12"), other.locator("#C7")
        again, stop = (say(key, "en") for key in ("claims_rerun", "claims_stop"))
        mine.get_by_role("button", name=again).click()
        mine.get_by_role("button", name=stop).wait_for()
        one.route("**/api/claims", lambda route: route.abort())  # it sleeps, or its network is away
        other.reload()
        other.locator("#C12").get_by_role("button", name=stop).click()
        expect(other.locator("#C12 output")).to_have_text(say("claims_stopped", "en"))
        theirs.get_by_role("button", name=again).click()
        theirs.get_by_role("button", name=stop).wait_for()
        mine.get_by_role("button", name=stop).click()  # does not know yet, and must stop nothing
        one.unroute("**/api/claims")
        expect(mine.get_by_role("button", name=again)).to_be_enabled()
        expect(mine.get_by_role("button", name=stop)).to_be_hidden()
        other.wait_for_selector("#C7 .result figure", timeout=MEASURED)


def test_a_run_that_goes_on_is_found_again_when_the_page_is_opened_anew(opened):
    page = opened("en/scale.html")
    page.locator("#C7").get_by_role("button", name=say("claims_rerun", "en")).click()
    page.wait_for_selector("#C7 progress:not([hidden])")
    page.reload()
    page.wait_for_selector("#C7 .result figure", timeout=MEASURED)


@pytest.mark.parametrize(("language", "scheme"), [("zh", "light"), ("en", "dark")])
def test_nothing_serious_for_axe(opened, language, scheme):
    page = opened(f"{language}/claims.html", color_scheme=scheme)
    for details in page.query_selector_all("details"):
        details.evaluate("d => d.open = true")
    found = Axe().run(page).response["violations"]
    serious = [v for v in found if v["impact"] in ("serious", "critical")]
    assert serious == [], [(v["id"], v["nodes"][0]["html"][:200]) for v in serious]


def test_a_narrow_page_does_not_scroll_sideways(opened):
    page = opened("zh/claims.html", viewport={"width": 360, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_without_scripts_everything_stands_there_but_the_button(opened):
    page = opened("en/claims.html", java_script_enabled=False)
    assert points(page.locator("#C7")) > 10
    assert page.locator(".rerun").first.is_hidden()
