"""AdamW with decay on matrices alone, its rate as a function of the step, and its state as named tensors."""

import math

import torch
from torch import Tensor, nn
from torch.optim import AdamW

from ..errors import UserError
from .settings import TrainConfig


def make_optimiser(model: nn.Module, config: TrainConfig) -> AdamW:
    """Loshchilov & Hutter 2019. Each parameter is claimed once, tied ones too; what has fewer than two
    dimensions (norms, biases) is not decayed, by its shape and not by its name."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in parameters if p.dim() >= 2], "weight_decay": config.weight_decay},
        {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0},
    ]
    return AdamW(
        [group for group in groups if group["params"]],
        lr=config.lr,
        betas=(config.beta1, config.beta2),
        fused=True,
    )


def learning_rate(config: TrainConfig, step: int) -> float:
    """The rate used in step `step`, counted from 0: (step + 1) / warmup of `lr`, then a cosine down to
    `min_lr` x `lr`, which it keeps after the last step. No step is wasted on a rate of 0."""
    if step < config.warmup:
        return config.lr * (step + 1) / config.warmup
    along = min(1.0, (step - config.warmup) / max(1, config.steps - config.warmup))
    share = config.min_lr + (1 - config.min_lr) * 0.5 * (1 + math.cos(math.pi * along))
    return config.lr * share


def state_tensors(optimiser: AdamW, model: nn.Module) -> dict[str, Tensor]:
    """The optimiser's state as `parameter/entry` -> tensor."""
    return {
        f"{name}/{entry}": value
        for name, parameter in model.named_parameters()
        for entry, value in optimiser.state.get(parameter, {}).items()
    }


def load_state_tensors(optimiser: AdamW, model: nn.Module, tensors: dict[str, Tensor]) -> None:
    """Put back what `state_tensors` gave."""
    parameters = dict(model.named_parameters())
    for key, value in tensors.items():
        name, _, entry = key.rpartition("/")
        parameter = parameters.get(name)
        if parameter is None or (value.dim() and value.shape != parameter.shape):
            raise UserError(f"the saved training state is not this model's: {key} has no place in it")
        device = (
            torch.device("cpu") if value.dim() == 0 and parameter.device.type == "cpu" else parameter.device
        )
        optimiser.state[parameter][entry] = value.to(device, copy=True)
