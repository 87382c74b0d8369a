"""What each operation of a sheet computes. sheet.js computes the same.

Every value is a 2-D float64 matrix, a scalar is 1x1. Elementwise operations broadcast as numpy does. Dividing
by 0 and the like follow IEEE 754, without complaint. Sums and maxima never give -0, for 1/-0 would show in
which order they were taken.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import UserError
from .parameters import Array, grid, require_room, whole

Whole = NDArray[np.uint32]
Evaluate = Callable[[Sequence[Array], Mapping[str, Any]], Array]

AXES = {"columns": 1, "rows": 0, "all": None}


@dataclass(frozen=True)
class Operation:
    """`operands`: how many, None for one or more. `parameters`: the kind of each, see parameters.py.

    `evaluate` takes the operands and the parameters, sizes already whole numbers. It raises UserError where
    shapes or numbers do not fit, without the matrix's name.
    """

    operands: int | None
    evaluate: Evaluate
    parameters: Mapping[str, str] = field(default_factory=dict)


def _const(of: Sequence[Array], p: Mapping[str, Any]) -> Array:
    return grid(p["values"])


def _mixed(h: Whole) -> Whole:
    """The finaliser of MurmurHash3: every bit of the result depends on every bit."""
    h = (h ^ (h >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    h = (h ^ (h >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    mixed: Whole = h ^ (h >> np.uint32(16))
    return mixed


def _hashed(first: Whole, second: Whole, count: Whole) -> Whole:
    """The number of rank `count` in the sequence of two keys. With one key alone, sequences whose keys lie
    close together would be the same numbers a few ranks apart."""
    return _mixed(second ^ _mixed(first + count))


def _keys(seed: Any) -> tuple[Whole, Whole]:
    key = np.array([[seed]], dtype=np.uint32)
    return _mixed(key), _mixed(~key)


def _normal(of: Sequence[Array], p: Mapping[str, Any]) -> Array:
    """Box-Muller on two hashes of (seed, i, j): a cell does not depend on the size of its matrix."""
    require_room(p["rows"], p["cols"])
    i = np.arange(p["rows"], dtype=np.uint32)[:, None]
    j = np.arange(p["cols"], dtype=np.uint32)[None, :]
    keys = _keys(p["seed"])
    row_keys = _hashed(*keys, 2 * i), _hashed(*keys, 2 * i + 1)
    radius = np.sqrt(-2 * np.log((_hashed(*row_keys, 2 * j) + 0.5) / 2**32))
    angle = 2 * np.pi * (_hashed(*row_keys, 2 * j + 1) / 2**32)
    return np.asarray(radius * np.cos(angle), dtype=np.float64)


def _embed(of: Sequence[Array], p: Mapping[str, Any]) -> Array:
    """One of -1, -0.75, ..., 1 for each token and column, by the hash of the token's UTF-8 bytes (FNV-1a)."""
    if not p["tokens"]:
        raise UserError("tokens must be at least one text")
    require_room(len(p["tokens"]), p["cols"])
    j = np.arange(p["cols"], dtype=np.uint32)[None, :]
    rows = [_hashed(*_keys(_fnv(token.encode())), j) % 9 for token in p["tokens"]]
    return (np.concatenate(rows).astype(np.float64) - 4) / 4


def _fnv(data: bytes) -> int:
    h = 0x811C9DC5
    for byte in data:
        h = (h ^ byte) * 0x01000193 & 0xFFFFFFFF
    return h


def _range(of: Sequence[Array], p: Mapping[str, Any]) -> Array:
    k = np.arange(p["count"], dtype=np.float64)[:, None]
    return np.asarray(p["start"] + p["step"] * k)


def _onehot(of: Sequence[Array], p: Mapping[str, Any]) -> Array:
    indices, cols = of[0], p["cols"]
    if indices.shape[1] != 1:
        raise UserError(f"the indices must be one column, not {indices.shape}")
    chosen = [whole(f"index {i}", x, 0, cols - 1) for i, x in enumerate(indices[:, 0].tolist())]
    require_room(len(chosen), cols)
    return np.asarray(np.array(chosen)[:, None] == np.arange(cols), dtype=np.float64)


def _matmul(of: Sequence[Array], p: Mapping[str, Any]) -> Array:
    a, b = of
    if a.shape[1] != b.shape[0]:
        raise UserError(f"{a.shape} times {b.shape} does not fit: {a.shape[1]} columns, {b.shape[0]} rows")
    require_room(a.shape[0], b.shape[1])
    return a @ b + 0.0


def _one(function: Callable[[Array], Array]) -> Operation:
    return Operation(1, lambda of, p: function(of[0]))


