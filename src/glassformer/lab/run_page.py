"""The page of one run: a text, where its heads look, what an edge does, edits, what would be drawn next.

The whole page is a form that the server answers; its address is all of its state. `run.js` only asks sooner.
"""

from dataclasses import dataclass, replace
from hashlib import blake2s
from typing import Any
from urllib.parse import quote, urlencode

from markupsafe import Markup

from ..data.space import WordSpace
from ..decoding.samplers import Sampler
from ..encoding import fill
from ..errors import UserError
from ..glass import sections
from ..glass.page import look
from ..glass.pictures import picture
from ..glass.proof import prove
from ..glass.report import signed
from ..models import Bert, Decoder, RecurrentLM
from ..texts import Language, number
from . import pages, reading
from .changes import parsed
from .pages import Page
from .reading import Edited, Reading, within
from .runs import Opened
from .shades import shade
from .words_run import WORDS, Told, look_says, tell


@dataclass(frozen=True)
class Ask:
    """What a page is asked, as its address says it.

    `head` is "L.H". `of` tells for which text the tokens and edits were chosen: for another they mean
    nothing. What is not given is chosen: the least uniform head, the last token, the key it reads most.
    """

    text: str = ""
    head: str = ""
    query: int | None = None
    key: int | None = None
    edit: tuple[str, ...] = ()
    factor: float = 0.5
    of: str = ""
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0

    def address(self, **changed: Any) -> str:
        """The query part of an address that asks this, with some of it changed; what is usual is left out."""
        usual, asked = Ask(), replace(self, **changed)
        parts = {name: value for name, value in vars(asked).items() if value != getattr(usual, name)}
        return urlencode(parts, doseq=True)


@dataclass(frozen=True)
class Answer:
    """A page and the status that it is sent with."""

    page: Page
    status: int = 200


@dataclass(frozen=True)
class Said:
    """Why there is nothing to see. `own` texts are in the page's language, the others in English."""

    text: str
    own: bool


