"""Whole pages: each one file with style, script and data inside, the same from a server and from disk."""

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from ..lessons.lesson import Block, Chapter, Chart, Edits, Lesson, Presets, Question
from ..texts import LANGUAGES, Language
from . import flows, marks
from .outcomes import Outcome, Teller, kept
from .words import LOCALES, NAMES, WORDS, say
from .writer import Writer

_STATIC = files("glassformer.lab").joinpath("static")
_SHEET = files("glassformer.sheet").joinpath("sheet.js")

LESSON_SCRIPTS = (
    "numbers",
    "formulas",
    "charts",
    "progress",
    "state",
    "tables",
    "proof",
    "questions",
    "lesson",
)
INDEX_SCRIPTS = ("progress", "index")
CLAIM_SCRIPTS = ("claims",)


@dataclass(frozen=True)
class Page:
    """A page and the Content-Security-Policy that it needs, which it also carries itself."""

    html: str
    policy: str


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("glassformer.lab"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        mathematics=marks.mathematics,
        living=marks.living,
        kind=kind_of,
        flow_height=flows.height,
        flow_drawing=flows.drawing,
    )
    return environment


def kind_of(block: Block) -> str:
    """The name of the macro that writes a block."""
    return type(block).__name__.lower()


@cache
def bundled(scripts: tuple[str, ...], sheet: bool) -> str:
    """The named modules as one: what they export and import they share already."""
    sources = [_SHEET.read_text("utf-8")] if sheet else []
    sources += [_STATIC.joinpath(f"{name}.js").read_text("utf-8") for name in scripts]
    return "\n".join(re.sub(r"^export (?=function|const|class|async)", "", s, flags=re.M) for s in sources)


@cache
def style(more: tuple[str, ...] = ()) -> str:
    """The lab's style, and after it that of the parts a page names."""
    return "".join(_STATIC.joinpath(f"{name}.css").read_text("utf-8") for name in ("lab", *more))


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def policy_for(script: str, *, connects: bool = False, styles: tuple[str, ...] = ()) -> str:
    """A policy that lets in this page's own script and style and nothing else."""
    connect = " connect-src 'self'; form-action 'self';" if connects else " form-action 'none';"
    return (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style(styles))}; img-src data:;"
        f"{connect} base-uri 'none'"
    )


def embedded(data: Mapping[str, Any]) -> Markup:
    """JSON that can stand inside a script element, whatever texts it holds."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def render(
    template: str,
    language: Language,
    path: str,
    *,
    scripts: tuple[str, ...],
    data: Mapping[str, Any],
    styles: tuple[str, ...] = (),
    sheet: bool = False,
    connects: bool = False,
    home: str = "index.html",
    depth: int = 1,
    **context: Any,
) -> Page:
    """A page from one of the lab's templates. `path` is where it lies below its language's folder, for the
    link to the other language; `depth` how many folders below the lab's root that is."""
    other = next(code for code in LANGUAGES if code != language)
    script = bundled(scripts, sheet)
    policy = policy_for(script, connects=connects, styles=styles)
    html = (
        _environment()
        .get_template(template)
        .render(
            locale=LOCALES[language],
            language=language,
            other={
                "code": other,
                "href": "../" * depth + f"{other}/{path}",
                "locale": LOCALES[other],
                "name": NAMES[other],
            },
            home=home,
            policy=policy,
            style=Markup(style(styles)),
            script=Markup(script),
            data=embedded({"language": language, "words": words(language), **data}),
            say=lambda key, **values: say(key, language, **values),
            **context,
        )
    )
    return Page(html, policy)


def fragment(template: str, **context: Any) -> Markup:
    """A part of a page, from a template of its own."""
    return Markup(_environment().get_template(template).render(**context))


def words(language: Language) -> dict[str, str]:
    return {key: getattr(text, language) for key, text in WORDS.items()}


def index_page(
    chapters: Sequence[Chapter], language: Language, *, runs: Markup | None = None, connects: bool = False
) -> Page:
    """The lab's first page in one language: the chapters, and the runs where a server lists them."""
    lessons = [lesson for chapter in chapters for lesson in chapter.lessons]
    asked = {lesson.slug: len(questions(lesson)) for lesson in lessons}
    return render(
        "index.html",
        language,
        "index.html",
        scripts=INDEX_SCRIPTS,
        data={"lessons": asked},
        connects=connects,
        title=say("lab", language),
        chapters=chapters,
        numbers={lesson.slug: number for number, lesson in enumerate(lessons, start=1)},
        asked=asked,
        line=lambda text: marks.line(getattr(text, language), {}),
        runs=runs,
    )


