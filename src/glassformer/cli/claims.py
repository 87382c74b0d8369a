"""The verb that measures the claims."""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import UserError
from ..texts import Text
from .options import json_option

if TYPE_CHECKING:
    from ..claims.claim import Claim
    from ..lab.outcomes import Outcome
    from ..texts import Language

TAKEN = Text("（已量过）", " (measured already)")


@click.command()
@click.argument("names", nargs=-1, metavar="[CLAIM]...")
@click.option(
    "--quick",
    is_flag=True,
    help="Fewer seeds and shorter trainings: about a minute each at most, on two free cores.",
)
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
@click.option(
    "--again",
    is_flag=True,
    help="Measure anew what the folder holds, and let a quick run take the place of a full one.",
)
@click.option("--list", "only_list", is_flag=True, help="Tell the claims and measure nothing.")
@json_option
def claims(
    names: tuple[str, ...],
    quick: bool,
    out: Path,
    published: tuple[Path, Path] | None,
    translators: tuple[tuple[Path, Path, Path], ...],
    again: bool,
    only_list: bool,
    as_json: bool,
) -> None:
    """Measure the claims of the two chapters (C1, C2 ...), all or those named, and tell how each comes out.

    A claim holds, holds within bounds, does not hold at this scale, or is not decided by the quick run. Each
    measurement and its figures are written to a folder, with a report of all that it holds. What is finished
    there is taken as it is, and a run that was stopped goes on. A quick run is not taken for a full one, and
    does not replace it.

    \b
      glassformer claims --quick
      glassformer claims C7 C12 -o measured
      glassformer claims C1 --published glove.6B.100d.txt questions-words.txt
      glassformer claims C4 --translators runs/none runs/attention test.tsv
    """
    from .. import output
    from ..claims import MODULES, claim
    from ..claims.claim import Given
    from ..claims.run import finished, run
    from ..lab.outcomes import Outcome, held_in
    from ..terminal import language as locale
    from ..terminal import progress
    from ..texts import LANGUAGES

    chosen = [claim(name) for name in dict.fromkeys(name.upper() for name in names or MODULES)]
    for option, files, name in (("--published", published, "C1"), ("--translators", translators, "C4")):
        if files and name not in (each.name for each in chosen):
            raise UserError(f"{option} is for {name}, which is not among the claims to measure")
    spoken = locale()
    if only_list:
        _list(chosen, as_json, spoken)
        return
    given = {"C1": Given(published=published), "C4": Given(translators=translators)}
    taken = {
        each.name
        for each in chosen
        if not again and finished(each, out, quick=quick, given=given.get(each.name))
    }
    output.prepare(*(out / code / "claims.html" for code in LANGUAGES))
    report = held_in(out)
    for each in chosen:
        if each.name not in taken:
            with progress() as advance:  # gone before anything is said, which its bar would wipe out
                told, gift = partial(advance, each.name), given.get(each.name)
                found = run(each, out, quick=quick, again=again, given=gift, advance=told)
            report[each.name] = Outcome(each, found)
        _write(out, each.name, report)
        if not as_json:
            _say(report[each.name], spoken, taken=each.name in taken)
    if as_json:
        click.echo(json.dumps([_told(report[each.name]) for each in chosen], indent=1, ensure_ascii=False))
    click.echo(out / spoken / "claims.html", err=as_json)


def _list(chosen: Sequence["Claim"], as_json: bool, language: "Language") -> None:
    """Tell the claims: a line each, or JSON."""
    if as_json:
        listed = [
            {"claim": each.name, "title": each.title.en, "statement": each.statement.en} for each in chosen
        ]
        click.echo(json.dumps(listed, indent=1, ensure_ascii=False))
        return
    for each in chosen:
        click.echo(f"{each.name:<4} {getattr(each.title, language)}")


def _write(out: Path, name: str, report: Mapping[str, "Outcome"]) -> None:
    """Write a claim's figures, and the report."""
    from .. import output
    from ..claims import MODULES
    from ..claims.figure import svg
    from ..lab.pages import claims_page
    from ..texts import LANGUAGES

    told = [report[each] for each in MODULES if each in report]
    for language in LANGUAGES:
        for n, figure in enumerate(report[name].figures, 1):
            output.write_text(out / f"{name}-{n}.{language}.svg", svg(figure, language))
        output.write_text(
            out / language / "claims.html", claims_page(told, language, home="claims.html").html
        )


def _say(outcome: "Outcome", language: "Language", *, taken: bool) -> None:
    """How a claim came out; of one that was measured before no more than that."""
    judgement = outcome.judgement
    told = f"{getattr(outcome.claim.title, language)}: {judgement.spoken(language)}"
    if taken:
        click.echo(f"{outcome.claim.name:<4} {told}{getattr(TAKEN, language)}")
        return
    click.echo(f"{outcome.claim.name:<4} {told}")
    for text in filter(None, (judgement.found, judgement.reason)):
        click.echo(f"     {getattr(text, language)}")


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
