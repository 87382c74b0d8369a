"""The optimisers of a training, their rates as a function of the step, and their state as named tensors."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.optim import AdamW, Optimizer

from ..errors import UserError
from .muon import Muon
from .settings import TrainConfig


def make_optimisers(model: nn.Module, config: TrainConfig) -> list[Optimizer]:
    """AdamW (Loshchilov & Hutter 2019) for all parameters, or for all but the matrices of the blocks, which
    Muon takes.

    Each parameter is claimed once, tied ones too. What has fewer than two dimensions (norms, biases) is not
    decayed, by its shape and not by its name.
    """
    if config.optimiser == "sgd":
        raise UserError("optimiser=sgd is for word vectors; take adamw, or muon")
    named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    muon = config.optimiser == "muon"
    hidden = [p for name, p in named if muon and p.dim() == 2 and "blocks." in name]
    theirs = {id(p) for p in hidden}
    rest = [p for _, p in named if id(p) not in theirs]
    groups = [
        {"params": [p for p in rest if p.dim() >= 2], "weight_decay": config.weight_decay},
        {"params": [p for p in rest if p.dim() < 2], "weight_decay": 0.0},
    ]
    optimisers: list[Optimizer] = [
        AdamW(
            [group for group in groups if group["params"]],
            lr=config.lr,
            betas=(config.beta1, config.beta2),
            fused=True,
        )
    ]
    if hidden:
        optimisers.append(Muon(hidden, config.muon_lr, config.weight_decay))
    return optimisers


def set_rates(optimisers: Sequence[Optimizer], config: TrainConfig, step: int) -> float:
    """Give each optimiser its rate for a step; returns AdamW's."""
    share = rate_share(config, step)
    for optimiser in optimisers:
        for group in optimiser.param_groups:
            group["lr"] = share * (config.muon_lr if isinstance(optimiser, Muon) else config.lr)
    return share * config.lr


def rate_share(config: TrainConfig, step: int) -> float:
    """The share of its rate used in step `step`, counted from 0: (step + 1) / warmup, then a cosine down to
    `min_lr`, or a line with `decay` "linear"; it keeps that after the last step. "inverse_sqrt" is
    √(warmup / (step + 1)), at least `min_lr`, wherever the last step may be (Vaswani et al. 2017, section
    5.3). No step is wasted on a rate of 0."""
    if step < config.warmup:
        return (step + 1) / config.warmup
    if config.decay == "inverse_sqrt":
        return max(config.min_lr, math.sqrt(max(1, config.warmup) / (step + 1)))
    along = min(1.0, (step - config.warmup) / max(1, config.steps - config.warmup))
    left = 1 - along if config.decay == "linear" else 0.5 * (1 + math.cos(math.pi * along))
    return config.min_lr + (1 - config.min_lr) * left


def state_tensors(optimisers: Sequence[Optimizer], model: nn.Module) -> dict[str, Tensor]:
    """The optimisers' state as `parameter/entry` -> tensor."""
    return {
        f"{name}/{entry}": value
        for name, parameter in model.named_parameters()
        for optimiser in optimisers
        for entry, value in optimiser.state.get(parameter, {}).items()
    }


def load_state_tensors(optimisers: Sequence[Optimizer], model: nn.Module, tensors: dict[str, Tensor]) -> None:
    """Put back what `state_tensors` gave. Raises UserError for what is not the state of these optimisers."""
    parameters = dict(model.named_parameters())
    owner = {id(p): o for o in optimisers for group in o.param_groups for p in group["params"]}
    for key, value in tensors.items():
        name, _, entry = key.rpartition("/")
        parameter = parameters.get(name)
        if parameter is None or (value.dim() and value.shape != parameter.shape):
            raise UserError(f"the saved training state is not this model's: {key} has no place in it")
        optimiser = owner[id(parameter)]
        if (entry == "momentum") != isinstance(optimiser, Muon):
            raise UserError("--resume goes on with the same optimiser; --from begins anew with another")
        device = (
            torch.device("cpu") if value.dim() == 0 and parameter.device.type == "cpu" else parameter.device
        )
        optimiser.state[parameter][entry] = value.to(device, copy=True)
