"""What is trained here, opened by `transformers`: or, where no family has its shape, told why not."""

import dataclasses
import json

import pytest
import torch
import transformers

from conftest import TEXT
from glassformer.config import to_dict
from glassformer.data.tokenizers import (
    CLS,
    ENCODING,
    END,
    MASK,
    BPETokenizer,
    ByteTokenizer,
    CharTokenizer,
    choose,
)
from glassformer.decoding.text import generate
from glassformer.errors import UserError
from glassformer.hub.export import export, import_folder
from glassformer.hub.folder import load, open_folder
from glassformer.hub.spec import spec_of, special_ids, special_tokens
from glassformer.models import GPT, GPTConfig, Llama, LlamaConfig
from glassformer.models.presets import PRESETS
from glassformer.store.run import Run
from published import CLOSE, SCRIPTS, byte_bpe, llama, metaspace, save

GPT2_SHAPED = {"norm": "layernorm", "positions": "learned", "bias": True}
TOKENIZERS = {
    "chars": CharTokenizer({*"".join(SCRIPTS), *TEXT}),
    "bytes": ByteTokenizer(),
    "bpe": BPETokenizer.train(iter([TEXT, *SCRIPTS]), 400),
}


def run_of(folder, config, tokenizer=None, step=1):
    torch.manual_seed(0)
    settings = {"family": "gpt", "model": to_dict(config)}
    Run(folder).save(step, GPT(config), tokenizer or ByteTokenizer(), settings, {}, best=True)
    return folder


def small(vocab_size=257, **changes):
    return GPTConfig(
        vocab_size, **{"context": 64, "n_layers": 2, "n_heads": 2, "d_model": 16, **GPT2_SHAPED, **changes}
    )


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_ids_text_and_what_is_written_are_the_same_there(kind, tmp_path):
    tokenizer = TOKENIZERS[kind]
    run = run_of(tmp_path / "run", small(tokenizer.vocab_size), tokenizer)
    out = export(open_folder(run), tmp_path / "out")
    theirs = transformers.AutoTokenizer.from_pretrained(out)
    for text in SCRIPTS:
        ids = theirs(text).input_ids
        assert ids == tokenizer.encode(text).tolist()
        assert theirs.decode(ids) == text
    assert theirs.eos_token_id == tokenizer.end
    assert (
        theirs("a<|endoftext|>").input_ids == tokenizer.encode("a<|endoftext|>", allow_special=True).tolist()
    )

    model, same = load(run, device="cpu")
    ours = generate(model, same, "the cat", tokens=20, temperature=0)
    there = transformers.AutoModelForCausalLM.from_pretrained(out)
    inputs = theirs("the cat", return_tensors="pt")
    written = there.generate(**inputs, max_new_tokens=20, do_sample=False, pad_token_id=tokenizer.end)
    assert theirs.decode(written[0], skip_special_tokens=True) == "the cat" + ours

    back, again = load(out, device="cpu")
    assert generate(back, again, "the cat", tokens=20, temperature=0) == ours
    for text in SCRIPTS:
        assert again.encode(text).tolist() == tokenizer.encode(text).tolist()
        assert again.decode(again.encode(text)) == text
        assert again.labels(again.encode(text)) == tokenizer.labels(tokenizer.encode(text))


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_an_encoder_s_tokenizer_goes_out_with_what_it_puts_around_a_text(kind, tmp_path):
    tokenizer = choose(kind, lambda: iter(["".join(SCRIPTS) + TEXT]), 400, ENCODING)
    spec = spec_of(tokenizer)
    (tmp_path / "tokenizer.json").write_text(spec, encoding="utf-8")
    roles = {name.removesuffix("_token"): token for name, token in special_tokens(tokenizer).items()}
    assert roles == {"cls": CLS, "sep": END, "pad": END, "mask": MASK}
    assert special_ids(tokenizer) == {"pad_token_id": tokenizer.end}
    theirs = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(tmp_path / "tokenizer.json"), **special_tokens(tokenizer)
    )
    for text in SCRIPTS:
        assert theirs(text).input_ids == tokenizer.encode_wrapped(text).tolist()
    assert theirs(f"a{MASK}b").input_ids.count(tokenizer.mask) == 1
    assert (theirs.mask_token_id, theirs.pad_token_id) == (tokenizer.mask, tokenizer.end)


@pytest.mark.parametrize(
    ("tokenizer", "ids"),
    [(byte_bpe(bos=True), {"bos": 1, "eos": 0}), (metaspace(), {"bos": 1, "eos": 2, "pad": 0})],
)
def test_a_foreign_tokenizer_goes_out_as_it_came_in(tokenizer, ids, tmp_path):
    roles = {f"{role}_token_id": token for role, token in ids.items()}
    folder = save(llama(vocab_size=512, **roles), tmp_path / "in", tokenizer)
    out = export(open_folder(import_folder(folder, tmp_path / "run")), tmp_path / "out")
    before, after = (json.loads((f / "tokenizer.json").read_text(encoding="utf-8")) for f in (folder, out))
    assert before == after
    theirs = transformers.AutoTokenizer.from_pretrained(out)
    for role, token in ids.items():
        assert getattr(theirs, f"{role}_token_id") == token
        settings = json.loads((out / "generation_config.json").read_text(encoding="utf-8"))
        assert settings[f"{role}_token_id"] == token
    for text in SCRIPTS:
        assert theirs(text).input_ids == load(out, device="cpu")[1].encode(text).tolist()


