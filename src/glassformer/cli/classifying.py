"""Verbs for the labels of texts: finetune, classify."""

import json
from pathlib import Path

import click

from ..errors import UserError
from .encoding import encoder, lines_of, run_argument, tell_cut
from .options import checkpoint_option, device_option, json_option
from .training import default_out, parted


@click.command()
@run_argument
@click.argument("labels", metavar="LABELS.TSV [KEY=VALUE…]", nargs=-1, required=True)
@click.option(
    "--task",
    type=click.Choice(["classify"]),
    default="classify",
    show_default=True,
    help="What to learn: one of several labels for each text.",
)
@click.option(
    "--pooling",
    type=click.Choice(["cls", "mean"]),
    default="cls",
    show_default=True,
    help="What tells the label reads the first token's vector, or the mean of all.",
)
@click.option("--steps", type=click.IntRange(min=0), help="How many steps.  [default: 3 epochs]")
@click.option("--out", type=click.Path(path_type=Path), help="The run folder.  [default: runs/NAME-OF-FILE]")
@checkpoint_option
def finetune(
    run: Path,
    labels: tuple[str, ...],
    task: str,
    pooling: str,
    steps: int | None,
    out: Path | None,
    checkpoint: str,
) -> None:
    """Teach an encoder the labels of texts, from lines of text<TAB>label.

    RUN is a run of `train --model bert`, or a folder of a BERT. A tenth of each label's texts is held out; at
    the end accuracy and macro-F1 on these are printed, and confusion.png shows which labels were taken for
    which. The result is a run: `classify` asks it, `train --resume` goes on with it.

    \b
      glassformer finetune runs/poems forms.tsv --out runs/forms epochs=5
      glassformer classify runs/forms "床前明月光，疑是地上霜。"
    """
    from ..hub.folder import open_folder
    from ..training.train import finetuned

    files, settings = parted(labels)
    if len(files) != 1:
        raise UserError("finetune reads one file of text<TAB>label lines")
    settings = {"pooling": pooling, **settings, **({"steps": str(steps)} if steps is not None else {})}
    assignments = [f"{key}={value}" for key, value in settings.items()]
    opened = open_folder(run, checkpoint)
    click.echo(finetuned(opened, Path(files[0]), out or default_out(files), assignments))


@click.command()
@run_argument
@click.argument("text", metavar="TEXT|FILE")
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Write the labels into this file.")
@json_option
@checkpoint_option
@device_option
def classify(run: Path, text: str, out: Path | None, as_json: bool, checkpoint: str, device: str) -> None:
    """Tell the label of a text, or of each line of a file, with its probability.

    TEXT that is the name of a file stands for its lines; - for those of standard input. A line of the result
    is label<TAB>probability, in the order of the texts; an empty one for an empty one.
    """
    from .. import output
    from ..encoding.classify import classify as told
    from ..encoding.classify import require_labels
    from ..terminal import progress

    model, tokenizer = encoder(run, checkpoint, device)
    require_labels(model)
    texts, each = lines_of(text)
    output.prepare(out)
    with progress() as advance:
        full = [i for i, line in enumerate(texts) if line.strip()]
        found = told(model, tokenizer, texts, advance=advance, each=each, cut=tell_cut(model))
    names = model.config.labels
    if as_json:
        rows = [
            dict(zip(names, map(float, p), strict=True)) if i in full else None for i, p in enumerate(found)
        ]
        written = json.dumps(rows, indent=1, ensure_ascii=False) + "\n"
    else:
        best = found.argmax(-1)
        said = (f"{names[best[i]]}\t{found[i, best[i]]:.4f}" if i in full else "" for i in range(len(texts)))
        written = "".join(f"{line}\n" for line in said)
    if out is None:
        click.echo(written, nl=False)
        return
    output.write_text(out, written)
    click.echo(out)
