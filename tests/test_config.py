"""Configs: to and from plain values, settings on the command line, and errors that name what is right."""

import dataclasses
import json
import os
import re
from dataclasses import dataclass
from typing import Literal

import pytest
import torch

from glassformer.config import LIMIT, from_dict, override, read_object, to_dict
from glassformer.errors import UserError
from glassformer.models import GPT, GPTConfig
from glassformer.models.presets import PRESETS


@dataclass(frozen=True)
class Training:
    steps: int = 10
    rate: float = 0.1
    compile: bool = False
    note: str | None = None
    patience: int | None = None
    order: Literal["shuffled", "straight"] = "shuffled"
    betas: tuple[float, float] = (0.9, 0.99)
    seed: int = 0

    def __post_init__(self):
        if self.steps < 1:
            raise ValueError("steps must be at least 1")


@dataclass(frozen=True)
class Sampling:
    temperature: float = 1.0
    seed: int = 0


CONFIGS = {"model": GPTConfig(11), "training": Training(), "sampling": Sampling()}
CHANGED = Training(3, 1.0, True, "none of it", 4, "straight", (0.8, 0.9), 7)


@pytest.mark.parametrize("config", [Training(), CHANGED, GPTConfig(11, n_kv_heads=2, norm_order="post")])
def test_round_trip(config):
    values = to_dict(config)
    assert from_dict(type(config), values) == config
    assert from_dict(type(config), json.loads(json.dumps(values))) == config


def test_missing_keys_take_their_defaults():
    assert from_dict(Training, {"steps": 5}) == Training(steps=5)


def test_whole_numbers_are_numbers():
    rate = from_dict(Training, {"rate": 1}).rate
    assert (rate, type(rate)) == (1.0, float)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"step": 5}, "unknown key in Training 'step'; did you mean 'steps'?"),
        ({"zzz": 5}, "unknown key in Training 'zzz'; known: betas, compile, note"),
        ({"steps": 1.5}, "steps = 1.5: expected a whole number"),
        ({"steps": True}, "steps = True: expected a whole number"),
        ({"steps": None}, "steps = None: expected a whole number"),
        ({"rate": "fast"}, "rate = 'fast': expected a number"),
        ({"rate": False}, "rate = False: expected a number"),
        ({"compile": 1}, "compile = 1: expected true or false"),
        ({"note": 3}, "note = 3: expected a text or none"),
        ({"order": "random"}, "order = 'random': expected shuffled | straight"),
        ({"betas": 0.9}, "betas = 0.9: expected tuple"),
        ({"steps": 0}, "Training: steps must be at least 1"),
    ],
)
def test_wrong_values_are_named(values, message):
    with pytest.raises(UserError) as caught:
        from_dict(Training, values)
    assert message in str(caught.value)


def test_a_value_that_has_no_default_must_be_there():
    with pytest.raises(UserError, match=r"GPTConfig lacks vocab_size$"):
        from_dict(GPTConfig, {"n_layers": 2})


DAMAGED = [
    ("", "it is no JSON text"),
    ('{"a": 1', "it is no JSON text"),
    ("\ufeff{}", "it is no JSON text"),
    ("[{}]", "it holds no JSON object"),
    ("null", "it holds no JSON object"),
    ('{"a": {"b": 1, "c": 2, "b": 1}}', "it is no JSON text: 'b' stands there twice"),
    ('{"a": NaN}', "it is no JSON text: NaN is no number that can be used"),
    ('{"a": [-Infinity]}', "it is no JSON text: -Infinity is no number that can be used"),
    ('{"a": 1e999}', "it is no JSON text: 1e999 is no number that can be used"),
    (f'{{"a": {"9" * 5000}}}', "it is no JSON text"),
    (r'{"a": ["\udc00"]}', r"it is no JSON text: \\udc00 is half a character"),
    (r'{"\ud800": 1}', r"it is no JSON text: \\ud800 is half a character"),
    ('{"a":' * 64 + "{}" + "}" * 64, "it is nested too deep"),
    ('{"a":' + "[" * 100_000, "it is nested too deep"),
    (f'{{"a": "{"x" * 99}"}}', "it has more than 100 bytes"),
]


