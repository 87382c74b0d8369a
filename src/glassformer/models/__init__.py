"""Whole machines assembled from `nn`. A family is a config and a model; `FAMILIES` lists them."""

from typing import Any

from .bert import Bert, BertConfig
from .decoder import Decoder, DecoderConfig
from .gpt import GPT, GPTConfig
from .llama import Llama, LlamaConfig

Model = Decoder | Bert

FAMILIES: dict[str, tuple[type[Any], type[Any]]] = {
    "gpt": (GPTConfig, GPT),
    "llama": (LlamaConfig, Llama),
    "bert": (BertConfig, Bert),
}

__all__ = [
    "Bert",
    "BertConfig",
    "Decoder",
    "DecoderConfig",
    "FAMILIES",
    "GPT",
    "GPTConfig",
    "Llama",
    "LlamaConfig",
    "Model",
]
