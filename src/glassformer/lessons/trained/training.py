"""What the recipes share: a training without a word said, and numbers as they are kept."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from ...data.tokenizers import Tokenizer
from ...training import pairs
from ...training.loop import Training, fit

DIGITS = 6


class _Silent:
    def stepped(self, step: int, loss: float, tokens_per_second: float) -> None: ...
    def validated(self, step: int, loss: float | None, best: bool) -> None: ...
    def noted(self, what: str) -> None: ...


def trained(training: Training) -> Any:
    """The model, trained to the end of its settings."""
    fit(training, _Silent())
    return training.model.eval()


def translator(
    lines: Sequence[tuple[str, str]], settings: Sequence[str], family: str = "seq2seq"
) -> tuple[Any, Tokenizer]:
    """An encoder-decoder trained on pairs of texts, and its tokenizer."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "pairs.tsv"
        file.write_text("".join(f"{a}\t{b}\n" for a, b in lines), encoding="utf-8", newline="\n")
        assignments = [*settings, "device=cpu"]
        with pairs.begun(
            [str(file)], Path(folder) / "run", family=family, assignments=assignments
        ) as training:
            return trained(training), training.tokenizer


def rounded(values: Any) -> Any:
    """Numbers, in lists as they come, with DIGITS significant digits."""
    if isinstance(values, torch.Tensor | np.ndarray):
        values = values.tolist()
    if isinstance(values, list | tuple):
        return [rounded(x) for x in values]
    return float(f"{values:.{DIGITS}g}")
