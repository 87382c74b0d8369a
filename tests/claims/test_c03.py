"""C3: the whole gradient of cells and stacks against automatic differentiation, and a judge that can be
contradicted."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.autograd.functional import jacobian

from claims.altering import altered
from glassformer.claims import c03_gradient_paths as c03
from glassformer.claims import claim, measured
from glassformer.claims.claim import Verdict
from glassformer.nn.blocks import initialise
from glassformer.nn.recurrent import RecurrentLayer, lstm_step

KEPT = measured("C3")
K = c03.WARM_UP


def test_direct_and_whole_path_of_a_cell_are_derivatives(monkeypatch):
    monkeypatch.setattr(c03, "STEPS", 5)
    monkeypatch.setattr(c03, "DISTANCES", (1, 5))
    found = c03._recurrent("lstm", 3.0, seed=0)

    torch.manual_seed(0)
    layer = RecurrentLayer("lstm", c03.WIDTH, c03.WIDTH).double().requires_grad_(False)
    weights = layer.weights()
    weights.b_x[c03.WIDTH : 2 * c03.WIDTH] = 3.0
    x_nD = torch.randn(K + 5, c03.WIDTH, dtype=torch.float64)
    h = c = torch.zeros(c03.WIDTH, dtype=torch.float64)
    gates = []
    for x in x_nD:
        seen = {}
        h, c = lstm_step(x, h, c, weights, lambda name, value, seen=seen: seen.setdefault(name, value))
        gates.append(seen)

    def later(c_k):
        c, h = c_k, gates[K - 1]["o"] * torch.tanh(c_k)
        for x in x_nD[K:]:
            h, c = lstm_step(x, h, c, weights)
        return c

    def directly(c_k):
        c = c_k
        for seen in gates[K:]:
            c = seen["f"] * c + seen["i"] * seen["candidate"]
        return c

    c_k = gates[K - 1]["cell"]
    for path, of in (("whole", later), ("direct", directly)):
        assert 10 ** found[path][1] == pytest.approx(np.linalg.norm(jacobian(of, c_k), 2))
    assert found["apart"] < 1e-14


@pytest.mark.parametrize("kind", c03.STACKS)
def test_a_stacks_gradient_is_that_of_its_top(kind, monkeypatch):
    monkeypatch.setattr(c03, "DEPTH", 6)
    monkeypatch.setattr(c03, "DEPTHS", (1, 4))
    found = c03._stack(kind, seed=1)

    torch.manual_seed(1)
    layers = nn.Sequential(*(c03.Layer(kind) for _ in range(6))).double()
    initialise(layers, 6, None)
    x = torch.randn(c03.WIDTH, dtype=torch.float64)
    for depth, norm in zip((1, 4), found, strict=True):
        below = layers[: 6 - depth](x).detach()
        expected = np.linalg.norm(jacobian(layers[6 - depth :], below).detach(), 2)
        assert 10**norm == pytest.approx(expected)


def test_it_holds_as_it_was_measured():
    assert claim("C3").judge(KEPT).verdict is Verdict.HOLDS


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (1e-3, ("recurrent", "lstm fresh", 0, "apart")),  # the derivative is another
        (-3.0, ("recurrent", "lstm open", ..., "direct", -1)),
        (-3.0, ("recurrent", "lstm open", ..., "whole", -1)),
        (-2.0, ("recurrent", "rnn", ..., "whole", -1)),  # the RNN's survives too
        (-2.0, ("recurrent", "lstm fresh", ..., "direct", -1)),  # cured
        (-2.0, ("recurrent", "lstm fresh", ..., "whole", -1)),
        (-90.0, ("recurrent", "lstm fresh", ..., "whole", -1)),  # not even mitigated
        (-8.0, ("recurrent", "lstm between", ..., "whole", -1)),  # no further paths
        (-4.0, ("stacks", "residual", ..., -1)),
        (-4.0, ("stacks", "both", ..., -1)),
        (0.0, ("stacks", "plain", ..., -1)),
    ],
)
def test_it_can_be_contradicted(value, path):
    assert claim("C3").judge(altered(KEPT, value, *path)).verdict is Verdict.FAILS