def lesson_page(
    lessons: Sequence[Lesson],
    number: int,
    language: Language,
    *,
    live_parts: Mapping[str, Markup] | None = None,
    live_scripts: tuple[str, ...] = (),
    live_styles: tuple[str, ...] = (),
    reruns: bool = False,
) -> Page:
    """The page of `lessons[number]`. `live_parts` are what a server adds, by the name of their block;
    `reruns`: whether it measures claims again."""
    lesson = lessons[number]
    reruns = reruns and bool(lesson.claims)
    page = Writer(lesson, language)
    return render(
        "lesson.html",
        language,
        f"{lesson.slug}.html",
        scripts=(*LESSON_SCRIPTS, *live_scripts, *(CLAIM_SCRIPTS if reruns else ())),
        styles=live_styles,
        sheet=True,
        data=lesson_data(lesson, page),
        connects=live_parts is not None or reruns,
        title=page.plain(lesson.title),
        lesson=lesson,
        page=page,
        number=number + 1,
        variants=page.variants(),
        charts=[block for block in lesson.body if isinstance(block, Chart)],
        live_parts=live_parts,
        outcomes=kept(lesson.claims),
        reruns=reruns,
        told=Teller(language),
        before=lessons[number - 1] if number else None,
        after=lessons[number + 1] if number + 1 < len(lessons) else None,
    )


def claims_page(
    outcomes: Sequence[Outcome], language: Language, *, home: str = "index.html", reruns: bool = False
) -> Page:
    """The claims: a table of verdicts, and below it a section for each, called by its name. `reruns`: whether
    a server is there that measures again."""
    return render(
        "claims.html",
        language,
        "claims.html",
        scripts=("progress", *(CLAIM_SCRIPTS if reruns else ())),
        data={},
        connects=reruns,
        home=home,
        title=say("claims", language),
        outcomes=outcomes,
        reruns=reruns,
        told=Teller(language),
    )


def outcome_part(outcome: Outcome, language: Language) -> Markup:
    """What a page shows of one measurement."""
    told = Teller(language)
    return fragment("claim_found.html", outcome=outcome, told=told, say=told.say)


def questions(lesson: Lesson) -> list[Question]:
    """All questions of a lesson in their order on its page."""
    return [*lesson.predict, *(b for b in lesson.body if isinstance(b, Question)), *lesson.check]


def lesson_data(lesson: Lesson, page: Writer) -> dict[str, Any]:
    """What the page's script needs to know."""
    return {
        "slug": lesson.slug,
        "sheet": lesson.sheet.to_json(),
        "axes": {name: page.labels(name) for name in lesson.axes},
        "symbols": page.symbols,
        "charts": [
            {
                "x": block.x,
                "lines": [line.y for line in block.lines],
                "points": block.points.y if block.points else None,
                "names": [escape(name) for name in page.labels(block.points.axis)] if block.points else [],
                "marks": block.marks,
                "logX": block.log_x,
                "logY": block.log_y,
            }
            for block in lesson.body
            if isinstance(block, Chart)
        ],
        "presets": {
            choice.key: _edits(choice.edits)
            for block in lesson.body
            if isinstance(block, Presets)
            for choice in block.choices
        },
        "questions": {question.key: _question(question, page) for question in questions(lesson)},
    }


def _question(question: Question, page: Writer) -> dict[str, Any]:
    return {
        "answer": question.answer,
        "options": [worth for _, worth in question.options],
        "labels": [page.line(label) for label, _ in question.options],
        "decimals": question.decimals,
        "under": _edits(question.under),
        "mistakes": [{"cell": mistake.cell, "say": page.line(mistake.say)} for mistake in question.mistakes],
    }


def _edits(edits: Edits) -> dict[str, Any]:
    """Edits as JSON: some cells of a matrix as [i, j, value], or all of its `values`."""
    return {
        name: {"cells": [[i, j, value] for (i, j), value in change.items()]}
        if isinstance(change, Mapping)
        else {"values": np.asarray(change, dtype=float).tolist()}
        for name, change in edits.items()
    }
