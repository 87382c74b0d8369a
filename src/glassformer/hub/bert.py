"""BERT (Devlin et al. 2019), an encoder, with its heads for hidden tokens and for the labels of texts; others
are left aside."""

from collections.abc import Collection
from typing import Any

from ..models import BertConfig
from .family import ACTIVATIONS, WRITTEN_ACTIVATIONS, Family, common_dropout
from .names import Names, Row, linear, rows
from .settings import Settings

_HERE, _THERE, _TOKENS = "blocks.{}", "bert.encoder.layer.{}", "cls.predictions"

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
        linear(f"{_TOKENS}.transform.dense", "head.dense"),
        linear(f"{_TOKENS}.transform.LayerNorm", "head.norm"),
        Row(f"{_TOKENS}.decoder.weight", ("head.output.weight",)),
        Row(f"{_TOKENS}.bias", ("head.output.bias",)),
        linear("classifier", "classifier"),
    ),
    prefix="bert.",
    # Among them a head for hidden tokens with a last matrix of its own, and the tied one's bias once more.
    unused=("bert.embeddings.position_ids", "cls.*", "classifier.*", "qa_outputs.*"),
    older={"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"},
)

CLASSIFIER, MASKED = "BertForSequenceClassification", "BertForMaskedLM"


def read(settings: Settings, weights: Collection[str]) -> BertConfig:
    for key, only in {
        "position_embedding_type": "absolute",
        "is_decoder": False,
        "add_cross_attention": False,
    }.items():
        settings.require(key, only)
    pooler = any(name.endswith("pooler.dense.weight") for name in weights)
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
        pooler=pooler,
        dropout=common_dropout(settings, "hidden_dropout_prob", "attention_probs_dropout_prob"),
        mlm=f"{_TOKENS}.transform.dense.weight" in weights and settings.flag("tie_word_embeddings", True),
        labels=_labels(settings) if pooler and "classifier.weight" in weights else (),
    )


def _labels(settings: Settings) -> tuple[str, ...]:
    """What the classifier tells apart; none where it does not choose one of several labels for a text."""
    one_of_several = settings.values.get("problem_type") in (None, "single_label_classification")
    if settings.values.get("architectures") != [CLASSIFIER] or not one_of_several:
        return ()
    named = settings.part("id2label")
    if named is None:  # which stands for two
        return ("LABEL_0", "LABEL_1")
    labels = [named.values.get(str(i)) for i in range(len(named.values))]
    if not all(isinstance(label, str) for label in labels):
        raise settings.wrong("id2label", "expected the labels of 0, 1, 2, …")
    return tuple(map(str, labels)) if len(labels) > 1 else ()


def obstacles(config: object) -> list[str] | None:
    if not isinstance(config, BertConfig):
        return None
    found = [] if config.norm_order == "post" else ["norm_order=pre (needs post)"]
    return found + (["pooling=mean (needs cls)"] if config.labels and config.pooling == "mean" else [])


def write(config: BertConfig) -> dict[str, Any]:
    labels = dict(enumerate(config.labels))
    named = {"id2label": labels, "label2id": {label: i for i, label in labels.items()}} if labels else {}
    head = CLASSIFIER if labels else MASKED if config.mlm else "BertModel"
    return {
        "model_type": "bert",
        "architectures": [head],
        **named,
        "vocab_size": config.vocab_size,
        "max_position_embeddings": config.context,
        "num_hidden_layers": config.n_layers,
        "num_attention_heads": config.n_heads,
        "hidden_size": config.d_model,
        "intermediate_size": config.inner,
        "hidden_act": WRITTEN_ACTIVATIONS[config.activation],
        "layer_norm_eps": config.norm_eps,
        "type_vocab_size": config.n_types,
        "position_embedding_type": "absolute",
        "hidden_dropout_prob": config.dropout,
        "attention_probs_dropout_prob": config.dropout,
    }


FAMILY = Family("bert", ("bert",), NAMES, read, obstacles, write)
