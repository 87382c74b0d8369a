"""The pages of runs that are asked in one line: an encoder-decoder, and word vectors.

Each is a form that the server answers, without scripts; its address is all of its state.
"""

from collections.abc import Callable
from typing import Any
from urllib.parse import quote, urlencode

from markupsafe import Markup

from ..data.space import WordSpace
from ..errors import UserError
from ..glass import translation
from ..models import Translator
from ..texts import Language, number
from . import pages, reading
from .run_page import Answer, Ask, Said, path_of, run_page
from .runs import Opened
from .shades import shade
from .words_run import Told, look_says, tell

NEAREST = 20  # words in a list
EXAMPLES = 12  # of the most frequent words


def page_of(opened: Opened, ask: Ask, language: Language) -> Answer:
    """The page of any run for one question."""
    if isinstance(opened.model, Translator):
        return _page("translator.html", opened, ask, language, _translation)
    if isinstance(opened.model, WordSpace):
        return _page("vectors.html", opened, ask, language, _near)
    return run_page(opened, ask, language)


def _page(
    template: str,
    opened: Opened,
    ask: Ask,
    language: Language,
    answer: Callable[[Opened, str], dict[str, Any]],
) -> Answer:
    text, error, shown = ask.text.replace("\r\n", "\n"), None, None
    try:
        if len(text) > reading.MOST_CHARACTERS:
            raise reading.TooMuch("too_long", n=len(text), most=reading.MOST_CHARACTERS)
        shown = answer(opened, text) if text.strip() else None
    except Told as mistake:
        error = Said(mistake.told(language), own=True)
    except UserError as mistake:
        error = Said(str(mistake), own=language == "en")
    query = urlencode({"text": text}) if text else ""
    page = pages.render(
        template,
        language,
        f"runs/{quote(opened.name, safe='')}?{query}",
        scripts=("progress",),
        styles=("run",),
        data={},
        connects=True,  # its form may be sent
        home="../index.html",
        depth=2,
        title=opened.name,
        name=opened.name,
        address=path_of(opened.name, language),
        machine=_machine(opened, language),
        text=text,
        error=error,
        shown=shown,
        examples=opened.model.words[:EXAMPLES] if isinstance(opened.model, WordSpace) else [],
        report=f"{path_of(opened.name, language)}/look?{query}",
        asks=lambda words: "?" + urlencode({"text": words}),
        tell=lambda key, /, **given: tell(key, language, **given),
        number=number,
        shade=shade,
    )
    return Answer(page, 422 if error else 200)


def _machine(opened: Opened, language: Language) -> Markup:
    model = opened.model
    if isinstance(model, WordSpace):
        n, width = model.vectors.shape
        parts = [tell("vectors_machine", language, n=f"{n:,}", width=width)]
    else:
        parameters = f"{sum(p.numel() for p in model.parameters()):,}"
        parts = [tell("translator_machine", language, parameters=parameters)]
    if opened.step:
        parts.append(look_says("checkpoint", language, step=opened.step))
    return Markup(" " if language == "en" else "").join(parts)


def _translation(opened: Opened, text: str) -> dict[str, Any]:
    """What the look page has of a text and its translation."""
    try:
        n = len(opened.tokenizer.encode(text.strip()))
    except UserError:
        if unknown := reading.unknown(opened.tokenizer, text):
            raise reading.TooMuch("unknown", characters=unknown) from None
        raise
    if n > reading.MOST_TOKENS:
        raise reading.TooMuch("too_many", n=n, most=reading.MOST_TOKENS)
    shown = translation.values(opened.model, opened.tokenizer, text)
    return (
        shown | shown["attentions"][-1] if "attentions" in shown else shown
    )  # a Transformer's cross-attention


def _near(opened: Opened, text: str) -> dict[str, Any]:
    """The nearest words to one, or those that complete an analogy of three."""
    space: WordSpace = opened.model
    words = text.split()
    if len(words) not in (1, 3):
        raise Told("one_or_three", n=len(words))
    for word in words:
        if space.find(word) is None:
            raise Told("no_word", word=word)
    if len(words) == 1:
        return {"words": words, "found": space.neighbours(words[0], NEAREST)}
    a, b, c = words
    return {"words": words, "found": space.analogy(a, b, c, NEAREST)}
