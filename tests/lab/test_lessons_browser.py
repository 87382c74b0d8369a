"""Every lesson in a browser: with and without scripts, by keyboard, dark, on a phone, in both languages."""

import json
import random
import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from browsing import watched
from glassformer.lab.formulas import formula
from glassformer.lab.pages import index_page, lesson_page, questions
from glassformer.lab.words import say
from glassformer.lab.writer import Writer, edited
from glassformer.lessons import CHAPTERS, LESSONS
from glassformer.lessons.lesson import Matrices, Presets, Sentence
from glassformer.sheet import explain
from glassformer.texts import LANGUAGES

pytestmark = pytest.mark.slow

SLUGS = [lesson.slug for lesson in LESSONS]
EVERY = pytest.mark.parametrize("number", range(len(LESSONS)), ids=SLUGS)
BOTH = pytest.mark.parametrize("language", LANGUAGES)
HOSTILE = [
    "</script><b>x",
    "<img/src=x/onerror=alert(1)>",
    "שלום",
    "👩‍👩‍👧‍👦",
    "W" * 10_000,
    "a&amp;«A[0,0]»",
]


@pytest.fixture
def opened(chromium, tmp_path):
    """Opens a lesson's page from disk without a network; at the end, nothing may have been complained of."""
    with watched(chromium, "file:", offline=True) as opens_url:

        def opens(number, language="en", fragment="", **options):
            name = SLUGS[number] if isinstance(number, int) else "index"
            page_of = (
                lesson_page(LESSONS, number, language) if name != "index" else index_page(CHAPTERS, language)
            )
            folder = tmp_path / language
            folder.mkdir(exist_ok=True)
            path = folder / f"{name}.html"
            path.write_text(page_of.html, encoding="utf-8", newline="\n")
            return opens_url(path.as_uri() + fragment, **options)

        yield opens


def tables(page):
    """The text of every live matrix, by its place on the page."""
    return page.eval_on_selector_all(
        "figure[data-matrix]",
        "all => all.map(f => [f.dataset.matrix, ...[...f.querySelectorAll('tbody tr')].map("
        "tr => [...tr.cells].map(td => td.textContent + '|' + (td.tagName === 'TD' ? td.className : '')))])",
    )


def cells_of(page, name):
    """The texts of a matrix's cells, without what says how they changed."""
    return page.eval_on_selector(
        f'figure[data-matrix="{name}"]',
        "f => [...f.querySelectorAll('tbody tr')].map(tr => [...tr.querySelectorAll('td')].map("
        "td => td.firstChild.textContent))",
    )


@EVERY
@BOTH
def test_the_script_draws_what_the_static_page_shows(opened, number, language):
    static, live = opened(number, language, java_script_enabled=False), opened(number, language)
    marked = lambda found: json.loads(re.sub(r"followed ?", "", json.dumps(found)))  # noqa: E731
    assert marked(tables(live)) == marked(tables(static))
    living = "all => all.map(d => d.textContent)"
    assert live.eval_on_selector_all("data.living", living) == static.eval_on_selector_all(
        "data.living", living
    )
    svg = "all => all.map(s => s.innerHTML)"
    shape = re.compile(r"></(line|polyline|circle|rect|path)>")
    drawn, written = (
        [shape.sub("/>", x) for x in p.eval_on_selector_all("svg", svg)] for p in (live, static)
    )
    assert drawn == written
    assert static.locator("form.question .ask:visible, .tools:visible, form.sentence:visible").count() == 0
    assert static.locator("details").count() >= len(questions(LESSONS[number]))


@EVERY
def test_formulas_are_the_same_on_both_sides(opened, number):
    page, lesson = opened(number), LESSONS[number]
    values, writer = lesson.sheet.evaluate(), Writer(lesson, "en")
    rng = random.Random(0)
    for figure in page.query_selector_all("figure[data-matrix]:not(.small):not([data-kind=mask])"):
        name = figure.get_attribute("data-matrix")
        rows, columns = values[name].shape
        for _ in range(3):
            i, j = rng.randrange(rows), rng.randrange(columns)
            figure.query_selector_all("tbody tr")[i].query_selector_all("td")[j].click()
            ours = formula(explain(lesson.sheet, values, name, i, j).to_json())
            assert page.locator("#proof .sum").text_content() == ours
            for row in page.query_selector_all("#proof .operands > li"):
                of = [
                    json.loads(button.get_attribute("data-cell"))[0]
                    for button in row.query_selector_all("button")
                ]
                said = [symbol.inner_html() for symbol in row.query_selector_all(".symbol")]
                assert len(said) == len(of)
                for operand, html in zip(of, said, strict=True):  # MathML is the page's own
                    assert operand in writer.symbols or html == writer.symbol(operand)
            page.keyboard.press("Escape")


