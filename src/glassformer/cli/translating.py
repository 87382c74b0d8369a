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
@click.option("--against", type=click.Path(path_type=Path), help="References, a line each: BLEU and chrF.")
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
    alpha: float,
    against: Path | None,
    alignment: Path | None,
    checkpoint: str,
    device: str,
) -> None:
    """Translate a text, or a file line by line, with a run of `train --model seq2seq`.

    TEXT that is the name of a file stands for its lines; - for those of standard input. With --against the
    translations are measured by sacrebleu, and its signatures say how.

    \b
      glassformer translate runs/numbers "one hundred twenty-three"
      glassformer translate runs/numbers sources.txt -o out.txt --beam 5 --against references.txt
      glassformer translate runs/numbers "forty-two" --alignment alignment.png
    """
    from .. import output
    from ..data.parallel import lines
    from ..decoding import scores
    from ..decoding.translate import alignment as aligned
    from ..decoding.translate import found
    from ..device import choose_device
    from ..glass.alignment import draw, require_format
    from ..store.run import Run
    from ..terminal import console, is_file, progress, read_argument, spoken

    opened = Run(run).checkpoint(checkpoint)
    model, tokenizer = opened.translator().to(choose_device(device)), opened.tokenizer()
    given = read_argument(text)
    from_file = text != "-" and is_file(spoken(text))
    texts = lines(Path(text)) if from_file else given.removesuffix("\n").split("\n")
    if not any(line.strip() for line in texts):
        raise UserError("the text to translate is empty")
    references = [line.strip() for line in lines(against)] if against is not None else None
    if references is not None and len(references) != len(texts):
        raise UserError(f"{against} has {len(references)} lines, for {len(texts)} to translate")
    if alignment is not None:
        require_format(alignment)
        if len(texts) != 1:
            raise UserError("--alignment draws one text; give one line")
        if model.attention is None:
            raise UserError(f"{run} was trained without attention, and so has no alignment to draw")
    output.prepare(out, alignment)
    with progress() as advance:
        each = f"{text}: line" if from_file else "text"
        best = found(model, tokenizer, texts, beam=beam, alpha=alpha, advance=advance, each=each)
    written = [tokenizer.decode(translation.ids) for translation in best]
    if alignment is not None:
        source, target = tokenizer.encode(texts[0].strip()).tolist(), best[0].ids
        weights = aligned(model, source, target, tokenizer.start)
        labels = tokenizer.labels(source), [*tokenizer.labels(target), "END"]
        missing = draw(weights, *labels, alignment)
        if missing:
            console.print(
                f"no font here shows {' '.join(missing)}; install one, or write an .svg", style="dim"
            )
    if out is not None:
        output.write_text(out, "".join(line + "\n" for line in written))
        click.echo(out)
    else:
        click.echo("\n".join(written))
    if references is not None:
        told = scores.against(written, references)
        console.print(f"BLEU   {told.bleu:.2f}  {told.bleu_signature}")
        console.print(f"chrF   {told.chrf:.2f}  {told.chrf_signature}")
        console.print(f"exact  {told.exact:.2%} of {len(references):,}")
