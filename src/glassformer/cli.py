"""The command line: one verb, one function. Each imports what it needs when it runs."""

import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import __version__
from .errors import UserError

if TYPE_CHECKING:
    from .glass.page import Language
    from .training.loop import Training

_SETTING = re.compile(r"[a-z_0-9.]+=")

_checkpoint = click.option(
    "--checkpoint",
    default="best",
    show_default=True,
    metavar="last|best|N",
    help="Which checkpoint to read: the last, the best on held-out text, or a step.",
)
_device = click.option(
    "--device",
    default="auto",
    show_default=True,
    help="auto (a GPU where there is one), cpu, cuda, cuda:1, …",
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="glassformer")
def cli() -> None:
    """Transformers you can see through: train them, run them, look inside them.

    \b
      glassformer train poems.txt --out runs/poems
      glassformer generate runs/poems --prompt "春"
      glassformer look runs/poems "床前明月光" -o look.html
    """


@cli.command()
@click.argument("texts", nargs=-1, metavar="[TEXT…] [KEY=VALUE…]")
@click.option(
    "--preset", type=click.Choice(["tiny", "small", "base"]), help="Size of a new model.  [default: tiny]"
)
@click.option("--steps", type=click.IntRange(min=0), help="How many steps in all; the same as steps=N.")
@click.option("--out", type=click.Path(path_type=Path), help="The run folder.  [default: runs/NAME-OF-TEXT]")
@click.option("--resume", "resume", type=click.Path(path_type=Path), help="Go on where this run stopped.")
@click.option("--from", "base", type=click.Path(path_type=Path), help="Fine-tune this run on the texts.")
def train(
    texts: tuple[str, ...],
    preset: str | None,
    steps: int | None,
    out: Path | None,
    resume: Path | None,
    base: Path | None,
) -> int:
    """Train a GPT on your text.

    TEXT is a file, a folder (its .txt, .md, .rst, … files), a glob, or - for standard input; UTF-8. The
    tokenizer is chosen from the text: characters while there are at most 10,000 distinct ones, else
    byte-level BPE.

    KEY=VALUE changes a setting of the preset, for example n_layers=6 d_model=256 context=128 lr=1e-3
    batch_size=8 dropout=0.1 tokenizer=bpe patience=5 seed=1. A misspelt key is answered with the nearest.

    The run folder holds the checkpoints, log.jsonl and loss.png. Ctrl-C stops after the current step and
    saves; `--resume` goes on exactly there (with --steps, to a new end). `--from` starts a new run from
    another's weights and tokenizer, with a tenth of its rate.

    \b
      glassformer train poems.txt notes/*.md --preset small --steps 2000 --out runs/poems
      glassformer train --resume runs/poems
      glassformer train --from runs/poems more.txt --out runs/tuned
    """
    from .store.run import Run
    from .terminal import progress, spoken
    from .training import start

    settings = [text for text in texts if _SETTING.match(text) and not Path(text).exists()]
    files = [text for text in texts if text not in settings]
    if steps is not None:
        settings.append(f"steps={steps}")
    if resume is not None:
        if files or base or out or preset:
            raise UserError("--resume takes all from the run folder; only KEY=VALUE and --steps go with it")
        return _train(start.resumed(resume, settings))
    if base is not None and preset:
        raise UserError("--from keeps the shape of its run; leave out --preset")
    with start.begun(
        [spoken(text) for text in files],
        out or _default_out(files),
        preset_name=preset or "tiny",
        assignments=settings,
        base=None if base is None else Run(base).checkpoint(),
        progress=progress,
    ) as training:
        return _train(training)


def _default_out(files: Sequence[str]) -> Path:
    name = Path(files[0]).stem if files and files[0] != "-" else "text"
    return Path("runs") / (re.sub(r"[^\w.-]+", "-", name).strip("-") or "text")


def _train(training: "Training") -> int:
    from .terminal import console
    from .training.report import train_visibly

    outcome = train_visibly(training, console)
    click.echo(training.run.folder)
    return 130 if outcome == "stopped" else 0