@EVERY
def test_a_right_answer_is_right_and_a_known_mistake_is_answered(opened, number):
    page, lesson = opened(number), LESSONS[number]
    for question in questions(lesson):
        form = page.locator(f"form[data-question={question.key}]")
        after = edited(lesson, question.under)
        name, i, j = question.answer
        answer = float(after[name][i, j])

        def give(x, form=form, question=question):
            if question.options:
                worth = [value for _, value in question.options]
                form.locator("input").nth(worth.index(x)).check()
            else:
                form.locator("input").fill(repr(x))
            form.locator("button").click()

        wrong = next((worth for _, worth in question.options if worth != answer), answer + 1000)
        for x, verdict in ((wrong, "wrong"), (answer, "right")):
            give(x)
            assert form.locator(f".verdict.{verdict}").count() == 1, (question.key, verdict)
        assert form.locator("details").get_attribute("open") is not None
        for mistake in question.mistakes:
            name, i, j = mistake.cell
            other = float(after[name][i, j])
            if abs(other - answer) > 10**-question.decimals:
                give(other)
                expected = Writer(lesson, "en", after).line(mistake.say).striptags()
                said = form.locator(".verdict.wrong").text_content()
                assert re.sub(r"\s", "", expected) in re.sub(r"\s", "", said), question.key


def test_a_verdict_goes_when_the_number_that_it_was_about_changes(opened):
    page = opened(SLUGS.index("two-values"))
    form = page.locator("form[data-question=slope]")
    form.locator("input").fill("0.75")
    form.locator("button").click()
    page.locator("[data-preset=new]").click()  # weights stand still
    assert form.locator(".verdict.right").count() == 1
    page.locator("figure[data-matrix=K] tbody td").first.click()
    page.locator("#proof input[type=number]").press_sequentially("25")
    page.keyboard.press("Escape")
    assert form.locator(".verdict").text_content() == ""
    page.locator("[data-do=undo]").click()  # a number typed is one step
    assert page.locator("figure[data-matrix=K] td.changed").count() == 0


@EVERY
def test_edits_presets_undo_and_the_address_agree_with_python(opened, number):
    page, lesson = opened(number), LESSONS[number]
    before = tables(page)
    shown = {s.name: s for b in lesson.body if isinstance(b, Matrices) for s in b.shown if not s.small}
    given = [name for name in shown if lesson.sheet[name].op == "const" and shown[name].kind != "mask"]
    for choice in (c for b in lesson.body if isinstance(b, Presets) for c in b.choices):
        page.locator(f"[data-preset={choice.key}]").click()
        writer = Writer(lesson, "en", edited(lesson, choice.edits))
        for name, how in shown.items():
            assert cells_of(page, name) == [[cell.text for cell in row] for row in writer.table(how)], (
                choice.key
            )
        page.locator("[data-do=reset]").click() if page.locator("[data-do=reset]").is_enabled() else None
    if given:
        name = given[-1]
        page.locator(f'figure[data-matrix="{name}"] tbody td').first.click()
        page.locator("#proof input[type=number]").fill("1.25")
        page.keyboard.press("Enter")
        value = edited(lesson, {name: {(0, 0): 1.25}})
        for other, how in shown.items():
            expected = [[cell.text for cell in row] for row in Writer(lesson, "en", value).table(how)]
            assert cells_of(page, other) == expected, other
        page.wait_for_timeout(300)  # the address follows a little later
        edited_tables, link = tables(page), page.evaluate("location.hash")
        again = opened(number, "zh", fragment=link)
        assert [t[0] for t in tables(again)] == [t[0] for t in edited_tables]
        assert cells_of(again, name) == cells_of(page, name)
    while page.locator("[data-do=undo]").is_enabled():
        page.locator("[data-do=undo]").click()
    assert tables(page) == before


@EVERY
@pytest.mark.parametrize(("language", "scheme"), [("zh", "light"), ("en", "light"), ("en", "dark")])
def test_nothing_serious_for_axe(opened, number, language, scheme):
    page = opened(number, language, color_scheme=scheme)
    for details in page.query_selector_all("details"):
        details.evaluate("d => d.open = true")
    if (preset := page.locator("[data-preset]").last).count():
        preset.click()  # what changed has a look of its own
    if (cell := page.locator("figure[data-matrix]:not(.small) tbody td").first).count():
        cell.click()
    found = Axe().run(page).response["violations"]
    serious = [v for v in found if v["impact"] in ("serious", "critical")]
    assert serious == [], [
        (v["id"], v["nodes"][0]["html"][:200], v["nodes"][0]["failureSummary"]) for v in serious
    ]


@EVERY
@BOTH
def test_nothing_runs_out_of_the_page(opened, number, language):
    page = opened(number, language)
    page.eval_on_selector_all("details", "all => all.forEach(d => d.open = true)")
    for width in (360, 800, 1400):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_by_keyboard_alone(opened):
    page = opened(SLUGS.index("two-values"))
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    cell = page.locator("figure[data-matrix=V] tbody td").first
    while not cell.evaluate("td => td === document.activeElement"):
        page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Shift+ArrowUp")
    assert cells_of(page, "V") == [["2", "0"], ["0", "2.1"]]
    page.keyboard.press("5")
    assert page.locator("#proof").is_visible()
    page.keyboard.press("Enter")
    assert cells_of(page, "V") == [["2", "0"], ["0", "5"]]
    assert page.locator("#proof").is_hidden()
    page.keyboard.press("Control+z")
    page.keyboard.press("Control+z")
    assert cells_of(page, "V") == [["2", "0"], ["0", "2"]]
    page.keyboard.press("Control+Shift+Z")
    assert cells_of(page, "V") == [["2", "0"], ["0", "2.1"]]