@pytest.mark.parametrize(("text", "message"), DAMAGED)
def test_a_damaged_json_file_is_named_in_one_line(text, message, tmp_path):
    path = tmp_path / "x.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=rf"x\.json is damaged: {message}") as error:
        read_object(path, 100 if len(text) < 200 else LIMIT)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 400


def test_what_is_no_text_file_is_named(tmp_path):
    path = tmp_path / "x.json"
    with pytest.raises(UserError, match=r"x\.json: No such file"):
        read_object(path)
    path.write_bytes(b'{"a": "\xff"}')
    with pytest.raises(UserError, match=r"x\.json is damaged: not UTF-8 at byte 7"):
        read_object(path)
    with pytest.raises(UserError, match="is no file"):
        read_object(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UserError, match="pipe is no file"):
        read_object(tmp_path / "pipe")


def test_an_object_is_what_json_says_and_knows_its_file(tmp_path):
    path = tmp_path / "x.json"
    values = {"steps": 3, "rate": 1.5, "note": "字 \U0001f600", "betas": [0.5, 0.25]}
    nested = '{"a":' * 62 + json.dumps(values) + "}" * 62
    for text in (json.dumps(values), json.dumps(values, ensure_ascii=False), nested):
        path.write_text(text, encoding="utf-8")
        assert read_object(path) == json.loads(text)
    path.write_text(json.dumps({"training": values}), encoding="utf-8")
    assert from_dict(Training, read_object(path)["training"]) == Training(
        3, 1.5, note=values["note"], betas=(0.5, 0.25)
    )


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"steps": "3"}, "steps = '3': expected a whole number"),
        ({"steps": 0}, "Training: steps must be at least 1"),
        ({"steps": 10**30}, r"steps = 1000\d+ is beyond what can be used"),
        ({"rate": 10**400}, r"rate = 1000\d+\.\.\.0+ is beyond what can be used"),
        ({"note": ["x" * 9999]}, r"note = \['x+\.\.\.x+'\]: expected a text or none"),
        ({"order": [["straight"]]}, "order = .* expected shuffled"),
        ({"zzz": 1}, "unknown key in Training 'zzz'"),
    ],
)
def test_a_wrong_value_of_a_file_names_the_file_once(values, message, tmp_path):
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"training": values}), encoding="utf-8")
    with pytest.raises(UserError, match=rf"^{re.escape(str(path))}: {message}"):
        from_dict(Training, read_object(path)["training"])


@pytest.mark.parametrize(
    ("assignment", "part", "changes"),
    [
        ("steps=20", "training", {"steps": 20}),
        ("training.steps=20", "training", {"steps": 20}),
        ("rate=1e-3", "training", {"rate": 0.001}),
        ("rate=2", "training", {"rate": 2.0}),
        *((f"compile={text}", "training", {"compile": True}) for text in ("true", "1", "Yes", "ON")),
        ("order=straight", "training", {"order": "straight"}),
        ("note=a=b", "training", {"note": "a=b"}),
        ("note=", "training", {"note": ""}),
        ("patience=3", "training", {"patience": 3}),
        ("n_kv_heads=2", "model", {"n_kv_heads": 2}),
        ("model.norm=layernorm", "model", {"norm": "layernorm"}),
        ("sampling.seed=4", "sampling", {"seed": 4}),
    ],
)
def test_override(assignment, part, changes):
    changed = override(CONFIGS, [assignment])
    assert changed == CONFIGS | {part: dataclasses.replace(CONFIGS[part], **changes)}
    assert CONFIGS["training"] == Training()
    [value] = changes.values()
    assert type(getattr(changed[part], *changes)) is type(value)


@pytest.mark.parametrize("key", ["note", "patience"])
@pytest.mark.parametrize("text", ["none", "None", "null"])
def test_none_can_be_said_wherever_it_may_stand(key, text):
    configs = {"training": CHANGED}
    assert override(configs, [f"{key}={text}"])["training"] == dataclasses.replace(CHANGED, **{key: None})


