"""Named sizes."""

from collections.abc import Callable

from ..nn.recurrent import Kind
from .bert import BertConfig
from .gpt import GPTConfig
from .recurrent import RecurrentConfig


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

ENCODER_PRESETS = {
    "tiny": BertConfig(1, context=64, n_layers=4, n_heads=4, d_model=128, mlm=True),
    "small": BertConfig(1, context=256, n_layers=6, n_heads=6, d_model=384, dropout=0.1, mlm=True),
    "base": BertConfig(1, context=512, n_layers=12, n_heads=12, d_model=768, dropout=0.1, mlm=True),
}
"""The same sizes as encoders, with a vocabulary still to come; `base` is the shape of BERT's."""
