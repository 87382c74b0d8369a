"""GPT-2 (Radford et al. 2019). Its matrices are stored (in, out), and q, k, v as one."""

from collections.abc import Collection
from typing import Any

from ..models import GPTConfig
from .family import ACTIVATIONS, WRITTEN_ACTIVATIONS, Family, common_dropout
from .names import Names, Row, linear, rows
from .settings import Settings

_HERE, _THERE = "blocks.{}", "transformer.h.{}"

NAMES = Names(
    rows(
        Row("transformer.wte.weight", ("embedding.weight",)),
        Row("transformer.wpe.weight", ("positions.table.weight",)),
        linear(f"{_THERE}.ln_1", f"{_HERE}.attention_norm"),
        linear(
            f"{_THERE}.attn.c_attn",
            *(f"{_HERE}.attention.{part}" for part in ("query", "key", "value")),
            transposed=True,
        ),
        linear(f"{_THERE}.attn.c_proj", f"{_HERE}.attention.output", transposed=True),
        linear(f"{_THERE}.ln_2", f"{_HERE}.ffn_norm"),
        linear(f"{_THERE}.mlp.c_fc", f"{_HERE}.ffn.up", transposed=True),
        linear(f"{_THERE}.mlp.c_proj", f"{_HERE}.ffn.down", transposed=True),
        linear("transformer.ln_f", "final_norm"),
        Row("lm_head.weight", ("head.weight",)),
    ),
    prefix="transformer.",
    unused=("transformer.h.*.attn.bias", "transformer.h.*.attn.masked_bias"),  # the causal mask
)


def read(settings: Settings, weights: Collection[str]) -> GPTConfig:
    for key, only in {
        "scale_attn_weights": True,
        "scale_attn_by_inverse_layer_idx": False,
        "add_cross_attention": False,
    }.items():
        settings.require(key, only)
    return GPTConfig(
        settings.whole("vocab_size"),
        context=settings.whole("n_positions"),
        n_layers=settings.whole("n_layer"),
        n_heads=settings.whole("n_head"),
        d_model=settings.whole("n_embd"),
        d_inner=settings.whole("n_inner") if settings.has("n_inner") else None,
        activation=settings.choice("activation_function", ACTIVATIONS),
        norm="layernorm",
        norm_eps=settings.number("layer_norm_epsilon"),
        positions="learned",
        bias=True,
        tie_embeddings=settings.flag("tie_word_embeddings", absent=True),
        dropout=common_dropout(settings, "resid_pdrop", "embd_pdrop", "attn_pdrop"),
    )


def obstacles(config: object) -> list[str] | None:
    if not isinstance(config, GPTConfig):
        return None
    wanted = {
        "norm": "layernorm",
        "norm_order": "pre",
        "positions": "learned",
        "bias": True,
        "n_kv_heads": config.n_heads,
    }
    found = [
        f"{name}={getattr(config, name)} (needs {value})"
        for name, value in wanted.items()
        if getattr(config, name) not in (value, *([None] if name == "n_kv_heads" else []))
    ]
    if config.activation not in WRITTEN_ACTIVATIONS:
        found.append(f"activation={config.activation} (needs {' or '.join(WRITTEN_ACTIVATIONS)})")
    return found


def write(config: GPTConfig) -> dict[str, Any]:
    return {
        "model_type": "gpt2",
        "architectures": ["GPT2LMHeadModel"],
        "vocab_size": config.vocab_size,
        "n_positions": config.context,
        "n_ctx": config.context,
        "n_embd": config.d_model,
        "n_layer": config.n_layers,
        "n_head": config.n_heads,
        "n_inner": config.inner,
        "activation_function": WRITTEN_ACTIVATIONS[config.activation],
        "layer_norm_epsilon": config.norm_eps,
        "resid_pdrop": config.dropout,
        "embd_pdrop": config.dropout,
        "attn_pdrop": config.dropout,
        "tie_word_embeddings": config.tie_embeddings,
    }


FAMILY = Family("gpt", ("gpt2",), NAMES, read, obstacles, write)
