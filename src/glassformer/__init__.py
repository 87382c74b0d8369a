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
    from .decoding.prepare import int8
    from .decoding.samplers import Sampler
    from .decoding.text import generate, generate_batch, stream
    from .decoding.translate import translate
    from .encoding.classify import classify
    from .encoding.fill import fill
    from .encoding.search import embed
    from .errors import UserError
    from .glass.compare import compare, lens
    from .glass.effect import effect
    from .glass.page import Subject, look
    from .glass.trace import Trace, trace
    from .hub.folder import load
    from .models import GPT, GPTConfig
    from .store.vectors import word_vectors
    from .training.evaluate import evaluate
    from .training.train import finetune, resume, train

# Loaded on first use: torch takes a second to import, and `--help` needs none of it.
_HOMES = {
    "GPT": "models",
    "GPTConfig": "models",
    "Sampler": "decoding.samplers",
    "Subject": "glass.page",
    "Trace": "glass.trace",
    "UserError": "errors",
    "classify": "encoding.classify",
    "compare": "glass.compare",
    "effect": "glass.effect",
    "embed": "encoding.search",
    "evaluate": "training.evaluate",
    "fill": "encoding.fill",
    "finetune": "training.train",
    "generate": "decoding.text",
    "generate_batch": "decoding.text",
    "int8": "decoding.prepare",
    "load": "hub.folder",
    "lens": "glass.compare",
    "look": "glass.page",
    "resume": "training.train",
    "stream": "decoding.text",
    "trace": "glass.trace",
    "train": "training.train",
    "translate": "decoding.translate",
    "word_vectors": "store.vectors",
}

__all__ = [
    "GPT",
    "GPTConfig",
    "Sampler",
    "Subject",
    "Trace",
    "UserError",
    "__version__",
    "classify",
    "compare",
    "effect",
    "embed",
    "evaluate",
    "fill",
    "finetune",
    "generate",
    "generate_batch",
    "int8",
    "lens",
    "load",
    "look",
    "resume",
    "stream",
    "trace",
    "train",
    "translate",
    "word_vectors",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'glassformer' has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return __all__
