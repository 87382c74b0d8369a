"""Llama: caches, padding and taps change nothing, and a shape without meaning is refused."""

import dataclasses

import pytest
import torch

from glassformer import config
from glassformer.errors import UserError
from glassformer.models import FAMILIES, Decoder, Llama, LlamaConfig
from glassformer.models.cost import cost
from glassformer.nn.blocks import initialise
from glassformer.nn.scaling import Linear, Yarn

SHAPE = LlamaConfig(11, 16, 2, 4, 2, 16, 6, 24, 1e-5, 100.0)
VARIANTS = [
    {},
    {"qk_norm": True, "n_kv_heads": 1},
    {"bias": True, "ffn_bias": True, "tie_embeddings": True},
    {"output_bias": True, "scaling": Yarn(2.0, 8, 1.1)},
]
EVERY = pytest.mark.parametrize("changes", VARIANTS, ids=lambda changes: " ".join(changes) or "plain")
TOKENS = torch.tensor([[7, 8, 9, 3, 1, 4], [2, 2, 10, 0, 5, 6]])
EXACT = {"atol": 1e-9, "rtol": 1e-9}


def make(**changes):
    torch.manual_seed(0)
    model = Llama(dataclasses.replace(SHAPE, **changes))
    initialise(model, 1, std=0.5)
    return model.double().eval().requires_grad_(False)


class Tap:
    def __init__(self, seen=None, path=""):
        self.seen, self.path = {} if seen is None else seen, path

    def __call__(self, name, tensor):
        self.seen[self.path + name] = tensor
        return tensor

    def at(self, path):
        return Tap(self.seen, f"{self.path}{path}.")

    def wants(self, name):
        return True


@EVERY
def test_cached_equals_uncached(changes):
    model = make(**changes)
    whole, _ = model(TOKENS)
    for sizes in ([6], [1] * 6, [4, 2], [3, 1, 2]):
        state, pieces = model.new_state(2), []
        for chunk in TOKENS.split(sizes, 1):
            logits, state = model(chunk, state)
            pieces.append(logits)
        torch.testing.assert_close(torch.cat(pieces, 1), whole, **EXACT)


@EVERY
def test_left_padding_changes_nothing(changes):
    model = make(**changes)
    alone, _ = model(TOKENS[:1, 2:])
    valid = torch.tensor([[0, 0, 1, 1, 1, 1]]).bool()
    torch.testing.assert_close(model(TOKENS[:1], valid_bn=valid)[0][:, 2:], alone, **EXACT)


@EVERY
def test_taps_see_what_is_listed_and_change_nothing(changes):
    model, tap = make(**changes), Tap()
    torch.testing.assert_close(model(TOKENS, tap=tap)[0], model(TOKENS)[0], **EXACT)
    assert tuple(tap.seen) == model.tap_names()
    assert tap.seen["blocks.1.attention.q"].shape == (2, 4, 6, 6)


def test_queries_and_keys_are_normed_before_they_turn():
    tap = Tap()
    make(qk_norm=True)(TOKENS, tap=tap)
    for name in ("q", "k"):
        square = tap.seen[f"blocks.0.attention.{name}"].square().mean(-1)
        torch.testing.assert_close(
            square, torch.ones_like(square), atol=1e-3, rtol=0
        )  # turning keeps lengths


@pytest.mark.parametrize("name", ["bias", "output_bias", "ffn_bias"])
def test_each_bias_is_where_it_belongs(name):
    biased = {n for n, _ in make(**{name: True}).named_parameters()} - {
        n for n, _ in make().named_parameters()
    }
    places = {
        "bias": ["attention.query", "attention.key", "attention.value"],
        "output_bias": ["attention.output"],
        "ffn_bias": ["ffn.gate", "ffn.up", "ffn.down"],
    }
    assert biased == {f"blocks.{i}.{place}.bias" for i in range(2) for place in places[name]}


@pytest.mark.parametrize("scaling", [None, Linear(2.0), Yarn(2.0, 8, 1.1, whole=False)])
def test_a_config_comes_back_from_json(scaling):
    shape = dataclasses.replace(SHAPE, scaling=scaling)
    assert config.from_dict(LlamaConfig, config.to_dict(shape)) == shape


def test_a_rule_that_does_not_exist_is_named():
    values = config.to_dict(SHAPE)
    for rule, message in (
        ({"kind": "stretch"}, "expected Linear or Dynamic or Llama3 or Yarn or none"),
        ({"kind": "linear", "factors": 2}, "unknown key in Linear 'factors'; did you mean 'factor'"),
        ({"kind": "linear", "factor": "2"}, "factor = '2': expected a number"),
    ):
        with pytest.raises(UserError, match=message):
            config.from_dict(LlamaConfig, {**values, "scaling": rule})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"d_head": 5}, "even d_head, not 5"),
        ({"n_kv_heads": 3}, "n_kv_heads = 3 must divide n_heads = 4"),
        ({"n_layers": 0}, "n_layers must be at least 1"),
        ({"norm_eps": 0.0}, "norm_eps must be above 0"),
        ({"dropout": 1.0}, "dropout must lie in"),
    ],
)
def test_shapes_without_meaning_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(SHAPE, **changes)


def test_what_it_costs_counts_wide_heads_and_shared_keys():
    costs = cost(make())
    assert costs.total == sum(p.numel() for p in make().parameters())
    assert costs.state_bytes == 2 * 2 * 2 * 6 * 8
    assert costs.attention_operations == 4 * 2 * 4 * 6 * 16 / 2


def test_families_are_registered():
    assert FAMILIES["llama"] == (LlamaConfig, Llama)
    assert issubclass(FAMILIES["gpt"][1], Decoder)
    assert not issubclass(FAMILIES["bert"][1], Decoder)
