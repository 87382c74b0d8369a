"""Verbs that train: train, demo."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import UserError

if TYPE_CHECKING:
    from ..training.train import Trainable

_OPTIONS = {
    "preset": "--preset",
    "model": "--model",
    "base": "--from",
    "from": "--from",
    "out": "--out",
    "recipe": "--recipe",
    "resume": "--resume",
}
_SETTING = re.compile(r"\s*[\w.-]+\s*=")


class _WithSettings(click.Command):
    """Says of --lr that it is written lr=…"""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(context, args)
        except click.NoSuchOption as error:
            from ..training.train import OF_TEXT, WAYS

            name = error.option_name.lstrip("-").replace("-", "_")
            known = [part for way in (OF_TEXT, *WAYS.values()) for part in way.settings().values()]
            if not any(hasattr(part, name) for part in known):
                raise
            raise UserError(f"{name} is a setting; write {name}=VALUE without dashes") from None


@click.command(cls=_WithSettings)
@click.argument("texts", nargs=-1, metavar="[TEXT…] [KEY=VALUE…]")
@click.option(
    "--model",
    type=click.Choice(["gpt", "rnn", "lstm", "gru", "bert", "transformer", "seq2seq", "word2vec"]),
    help="A GPT or a recurrent network, which write; an encoder, which reads; a Transformer or a recurrent "
    "network that translates pairs; or word vectors.  [default: gpt]",
)
@click.option(
    "--preset",
    type=click.Choice(["tiny", "small", "base"]),
    help="Size of a new model, and how it is trained.  [default: tiny]",
)
@click.option(
    "--recipe",
    type=click.Choice(["gpt2", "2017"]),
    help="Train as that paper did.  [default: the preset's own]",
)
@click.option("--steps", type=click.IntRange(min=0), help="How many steps in all; the same as steps=N.")
@click.option("--out", type=click.Path(path_type=Path), help="The run folder.  [default: runs/NAME-OF-TEXT]")
@click.option("--resume", "resume", type=click.Path(path_type=Path), help="Go on where this run stopped.")
@click.option(
    "--from", "base", type=click.Path(path_type=Path), help="Fine-tune this run on the texts, or pairs."
)
def train(
    texts: tuple[str, ...],
    model: "Trainable | None",
    preset: str | None,
    recipe: str | None,
    steps: int | None,
    out: Path | None,
    resume: Path | None,
    base: Path | None,
) -> None:
    """Train a GPT, a BERT, a recurrent network or word vectors on your text, or a translator on your pairs.

    TEXT is a file, a folder (its .txt, .md, .rst, … files), a glob, or - for standard input; UTF-8. The
    tokenizer is chosen from the text: characters while there are at most 10,000 distinct ones, else
    byte-level BPE.

    KEY=VALUE changes a setting of the preset, for example n_layers=6 d_model=256 context=128 muon_lr=0.03
    batch_size=8 dropout=0.1 tokenizer=bpe patience=5 seed=1. A misspelt key is answered with the nearest.

    The run folder holds the checkpoints, log.jsonl and loss.png. Ctrl-C stops after the current step and
    saves; `--resume` goes on exactly there (with --steps, to a new end). `--from` starts a new run from
    another's weights and tokenizer, with a tenth of its rate; what it is, a GPT or a translator, it stays.

    \b
      glassformer train poems.txt notes/*.md --preset small --steps 2000 --out runs/poems
      glassformer train poems.txt --model lstm --out runs/lstm
      glassformer train poems.txt --model bert --out runs/encoder
      glassformer train poems.txt --model word2vec words=characters --out runs/words
      glassformer train pairs.tsv --model transformer --preset small --out runs/translator
      glassformer train pairs.tsv --model seq2seq attention=additive --out runs/recurrent
      glassformer train --resume runs/poems
      glassformer train --from runs/poems more.txt --out runs/tuned
    """
    from ..terminal import spoken
    from ..training import train as training

    files, assignments = parted(texts)
    settings: dict[str, object] = {**assignments}
    if steps is not None:
        settings["steps"] = steps
    if resume is not None:
        if files or base or out or model or preset or recipe:
            raise UserError("--resume takes all from the run folder; only KEY=VALUE and --steps go with it")
        click.echo(training.resume(resume, **settings))
        return
    words = [spoken(text) for text in files]
    out = out or default_out(files)
    done = training.train(words, out, model=model, preset=preset, recipe=recipe, base=base, **settings)
    click.echo(done)


def parted(words: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Files, and settings written KEY=VALUE."""
    assignments = [word for word in words if _SETTING.match(word) and not Path(word).exists()]
    return [word for word in words if word not in assignments], dict(map(_pair, assignments))


def default_out(files: Sequence[str]) -> Path:
    name = Path(files[0]).stem if files and files[0] != "-" else "text"
    return Path("runs") / (re.sub(r"[^\w.-]+", "-", name).strip("-") or "text")


def _pair(assignment: str) -> tuple[str, str]:
    key, _, value = (part.strip() for part in assignment.partition("="))
    if key in _OPTIONS:
        raise UserError(f"{key} is an option; write {_OPTIONS[key]} {value}")
    return key, value


@click.command()
@click.option(
    "--out", type=click.Path(path_type=Path), default="runs/demo", show_default=True, help="The run folder."
)
@click.option("--steps", type=click.IntRange(min=1), help="How long to train.  [default: 700]")
def demo(out: Path, steps: int | None) -> None:
    """Train a small GPT on Python's own manual, write a sample, and make the page that looks inside it.

    Takes a minute or two on two cores. Run again, it goes on from what it finds.
    """
    from ..demo import demonstrate

    demonstrate(out, steps)
