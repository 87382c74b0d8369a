"""How a trace shows itself in a notebook: no ids, scripts or style sheets, so that many can share a page."""

from html import escape

from torch import Tensor

from .pictures import picture
from .trace import Trace
from .words import Count

_HEAD = (
    '<figure style="display:inline-block;margin:4px;text-align:center;font-size:80%">'
    '<img src="{picture}" alt="{name}" style="width:96px;height:96px;image-rendering:pixelated;'
    'border:1px solid #bbb;display:block"><figcaption>{caption}</figcaption></figure>'
)


def html(traced: Trace) -> str:
    """The first row's recorded weights as heat maps; every recorded tensor with its shape and range."""
    maps = "".join(
        f"<div>{''.join(_maps(name, tensor))}</div>"
        for name, tensor in traced.tensors.items()
        if name.endswith("attention.weights")
    )
    rows = "".join(
        f'<tr><td style="text-align:left"><code>{escape(name)}</code></td>'
        f"<td>{escape(str(tuple(tensor.shape)))}</td><td>{_range(tensor)}</td></tr>"
        for name, tensor in traced.tensors.items()
    )
    edits = "".join(f"<div>✎ {escape(edit.said)}</div>" for edit in traced.edits)
    shape = " × ".join(map(str, traced.tokens.shape))
    return (
        f"<div><b>Trace</b> of {shape} tokens, attention by the {traced.attention} path{edits}{maps}"
        f"<details><summary>{Count(len(traced.tensors)):tensor}</summary>"
        f"<table><tr><th>name</th><th>shape</th><th>from … to</th></tr>{rows}</table></details></div>"
    )


def _maps(name: str, weights_bhnm: Tensor) -> list[str]:
    if weights_bhnm.dim() == 3:  # (b, n, m), of an encoder-decoder: one row of weights a step
        return [_HEAD.format(picture=picture(weights_bhnm[0]), name=escape(name), caption="alignment")]
    layer = name.split(".")[1]
    return [
        _HEAD.format(picture=picture(weights_nm), name=escape(f"{name} {head}"), caption=f"L{layer} H{head}")
        for head, weights_nm in enumerate(weights_bhnm[0])
    ]


def _range(tensor: Tensor) -> str:
    numbers = tensor.float()
    return f"{float(numbers.min()):.4g} … {float(numbers.max()):.4g}"
