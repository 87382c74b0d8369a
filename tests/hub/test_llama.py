"""Llama, Qwen2 and Qwen3, in and out: the numbers of `transformers`."""

import json

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from glassformer.config import to_dict
from glassformer.data.tokenizers import ByteTokenizer
from glassformer.errors import UserError
from glassformer.hub.export import export, import_folder
from glassformer.hub.folder import load, open_folder
from glassformer.models import GPT, GPTConfig, Llama
from glassformer.nn.scaling import Dynamic, Linear, Llama3, Yarn
from glassformer.store.run import Run
from published import CLOSE, V, configure, greedy, left_padded, llama, save, theirs_greedy, tokens

LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32}


def ruled(**rule: object) -> dict[str, object]:
    return {"rope_parameters": {"rope_theta": 500.0, **rule}}


CONFIGS = {
    "llama": ("Llama", {}),
    "one head for all": ("Llama", {"num_key_value_heads": 1, "rms_norm_eps": 1e-2}),
    "heads not grouped, tied": ("Llama", {"num_key_value_heads": 4, "tie_word_embeddings": True}),
    "wide heads": ("Llama", {"head_dim": 20}),
    "biases everywhere": ("Llama", {"attention_bias": True, "mlp_bias": True}),
    "another base": ("Llama", ruled(rope_type="default")),
    "linear": ("Llama", ruled(rope_type="linear", factor=3.0)),
    "dynamic": ("Llama", ruled(rope_type="dynamic", factor=2.0)),
    "llama3": ("Llama", ruled(**LLAMA3, original_max_position_embeddings=32)),
    "llama3 from the context": ("Llama", ruled(**LLAMA3)),
    "yarn": ("Llama", ruled(**YARN)),
    "yarn, told all": (
        "Llama",
        ruled(**YARN, attention_factor=1.3, beta_fast=16.0, beta_slow=2.0, truncate=False) | {"head_dim": 16},
    ),
    "yarn, two scales": ("Llama", ruled(**YARN, mscale=0.7, mscale_all_dim=0.4)),
    "qwen2": ("Qwen2", {}),
    "qwen2 tied, yarn": ("Qwen2", ruled(**YARN) | {"tie_word_embeddings": True}),
    "qwen2 with a window as wide as the context": (
        "Qwen2",
        {"use_sliding_window": True, "sliding_window": 128},
    ),
    "qwen3": ("Qwen3", {"head_dim": 12}),
    "qwen3 with biases, tied": (
        "Qwen3",
        {"head_dim": 8, "attention_bias": True, "tie_word_embeddings": True, "num_key_value_heads": 4},
    ),
}
EVERY = pytest.mark.parametrize(("kind", "changes"), CONFIGS.values(), ids=CONFIGS)


@pytest.fixture
def folder(tmp_path):
    return save(llama(), tmp_path / "llama")


@EVERY
def test_logits_greedy_and_padding_agree(kind, changes, tmp_path):
    theirs = llama(kind, **changes)
    model, _ = load(save(theirs, tmp_path), device="cpu")
    assert isinstance(model, Llama)
    ids = tokens(n=128)
    for backend in ("fused", "reference"):
        torch.testing.assert_close(model(ids, backend=backend)[0], theirs(ids).logits, **CLOSE)
    prompts = [ids[0, :9].tolist(), ids[1, :5].tolist()]
    assert greedy(model, prompts, 20) == [theirs_greedy(theirs, prompt, 20) for prompt in prompts]
    padded, valid, positions = left_padded([7, 12, 1], 12)
    expected = theirs(padded, attention_mask=valid.long(), position_ids=positions).logits
    torch.testing.assert_close(model(padded, valid_bn=valid)[0][valid], expected[valid], **CLOSE)


@EVERY
def test_out_again_it_is_the_same_model(kind, changes, tmp_path):
    theirs = llama(kind, **changes)
    run = import_folder(save(theirs, tmp_path / "in"), tmp_path / "run")
    out = export(open_folder(run), tmp_path / "out")
    again = transformers.AutoModelForCausalLM.from_pretrained(out)
    assert type(again) is type(theirs)
    ids = tokens(n=128)
    torch.testing.assert_close(again(ids).logits, theirs(ids).logits, **CLOSE)
    before, after = (load_file(path / "model.safetensors") for path in (tmp_path / "in", out))
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)
    torch.testing.assert_close(load(out, device="cpu")[0](ids)[0], theirs(ids).logits, **CLOSE)


@pytest.mark.parametrize("rule", [{}, {**LLAMA3, "original_max_position_embeddings": 512}, YARN])
def test_far_positions_agree(rule, tmp_path):
    """A frequency that is off by its last bit shows only here."""
    theirs = llama(max_position_embeddings=4096, rope_parameters={"rope_theta": 1e6, **rule})
    ids = tokens(b=1, n=4000)
    model, _ = load(save(theirs, tmp_path), device="cpu")
    torch.testing.assert_close(model(ids)[0], theirs(ids).logits, **CLOSE)


