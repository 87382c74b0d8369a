"""How well an encoder tells hidden tokens of a text."""

import math
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F

from ..data import corpus, sources
from ..data.batches import Batch
from ..data.corpus import Advance, Tokens
from ..data.masking import Masking
from ..data.tokenizers import Tokenizer
from ..encoding.fill import require_head
from ..errors import UserError
from ..models import Bert
from .masked import measured, told

ROWS = 32


@dataclass(frozen=True)
class MaskedEvaluation:
    """Of `n_hidden` tokens, hidden among `n_tokens`: the mean loss (nats), and the share of those whose
    likeliest token was the right one."""

    loss: float
    accuracy: float
    n_hidden: int
    n_tokens: int

    @property
    def perplexity(self) -> float:
        """exp of the total loss over the number of hidden tokens, never a mean of means."""
        return math.exp(self.loss) if self.loss < 700 else math.inf


@torch.inference_mode()
def evaluate_masked(
    model: Bert,
    tokenizer: Tokenizer,
    texts: str | Sequence[str],
    n_tokens: int | None = None,
    advance: Advance = lambda what, done, total: None,
    *,
    seed: int = 0,
) -> MaskedEvaluation:
    """Read the texts in non-overlapping windows, in each of which 15 % of the tokens stand behind MASK: which
    ones follows from the seed and the window's number. The last window of the texts may be short. With
    `n_tokens` it ends with the batch of windows that brings so many."""
    require_head(model)
    model.eval()
    masking, device = Masking.of(tokenizer), model.embedding.weight.device
    texts, n = [texts] if isinstance(texts, str) else texts, model.config.context - masking.n_around
    with sources.opened(texts) as paths, tempfile.TemporaryDirectory(prefix="glassformer-") as folder:
        text = corpus.prepare(paths, Path(folder) / "run" / "data", tokenizer, 0, advance)
        total = len(text.tokens)
        wanted = min(n_tokens or total, total)
        loss, right, hidden, read = 0.0, 0, 0, 0
        for batch in in_windows(text.tokens, n, masking, seed):
            logits_kV, targets_k = told(model, batch.to(device))
            logits_kV = logits_kV.float()
            loss += float(F.cross_entropy(logits_kV, targets_k, reduction="sum"))
            right += int((logits_kV.argmax(-1) == targets_k).sum())
            hidden += len(targets_k)
            read += batch.inputs.numel() - len(batch.inputs) * masking.n_around
            advance("evaluating", read, wanted)
            if read >= wanted:
                break
    if not hidden:
        raise UserError("the text is too short: no token of it was hidden")
    return MaskedEvaluation(loss / hidden, right / hidden, hidden, read)


def in_windows(tokens: Tokens, n: int, masking: Masking, seed: int) -> Iterator[Batch]:
    """All of a text in windows of n tokens, the last of which may be short."""
    whole = len(tokens) // n
    yield from measured(tokens, n, [i * n for i in range(whole)], masking, seed, ROWS)
    if rest := len(tokens) % n:
        yield from measured(tokens, rest, [whole * n], masking, seed, 1, number=whole)