@pytest.mark.parametrize("text", ["false", "0", "no", "off"])
def test_no_is_false(text):
    assert override({"training": CHANGED}, [f"compile={text}"])["training"].compile is False


def test_the_last_setting_wins():
    assert override(CONFIGS, ["steps=2", "rate=3", "steps=4"])["training"] == Training(4, 3.0)
    assert override(CONFIGS, []) == CONFIGS


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("steps", "'steps' is no setting; write key=value"),
        ("n_layer=3", "unknown setting 'n_layer'; did you mean 'n_layers'?"),
        ("model.n_layer=3", "unknown setting 'model.n_layer'; did you mean 'n_layers'?"),
        ("modle.n_layers=3", "did you mean 'n_layers'?"),
        ("seed=3", "'seed' is a setting of training and sampling; write training.seed"),
        ("steps=many", "steps=many: expected a whole number"),
        ("steps=1.5", "steps=1.5: expected a whole number"),
        ("steps=none", "steps=none: expected a whole number"),
        ("patience=x", "patience=x: expected a whole number or none"),
        ("rate=", "rate=: expected a number"),
        ("compile=maybe", "compile=maybe: expected true or false"),
        ("order=random", "order=random: expected shuffled | straight"),
        ("steps=0", "steps=0: steps must be at least 1"),
        ("n_heads=3", "n_heads=3: n_heads = 3 must divide d_model = 128"),
    ],
)
def test_wrong_settings_are_named(assignment, message):
    with pytest.raises(UserError) as caught:
        override(CONFIGS, [assignment])
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        *(({name: 0}, f"{name} must be at least 1, not 0") for name in ("vocab_size", "context", "n_layers")),
        *(({name: 0}, f"{name} must be at least 1, not 0") for name in ("n_heads", "d_model", "d_inner")),
        *(
            ({name: (1 << 24) + 1}, f"{name} must be at most 16777216, not 16777217")
            for name in ("vocab_size", "context", "d_inner", "n_kv_heads", "d_model", "n_heads")
        ),
        ({"n_layers": 1025}, "n_layers must be at most 1024, not 1025"),
        ({"n_layers": 10**4000}, r"n_layers must be at most 1024, not 1000\d+\.\.\."),
        ({"norm_eps": 0.0}, "norm_eps must be above 0"),
        *(({"rotary_base": base}, "rotary_base must lie between 1e-06 and 1e.12") for base in (0.0, 1e13)),
        ({"n_heads": 3}, "n_heads = 3 must divide d_model = 128"),
        ({"n_kv_heads": 3}, "n_kv_heads = 3 must divide n_heads = 4"),
        ({"n_kv_heads": 0}, "n_kv_heads must be at least 1, not 0"),
        ({"n_heads": 128}, "even d_model / n_heads, not 1"),
        *(({"dropout": p}, r"\[0, 1\), not") for p in (-0.1, 1.0, float("nan"))),
        ({"activation": "Gelu"}, r"activation must be relu \| gelu .*, not 'Gelu'"),
        *(({name: "x"}, f"{name} must be ") for name in ("norm", "norm_order", "positions")),
        ({"rotary_style": "x"}, "rotary_style must be half"),
    ],
)
def test_impossible_models_are_named(changes, message):
    with pytest.raises(ValueError, match=message):
        GPTConfig(**({"vocab_size": 11} | changes))


def test_configs_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        GPTConfig(11).context = 3


def test_inner_width_follows_the_activation():
    assert GPTConfig(11).inner == 512
    assert GPTConfig(11, activation="swiglu").inner == 341
    assert GPTConfig(11, activation="swiglu", d_inner=7).inner == 7


@pytest.mark.parametrize(("name", "millions"), [("tiny", 0.79), ("small", 10.6), ("base", 85)])
def test_presets_have_the_size_they_claim(name, millions):
    with torch.device("meta"):
        model = GPT(PRESETS[name](65))
    in_blocks = sum(p.numel() for p in model.blocks.parameters())
    assert in_blocks / 1e6 == pytest.approx(millions, rel=0.01)
    assert model.config.vocab_size == 65
