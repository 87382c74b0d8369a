"""How a caller looks inside: an argument that every module passes on.

A module asks `tap.wants(name)` before it computes something only an onlooker needs, hands each
intermediate tensor to `tap(name, tensor)` and goes on with what comes back, so that recording, ablation
and patching are one mechanism. A parent hands its child `tap.at("blocks.2")`; no module knows its own path.
"""

from typing import Protocol

from torch import Tensor


class Tap(Protocol):
    """What `forward(..., tap=...)` accepts. `glassformer.glass.Recorder` is one."""

    def __call__(self, name: str, tensor: Tensor) -> Tensor:
        """Take note of `tensor`; return it, or another of the same shape to go on with."""
        ...

    def at(self, path: str) -> "Tap":
        """The same tap as seen from the child module `path`."""
        ...

    def wants(self, name: str) -> bool:
        """Whether `name` is recorded or changed here."""
        ...


def names_under(path: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """The tap names of a child module as its parent's path spells them."""
    return tuple(f"{path}.{name}" for name in names)
