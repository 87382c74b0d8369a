"""The lab's web server: the lessons as they are exported, and the pages that need a model."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import FastAPI, HTTPException, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from markupsafe import Markup, escape
from pydantic import BaseModel, Field, model_validator
from starlette.exceptions import HTTPException as AnyHTTPException

from .. import __version__
from ..claims import MODULES
from ..errors import UserError
from ..lessons import CHAPTERS, LESSONS
from ..lessons.lesson import Live
from ..texts import LANGUAGES, Language
from . import asked_page, building, measuring, pages, run_page
from .guard import LARGEST_BODY, READING, Guard
from .measuring import Measurements
from .outcomes import kept
from .pages import Page
from .run_page import Ask
from .runs import Models, NoRun, listed
from .trainings import Trainings
from .words_run import Told, tell

LOOK_POLICY = (
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The look page brings its own style and script, and may ask nothing of anybody."""

API = "/api/"
"""Below it programs ask, not people."""

TRAIN = "glassformer train poems.txt --out {folder}/poems"


class Question(BaseModel):
    """What the address of a run's page may hold."""

    text: str = Field("", description="The text that the model reads.")
    head: str = Field("", pattern=r"^([0-9]{1,6}\.[0-9]{1,6})?$", description="LAYER.HEAD, counted from 0.")
    query: int | None = Field(None, ge=0, le=10**6)
    key: int | None = Field(None, ge=0, le=10**6)
    edit: list[str] = Field([], description="cut:L.H.Q.K, zero:L.H.Q.K, scale:L.H.K:FACTOR or silence:L.H.")
    factor: float = Field(0.5, ge=-10, le=10, allow_inf_nan=False)
    of: str = Field("", max_length=64, description="Names the text for which tokens and edits were chosen.")
    temperature: float = Field(1.0, ge=0, le=100, allow_inf_nan=False)
    top_k: int = Field(0, ge=0, le=10**6)
    top_p: float = Field(1.0, ge=0, le=1, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _empty_fields_are_not_given(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        return {name: value for name, value in values.items() if value not in ("", [""])}

    def ask(self) -> Ask:
        return Ask(**{**self.model_dump(), "edit": tuple(self.edit)})


Asked = Annotated[Question, Query()]


def create_app(
    runs_dir: Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    trains: bool = False,
    device: str = "auto",
) -> Guard:
    """The lab over the runs of a folder, for a server that listens at `host` and `port`.

    `trains`: whether the lessons' pages may start trainings here, which write their runs there as well.
    """
    app = FastAPI(title="Glassformer lab", version=__version__, docs_url=None, redoc_url=None)
    models = Models(runs_dir, device)
    if trains:
        app.include_router(building.router(Trainings(runs_dir)))
        app.include_router(measuring.router(Measurements()))

    @cache
    def lesson(number: int, language: Language) -> Page:
        if not any(isinstance(block, Live) for block in LESSONS[number].body):
            return pages.lesson_page(LESSONS, number, language, reruns=trains)
        return pages.lesson_page(
            LESSONS,
            number,
            language,
            live_parts=building.live_parts(language, trains=trains),
            live_scripts=building.SCRIPTS if trains else (),
            live_styles=building.STYLES,
            reruns=trains,
        )

    @cache
    def claims(language: Language) -> Page:
        return pages.claims_page(kept(list(MODULES)), language, reruns=trains)

    @app.get("/", response_class=RedirectResponse, status_code=307)
    def start(request: Request) -> Response:
        """The contents in the reader's language."""
        return _redirect(f"/{_preferred(request)}/index.html")

    @app.get("/runs/{name}", response_class=RedirectResponse, status_code=307)
    def run_in_some_language(request: Request, name: str) -> Response:
        """A run's page in the reader's language."""
        query = f"?{request.url.query}" if request.url.query else ""
        return _redirect(run_page.path_of(name, _preferred(request)) + query)

    @app.get("/{language}", response_class=RedirectResponse, status_code=307, include_in_schema=False)
    @app.get("/{language}/", response_class=RedirectResponse, status_code=307)
    def contents(language: Language) -> Response:
        return _redirect(f"/{language}/index.html")

    @app.get("/{language}/index.html", response_class=HTMLResponse)
    def index(language: Language) -> Response:
        """The contents: the lessons, and the runs that can be opened."""
        return _sent(pages.index_page(CHAPTERS, language, runs=_runs(runs_dir, language)))

    @app.get("/{language}/claims.html", response_class=HTMLResponse)
    def all_claims(language: Language) -> Response:
        """The claims, as they were measured."""
        return _sent(claims(language))

    @app.get("/{language}/{slug}.html", response_class=HTMLResponse)
    def lesson_by_slug(language: Language, slug: str) -> Response:
        """One lesson."""
        numbers = {known.slug: number for number, known in enumerate(LESSONS)}
        if slug not in numbers:
            raise HTTPException(404)
        return _sent(lesson(numbers[slug], language))

    @app.get("/{language}/runs/{name}", response_class=HTMLResponse)
    def run(request: Request, language: Language, name: str, asked: Asked) -> Response:
        """A run's page: what its model does with a text, and with edits; a translation; words near others."""
        try:
            with models.opened(name) as opened:
                answer = asked_page.page_of(opened, asked.ask(), language)
        except UserError as error:
            return _not_opened(error, request, language)
        return _sent(answer.page, answer.status)

    @app.get("/{language}/runs/{name}/look", response_class=HTMLResponse)
    def full_report(request: Request, language: Language, name: str, asked: Asked) -> Response:
        """The full look page of a text, as `glassformer look` writes it."""
        try:
            with models.opened(name) as opened:
                try:
                    html = run_page.report_page(opened, asked.ask(), language)
                except UserError as error:
                    note = error.told(language) if isinstance(error, Told) else str(error)
                    return _error(request, language, 422, "refused", note)
        except UserError as error:
            return _not_opened(error, request, language)
        return HTMLResponse(html, headers={"Content-Security-Policy": LOOK_POLICY})

    _answer_errors(app)
    return Guard(app, host, port, building.LARGEST_BODY if trains else LARGEST_BODY)


def _redirect(path: str) -> Response:
    return RedirectResponse(path, 307, headers={"Vary": "Accept-Language"})


def _sent(page: Page, status: int = 200) -> HTMLResponse:
    """A page under its own policy, and in no frame."""
    headers = {"Content-Security-Policy": f"{page.policy}; frame-ancestors 'none'"}
    return HTMLResponse(page.html, status, headers)


def _runs(folder: Path, language: Language) -> Markup:
    """The list of runs."""
    return pages.fragment(
        "runs.html",
        runs=listed(folder),
        folder=Markup("<code>{}</code>").format(folder),
        command=Markup("<code>{}</code>").format(TRAIN.format(folder=folder)),
        address=lambda name: quote(name, safe=""),
        tell=lambda key, **values: tell(key, language, **values),
    )


def _preferred(request: Request) -> Language:
    """The language that the reader's browser likes best of ours; English without a wish."""
    wishes: list[tuple[float, Language]] = []
    for part in request.headers.get("accept-language", "")[:1000].split(","):
        tag, _, weight = part.strip().lower().partition(";q=")
        try:
            liking = float(weight or 1)
        except ValueError:
            continue
        wishes += [(liking, code) for code in LANGUAGES if tag.split("-")[0] == code and liking > 0]
    return max(wishes, key=lambda wish: wish[0])[1] if wishes else "en"


def _language_of(request: Request) -> Language:
    """The language of a path, else the reader's."""
    first = request.url.path.split("/")[1]
    return next((code for code in LANGUAGES if code == first), None) or _preferred(request)


def _not_opened(error: UserError, request: Request, language: Language) -> Response:
    if isinstance(error, Told):
        return _error(request, language, 422, "refused", error.told(language))
    gone, note = isinstance(error, NoRun), str(error)
    return _error(request, language, 404 if gone else 409, "gone" if gone else "broken", note)


def _error(
    request: Request,
    language: Language,
    status: int,
    title: str,
    note: str,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Why there is no page: as a page for who reads, as JSON for who sends something."""
    ours = isinstance(note, Markup)
    if request.method not in READING or request.url.path.startswith(API):
        return JSONResponse({"detail": Markup(note).unescape() if ours else note}, status, headers)
    page = pages.render(
        "error.html",
        language,
        "index.html",
        scripts=("progress",),
        data={},
        home=f"/{language}/index.html",
        depth=request.url.path.count("/") - 1,
        title=tell(title, language),
        note=note if ours or language == "en" else Markup('<span lang="en">{}</span>').format(note),
        tell=lambda key, **values: tell(key, language, **values),
    )
    answer = _sent(page, status)
    answer.headers.update(headers or {})
    return answer


def _right(name: str, language: Language) -> Markup:
    """What a part of an address must be."""
    if name == "language":
        return escape(f"language: {', '.join(LANGUAGES)}")
    shape = Question.model_json_schema()["properties"][name]
    shape = shape.get("anyOf", [shape])[0]
    kinds = {"integer": "right_whole", "number": "right_number"}
    key = "right_head" if name == "head" else kinds.get(shape["type"], "right_length")
    low, high = shape.get("minimum", ""), shape.get("maximum", shape.get("maxLength", ""))
    return tell(key, language, name=name, low=f"{low}", high=f"{high}")


def _answer_errors(app: FastAPI) -> None:
    """Every refusal is one line, in the reader's language where it is ours."""

    @app.exception_handler(AnyHTTPException)
    def refused(request: Request, error: AnyHTTPException) -> Response:
        language = _language_of(request)
        missing = error.status_code == 404 and error.detail == "Not Found"
        note = tell("missing_note", language, path=request.url.path) if missing else error.detail
        return _error(
            request, language, error.status_code, "missing" if missing else "refused", note, error.headers
        )

    @app.exception_handler(RequestValidationError)
    def unfit(request: Request, error: RequestValidationError) -> Response:
        """Names what did not fit and why, never repeating it: it may be anything."""
        found = error.errors()
        if any(one["loc"][0] == "path" for one in found):  # a language that is not ours
            return refused(request, AnyHTTPException(404))
        language = _language_of(request)
        names = dict.fromkeys(str(one["loc"][1]) for one in found if len(one["loc"]) > 1)
        note = Markup(" ").join(_right(name, language) for name in names)
        return _error(request, language, 422, "refused", note)

    @app.exception_handler(Exception)
    def failed(request: Request, error: Exception) -> Response:
        language = _language_of(request)
        return _error(request, language, 500, "failed", tell("failed_note", language))
