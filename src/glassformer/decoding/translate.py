"""Writing the target of a source: greedy, or by beam search.

The score of a target y that ends with END is log p(y | source) / |y|^α; |y| counts its tokens, END included,
and α is the length penalty: 0 compares probabilities, 1 the mean per token. Only targets with END are
compared, of at most `limit` tokens with it; a text that comes to the limit is ended there. A source is done
once as many of its targets have ended as the beam is wide, or no other could win. A beam that holds every
beginning finds the best of all; greedy is a beam of one. What begins a target is never written in it, unless
it is END.

Shapes: b texts, h heads, m source tokens, n target tokens.
"""

import heapq
from bisect import insort
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import overload

import torch
from torch import Tensor

from ..data.parallel import source_ids, sources_of
from ..data.tokenizers import Tokenizer
from ..errors import UserError
from ..models import Seq2Seq, Translator

BATCH = 64  # sources at once


@dataclass(frozen=True)
class Translation:
    """A target without END, log p of it with END (nats), and its score."""

    ids: list[int]
    log_p: float
    score: float


@dataclass
class _Row:
    """A target being written: for which source, its tokens so far and their log p."""

    source: int
    ids: list[int] = field(default_factory=list)
    log_p: float = 0.0


@torch.inference_mode()
def search(
    model: Translator,
    sources: Sequence[Sequence[int]],
    start: int,
    end: int,
    *,
    beam: int = 1,
    n_best: int = 1,
    alpha: float = 1.0,
    limit: int | None = None,
    width: int | None = None,
) -> list[list[Translation]]:
    """The `n_best` best targets found for each source, the best first: fewer only where there are no more.
    All sources are searched together; each comes out as it would alone. `limit`: of tokens, END included, by
    default the model's context. `width`: to pad the sources to, for tests. Raises UserError for a beam or a
    limit below 1, a negative alpha, and a beam too narrow for `n_best`."""
    limit = model.config.context if limit is None else limit
    if beam < 1 or limit < 1 or alpha < 0:
        raise UserError(f"beam={beam} and limit={limit} must be at least 1, alpha={alpha:g} at least 0")
    if not 1 <= n_best <= beam:
        raise UserError(f"a beam of {beam} finds 1 to {beam} best, not {n_best}: take a wider beam")
    device = model.embedding.weight.device
    source, valid = sources_of(sources, end, width)
    state = model.encode(source.to(device), valid.to(device))
    rows = [_Row(i) for i in range(len(sources))]
    best: list[list[Translation]] = [[] for _ in sources]
    ended = [0] * len(sources)
    for n in range(1, limit + 1):
        last = torch.tensor([row.ids[-1:] or [start] for row in rows], device=device)
        logits, state = model.decode(last, state)
        log_p = logits[:, -1].log_softmax(-1)
        if start != end:
            log_p[:, start] = float("-inf")
        if n == limit:  # nothing but END is left to write
            only = torch.full_like(log_p, float("-inf"))
            only[:, end] = log_p[:, end]
            log_p = only
        grown: list[tuple[int, _Row]] = []
        for ways in _likeliest(rows, log_p, beam):
            for total, parent, token in ways:
                row = rows[parent]
                if token != end:
                    grown.append((parent, _Row(row.source, [*row.ids, token], total)))
                    continue
                ended[row.source] += 1
                ended_so = Translation(row.ids, total, total / n**alpha)
                insort(best[row.source], ended_so, key=lambda translation: -translation.score)
                del best[row.source][n_best:]
        # A log p only falls: a beginning that could not win even at full length is given up.
        grown = [
            (parent, row)
            for parent, row in grown
            if ended[row.source] < beam
            and (len(best[row.source]) < n_best or row.log_p / limit**alpha > best[row.source][-1].score)
        ]
        if not grown:
            break
        parents = [parent for parent, _ in grown]
        if parents != list(range(len(rows))):
            state = state.reorder(torch.tensor(parents, device=device))
        rows = [row for _, row in grown]
    return best


def _likeliest(rows: Sequence[_Row], log_p: Tensor, beam: int) -> list[list[tuple[float, int, int]]]:
    """For each source the `beam` likeliest ways on, (log p of all, row, token): they are among those of its
    rows."""
    found = log_p.topk(min(beam, log_p.shape[1]))
    ways: dict[int, list[tuple[float, int, int]]] = {}
    for i, (row, values, tokens) in enumerate(
        zip(rows, found.values.tolist(), found.indices.tolist(), strict=True)
    ):
        ways.setdefault(row.source, []).extend(
            (row.log_p + value, i, token)
            for value, token in zip(values, tokens, strict=True)
            if value > float("-inf")
        )
    return [heapq.nlargest(beam, some, key=lambda way: way[0]) for some in ways.values()]


