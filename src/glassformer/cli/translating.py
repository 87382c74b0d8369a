"""The verb that runs an encoder-decoder: translate."""

from pathlib import Path

import click

from ..errors import UserError
from .options import checkpoint_option, device_option


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("text", metavar="TEXT|FILE")
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Write the translations into this file.")
@click.option(
    "--beam",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Keep so many texts in view while writing; 1 is greedy.",
)
@click.option(
    "--alpha",
    type=click.FloatRange(min=0),
    default=1.0,
    show_default=True,
    help="The score is log p / length^alpha, length with END.",
)
@click.option(
    "--n-best",
    type=click.IntRange(min=1),
    help="Show so many translations of each text, the best first, with their scores.",
)
@click.option(
    "--against", type=click.Path(path_type=Path), help="References, a line each, or pairs: BLEU and chrF."
)
@click.option(
    "--alignment", type=click.Path(path_type=Path), help="A picture of what was read for each token written."
)
@checkpoint_option
@device_option
def translate(
    run: Path,
    text: str,
    out: Path | None,
    beam: int,
    n_best: int | None,
    alpha: float,
    against: Path | None,
    alignment: Path | None,
    checkpoint: str,
    device: str,
) -> None:
    """Translate a text, or a file line by line.

    RUN is one of `train --model transformer` or `seq2seq`, or a published T5 or Marian.

    TEXT that is the name of a file stands for its lines; - for those of standard input. With --n-best a line
    is the number of the text, the score and a translation, with a TAB between.

    A file with a TAB in its first line is one of pairs, source<TAB>target: as FILE it stands for its sources,
    with --against for its targets. What is held against references is measured by sacrebleu, whose signatures
    say how: BLEU and chrF of all, and by the length of the source.

    \b
      glassformer translate runs/numbers "one hundred twenty-three"
      glassformer translate runs/numbers sources.txt -o out.txt --beam 5 --against references.txt
      glassformer translate runs/numbers pairs.tsv -o out.txt --against pairs.tsv
      glassformer translate runs/numbers "forty-two" --alignment alignment.png
    """
    from .. import output
    from ..data.parallel import side, source_ids
    from ..decoding import scores
    from ..decoding.translate import alignment as aligned
    from ..decoding.translate import found, reading_weights
    from ..device import choose_device
    from ..glass.alignment import draw, require_format
    from ..hub.folder import open_folder
    from ..terminal import console, is_file, progress, read_argument, spoken

    opened = open_folder(run, checkpoint)
    model, tokenizer = opened.translator().to(choose_device(device)), opened.tokenizer()
    given = read_argument(text)
    from_file = text != "-" and is_file(spoken(text))
    if not from_file and len(given.split()) == 1 and given.endswith((".txt", ".tsv")):
        raise UserError(f"{given}: no such file")
    texts = side(Path(text), 0) if from_file else given.removesuffix("\n").split("\n")
    if not any(line.strip() for line in texts):
        raise UserError("the text to translate is empty")
    references = side(against, 1) if against is not None else None
    if references is not None and len(references) != len(texts):
        raise UserError(f"{against} has {len(references)} lines, for {len(texts)} to translate")
    if alignment is not None:
        require_format(alignment)
        if len(texts) != 1:
            raise UserError("--alignment draws one text; give one line")
        if not reading_weights(model):
            raise UserError(f"{run} was trained without attention, and so has no alignment to draw")
    output.prepare(out, alignment)
    with progress() as advance:
        each = f"{text}: line" if from_file else "text"
        best = found(
            *(model, tokenizer, texts), beam=beam, n_best=n_best or 1, alpha=alpha, advance=advance, each=each
        )
    written = [tokenizer.decode(translations[0].ids) for translations in best]
    if alignment is not None:
        source, target = source_ids(tokenizer, texts[0].strip()), best[0][0].ids
        weights = aligned(model, source, target, tokenizer.start)
        labels = tokenizer.labels(source), [*tokenizer.labels(target), "END"]
        missing = draw(weights, *labels, alignment)
        if missing:
            console.print(
                f"no font here shows {' '.join(missing)}; install one, or write an .svg", style="dim"
            )
    shown = written
    if n_best is not None:
        shown = [
            f"{number}\t{translation.score:.4f}\t{tokenizer.decode(translation.ids)}"
            for number, translations in enumerate(best, 1)
            for translation in translations
        ]
    if out is not None:
        output.write_text(out, "".join(line + "\n" for line in shown))
        click.echo(out)
    else:
        click.echo("\n".join(shown))
    if references is not None:
        told = scores.against(written, references)
        console.print(f"BLEU   {told.bleu:.2f}  {told.bleu_signature}")
        console.print(f"chrF   {told.chrf:.2f}  {told.chrf_signature}")
        console.print(f"exact  {told.exact:.2%} of {len(references):,}")
        what, groups = scores.by_length(texts, written, references)
        console.print(f"{what + ' of source':<20} lines   BLEU   chrF   exact")
        for group in groups:
            name = f"{group.low}–{group.high}" if group.high else f"{group.low} or more"
            figures = f"{group.scores.bleu:6.2f} {group.scores.chrf:6.2f} {group.scores.exact:7.2%}"
            console.print(f"{name:<20} {group.n:>5,} {figures}")
