"""Folders: what is opened as what, what is refused, and that every verb takes them."""

import json
import os
import pickle
import re
import subprocess
import sys
import time

import pytest
import torch
import transformers
from safetensors.torch import load as load_bytes
from safetensors.torch import load_file, save_file

from glassformer.decoding.text import generate
from glassformer.errors import UserError
from glassformer.hub.export import import_folder
from glassformer.hub.folder import load, open_folder
from glassformer.store.run import Run
from published import (
    CLOSE,
    WORDPIECE_ROLES,
    bert,
    byte_bpe,
    configure,
    gpt2,
    llama,
    metaspace,
    save,
    theirs_greedy,
    tokens,
    wordpiece,
)

PROMPT = "the cat sees"


@pytest.fixture
def folder(tmp_path):
    return save(gpt2(), tmp_path / "gpt2")


@pytest.fixture
def encoder(tmp_path):
    save(bert(), tmp_path / "bert", wordpiece())
    (tmp_path / "bert" / "tokenizer_config.json").write_text(json.dumps(WORDPIECE_ROLES), encoding="utf-8")
    return tmp_path / "bert"


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def refused(folder):
    def opened_whole():
        opened = open_folder(folder)
        return opened.model(), opened.tokenizer()

    with pytest.raises(UserError) as error:
        opened_whole()
    assert "\n" not in str(error.value)
    return str(error.value)


def sharded(folder):
    """The weights of a folder in several files."""
    again = save(gpt2(), folder.with_name("sharded"), max_shard_size="10KB")
    assert len(list(again.glob("*.safetensors"))) > 3
    return again


def test_shards_are_one_model(folder):
    whole, parts = (load(path, device="cpu")[0] for path in (folder, sharded(folder)))
    assert all(torch.equal(a, b) for a, b in zip(whole.parameters(), parts.parameters(), strict=True))


def test_a_shard_that_is_missing_cut_or_wrong_is_named(folder):
    parts = sharded(folder)
    first, second = sorted(parts.glob("*.safetensors"))[:2]
    raw = second.read_bytes()
    second.write_bytes(raw[:-5])
    assert re.search(rf"{second.name} is damaged: {len(raw) - 5} bytes where its header says", refused(parts))
    second.unlink()
    assert f"{second.name}: No such file" in refused(parts)
    save_file(load_bytes(raw) | dict([load_file(first).popitem()]), second)
    assert " is also in another of the folder's files" in refused(parts)
    save_file({"x": torch.zeros(1)}, second)
    assert re.search(rf"{second.name} lacks .*, which model.safetensors.index.json promises", refused(parts))


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ("{", "is damaged: it is no JSON text"),
        ("[]", "is damaged: it holds no JSON object"),
        ("{}", "is damaged: it has no weight_map"),
        ('{"weight_map": ["a"]}', "is damaged: it has no weight_map"),
        *(
            (
                json.dumps({"weight_map": {"a": file}}),
                f"names {file!r}, which is no safetensors file of the fold",
            )
            for file in (
                3,
                None,
                [],
                "../other.safetensors",
                "/etc/passwd",
                "..",
                "",
                "a\0.safetensors",
                "a.bin",
            )
        ),
    ],
)
def test_a_damaged_index_is_named(index, message, folder):
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors.index.json").write_text(index, encoding="utf-8")
    assert message in refused(folder)


class Marker:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("with_config", [True, False])
def test_a_pickle_is_refused_and_never_run(with_config, folder, tmp_path):
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Marker(tmp_path / "ran")))
    if not with_config:
        (folder / "config.json").unlink()
    assert "pytorch_model.bin, a pickle, which may run code when it is opened: save it as safe" in refused(
        folder
    )
    assert not (tmp_path / "ran").exists()


def test_a_pickle_beside_safetensors_is_left_alone(folder, tmp_path):
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Marker(tmp_path / "ran")))
    open_folder(folder).model()
    assert not (tmp_path / "ran").exists()


def test_what_is_missing_or_damaged_is_named(folder, tmp_path):
    (folder / "tokenizer.json").rename(tmp_path / "kept")
    assert "gpt2 holds no tokenizer.json; save its tokenizer as a fast one" in refused(folder)
    for text in ("{", "[]", '{"model": null}'):
        (folder / "tokenizer.json").write_text(text, encoding="utf-8")
        assert re.search(r"tokenizer\.json (is damaged|describes no tokenizer)", refused(folder))
    (tmp_path / "kept").rename(folder / "tokenizer.json")
    raw = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(raw[:-1])
    assert "model.safetensors is damaged" in refused(folder)
    (folder / "model.safetensors").unlink()
    assert "holds no model.safetensors" in refused(folder)
    (folder / "config.json").write_text("[1]", encoding="utf-8")
    assert "config.json is damaged: it holds no JSON object" in refused(folder)
    (folder / "config.json").write_text("{", encoding="utf-8")
    assert "config.json is damaged: it is no JSON text" in refused(folder)
    (folder / "config.json").unlink()
    assert "is no run folder: it has no checkpoint" in refused(folder)
    assert "no such run folder" in refused(tmp_path / "nowhere")