def test_older_spellings_mean_the_same(folder, tmp_path):
    """`rope_theta` and `rope_scaling` at the top, `type` for `rope_type`, null for what is not there."""
    theirs = llama(**ruled(**LLAMA3, original_max_position_embeddings=32))
    newer = open_folder(save(theirs, tmp_path / "newer"))
    rule = {"type": "llama3", **LLAMA3, "original_max_position_embeddings": 32, "rope_type": None}
    older = {"rope_theta": 500.0, "rope_scaling": rule, "rope_parameters": None}
    assert open_folder(configure(folder, **older)).shape == newer.shape
    older["rope_scaling"] = {key: value for key, value in rule.items() if "original" not in key}
    assert open_folder(configure(folder, **older, original_max_position_embeddings=32)).shape == newer.shape
    plain = open_folder(configure(folder, rope_theta=500.0, rope_scaling={}, rope_parameters={})).shape
    assert (plain.rotary_base, plain.scaling) == (500.0, None)


def test_rules_are_read_as_they_are_written(folder):
    def rule(**values):
        return open_folder(configure(folder, rope_parameters={"rope_theta": 1e4, **values})).shape.scaling

    assert rule(rope_type="linear", factor=2) == Linear(2.0)
    assert rule(rope_type="dynamic", factor=2.0, original_max_position_embeddings=128) == Dynamic(2.0)
    assert rule(**LLAMA3) == Llama3(8.0, 1.0, 4.0, 128)
    assert rule(**YARN) == Yarn(4.0, 32, 1 + 0.1 * 1.3862943611198906)
    assert rule(**{**YARN, "factor": None}) == rule(**YARN)  # the quotient of the contexts
    assert rule(**{**YARN, "factor": 0.5}).attention_factor == 1.0


def test_what_was_computed_from_settings_may_lie_beside_the_weights(folder):
    path = folder / "model.safetensors"
    weights = load_file(path)
    weights["model.layers.0.self_attn.rotary_emb.inv_freq"] = torch.ones(4)
    save_file(weights, path)
    assert open_folder(folder).model()(tokens())[0].isfinite().all()


def test_without_its_head_a_tied_model_is_whole(tmp_path):
    theirs = llama(tie_word_embeddings=True)
    model, _ = load(save(theirs.model, tmp_path), device="cpu")
    torch.testing.assert_close(model(tokens())[0], theirs(tokens()).logits, **CLOSE)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_other_dtypes_come_in_as_float32(dtype, tmp_path):
    model, _ = load(save(llama().to(dtype), tmp_path), device="cpu")
    assert {weight.dtype for weight in model.parameters()} == {torch.float32}
    theirs = transformers.LlamaForCausalLM.from_pretrained(tmp_path, dtype=torch.float32)
    torch.testing.assert_close(model(tokens())[0], theirs(tokens()).logits, **CLOSE)


def test_beyond_the_context_dynamic_rotation_has_no_numbers(tmp_path):
    model, _ = load(save(llama(**ruled(rope_type="dynamic", factor=2.0)), tmp_path), device="cpu")
    with pytest.raises(ValueError, match="position 128 lies past the range of its frequencies of 128"):
        model(tokens(n=129))


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("tied", [False, True])
def test_a_model_trained_here_goes_out(bias, tied, tmp_path):
    torch.manual_seed(0)
    shape = {"n_layers": 2, "n_heads": 4, "n_kv_heads": 2, "d_model": 24, "context": 32, "rotary_base": 123.0}
    config = GPTConfig(257, activation="swiglu", bias=bias, tie_embeddings=tied, norm_eps=1e-3, **shape)
    model = GPT(config).eval()
    settings = {"family": "gpt", "model": to_dict(config)}
    Run(tmp_path / "run").save(3, model, ByteTokenizer(), settings, {}, best=True)
    out = export(open_folder(tmp_path / "run"), tmp_path / "out")
    theirs = transformers.AutoModelForCausalLM.from_pretrained(out)
    assert theirs.config.model_type == "llama"
    ids = tokens(n=32) % 257
    torch.testing.assert_close(theirs(ids).logits, model(ids)[0], **CLOSE)
    torch.testing.assert_close(load(out, device="cpu")[0](ids)[0], model(ids)[0], **CLOSE)


