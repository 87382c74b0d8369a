"""Every lesson's page in both languages, as the server and the export write it."""

import base64
import hashlib
import re

import numpy as np
import pytest

from glassformer.lab.marks import cell_of
from glassformer.lab.pages import index_page, lesson_page, questions
from glassformer.lab.words import WORDS
from glassformer.lab.writer import Writer, edited
from glassformer.lessons import CHAPTERS, LESSONS
from glassformer.lessons.lesson import Matrices, Presets
from glassformer.texts import LANGUAGES
from lab.reading import data_of, elements

EVERY = pytest.mark.parametrize("number", range(len(LESSONS)), ids=[x.slug for x in LESSONS])
BOTH = pytest.mark.parametrize("language", LANGUAGES)


@EVERY
@BOTH
def test_a_page_is_one_file_that_needs_nothing_else(number, language):
    page = lesson_page(LESSONS, number, language)
    for tag, attributes in elements(page.html):
        assert "style" not in attributes
        assert not any(name.startswith("on") for name in attributes)
        assert tag not in ("img", "iframe", "object", "embed")
        assert tag != "link"
        for name in ("src", "href"):
            assert not re.match(r"(\w+:)?//", attributes.get(name) or ""), attributes
    assert len(page.html.encode()) < 300_000


@EVERY
@BOTH
def test_the_policy_lets_in_exactly_this_pages_script_and_style(number, language):
    page = lesson_page(LESSONS, number, language)
    script = re.search(r'<script type="module">(.*?)</script>', page.html, re.S)[1]
    style = re.search(r"<style>(.*?)</style>", page.html, re.S)[1]
    for text in (script, style):
        assert base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() in page.policy
    assert "unsafe" not in page.policy
    assert "default-src 'none'" in page.policy


@EVERY
@BOTH
def test_the_page_stands_without_its_script(number, language):
    html = lesson_page(LESSONS, number, language).html
    lesson = LESSONS[number]
    writer = Writer(lesson, language)
    tables = [s for b in lesson.body if isinstance(b, Matrices) for s in b.shown]
    assert html.count('class="matrix') >= len(tables)
    choices = [c for b in lesson.body if isinstance(b, Presets) for c in b.choices]
    for choice in choices:  # every setting's numbers are there
        for shown in tables:
            if not shown.small:
                assert all(
                    cell.text in html for row in writer.under(choice.edits).table(shown) for cell in row
                )
    for question in questions(lesson):
        assert writer.right(question) in html


@EVERY
@BOTH
def test_data_parses_strictly_and_holds_no_markup_of_its_own(number, language):
    html = lesson_page(LESSONS, number, language).html
    data = data_of(html)
    assert data["sheet"] == LESSONS[number].sheet.to_json()
    assert html.count("</script>") == 2


@EVERY
def test_every_cell_that_a_text_or_question_names_is_there(number):
    lesson = LESSONS[number]
    values = lesson.sheet.evaluate()
    html = "".join(lesson_page(LESSONS, number, language).html for language in LANGUAGES)
    for mark in set(re.findall(r'value="(\w+\[\d+,\d+\]:\d+)"', html)):
        (name, i, j), _ = cell_of(mark)
        assert values[name].shape > (i, j)
    assert "«" not in html.split('id="data"')[0]
    for question in questions(lesson):
        after = edited(lesson, question.under)
        name, i, j = question.answer
        answer = float(after[name][i, j])
        assert np.isfinite(answer)
        if question.options:
            assert sum(worth == answer for _, worth in question.options) == 1, question.key
        for mistake in question.mistakes:
            name, i, j = mistake.cell
            assert np.isfinite(after[name][i, j])
    keys = [question.key for question in questions(lesson)]
    assert len(set(keys)) == len(keys) > 0


@EVERY
def test_both_languages_say_as_much(number):
    pages = [lesson_page(LESSONS, number, language).html for language in LANGUAGES]
    shapes = [
        [tag for tag, _ in elements(html) if tag in ("h2", "h3", "h4", "table", "figure", "p")]
        for html in pages
    ]
    assert shapes[0] == shapes[1]
    chinese, english = (re.sub(r"<script.*", "", html, flags=re.S) for html in pages)
    assert len(re.findall(r"[\u4e00-\u9fff]", chinese)) > 300
    texts = re.findall(r">([^<]*[\u4e00-\u9fff][^<]*)<", english)
    assert all(
        re.search("中文|[猫追老鼠它我爱深度学习狗银行河岸他们从借了钱在附近钓鱼商店校办公室]", text)
        or text in ("苹果", "小米", "杜鹃", "黄牛")
        for text in texts
    ), texts


@BOTH
def test_the_index_has_a_row_for_every_lesson(language):
    html = index_page(CHAPTERS, language).html
    for chapter in CHAPTERS:
        assert html.count(f">{getattr(chapter.title, language)}</th>") == 1
    shown = re.findall(r'<small>(\d+)</small> <a href="([a-z0-9-]+)\.html">', html)
    assert shown == [(str(n), lesson.slug) for n, lesson in enumerate(LESSONS, start=1)]
    for n, lesson in enumerate(LESSONS):  # the same number as on its page
        crumb = re.search('class="crumb">.*?([0-9]+)', lesson_page(LESSONS, n, language).html)[1]
        assert (crumb, lesson.slug) == shown[n]
    assert data_of(html)["lessons"].keys() == {lesson.slug for lesson in LESSONS}


def test_words_have_the_same_gaps_in_both_languages():
    for key, text in WORDS.items():
        gaps = [sorted(re.findall(r"{(\w+)}", version)) for version in text]
        assert gaps[0] == gaps[1], key


def test_slugs_are_names_of_files_and_differ():
    slugs = [lesson.slug for lesson in LESSONS]
    assert len(set(slugs)) == len(slugs)
    assert all(re.fullmatch(r"[a-z0-9-]+", slug) for slug in slugs)
