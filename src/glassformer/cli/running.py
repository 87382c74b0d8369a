"""Verbs that run a trained model: generate, eval, info."""

import json
import random
from dataclasses import asdict
from pathlib import Path

import click

from .encoding import evaluate as evaluate_encoder
from .options import checkpoint_option, device_option, json_option, weights_option
from .vectors import evaluate as evaluate_vectors


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--prompt", default="", help="What the text begins with (-: standard input); empty begins a new document."
)
@click.option(
    "--tokens", type=click.IntRange(min=0), default=200, show_default=True, help="At most so many new tokens."
)
@click.option("--temperature", default=0.8, show_default=True, help="0 always takes the likeliest token.")
@click.option("--top-k", type=int, help="Draw from the K likeliest tokens only.")
@click.option("--top-p", type=float, help="Draw from the fewest likeliest tokens that hold this probability.")
@click.option(
    "--repetition-penalty",
    default=1.0,
    show_default=True,
    help="Above 1: tokens seen before get less likely.",
)
@click.option("--stop", multiple=True, help="End before this text; may be given several times.")
@click.option(
    "--samples",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="How many continuations to write.",
)
@click.option("--seed", type=int, help="The same seed writes the same text.  [default: a new one, shown]")
@weights_option
@checkpoint_option
@device_option
def generate(
    run: Path,
    prompt: str,
    tokens: int,
    temperature: float,
    top_k: int | None,
    top_p: float | None,
    repetition_penalty: float,
    stop: tuple[str, ...],
    samples: int,
    seed: int | None,
    weights: str,
    checkpoint: str,
    device: str,
) -> None:
    """Write on from a prompt with the model of a run folder.

    A single sample appears as it is written. A text ends after --tokens tokens, at the end of a document, or
    before a --stop text. What the model sees when the text outgrows its context, and what int8 weights are:
    docs/generation.md.
    """
    from ..decoding.prepare import int8
    from ..decoding.quality import cost
    from ..decoding.samplers import Sampler
    from ..decoding.text import stream
    from ..hub.folder import load_language_model
    from ..terminal import console, read_argument, spoken

    sampler = Sampler(temperature, top_k, top_p, repetition_penalty)
    model, tokenizer = load_language_model(run, checkpoint, device)
    prompt = read_argument(prompt)
    texts = [prompt] * samples
    told = seed is not None
    seed = random.randrange(1 << 32) if seed is None else seed
    writer = int8(model) if weights == "int8" else model
    pieces = stream(
        writer,
        tokenizer,
        texts,
        tokens=tokens,
        sampler=sampler,
        stop=[spoken(text) for text in stop],
        seeds=[f"{seed}/{j}" for j in range(samples)],
    )
    if not told and temperature:  # after all that may be refused
        console.print(f"seed {seed}", style="dim")
    if samples == 1:
        click.echo(prompt, nl=False)
    for i, piece in pieces:
        texts[i] += piece
        if samples == 1:
            click.echo(piece, nl=False)
    if samples == 1:
        click.echo()
    else:
        for i, text in enumerate(texts):
            click.echo(f"--- {i + 1} of {samples} ---\n{text}")
    if writer is not model:
        loss = cost(model, writer, tokenizer.encode(texts[0]).tolist() or [tokenizer.start])
        console.print(
            f"int8 weights: {loss.loss:.4f} nats per token above float32, the same likeliest token "
            f"{loss.same} of {loss.tokens} times, over this text",
            style="dim",
        )


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("texts", nargs=-1, required=True, metavar="TEXT…")
@click.option("--tokens", type=click.IntRange(min=1), help="Stop after about so many tokens.  [default: all]")
@json_option
@weights_option
@checkpoint_option
@device_option
def eval(
    run: Path,
    texts: tuple[str, ...],
    tokens: int | None,
    as_json: bool,
    weights: str,
    checkpoint: str,
    device: str,
) -> None:
    """Measure how well a run predicts other texts: loss, perplexity, bits per byte.

    TEXT as for `train`. The text is read in non-overlapping windows of the model's context, so that every
    token is predicted once. Bits per byte compares models with different tokenizers.

    For an encoder-decoder, TEXT is a file of pairs; measured are the tokens of the targets, END included. How
    good its translations are, `translate --against` says.

    An encoder tells 15 % of the tokens, hidden from it: loss and accuracy. One with labels is measured with a
    file of text<TAB>label lines instead: accuracy and macro-F1.

    Word vectors (a run, or a file) are measured with lists instead: of judged word pairs (WordSim-353) or of
    analogies (Google's). What fits what is seen from the files; docs/vectors.md.
    """
    from ..decoding.prepare import int8
    from ..device import choose_device
    from ..hub.folder import open_folder
    from ..store.vectors import holds_vectors
    from ..terminal import progress, spoken
    from ..training.evaluate import evaluate

    if holds_vectors(run):
        evaluate_vectors(run, [spoken(text) for text in texts], as_json, checkpoint)
        return
    opened = open_folder(run, checkpoint)
    if opened.family == "bert":
        evaluate_encoder(opened, [spoken(text) for text in texts], tokens, as_json, device)
        return
    model, tokenizer = opened.measurable().to(choose_device(device)), opened.tokenizer()
    if weights == "int8":
        model = int8(model)
    with progress() as advance:
        result = evaluate(model, tokenizer, [spoken(text) for text in texts], tokens, advance)
    if as_json:
        click.echo(json.dumps({**asdict(result), "perplexity": result.perplexity}, indent=1))
        return
    click.echo(f"loss           {result.loss:.4f} nats per token")
    click.echo(f"perplexity     {result.perplexity:.4f}")
    click.echo(f"bits per byte  {result.bits_per_byte:.4f}")
    click.echo(f"measured on    {result.n_tokens:,} tokens, {result.n_bytes:,} bytes")


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@json_option
@checkpoint_option
def info(run: Path, as_json: bool, checkpoint: str) -> None:
    """Show a run's shapes, its parameters by part, and what a token costs."""
    from ..hub.folder import open_folder
    from ..models.describe import figures, table

    opened = open_folder(run, checkpoint)
    model = opened.any_model()
    if as_json:
        described = {"folder": str(opened.folder), "family": opened.family, "step": opened.step}
        tokenizer = {"tokenizer": opened.tokenizer().kind}
        click.echo(json.dumps({**described, **tokenizer, **figures(model)}, indent=1))
        return
    click.echo(f"{opened.folder}: family {opened.family}, tokenizer {opened.tokenizer().kind}")
    click.echo(table(model))
