"""BERT: what a shape means, and that padding changes nothing. Its numbers: tests/hub/test_bert.py."""

import pytest
import torch

from glassformer.models import Bert, BertConfig
from glassformer.models.cost import cost

SHAPE = {"context": 12, "n_layers": 2, "n_heads": 2, "d_model": 16}


def made(**changes):
    torch.manual_seed(0)
    return Bert(BertConfig(30, **{**SHAPE, **changes})).eval()


@pytest.mark.parametrize("order", ["post", "pre"])
def test_padding_changes_nothing(order):
    model = made(norm_order=order, labels=("a", "b"), pooling="mean", mlm=True)
    ids = torch.randint(30, (1, 7))
    padded, valid = torch.randint(30, (1, 12)), torch.zeros(1, 12).bool()
    for first in (0, 2, 5):
        padded[:, first : first + 7], valid[:] = ids, False
        valid[:, first : first + 7] = True
        alone, beside = model(ids), model(padded, valid_bn=valid)
        torch.testing.assert_close(beside[valid], alone[0], atol=1e-6, rtol=0)
        torch.testing.assert_close(model.label_logits(beside, valid), model.label_logits(alone))


def test_pre_norm_ends_in_a_norm():
    names = [dict(made(norm_order=order).named_parameters()) for order in ("post", "pre")]
    assert names[1].keys() - names[0].keys() == {"final_norm.weight", "final_norm.bias"}
    model = made(norm_order="pre")
    hidden = model(torch.randint(30, (2, 12)))
    torch.testing.assert_close(hidden.mean(-1), torch.zeros(2, 12), atol=1e-6, rtol=0)
    assert tuple(name for name in model.tap_names() if "blocks" not in name) == ("embedding", "final")


def test_the_head_shares_the_embedding_s_matrix():
    model = made(mlm=True)
    assert model.head.output.weight is model.embedding.weight
    assert model.config.inner == 64
    counts = cost(model).parameters
    assert counts["embedding"] == 30 * 16 + 16 + 2 * 16
    assert counts["head"] == 16 * 16 + 16 + 2 * 16 + 30
    assert cost(model).total == sum(p.numel() for p in model.parameters())
    assert cost(model).operations == cost(made()).operations


def test_a_head_that_is_not_there_says_so():
    model = made()
    with pytest.raises(ValueError, match="no head that tells hidden tokens"):
        model.token_logits(torch.zeros(1, 16))
    with pytest.raises(ValueError, match="no head that tells labels"):
        model.label_logits(torch.zeros(1, 1, 16))
