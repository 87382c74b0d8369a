"""Attention on a sheet is the attention of `nn`, and so is its layer norm."""

import pytest
import torch

from glassformer.nn.attention import attend
from glassformer.sheet import Sheet


def attention(n, m, d_k, d_v, fill=float("-inf")):
    """softmax(Q Kᵀ / √d_k, over what is allowed) V as a sheet, all of whose numbers are given."""
    sheet = Sheet()
    q, k = sheet.normal("Q", n, d_k, seed=1), sheet.normal("K", m, d_k, seed=2)
    v, allowed = sheet.normal("V", m, d_v, seed=3), sheet.const("allowed", [[1] * m] * n)
    root = sheet.sqrt("√d_k", sheet.const("d_k", d_k))
    scores = sheet.div("scores", sheet.matmul("QKᵀ", q, sheet.transpose("Kᵀ", k)), root)
    weights = sheet.softmax("weights", sheet.mask("visible scores", scores, allowed, fill))
    sheet.matmul("output", weights, v)
    return sheet


class Weights:
    """A tap that keeps the weights."""

    def at(self, path):
        return self

    def wants(self, name):
        return name == "weights"

    def __call__(self, name, tensor):
        self.weights = tensor
        return tensor


@pytest.mark.parametrize(("n", "m"), [(1, 1), (5, 5), (3, 7)])
@pytest.mark.parametrize("kind", ["everywhere", "causal", "random", "nowhere"])
def test_attention_is_that_of_nn(n, m, kind):
    allowed = torch.ones(n, m, dtype=torch.bool)
    if kind == "causal":
        allowed = allowed.tril(m - n)
    elif kind == "random":
        allowed = torch.rand(n, m, generator=torch.Generator().manual_seed(0)) < 0.6
    elif kind == "nowhere":
        allowed[-1] = False
    values = attention(n, m, 4, 3).evaluate({"allowed": allowed.double().numpy()})
    q, k, v = (torch.tensor(values[name]) for name in "QKV")
    tap = Weights()
    output = attend(q, k, v, allowed, backend="reference", tap=tap)
    torch.testing.assert_close(torch.tensor(values["weights"]), tap.weights, rtol=0, atol=1e-14)
    torch.testing.assert_close(torch.tensor(values["output"]), output, rtol=0, atol=1e-14)
    assert (values["weights"][~allowed.numpy()] == 0).all()


@pytest.mark.parametrize("eps", [1e-5, 1e-12])
def test_layernorm_is_that_of_torch(eps):
    sheet = Sheet()
    x = sheet.normal("x", 5, 8, seed=4)
    sheet.layernorm("normed", sheet.add("moved", x, sheet.const("shift", 3)), eps)
    values = sheet.evaluate()
    expected = torch.nn.functional.layer_norm(torch.tensor(values["moved"]), (8,), eps=eps)
    torch.testing.assert_close(torch.tensor(values["normed"]), expected, rtol=0, atol=1e-13)
