"""What the pages tell when they are asked too much, or when nobody answers; slow: they need a browser."""

import pytest
from playwright.sync_api import expect

from browsing import serving
from glassformer.lab.reading import MOST_CHARACTERS
from glassformer.lab.server import create_app
from glassformer.lab.task import MOST_BYTES
from glassformer.lab.words_build import WORDS as BUILD
from glassformer.lab.words_run import WORDS as RUN
from lab.serving import address, save

pytestmark = pytest.mark.slow


@pytest.fixture
def lab(tmp_path):
    """The lab's address, served from a thread."""
    save(tmp_path / "bytes")
    with serving(lambda port: create_app(tmp_path, port=port, trains=True)) as url:
        yield url


@pytest.fixture
def page(chromium):
    context = chromium.new_context()
    page = context.new_page()
    failed = []
    page.on("pageerror", lambda error: failed.append(str(error)))
    yield page
    context.close()
    assert failed == []


@pytest.mark.parametrize("language", ["zh", "en"])
def test_a_run_s_page_tells_what_it_cannot_show(lab, page, language):
    page.goto(lab + address("bytes", language, text="abc"))
    told, text = page.locator(".told"), page.locator("textarea")
    text.fill("😀" * MOST_CHARACTERS * 30)  # no address can be so long
    too_long = getattr(RUN["too_long"], language).format(n=MOST_CHARACTERS * 30, most=MOST_CHARACTERS)
    expect(told).to_have_text(too_long)
    assert page.locator("form").get_attribute("aria-busy") is None
    page.route("**/runs/bytes?*", lambda route: route.fulfill(status=421, body="this server is not <b>\n"))
    text.fill("abcd")
    expect(told).to_have_text("this server is not")  # read as the text of a page
    page.unroute("**/runs/bytes?*")
    page.route("**/runs/bytes?*", lambda route: route.abort())
    text.fill("abcde")
    expect(told).to_have_text(getattr(RUN["offline"], language))
    page.unroute("**/runs/bytes?*")
    text.fill("abcdef")
    expect(page.locator(".strip .token")).to_have_count(6)


@pytest.mark.parametrize("language", ["zh", "en"])
def test_a_text_too_large_is_told_before_it_is_sent(lab, page, language):
    page.goto(f"{lab}/{language}/build.html")
    page.fill("#build-text", "字" * 1_500_000)
    page.click(".build-start")
    told = getattr(BUILD["too_long"], language).format(n="4,500,000", most=f"{MOST_BYTES:,}")
    expect(page.locator(".build-told")).to_have_text(told)
    page.fill("#build-text", "ab" * 1000)
    page.click(".build-start")
    expect(page.locator(".build-told")).to_have_text(getattr(BUILD["no_probe"], language))


def test_the_form_is_back_when_another_server_answers(lab, page):
    page.route("**/api/build", lambda route: route.abort())
    page.goto(f"{lab}/en/build.html")
    expect(page.locator(".build-told")).to_have_text(BUILD["unreachable"].en)
    page.unroute("**/api/build")
    expect(page.locator(".build-told")).to_have_text("")
    expect(page.locator(".build-order")).to_be_visible()