REFUSED = [
    ({"hidden_act": "gelu"}, 'hidden_act = "gelu" .*only "silu"'),
    ({"hidden_act": None}, "lacks hidden_act"),
    ({"rms_norm_eps": None}, "lacks rms_norm_eps"),
    ({"rope_parameters": None}, r"lacks rope_theta \(where a checkpoint is older than this key, write 10000"),
    (
        {"sliding_window": 64},
        "sliding_window = 64 .*only full attention is supported, and the context is 128",
    ),
    (
        {"layer_types": ["full_attention", "sliding_attention"], "sliding_window": 64},
        "sliding_window = 64 .*only full attention",
    ),
    ({"layer_types": ["full_attention", "chunked_attention"]}, "layer_types .*supported: full_attention"),
    ({"partial_rotary_factor": 0.5}, "partial_rotary_factor = 0.5 .*only 1.0"),
    ({"num_key_value_heads": 3}, "n_kv_heads = 3 must divide n_heads = 4"),
    ({"head_dim": 7}, "even d_head, not 7"),
    ({"num_attention_heads": 0, "head_dim": None}, "n_heads must be at least 1"),
    ({"rope_parameters": "none"}, 'rope_parameters = "none" .*expected an object'),
    *(
        ({"rope_parameters": {"rope_theta": 1e4, **rule}}, message)
        for rule, message in [
            (
                {"rope_type": "longrope"},
                'rope_parameters.rope_type = "longrope" .*supported: default, linear',
            ),
            ({"type": "su"}, 'rope_parameters.type = "su" .*supported: default, linear'),
            ({"rope_type": "linear"}, "lacks rope_parameters.factor"),
            ({"rope_type": "linear", "factor": -1}, "factor must be above 0"),
            (
                {"rope_type": "default", "mrope_section": [1, 2]},
                "mrope_section = .*unknown to the rule 'default'",
            ),
            ({"rope_type": "default", "partial_rotary_factor": 0.5}, "partial_rotary_factor = 0.5"),
            ({**LLAMA3, "low_freq_factor": None}, "lacks rope_parameters.low_freq_factor"),
            ({**LLAMA3, "low_freq_factor": 5}, "low = 5.0 must be below high = 4.0"),
            ({**YARN, "beta_fast": 1}, "slow = 1.0 must be below fast = 1.0"),
            (
                {"rope_type": "dynamic", "factor": 2, "original_max_position_embeddings": 64},
                "original_max_position_embeddings = 64 .*expected the context, 128",
            ),
            (
                {"full_attention": {"rope_type": "default"}},
                "full_attention = .*unknown to the rule 'default'",
            ),
        ]
    ),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED, ids=[json.dumps(changes) for changes, _ in REFUSED])
def test_settings_that_are_not_supported_are_named(changes, message, folder):
    with pytest.raises(UserError, match=rf"config\.json.*{message}") as error:
        open_folder(configure(folder, **changes))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("changes", "refused"),
    [
        ({"use_sliding_window": True, "sliding_window": 64, "max_window_layers": 1}, True),
        ({"use_sliding_window": True, "sliding_window": 64, "max_window_layers": 2}, False),
        ({"use_sliding_window": True, "sliding_window": 128, "max_window_layers": 0}, False),
        ({"use_sliding_window": False, "sliding_window": 64, "max_window_layers": 0}, False),
        ({"sliding_window": 64}, False),
    ],
)
def test_a_window_counts_where_a_layer_has_it(changes, refused, tmp_path):
    folder = configure(save(llama("Qwen2"), tmp_path), layer_types=None, use_sliding_window=None)
    configure(folder, **changes)
    if refused:
        with pytest.raises(UserError, match="sliding_window = 64"):
            open_folder(folder)
    else:
        open_folder(folder)


@pytest.mark.parametrize(
    ("name", "shape", "message"),
    [
        ("model.layers.1.mlp.up_proj.weight", None, "lacks model.layers.1.mlp.up_proj.weight"),
        ("lm_head.weight", None, "lacks lm_head.weight"),
        ("model.layers.1.self_attn.q_proj.bias", (32,), "no place for model.layers.1.self_attn.q_proj.bias"),
        ("model.layers.2.mlp.up_proj.weight", (48, 32), "no place for model.layers.2.mlp.up_proj.weight"),
        (
            "model.layers.0.self_attn.k_proj.weight",
            (32, 32),
            r"k_proj\.weight has shape \(32, 32\), config\.json asks for \(16, 32\)",
        ),
        (
            "model.embed_tokens.weight",
            (V + 1, 32),
            rf"shape \({V + 1}, 32\), config\.json asks for \({V}, 32\)",
        ),
    ],
)
def test_weights_that_do_not_fit_are_named(name, shape, message, folder):
    path = folder / "model.safetensors"
    weights = load_file(path)
    weights.pop(name, None)
    if shape:
        weights[name] = torch.ones(shape)
    save_file(weights, path)
    with pytest.raises(UserError, match=message):
        open_folder(folder).model()
