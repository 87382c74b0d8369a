"""The pages of runs that are asked in one line: an encoder-decoder, and word vectors.

Each is a form that the server answers, without scripts; its address is all of its state.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import quote, urlencode

import torch
from markupsafe import Markup
from torch import Tensor

from ..data.space import WordSpace
from ..errors import UserError
from ..glass import sections, translation, writing
from ..glass.pictures import picture
from ..glass.sections import TABLE_SIZE, Attention
from ..models import EncoderDecoder, Translator
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
    answer: Callable[[Opened, Ask], dict[str, Any]],
) -> Answer:
    ask = replace(ask, text=ask.text.replace("\r\n", "\n"))
    text, error, shown = ask.text, None, None
    try:
        if len(text) > reading.MOST_CHARACTERS:
            raise reading.TooMuch("too_long", n=len(text), most=reading.MOST_CHARACTERS)
        shown = answer(opened, ask) if text.strip() else None
    except Told as mistake:
        error = Said(mistake.told(language), own=True)
    except UserError as mistake:
        error = Said(str(mistake), own=language == "en")
    query = urlencode({"text": text}) if text else ""
    page = pages.render(
        template,
        language,
        f"runs/{quote(opened.name, safe='')}?{ask.address()}",
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
        ask=ask,
        error=error,
        shown=shown,
        caches=isinstance(opened.model, EncoderDecoder),
        examples=opened.model.words[:EXAMPLES] if isinstance(opened.model, WordSpace) else [],
        report=f"{path_of(opened.name, language)}/look?{query}",
        asks=lambda **changed: f"?{ask.address(**changed)}",
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


def _translation(opened: Opened, ask: Ask) -> dict[str, Any]:
    """What the look page has of a text and its translation, and one step of writing it."""
    shown = _written(opened, ask.text)
    steps: list[writing.Step] = shown["steps"]
    at = reading.within("query", ask.query or 0, len(steps))
    values = shown | {"at": at, "step": steps[at], "table": None, "maps": None}
    parts = [step.weights_Lhm for step in steps if step.weights_Lhm is not None]
    if not parts:
        return values
    weights_Lhnm = torch.stack(parts, 2)
    attention = Attention(weights_Lhnm, weights_Lhnm >= 0, shown["target"], shown["source"])
    layer, head = reading.head_of(attention, ask.head)
    part_Lhnm = weights_Lhnm[..., :TABLE_SIZE, :TABLE_SIZE]
    mean_Lhnm = weights_Lhnm[:, :, at : at + 1, :TABLE_SIZE].mean((0, 1), keepdim=True)
    values |= {
        "layer": layer,
        "head": head,
        "table": _cells(part_Lhnm, layer, head),
        "row": _cells(weights_Lhnm[:, :, at : at + 1, :TABLE_SIZE], layer, head)[0],
        "mean": _cells(mean_Lhnm, 0, 0)[0],
    }
    if isinstance(opened.model, EncoderDecoder):
        values["maps"] = [[picture(weights) for weights in layer_hnm] for layer_hnm in weights_Lhnm]
    return values


def _cells(weights_Lhnm: Tensor, layer: int, head: int) -> list[list[sections.Cell]]:
    attention = Attention(weights_Lhnm, weights_Lhnm >= 0, [], [])
    return sections.weight_table(attention, layer, head, 0, 0)


def _written(opened: Opened, text: str) -> dict[str, Any]:
    """A text's translation and its steps; those of the last text are kept."""
    held = opened.kept.get("translation")
    if held is None or held[0] != text:
        held = text, _translated(opened, text)
        opened.kept["translation"] = held
    shown: dict[str, Any] = held[1]
    return shown


def _translated(opened: Opened, text: str) -> dict[str, Any]:
    tokenizer = opened.tokenizer
    try:
        n = len(tokenizer.encode(text.strip()))
    except UserError:
        if unknown := reading.unknown(tokenizer, text):
            raise reading.TooMuch("unknown", characters=unknown) from None
        raise
    if n > reading.MOST_TOKENS:
        raise reading.TooMuch("too_many", n=n, most=reading.MOST_TOKENS)
    shown = translation.values(opened.model, tokenizer, text)
    source, written = shown["ids"]
    steps = writing.steps(opened.model, tokenizer, source, written)
    so_far = [tokenizer.decode(written[:i]) for i in range(len(steps))]
    return shown | {"steps": steps, "so_far": so_far}


def _near(opened: Opened, ask: Ask) -> dict[str, Any]:
    """The nearest words to one, or those that complete an analogy of three."""
    space: WordSpace = opened.model
    words = ask.text.split()
    if len(words) not in (1, 3):
        raise Told("one_or_three", n=len(words))
    for word in words:
        if space.find(word) is None:
            raise Told("no_word", word=word)
    if len(words) == 1:
        return {"words": words, "found": space.neighbours(words[0], NEAREST)}
    a, b, c = words
    return {"words": words, "found": space.analogy(a, b, c, NEAREST)}
