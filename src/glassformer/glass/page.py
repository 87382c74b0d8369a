"""The look page: one HTML file that needs no script, no network, and no other file.

Shapes: L layers, h heads, n queries, m keys, V vocabulary.
"""

import json
import re
from dataclasses import dataclass
from hashlib import blake2s
from typing import Any, get_args

import torch
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ..data.tokenizers import Tokenizer
from ..errors import UserError
from ..models import LanguageModel, Model, RecurrentLM, Translator
from ..texts import Language
from . import over_time, proof, sections, translation
from .check import check
from .pictures import MAP_SIZE, bits, floats, grey, picture
from .report import signed
from .sections import Attention, Difference, Label
from .trace import Trace, ids_of, require_attention
from .words import say, slot

TITLE_SIZE = 40  # characters of the text in the page's title, at most
EXACT_SIZE = 1_500_000  # bytes of exact weights in a subject's data, at most, unless one head alone has more

PARTS = ("blocks.*.output", *(f"blocks.*.attention.{name}" for name in ("q", "k", "v")))
"""What the page works out its numbers from, beside what the self-check records."""

_PART = re.compile(r" \d(–\d)?/\d")  # how labels name a part of a character

Edge = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Subject:
    """A model and the text that it reads. `written` is what the model itself wrote after the text; it is
    looked at as well, and marked. `step` is that of its checkpoint, `name` how the page names it."""

    model: Any
    tokenizer: Tokenizer
    text: str
    written: str = ""
    step: int = 0
    name: str = ""


@dataclass(frozen=True, eq=False)
class _Pass:
    """What one pass over a subject's text gave. Of its `ids` the model sees the last ones."""

    subject: Subject
    ids: list[int]
    traced: Trace
    attention: Attention

    @property
    def predicts(self) -> bool:
        return isinstance(self.subject.model, LanguageModel)


@dataclass(frozen=True)
class _View:
    """What is shown in numbers: one head and one edge; `why` is the text that says how it was chosen."""

    layer: int
    head: int
    edge: Edge
    why: str


