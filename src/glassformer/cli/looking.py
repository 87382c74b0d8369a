"""Verbs that look inside: look, effect."""

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import UserError
from .options import checkpoint_option, device_option

if TYPE_CHECKING:
    from ..data.tokenizers import Tokenizer
    from ..glass.edits import Which
    from ..glass.effect import Baseline, Effects, Plan
    from ..glass.page import Subject
    from ..glass.report import Names
    from ..models import LanguageModel, Translator
    from ..texts import Language


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("text")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    default="look.html",
    show_default=True,
    help="Where to write the page; - is standard output, which then holds nothing else.",
)
@click.option("--layer", type=click.IntRange(min=0), help="Layer of the head to show in numbers, from 0.")
@click.option(
    "--head",
    type=click.IntRange(min=0),
    help="Head to show in numbers, from 0.  [default: the least uniform]",
)
@click.option("--proof", metavar="L.H.Q.K", help="Work out this weight: layer, head, query, key, from 0.")
@click.option(
    "--generate", type=click.IntRange(min=0), default=0, help="Let the model write so many tokens on first."
)
@click.option("--target", help="What a translator is to have written.  [default: its own translation]")
@click.option("--npz", type=click.Path(dir_okay=False, path_type=Path), help="Save all weights to this file.")
@click.option("--beside-run", type=click.Path(path_type=Path), help="Show this run in a second column.")
@click.option("--beside-text", help="Show this text in a second column.")
@click.option("--beside-checkpoint", metavar="last|best|N", help="Show this checkpoint in a second column.")
@click.option(
    "--lang", type=click.Choice(["en", "zh"]), help="First language shown.  [default: by the locale]"
)
@click.option("--open", "show", is_flag=True, help="Open the page in a browser, where there is one.")
@checkpoint_option
@device_option
def look(
    run: Path,
    text: str,
    output: Path,
    layer: int | None,
    head: int | None,
    proof: str | None,
    generate: int,
    target: str | None,
    npz: Path | None,
    beside_run: Path | None,
    beside_text: str | None,
    beside_checkpoint: str | None,
    lang: "Language | None",
    show: bool,
    checkpoint: str,
    device: str,
) -> None:
    """Make a page that shows what the model does with TEXT ("-": standard input).

    One HTML file, which needs no script and no network: the tokens, every head of every layer, one head
    in numbers, its weights beside their effects, one weight worked out, and what the model expects after
    each token and each layer. In English and Chinese. Where scripts run, any head can be chosen.

    RUN may be an encoder, which reads a text but expects no next token; or a recurrent network, whose page
    shows gates and states over time, of --layer in numbers; or an encoder-decoder, whose page shows what it
    read of TEXT for each token of its translation, or of --target. With any of the --beside options the
    page has a second column, which takes what they leave out from the first; --npz and the printed proof are
    of the first.
    """
    from ..glass import proof as proofs
    from ..glass.page import look as make_page
    from ..glass.report import write_npz
    from ..glass.trace import require_attention
    from ..output import prepare, write_text
    from ..terminal import language, open_in_browser, read_argument, spoken

    prepare(output, npz)
    edge = None
    if proof is not None:
        layer, head, *query_and_key = proofs.parsed(proof)
        edge = (query_and_key[0], query_and_key[1])
    text = read_argument(text)
    first = _reading(_subject(run, checkpoint, device, writes=generate > 0), text, generate)
    if npz is not None:
        require_attention(first.model, "weights to save")
    beside = None
    if beside_run is not None or beside_checkpoint is not None:
        place = (beside_run or run, beside_checkpoint or checkpoint, device)
        beside = _subject(*place, writes=generate > 0)
    elif beside_text is not None:
        beside = first
    if beside is not None:
        beside = _reading(beside, text if beside_text is None else read_argument(beside_text), generate)
    page = make_page(
        first.model,
        first.tokenizer,
        text,
        layer=layer,
        head=head,
        edge=edge,
        written=first.written,
        step=first.step,
        name=first.name,
        beside=beside,
        target=None if target is None else spoken(target),
        language=lang or language(),
    )
    write_text(output, page)
    say = functools.partial(click.echo, err=str(output) == "-")
    if str(output) != "-":
        say(output)
    if proof is not None:
        say(proofs.of_text(first.model, first.tokenizer, text + first.written, proofs.parsed(proof)))
    if npz is not None:
        write_npz(first.model, first.tokenizer, text + first.written, npz)
        say(npz)
    if show:
        open_in_browser(output)


def _subject(run: Path, checkpoint: str, device: str, *, writes: bool) -> "Subject":
    """The model of a folder, as yet without a text; UserError for an encoder that is to write."""
    from ..device import choose_device
    from ..glass.page import Subject
    from ..hub.folder import open_folder

    opened = open_folder(run, checkpoint)
    model = opened.language_model() if writes else opened.reader()
    return Subject(model.to(choose_device(device)), opened.tokenizer(), "", step=opened.step, name=str(run))


