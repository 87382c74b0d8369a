"""GPT-2, in and out: the numbers of `transformers`."""

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from glassformer.errors import UserError
from glassformer.hub.export import export, import_folder
from glassformer.hub.folder import load, open_folder
from glassformer.models import GPT, GPTConfig
from published import CLOSE, V, configure, gpt2, greedy, left_padded, save, theirs_greedy, tokens

CONFIGS = {
    "as published": {},
    "exact gelu, another eps": {"activation_function": "gelu", "layer_norm_epsilon": 1e-3},
    "relu, narrow": {"activation_function": "relu", "n_inner": 16},
    "default inner, one head": {"n_inner": None, "n_head": 1},
    "untied": {"tie_word_embeddings": False},
    "upcast, tanh by its other name": {
        "reorder_and_upcast_attn": True,
        "activation_function": "gelu_pytorch_tanh",
    },
}
EVERY = pytest.mark.parametrize("changes", CONFIGS.values(), ids=CONFIGS)


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    return save(gpt2(), tmp_path_factory.mktemp("gpt2"))


@pytest.fixture
def folder(tmp_path):
    """One that may be changed."""
    return save(gpt2(), tmp_path / "gpt2")


@EVERY
def test_logits_greedy_and_padding_agree(changes, tmp_path):
    theirs = gpt2(**changes)
    model, _ = load(save(theirs, tmp_path), device="cpu")
    assert isinstance(model, GPT)
    assert not model.training
    ids = tokens(n=64)
    for backend in ("fused", "reference"):
        torch.testing.assert_close(model(ids, backend=backend)[0], theirs(ids).logits, **CLOSE)
    prompts = [ids[0, :9].tolist(), ids[1, :5].tolist()]
    assert greedy(model, prompts, 20) == [theirs_greedy(theirs, prompt, 20) for prompt in prompts]
    padded, valid, positions = left_padded([7, 12, 1], 12)
    expected = theirs(padded, attention_mask=valid.long(), position_ids=positions).logits
    torch.testing.assert_close(model(padded, valid_bn=valid)[0][valid], expected[valid], **CLOSE)


@EVERY
def test_out_again_it_is_the_same_model(changes, tmp_path):
    theirs = gpt2(**changes)
    run = import_folder(save(theirs, tmp_path / "in"), tmp_path / "run")
    out = export(open_folder(run), tmp_path / "out")
    again = transformers.GPT2LMHeadModel.from_pretrained(out)
    ids = tokens(n=64)
    torch.testing.assert_close(again(ids).logits, theirs(ids).logits, **CLOSE)
    before, after = (load_file(path / "model.safetensors") for path in (tmp_path / "in", out))
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)
    torch.testing.assert_close(load(out, device="cpu")[0](ids)[0], theirs(ids).logits, **CLOSE)


@pytest.mark.parametrize("activation", ["gelu", "gelu_tanh", "relu"])
@pytest.mark.parametrize("tied", [True, False])
def test_a_model_trained_here_goes_out(activation, tied, tmp_path):
    from glassformer.data.tokenizers import ByteTokenizer
    from glassformer.hub.export import export
    from glassformer.store.run import Run

    torch.manual_seed(0)
    shape = {"n_layers": 2, "n_heads": 2, "d_model": 16, "context": 32, "n_kv_heads": 2, "norm_eps": 1e-4}
    like = {"norm": "layernorm", "positions": "learned", "bias": True}
    config = GPTConfig(257, activation=activation, tie_embeddings=tied, **shape, **like)
    model = GPT(config).eval()
    settings = {"family": "gpt", "model": vars(config)}
    Run(tmp_path / "run").save(3, model, ByteTokenizer(), settings, {}, best=True)
    theirs = transformers.AutoModelForCausalLM.from_pretrained(
        export(open_folder(tmp_path / "run"), tmp_path / "out")
    )
    ids = tokens(n=32) % 257
    torch.testing.assert_close(theirs(ids).logits, model(ids)[0], **CLOSE)
    assert (theirs.config.eos_token_id, theirs.generation_config.eos_token_id) == (256, 256)


@pytest.mark.parametrize("head", [True, False])
def test_names_without_their_prefix_and_masks_beside_the_weights(head, folder):
    path = folder / "model.safetensors"
    weights = load_file(path)
    if not head:
        weights = {name.removeprefix("transformer."): weight for name, weight in weights.items()}
    weights["transformer.h.0.attn.bias" if head else "h.0.attn.bias"] = torch.ones(1, 1, 64, 64).tril().bool()
    weights["transformer.h.2.attn.masked_bias" if head else "h.2.attn.masked_bias"] = torch.tensor(-1e4)
    save_file(weights, path)
    ids = tokens(n=64)
    torch.testing.assert_close(load(folder, device="cpu")[0](ids)[0], gpt2()(ids).logits, **CLOSE)