def look(
    model: Model | Translator,
    tokenizer: Tokenizer,
    text: str,
    *,
    layer: int | None = None,
    head: int | None = None,
    edge: Edge | None = None,
    written: str = "",
    step: int = 0,
    name: str = "",
    beside: Subject | None = None,
    target: str | None = None,
    language: Language = "en",
) -> str:
    """The page for one text, as HTML, or for two side by side. `layer` and `head` choose the head that is
    shown in numbers, `edge` (query, key) the weight that is proved; for `written`, `step` and `name` see
    `Subject`. `beside` is shown with the same head and edge where it has them.

    A recurrent model has a page of its own: gates and states over time, those of `layer` in numbers. So has
    an encoder-decoder: what it reads of the text for each token of `target`, by default of its own greedy
    translation.

    A text beyond a decoder's context is cut to its last tokens, and the page says so. Nothing is shown
    that fails the self-check (see `check`). Raises UserError for an empty text, one beyond an encoder's
    context, characters outside the vocabulary, a layer, head, token or language that is not there, and a
    model whose numbers are NaN.
    """
    if language not in get_args(Language):
        raise UserError(
            f"the page does not speak {language!r}; its languages are {', '.join(get_args(Language))}"
        )
    if target is not None and not isinstance(model, Translator):
        raise UserError("only an encoder-decoder reads a text beside a target")
    if isinstance(model, Translator):
        if written or any(choice is not None for choice in (layer, head, edge, beside)):
            raise UserError("an encoder-decoder has no heads to choose; its page shows a text and a --target")
        return _translation(Subject(model, tokenizer, text, "", step, name), target, language)
    if isinstance(model, RecurrentLM):
        if head is not None or edge is not None or beside is not None:
            raise UserError(
                "a recurrent model has no heads; its page shows one model and text, and a --layer"
            )
        subject = Subject(model, tokenizer, text, written, step, name)
        return _over_time(subject, layer, language)
    if beside is not None:
        require_attention(beside.model, "heads to show beside others")
    first = _pass(Subject(model, tokenizer, text, written, step, name))
    chosen = first.attention.choose(layer, head)
    why = "chosen" if layer is head is None else ""
    shown = [(first, _View(*chosen, edge or _edge(first, *chosen), why))]
    if beside is not None:
        try:
            second = _pass(beside)
        except UserError as error:
            raise UserError(f"beside: {error}") from None
        shown.append((second, _beside(second, chosen, edge)))
    environment = _environment()
    subject_template = environment.get_template("subject.html")
    letters = ["A", "B"] if beside is not None else [""]
    columns = [
        Markup(subject_template.render(_column(one, view), letter=letter))
        for letter, (one, view) in zip(letters, shown, strict=True)
    ]
    return environment.get_template("look.html").render(
        language=language,
        title=" | ".join(dict.fromkeys(_title(one.subject) for one, _ in shown)),
        columns=columns,
        difference=None if beside is None else _difference(first, second),
        mark=blake2s("".join(columns).encode(), digest_size=4).hexdigest(),
    )


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("glassformer.glass"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    environment.globals |= {"say": say, "slot": slot, "signed": signed}
    return environment


def _over_time(subject: Subject, layer: int | None, language: Language) -> str:
    """The page of a recurrent model."""
    model, tokenizer = subject.model, subject.tokenizer
    assert isinstance(model, RecurrentLM)
    ids = ids_of(model, tokenizer, subject.text + subject.written)
    values = over_time.values(model, tokenizer, ids, layer)
    labels: list[Label] = values["labels"]
    return (
        _environment()
        .get_template("recurrent.html")
        .render(
            language=language,
            title=_title(subject),
            mark=blake2s(str(ids).encode(), digest_size=4).hexdigest(),
            tell=over_time.tell,
            subject=subject,
            n_parameters=f"{sum(p.numel() for p in model.parameters()):,}",
            cut_characters=any(_PART.search(label.text) for label in labels),
            stray_bytes=any(label.stray for label in labels),
            special=next((label for label in labels if label.special), None),
            **values,
        )
    )


def _translation(subject: Subject, target: str | None, language: Language) -> str:
    """The page of an encoder-decoder."""
    values = translation.values(subject.model, subject.tokenizer, subject.text, target)
    labels: list[Label] = [*values["source"], *values["target"]]
    return (
        _environment()
        .get_template("attentions.html" if "attentions" in values else "translation.html")
        .render(
            language=language,
            model=subject.model.config,
            title=_title(subject),
            mark=blake2s(
                f"{subject.text}\n{target}".encode(errors="surrogatepass"), digest_size=4
            ).hexdigest(),
            tell=translation.tell,
            subject=subject,
            n_parameters=f"{sum(p.numel() for p in subject.model.parameters()):,}",
            cut_characters=any(_PART.search(label.text) for label in labels),
            stray_bytes=any(label.stray for label in labels),
            special=next((label for label in labels if label.special), None),
            **values,
        )
    )


def _pass(subject: Subject) -> _Pass:
    model = subject.model
    ids = ids_of(model, subject.tokenizer, subject.text + subject.written)
    if not ids:
        raise UserError("the text to look at is empty")
    shown = ids[-model.config.context :]
    traced = check(model, shown, PARTS)
    weights_Lhnm, masks_Lhnm = (
        torch.cat([traced[f"blocks.{i}.attention.{name}"] for i in range(model.config.n_layers)])
        for name in ("weights", "mask")
    )
    # Named before the cut, so that a character it goes through keeps its name.
    labels = sections.labels(subject.tokenizer, ids)[-len(shown) :]
    return _Pass(subject, ids, traced, Attention(weights_Lhnm, masks_Lhnm, labels, labels))


def _edge(one: _Pass, layer: int, head: int) -> Edge:
    """The last token, or with an encoder the last that is no special one, and the key it reads most."""
    queries = one.attention.queries
    plain = [i for i, label in enumerate(queries) if one.predicts or not label.special]
    query = plain[-1] if plain else len(queries) - 1
    return query, int(one.attention.weights_Lhnm[layer, head, query].argmax())


def _beside(second: _Pass, chosen: tuple[int, int], edge: Edge | None) -> _View:
    """The head and the edge that the first one shows, where the second has them; else its own."""
    attention = second.attention
    same = attention.has(*chosen)
    layer, head = chosen if same else attention.choose()
    there = edge is not None and edge[0] < len(attention.queries) and edge[1] < len(attention.keys)
    place = edge if edge is not None and there else _edge(second, layer, head)
    return _View(layer, head, place, "same_head" if same else "chosen")


def _column(one: _Pass, view: _View) -> dict[str, Any]:
    """What the template needs of one subject."""
    subject, attention, layer, head = one.subject, one.attention, view.layer, view.head
    model, tokenizer = subject.model, subject.tokenizer
    n, m = len(attention.queries), len(attention.keys)
    proved = proof.prove(one.traced, layer, head, *view.edge)
    # A model may have more ids than its tokenizer; those are no tokens.
    target = int(one.traced["logits"][0, -1, : tokenizer.vocab_size].argmax()) if one.predicts else None
    query = proved.query if target is None else n - 1
    first_query, first_key = (max(0, count - sections.TABLE_SIZE) for count in (n, m))
    lens = sections.lens_table(one.traced, tokenizer, n) if one.predicts else []
    predictions = (
        sections.predictions(one.traced, tokenizer, one.ids[-n:], attention.queries, first_query)
        if one.predicts
        else []
    )
    guesses = [guess for guessed in (*lens, *(p.guesses for p in predictions)) for guess in guessed]
    named = [*attention.queries, *attention.keys, *(guess.label for guess in guesses)]
    return {
        "subject": subject,
        "model": model.config,
        "n_parameters": f"{sum(p.numel() for p in model.parameters()):,}",
        "predicts": one.predicts,
        "queries": attention.queries,
        "keys": attention.keys,
        "sight": attention.sight,
        "cropped": len(one.ids) if len(one.ids) > n else 0,
        "cut_characters": any(_PART.search(label.text) for label in named[: n + m]),
        "stray_bytes": any(label.stray for label in named),
        "special": next((label for label in named if label.special), None),
        "maps": [[picture(weights) for weights in layer_hnm] for layer_hnm in attention.weights_Lhnm],
        "map_size": (min(n, MAP_SIZE), min(m, MAP_SIZE)),
        "view": view,
        "all_exact": _all_exact(attention),
        "first_query": first_query,
        "first_key": first_key,
        "table": sections.weight_table(attention, layer, head, first_query, first_key),
        "reads": sections.reads(one.traced, attention, layer, head, query, target),
        "reader": query,
        "target": None if target is None else sections.name(tokenizer, target),
        "proof": proved,
        "lens": lens,
        "lens_first": max(0, n - sections.LENS_SIZE),
        "predictions": predictions,
        "data": _data(attention, layer, head),
    }


def _difference(first: _Pass, second: _Pass) -> Difference | None:
    """What differs between two passes of one kind of model with equally many layers, heads and tokens."""
    shapes = {one.attention.weights_Lhnm.shape for one in (first, second)}
    if first.predicts != second.predicts or len(shapes) > 1:
        return None
    ours, theirs = first.subject.tokenizer, second.subject.tokenizer
    shared = first.predicts and (ours is theirs or ours.to_json() == theirs.to_json())
    guesses = sections.next_tokens(ours, first.traced, second.traced) if shared else []
    return sections.difference(first.attention, second.attention, guesses)


def _title(subject: Subject) -> str:
    """The beginning of a text on one line."""
    line = " ".join((subject.text + subject.written).split())
    return line if len(line) <= TITLE_SIZE else line[: TITLE_SIZE - 1] + "…"


def _all_exact(attention: Attention) -> bool:
    """Whether the exact numbers of every head find room in the page."""
    return 4 * attention.weights_Lhnm.numel() <= EXACT_SIZE


def _data(attention: Attention, layer: int, head: int) -> Markup:
    """What the page's script needs to show any head: its exact numbers or a picture of them, and its mask,
    of which equal ones are there once."""
    every = _all_exact(attention)
    masks = [[bits(mask_nm) for mask_nm in layer_hnm] for layer_hnm in attention.masks_Lhnm]
    distinct = list(dict.fromkeys(mask for row in masks for mask in row))
    values: dict[str, Any] = {
        "queries": [label.text for label in attention.queries],
        "keys": [label.text for label in attention.keys],
        "same": attention.queries is attention.keys,
        "special": {
            "queries": [i for i, label in enumerate(attention.queries) if label.special],
            "keys": [i for i, label in enumerate(attention.keys) if label.special],
        },
        "heads": [
            [
                {"float32": floats(w_nm)} if every or (i, j) == (layer, head) else {"shades": grey(w_nm)}
                for j, w_nm in enumerate(layer_hnm)
            ]
            for i, layer_hnm in enumerate(attention.weights_Lhnm)
        ],
        "masks": distinct,
        "mask": [[distinct.index(mask) for mask in row] for row in masks],
        "view": [layer, head],
    }
    # Inside a script element "<" could end it, or begin a comment, whatever the quotes around it.
    return Markup(json.dumps(values, allow_nan=False).replace("<", "\\u003c"))
