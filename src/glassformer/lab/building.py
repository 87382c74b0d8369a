"""The lab's training page: what the server adds to the lesson `build`, and the routes behind it."""

from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Path, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from markupsafe import Markup
from pydantic import BaseModel

from ..errors import UserError
from ..texts import Language
from . import marks, pages
from .examples import Example, example
from .leash import spoken
from .task import FEWEST_CHARACTERS, MOMENTS, MOST_BYTES, PROBE, SIZES
from .trainings import Build, Busy, Order, Trainings
from .words_build import WORDS, say

SCRIPTS = ("build",)
STYLES = ("build",)
STEPS = (100, 300, 1000, 2000)  # to choose from
LARGEST_BODY = 2 * MOST_BYTES + 100_000  # of a request: in JSON a line break or a quote takes two bytes


NO_ORDER = "the body must be a JSON object with text and probe, sent as application/json"


class Weights(BaseModel):
    """How the model read the probe at a moment: the tokens' names and, for each layer and head, the weights
    (queries, keys)."""

    step: int
    tokens: list[str]
    weights: list[list[list[list[float]]]]


class Text(BaseModel):
    """A text to train on, and a sentence to watch."""

    text: str
    probe: str


class Problem(BaseModel):
    """What was wrong, in one line."""

    detail: str


class _OneLine(APIRoute):
    """Says in one line what is wrong with a request, and without what it held: that need not be writable."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handler(request: Request) -> Response:
            try:
                return await handle(request)
            except RequestValidationError as error:
                first = error.errors()[0]
                if len(first["loc"]) < 2 or first["type"] == "json_invalid":
                    return JSONResponse({"detail": NO_ORDER}, 422)
                where = ascii(".".join(map(str, first["loc"][1:]))).strip("'\"")[:80]
                return JSONResponse({"detail": f"{where}: {first['msg']}"}, 422)

        return handler


def router(trainings: Trainings) -> APIRouter:
    """The routes below /api/build. With the server they end what is still training."""

    @asynccontextmanager
    async def lifespan(app: object) -> AsyncIterator[None]:
        yield
        trainings.close()

    routes = APIRouter(prefix="/api/build", tags=["build"], route_class=_OneLine, lifespan=lifespan)

    @routes.post("", status_code=201, responses={409: {"model": Problem}, 422: {"model": Problem}})
    def start(order: Order) -> Build:
        """Train a new model; one at a time."""
        try:
            return trainings.start(order)
        except Busy as busy:
            raise HTTPException(409, str(busy)) from None
        except UserError as error:
            raise HTTPException(422, str(error)) from None
        except OSError as error:
            raise HTTPException(422, spoken(error)) from None

    @routes.get("")
    def state() -> Build | None:
        """The training that goes on, or the last one; null before the first."""
        return trainings.now()

    @routes.delete("")
    def stop() -> Build | None:
        """Stop after this step, and save: the run can be resumed."""
        return trainings.stop()

    @routes.get("/moments/{k}", response_model=Weights, responses={404: {"model": Problem}})
    def moment(k: Annotated[int, Path(ge=0, lt=MOMENTS)], language: Language = "en") -> Response:
        """The weights of every head on the probe, at a moment."""
        found = trainings.moment(k)
        if found is None:
            raise HTTPException(404, say("no_moment", language))
        return Response(found, media_type="application/json")

    @routes.get("/examples/{which}")
    def examples(which: Example, language: Language) -> Text:
        """A text that is ready to be trained on."""
        text, probe = example(which, language)
        return Text(text=text, probe=probe)

    return routes


def live_parts(language: Language, *, trains: bool = True) -> dict[str, Markup]:
    """What a server puts in place of the lesson's Live("build"); a server that does not train says why."""
    if not trains:
        return {"build": marks.paragraphs(say("off", language), {})}
    words = {key: getattr(text, language) for key, text in WORDS.items()}
    part = pages.fragment(
        "build.html",
        say=lambda key, **values: say(key, language, **values),
        words=pages.embedded({"language": language, "mostBytes": MOST_BYTES, "words": words}),
        sizes=tuple(SIZES),
        steps=STEPS,
        fewest=f"{FEWEST_CHARACTERS:,}",
        most=MOST_BYTES // 1_000_000,
        longest=PROBE,
    )
    return {"build": part}
