"""What a family of published models is made of; `gpt2`, `llama` and `bert` are one each."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Literal

from .names import Names
from .settings import Settings

Activation = Literal["gelu", "gelu_tanh", "relu"]

ACTIVATIONS: dict[str, Activation] = {
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
}
"""Their words for what a feed-forward does; "gelu" is the exact one, with the error function."""

WRITTEN_ACTIVATIONS = {"gelu": "gelu", "gelu_tanh": "gelu_new", "relu": "relu"}


@dataclass(frozen=True)
class Family:
    """`model` is the name in `models.FAMILIES`.

    `read` makes our config of theirs, given the names of the weights too; UserError for what is not
    supported. `obstacles` says what keeps one of our configs from being theirs, None where it is of another
    kind altogether; `write` makes their config of one without obstacles.
    """

    model: str
    model_types: tuple[str, ...]
    names: Names
    read: Callable[[Settings, Collection[str]], Any]
    obstacles: Callable[[Any], list[str] | None]
    write: Callable[[Any], dict[str, Any]]


def common_dropout(settings: Settings, *keys: str) -> float:
    """The dropout, if all kinds agree: we have one for all. It only matters to training."""
    rates = {settings.number(key) if settings.has(key) else 0.0 for key in keys}
    return rates.pop() if len(rates) == 1 else 0.0
