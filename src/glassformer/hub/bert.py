"""BERT (Devlin et al. 2019), as an encoder: what its heads were trained to say is left aside."""

from collections.abc import Collection
from typing import Any

from ..models import BertConfig
from .family import ACTIVATIONS, WRITTEN_ACTIVATIONS, Family, common_dropout
from .names import Names, Row, linear, rows
from .settings import Settings

_HERE, _THERE = "blocks.{}", "bert.encoder.layer.{}"

NAMES = Names(
    rows(
        Row("bert.embeddings.word_embeddings.weight", ("embedding.weight",)),
        Row("bert.embeddings.position_embeddings.weight", ("positions.table.weight",)),
        Row("bert.embeddings.token_type_embeddings.weight", ("types.weight",)),
        linear("bert.embeddings.LayerNorm", "embedding_norm"),
        linear(f"{_THERE}.attention.self.query", f"{_HERE}.attention.query"),
        linear(f"{_THERE}.attention.self.key", f"{_HERE}.attention.key"),
        linear(f"{_THERE}.attention.self.value", f"{_HERE}.attention.value"),
        linear(f"{_THERE}.attention.output.dense", f"{_HERE}.attention.output"),
        linear(f"{_THERE}.attention.output.LayerNorm", f"{_HERE}.attention_norm"),
        linear(f"{_THERE}.intermediate.dense", f"{_HERE}.ffn.up"),
        linear(f"{_THERE}.output.dense", f"{_HERE}.ffn.down"),
        linear(f"{_THERE}.output.LayerNorm", f"{_HERE}.ffn_norm"),
        linear("bert.pooler.dense", "pooler"),
    ),
    prefix="bert.",
    unused=("bert.embeddings.position_ids", "cls.*", "classifier.*", "qa_outputs.*"),
    older={"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"},
)


def read(settings: Settings, weights: Collection[str]) -> BertConfig:
    for key, only in {
        "position_embedding_type": "absolute",
        "is_decoder": False,
        "add_cross_attention": False,
    }.items():
        settings.require(key, only)
    return BertConfig(
        settings.whole("vocab_size"),
        context=settings.whole("max_position_embeddings"),
        n_layers=settings.whole("num_hidden_layers"),
        n_heads=settings.whole("num_attention_heads"),
        d_model=settings.whole("hidden_size"),
        d_inner=settings.whole("intermediate_size"),
        activation=settings.choice("hidden_act", ACTIVATIONS),
        norm_eps=settings.number("layer_norm_eps"),
        n_types=settings.whole("type_vocab_size"),
        pooler=any(name.endswith("pooler.dense.weight") for name in weights),
        dropout=common_dropout(settings, "hidden_dropout_prob", "attention_probs_dropout_prob"),
    )


def obstacles(config: object) -> list[str] | None:
    return [] if isinstance(config, BertConfig) else None


def write(config: BertConfig) -> dict[str, Any]:
    return {
        "model_type": "bert",
        "architectures": ["BertModel"],
        "vocab_size": config.vocab_size,
        "max_position_embeddings": config.context,
        "num_hidden_layers": config.n_layers,
        "num_attention_heads": config.n_heads,
        "hidden_size": config.d_model,
        "intermediate_size": config.d_inner,
        "hidden_act": WRITTEN_ACTIVATIONS[config.activation],
        "layer_norm_eps": config.norm_eps,
        "type_vocab_size": config.n_types,
        "position_embedding_type": "absolute",
        "hidden_dropout_prob": config.dropout,
        "attention_probs_dropout_prob": config.dropout,
    }


FAMILY = Family("bert", ("bert",), NAMES, read, obstacles, write)
