"""A GPT over one text in plain numpy and float64, from the weights alone: what glass has to agree with."""

import functools
import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from glassformer.models import GPT, GPTConfig

Floats = NDArray[np.float64]
Change = tuple[str, Callable[[NDArray], None]]
"""A tap name, and what is done in place to the tensor of that name."""

KINDS = {
    "rotary": {},
    "interleaved": {"rotary_style": "interleaved", "activation": "swiglu", "tie_embeddings": False},
    "learned": {"positions": "learned", "norm": "layernorm", "bias": True},
    "learned-post": {"positions": "learned", "norm": "layernorm", "bias": True, "norm_order": "post"},
    "rotary-post": {"norm_order": "post", "activation": "swiglu", "bias": True, "n_kv_heads": 1},
    "relative": {"positions": "relative", "norm": "layernorm", "n_kv_heads": 4},
    "sinusoidal": {"positions": "sinusoidal", "activation": "swiglu", "n_kv_heads": None},
    "none-post": {"positions": "none", "norm": "layernorm", "norm_order": "post"},
}
TOKENS = [7, 8, 9, 3, 1, 4]


def make(kind: str = "rotary", dtype: torch.dtype = torch.float32, **changes) -> GPT:
    """A small model with 4 heads in 2 groups, unless the kind says otherwise; no weight is 0 or 1."""
    torch.manual_seed(0)
    settings = {"n_layers": 2, "n_kv_heads": 2, "d_model": 16} | KINDS[kind] | changes
    model = GPT(GPTConfig(11, 16, n_heads=4, **settings))
    for name, parameter in model.named_parameters():
        torch.nn.init.normal_(parameter, float("norm.weight" in name), 0.3)
    return model.to(dtype).eval()


shared = functools.cache(make)
"""The same model for all who do not change it."""


def put(index: object, value: object) -> Callable[[NDArray], None]:
    return lambda array: array.__setitem__(index, value)


def passed(model: GPT, tokens: Sequence[int], changes: Sequence[Change] = ()) -> dict[str, NDArray]:
    """Every named tensor of one pass, without the axis of rows; changes are made in the order given."""
    one = _Pass(model, changes)
    one.run(tokens)
    return one.seen


def log_softmax(logits: Floats) -> Floats:
    shifted = logits - logits.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


class _Pass:
    def __init__(self, model: GPT, changes: Sequence[Change]) -> None:
        self.config, self.changes = model.config, changes
        self.w = {name: tensor.double().numpy() for name, tensor in model.state_dict().items()}
        self.seen: dict[str, NDArray] = {}

    def tap(self, name: str, array: NDArray) -> NDArray:
        array = array.copy()
        for changed, change in self.changes:
            if changed == name:
                change(array)
        self.seen[name] = array
        return array

    def run(self, tokens: Sequence[int]) -> None:
        c = self.config
        n = len(tokens)
        x = self.w["embedding.weight"][list(tokens)]
        if c.positions == "learned":
            x = x + self.w["positions.table.weight"][:n]
        if c.positions == "sinusoidal":
            angle = np.outer(np.arange(n), 10_000.0 ** (-np.arange(0, c.d_model, 2) / c.d_model))
            x = x + np.stack((np.sin(angle), np.cos(angle)), -1).reshape(n, -1)
        x = self.tap("embedding", x)
        for i in range(c.n_layers):
            x = self.block(f"blocks.{i}.", x)
        x = self.tap("final", self.norm("final_norm", x) if c.norm_order == "pre" else x)
        self.tap("logits", x @ self.w["head.weight"].T)

    def block(self, at: str, x: Floats) -> Floats:
        x = self.tap(at + "input", x)
        for sublayer, norm, out in (
            (self.attention, "attention_norm", "middle"),
            (self.feed_forward, "ffn_norm", "output"),
        ):
            if self.config.norm_order == "pre":
                x = x + sublayer(at, self.norm(at + norm, x))
            else:
                x = self.norm(at + norm, x + sublayer(at, x))
            x = self.tap(at + out, x)
        return x

    def attention(self, at: str, x: Floats) -> Floats:
        c, at, n = self.config, at + "attention.", len(x)
        groups = c.n_kv_heads or c.n_heads
        q, k, v = (
            self.linear(at + name, x).reshape(n, heads, -1).transpose(1, 0, 2)
            for name, heads in (("query", c.n_heads), ("key", groups), ("value", groups))
        )
        if c.positions == "rotary":
            q, k = self.turned(q), self.turned(k)
        q, k, v = (self.tap(at + name, array) for name, array in (("q", q), ("k", k), ("v", v)))
        distance = np.arange(n)[:, None] - np.arange(n)
        mask = self.tap(at + "mask", np.broadcast_to(distance >= 0, (c.n_heads, n, n)))
        scores, weights, heads = np.empty(mask.shape), np.zeros(mask.shape), np.empty(q.shape)
        for h in range(c.n_heads):
            scores[h] = q[h] @ k[h // (c.n_heads // groups)].T / math.sqrt(q.shape[-1])
            if c.positions == "relative":  # one bucket for each distance below 16, all of the future in one
                scores[h] += self.w["positions.table.weight"][distance.clip(0), h]
        scores = self.tap(at + "scores", np.where(mask, scores, -np.inf))
        for h, i in np.argwhere(scores.max(-1) > -np.inf):
            exponentials = np.exp(scores[h, i] - scores[h, i].max())
            weights[h, i] = exponentials / exponentials.sum()
        weights = self.tap(at + "weights", weights)
        for h in range(c.n_heads):
            heads[h] = weights[h] @ v[h // (c.n_heads // groups)]
        heads = self.tap(at + "heads", heads)
        return self.tap(at + "output", self.linear(at + "output", heads.transpose(1, 0, 2).reshape(n, -1)))

    def feed_forward(self, at: str, x: Floats) -> Floats:
        up = self.linear(at + "ffn.up", x)
        if self.config.activation == "swiglu":
            gate = self.linear(at + "ffn.gate", x)
            inner = gate / (1 + np.exp(-gate)) * up
        else:
            inner = up * (1 + np.vectorize(math.erf)(up / math.sqrt(2))) / 2
        inner = self.tap(at + "ffn.inner", inner)
        return self.tap(at + "ffn.output", self.linear(at + "ffn.down", inner))

    def linear(self, name: str, x: Floats) -> Floats:
        return x @ self.w[name + ".weight"].T + self.w.get(name + ".bias", 0.0)

    def norm(self, name: str, x: Floats) -> Floats:
        if self.config.norm == "layernorm":
            x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)
        return x * self.w[name + ".weight"] + self.w.get(name + ".bias", 0.0)

    def turned(self, x: Floats) -> Floats:
        """Each pair of coordinates as one complex number, times e^(i · position · 10000^(-2j/d))."""
        _, n, d = x.shape
        half = self.config.rotary_style == "half"
        first, second = (x[..., : d // 2], x[..., d // 2 :]) if half else (x[..., ::2], x[..., 1::2])
        angle = np.outer(np.arange(n), 10_000.0 ** (-np.arange(0, d, 2) / d))
        z = (first + 1j * second) * np.exp(1j * angle)
        return np.concatenate((z.real, z.imag), -1) if half else z.view(np.float64)
