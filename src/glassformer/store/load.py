"""Opening a run for reading, in one line."""

from pathlib import Path
from typing import Any

from ..data.tokenizers import Tokenizer
from .run import Run


def load(folder: str | Path, checkpoint: str = "best", device: str = "auto") -> tuple[Any, Tokenizer]:
    """The model of a run, in evaluation mode, and its tokenizer.

    `checkpoint` is "best", "last" or a step; `device` "auto" (a GPU where there is one), "cpu", "cuda:1", …
    Raises UserError where the folder is no run or is damaged.
    """
    return Run(folder).checkpoint(checkpoint).load(device)