def test_square_projections_are_transposed(sound):
    """A square matrix fits either way: only the numbers tell."""
    theirs = load_file(sound / "model.safetensors")["transformer.h.0.attn.c_proj.weight"]
    ours = open_folder(sound).model().blocks[0].attention.output.weight
    assert torch.equal(ours, theirs.T)
    assert ours.is_contiguous()


def test_dropout_is_taken_where_all_kinds_agree(folder):
    assert open_folder(folder).shape.dropout == 0.1
    assert open_folder(configure(folder, attn_pdrop=0.2)).shape.dropout == 0.0


REFUSED = [
    ({"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx = true .*only false"),
    ({"scale_attn_weights": False}, "scale_attn_weights = false .*only true"),
    ({"add_cross_attention": True}, "add_cross_attention = true"),
    ({"activation_function": "silu"}, 'activation_function = "silu" .*supported: gelu, gelu_new'),
    ({"activation_function": None}, "lacks activation_function"),
    ({"layer_norm_epsilon": None}, "lacks layer_norm_epsilon"),
    ({"layer_norm_epsilon": "1e-5"}, 'layer_norm_epsilon = "1e-5" .*expected a number'),
    ({"n_layer": None}, "lacks n_layer"),
    ({"n_layer": 2.5}, r"n_layer = 2\.5 .*expected a whole number"),
    ({"n_layer": True}, "n_layer = true .*expected a whole number"),
    ({"n_head": 5}, "n_heads = 5 must divide d_model = 24"),
    ({"n_head": 0}, "n_heads must be at least 1"),
    ({"tie_word_embeddings": "yes"}, 'tie_word_embeddings = "yes" .*expected true or false'),
    ({"model_type": "gpt_neox"}, 'model_type = "gpt_neox" .*supported: gpt2, llama, qwen2, qwen3, bert'),
    ({"model_type": None}, "lacks model_type"),
    ({"quantization_config": {"bits": 4}}, 'quantization_config = {"bits": 4}'),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED, ids=[str(changes) for changes, _ in REFUSED])
def test_settings_that_are_not_supported_are_named(changes, message, folder):
    with pytest.raises(UserError, match=rf"config\.json:? .*{message}|config\.json: {message}") as error:
        open_folder(configure(folder, **changes))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda w: w.pop("transformer.h.1.mlp.c_fc.bias"), r"lacks transformer\.h\.1\.mlp\.c_fc\.bias"),
        (lambda w: w.pop("transformer.wte.weight"), r"lacks transformer\.wte\.weight"),
        (
            lambda w: w.update({"transformer.h.3.ln_1.weight": torch.ones(24)}),
            r"the model has no place for transformer\.h\.3\.ln_1\.weight",
        ),
        (lambda w: w.update({"score.weight": torch.ones(2, 24)}), "the model has no place for score.weight"),
        (
            lambda w: w.update({"transformer.h.0.attn.c_attn.weight": torch.ones(72, 24)}),
            r"c_attn\.weight has shape \(72, 24\), config\.json asks for \(24, 72\)",
        ),
        (
            lambda w: w.update({"transformer.h.0.attn.c_attn.bias": torch.ones(73)}),
            r"c_attn\.bias has shape \(73,\), config\.json asks for \(72,\)",
        ),
        (lambda w: w.update({"wte.weight": torch.ones(V, 24)}), r"holds transformer\.wte\.weight twice"),
        (
            lambda w: w.update({"lm_head.weight": torch.ones(V, 24)}),
            r"lm_head\.weight differs from the embedding, though config\.json ties them",
        ),
        (
            lambda w: w.update({"transformer.wpe.weight": torch.ones(64, 24, dtype=torch.int8)}),
            r"transformer\.wpe\.weight is stored as torch\.int8; supported: torch\.float64",
        ),
    ],
)
def test_weights_that_do_not_fit_are_named(change, message, folder):
    path = folder / "model.safetensors"
    weights = load_file(path)
    change(weights)
    save_file(weights, path)
    with pytest.raises(UserError, match=message) as error:
        open_folder(folder).model()
    assert "\n" not in str(error.value)


def test_an_untied_checkpoint_needs_its_head_and_a_tied_one_may_hold_it(folder):
    path = folder / "model.safetensors"
    weights = load_file(path)
    with pytest.raises(UserError, match=r"lacks lm_head\.weight"):
        open_folder(configure(folder, tie_word_embeddings=False)).model()
    save_file({**weights, "lm_head.weight": weights["transformer.wte.weight"].clone()}, path)
    untied = open_folder(folder).model()
    assert untied.head.weight is not untied.embedding.weight
    tied = open_folder(configure(folder, tie_word_embeddings=True)).model()
    assert tied.head.weight is tied.embedding.weight
    assert sum(p.numel() for p in untied.parameters()) == sum(p.numel() for p in tied.parameters()) + V * 24
