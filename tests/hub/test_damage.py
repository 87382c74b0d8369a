"""Damaged and hostile files, of runs and of published folders: opened, or refused in one line and at once."""

import contextlib
import json
import shutil
import sys
import time
from copy import deepcopy
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conftest import TEXT
from glassformer.__main__ import main
from glassformer.config import to_dict
from glassformer.data.tokenizers import BPETokenizer, ByteTokenizer, CharTokenizer
from glassformer.errors import UserError
from glassformer.hub.export import import_folder
from glassformer.hub.folder import open_folder
from glassformer.models import GPT, GPTConfig
from glassformer.store.run import Run
from published import WORDPIECE_ROLES, bert, byte_bpe, gpt2, llama, metaspace, save, wordpiece

SECONDS = 3  # of work, for what takes a hundredth of one where nothing is wrong
HOSTILE = [
    *(None, True, False, 0, -1, 1, 0.5, 1e300, 1e-320, 2**31, 2**63, 10**12, 10**30, -(10**30)),
    *("", "4", "x", "\ud800", "a" * 2000, [], {}, [[]], [None], {"a": 1}, ["\n"]),
]
RAW = [
    '{"a": NaN}',
    '{"a": 1e999}',
    '{"a": 1, "a": 2}',
    "[" * 5000,
    '{"a":' * 500 + "1" + "}" * 500,
    "\ufeff{}",
]
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32}
LLAMA = {"vocab_size": 512, "bos_token_id": 1, "eos_token_id": 2, "rope_scaling": YARN}
FILES = {
    **{f"{kind} run": ("config.json", "tokenizer.json") for kind in ("chars", "bytes", "bpe", "library")},
    "chars run": ("config.json", "tokenizer.json", "model.safetensors"),
    "gpt2": ("config.json", "tokenizer.json", "model.safetensors"),
    "llama": ("config.json", "tokenizer.json", "generation_config.json"),
    "bert": ("config.json", "tokenizer.json", "tokenizer_config.json"),
    "sharded": ("model.safetensors.index.json",),
}
CASES = [(name, file) for name, files in FILES.items() for file in files]


