"""Heat maps as images.

Shapes: n queries, m keys.
"""

import base64
import io

import numpy as np
import torch.nn.functional as F
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

MAP_SIZE = 64  # points of a small heat map, at most, each way

_SHADE = (178, 58, 38)  # a vermilion that reads on light and on dark paper


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
