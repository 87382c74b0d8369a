"""Llama (Touvron et al. 2023), Qwen2 (q, k and v have a bias), Qwen3 (q and k have a norm)."""

import math
from collections.abc import Collection
from typing import Any

from ..models import GPTConfig, LlamaConfig
from ..nn.scaling import Dynamic, Linear, Llama3, Scaling, Yarn
from .family import Family
from .names import Names, Row, linear, rows
from .settings import Settings

_HERE, _THERE = "blocks.{}", "model.layers.{}"

NAMES = Names(
    rows(
        Row("model.embed_tokens.weight", ("embedding.weight",)),
        Row(f"{_THERE}.input_layernorm.weight", (f"{_HERE}.attention_norm.weight",)),
        linear(f"{_THERE}.self_attn.q_proj", f"{_HERE}.attention.query"),
        linear(f"{_THERE}.self_attn.k_proj", f"{_HERE}.attention.key"),
        linear(f"{_THERE}.self_attn.v_proj", f"{_HERE}.attention.value"),
        linear(f"{_THERE}.self_attn.o_proj", f"{_HERE}.attention.output"),
        Row(f"{_THERE}.self_attn.q_norm.weight", (f"{_HERE}.attention.query_norm.weight",)),
        Row(f"{_THERE}.self_attn.k_norm.weight", (f"{_HERE}.attention.key_norm.weight",)),
        Row(f"{_THERE}.post_attention_layernorm.weight", (f"{_HERE}.ffn_norm.weight",)),
        linear(f"{_THERE}.mlp.gate_proj", f"{_HERE}.ffn.gate"),
        linear(f"{_THERE}.mlp.up_proj", f"{_HERE}.ffn.up"),
        linear(f"{_THERE}.mlp.down_proj", f"{_HERE}.ffn.down"),
        Row("model.norm.weight", ("final_norm.weight",)),
        Row("lm_head.weight", ("head.weight",)),
    ),
    prefix="model.",
    unused=("*.rotary_emb.inv_freq",),  # computed from the settings
)


def read(settings: Settings, weights: Collection[str]) -> LlamaConfig:
    kind = settings.values["model_type"]
    settings.require("hidden_act", "silu")
    settings.need("hidden_act")
    settings.require("partial_rotary_factor", 1.0)
    context, n_layers = settings.whole("max_position_embeddings"), settings.whole("num_hidden_layers")
    _refuse_window(settings, context, n_layers)
    base, scaling = _rotary(settings, context)
    n_heads, d_model = settings.whole("num_attention_heads"), settings.whole("hidden_size")
    every_bias = kind != "qwen2" and settings.flag("attention_bias", absent=False)
    return LlamaConfig(
        settings.whole("vocab_size"),
        context=context,
        n_layers=n_layers,
        n_heads=n_heads,
        n_kv_heads=settings.whole("num_key_value_heads") if settings.has("num_key_value_heads") else n_heads,
        d_model=d_model,
        d_head=settings.whole("head_dim") if settings.has("head_dim") else d_model // max(1, n_heads),
        d_inner=settings.whole("intermediate_size"),
        norm_eps=settings.number("rms_norm_eps"),
        rotary_base=base,
        scaling=scaling,
        bias=kind == "qwen2" or every_bias,
        output_bias=every_bias,
        ffn_bias=kind == "llama" and settings.flag("mlp_bias", absent=False),
        qk_norm=kind == "qwen3",
        tie_embeddings=settings.flag("tie_word_embeddings", absent=False),
    )


def _refuse_window(settings: Settings, context: int, n_layers: int) -> None:
    """A window narrower than the context, in any layer, is attention that we do not have."""
    if settings.has("layer_types"):
        kinds = settings.values["layer_types"]
        if not isinstance(kinds, list) or not {*map(str, kinds)} <= {"full_attention", "sliding_attention"}:
            raise settings.wrong("layer_types", "supported: full_attention")
        windowed = "sliding_attention" in kinds
    else:
        windowed = settings.flag("use_sliding_window", absent=settings.values["model_type"] == "llama")
        if settings.has("max_window_layers"):
            windowed = windowed and settings.whole("max_window_layers") < n_layers
    if windowed and settings.has("sliding_window") and settings.whole("sliding_window") < context:
        raise settings.wrong(
            "sliding_window", f"only full attention is supported, and the context is {context}"
        )


_RULE_KEYS: dict[str, tuple[str, ...]] = {
    "default": (),
    "linear": ("factor",),
    "dynamic": ("factor", "original_max_position_embeddings"),
    "llama3": ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"),
    "yarn": (
        "factor",
        "original_max_position_embeddings",
        "attention_factor",
        "beta_fast",
        "beta_slow",
        "mscale",
        "mscale_all_dim",
        "truncate",
    ),
}


def _rotary(settings: Settings, context: int) -> tuple[float, Scaling | None]:
    """The base of the frequencies and the rule that stretches them, from older and newer spellings."""
    rule = settings.part("rope_scaling") or settings.part("rope_parameters")
    inside = rule if rule is not None and rule.has("rope_theta") else settings
    base = inside.number("rope_theta", " (where a checkpoint is older than this key, write 10000.0)")
    if rule is None:
        return base, None
    key = "rope_type" if rule.has("rope_type") or not rule.has("type") else "type"
    kind = rule.choice(key, {name: name for name in _RULE_KEYS}) if rule.has(key) else "default"
    for name in rule.values:
        if name == "partial_rotary_factor":
            rule.require(name, 1.0)
        elif name not in ("rope_type", "type", "rope_theta", *_RULE_KEYS[kind]) and rule.has(name):
            raise rule.wrong(name, f"it is unknown to the rule {kind!r}")
    return base, _rule(kind, rule, settings, context)


