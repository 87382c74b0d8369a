"""The verb that measures the claims."""

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import UserError
from .options import json_option

if TYPE_CHECKING:
    from ..lab.outcomes import Outcome


@click.command()
@click.argument("names", nargs=-1, metavar="[CLAIM]...")
@click.option("--quick", is_flag=True, help="Fewer seeds and shorter trainings: a minute each at most.")
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    default=Path("claims"),
    show_default=True,
    help="The folder of measurements, figures and the report.",
)
@click.option(
    "--published",
    nargs=2,
    metavar="VECTORS QUESTIONS",
    type=click.Path(path_type=Path),
    help="For C1: word vectors that others made, and a list of analogies to ask them.",
)
@click.option(
    "--translators",
    nargs=3,
    multiple=True,
    metavar="WITHOUT WITH PAIRS",
    type=click.Path(path_type=Path),
    help="For C4: a run of train --model seq2seq with attention=none, one with attention, and a file of "
    "pairs for both to translate. May be given more than once.",
)
@click.option("--list", "only_list", is_flag=True, help="Tell the claims and measure nothing.")
@json_option
def claims(
    names: tuple[str, ...],
    quick: bool,
    out: Path,
    published: tuple[Path, Path] | None,
    translators: tuple[tuple[Path, Path, Path], ...],
    only_list: bool,
    as_json: bool,
) -> None:
    """Measure the claims of the two chapters (C1, C2 ...), all or those named, and tell how each comes out.

    A claim holds, holds within bounds, does not hold at this scale, or is not decided by the quick run. Each
    measurement, its figures and a report are written to a folder; a run that is stopped goes on from there.

    \b
      glassformer claims --quick
      glassformer claims C7 C12 -o measured
      glassformer claims C1 --published glove.6B.100d.txt questions-words.txt
      glassformer claims C4 --translators runs/none runs/attention test.tsv
    """
    from .. import output
    from ..claims import MODULES, claim
    from ..claims.claim import Given
    from ..claims.figure import svg
    from ..claims.run import run
    from ..lab.outcomes import Outcome
    from ..lab.pages import claims_page
    from ..terminal import language as locale
    from ..terminal import progress
    from ..texts import LANGUAGES

    chosen = [claim(name) for name in dict.fromkeys(name.upper() for name in names or MODULES)]
    for option, files, name in (("--published", published, "C1"), ("--translators", translators, "C4")):
        if files and name not in (each.name for each in chosen):
            raise UserError(f"{option} is for {name}, which is not among the claims to measure")
    given = Given(published, translators)
    spoken = locale()
    if only_list:
        for each in chosen:
            click.echo(f"{each.name:<4} {getattr(each.title, spoken)}")
        return
    output.prepare(*(out / code / "claims.html" for code in LANGUAGES))
    outcomes = []
    with progress() as advance:
        for each in chosen:
            measured = run(each, out, quick=quick, given=given, advance=partial(advance, each.name))
            outcome = Outcome(each, measured)
            outcomes.append(outcome)
            for language in LANGUAGES:
                for n, figure in enumerate(outcome.figures, 1):
                    name = f"{each.name}-{n}.{language}.svg"
                    output.write_text(out / name, svg(figure, language))
                page = claims_page(outcomes, language, home="claims.html")
                output.write_text(out / language / "claims.html", page.html)
            if not as_json:
                click.echo(
                    f"{each.name:<4} {getattr(each.title, spoken)}: {outcome.judgement.spoken(spoken)}"
                )
                for text in filter(None, (outcome.judgement.found, outcome.judgement.reason)):
                    click.echo(f"     {getattr(text, spoken)}")
    if as_json:
        click.echo(json.dumps([_told(outcome) for outcome in outcomes], indent=1, ensure_ascii=False))
    click.echo(out / spoken / "claims.html", err=as_json)


def _told(outcome: "Outcome") -> dict[str, object]:
    """What --json prints of one claim."""
    judgement = outcome.judgement
    return {
        "claim": outcome.claim.name,
        "verdict": judgement.verdict.value.en,
        "within": judgement.within and judgement.within.en,
        "found": judgement.found.en,
        "reason": judgement.reason and judgement.reason.en,
        "measured": outcome.measured,
    }
