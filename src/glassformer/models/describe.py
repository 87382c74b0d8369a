"""A model in words and numbers, for `glassformer info`."""

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from .bert import Bert
from .cost import cost
from .language import LanguageModel
from .seq2seq import Seq2Seq
from .t5 import T5
from .transformer import Transformer
from .translator import Translator
from .word2vec import Word2Vec


def figures(model: Any) -> dict[str, Any]:
    """What is known of a model, for programs: config, parameters by part, and what its family has beside."""
    return DESCRIBED.get(type(model), _OF_TEXT).figures(model)


def table(model: Any) -> str:
    """The same as plain lines, for people."""
    return DESCRIBED.get(type(model), _OF_TEXT).table(model)


@dataclass(frozen=True)
class Described:
    """How the models of a class are told of."""

    figures: Callable[[Any], dict[str, Any]]
    table: Callable[[Any], str]


def _text_figures(model: LanguageModel | Bert) -> dict[str, Any]:
    config: Any = model.config
    return {"config": asdict(config), **asdict(cost(model))}


def _text_table(model: LanguageModel | Bert) -> str:
    """Config, parameters by part and by name, cost per token."""
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


def _word_figures(model: Word2Vec) -> dict[str, Any]:
    counts = {"vectors": model.embedding.weight.numel(), "as contexts": model.contexts.weight.numel()}
    return {"config": asdict(model.config), "parameters": counts}


def _pair_figures(model: Translator) -> dict[str, Any]:
    """A tied head counts as embedding."""
    counts = Counter[str]()
    for name, parameter in model.named_parameters():
        counts[name.partition(".")[0]] += parameter.numel()
    return {"config": asdict(model.config), "parameters": dict(counts)}


def _by_part(model: Any) -> str:
    told = figures(model)
    lines = ["", "settings", *(f"  {key:<16} {value}" for key, value in told["config"].items())]
    lines += ["", "parameters by part"]
    lines += [f"  {part:<16} {count:>14,}" for part, count in told["parameters"].items()]
    lines += [f"  {'all':<16} {sum(told['parameters'].values()):>14,}"]
    return "\n".join(lines)


def _big(number: float) -> str:
    for unit in ("", "k", "M", "G"):
        if number < 1000:
            return f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} T"


_OF_TEXT = Described(_text_figures, _text_table)
DESCRIBED: dict[type[Any], Described] = {
    Seq2Seq: Described(_pair_figures, _by_part),
    Transformer: Described(_pair_figures, _by_part),
    T5: Described(_pair_figures, _by_part),
    Word2Vec: Described(_word_figures, _by_part),
}
"""By class; any other reads a text."""
