"""A model in words and numbers, for `glassformer info`."""

from collections import Counter
from dataclasses import asdict
from typing import Any

from .bert import Bert
from .cost import cost
from .language import LanguageModel
from .translator import Translator
from .word2vec import Word2Vec


def figures(model: LanguageModel | Bert) -> dict[str, Any]:
    """The same for programs: config, parameters by part, FLOP and bytes per token."""
    config: Any = model.config
    return {"config": asdict(config), **asdict(cost(model))}


def table(model: LanguageModel | Bert) -> str:
    """Config, parameters by part and by name, cost per token, as plain lines."""
    c: Any = model.config
    costs, writes = cost(model), isinstance(model, LanguageModel)
    lines = ["", "settings"]
    lines += [f"  {key:<16} {value}" for key, value in asdict(c).items() if value is not None]
    lines += ["", "parameters by part"]
    lines += [
        f"  {part:<16} {count:>14,}  {100 * count / costs.total:5.1f} %"
        for part, count in costs.parameters.items()
        if count
    ]
    lines += [f"  {'all':<16} {costs.total:>14,}"]
    if writes and c.tie_embeddings:
        lines += ["  (the head shares the embedding's matrix)"]
    lines += ["", "shapes (out, in; blocks 0 of " + f"{c.n_layers} alike)"]
    lines += [
        f"  {name:<32} {' x '.join(map(str, parameter.shape))}"
        for name, parameter in model.named_parameters()
        if not name.startswith("blocks.") or name.startswith("blocks.0.")
    ]
    lines += ["", "cost per token"]
    if not writes:
        lines += [f"  reading it       {_big(costs.operations)}FLOP in a full context of {c.context}"]
        lines += [f"    of which attention over all tokens  {_big(costs.attention_operations)}FLOP"]
        return "\n".join(lines)
    if model.window is None:
        lines += [f"  writing it       {_big(costs.operations)}FLOP after any text"]
        lines += [f"  training on it   {_big(3 * costs.operations)}FLOP"]
        lines += [f"  remembering      {costs.state_bytes:,} bytes of state after any text"]
        return "\n".join(lines)
    lines += [f"  writing it       {_big(costs.operations)}FLOP at half the context of {c.context}"]
    lines += [f"    of which attention over earlier tokens  {_big(costs.attention_operations)}FLOP"]
    lines += [f"  training on it   {_big(3 * costs.operations)}FLOP"]
    lines += [f"  remembering it   {costs.state_bytes:,} bytes of keys and values"]
    return "\n".join(lines)


def word_figures(model: Word2Vec) -> dict[str, Any]:
    """As `figures`, for word vectors."""
    counts = {"vectors": model.embedding.weight.numel(), "as contexts": model.contexts.weight.numel()}
    return {"config": asdict(model.config), "parameters": counts}


def word_table(model: Word2Vec) -> str:
    """As `table`, for word vectors."""
    return _by_part(word_figures(model))


def pair_figures(model: Translator) -> dict[str, Any]:
    """As `figures`, for an encoder-decoder; a tied head counts as embedding."""
    counts = Counter[str]()
    for name, parameter in model.named_parameters():
        counts[name.partition(".")[0]] += parameter.numel()
    return {"config": asdict(model.config), "parameters": dict(counts)}


def pair_table(model: Translator) -> str:
    """As `table`, for an encoder-decoder."""
    return _by_part(pair_figures(model))


def _by_part(told: dict[str, Any]) -> str:
    lines = ["", "settings", *(f"  {key:<16} {value}" for key, value in told["config"].items())]
    lines += ["", "parameters by part"]
    lines += [f"  {part:<16} {count:>14,}" for part, count in told["parameters"].items()]
    return "\n".join(lines)


def _big(number: float) -> str:
    for unit in ("", "k", "M", "G"):
        if number < 1000:
            return f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} T"
