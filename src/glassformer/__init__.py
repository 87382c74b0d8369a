"""Transformers you can see through: train them, run them, look inside them.

model, tokenizer = glassformer.load("runs/poems")
print(glassformer.generate(model, tokenizer, "春", tokens=100, temperature=0.8))
trace = glassformer.trace(model, tokenizer.encode("床前明月光"))
trace["blocks.0.attention.weights"]  # (batch, heads, queries, keys)
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from .decoding.text import generate, generate_batch, stream
    from .errors import UserError
    from .glass.compare import compare, lens
    from .glass.effect import effect
    from .glass.page import look
    from .glass.trace import Trace, trace
    from .hub.folder import load
    from .models import GPT, GPTConfig

# Loaded on first use: torch takes a second to import, and `--help` needs none of it.
_HOMES = {
    "GPT": "models",
    "GPTConfig": "models",
    "Trace": "glass.trace",
    "UserError": "errors",
    "compare": "glass.compare",
    "effect": "glass.effect",
    "generate": "decoding.text",
    "generate_batch": "decoding.text",
    "load": "hub.folder",
    "lens": "glass.compare",
    "look": "glass.page",
    "stream": "decoding.text",
    "trace": "glass.trace",
}

__all__ = [
    "GPT",
    "GPTConfig",
    "Trace",
    "UserError",
    "__version__",
    "compare",
    "effect",
    "generate",
    "generate_batch",
    "lens",
    "load",
    "look",
    "stream",
    "trace",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'glassformer' has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return __all__
