"""The command line: one verb, one function. Each imports what it needs when it runs."""

import click

from .. import __version__
from .claims import claims
from .classifying import classify, finetune
from .encoding import embed, fill, search
from .folders import export, import_
from .lab import lab
from .looking import effect, look
from .running import eval, generate, info
from .training import demo, train
from .translating import translate
from .vectors import analogy, map_, neighbours, vectors


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="glassformer")
def cli() -> None:
    """Transformers you can see through: train them, run them, look inside them.

    \b
      glassformer train poems.txt --out runs/poems
      glassformer generate runs/poems --prompt "春"
      glassformer look runs/poems "床前明月光" -o look.html
      glassformer lab
    """


for verb in (train, generate, translate, eval, look, effect, info, import_, export, demo, lab, claims):
    cli.add_command(verb)
for verb in (fill, finetune, classify, embed, search):
    cli.add_command(verb)
for verb in (neighbours, analogy, map_, vectors):
    cli.add_command(verb)
