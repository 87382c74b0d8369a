"""Named sizes."""

from collections.abc import Callable

from ..nn.recurrent import Kind
from .bert import BertConfig
from .gpt import GPTConfig
from .recurrent import RecurrentConfig
from .seq2seq import Seq2SeqConfig
from .transformer import TransformerConfig


def tiny(vocab_size: int) -> GPTConfig:
    """Trains in a minute on two cores."""
    return GPTConfig(vocab_size, context=64, n_layers=4, n_heads=4, d_model=128)


def small(vocab_size: int) -> GPTConfig:
    """About 11 million parameters in its blocks: an evening on a laptop."""
    return GPTConfig(vocab_size, context=256, n_layers=6, n_heads=6, d_model=384, dropout=0.1)


def base(vocab_size: int) -> GPTConfig:
    """The shape of GPT-2's smallest: 12 blocks of 768. Wants a GPU."""
    return GPTConfig(vocab_size, context=1024, n_layers=12, n_heads=12, d_model=768, dropout=0.1)


PRESETS = {"tiny": tiny, "small": small, "base": base}


def _recurrent(context: int, n_layers: int, d_model: int, dropout: float) -> Callable[..., RecurrentConfig]:
    def made(vocab_size: int, kind: Kind) -> RecurrentConfig:
        return RecurrentConfig(vocab_size, kind, context, n_layers, d_model, dropout=dropout)

    return made


RECURRENT_PRESETS: dict[str, Callable[[int, Kind], RecurrentConfig]] = {
    "tiny": _recurrent(64, 2, 192, 0.0),
    "small": _recurrent(128, 3, 640, 0.1),
    "base": _recurrent(256, 4, 1536, 0.1),
}
"""The same sizes with recurrent layers; as an LSTM each has somewhat fewer parameters than the GPT."""

SEQ2SEQ_PRESETS: dict[str, Seq2SeqConfig] = {
    "tiny": Seq2SeqConfig(1),
    "small": Seq2SeqConfig(1, d_model=384, n_layers=2, dropout=0.2),
    "base": Seq2SeqConfig(1, context=256, d_model=1024, n_layers=2, dropout=0.2),
}
"""Encoder-decoders: `tiny` learns a generated task in a minute, `small` tens of thousands of pairs in an
evening on two cores, `base` is as wide as that of Bahdanau et al. 2014 and wants a GPU."""

TRANSFORMER_PRESETS: dict[str, TransformerConfig] = {
    "tiny": TransformerConfig(1, n_layers=2, d_model=128, dropout=0.0),
    "small": TransformerConfig(1, n_layers=2),
    "base": TransformerConfig(1, context=256, n_layers=6, n_heads=8, d_model=512),
}
"""Translators again: `tiny` learns a generated task in a minute, `small` tens of thousands of pairs in half
an hour on two cores, `base` is as large as the base model of Vaswani et al. 2017 and wants a GPU."""

ENCODER_PRESETS = {
    "tiny": BertConfig(1, context=64, n_layers=4, n_heads=4, d_model=128, mlm=True),
    "small": BertConfig(1, context=256, n_layers=6, n_heads=6, d_model=384, dropout=0.1, mlm=True),
    "base": BertConfig(1, context=512, n_layers=12, n_heads=12, d_model=768, dropout=0.1, mlm=True),
}
"""The same sizes as encoders, with a vocabulary still to come; `base` is the shape of BERT's."""
