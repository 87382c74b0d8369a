"""Opening a run for reading, in one line."""

from pathlib import Path

from ..data.tokenizers import Tokenizer
from ..device import choose_device
from ..models import GPT
from .run import Run


def load(folder: str | Path, checkpoint: str = "best", device: str = "auto") -> tuple[GPT, Tokenizer]:
    """The model of a run, in evaluation mode, and its tokenizer.

    `checkpoint` is "best", "last" or a step; `device` "auto" (a GPU where there is one), "cpu", "cuda:1", …
    Raises UserError where the folder is no run or is damaged.
    """
    opened = Run(folder).checkpoint(checkpoint)
    return opened.model().to(choose_device(device)), opened.tokenizer()