def _reading(subject: "Subject", text: str, n_tokens: int) -> "Subject":
    """The same model with a text, and with so many tokens that it writes on itself."""
    from ..decoding.text import generate
    from ..models import LanguageModel

    model, written = subject.model, ""
    if n_tokens and isinstance(model, LanguageModel):
        written = generate(model, subject.tokenizer, text, tokens=n_tokens, temperature=0)
    return replace(subject, text=text, written=written)


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("text")
@click.option(
    "--target",
    help="The next token to follow; of a translator, what it is to have written, the last token of which is "
    "followed.  [default: the likeliest; a translator's own translation]",
)
@click.option(
    "--of",
    type=click.Choice(["encoder", "decoder", "cross"]),
    help="Which attention of a translator: the source's, the target's, or the target's of the source."
    "  [default: cross]",
)
@click.option(
    "--layer", "layers", type=click.IntRange(min=0), multiple=True, help="Only this layer; may be repeated."
)
@click.option(
    "--head", "heads", type=click.IntRange(min=0), multiple=True, help="Only this head; may be repeated."
)
@click.option(
    "--query", help="The token that reads: a place, last, or all.  [default: last; of the encoder, all]"
)
@click.option(
    "--baseline",
    type=click.Choice(["zero", "mean", "resample"]),
    default="zero",
    show_default=True,
    help="What takes a value's place when its edge is zeroed.",
)
@click.option(
    "--rows", type=click.IntRange(min=1), default=10, show_default=True, help="Lines of each table."
)
@click.option("--csv", type=click.Path(dir_okay=False, path_type=Path), help="Write every edge to this file.")
@checkpoint_option
@device_option
def effect(
    run: Path,
    text: str,
    target: str | None,
    of: "Which | None",
    layers: tuple[int, ...],
    heads: tuple[int, ...],
    query: str | None,
    baseline: "Baseline",
    rows: int,
    csv: Path | None,
    checkpoint: str,
    device: str,
) -> None:
    """Measure what attention edges do, beside what they weigh.

    Each edge (layer, head, query, key) is cut (score -inf, the row renormalised) and zeroed (weight 0, not
    renormalised), and the change of the target's log-probability after TEXT is measured. By default all
    heads, for the last token as the query. The cost is told first.

    Of a Transformer that translates TEXT is the source, and followed is the last token of --target after
    those before it. Its decoder begins with the start token, which is token 0 of what it reads.

    \b
      glassformer effect runs/poems "床前明月" --target 光
      glassformer effect runs/dates "May 5, 2021" --target "2021-05" --of cross
    """
    from ..device import choose_device
    from ..glass import report
    from ..hub.folder import open_folder
    from ..output import prepare
    from ..terminal import console, progress, read_argument

    prepare(csv)
    opened = open_folder(run, checkpoint)
    model, tokenizer = opened.measurable().to(choose_device(device)), opened.tokenizer()
    text = read_argument(text)
    if opened.translates:
        asked = _of_pair(model, tokenizer, text, target, of or "cross", layers, heads, query)
    elif of is not None:
        raise UserError("--of chooses an attention of a translator; this model translates nothing")
    else:
        asked = _of_text(model, tokenizer, text, target, layers, heads, query or "last")
    plan = asked.plan
    console.print(str(plan))
    with progress() as advance:
        effects = asked.measure(
            layers=plan.layers, heads=plan.heads, queries=plan.queries, baseline=baseline, advance=advance
        )
    click.echo(report.summary(effects, tokenizer, asked.names, rows))
    if csv is not None:
        report.write_csv(effects, asked.names, csv)
        console.print(f"every edge: {csv}")


@dataclass(frozen=True)
class _Asked:
    """What `effect` measures, how, and what its tokens are called."""

    plan: "Plan"
    measure: "Callable[..., Effects]"
    names: "Names"


def _of_text(
    model: "LanguageModel",
    tokenizer: "Tokenizer",
    text: str,
    target: str | None,
    layers: tuple[int, ...],
    heads: tuple[int, ...],
    query: str,
) -> _Asked:
    from ..glass import effect as measuring
    from ..glass import report
    from ..glass.check import check
    from ..glass.trace import require_decoder
    from ..terminal import console, spoken

    context = require_decoder(model).config.context
    every = [int(i) for i in tokenizer.encode(text)]
    ids = every[-context:]
    if len(ids) < len(every):
        console.print(f"the text has {len(every)} tokens; measured are the last {len(ids)}, counted from 0")
    queries = measuring.queries(query, len(ids))
    plan = measuring.plan(model, len(ids), layers=layers or None, heads=heads or None, queries=queries)
    wanted = None if target is None else report.target_id(tokenizer, spoken(target))
    check(model, ids)
    labels = tokenizer.labels(ids)
    measure = functools.partial(measuring.effect, model, ids, target=wanted)
    return _Asked(plan, measure, report.Names(labels, labels, labels))


def _of_pair(
    model: "Translator",
    tokenizer: "Tokenizer",
    text: str,
    target: str | None,
    of: "Which",
    layers: tuple[int, ...],
    heads: tuple[int, ...],
    query: str | None,
) -> _Asked:
    from ..glass import effect as measuring
    from ..glass import effect_pairs, report
    from ..glass.check import check_pair
    from ..terminal import spoken

    written = None if target is None else spoken(target)
    reader = effect_pairs.require_heads(model)
    source, inputs, wanted = effect_pairs.sides(reader, tokenizer, text, written)
    asks, answers = {"encoder": (source, source), "decoder": (inputs, inputs), "cross": (inputs, source)}[of]
    said = query or ("all" if of == "encoder" else "last")
    plan = effect_pairs.plan(
        reader,
        len(source),
        len(inputs),
        of=of,
        layers=layers or None,
        heads=heads or None,
        queries=measuring.queries(said, len(asks)),
    )
    check_pair(reader, source, inputs)
    measure = functools.partial(effect_pairs.effect, reader, source, inputs, of=of, target=wanted)
    names = report.Names(*(tokenizer.labels(ids) for ids in (asks, answers, inputs)))
    return _Asked(plan, measure, names)
