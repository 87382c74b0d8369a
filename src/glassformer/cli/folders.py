"""Verbs for checkpoints from elsewhere and for elsewhere: import, export."""

from pathlib import Path

import click

from .options import checkpoint_option


@click.command("import")
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("run", type=click.Path(path_type=Path))
def import_(folder: Path, run: Path) -> None:
    """Make a run of a published model: GPT-2, Llama, Qwen2, Qwen3, BERT, T5 or Marian; or of a file of word
    vectors.

    FOLDER is what `transformers` saves: config.json, tokenizer.json, and safetensors, in one file or several.
    All verbs that read a run also take such a FOLDER as it is; see docs/hub.md for what is supported. A file
    is one of word2vec (text or binary) or GloVe; docs/vectors.md.
    """
    from ..hub.export import import_folder, import_vectors

    click.echo((import_vectors if folder.is_file() else import_folder)(folder, run))


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("folder", type=click.Path(path_type=Path))
@checkpoint_option
def export(run: Path, folder: Path, checkpoint: str) -> None:
    """Write a run as a folder that `transformers` opens.

    Not every shape has a family there; the settings that stand in the way are named. docs/hub.md says which
    shapes have one.
    """
    from ..hub.export import export as write
    from ..hub.folder import open_folder

    click.echo(write(open_folder(run, checkpoint), folder))
