"""Hiding tokens: how many, behind what, never a special one, and a function of the key alone."""

import numpy as np
import pytest
import torch

from glassformer.data.batches import IGNORE
from glassformer.data.masking import Masking
from glassformer.data.tokenizers import ENCODING, BPETokenizer, ByteTokenizer, CharTokenizer
from glassformer.errors import UserError

LETTERS = CharTokenizer(map(chr, range(0x4E00, 0x4E00 + 5000)), ENCODING)
BYTES = Masking.of(ByteTokenizer(ENCODING))


def test_shares_of_a_million_tokens():
    masking = Masking.of(LETTERS)
    chance = np.random.default_rng(0)
    text = chance.integers(LETTERS.end, size=(2000, 512))
    special = chance.random(text.shape) < 0.02
    text[special] = LETTERS.end
    batch = masking.hide(text, (7, 1))
    inputs, targets = batch.inputs[:, 1:-1].numpy(), batch.targets[:, 1:-1].numpy()
    n, chosen = int((~special).sum()), targets != IGNORE
    assert n > 1_000_000
    assert not chosen[special].any()
    assert (inputs[special] == LETTERS.end).all()
    assert (inputs[~chosen] == text[~chosen]).all()
    assert (targets[chosen] == text[chosen]).all()
    assert not np.isin(inputs[chosen], [i for i in LETTERS.special if i != masking.mask]).any()

    def within(count, of, share, sigmas=4):
        assert abs(count / of - share) < sigmas * (share * (1 - share) / of) ** 0.5, (count / of, share)

    k = int(chosen.sum())
    within(k, n, 0.15)
    hidden, kept = inputs[chosen] == masking.mask, inputs[chosen] == targets[chosen]
    within(hidden.sum(), k, 0.8)
    within(kept.sum(), k, 0.1 + 0.1 / LETTERS.end)  # a random token may be the same one
    within((~hidden & ~kept).sum(), k, 0.1 - 0.1 / LETTERS.end)
    drawn = inputs[chosen][~hidden & ~kept]
    assert (drawn < LETTERS.end).all()
    assert len(np.unique(drawn)) > 0.9 * LETTERS.end
    # each token for itself: neighbours know nothing of each other
    pairs = chosen[:, 1:] & chosen[:, :-1] & ~special[:, 1:] & ~special[:, :-1]
    within(pairs.sum(), (~special[:, 1:] & ~special[:, :-1]).sum(), 0.15**2)


def test_a_row_of_special_tokens_has_no_target():
    end = ByteTokenizer(ENCODING).end
    batch = BYTES.hide(np.full((3, 50), end), (0, 0))
    assert batch.n_targets == 0
    assert torch.equal(batch.inputs[:, 1:-1], torch.full((3, 50), end))


def test_special_tokens_stand_around_a_text():
    tokenizer = ByteTokenizer(ENCODING)
    batch = BYTES.hide(np.zeros((2, 3), dtype=np.uint16), (0, 0))
    ([cls], [end]) = tokenizer.around
    assert batch.inputs[:, 0].tolist() == [cls, cls]
    assert batch.inputs[:, -1].tolist() == [end, end]
    assert BYTES.n_around == 2
    assert batch.inputs.shape == batch.targets.shape == (2, 5)


def test_a_row_depends_on_its_key_and_number_alone():
    text = np.random.default_rng(0).integers(256, size=(6, 40))
    whole = BYTES.hide(text, (1, 5))
    part = BYTES.hide(text[2:4], (1, 5), first=2)
    assert torch.equal(part.inputs, whole.inputs[2:4])
    assert torch.equal(part.targets, whole.targets[2:4])
    for other in (BYTES.hide(text, (1, 6)), BYTES.hide(text, (2, 5)), BYTES.hide(text, (1, 5), first=1)):
        assert not torch.equal(other.targets, whole.targets)
    assert len({tuple((row != IGNORE).tolist()) for row in whole.targets}) == 6


def test_plainly_all_that_is_chosen_stands_behind_the_mask():
    text = np.random.default_rng(0).integers(256, size=(6, 400))
    usual, plain = BYTES.hide(text, (0,)), BYTES.hide(text, (0,), plainly=True)
    assert torch.equal(usual.targets, plain.targets)
    assert (plain.inputs[plain.targets != IGNORE] == BYTES.mask).all()
    assert not (usual.inputs[usual.targets != IGNORE] == BYTES.mask).all()


def test_bpe_draws_no_special_token_and_a_decoder_s_tokenizer_cannot_hide():
    tokenizer = BPETokenizer.train(iter(["the cat sat on the mat"] * 9), 264, ENCODING)
    masking = Masking.of(tokenizer)
    assert masking.ordinary.tolist() == [*range(3, 264)]
    assert masking.is_special.nonzero()[0].tolist() == [0, 1, 2]
    with pytest.raises(UserError, match="no token to hide others behind"):
        Masking.of(ByteTokenizer())
