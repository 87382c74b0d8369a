"""Which label a text has, and how often that is right.

Shapes: b texts, L labels.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from ..data import labelled
from ..data.corpus import Advance
from ..data.tokenizers import Tokenizer
from ..errors import UserError, unknown
from ..models import Bert
from .rows import batches, rows_of


@torch.inference_mode()
def classify(
    model: Bert,
    tokenizer: Tokenizer,
    texts: Sequence[str],
    *,
    advance: Advance = lambda what, done, total: None,
    each: str = "text",
    cut: Callable[[int], None] = lambda n: None,
) -> NDArray[np.float32]:
    """The probabilities (b, L) of the model's labels for each text. Texts longer than the context are cut;
    `cut` is told how many. Raises UserError for an encoder without labels, and as `rows_of` does."""
    require_labels(model)
    rows, n_cut = rows_of(model, tokenizer, texts, each)
    cut(n_cut)
    told = np.zeros((len(texts), len(model.config.labels)), dtype=np.float32)
    for places, ids_bn, valid_bn in batches(model, tokenizer, rows, "classifying", advance):
        logits_bL = model.label_logits(model(ids_bn, valid_bn=valid_bn), valid_bn)
        told[places] = logits_bL.float().softmax(-1).cpu().numpy()
    return told


def require_labels(model: Bert) -> None:
    """Raise UserError for an encoder that tells no labels."""
    if not model.config.labels:
        raise UserError("this encoder tells no labels; glassformer finetune RUN labels.tsv teaches it some")


@dataclass(frozen=True)
class Judged:
    """How often labels are right: `matrix[i][j]` texts of label i were taken for label j."""

    labels: tuple[str, ...]
    matrix: list[list[int]]

    @property
    def n(self) -> int:
        return sum(map(sum, self.matrix))

    @property
    def accuracy(self) -> float:
        return sum(row[i] for i, row in enumerate(self.matrix)) / self.n

    @property
    def macro_f1(self) -> float:
        """The mean of the labels' F1 = 2 TP / (2 TP + FP + FN), over those that occur, told or true."""
        table = np.array(self.matrix)
        both, right = table.sum(0) + table.sum(1), 2 * table.diagonal()
        return float((right[both > 0] / both[both > 0]).mean())


def judged(labels: Sequence[str], true: Sequence[int], told: Sequence[int]) -> Judged:
    """The count of what was taken for what."""
    matrix = np.zeros((len(labels), len(labels)), dtype=int)
    np.add.at(matrix, (np.array(true), np.array(told)), 1)
    return Judged(tuple(labels), matrix.tolist())


def measure(
    model: Bert,
    tokenizer: Tokenizer,
    files: Sequence[Path],
    advance: Advance = lambda what, done, total: None,
) -> Judged:
    """How often the encoder is right about the labelled texts of files. Raises UserError for a label that it
    does not know, and as `classify` does."""
    require_labels(model)
    labels = model.config.labels
    examples = [example for file in files for example in labelled.read(file)]
    for _, label in examples:
        if label not in labels:
            raise unknown("label", label, labels)
    told = classify(model, tokenizer, [example.text for example in examples], advance=advance)
    return judged(labels, [labels.index(label) for _, label in examples], told.argmax(-1).tolist())