def _rule(kind: str, rule: Settings, settings: Settings, context: int) -> Scaling | None:
    # The context of the first training, which some files name outside the rule, and which is the context
    # where none is named.
    named = next((s for s in (settings, rule) if s.has("original_max_position_embeddings")), None)
    original = context if named is None else named.whole("original_max_position_embeddings")
    if named is not None and original < 1:
        raise named.wrong("original_max_position_embeddings", "expected at least 1")
    match kind:
        case "linear":
            return Linear(rule.number("factor"))
        case "dynamic":
            if rule.has("original_max_position_embeddings") and original != context:
                raise rule.wrong("original_max_position_embeddings", f"expected the context, {context}")
            return Dynamic(rule.number("factor"))
        case "llama3":
            return Llama3(
                rule.number("factor"),
                rule.number("low_freq_factor"),
                rule.number("high_freq_factor"),
                original,
            )
        case "yarn":
            factor = rule.number("factor") if rule.has("factor") else context / original
            return Yarn(
                factor,
                original,
                _attention_factor(rule, factor),
                fast=rule.number("beta_fast") if rule.has("beta_fast") else 32.0,
                slow=rule.number("beta_slow") if rule.has("beta_slow") else 1.0,
                whole=rule.flag("truncate", absent=True),
            )
    return None


def _attention_factor(rule: Settings, factor: float) -> float:
    """YaRN's 0.1 ln(factor) + 1, or as a file says: outright, or by two coefficients in place of 0.1."""
    if rule.has("attention_factor"):
        return rule.number("attention_factor")
    growth = math.log(factor) if factor > 1 else 0.0
    above, below = (rule.number(key) if rule.has(key) else 0.0 for key in ("mscale", "mscale_all_dim"))
    if above and below:
        return (0.1 * above * growth + 1) / (0.1 * below * growth + 1)
    return 0.1 * growth + 1


def obstacles(config: object) -> list[str] | None:
    if isinstance(config, LlamaConfig):
        if not config.bias and config.output_bias:
            return ["output_bias=True without bias"]
        if config.bias != config.output_bias and (config.qk_norm or config.ffn_bias):
            return ["bias=True without output_bias, beside qk_norm or ffn_bias"]
        return ["qk_norm=True beside ffn_bias=True"] if config.qk_norm and config.ffn_bias else []
    if not isinstance(config, GPTConfig):
        return None
    wanted = {
        "norm": "rmsnorm",
        "norm_order": "pre",
        "positions": "rotary",
        "rotary_style": "half",
        "activation": "swiglu",
    }
    return [
        f"{name}={getattr(config, name)} (needs {value})"
        for name, value in wanted.items()
        if getattr(config, name) != value and not (name == "rotary_style" and config.positions != "rotary")
    ]


def write(config: GPTConfig | LlamaConfig) -> dict[str, Any]:
    c = _of_gpt(config) if isinstance(config, GPTConfig) else config
    kind = "qwen3" if c.qk_norm else "qwen2" if c.bias and not c.output_bias else "llama"
    written: dict[str, Any] = {
        "model_type": kind,
        "architectures": [f"{kind.capitalize()}ForCausalLM"],
        "vocab_size": c.vocab_size,
        "max_position_embeddings": c.context,
        "num_hidden_layers": c.n_layers,
        "num_attention_heads": c.n_heads,
        "num_key_value_heads": c.n_kv_heads,
        "hidden_size": c.d_model,
        "head_dim": c.d_head,
        "intermediate_size": c.d_inner,
        "hidden_act": "silu",
        "rms_norm_eps": c.norm_eps,
        "rope_theta": c.rotary_base,
        "rope_scaling": _written_rule(c.scaling),
        "attention_dropout": c.dropout,
        "tie_word_embeddings": c.tie_embeddings,
    }
    if kind == "llama":
        written["mlp_bias"] = c.ffn_bias
    if kind in ("llama", "qwen3"):
        written["attention_bias"] = c.bias
    if kind in ("qwen2", "qwen3"):
        written["use_sliding_window"] = False
    return written


def _of_gpt(c: GPTConfig) -> LlamaConfig:
    return LlamaConfig(
        c.vocab_size,
        context=c.context,
        n_layers=c.n_layers,
        n_heads=c.n_heads,
        n_kv_heads=c.n_kv_heads or c.n_heads,
        d_model=c.d_model,
        d_head=c.d_head,
        d_inner=c.inner,
        norm_eps=c.norm_eps,
        rotary_base=c.rotary_base,
        bias=c.bias,
        output_bias=c.bias,
        ffn_bias=c.bias,
        tie_embeddings=c.tie_embeddings,
        dropout=c.dropout,
    )


def _written_rule(rule: Scaling | None) -> dict[str, Any] | None:
    match rule:
        case None:
            return None
        case Linear() | Dynamic():
            return {"rope_type": rule.kind, "factor": rule.factor}
        case Llama3():
            return {
                "rope_type": "llama3",
                "factor": rule.factor,
                "low_freq_factor": rule.low,
                "high_freq_factor": rule.high,
                "original_max_position_embeddings": rule.original_context,
            }
        case Yarn():
            return {
                "rope_type": "yarn",
                "factor": rule.factor,
                "original_max_position_embeddings": rule.original_context,
                "attention_factor": rule.attention_factor,
                "beta_fast": rule.fast,
                "beta_slow": rule.slow,
                "truncate": rule.whole,
            }


FAMILY = Family("llama", ("llama", "qwen2", "qwen3"), NAMES, read, obstacles, write)