def of(text: str) -> str:
    """A short name of a text."""
    return blake2s(text.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()


def path_of(name: str, language: Language) -> str:
    return f"/{language}/runs/{quote(name, safe='')}"


def run_page(opened: Opened, ask: Ask, language: Language) -> Answer:
    """The page for one question. A question that cannot be answered is answered by why."""
    ask = replace(ask, text=ask.text.replace("\r\n", "\n"))  # forms send line breaks so
    error, values = None, dict[str, Any]({"shown": None, "told": None})
    try:
        if isinstance(opened.model, RecurrentLM):
            raise Told("recurrent", command=f"glassformer look {opened.name} TEXT")
        sampler = Sampler(ask.temperature, ask.top_k, ask.top_p)
        if ask.text:
            values = _values(opened, ask, sampler, language)
    except Told as mistake:
        error = Said(mistake.told(language), own=True)
    except UserError as mistake:
        error = Said(str(mistake), own=language == "en")
    query = (values["shown"] or ask).address()
    mask = fill.mask_of(opened.model, opened.tokenizer)
    page = pages.render(
        "run.html",
        language,
        f"runs/{quote(opened.name, safe='')}?{query}",
        scripts=("progress", "run"),
        styles=("run",),
        data={
            "words": {key: getattr(WORDS[key], language) for key in ("working", "offline", "too_long")},
            "mostCharacters": reading.MOST_CHARACTERS,
        },
        connects=True,
        home="../index.html",
        depth=2,
        title=opened.name,
        name=opened.name,
        address=path_of(opened.name, language),
        query_part=query,
        machine=_machine(opened, language),
        predicts=isinstance(opened.model, Decoder),
        mask=mask,
        hint=tell("mask_hint", language, mask=mask) if mask else tell("text_hint", language),
        sliders=_sliders(opened, ask),
        ask=ask,
        error=error,
        tell=lambda text, /, **given: tell(text, language, **given),
        look=lambda text, /, **given: look_says(text, language, **given),
        number=number,
        shade=shade,
        signed=signed,
        gap=_gap(language),
        **values,
    )
    return Answer(page, 422 if error else 200)


def _gap(language: Language) -> str:
    """What stands between two sentences."""
    return " " if language == "en" else ""


def _machine(opened: Opened, language: Language) -> Markup:
    if not isinstance(opened.model, Decoder | Bert):
        return Markup("")
    c = opened.model.config
    n_parameters = f"{sum(p.numel() for p in opened.model.parameters()):,}"
    shape = {"layers": c.n_layers, "heads": c.n_heads, "context": c.context}
    parts = [look_says("machine", language, parameters=n_parameters, **shape)]
    if not isinstance(opened.model, Decoder):
        parts.append(look_says("encoder", language))
    if opened.step:
        parts.append(look_says("checkpoint", language, step=opened.step))
    return Markup(_gap(language)).join(parts)


def _sliders(opened: Opened, ask: Ask) -> list[tuple[str, float, float, float, str]]:
    """(name, low, high, step, value) of each; what an address asks beyond a slider's end moves that end."""
    most = min(100, opened.tokenizer.vocab_size)
    return [
        ("temperature", 0, max(2, ask.temperature), 0.05, f"{ask.temperature:g}"),
        ("top_k", 0, max(most, ask.top_k), 1, str(ask.top_k)),
        ("top_p", 0, 1, 0.01, f"{ask.top_p:g}"),
    ]


def _values(opened: Opened, ask: Ask, sampler: Sampler, language: Language) -> dict[str, Any]:
    """What the page shows of a text."""
    read = reading.read(opened, ask.text)
    notes = _notes(opened, read, ask.text, language)
    if ask.of and ask.of != of(ask.text):
        if ask.edit:
            notes.append(tell("moved_on", language))
        ask = replace(ask, query=None, key=None, edit=())
    layer, head, query, key = _places(read, ask)
    changes = parsed(list(ask.edit), ask.factor)
    edited = reading.edited(opened, read, changes)
    decoder = isinstance(opened.model, Decoder)
    target = int(reading.next_logits(opened, read.traced).argmax()) if decoder else None
    attention = read.attention
    now = edited.attention if edited else attention
    asked = replace(ask, head=f"{layer}.{head}", query=query, key=key, of=of(ask.text))

    def asks(**changed: Any) -> str:
        return f"?{asked.address(**changed)}"

    return {
        "shown": asked,
        "notes": notes,
        "labels": read.labels,
        "layer": layer,
        "head": head,
        "query": query,
        "key": key,
        "maps": [[picture(weights) for weights in layer_hnm] for layer_hnm in now.weights_Lhnm],
        "table": reading.table(attention, now, layer, head, query),
        "reads": sections.reads(read.traced, attention, layer, head, query, target),
        "proof": prove(read.traced, layer, head, query, key),
        "changes": changes,
        "edited": edited,
        "without_edits": asks(edit=()),
        "asks": asks,
        "report": f"{path_of(opened.name, language)}/look?{_report(asked)}",
        "shared": _shares_values(opened),
        "told": None,
        **_hidden(read, layer, query, language),
        **(_expected(opened, read, edited, sampler, language) if decoder else {}),
    }


def _hidden(read: Reading, layer: int, query: int, language: Language) -> dict[str, Any]:
    """What an encoder's page shows of what stands behind the masks, and of where a token looks."""
    if not read.hidden:
        return {"hidden": []}
    values = {"hidden": read.hidden, "looks": reading.heads_table(read.attention, layer, query)}
    if len(read.hidden) == 1:
        best = read.hidden[0].best[0]
        percent = number(100 * best.probability, 1)
        values["told"] = tell("told_hidden", language, token=best.token, percent=percent)
    return values


def _notes(opened: Opened, read: Reading, text: str, language: Language) -> list[Markup]:
    """What the reader should know of how the text was read."""
    n, special = len(read.ids), next((label for label in read.labels if label.special), None)
    notes = [] if special is None else [look_says("special_note", language, example=special)]
    mask = fill.mask_of(opened.model, opened.tokenizer)
    if mask is not None and not read.hidden:
        notes.insert(0, _how(opened, text, mask, language))
    if n < read.all:
        cut_by_model = n == opened.model.config.context
        say, key = (look_says, "cropped") if cut_by_model else (tell, "cut_here")
        notes.append(say(key, language, all=read.all, n=n))
    return notes


def _how(opened: Opened, text: str, mask: str, language: Language) -> Markup:
    """How to hide a token, with the text itself as an example."""
    said, example = tell("mask_how", language, mask=mask), reading.hiding(opened.tokenizer, text, mask)
    if example is None:
        return said
    link = Markup('<a href="?{}"><bdi>{}</bdi></a>').format(Ask(example).address(), example)
    return Markup(_gap(language)).join((said, tell("for_example", language, example=link)))


def _places(read: Reading, ask: Ask) -> tuple[int, int, int, int]:
    """The asked layer, head, query and key; what is not asked is chosen, of queries the first mask. UserError
    for what is not there."""
    attention = read.attention
    n, m = attention.weights_Lhnm.shape[2:]
    layer, head = reading.head_of(attention, ask.head)
    plain = [i for i, label in enumerate(read.labels) if not label.special] or [n - 1]
    usual = read.hidden[0].place if read.hidden else plain[-1]
    query = usual if ask.query is None else within("query", ask.query, n)
    most = int(attention.weights_Lhnm[layer, head, query].argmax())
    return layer, head, query, most if ask.key is None else within("key", ask.key, m)


def _shares_values(opened: Opened) -> bool:
    """Whether heads share key/value heads, so that a scaled value is that of several."""
    model = opened.model
    return (
        isinstance(model, Decoder)
        and (model.config.n_kv_heads or model.config.n_heads) < model.config.n_heads
    )


def _report(ask: Ask) -> str:
    """What the full report of the same head and edge is asked by."""
    return urlencode({"text": ask.text, "head": ask.head, "query": ask.query, "key": ask.key})


def _expected(
    opened: Opened,
    read: Reading,
    edited: Edited | None,
    sampler: Sampler,
    language: Language,
) -> dict[str, Any]:
    """What a decoder's page shows of the next token."""
    logits_V = edited.logits_V if edited else reading.next_logits(opened, read.traced)
    found, n_kept = reading.candidates(opened, logits_V, sampler)
    plain_V = reading.next_logits(opened, read.traced)
    likeliest, percent = found[0].label, number(100 * found[0].probability, 1)
    values: dict[str, Any] = {
        "target": sections.name(opened.tokenizer, int(plain_V.argmax())),
        "told": tell("told", language, target=likeliest, percent=percent),
        "candidates": found,
        "kept": tell("kept", language, all=opened.tokenizer.vocab_size, n=n_kept),
    }
    if edited:
        c = edited.comparison
        values["outcome"] = tell(
            "outcome",
            language,
            target=edited.target,
            before=number(c.plain_log_probability, 4),
            after=number(c.plain_log_probability + c.log_probability, 4),
            change=signed(c.log_probability, 4),
            logits=number(c.logits, 4),
        )
    return values


def report_page(opened: Opened, ask: Ask, language: Language) -> str:
    """The look page of the same text, head and edge. Raises UserError as `glass.look` does, and for word
    vectors."""
    if isinstance(opened.model, WordSpace):
        raise Told("vectors")
    text = ask.text.replace("\r\n", "\n")
    if len(text) > reading.MOST_CHARACTERS:
        raise reading.TooMuch("too_long", n=len(text), most=reading.MOST_CHARACTERS)
    layer, head = (int(part) for part in ask.head.split(".")) if ask.head else (None, None)
    edge = None if ask.query is None or ask.key is None else (ask.query, ask.key)
    return look(
        opened.model,
        opened.tokenizer,
        text,
        layer=layer,
        head=head,
        edge=edge,
        step=opened.step,
        name=opened.name,
        language=language,
    )
