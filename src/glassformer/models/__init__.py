"""Whole machines assembled from `nn`. A family is a config and a model; `FAMILIES` lists them."""

from .gpt import GPT, GPTConfig

FAMILIES: dict[str, tuple[type[GPTConfig], type[GPT]]] = {"gpt": (GPTConfig, GPT)}

__all__ = ["FAMILIES", "GPT", "GPTConfig"]
