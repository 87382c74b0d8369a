"""Verbs that ask an encoder: fill, classify, embed, search; and `eval` of one."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .options import checkpoint_option, device_option, json_option

if TYPE_CHECKING:
    from ..data.tokenizers import Tokenizer
    from ..models import Bert

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

    \\b
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