def test_a_tokenizer_with_more_ids_than_the_model_is_refused(folder):
    tokenizer = byte_bpe()
    tokenizer.add_tokens([f"<{i}>" for i in range(4)])
    tokenizer.save(str(folder / "tokenizer.json"))
    assert "has ids up to 302, the model only 300 (vocab_size in config.json)" in refused(folder)


def test_who_says_which_token_ends_a_text(folder):
    def ends():
        return open_folder(folder).tokenizer().roles.get("eos")

    generation = folder / "generation_config.json"
    generation.write_text('{"eos_token_id": [5, 0]}', encoding="utf-8")
    assert ends() == (5, 0)
    generation.unlink()
    assert ends() == (0,)
    configure(folder, eos_token_id=None)
    assert "no token is named that ends a text" in refused(folder)
    described = {"eos_token": {"content": "<|begin|>", "lstrip": False}}
    (folder / "special_tokens_map.json").write_text(json.dumps(described), encoding="utf-8")
    assert ends() == (1,)
    (folder / "tokenizer_config.json").write_text('{"eos_token": "<|endoftext|>"}', encoding="utf-8")
    assert ends() == (0,)
    assert 'eos_token_id = "x" cannot be used' in refused(configure(folder, eos_token_id="x"))
    assert "it has no token 299, which is to be eos" in refused(configure(folder, eos_token_id=299))


def test_a_published_model_has_one_checkpoint(folder):
    assert open_folder(folder, "last").step == 0
    with pytest.raises(UserError, match="has no checkpoint 7: a published model has one set of weights"):
        open_folder(folder, "7")


def test_runs_are_opened_as_before(run_folder):
    assert open_folder(run_folder).step == Run(run_folder).checkpoint().step
    assert load(str(run_folder), "last", "cpu")[0].config == open_folder(run_folder).shape


def test_an_import_is_a_run_with_the_same_numbers(folder, tmp_path):
    before = content(folder)
    run = import_folder(folder, tmp_path / "runs" / "x")
    assert content(folder) == before
    assert sorted(p.name for p in run.iterdir()) == ["best", "last", "step-0"]
    (there, tokenizer), (here, same) = load(folder, device="cpu"), load(run, device="cpu")
    assert all(torch.equal(a, b) for a, b in zip(there.parameters(), here.parameters(), strict=True))
    assert tokenizer.to_json() == same.to_json()
    options = {"tokens": 8, "temperature": 0}
    assert generate(there, tokenizer, PROMPT, **options) == generate(here, same, PROMPT, **options)


def test_an_import_leaves_nothing_of_what_failed(folder, tmp_path, monkeypatch):
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").touch()
    with pytest.raises(UserError, match="taken is there already, and not empty"):
        import_folder(folder, tmp_path / "taken")
    run = import_folder(folder, tmp_path / "run")
    with pytest.raises(UserError, match="run is a run already"):
        import_folder(run, tmp_path / "again")
    with pytest.raises(UserError, match="run is there already"):
        import_folder(folder, run)

    def full(*words):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("glassformer.store.tensors.write", full)
    with pytest.raises(OSError, match="No space"):
        import_folder(folder, tmp_path / "a" / "b")
    with pytest.raises(UserError, match="n_layer"):
        import_folder(configure(folder, n_layer=None), tmp_path / "c")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["gpt2", "run", "taken"]


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_every_verb_takes_a_published_folder(kind, glassformer, tmp_path, monkeypatch, text_file):
    monkeypatch.chdir(tmp_path)
    if kind == "gpt2":
        tokenizer, theirs = byte_bpe(), gpt2()
        opening = []
    else:
        tokenizer = metaspace()
        theirs = llama(vocab_size=512, bos_token_id=1, eos_token_id=2)  # wider than its tokenizer
        opening = [1]
    folder = save(theirs, tmp_path / kind, tokenizer)

    code, out, err = glassformer(
        "generate", folder, "--prompt", PROMPT, "--tokens", 9, "--temperature", 0, "--seed", 1
    )
    assert (code, err) == (0, "")
    prompt = opening + tokenizer.encode(PROMPT, add_special_tokens=False).ids
    written = theirs_greedy(theirs, prompt, 9, tokenizer.get_vocab_size())[len(prompt) :]
    pieces = map(open_folder(folder).tokenizer().token_bytes, written)
    assert out == f"{PROMPT}{b''.join(pieces).decode('utf-8', 'replace')}\n"

    code, out, err = glassformer("eval", folder, text_file)
    assert (code, err) == (0, "")
    assert "nats per token" in out

    code, out, err = glassformer("look", folder, PROMPT, "-o", "page.html")
    assert (code, err) == (0, "")
    assert "sees" in (tmp_path / "page.html").read_text(encoding="utf-8")

    code, out, err = glassformer("info", folder)
    assert (code, err) == (0, "")
    assert "tokenizer library" in out
    assert "feed-forward" in out

    assert glassformer("import", folder, "run")[:2] == (0, "run\n")
    code, out, err = glassformer("train", "--resume", "run")
    assert code == 2
    assert err.startswith(
        "glassformer: run was imported, not trained: there is nothing to resume; --from run"
    )
    text_file.write_text("0123456789 " * 60, encoding="utf-8")
    settings = ["steps=2", "batch_size=2", "accumulate=1", "sample=4", "warmup=1"]
    code, out, err = glassformer("train", "--from", "run", text_file, "--out", "tuned", *settings)
    assert code == 0, err
    assert "tokens, context" in err
    assert glassformer("train", "--resume", "tuned", "--steps", 3)[0] == 0
    assert glassformer("generate", "tuned", "--tokens", 3, "--seed", 1)[0] == 0
    assert glassformer("train", "--from", folder, text_file, "--out", "again", *settings)[0] == 0
    assert glassformer("export", "tuned", "out")[:2] == (0, "out\n")
    again = transformers.AutoModelForCausalLM.from_pretrained("out")
    ids = tokens(n=20)
    torch.testing.assert_close(again(ids).logits, load("tuned", "best", "cpu")[0](ids)[0], **CLOSE)


