"""Texts as vectors, and which of them are near a query. Nearness is the cosine.

Shapes: b texts, q queries, n tokens, D width.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from ..data.corpus import Advance
from ..data.space import Floats
from ..data.tokenizers import Tokenizer
from ..models import Bert
from ..models.bert import mean_over
from .rows import batches, rows_of


@torch.inference_mode()
def embed(
    model: Bert,
    tokenizer: Tokenizer,
    texts: Sequence[str],
    *,
    advance: Advance = lambda what, done, total: None,
    each: str = "text",
    cut: Callable[[int], None] = lambda n: None,
) -> Floats:
    """A vector (b, D) for each text: the mean over its tokens, special ones included, of what the encoder
    makes of them. Texts longer than the context are cut; `cut` is told how many. Raises UserError as
    `rows_of` does."""
    rows, n_cut = rows_of(model, tokenizer, texts, each)
    cut(n_cut)
    vectors = np.zeros((len(texts), model.config.d_model), dtype=np.float32)
    for places, ids_bn, valid_bn in batches(model, tokenizer, rows, "reading", advance):
        vectors[places] = mean_over(model(ids_bn, valid_bn=valid_bn), valid_bn).float().cpu().numpy()
    return vectors


def cosines(queries_qD: Floats, vectors_bD: Floats) -> Floats:
    """(q, b); 0 for a vector of zeros."""

    def directions(vectors: Floats) -> Floats:
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        made: Floats = (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)
        return made

    near: Floats = directions(queries_qD) @ directions(vectors_bD).T
    return near


def nearest(query_D: Floats, vectors_bD: Floats, n: int) -> list[tuple[int, float]]:
    """The places of the nearest texts and their cosines, the nearest first."""
    near_b = cosines(query_D[None], vectors_bD)[0]
    return [(int(i), float(near_b[i])) for i in np.argsort(-near_b, kind="stable")[:n]]


@dataclass(frozen=True)
class Retrieval:
    """How well queries find what belongs to them. `mrr` is the mean of 1 / the rank of the first text that
    belongs to a query; `recall[k]` the mean share of those that are among the first k."""

    queries: int
    texts: int
    mrr: float
    recall: dict[int, float]


def retrieval(
    near_qb: NDArray[np.floating], relevant: Sequence[Sequence[int]], ks: Sequence[int]
) -> Retrieval:
    """Measured from cosines and, for each query, the places of what belongs to it. Of equal cosines the worst
    is taken: who cannot tell texts apart has found nothing."""
    first_ranks, recalls = list[float](), {k: list[float]() for k in ks}
    for near_b, places in zip(near_qb, relevant, strict=True):
        others_b = np.ones(len(near_b), dtype=bool)
        others_b[list(places)] = False
        before = sorted(int((near_b[others_b] >= near_b[place]).sum()) for place in places)
        ranks = [n + i + 1 for i, n in enumerate(before)]
        first_ranks.append(1 / ranks[0])
        for k in ks:
            recalls[k].append(sum(rank <= k for rank in ranks) / len(ranks))
    return Retrieval(
        len(first_ranks),
        near_qb.shape[1],
        float(np.mean(first_ranks)),
        {k: float(np.mean(shares)) for k, shares in recalls.items()},
    )
