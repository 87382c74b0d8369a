"""Word vectors to look things up in: those of a run, or of a file that others made."""

from pathlib import Path

from ..data import vectors
from ..data.space import WordSpace
from ..data.words import Words
from ..errors import UserError
from .run import Checkpoint, Run


def word_vectors(source: str | Path, checkpoint: str = "best") -> WordSpace:
    """The words and input vectors of a run, or those of a word2vec or GloVe file.

    Raises UserError where it is neither, or damaged.
    """
    source = Path(source)
    if not source.is_dir():
        words, numbers = vectors.read(source)
        return WordSpace(words, numbers, str(source))
    return space_of(Run(source).checkpoint(checkpoint), str(source))


def space_of(opened: Checkpoint, name: str) -> WordSpace:
    """Those of a checkpoint. Raises UserError where it has none, or is damaged."""
    model, vocabulary = opened.word_vectors(), opened.tokenizer()
    if not isinstance(vocabulary, Words):
        raise UserError(f"{opened.folder}: its tokenizer is no vocabulary of words")
    table = model.embedding.weight.detach().numpy()[: len(vocabulary.words)]  # all but END
    return WordSpace(vocabulary.words, table, name)


def holds_vectors(source: Path) -> bool:
    """Whether a path is a run of word vectors, or a file."""
    if source.is_file():
        return True
    return Run(source).exists() and Run(source).checkpoint().settings.get("family") == "word2vec"
