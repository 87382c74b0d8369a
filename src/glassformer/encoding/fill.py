"""What an encoder takes to stand behind each MASK of a text.

Shapes: k masks, n tokens, V vocabulary.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..data.tokenizers import Tokenizer
from ..errors import UserError
from ..models import Bert


@dataclass(frozen=True)
class Completion:
    """A token for a mask. `text` is the whole text with it, other masks left as they are; None where the
    token is no whole character."""

    token: str
    probability: float
    text: str | None


@dataclass(frozen=True)
class Filled:
    """A text with all its masks filled, and the probability of what fills each, in the order of the text."""

    text: str
    tokens: list[str]
    probabilities: list[float]


@torch.inference_mode()
def fill(model: Bert, tokenizer: Tokenizer, text: str, n: int = 5) -> list[list[Completion]]:
    """For each MASK in the text the `n` likeliest tokens, special ones left out, the likeliest first. Each is
    told alone, while the others stay hidden. Raises UserError for a text without MASK, with unknown
    characters, or longer than the context, and for an encoder without a head for hidden tokens."""
    ids, parts = read(model, tokenizer, text)
    best = _probabilities(model, tokenizer, ids).topk(min(n, tokenizer.vocab_size - len(tokenizer.special)))
    return [
        [
            Completion(_label(tokenizer, token), p, _with(tokenizer, parts, {i: token}))
            for token, p in zip(tokens, ps, strict=True)
        ]
        for i, (tokens, ps) in enumerate(zip(best.indices.tolist(), best.values.tolist(), strict=True))
    ]


@torch.inference_mode()
def fill_together(model: Bert, tokenizer: Tokenizer, text: str) -> Filled:
    """All masks filled one after the other, the surest first: each is told from those before it. Greedy, so
    that a likelier whole may exist. Raises UserError as `fill` does."""
    ids, parts = read(model, tokenizer, text)
    masked = [i for i, token in enumerate(ids) if token == tokenizer.mask]
    found: dict[int, tuple[int, float]] = {}
    while len(found) < len(masked):
        left = [i for i in range(len(masked)) if i not in found]
        best = _probabilities(model, tokenizer, ids).max(-1)
        at = int(best.values.argmax())
        ids[masked[left[at]]] = int(best.indices[at])
        found[left[at]] = int(best.indices[at]), float(best.values[at])
    tokens = {i: found[i][0] for i in sorted(found)}
    whole = _with(tokenizer, parts, tokens)
    if whole is None:  # bytes that form no character each by itself
        whole = tokenizer.decode(ids)
    labels = [_label(tokenizer, token) for token in tokens.values()]
    return Filled(whole, labels, [found[i][1] for i in sorted(found)])


def mask_of(model: Any, tokenizer: Tokenizer) -> str | None:
    """How the token is spelled that hides another; None where the model tells no hidden tokens."""
    if not isinstance(model, Bert) or model.head is None or tokenizer.mask is None:
        return None
    return tokenizer.special[tokenizer.mask]


def read(model: Bert, tokenizer: Tokenizer, text: str) -> tuple[list[int], list[str]]:
    """The ids of a text with its masks, wrapped, and the parts between the masks. Raises UserError as `fill`
    does."""
    require_head(model)
    if tokenizer.mask is None:
        raise UserError("this encoder's tokenizer has no token that hides another")
    mask = tokenizer.special[tokenizer.mask]
    parts = text.split(mask)
    if len(parts) == 1:
        raise UserError(f"the text hides nothing; write {mask} for each token to be told")
    if _takes_spaces(tokenizer):  # a word has its space with it, and so has what hides it
        parts = [part.removesuffix(" ") for part in parts[:-1]] + parts[-1:]
    before, after = tokenizer.around
    ids = list(before)
    for i, part in enumerate(parts):
        ids += ([tokenizer.mask] if i else []) + (tokenizer.encode_part(part).tolist() if part else [])
    ids += after
    if len(ids) > model.config.context:
        raise UserError(
            f"the text has {len(ids)} tokens, special ones included; this encoder sees at most "
            f"{model.config.context}"
        )
    return ids, parts


def require_head(model: Bert) -> None:
    """Raise UserError for an encoder that cannot tell hidden tokens."""
    if model.head is None:
        raise UserError(
            "this encoder has no head that tells hidden tokens; train --model bert makes one that has, and "
            "train --from gives one to this"
        )


def _takes_spaces(tokenizer: Tokenizer) -> bool:
    pieces = (tokenizer.token_bytes(token) for token in range(tokenizer.vocab_size))
    return any(len(piece) > 1 and piece.startswith(b" ") for piece in pieces)


def _probabilities(model: Bert, tokenizer: Tokenizer, ids: Sequence[int]) -> Tensor:
    """Probabilities (k, V) at the masks; 0 for special tokens and ids that are none."""
    row_1n = torch.tensor([list(ids)], device=model.embedding.weight.device)
    hidden_kD = model(row_1n)[row_1n == tokenizer.mask]
    p_kV = model.token_logits(hidden_kD).float().softmax(-1)[:, : tokenizer.vocab_size]
    p_kV[:, list(tokenizer.special)] = 0
    return p_kV.cpu()


def _label(tokenizer: Tokenizer, token: int) -> str:
    return tokenizer.labels([token])[0]


def _with(tokenizer: Tokenizer, parts: Sequence[str], tokens: dict[int, int]) -> str | None:
    """The text with tokens in place of some masks; None where a token is no whole character."""
    text, mask = parts[0], tokenizer.special[tokenizer.mask or 0]
    for i, part in enumerate(parts[1:]):
        if i not in tokens:
            text += mask + part
            continue
        try:
            piece = tokenizer.token_bytes(tokens[i]).decode()
        except UnicodeDecodeError:
            return None
        if len(piece) > 1 and piece[0] == " " and (not text or text[-1].isspace()):
            piece = piece[1:]
        text += piece + part
    return text
