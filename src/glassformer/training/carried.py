"""The state that a training carries from step to step, as tensors of its checkpoint."""

from collections.abc import Mapping

from torch import Tensor

from ..errors import UserError
from ..models import LanguageModel
from ..nn.state import HiddenState

PREFIX = "carried"
NAMES = ("hidden", "cell")

Carried = dict[int, HiddenState]
"""For each micro-batch of a step, the state that its rows go on from."""


def to_tensors(carried: Carried) -> dict[str, Tensor]:
    return {
        f"{PREFIX}/{micro}/{name}": part
        for micro, state in carried.items()
        for name, part in zip(NAMES, state.parts, strict=False)
    }


def taken_from(tensors: Mapping[str, Tensor], model: LanguageModel) -> tuple[Carried, dict[str, Tensor]]:
    """What `to_tensors` gave, on the model's device, and the tensors that are not of it. Raises UserError for
    what is no state of this model."""
    rest = {key: value for key, value in tensors.items() if not key.startswith(PREFIX + "/")}
    parts: dict[int, dict[str, Tensor]] = {}
    for key in tensors.keys() - rest.keys():
        _, micro, name = key.split("/")
        parts.setdefault(int(micro), {})[name] = tensors[key]
    carried: Carried = {}
    for number, named in sorted(parts.items()):
        given = [named[name] for name in NAMES if name in named]
        empty = model.new_state(given[0].shape[1]) if given and given[0].dim() == 3 else None
        fits = isinstance(empty, HiddenState) and [p.shape for p in given] == [p.shape for p in empty.parts]
        if not fits:
            raise UserError(f"the saved training state is not this model's: {PREFIX}/{number}")
        device = model.embedding.weight.device
        carried[number] = HiddenState(given[0].to(device), given[1].to(device) if len(given) > 1 else None)
    return carried, rest
