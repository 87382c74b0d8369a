"""Named sizes."""

from .gpt import GPTConfig


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
