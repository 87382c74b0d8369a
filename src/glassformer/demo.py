"""From nothing to a model that one can look into, in about a minute: the whole path once."""

import tempfile
from pathlib import Path

import click

from .data import corpus, manual
from .decoding.text import generate
from .errors import UserError
from .glass.page import look
from .output import write_text
from .store.run import Run
from .terminal import console, language, open_in_browser
from .training.folder import DATA
from .training.train import resume, train

STEPS = 700
PROMPT = "The following "


def demonstrate(out: Path, steps: int | None = None) -> None:
    """Train on the manual's topics that Python ships, sample, make the page. A run that is there already goes
    on to `steps`. Raises UserError for a run of another text."""
    with tempfile.TemporaryDirectory(prefix="glassformer-") as folder:
        text = Path(folder) / "topics.txt"
        text.write_text(manual.text(), encoding="utf-8", newline="\n")
        if Run(out).exists():
            _require_same(text, out)
            resume(out, **({} if steps is None else {"steps": steps}))
        else:
            console.print(f"training on the topics of Python's manual; Ctrl-C stops and keeps {out}")
            train(text, out, steps=steps or STEPS)
    opened = Run(out).checkpoint()
    model, tokenizer = opened.language_model(), opened.tokenizer()
    click.echo(f"\nA sample after “{PROMPT}”:\n")
    click.echo(PROMPT + generate(model, tokenizer, PROMPT, tokens=300, temperature=0.6, seed=1))
    page = out / "look.html"
    sentence = "The value of the expression is used."
    write_text(page, look(model, tokenizer, sentence, step=opened.step, language=language()))
    click.echo(f"\nThe page that looks inside it: {page}")
    open_in_browser(page)


def _require_same(text: Path, out: Path) -> None:
    if corpus.load(out / DATA).meta.n_bytes != text.stat().st_size:
        raise UserError(f"{out} holds a run of another text; choose another --out")
