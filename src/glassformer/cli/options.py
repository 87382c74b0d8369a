"""Options that several verbs share."""

import click

checkpoint_option = click.option(
    "--checkpoint",
    default="best",
    show_default=True,
    metavar="last|best|N",
    help="Which checkpoint to read: the last, the best on held-out text, or a step.",
)
device_option = click.option(
    "--device",
    default="auto",
    show_default=True,
    help="auto (a GPU where there is one), cpu, cuda, cuda:1, …",
)
weights_option = click.option(
    "--weights",
    type=click.Choice(["float32", "int8"]),
    default="float32",
    show_default=True,
    help="int8: quicker on a CPU and a little less exact; needs a C compiler.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of lines for people.")
