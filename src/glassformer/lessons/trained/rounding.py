"""Numbers as the recipes keep them."""

from typing import Any

import numpy as np
import torch

DIGITS = 6


def rounded(values: Any) -> Any:
    """Numbers, in lists as they come, with DIGITS significant digits."""
    if isinstance(values, torch.Tensor | np.ndarray):
        values = values.tolist()
    if isinstance(values, list | tuple):
        return [rounded(x) for x in values]
    return float(f"{values:.{DIGITS}g}")
