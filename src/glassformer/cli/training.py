"""Verbs that train: train, demo."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import UserError

if TYPE_CHECKING:
    from ..training.loop import Training

_SETTING = re.compile(r"[a-z_0-9.]+=")


@click.command()
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
    from ..hub.folder import open_folder
    from ..terminal import progress, spoken
    from ..training import start

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
        base=None if base is None else open_folder(base),
        progress=progress,
    ) as training:
        return _train(training)


def _default_out(files: Sequence[str]) -> Path:
    name = Path(files[0]).stem if files and files[0] != "-" else "text"
    return Path("runs") / (re.sub(r"[^\w.-]+", "-", name).strip("-") or "text")


def _train(training: "Training") -> int:
    from ..terminal import console
    from ..training.report import train_visibly

    outcome = train_visibly(training, console)
    click.echo(training.run.folder)
    return 130 if outcome == "stopped" else 0


@click.command()
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
    from ..demo import demonstrate

    return demonstrate(out, steps)