def _two(function: Callable[[Array, Array], Any]) -> Operation:
    def evaluate(of: Sequence[Array], p: Mapping[str, Any]) -> Array:
        a, b = of
        if any(m != n and 1 not in (m, n) for m, n in zip(a.shape, b.shape, strict=True)):
            raise UserError(f"{a.shape} and {b.shape} do not fit: equal sizes, or 1, are needed")
        require_room(max(a.shape[0], b.shape[0]), max(a.shape[1], b.shape[1]))
        return np.asarray(function(a, b), dtype=np.float64)

    return Operation(2, evaluate)


def _mask(of: Sequence[Array], p: Mapping[str, Any]) -> Array:
    scores, allowed = of
    if any(m not in (n, 1) for m, n in zip(allowed.shape, scores.shape, strict=True)):
        raise UserError(f"allowed {allowed.shape} does not fit scores {scores.shape}")
    return np.where(allowed == 0, float(p["fill"]), scores)


def softmax_parts(scores: Array) -> tuple[Array, Array, Array]:
    """Of each row: its largest score (m, 1), exp(score - largest) (m, n) and their sum (m, 1).

    A score of -inf gives exactly 0, also in a row of nothing else.
    """
    largest = _max(scores, 1)
    exps = np.where(scores == -np.inf, 0.0, np.exp(scores - largest))
    return largest, exps, exps.sum(1, keepdims=True)


def _softmax(of: Sequence[Array], p: Mapping[str, Any]) -> Array:
    _, exps, denominator = softmax_parts(of[0])
    return np.where(of[0] == -np.inf, 0.0, exps / denominator)


def moments(x: Array) -> tuple[Array, Array]:
    """The mean and the biased variance of each row, (m, 1) both."""
    mean = x.sum(1, keepdims=True) / x.shape[1]
    return mean, ((x - mean) ** 2).sum(1, keepdims=True) / x.shape[1]


def _layernorm(of: Sequence[Array], p: Mapping[str, Any]) -> Array:
    mean, variance = moments(of[0])
    return np.asarray((of[0] - mean) / np.sqrt(variance + p["eps"]))


def _concat(of: Sequence[Array], p: Mapping[str, Any]) -> Array:
    axis = AXES[p["axis"]]
    across = 1 if axis == 0 else 0  # the axis along which all must be equal
    for part in of:
        if part.shape[across] != of[0].shape[across]:
            raise UserError(f"{of[0].shape} and {part.shape} cannot be joined along their {p['axis']}")
    total = sum(part.shape[1 - across] for part in of)
    require_room(*((total, of[0].shape[1]) if axis == 0 else (of[0].shape[0], total)))
    return np.concatenate(of, axis=axis)


def span(what: str, ends: Sequence[float] | None, size: int) -> tuple[int, int]:
    """Start and stop of a slice along an axis. Raises UserError for an empty one or one that leaves it."""
    start, stop = map(int, ends or (0, size))
    if not 0 <= start < stop <= size:
        raise UserError(f"{what} must be start and stop with 0 <= start < stop <= {size}")
    return start, stop


def _slice(of: Sequence[Array], p: Mapping[str, Any]) -> Array:
    rows = span("rows", p["rows"], of[0].shape[0])
    columns = span("columns", p["columns"], of[0].shape[1])
    return of[0][slice(*rows), slice(*columns)].copy()


def _max(x: Array, axis: int | None) -> Array:
    return np.asarray(x.max(axis, keepdims=True) + 0.0)


UNARY: Mapping[str, Callable[[Array], Array]] = {
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "relu": lambda x: np.where(x < 0, 0.0, x),
}
BINARY: Mapping[str, Callable[[Array, Array], Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "less": np.less,
}
OPERATIONS: Mapping[str, Operation] = {
    "const": Operation(0, _const, {"values": "values"}),
    "normal": Operation(0, _normal, {"rows": "size", "cols": "size", "seed": "seed"}),
    "embed": Operation(0, _embed, {"tokens": "texts", "cols": "size"}),
    "range": Operation(0, _range, {"count": "size", "start": "number", "step": "number"}),
    "onehot": Operation(1, _onehot, {"cols": "size"}),
    "matmul": Operation(2, _matmul),
    "transpose": Operation(1, lambda of, p: of[0].T.copy()),
    **{name: _two(function) for name, function in BINARY.items()},
    **{name: _one(function) for name, function in UNARY.items()},
    "mask": Operation(2, _mask, {"fill": "fill"}),
    "softmax": Operation(1, _softmax),
    "layernorm": Operation(1, _layernorm, {"eps": "number"}),
    "concat": Operation(None, _concat, {"axis": "axis"}),
    "slice": Operation(1, _slice, {"rows": "span", "columns": "span"}),
    "sum": Operation(
        1, lambda of, p: np.asarray(of[0].sum(AXES[p["over"]], keepdims=True) + 0.0), {"over": "over"}
    ),
    "max": Operation(1, lambda of, p: _max(of[0], AXES[p["over"]]), {"over": "over"}),
    "argmax": Operation(1, lambda of, p: of[0].argmax(1).astype(np.float64)[:, None]),
}
