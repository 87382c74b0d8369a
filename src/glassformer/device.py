"""Which device to compute on. Nothing is probed before somebody asks."""

import torch

from .errors import UserError


def choose_device(name: str = "auto") -> torch.device:
    """The named device; "auto" is a CUDA GPU where there is one, else the CPU."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        if device.type == "meta":
            raise RuntimeError("it holds no numbers")
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise UserError(f"device={name} cannot be used here: {str(error).splitlines()[0]}") from None
    return device
