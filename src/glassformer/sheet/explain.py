"""One level of the arithmetic behind one number of a sheet: the cells it was computed from, and how.

Explaining those cells in turn always ends at cells without operands, for a matrix only uses earlier ones.
sheet.js explains the same way. What stands beside the operands, for each operation:

- matmul: operands are row i of a, then column j of b; `terms`: a, b and their product `value`, which add up.
- sum: `terms`, the cells that add up: the operands.
- max, argmax: `which` of the operands, counted from 0, is the (first) largest.
- softmax: operands are the row; `largest` of them; `exps`, exp(operand - largest) of each, 0 for -inf;
  `denominator`, their sum; `visible`, how many are not -inf. The value is this cell's exp / denominator,
  but 0 where the score is -inf: so a row with nothing visible is 0, not 0 / 0.
- mask: operands are the score and the allowed cell; `masked`; `fill`, the value of a masked cell.
- layernorm: operands are the row; `mean`, `variance`, `eps`; `centred`, this cell - mean.
- elementwise: operands in the formula's order, where they really are if they were broadcast.
- transpose, concat, slice: the cell that was copied. onehot: the index of the row.
- const: nothing. embed: the `token`. range: `start` and `step`. normal: the `seed`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import UserError
from .operations import AXES, BINARY, OPERATIONS, UNARY, moments, softmax_parts, span
from .parameters import Array, resolved
from .sheet import Matrix, Sheet


@dataclass(frozen=True)
class Cell:
    """One number of a matrix, counted from 0."""

    name: str
    i: int
    j: int
    value: float


@dataclass(frozen=True)
class Term:
    """One product of a matmul."""

    a: Cell
    b: Cell
    value: float


@dataclass(frozen=True)
class Step:
    """How one number came about. `parts` are the operation's own, as listed at the head of the file."""

    name: str
    i: int
    j: int
    value: float
    op: str
    operands: tuple[Cell, ...] = ()
    parts: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The step as JSON values, the parts beside the rest; "inf", "-inf" and "nan" are strings."""
        plain = {key: value for key, value in vars(self).items() if key != "parts"}
        return {key: _wire(value) for key, value in {**plain, **self.parts}.items()}


def _wire(value: Any) -> Any:
    if isinstance(value, Cell | Term):
        return {key: _wire(part) for key, part in vars(value).items()}
    if isinstance(value, tuple):
        return [_wire(part) for part in value]
    return str(value) if isinstance(value, float) and not np.isfinite(value) else value


def explain(sheet: Sheet, values: Mapping[str, Array], name: str, i: int, j: int) -> Step:
    """How cell (i, j) of a matrix came about, given the values that `sheet.evaluate` returned.

    Raises UserError for a matrix or cell that is not there.
    """
    matrix = sheet[name]
    rows, cols = values[name].shape
    if not (0 <= i < rows and 0 <= j < cols):
        raise UserError(f"{name} is {(rows, cols)} and has no cell [{i}, {j}]")
    operands, parts = _EXPLAIN[matrix.op](_Place(matrix, values, i, j))
    return Step(name, i, j, float(values[name][i, j]), matrix.op, tuple(operands), parts)


@dataclass(frozen=True)
class _Place:
    """The cell to explain, and what its operation had before it."""

    matrix: Matrix
    values: Mapping[str, Array]
    i: int
    j: int

    @property
    def parameters(self) -> Any:
        return resolved(OPERATIONS[self.matrix.op].parameters, self.matrix.parameters, self.values)

    def operand(self, k: int) -> Array:
        return self.values[self.matrix.of[k]]

    def cell(self, k: int, i: int, j: int) -> Cell:
        """A cell of operand k; along an axis of size 1, the only one there is."""
        rows, cols = self.operand(k).shape
        i, j = (i if rows > 1 else 0), (j if cols > 1 else 0)
        return Cell(self.matrix.of[k], i, j, float(self.operand(k)[i, j]))

    def row(self) -> list[Cell]:
        """Row i of the first operand."""
        return [self.cell(0, self.i, j) for j in range(self.operand(0).shape[1])]


Explained = tuple[list[Cell], dict[str, Any]]


def _matmul(at: _Place) -> Explained:
    size = at.operand(1).shape[0]
    row, column = at.row(), [at.cell(1, k, at.j) for k in range(size)]
    terms = tuple(Term(a, b, a.value * b.value) for a, b in zip(row, column, strict=True))
    return row + column, {"terms": terms}


def _reduced(at: _Place, axis: int | None) -> list[Cell]:
    """The cells of the first operand that a sum or maximum along an axis takes, row by row."""
    rows, cols = at.operand(0).shape
    return [
        at.cell(0, i, j)
        for i in (range(rows) if axis != 1 else [at.i])
        for j in (range(cols) if axis != 0 else [at.j])
    ]


def _sum(at: _Place) -> Explained:
    cells = _reduced(at, AXES[at.parameters["over"]])
    return cells, {"terms": tuple(cells)}


def _largest(cells: list[Cell]) -> Explained:
    return cells, {"which": int(np.argmax([cell.value for cell in cells]))}


def _softmax(at: _Place) -> Explained:
    with np.errstate(all="ignore"):
        largest, exps, denominator = softmax_parts(at.operand(0)[at.i : at.i + 1])
    return at.row(), {
        "largest": float(largest[0, 0]),
        "exps": tuple(exps[0].tolist()),
        "denominator": float(denominator[0, 0]),
        "visible": sum(cell.value != -np.inf for cell in at.row()),
    }


def _mask(at: _Place) -> Explained:
    allowed = at.cell(1, at.i, at.j)
    parts = {"masked": allowed.value == 0, "fill": float(at.parameters["fill"])}
    return [at.cell(0, at.i, at.j), allowed], parts


def _layernorm(at: _Place) -> Explained:
    with np.errstate(all="ignore"):
        mean, variance = moments(at.operand(0)[at.i : at.i + 1])
    return at.row(), {
        "mean": float(mean[0, 0]),
        "variance": float(variance[0, 0]),
        "eps": at.parameters["eps"],
        "centred": at.cell(0, at.i, at.j).value - float(mean[0, 0]),
    }


def _concat(at: _Place) -> Explained:
    axis = AXES[at.parameters["axis"]] or 0
    place, k = [at.i, at.j], 0
    while place[axis] >= at.operand(k).shape[axis]:
        place[axis] -= at.operand(k).shape[axis]
        k += 1
    return [at.cell(k, *place)], {}


def _slice(at: _Place) -> Explained:
    rows, cols = at.operand(0).shape
    first_row, _ = span("rows", at.parameters["rows"], rows)
    first_column, _ = span("columns", at.parameters["columns"], cols)
    return [at.cell(0, first_row + at.i, first_column + at.j)], {}


def _elementwise(at: _Place) -> Explained:
    return [at.cell(k, at.i, at.j) for k in range(len(at.matrix.of))], {}


_EXPLAIN: Mapping[str, Callable[[_Place], Explained]] = {
    "const": lambda at: ([], {}),
    "normal": lambda at: ([], {"seed": at.parameters["seed"]}),
    "embed": lambda at: ([], {"token": at.parameters["tokens"][at.i]}),
    "range": lambda at: ([], {"start": at.parameters["start"], "step": at.parameters["step"]}),
    "onehot": lambda at: ([at.cell(0, at.i, 0)], {}),
    "matmul": _matmul,
    "transpose": lambda at: ([at.cell(0, at.j, at.i)], {}),
    **dict.fromkeys([*BINARY, *UNARY], _elementwise),
    "mask": _mask,
    "softmax": _softmax,
    "layernorm": _layernorm,
    "concat": _concat,
    "slice": _slice,
    "sum": _sum,
    "max": lambda at: _largest(_reduced(at, AXES[at.parameters["over"]])),
    "argmax": lambda at: _largest(at.row()),
}
