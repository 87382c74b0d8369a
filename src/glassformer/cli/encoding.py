"""Verbs that ask an encoder: fill, embed, search; and `eval` of one."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import UserError
from .options import checkpoint_option, device_option, json_option

if TYPE_CHECKING:
    from ..data.space import Floats
    from ..data.tokenizers import Tokenizer
    from ..models import Bert
    from ..store.run import Checkpoint

RECALL = (1, 5, 10)

run_argument = click.argument("run", type=click.Path(path_type=Path))


def encoder(run: Path, checkpoint: str, device: str) -> "tuple[Bert, Tokenizer]":
    """The encoder of a folder and its tokenizer. Raises UserError for what writes."""
    from ..device import choose_device
    from ..hub.folder import open_folder

    opened = open_folder(run, checkpoint)
    return opened.encoder().to(choose_device(device)), opened.tokenizer()


@click.command()
@run_argument
@click.argument("text")
@click.option(
    "-n", "--n", "n", type=click.IntRange(min=1), default=5, show_default=True, help="How many for each mask."
)
@click.option(
    "--together", is_flag=True, help="Fill all masks, the surest first, each seeing those before it."
)
@json_option
@checkpoint_option
@device_option
def fill(run: Path, text: str, n: int, together: bool, as_json: bool, checkpoint: str, device: str) -> None:
    """Tell what stands behind each [MASK] of TEXT ("-": standard input), with probabilities.

    RUN is a run of `train --model bert`, or a folder of a BERT with its head for hidden tokens. Several masks
    are told each for itself, from the same text, unless --together.

    \b
      glassformer fill runs/poems "牀前明[MASK]光"
      glassformer fill path/to/bert-base-uncased "The capital of France is [MASK]."
    """
    from ..encoding import fill as filling
    from ..terminal import console, read_argument

    model, tokenizer = encoder(run, checkpoint, device)
    text = read_argument(text).removesuffix("\n")
    if together:
        filled = filling.fill_together(model, tokenizer, text)
        if as_json:
            click.echo(json.dumps(asdict(filled), indent=1, ensure_ascii=False))
            return
        click.echo(filled.text)
        for token, p in zip(filled.tokens, filled.probabilities, strict=True):
            click.echo(f"{p:7.4f}  {token}", err=True)
        return
    masks = filling.fill(model, tokenizer, text, n)
    if as_json:
        told = [{"mask": i, "completions": list(map(asdict, best))} for i, best in enumerate(masks, 1)]
        click.echo(json.dumps(told, indent=1, ensure_ascii=False))
        return
    if len(masks) > 1:
        console.print(
            "each mask is told for itself, the others hidden; --together fills them all", style="dim"
        )
    for i, best in enumerate(masks, 1):
        if len(masks) > 1:
            click.echo(f"mask {i}")
        for completion in best:
            whole = f"  {completion.text}" if len(masks) == 1 and completion.text is not None else ""
            click.echo(f"{completion.probability:7.4f}  {completion.token}{whole}")


@click.command()
@run_argument
@click.argument("file", type=click.Path(path_type=Path))
@click.option("-o", "--out", type=click.Path(path_type=Path), required=True, help="The vectors, as .npy.")
@checkpoint_option
@device_option
def embed(run: Path, file: Path, out: Path, checkpoint: str, device: str) -> None:
    """Write a vector for each line of FILE: float32, as many rows as lines, the width of the encoder.

    It is the mean of what the encoder makes of the line's tokens.
    """
    import numpy as np

    from .. import output
    from ..encoding.search import embed as read
    from ..terminal import progress

    model, tokenizer = encoder(run, checkpoint, device)
    texts, each = lines_of(str(file), required=True)
    if out.suffix != ".npy":
        raise UserError(f"{out}: name the file of vectors .npy")
    output.prepare(out)
    with progress() as advance:
        vectors = read(model, tokenizer, texts, advance=advance, each=each, cut=tell_cut(model))
    with output.whole(out) as written:
        np.save(written, vectors)
    click.echo(out)


@click.command()
@run_argument
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("query", required=False)
@click.option(
    "-n",
    "--n",
    "n",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="How many lines to show.",
)
@click.option(
    "--pairs", type=click.Path(path_type=Path), help="Measure with these query<TAB>line pairs instead."
)
@click.option("--vectors", type=click.Path(path_type=Path), help="FILE's vectors, as `embed` wrote them.")
@json_option
@checkpoint_option
@device_option
def search(
    run: Path,
    file: Path,
    query: str | None,
    n: int,
    pairs: Path | None,
    vectors: Path | None,
    as_json: bool,
    checkpoint: str,
    device: str,
) -> None:
    """Show the lines of FILE nearest to QUERY, by the cosine of their vectors.

    With --pairs it is measured how well queries find the lines that belong to them: MRR, the mean of 1 / rank
    of the first such line, and recall at 1, 5 and 10. Equal lines of FILE count as one.

    \b
      glassformer search path/to/all-MiniLM-L6-v2 sentences.txt "how do I save a file?"
      glassformer search path/to/all-MiniLM-L6-v2 sentences.txt --pairs pairs.tsv
    """
    from ..encoding import search as searching
    from ..terminal import progress, read_argument

    if (query is None) == (pairs is None):
        raise UserError("search takes a QUERY, or --pairs to measure with")
    model, tokenizer = encoder(run, checkpoint, device)
    texts, each = lines_of(str(file), required=True)
    first: dict[str, int] = {}
    for i, line in enumerate(texts):
        if line.strip():
            first.setdefault(line.strip(), i)
    places = list(first.values())
    asked, relevant = _asked(pairs, {line: i for i, line in enumerate(first)}, file)
    asked = asked or [read_argument(query or "").strip()]
    if not asked[0]:
        raise UserError("the query is empty")
    with progress() as advance:
        known = _known(vectors, file, len(texts), model.config.d_model)
        if known is None:
            known = searching.embed(model, tokenizer, texts, advance=advance, each=each, cut=tell_cut(model))
        of = "query" if pairs is None else f"{pairs}: query"
        queries = searching.embed(model, tokenizer, asked, advance=advance, each=of, cut=tell_cut(model))
    if pairs is None:
        best = [(places[i], near) for i, near in searching.nearest(queries[0], known[places], n)]
        if as_json:
            told = [{"cosine": near, "line": i + 1, "text": texts[i].strip()} for i, near in best]
            click.echo(json.dumps(told, indent=1, ensure_ascii=False))
            return
        for i, near in best:
            click.echo(f"{near:7.4f}  {i + 1:>6}  {texts[i].strip()}")
        return
    measured = searching.retrieval(searching.cosines(queries, known[places]), relevant, RECALL)
    if as_json:
        click.echo(json.dumps(asdict(measured), indent=1))
        return
    click.echo(f"MRR            {measured.mrr:.4f}")
    for k, share in measured.recall.items():
        click.echo(f"recall at {k:<4} {share:.4f}")
    click.echo(f"measured on    {measured.queries:,} queries among {measured.texts:,} lines")


def _asked(pairs: Path | None, places: dict[str, int], file: Path) -> tuple[list[str], list[list[int]]]:
    """The queries of a file of pairs, each once, and which lines belong to each."""
    from ..data.parallel import read

    if pairs is None:
        return [], []
    if not pairs.is_file():
        raise UserError(f"{pairs}: no such file")
    found: dict[str, list[int]] = {}
    for query, text in read([pairs]):
        if text not in places:
            raise UserError(f"{pairs}: {text[:80]!r} is no line of {file}")
        if places[text] not in found.setdefault(query, []):
            found[query].append(places[text])
    return list(found), list(found.values())


def _known(path: Path | None, file: Path, n: int, d_model: int) -> "Floats | None":
    """Vectors that `embed` wrote. Raises UserError for those of another file or encoder."""
    import numpy as np

    if path is None:
        return None
    try:
        vectors = np.load(path, allow_pickle=False)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}") from None
    except ValueError:
        raise UserError(f"{path} holds no vectors; glassformer embed writes some") from None
    if vectors.shape != (n, d_model) or not np.issubdtype(vectors.dtype, np.floating):
        raise UserError(
            f"{path} has numbers {' x '.join(map(str, vectors.shape))}; the {n} lines of {file} and this "
            f"encoder need {n} x {d_model}"
        )
    made: Floats = vectors.astype(np.float32)
    return made


def lines_of(text: str, required: bool = False) -> tuple[list[str], str]:
    """The lines of a file, or those of a text that is no file unless one is `required`; and what to call one.
    "-" stands for standard input. Raises UserError where there is no text."""
    from ..data.parallel import lines
    from ..terminal import is_file, read_argument, spoken

    if text != "-" and is_file(spoken(text)):
        found, each = lines(Path(text)), f"{text}: line"
    elif required and text != "-":
        raise UserError(f"{text}: no such file")
    else:
        found, each = read_argument(text).removesuffix("\n").split("\n"), "text"
    if not any(line.strip() for line in found):
        raise UserError(f"{text} holds no text" if each != "text" else "the text is empty")
    return found, each


def evaluate(
    opened: "Checkpoint", texts: Sequence[str], tokens: int | None, as_json: bool, device: str
) -> None:
    """`eval` of an encoder: of labelled texts if it tells labels, else of hidden tokens."""
    from ..device import choose_device
    from ..encoding.classify import measure
    from ..terminal import progress
    from ..training.evaluate_masked import evaluate_masked

    model, tokenizer = opened.encoder().to(choose_device(device)), opened.tokenizer()
    with progress() as advance:
        if model.config.labels:
            labelled = measure(model, tokenizer, [Path(text) for text in texts], advance)
            figures = {"accuracy": labelled.accuracy, "macro_f1": labelled.macro_f1, **asdict(labelled)}
            said = {"accuracy": f"{labelled.accuracy:.4f}", "macro-F1": f"{labelled.macro_f1:.4f}"}
            said["measured on"] = f"{labelled.n:,} texts"
        else:
            masked = evaluate_masked(model, tokenizer, texts, tokens, advance)
            figures = {**asdict(masked), "perplexity": masked.perplexity}
            said = {"loss": f"{masked.loss:.4f} nats per hidden token", "accuracy": f"{masked.accuracy:.4f}"}
            said["perplexity"] = f"{masked.perplexity:.4f}"
            said["measured on"] = f"{masked.n_hidden:,} hidden tokens of {masked.n_tokens:,}"
    if as_json:
        click.echo(json.dumps(figures, indent=1, ensure_ascii=False))
        return
    for name, value in said.items():
        click.echo(f"{name:<13}  {value}")


def tell_cut(model: "Bert") -> Callable[[int], None]:
    """Says that texts were cut, if any were."""
    from ..terminal import console

    def say(n: int) -> None:
        if n:
            context = model.config.context
            texts = "1 text is" if n == 1 else f"{n:,} texts are"
            console.print(f"{texts} longer than the context of {context} tokens; only the beginning is read")

    return say
