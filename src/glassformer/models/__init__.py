"""Whole machines assembled from `nn`. A family is a config and a model; `FAMILIES` lists them."""

from typing import Any

from .bert import Bert, BertConfig
from .decoder import Decoder, DecoderConfig
from .encoder_decoder import EncoderDecoder
from .gpt import GPT, GPTConfig
from .language import LanguageConfig, LanguageModel
from .llama import Llama, LlamaConfig
from .recurrent import RecurrentConfig, RecurrentLM
from .seq2seq import Seq2Seq, Seq2SeqConfig
from .t5 import T5, T5Config
from .transformer import Transformer, TransformerConfig
from .translator import Translator
from .word2vec import Word2Vec, Word2VecConfig

Model = LanguageModel | Bert
"""What reads a text. Word vectors, a family as well, read none; a translator reads one to write another."""

FAMILIES: dict[str, tuple[type[Any], type[Any]]] = {
    "gpt": (GPTConfig, GPT),
    "llama": (LlamaConfig, Llama),
    "bert": (BertConfig, Bert),
    "recurrent": (RecurrentConfig, RecurrentLM),
    "seq2seq": (Seq2SeqConfig, Seq2Seq),
    "transformer": (TransformerConfig, Transformer),
    "t5": (T5Config, T5),
    "word2vec": (Word2VecConfig, Word2Vec),
}

__all__ = [
    "Bert",
    "BertConfig",
    "Decoder",
    "DecoderConfig",
    "EncoderDecoder",
    "FAMILIES",
    "GPT",
    "GPTConfig",
    "LanguageConfig",
    "LanguageModel",
    "Llama",
    "LlamaConfig",
    "Model",
    "RecurrentConfig",
    "RecurrentLM",
    "Seq2Seq",
    "Seq2SeqConfig",
    "T5",
    "T5Config",
    "Transformer",
    "TransformerConfig",
    "Translator",
    "Word2Vec",
    "Word2VecConfig",
]