@overload
def translate(  # type: ignore[overload-overlap]  # a str is a sequence of str as well
    model: Translator, tokenizer: Tokenizer, texts: str, *, beam: int = 1, alpha: float = 1.0
) -> str: ...
@overload
def translate(
    model: Translator, tokenizer: Tokenizer, texts: Sequence[str], *, beam: int = 1, alpha: float = 1.0
) -> list[str]: ...
def translate(
    model: Translator,
    tokenizer: Tokenizer,
    texts: str | Sequence[str],
    *,
    beam: int = 1,
    alpha: float = 1.0,
) -> str | list[str]:
    """The translation of a text, or of each of several, in order; of an empty one, nothing. `beam` and
    `alpha` as for `search`. Raises UserError as `found` does, and for a model that translates nothing."""
    if not isinstance(model, Translator):
        raise UserError("the model translates nothing; train --model transformer, or seq2seq, makes one")
    several = [texts] if isinstance(texts, str) else texts
    written = found(model, tokenizer, several, beam=beam, alpha=alpha)
    decoded = [tokenizer.decode(best.ids) for best, *_ in written]
    return decoded[0] if isinstance(texts, str) else decoded


def found(
    model: Translator,
    tokenizer: Tokenizer,
    texts: Sequence[str],
    *,
    beam: int = 1,
    n_best: int = 1,
    alpha: float = 1.0,
    advance: Callable[[str, int, int], None] = lambda what, done, total: None,
    each: str = "text",
) -> list[list[Translation]]:
    """What `search` finds for each text, in order; for an empty one, a target without a token. Similar
    lengths go together, so that little is padded. Raises UserError for characters not in the vocabulary,
    naming the text by its number: `each` is what to call one."""
    encoded = [_encoded(tokenizer, text, f"{each} {number}") for number, text in enumerate(texts, 1)]
    for number, ids in enumerate(encoded, 1):
        if model.longest is not None and len(ids) > model.longest:
            raise UserError(
                f"{each} {number} has {len(ids)} tokens; this model reads {model.longest} at most"
            )
    order = sorted((i for i, ids in enumerate(encoded) if ids), key=lambda i: len(encoded[i]))
    written = [[Translation([], 0.0, 0.0)]] * len(texts)
    for first in range(0, len(order), BATCH):
        advance("translating", first, len(order))
        some = order[first : first + BATCH]
        sources = [encoded[i] for i in some]
        ends = tokenizer.start, tokenizer.end
        best = search(model, sources, *ends, beam=beam, n_best=n_best, alpha=alpha)
        for i, translations in zip(some, best, strict=True):
            written[i] = translations
    advance("translating", len(order), len(order))
    return written


def _encoded(tokenizer: Tokenizer, text: str, name: str) -> list[int]:
    try:
        return source_ids(tokenizer, text.strip())
    except UserError as error:
        raise UserError(f"{name}: {error}") from None


class _Weights:
    """A tap that keeps the tensors of these names."""

    def __init__(self, names: Sequence[str], path: str = "") -> None:
        self.names, self.path = names, path
        self.kept: dict[str, Tensor] = {}

    def at(self, path: str) -> "_Weights":
        below = _Weights(self.names, f"{self.path}{path}.")
        below.kept = self.kept
        return below

    def wants(self, name: str) -> bool:
        return self.path + name in self.names

    def __call__(self, name: str, tensor: Tensor) -> Tensor:
        if self.wants(name):
            self.kept[self.path + name] = tensor.clone()
        return tensor


def reading_weights(model: Translator) -> list[str]:
    """The tap names of the weights with which the decoder reads the source; none without attention."""
    last = "attention.weights" if isinstance(model, Seq2Seq) else "cross.weights"
    return [name for name in model.tap_names() if name.endswith(last)]


@torch.inference_mode()
def alignment(model: Translator, source: Sequence[int], target: Sequence[int], start: int) -> Tensor:
    """The weights (n + 1, m) of the source while the model writes the target and END; of a Transformer, the
    mean of all heads of all layers. Raises UserError for a model without attention."""
    names = reading_weights(model)
    if not names:
        raise UserError("this model has no attention, and so no alignment")
    device = model.embedding.weight.device
    tap = _Weights(names)
    inputs = torch.tensor([[start, *target]], device=device)
    model(torch.tensor([list(source)], device=device), None, inputs, tap=tap)
    each = [weights[0] if weights.dim() == 3 else weights[0].mean(0) for weights in tap.kept.values()]
    return torch.stack(each).mean(0).cpu()
