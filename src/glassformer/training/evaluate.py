"""How well a model predicts a text: loss, perplexity, bits per byte."""

import math
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from ..data import corpus, sources
from ..data.batches import IGNORE, Batch, in_order
from ..data.corpus import Advance, Corpus
from ..data.tokenizers import Tokenizer
from ..errors import UserError
from ..models import Decoder
from .task import next_token_loss

BATCH = 16
LOGITS = 1 << 26  # at most so many numbers at once: 256 MB


@dataclass(frozen=True)
class Evaluation:
    """`loss` is in nats per token; bits per byte compares models whatever their tokenizer."""

    loss: float
    bits_per_byte: float
    n_tokens: int
    n_bytes: int

    @property
    def perplexity(self) -> float:
        """exp of the total loss over the total number of tokens, never a mean of means."""
        return math.exp(self.loss) if self.loss < 700 else math.inf


def evaluate(
    model: Decoder,
    tokenizer: Tokenizer,
    texts: Sequence[str],
    advance: Advance = lambda what, done, total: None,
) -> Evaluation:
    """Read the texts in non-overlapping windows of the model's context; every token is predicted once, the
    first of a document from END. END itself is not counted. `texts` are files, folders, globs or "-"."""
    with sources.opened(texts) as paths, tempfile.TemporaryDirectory(prefix="glassformer-") as folder:
        text = corpus.prepare(paths, Path(folder) / "run" / "data", tokenizer, 0, advance)
        return _evaluated(model, text, advance)


@torch.inference_mode()
def _evaluated(model: Decoder, text: Corpus, advance: Advance) -> Evaluation:
    model.eval()
    device = model.embedding.weight.device
    total, count, done = 0.0, 0, 0
    rows = max(1, min(BATCH, LOGITS // (model.config.context * model.config.vocab_size)))
    for batch in _batches(text, model.config.context, rows):
        total += float(next_token_loss(model, batch.to(device)))
        count += batch.n_targets
        done += batch.targets.numel()
        advance("evaluating", done, len(text.tokens) - 1)
    if not count:
        raise UserError("the text holds no token to predict")
    return Evaluation(total / count, total / math.log(2) / text.meta.n_bytes, count, text.meta.n_bytes)


def _batches(text: Corpus, context: int, rows: int) -> Iterator[Batch]:
    between = torch.tensor([text.tokenizer.start, text.tokenizer.end])  # documents, and none of their text
    for batch in in_order(text.tokens, context, rows):
        targets = batch.targets
        yield Batch(batch.inputs, targets.masked_fill(torch.isin(targets, between), IGNORE))