def test_a_proof_walks_up_to_given_numbers(opened):
    page = opened(SLUGS.index("two-heads"))
    page.locator("figure[data-matrix] tbody td").last.click()
    for _ in range(12):
        button = page.locator("#proof .operands button").first
        if not button.count():
            break
        button.click()
    assert page.locator("#proof .editor").count() == 1
    for _ in range(12):
        if page.locator("#proof [data-proof=back]").is_hidden():
            break
        page.locator("#proof [data-proof=back]").click()
    page.keyboard.press("Escape")
    assert page.locator("#proof").is_hidden()


@BOTH
def test_own_words_are_text_and_nothing_else(opened, language):
    number = SLUGS.index("two-heads")
    block = next(b for b in LESSONS[number].body if isinstance(b, Sentence))
    page = opened(number, language, viewport={"width": 800, "height": 800})
    form = page.locator("form.sentence")
    form.locator("input").fill(" ".join(HOSTILE))
    form.locator("button[type=submit]").click()
    heads = page.locator(f"figure[data-matrix={block.embedded}] tbody th").all_text_contents()
    assert heads == HOSTILE[: block.most]
    assert page.locator("main b, main img").count() == 0
    assert form.locator(".warning").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 800
    page.wait_for_timeout(300)  # the address follows a little later
    again = opened(number, language, fragment=page.evaluate("location.hash"))
    assert again.locator(f"figure[data-matrix={block.embedded}] tbody th").all_text_contents() == heads
    form.locator("[data-original]").click()
    assert page.locator("[data-do=undo]").is_enabled()
    assert page.locator(f"figure[data-matrix={block.embedded}] tbody tr").count() == 4
    for text in ("", "  ", "\n"):
        form.locator("input").fill(text)
        form.locator("button[type=submit]").click()
        assert form.locator("output").inner_text() == say("empty_sentence", language)


@pytest.mark.parametrize(
    "fragment",
    [
        "#s=",
        "#s=%%%",
        "#s=eyJn",
        "#s=eyJnIjp7IlgiOltbOSw5LCIxIl1dfX0",
        "#s=eyJnIjp7Il9fcHJvdG9fXyI6W119fQ",
        "#main",
    ],
)
def test_a_broken_link_shows_the_page_as_it_is(opened, fragment):
    page = opened(SLUGS.index("two-values"))
    before = tables(page)
    assert tables(opened(SLUGS.index("two-values"), fragment=fragment)) == before


def test_progress_is_kept_and_cleared(opened):
    written = opened("index")
    assert written.locator("tbody tr:not(.group)").count() == len(LESSONS)
    page = opened(SLUGS.index("two-values"))
    index = page.context.new_page()
    index.goto(written.url)
    cell = index.locator("[data-lesson=two-values]")

    def answer(key, given):
        form = page.locator(f"form[data-question={key}]")
        if isinstance(given, int):
            form.locator("input").nth(given).check()
        else:
            form.locator("input").fill(given)
        form.locator("button").click()
        assert form.locator(".verdict.right").count() == 1

    answer("weights", "3/4")
    expect(cell).to_have_text("1 of 3 right")  # in a tab that was open before
    late = page.context.new_page()
    late.goto(written.url)
    expect(late.locator("[data-lesson=two-values]")).to_have_text("1 of 3 right")
    late.close()
    lesson = LESSONS[SLUGS.index("two-values")]
    for question in questions(lesson):
        name, i, j = question.answer
        value = float(edited(lesson, question.under)[name][i, j])
        worth = [value for _, value in question.options]
        answer(question.key, worth.index(value) if worth else repr(value))
    expect(cell).to_have_text("✓")
    expect(cell).to_have_attribute("aria-label", "3 of 3 right")
    index.locator("[data-clear]").click()
    assert cell.inner_text() == ""
    assert cell.get_attribute("aria-label") is None


@BOTH
def test_an_index_stands_below_the_line(opened, language):
    page = opened(SLUGS.index("alignment"), language)
    lowered = page.eval_on_selector_all(
        ".formula msub",
        "all => all.map(sub => { const [base, index] = [...sub.children].map(e => e.getBoundingClientRect());"
        " return (index.bottom - base.bottom) / base.height; })",
    )
    assert lowered
    assert min(lowered) > 0.1


@pytest.mark.parametrize(
    ("given", "verdict"),
    [("０．７５", "right"), ("３／４", "right"), ("−１", "wrong"), ("1/0", ""), ("1e999", ""), ("∞", "")],
)
def test_numbers_are_read_as_they_are_typed(opened, given, verdict):
    form = opened(SLUGS.index("two-values")).locator("form[data-question=weights]")
    form.locator("input").fill(given)
    form.locator("button").click()
    assert form.locator(".verdict").get_attribute("class") == f"verdict {verdict}"
    assert (form.locator(".verdict").inner_text() == say("no_number", "en")) is (verdict == "")
