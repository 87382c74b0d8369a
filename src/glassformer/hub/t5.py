"""T5 (Raffel et al. 2020): version 1.0, and 1.1 with a gate and a head of its own."""

from collections.abc import Collection
from typing import Any

from ..models import T5Config
from ..nn.blocks import Activation
from .family import Family
from .names import Names, Row, rows
from .settings import Settings

CONTEXT = 512
"""The length on which T5 was trained, where config.json does not say it; positions know no limit."""

_ACTIVATIONS: dict[str, Activation] = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "silu": "silu",
    "gated-silu": "swiglu",
    "gated-gelu": "geglu",  # by which they mean its tanh form
}


def _stack(name: str, ffn: int) -> tuple[Row, ...]:
    here, there = f"{name}.blocks.{{}}", f"{name}.block.{{}}.layer"
    attentions = [("0.SelfAttention", "attention")] + [("1.EncDecAttention", "cross")] * (name == "decoder")
    return rows(
        Row(
            f"{name}.block.0.layer.0.SelfAttention.relative_attention_bias.weight",
            (f"{name}.positions.table.weight",),
        ),
        *(
            Row(f"{there}.{theirs}.{letter}.weight", (f"{here}.{ours}.{part}.weight",))
            for theirs, ours in attentions
            for letter, part in (("q", "query"), ("k", "key"), ("v", "value"), ("o", "output"))
        ),
        *(
            Row(f"{there}.{theirs[0]}.layer_norm.weight", (f"{here}.{ours}_norm.weight",))
            for theirs, ours in (*attentions, (str(ffn), "ffn"))
        ),
        Row(f"{there}.{ffn}.DenseReluDense.wi_0.weight", (f"{here}.ffn.gate.weight",)),
        Row(f"{there}.{ffn}.DenseReluDense.wi_1.weight", (f"{here}.ffn.up.weight",), gated=True),
        Row(f"{there}.{ffn}.DenseReluDense.wi.weight", (f"{here}.ffn.up.weight",), gated=False),
        Row(f"{there}.{ffn}.DenseReluDense.wo.weight", (f"{here}.ffn.down.weight",)),
        Row(f"{name}.final_layer_norm.weight", (f"{name}.final_norm.weight",)),
    )


NAMES = Names(
    rows(
        Row("shared.weight", ("embedding.weight",)),
        Row("encoder.embed_tokens.weight", ("embedding.weight",)),
        Row("decoder.embed_tokens.weight", ("embedding.weight",)),
        _stack("encoder", ffn=1),
        _stack("decoder", ffn=2),
        Row("lm_head.weight", ("head.weight",)),
    ),
    prefix="",
    unused=("decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight",),  # of the first files
)


def read(settings: Settings, weights: Collection[str]) -> T5Config:
    settings.require("is_encoder_decoder", True)
    n_layers = settings.whole("num_layers")
    scaled = settings.flag("tie_word_embeddings", absent=True)
    return T5Config(
        settings.whole("vocab_size"),
        context=settings.whole("n_positions") if settings.has("n_positions") else CONTEXT,
        n_layers=n_layers,
        n_decoder_layers=settings.whole("num_decoder_layers")
        if settings.has("num_decoder_layers")
        else n_layers,
        n_heads=settings.whole("num_heads"),
        d_model=settings.whole("d_model"),
        d_head=settings.whole("d_kv"),
        d_inner=settings.whole("d_ff"),
        activation=settings.choice("feed_forward_proj", _ACTIVATIONS),
        norm_eps=settings.number("layer_norm_epsilon"),
        n_buckets=settings.whole("relative_attention_num_buckets"),
        max_distance=settings.whole("relative_attention_max_distance")
        if settings.has("relative_attention_max_distance")
        else 128,  # all that there was before the key
        tie_embeddings="lm_head.weight" not in weights,
        scale_head=settings.flag("scale_decoder_outputs", absent=scaled),
        dropout=settings.number("dropout_rate") if settings.has("dropout_rate") else 0.0,
    )


def obstacles(config: object) -> list[str] | None:
    return [] if isinstance(config, T5Config) else None


def write(config: T5Config) -> dict[str, Any]:
    c = config
    return {
        "model_type": "t5",
        "architectures": ["T5ForConditionalGeneration"],
        "is_encoder_decoder": True,
        "vocab_size": c.vocab_size,
        "n_positions": c.context,
        "num_layers": c.n_layers,
        "num_decoder_layers": c.n_decoder_layers,
        "num_heads": c.n_heads,
        "d_model": c.d_model,
        "d_kv": c.d_head,
        "d_ff": c.d_inner,
        "feed_forward_proj": next(theirs for theirs, ours in _ACTIVATIONS.items() if ours == c.activation),
        "layer_norm_epsilon": c.norm_eps,
        "relative_attention_num_buckets": c.n_buckets,
        "relative_attention_max_distance": c.max_distance,
        "tie_word_embeddings": c.scale_head,  # the key that says, too, whether the head is scaled
        "scale_decoder_outputs": c.scale_head,
        "dropout_rate": c.dropout,
    }


FAMILY = Family("t5", ("t5",), NAMES, read, obstacles, write)
