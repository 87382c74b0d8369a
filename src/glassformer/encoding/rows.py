"""Texts as rows for an encoder: wrapped, of similar lengths together, filled up where they are shorter.

Shapes: b rows, n tokens.
"""

from collections.abc import Iterator, Sequence

from torch import Tensor

from ..data.corpus import Advance
from ..data.parallel import sources_of
from ..data.tokenizers import Tokenizer
from ..errors import UserError
from ..models import Bert

TOKENS = 8192  # in a batch, filling included


def rows_of(
    model: Bert, tokenizer: Tokenizer, texts: Sequence[str], each: str = "text"
) -> tuple[list[list[int]], int]:
    """The ids of texts as an encoder reads them, and how many were cut to its context: a text loses its end,
    what stands after it stays. Raises UserError for characters not in the vocabulary, naming the text by its
    number: `each` is what to call one."""
    rows, n_cut, context, after = list[list[int]](), 0, model.config.context, tokenizer.around[1]
    for number, text in enumerate(texts, 1):
        try:
            ids = tokenizer.encode_wrapped(text).tolist()
        except UserError as error:
            raise UserError(f"{each} {number}: {error}") from None
        if len(ids) > context:
            ids = [*ids[: context - len(after)], *after]
            n_cut += 1
        rows.append(ids)
    return rows, n_cut


def batches(
    model: Bert, tokenizer: Tokenizer, rows: Sequence[Sequence[int]], what: str, advance: Advance
) -> Iterator[tuple[list[int], Tensor, Tensor]]:
    """Rows in batches: their places, ids (b, n) and which of these are real (b, n), on the model's device."""
    device = model.embedding.weight.device
    order = sorted(range(len(rows)), key=lambda i: len(rows[i]))
    first = 0
    while first < len(order):
        advance(what, first, len(order))
        last = first + 1
        while last < len(order) and (last + 1 - first) * len(rows[order[last]]) <= TOKENS:
            last += 1
        some = order[first:last]
        ids_bn, valid_bn = sources_of([rows[i] for i in some], tokenizer.end)
        yield some, ids_bn.to(device), valid_bn.to(device)
        first = last
    advance(what, len(order), len(order))