def test_eval_is_the_loss_that_transformers_would_tell(glassformer, tmp_path):
    theirs, tokenizer = llama(vocab_size=512, bos_token_id=1, eos_token_id=2), metaspace()
    folder = save(theirs, tmp_path / "llama", tokenizer)
    text = tmp_path / "text.txt"
    text.write_text("the cat sees the mouse", encoding="utf-8")
    ids = torch.tensor([tokenizer.encode(text.read_text(encoding="utf-8")).ids])
    code, out, _ = glassformer("eval", folder, text)
    assert code == 0
    told = float(re.search(r"loss +([\d.]+)", out)[1])
    assert told == pytest.approx(theirs(ids, labels=ids).loss.item(), abs=1e-4)


def test_a_rotary_model_may_be_tuned_on_shorter_windows(glassformer, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save(llama(), tmp_path / "llama"), save(gpt2(), tmp_path / "gpt2")
    (tmp_path / "short.txt").write_text("the cat sees the mouse. " * 8, encoding="utf-8")
    words = ["short.txt", "steps=1", "sample=0", "batch_size=1", "accumulate=1", "context=16"]
    assert glassformer("train", "--from", "llama", *words, "--out", "tuned")[0] == 0
    assert load("tuned", device="cpu")[0].config.context == 16
    code, _, err = glassformer("train", "--from", "gpt2", *words, "--out", "other")
    assert code == 2
    assert "a fine-tuned model keeps its shape: context stays 64" in err
    assert not (tmp_path / "other").exists()


def test_an_encoder_says_that_it_does_not_write(encoder, glassformer, tmp_path, text_file, monkeypatch):
    monkeypatch.chdir(tmp_path)
    import_folder(encoder, tmp_path / "run")
    for folder in (encoder, tmp_path / "run"):
        code, out, err = glassformer("generate", folder, "--seed", 1)
        assert (code, out) == (2, "")
        assert err.startswith(f"glassformer: {folder}")
        assert err.endswith(" is an encoder: it reads a text, but has no next token to write\n")
        code, out, err = glassformer("eval", folder, text_file)
        assert (code, out) == (2, "")
        assert "this encoder has no head that tells hidden tokens" in err
        code, out, _ = glassformer("info", folder)
        assert code == 0
        assert re.search(r"pooler +1,056", out)
        assert "reading it" in out
    model, tokenizer = load(tmp_path / "run", device="cpu")
    ids = torch.tensor([tokenizer.encode_wrapped(PROMPT).tolist()])
    torch.testing.assert_close(model(ids), bert()(ids).last_hidden_state, **CLOSE)


@pytest.mark.slow
def test_the_shape_of_gpt2_opens_in_a_moment(tmp_path):
    with torch.device("meta"):
        theirs = transformers.GPT2LMHeadModel(transformers.GPT2Config(bos_token_id=0, eos_token_id=0))
    weights = {name: torch.zeros(w.shape) for name, w in theirs.named_parameters()}
    theirs.config.save_pretrained(tmp_path)
    save_file(weights, tmp_path / "model.safetensors")
    byte_bpe().save(str(tmp_path / "tokenizer.json"))
    started = time.perf_counter()
    model, _ = load(tmp_path, device="cpu")
    assert time.perf_counter() - started < 5
    assert sum(p.numel() for p in model.parameters()) == 124_439_808


def test_no_random_weights_are_drawn_to_open_a_model(folder, run_folder):
    before = torch.get_rng_state()
    open_folder(folder).model()
    open_folder(run_folder).model()
    assert torch.equal(torch.get_rng_state(), before)


def test_opening_a_model_imports_nothing_that_takes_seconds(folder):
    code = "import sys; from glassformer.hub.folder import load; load(sys.argv[1]); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, check=True)
    assert not {"transformers", "sympy", "torch._dynamo"} & set(done.stdout.split())
