"""Heat maps as images.

Shapes: n queries or tokens, m keys, H units.
"""

import base64
import io

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

MAP_SIZE = 64  # points of a small heat map, at most, each way
TIME_SIZE = 256  # columns of a map over time, at most

_SHADE = (178, 58, 38)  # a vermilion that reads on light and on dark paper
_BELOW = (30, 90, 160)  # a blue beside it, for values below 0


def shade(weights: Tensor) -> NDArray[np.float64]:
    """How strongly a weight is drawn, 0 to 1: its square root, so that small ones can be seen."""
    return weights.double().clamp(0, 1).sqrt().cpu().numpy()


def picture(weights_nm: Tensor) -> str:
    """A small heat map as a data URI; beyond MAP_SIZE each point takes the largest weight of its area."""
    n, m = weights_nm.shape
    if max(n, m) > MAP_SIZE:
        weights_nm = F.adaptive_max_pool2d(weights_nm[None], (min(n, MAP_SIZE), min(m, MAP_SIZE)))[0]
    alpha = _bytes(weights_nm)
    colour = np.broadcast_to(np.array(_SHADE, np.uint8), (*alpha.shape, 3))
    return _data_uri(np.dstack([colour, alpha]))


def over_time(values_nH: Tensor, signed: bool) -> tuple[str, float]:
    """Values of H units at n tokens as a data URI, a column for each token and a row for each unit, and the
    value that is drawn strongest: 1, or if `signed` the largest size. Positive values are vermilion, negative
    ones blue. Beyond the map's size a point takes its area's mean, or if `signed` its largest value by size.
    """
    values_Hn = values_nH.T.float().cpu()
    size = min(values_Hn.shape[0], MAP_SIZE), min(values_Hn.shape[1], TIME_SIZE)
    if signed:
        high, low = (F.adaptive_max_pool2d(sign * values_Hn[None], size)[0] for sign in (1, -1))
        values_Hn = torch.where(high >= low, high, -low)
    else:
        values_Hn = F.adaptive_avg_pool2d(values_Hn[None], size)[0]
    strongest = (float(values_Hn.abs().max()) or 1.0) if signed else 1.0
    alpha = (values_Hn.abs() / strongest * 255).round().numpy().astype(np.uint8)
    colour = np.where(
        values_Hn.numpy()[..., None] < 0, np.array(_BELOW, np.uint8), np.array(_SHADE, np.uint8)
    )
    return _data_uri(np.dstack([colour, alpha])), strongest


def grey(weights_nm: Tensor) -> str:
    """All weights as a grey PNG for the page's script: a point's value v stands for (v / 255)²."""
    return _data_uri(_bytes(weights_nm))


def _bytes(weights: Tensor) -> NDArray[np.uint8]:
    return (shade(weights) * 255).round().astype(np.uint8)


def floats(values: Tensor) -> str:
    """Exact numbers as base64 of little-endian float32."""
    return base64.b64encode(values.float().cpu().numpy().astype("<f4").tobytes()).decode()


def bits(mask: Tensor) -> str:
    """A boolean tensor as base64, eight of its values to a byte, the first in the highest bit."""
    return base64.b64encode(np.packbits(mask.cpu().numpy()).tobytes()).decode()


def _data_uri(pixels: NDArray[np.uint8]) -> str:
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()
