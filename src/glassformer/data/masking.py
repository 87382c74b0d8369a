"""Hiding tokens of a text for an encoder to tell. Which ones, and behind what, is a pure function of a key.

Devlin et al. 2019, section 3.1: of all ordinary tokens 15 % are chosen, each for itself; of these 80 % stand
behind MASK, 10 % behind a random ordinary token, and 10 % stay as they are. Special tokens are neither chosen
nor drawn.

Shapes: b rows, n tokens of text, N with what stands around it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from ..errors import UserError
from .batches import IGNORE, Batch
from .tokenizers import Ids, Tokenizer

SHARE, BEHIND_MASK, BEHIND_ANOTHER = 0.15, 0.8, 0.1


@dataclass(frozen=True)
class Masking:
    """`ordinary` are the ids that may be chosen, and drawn; `is_special` says of each id whether it is not
    one of them; `before` and `after` stand around a text."""

    mask: int
    ordinary: Ids
    is_special: NDArray[np.bool_]
    before: Sequence[int]
    after: Sequence[int]
    share: float = SHARE

    @classmethod
    def of(cls, tokenizer: Tokenizer, share: float = SHARE) -> "Masking":
        """The masking for a tokenizer. Raises UserError for one without MASK."""
        if tokenizer.mask is None:
            raise UserError(
                "the tokenizer has no token to hide others behind; --model bert makes one that has"
            )
        is_special = np.zeros(tokenizer.vocab_size, dtype=np.bool_)
        is_special[list(tokenizer.special)] = True
        return cls(tokenizer.mask, np.flatnonzero(~is_special), is_special, *tokenizer.around, share)

    @property
    def n_around(self) -> int:
        """Tokens that stand around a text."""
        return len(self.before) + len(self.after)

    def hide(
        self, text_bn: NDArray[np.integer], key: Sequence[int], *, first: int = 0, plainly: bool = False
    ) -> Batch:
        """Rows of text, wrapped, with tokens hidden; the targets are the hidden ones, IGNORE elsewhere.

        Row i depends on `key` and `first` + i alone. `plainly` puts all that are chosen behind MASK: for
        measuring, where a token that stays as it is would tell itself."""
        rows_bN = np.concatenate(
            [self._beside(self.before, text_bn), text_bn, self._beside(self.after, text_bn)], 1
        )
        inputs_bN, targets_bN = rows_bN.astype(np.int64), np.full(rows_bN.shape, IGNORE, dtype=np.int64)
        for i, row_N in enumerate(rows_bN):
            chance = np.random.default_rng([*key, first + i])
            chosen_N = (chance.random(len(row_N)) < self.share) & ~self.is_special[row_N]
            kind_N, other_N = chance.random(len(row_N)), chance.integers(len(self.ordinary), size=len(row_N))
            changed_N = np.where(kind_N < BEHIND_MASK + BEHIND_ANOTHER, self.ordinary[other_N], row_N)
            changed_N[(kind_N < BEHIND_MASK) | plainly] = self.mask
            inputs_bN[i, chosen_N] = changed_N[chosen_N]
            targets_bN[i, chosen_N] = row_N[chosen_N]
        return Batch(torch.from_numpy(inputs_bN), torch.from_numpy(targets_bN))

    @staticmethod
    def _beside(ids: Sequence[int], text_bn: NDArray[np.integer]) -> Ids:
        return np.tile(np.array(ids, dtype=np.int64), (len(text_bn), 1))
