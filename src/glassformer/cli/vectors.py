"""Verbs for word vectors: neighbours, analogy, map, vectors; and `eval` of them."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from ..errors import UserError
from .options import checkpoint_option, json_option

_SHOWN = 10  # unknown words named

run_argument = click.argument("run", type=click.Path(path_type=Path))
n_option = click.option(
    "--n", "-n", "n", type=click.IntRange(min=1), default=10, show_default=True, help="How many words."
)


@click.command()
@run_argument
@click.argument("word")
@n_option
@json_option
@checkpoint_option
def neighbours(run: Path, word: str, n: int, as_json: bool, checkpoint: str) -> None:
    """Show the words nearest to WORD, by the cosine of their vectors.

    RUN is a run of `train --model word2vec`, or a file: word2vec text or binary, or GloVe text.
    """
    from ..store.vectors import word_vectors
    from ..terminal import spoken

    _show(word_vectors(run, checkpoint).neighbours(spoken(word), n), as_json)


@click.command()
@run_argument
@click.argument("a")
@click.argument("b")
@click.argument("c")
@n_option
@json_option
@checkpoint_option
def analogy(run: Path, a: str, b: str, c: str, n: int, as_json: bool, checkpoint: str) -> None:
    """Show what is to C as B is to A: the words nearest to B - A + C, these three left out.

    \b
      glassformer analogy runs/text man king woman
    """
    from ..store.vectors import word_vectors
    from ..terminal import spoken

    _show(word_vectors(run, checkpoint).analogy(spoken(a), spoken(b), spoken(c), n), as_json)


def _show(found: Sequence[tuple[str, float]], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps([{"word": word, "cosine": cosine} for word, cosine in found], indent=1))
        return
    for word, cosine in found:
        click.echo(f"{cosine:7.4f}  {word}")


@click.command("map")
@run_argument
@click.argument("words", nargs=-1, metavar="[WORD…]")
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    default="map.png",
    show_default=True,
    help="The picture: .png, .svg or .pdf.",
)
@click.option(
    "--n",
    "-n",
    "n",
    type=click.IntRange(min=2, max=5000),
    default=100,
    show_default=True,
    help="How many of the most frequent words, where none are named.",
)
@checkpoint_option
def map_(run: Path, words: tuple[str, ...], out: Path, n: int, checkpoint: str) -> None:
    """Draw words as points in the plane in which their vectors differ most."""
    from .. import output
    from ..glass.word_map import draw
    from ..store.vectors import word_vectors
    from ..terminal import console, spoken

    output.prepare(out)
    space = word_vectors(run, checkpoint)
    places = [space.place(spoken(word)) for word in dict.fromkeys(words)] or range(min(n, len(space.words)))
    if missing := draw(space, places, out):
        console.print(f"no font here has {' '.join(missing[:_SHOWN])}; a map in .svg shows them")
    click.echo(out)


@click.command()
@run_argument
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="The file: .txt or .vec for word2vec's text format, .bin for its binary one.",
)
@checkpoint_option
def vectors(run: Path, out: Path, checkpoint: str) -> None:
    """Write word vectors in a format of word2vec, which gensim and others open.

    RUN may be a file as well, which turns one format into another.
    """
    from .. import output
    from ..data.vectors import write
    from ..store.vectors import word_vectors

    output.prepare(out)
    space = word_vectors(run, checkpoint)
    write(out, space.words, space.vectors)
    click.echo(out)


def evaluate(run: Path, files: Sequence[str], as_json: bool, checkpoint: str) -> None:
    """`eval` of word vectors: each file is a list of judged pairs or of analogies."""
    from ..data.questions import Similarity, accuracy, measure
    from ..store.vectors import word_vectors

    space = word_vectors(run, checkpoint)
    results = []
    for name in files:
        if not Path(name).is_file():
            raise UserError(
                f"{name}: no such file; word vectors are measured with lists of pairs or analogies"
            )
        results.append((name, measure(space, Path(name))))
    if as_json:
        described = [{"file": name, **asdict(result)} for name, result in results]
        click.echo(json.dumps(described[0] if len(described) == 1 else described, indent=1))
        return
    for name, result in results:
        click.echo(name)
        if isinstance(result, Similarity):
            told = "not to be told" if result.spearman is None else f"{result.spearman:.4f}"
            click.echo(f"  Spearman correlation  {told}")
            click.echo(f"  pairs known           {result.covered:,} of {result.pairs:,}")
        else:
            for section in (*result.sections, result.total):
                share = accuracy(section)
                shown = "      —" if share is None else f"{share:7.2%}"
                click.echo(
                    f"  {shown}  {section.right:,} right of {section.covered:,} known of "
                    f"{section.questions:,}  {section.name}"
                )
        if result.unknown:
            more = f" and {len(result.unknown) - _SHOWN} more" if len(result.unknown) > _SHOWN else ""
            click.echo(f"  unknown words: {', '.join(result.unknown[:_SHOWN])}{more}")
