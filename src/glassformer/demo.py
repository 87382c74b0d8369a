"""From nothing to a model that one can look into, in about a minute: the whole path once."""

import tempfile
from pathlib import Path

import click

from .decoding.text import generate
from .glass.page import look
from .store.run import Run
from .terminal import console, language, open_in_browser, progress
from .training import start
from .training.report import train_visibly

PROMPT = "The following "


def demonstrate(out: Path, steps: int) -> int:
    """Train on the manual's topics that Python ships, sample, make the page; returns the exit code."""
    if not Run(out).exists():
        console.print(f"training on the topics of Python's manual; Ctrl-C stops and keeps {out}")
    with tempfile.TemporaryDirectory(prefix="glassformer-") as folder:
        text = Path(folder) / "topics.txt"
        text.write_text(_manual(), encoding="utf-8", newline="\n")
        if Run(out).exists():
            outcome = train_visibly(start.resumed(out), console)
        else:
            with start.begun(
                [str(text)], out, preset_name="tiny", assignments=[f"steps={steps}"], progress=progress
            ) as training:
                outcome = train_visibly(training, console)
    if outcome == "stopped":
        return 130
    opened = Run(out).checkpoint()
    model, tokenizer = opened.decoder(), opened.tokenizer()
    click.echo(f"\nA sample after “{PROMPT}”:\n")
    click.echo(PROMPT + generate(model, tokenizer, PROMPT, tokens=300, temperature=0.6, seed=1))
    page = out / "look.html"
    sentence = "The value of the expression is used."
    page.write_text(
        look(model, tokenizer, sentence, step=opened.step, language=language()),
        encoding="utf-8",
        newline="\n",
    )
    click.echo(f"\nThe page that looks inside it: {page}")
    open_in_browser(page)
    return 0


def _manual() -> str:
    from pydoc_data.topics import topics

    return "\n\n".join(str(text) for text in topics.values())
