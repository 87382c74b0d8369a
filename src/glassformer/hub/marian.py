"""Marian (Junczys-Dowmunt et al. 2018), as the OPUS-MT translators have it: the machine of 2017, with its
sines and cosines in two halves, a bias of the logits, and one table of embeddings for all."""

from collections.abc import Collection
from typing import Any

from ..models import TransformerConfig
from ..nn.blocks import Activation
from .family import Family, common_dropout
from .names import Names, Row, linear, rows
from .settings import Settings

NORM_EPS = 1e-5  # which their config.json does not say

_ACTIVATIONS: dict[str, Activation] = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "swish": "silu",
    "silu": "silu",
}


def _stack(name: str) -> tuple[Row, ...]:
    here, there = f"{name}.blocks.{{}}", f"model.{name}.layers.{{}}"
    attentions = [("self_attn", "attention")] + [("encoder_attn", "cross")] * (name == "decoder")
    return rows(
        *(
            linear(f"{there}.{theirs}.{part}", f"{here}.{ours}.{kind}")
            for theirs, ours in attentions
            for part, kind in (
                ("q_proj", "query"),
                ("k_proj", "key"),
                ("v_proj", "value"),
                ("out_proj", "output"),
            )
        ),
        *(linear(f"{there}.{theirs}_layer_norm", f"{here}.{ours}_norm") for theirs, ours in attentions),
        linear(f"{there}.fc1", f"{here}.ffn.up"),
        linear(f"{there}.fc2", f"{here}.ffn.down"),
        linear(f"{there}.final_layer_norm", f"{here}.ffn_norm"),
    )


NAMES = Names(
    rows(
        Row("model.shared.weight", ("embedding.weight",)),
        Row("model.encoder.embed_tokens.weight", ("embedding.weight",)),
        Row("model.decoder.embed_tokens.weight", ("embedding.weight",)),
        _stack("encoder"),
        _stack("decoder"),
        Row("lm_head.weight", ("head.weight",)),
        Row("final_logits_bias", ("head.bias",), flat=True),
    ),
    prefix="model.",
    unused=("model.*.embed_positions.weight",),  # computed
)


def read(settings: Settings, weights: Collection[str]) -> TransformerConfig:
    for key, only in {
        "is_encoder_decoder": True,
        "share_encoder_decoder_embeddings": True,
        "tie_word_embeddings": True,
        "normalize_before": False,
        "normalize_embedding": False,
        "add_final_layer_norm": False,
    }.items():
        settings.require(key, only)
    same = {}
    for name in ("attention_heads", "ffn_dim"):
        same[name] = settings.whole(f"encoder_{name}")
        settings.require(f"decoder_{name}", same[name])
    if settings.has("decoder_vocab_size"):
        settings.require("decoder_vocab_size", settings.whole("vocab_size"))
    return TransformerConfig(
        settings.whole("vocab_size"),
        context=settings.whole("max_position_embeddings"),
        n_layers=settings.whole("encoder_layers"),
        n_decoder_layers=settings.whole("decoder_layers"),
        n_heads=same["attention_heads"],
        d_model=settings.whole("d_model"),
        d_inner=same["ffn_dim"],
        activation=settings.choice("activation_function", _ACTIVATIONS),
        norm="layernorm",
        norm_order="post",
        norm_eps=NORM_EPS,
        positions="sinusoidal_halves",
        bias=True,
        scale_embeddings=settings.flag("scale_embedding", absent=False),
        head_bias="final_logits_bias" in weights,
        dropout=common_dropout(settings, "dropout", "attention_dropout"),
    )


def obstacles(config: object) -> list[str] | None:
    if not isinstance(config, TransformerConfig):
        return None
    wanted: dict[str, Any] = {
        "norm": "layernorm",
        "norm_order": "post",
        "norm_eps": NORM_EPS,
        "positions": "sinusoidal_halves",
        "bias": True,
        "tie_embeddings": True,
    }
    found = [
        f"{name}={getattr(config, name)} (needs {value})"
        for name, value in wanted.items()
        if getattr(config, name) != value
    ]
    if config.activation not in _ACTIVATIONS.values():
        found.append(f"activation={config.activation} (needs relu, gelu, gelu_tanh or silu)")
    return found


def write(config: TransformerConfig) -> dict[str, Any]:
    c = config
    both = {"layers": c.n_layers, "attention_heads": c.n_heads, "ffn_dim": c.inner}
    return {
        "model_type": "marian",
        "architectures": ["MarianMTModel"],
        "is_encoder_decoder": True,
        "vocab_size": c.vocab_size,
        "max_position_embeddings": c.context,
        **{f"encoder_{name}": value for name, value in both.items()},
        **{f"decoder_{name}": value for name, value in {**both, "layers": c.decoder_layers}.items()},
        "d_model": c.d_model,
        "activation_function": next(theirs for theirs, ours in _ACTIVATIONS.items() if ours == c.activation),
        "scale_embedding": c.scale_embeddings,
        "share_encoder_decoder_embeddings": True,
        "tie_word_embeddings": True,
        "dropout": c.dropout,
        "attention_dropout": c.dropout,
    }


FAMILY = Family("transformer", ("marian",), NAMES, read, obstacles, write)