def trained(folder, tokenizer):
    """A run as a training leaves it; returns its checkpoint's folder."""
    shape = GPTConfig(tokenizer.vocab_size, context=4, n_layers=1, n_heads=1, d_model=4)
    parts = {"model": to_dict(shape), "train": {"lr": 0.1}, "data": {}, "progress": {}}
    return Run(folder).save(3, GPT(shape), tokenizer, {"family": "gpt", **parts}, {}, best=True)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Sound folders by name, and where in them the files lie. Whoever changes one puts it back."""
    base = tmp_path_factory.mktemp("sound")
    published = save(llama(**LLAMA), base / "llama", metaspace())
    import_folder(published, base / "library run")
    save(bert(), base / "bert", wordpiece())
    (base / "bert" / "tokenizer_config.json").write_text(json.dumps(WORDPIECE_ROLES), encoding="utf-8")
    save(gpt2(), base / "sharded", max_shard_size="10KB")
    places = {name: (base / name, base / name) for name in ("llama", "bert", "sharded")}
    places["gpt2"] = (base / "gpt2", save(gpt2(), base / "gpt2", byte_bpe()))
    places["library run"] = (base / "library run", base / "library run" / "step-0")
    for tokenizer in (CharTokenizer("abc字"), ByteTokenizer(), BPETokenizer.train(iter([TEXT]), 260)):
        folder = base / f"{tokenizer.kind} run"
        places[folder.name] = (folder, trained(folder, tokenizer))
    return places


def opened_or_refused(folder):
    """Whether a folder was opened; if not, what is said of it is one line that names it."""
    started = time.process_time()
    try:
        model, tokenizer = open_folder(folder).load("cpu")
        with contextlib.suppress(UserError):  # a character that the vocabulary lacks
            tokenizer.decode(tokenizer.encode("abc"))
        model(torch.zeros(1, 2, dtype=torch.long))
        said = None
    except UserError as error:
        said = str(error)
        assert str(folder) in said
        assert "\n" not in said
        assert len(said) < 500
    assert time.process_time() - started < SECONDS
    return said


def places_of(value):
    """Each object or list in a JSON value, with each of its keys; of a long one, the first."""
    if isinstance(value, dict | list):
        for key in list(value if isinstance(value, dict) else range(len(value)))[:40]:
            yield value, key
            yield from places_of(value[key])


@st.composite
def damaged_json(draw, text):
    value = json.loads(text)
    for _ in range(draw(st.integers(1, 2))):
        if places := list(places_of(value)):
            holder, key = draw(st.sampled_from(places))
            if draw(st.booleans()):
                holder[key] = deepcopy(draw(st.sampled_from(HOSTILE)))
            else:
                del holder[key]
    return json.dumps(value)


@st.composite
def damaged_bytes(draw, raw):
    start = draw(st.integers(0, len(raw) - 1))
    if draw(st.booleans()):
        return raw[:start]
    return raw[:start] + draw(st.binary(min_size=1, max_size=4)) + raw[start + 1 :]


@st.composite
def damaged_weights(draw, raw):
    """With a header that says something else of the same data, or a length of the header that is wrong."""
    end = 8 + int.from_bytes(raw[:8], "little")
    header = draw(damaged_json(raw[8:end].decode()) | st.sampled_from(RAW)).encode()
    length = draw(st.sampled_from([len(header)] * 4 + [0, len(header) - 1, 1 << 40, (1 << 64) - 1]))
    return length.to_bytes(8, "little") + header + raw[end:]


def damaged(path):
    raw = path.read_bytes()
    if path.suffix == ".safetensors":
        return damaged_bytes(raw) | damaged_weights(raw)
    whole = damaged_json(raw.decode()) | st.sampled_from(RAW)
    return whole.map(str.encode) | damaged_bytes(raw)


@pytest.mark.parametrize(("name", "file"), CASES)
def test_any_damage_is_refused_in_one_line_or_does_none(name, file, folders):
    folder, inside = folders[name]
    path, sound = inside / file, (inside / file).read_bytes()
    assert opened_or_refused(folder) is None
    seen = set()

    @settings(derandomize=True, deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))
    @given(damaged(path))
    def tried(raw):
        path.write_bytes(raw)
        seen.add(opened_or_refused(folder) is None)

    try:
        tried()
    finally:
        path.write_bytes(sound)
    assert False in seen


def refused(folder, path, raw):
    sound = path.read_bytes()
    path.write_bytes(raw if isinstance(raw, bytes) else raw.encode())
    try:
        said = opened_or_refused(folder)
    finally:
        path.write_bytes(sound)
    assert said is not None
    return said


def changed(path, **changes):
    return json.dumps({**json.loads(path.read_text(encoding="utf-8")), **changes})


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("gpt2", {"vocab_size": 10**30}, "vocab_size = 1000000000000000000000000000000 cannot be used"),
        ("gpt2", {"vocab_size": 10**12}, "vocab_size must be at most 16777216"),
        ("gpt2", {"n_layer": 10**12}, "n_layers must be at most 1024"),
        ("gpt2", {"n_layer": 200}, "lacks transformer.h.3."),
        ("gpt2", {"n_layer": 0}, "n_layers must be at least 1, not 0"),
        ("gpt2", {"n_embd": -24}, "d_model must be at least 1, not -24"),
        ("gpt2", {"n_embd": "24"}, 'n_embd = "24" cannot be used; expected a whole number'),
        ("gpt2", {"layer_norm_epsilon": 10**400}, "cannot be used; expected a number"),
        ("gpt2", {"model_type": ["gpt2"]}, 'model_type = ["gpt2"] cannot be used'),
        ("llama", {"head_dim": 1 << 24}, "n_heads * d_head must be at most 16777216"),
        ("llama", {"rope_scaling": "linear"}, 'rope_scaling = "linear" cannot be used; expected an object'),
        ("llama", {"rope_scaling": [YARN]}, "cannot be used; expected an object"),
        *(
            ("llama", {"rope_parameters": None, "rope_theta": 1e4, "rope_scaling": {**YARN, **rule}}, message)
            for rule, message in [
                ({"rope_type": 3}, "rope_scaling.rope_type = 3 cannot be used"),
                ({"factor": "4"}, 'rope_scaling.factor = "4" cannot be used'),
                ({"factor": 1e-300}, "factor must lie between 1e-06 and 1e+12"),
                ({"beta_slow": 1e-320}, "slow must lie between 1e-06 and 1e+12"),
                (
                    {"original_max_position_embeddings": 0},
                    "embeddings = 0 cannot be used; expected at least 1",
                ),
                ({"mscale": 1.0, "mscale_all_dim": -10 / 1.3862943611198906}, "config.json: "),
            ]
        ),
        ("llama", {"rope_parameters": None, "rope_theta": 1e300}, "rope_theta = 1e+300 cannot be used"),
        ("bert", {"type_vocab_size": 10**12}, "n_types must be at most 16777216"),
        ("bert", {"layer_norm_eps": -1.0}, "norm_eps must be above 0"),
    ],
)
def test_a_published_config_that_cannot_be_is_named(name, changes, message, folders):
    folder, _ = folders[name]
    said = refused(folder, folder / "config.json", changed(folder / "config.json", **changes))
    assert message in said


@pytest.mark.parametrize("name", ["gpt2", "llama", "library run", "bpe run"])
def test_a_prefix_that_would_bring_the_library_down_is_refused(name, folders):
    folder, inside = folders[name]
    path = inside / "tokenizer.json"
    whole = json.loads(path.read_text(encoding="utf-8"))
    whole.get("spec", whole)["model"]["continuing_subword_prefix"] = "x"
    assert "has a continuing_subword_prefix, which is not supp" in refused(folder, path, json.dumps(whole))


def test_what_is_not_read_may_be_anything(folders):
    folder, _ = folders["gpt2"]
    path, sound = folder / "config.json", (folder / "config.json").read_bytes()
    path.write_text(changed(path, architectures="GPT2LMHeadModel", id2label=[None]), encoding="utf-8")
    assert opened_or_refused(folder) is None
    path.write_bytes(sound)


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("gpt2", {"model": None}, "describes no tokenizer"),
        ("gpt2", {"pre_tokenizer": None}, "undoes a ByteLevel that is missing among its pre_tokenizers"),
        ("gpt2", {"decoder": None}, "its decoder is missing"),
        ("gpt2", {"added_tokens": 3}, "cannot be used: "),
        ("gpt2", {"model": {"type": "BPE", "vocab": {"\ud800": 0}, "merges": []}}, "is half a character"),
        ("bert", {"decoder": {"type": "WordPiece"}}, "cannot be used: "),
        (
            "bert",
            {
                "post_processor": {
                    "type": "TemplateProcessing",
                    "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}],
                    "pair": [],
                    "special_tokens": {},
                }
            },
            "its post_processor does not say what [CLS] is",
        ),
    ],
)
def test_a_published_tokenizer_that_cannot_be_is_named(name, changes, message, folders, capfd):
    folder, _ = folders[name]
    said = refused(folder, folder / "tokenizer.json", changed(folder / "tokenizer.json", **changes))
    assert message in said
    assert str(folder / "tokenizer.json") in said
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("ids", [["x"], [[0]], [True], [2.0], 5, None, [-1], [10**30]])
def test_roles_that_are_no_ids_are_refused(ids, folders):
    folder, inside = folders["library run"]
    path = inside / "tokenizer.json"
    roles = {**json.loads(path.read_text(encoding="utf-8"))["roles"], "eos": ids}
    assert "tokenizer.json cannot be used: " in refused(folder, path, changed(path, roles=roles))


DAMAGES = {
    "cut short": lambda sound: json.dumps(sound)[:-30],
    "no UTF-8": lambda sound: json.dumps(sound).encode() + b"\xff",
    "nested": lambda sound: "[" * 100_000,
    "Infinity": lambda sound: json.dumps({**sound, "train": {**sound["train"], "lr": float("inf")}}),
    "no train": lambda sound: json.dumps({**sound, "train": None}),
    "no data": lambda sound: json.dumps({key: value for key, value in sound.items() if key != "data"}),
    "family": lambda sound: json.dumps({**sound, "family": ["gpt"]}),
    "text for a number": lambda sound: json.dumps({**sound, "model": {**sound["model"], "n_layers": "4"}}),
    "layers": lambda sound: json.dumps({**sound, "model": {**sound["model"], "n_layers": 10**12}}),
    "width": lambda sound: json.dumps({**sound, "model": {**sound["model"], "d_model": 10**30}}),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_every_verb_names_a_damaged_config(damage, run_folder, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(run_folder, "run")
    Path("text.txt").write_text(TEXT, encoding="utf-8")
    for path in Path("run").glob("step-*/config.json"):
        raw = damage(json.loads(path.read_text(encoding="utf-8")))
        path.write_bytes(raw if isinstance(raw, bytes) else raw.encode())
    for words in (
        *(["info", "run"], ["generate", "run", "--seed", "1"], ["eval", "run", "text.txt"]),
        *(["train", "--resume", "run"], ["train", "--from", "run", "text.txt", "--out", "tuned"]),
        ["export", "run", "out"],
    ):
        monkeypatch.setattr(sys, "argv", ["glassformer", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capfd.readouterr()
        assert (ended.value.code, out, err.count("\n")) == (2, "", 1)
        assert err.startswith("glassformer: run/step-")
        assert "/config.json" in err
    assert not Path("tuned").exists()


@pytest.mark.parametrize(
    ("part", "changes", "message"),
    [
        ("train", {"lr": "fast"}, "lr = 'fast': expected a number"),
        ("train", {"seed": 10**30}, "seed = 1000"),
        ("data", {"valid_fraction": 2}, "DataConfig: valid_fraction must lie in"),
        ("progress", {"step": None}, "step = None: expected a whole number"),
    ],
)
def test_what_only_a_training_reads_names_the_file_too(part, changes, message, run_folder, tmp_path):
    from glassformer.training.start import resumed

    run = shutil.copytree(run_folder, tmp_path / "run")
    path = Run(run).checkpoint("last").folder / "config.json"
    sound = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**sound, part: {**sound[part], **changes}}), encoding="utf-8")
    with pytest.raises(UserError) as error:
        resumed(run)
    assert str(error.value).startswith(f"{path}: {message}")
