"""Transformers you can see through: train them, run them, look inside them."""

__version__ = "0.1.0"