def test_several_ends_go_out(tmp_path):
    folder = save(llama(), tmp_path / "in")
    (folder / "generation_config.json").write_text('{"eos_token_id": [1, 0]}', encoding="utf-8")
    out = export(open_folder(folder), tmp_path / "out")
    assert transformers.GenerationConfig.from_pretrained(out).eos_token_id == [1, 0]
    assert load(out, device="cpu")[1].end == 1


@pytest.mark.parametrize("preset", PRESETS)
def test_the_presets_have_no_family_there(preset, tmp_path):
    config = dataclasses.replace(PRESETS[preset](257), n_layers=1, n_heads=2, d_model=16)
    opened = open_folder(run_of(tmp_path / "run", config))
    with pytest.raises(UserError) as error:
        export(opened, tmp_path / "out")
    assert str(error.value).endswith(
        "no family of transformers has this shape; for gpt2: norm=rmsnorm (needs layernorm), "
        "positions=rotary (needs learned), bias=False (needs True); for llama: activation=gelu (needs swiglu)"
    )
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"norm_order": "post"}, r"gpt2: norm_order=post \(needs pre\); for llama: norm=layernorm"),
        ({"n_kv_heads": 1}, r"gpt2: n_kv_heads=1 \(needs 2\);"),
        ({"activation": "swiglu"}, r"gpt2: activation=swiglu \(needs gelu or gelu_tanh or relu\);"),
        (
            {"norm": "rmsnorm", "positions": "rotary", "rotary_style": "interleaved", "activation": "swiglu"},
            r"for llama: rotary_style=interleaved \(needs half\)$",
        ),
        (
            {"positions": "relative"},
            r"positions=relative \(needs learned\).*positions=relative \(needs rotary\)",
        ),
        ({"positions": "none"}, r"positions=none \(needs learned\)"),
    ],
)
def test_what_stands_in_the_way_is_named(changes, message, tmp_path):
    opened = open_folder(run_of(tmp_path / "run", small(**changes)))
    with pytest.raises(UserError, match=message) as error:
        export(opened, tmp_path / "out")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"output_bias": True}, "output_bias=True without bias"),
        ({"bias": True, "qk_norm": True}, "bias=True without output_bias, beside qk_norm or ffn_bias"),
        ({"bias": True, "ffn_bias": True}, "bias=True without output_bias, beside qk_norm or ffn_bias"),
        ({"ffn_bias": True, "qk_norm": True}, "qk_norm=True beside ffn_bias=True"),
    ],
)
def test_a_llama_like_none_is_named(changes, message, tmp_path):
    config = LlamaConfig(257, 32, 1, 2, 1, 8, 4, 8, 1e-5, 1e4, **changes)
    settings = {"family": "llama", "model": to_dict(config)}
    Run(tmp_path / "run").save(0, Llama(config), ByteTokenizer(), settings, {}, best=True)
    with pytest.raises(UserError, match=message):
        export(open_folder(tmp_path / "run"), tmp_path / "out")


def test_a_folder_that_is_taken_is_left_as_it_is(tmp_path):
    opened = open_folder(run_of(tmp_path / "run", small()))
    (tmp_path / "out").mkdir()
    export(opened, tmp_path / "out")  # an empty one is free
    before = sorted((tmp_path / "out").iterdir())
    assert [path.name for path in before] == [
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    ]
    with pytest.raises(UserError, match="out is there already, and not empty"):
        export(opened, tmp_path / "out")
    with pytest.raises(UserError, match=r"config\.json is there already"):
        export(opened, tmp_path / "out" / "config.json")
    assert sorted((tmp_path / "out").iterdir()) == before


def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch):
    opened = open_folder(run_of(tmp_path / "run", small()))

    def full(*words):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("glassformer.hub.export.write_text", full)
    with pytest.raises(OSError, match="No space"):
        export(opened, tmp_path / "a" / "b" / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_checkpoint_may_be_chosen(tmp_path):
    run_of(tmp_path / "run", small())
    torch.manual_seed(7)
    config = small()
    settings = {"family": "gpt", "model": to_dict(config)}
    last = GPT(config).eval()
    Run(tmp_path / "run").save(2, last, ByteTokenizer(), settings, {}, best=False)
    out = export(open_folder(tmp_path / "run", "last"), tmp_path / "out")
    ids = torch.arange(20)[None]
    theirs = transformers.AutoModelForCausalLM.from_pretrained(out)
    torch.testing.assert_close(theirs(ids).logits, last(ids)[0], **CLOSE)
