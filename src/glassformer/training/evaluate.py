"""How well a model predicts a text: loss, perplexity, bits per byte."""

import math
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
import torch.nn.functional as F

from ..data import corpus, sources
from ..data.batches import IGNORE, Batch, in_order, in_streams
from ..data.corpus import Advance, Corpus
from ..data.parallel import Buckets, Pairs
from ..data.parallel import read as read_pairs
from ..data.tokenizers import Tokenizer
from ..errors import UserError
from ..models import LanguageModel, RecurrentLM, Translator
from ..nn.state import HiddenState
from .task import carried_loss

BATCH = 16
PAIR_TOKENS = 4096  # of a batch of pairs
LOGITS = 1 << 26  # at most so many numbers at once: 256 MB


@dataclass(frozen=True)
class Evaluation:
    """`loss` is in nats per token; bits per byte compares models whatever their tokenizer. Of pairs all is of
    their targets."""

    loss: float
    bits_per_byte: float
    n_tokens: int
    n_bytes: int

    @property
    def perplexity(self) -> float:
        """exp of the total loss over the total number of tokens, never a mean of means."""
        return math.exp(self.loss) if self.loss < 700 else math.inf


def evaluate(
    model: LanguageModel | Translator,
    tokenizer: Tokenizer,
    texts: str | Sequence[str],
    n_tokens: int | None = None,
    advance: Advance = lambda what, done, total: None,
) -> Evaluation:
    """Read the texts in non-overlapping windows of the model's context; every token is predicted once, the
    first of a document from END. END itself is not counted. `texts` are files, folders, globs or "-". With
    `n_tokens` it ends with the batch of windows that brings so many.

    A recurrent model carries its state from window to window: it reads the text, or its first `n_tokens`, in
    up to 16 stretches side by side, each of 1024 tokens at least and from an empty state.

    For an encoder-decoder `texts` are files of pairs. Every target token is predicted once, from the source
    and the true ones before it; END as well, for to end is part of it. Pairs of any length count."""
    texts = [texts] if isinstance(texts, str) else texts
    if isinstance(model, Translator):
        with sources.opened(texts) as paths:
            pairs = Pairs(read_pairs(paths), tokenizer)
        return _evaluated_pairs(model, pairs, n_tokens, advance)
    with sources.opened(texts) as paths, tempfile.TemporaryDirectory(prefix="glassformer-") as folder:
        text = corpus.prepare(paths, Path(folder) / "run" / "data", tokenizer, 0, advance)
        return _evaluated(model, text, n_tokens or len(text.tokens), advance)


@torch.inference_mode()
def _evaluated(model: LanguageModel, text: Corpus, most: int, advance: Advance) -> Evaluation:
    model.eval()
    device = model.embedding.weight.device
    total, count, n_bytes, done = 0.0, 0, 0, 0
    rows = max(1, min(BATCH, LOGITS // (model.config.context * model.config.vocab_size)))
    state: HiddenState | None = None
    for batch in _batches(model, text, most, rows):
        if isinstance(model, RecurrentLM) and batch.fresh:
            state = model.new_state(len(batch.inputs))
        loss, state = carried_loss(model, batch.to(device), state)
        total += float(loss)
        count += batch.n_targets
        done += batch.targets.numel()
        advance("evaluating", done, min(most, len(text.tokens) - 1))
        n_bytes += sum(
            len(text.tokenizer.token_bytes(t)) for t in batch.targets[batch.targets != IGNORE].tolist()
        )
        if count >= most:
            break
    else:
        n_bytes = text.meta.n_bytes  # a foreign tokenizer may drop some of the text
    if not count:
        raise UserError("the text holds no token to predict")
    return Evaluation(total / count, total / math.log(2) / n_bytes, count, n_bytes)


@torch.inference_mode()
def _evaluated_pairs(model: Translator, pairs: Pairs, most: int | None, advance: Advance) -> Evaluation:
    model.eval()
    tokenizer, device = pairs.tokenizer, model.embedding.weight.device
    encoded = pairs.encoded(pairs.pairs, None, advance)
    buckets = Buckets(encoded, PAIR_TOKENS, tokenizer.start, tokenizer.end)
    total, count, n_bytes = 0.0, 0, 0
    for done, batch in enumerate(buckets.in_order()):
        advance("evaluating", done, buckets.per_epoch)
        batch = batch.to(device)
        logits_bnV = model(batch.source, batch.valid, batch.inputs)
        loss = F.cross_entropy(
            logits_bnV.flatten(0, 1).float(), batch.targets.flatten(), ignore_index=IGNORE, reduction="sum"
        )
        total += float(loss)
        count += batch.n_targets
        ids = batch.targets[(batch.targets != IGNORE) & (batch.targets != tokenizer.end)]
        n_bytes += sum(len(tokenizer.token_bytes(t)) for t in ids.tolist())
        if most is not None and count >= most:
            break
    return Evaluation(total / count, total / math.log(2) / n_bytes, count, n_bytes)


def _batches(model: LanguageModel, text: Corpus, most: int, rows: int) -> Iterator[Batch]:
    context = model.config.context
    if isinstance(model, RecurrentLM):
        batches = in_streams(text.tokens[: most + 1], context, rows)
    else:
        batches = in_order(text.tokens, context, rows)
    between = torch.tensor([text.tokenizer.start, text.tokenizer.end])  # documents, and none of their text
    for batch in batches:
        targets = batch.targets
        yield replace(batch, targets=targets.masked_fill(torch.isin(targets, between), IGNORE))