@cli.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--prompt", default="", help="What the text begins with; empty begins a new document.")
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
@_checkpoint
@_device
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
    checkpoint: str,
    device: str,
) -> None:
    """Write on from a prompt with the model of a run folder.

    A single sample appears as it is written. A text ends after --tokens tokens, at the end of a document, or
    before a --stop text. What the model sees when the text outgrows its context: docs/generation.md.
    """
    from .decoding.samplers import Sampler
    from .decoding.text import stream
    from .store.load import load
    from .terminal import console, spoken

    if seed is None:
        seed = random.randrange(1 << 32)
        console.print(f"seed {seed}", style="dim")
    sampler = Sampler(temperature, top_k, top_p, repetition_penalty)
    model, tokenizer = load(run, checkpoint, device)
    prompt = spoken(prompt)
    texts = [prompt] * samples
    pieces = stream(
        model,
        tokenizer,
        texts,
        tokens=tokens,
        sampler=sampler,
        stop=[spoken(text) for text in stop],
        seeds=[f"{seed}/{j}" for j in range(samples)],
    )
    if samples == 1:
        click.echo(prompt, nl=False)
        for _, piece in pieces:
            click.echo(piece, nl=False)
        click.echo()
        return
    for i, piece in pieces:
        texts[i] += piece
    for i, text in enumerate(texts):
        click.echo(f"--- {i + 1} of {samples} ---\n{text}")


@cli.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("texts", nargs=-1, required=True, metavar="TEXT…")
@_checkpoint
@_device
def eval(run: Path, texts: tuple[str, ...], checkpoint: str, device: str) -> None:
    """Measure how well a run predicts other texts: loss, perplexity, bits per byte.

    TEXT as for `train`. The text is read in non-overlapping windows of the model's context, so that every
    token is predicted once. Bits per byte compares models with different tokenizers.
    """
    from .store.load import load
    from .terminal import progress, spoken
    from .training.evaluate import evaluate

    model, tokenizer = load(run, checkpoint, device)
    with progress() as advance:
        result = evaluate(model, tokenizer, [spoken(text) for text in texts], advance)
    click.echo(f"loss           {result.loss:.4f} nats per token")
    click.echo(f"perplexity     {result.perplexity:.4f}")
    click.echo(f"bits per byte  {result.bits_per_byte:.4f}")
    click.echo(f"measured on    {result.n_tokens:,} tokens, {result.n_bytes:,} bytes")


@cli.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("text")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    default="look.html",
    show_default=True,
    help="Where to write the page.",
)
@click.option("--layer", type=int, help="Layer of the head to show in numbers, from 0.")
@click.option("--head", type=int, help="Head to show in numbers, from 0.  [default: the least uniform]")
@click.option(
    "--lang", type=click.Choice(["en", "zh"]), help="First language shown.  [default: by the locale]"
)
@click.option("--open", "show", is_flag=True, help="Open the page in a browser, where there is one.")
@_checkpoint
@_device
def look(
    run: Path,
    text: str,
    output: Path,
    layer: int | None,
    head: int | None,
    lang: "Language | None",
    show: bool,
    checkpoint: str,
    device: str,
) -> None:
    """Make a page that shows what the model does with TEXT ("-": standard input).

    One HTML file, which needs no script and no network: the tokens, every head of every layer, one head
    in numbers, and what the model expects after each token. In English and Chinese.
    """
    from .device import choose_device
    from .glass.page import look as make_page
    from .store.run import Run
    from .terminal import language, open_in_browser, read_argument

    opened = Run(run).checkpoint(checkpoint)
    page = make_page(
        opened.model().to(choose_device(device)),
        opened.tokenizer(),
        read_argument(text),
        layer=layer,
        head=head,
        step=opened.step,
        language=lang or language(),
    )
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(page, encoding="utf-8", newline="\n")
    click.echo(output)
    if show:
        open_in_browser(output)


@cli.command()
@click.argument("run", type=click.Path(path_type=Path))
@_checkpoint
def info(run: Path, checkpoint: str) -> None:
    """Show a run's shapes, its parameters by part, and what a token costs."""
    from .models.describe import table
    from .store.run import Run

    opened = Run(run).checkpoint(checkpoint)
    click.echo(f"{opened.folder}: family {opened.settings['family']}, tokenizer {opened.tokenizer().kind}")
    click.echo(table(opened.model()))


@cli.command()
@click.option(
    "--out", type=click.Path(path_type=Path), default="runs/demo", show_default=True, help="The run folder."
)
@click.option(
    "--steps", type=click.IntRange(min=1), default=1200, show_default=True, help="How long to train."
)
def demo(out: Path, steps: int) -> int:
    """Train a small GPT on Python's own manual, write a sample, and make the page that looks inside it.

    Takes a minute or two on two cores. Run again, it goes on from what it finds.
    """
    from .demo import demonstrate

    return demonstrate(out, steps)
