"""Exact Jacobians of many steps, multiplied: what is left of a gradient after them.

Shapes: n steps, S width of the state, B several sequences, H width of a recurrent layer, D of its input.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from ..nn.recurrent import RecurrentLayer, Watch, gru_step, lstm_step, rnn_step


def of_steps(step: Callable[[Tensor, Any], Tensor], states_nS: Tensor, inputs: Any) -> Tensor:
    """∂step(state, input)/∂state at each of n states, by automatic differentiation: (n, S, S). `inputs` are
    (n, ...), or a dictionary of such."""
    found: Tensor = torch.func.vmap(torch.func.jacrev(step))(states_nS, inputs)
    return found


def of_layer(layer: RecurrentLayer, x_nD: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
    """A layer's Jacobian of each step by the state before, (n, S, S), from zeros on, and the values within
    the steps by name, (n, H). An LSTM's state is h and c, one after the other."""
    weights = layer.weights()

    def step(state: Tensor, x: Tensor, watch: Watch | None = None) -> Tensor:
        if layer.kind == "lstm":
            h, c = state.chunk(2)
            return torch.cat(lstm_step(x, h, c, weights, watch))
        return (rnn_step if layer.kind == "rnn" else gru_step)(x, state, weights, watch)

    seen = defaultdict(list)

    def watch(name: str, value: Tensor) -> Tensor:
        seen[name].append(value)
        return value

    states = [torch.cat([part.flatten() for part in layer.new_state(1).parts])]
    for x in x_nD:
        states.append(step(states[-1], x, watch))
    jacobians = of_steps(step, torch.stack(states[:-1]), x_nD)
    return jacobians, {name: torch.stack(values) for name, values in seen.items()}


def log_norms(
    jacobians: Sequence[Tensor],
    distances: Sequence[int],
    start: Tensor | None = None,
    rows: slice = slice(None),
) -> Tensor:
    """log₁₀ of the largest singular value of J_t ⋯ J_1 `start` after so many steps, (distances, B): the
    numbers themselves would soon be too small or too large. `jacobians` are n times (B, S, S) or (S, S); of
    the product only these `rows` count."""
    product = torch.eye(jacobians[0].shape[-1], dtype=torch.float64) if start is None else start
    scale = torch.zeros((), dtype=torch.float64)
    found = {}
    for t, jacobian in enumerate(jacobians, start=1):
        product = jacobian @ product
        size = product.abs().amax((-2, -1), keepdim=True)
        product, scale = product / size, scale + size[..., 0, 0].log10()
        if t in distances:
            found[t] = scale + torch.linalg.matrix_norm(product[..., rows, :], ord=2).log10()
    return torch.stack([found[distance] for distance in distances])
