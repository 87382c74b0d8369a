"""A sheet: named matrices, each given numbers or a formula over earlier ones.

    sheet = Sheet()
    x = sheet.embed("X", ["the", "cat"], 4)
    q = sheet.matmul("Q", x, sheet.normal("W^Q", 4, "d_k", seed=1))

Its JSON, which sheet.js reads too:

    {"matrices": [{"name": "Q", "op": "matmul", "of": ["X", "W^Q"], "parameters": {}}, ...]}
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from ..errors import UserError
from .operations import OPERATIONS
from .parameters import BOUNDS, Array, Numbers, checked, grid, is_name, resolved

Size = int | str
"""A whole number, or the name of an earlier 1x1 matrix that holds it."""
Over = Literal["columns", "rows", "all"]
Span = tuple[int, int] | None

_KEYS = ("name", "op", "of", "parameters")


@dataclass(frozen=True)
class Matrix:
    """One matrix of a sheet. `of` are its operands by name, `parameters` plain JSON values."""

    name: str
    op: str
    of: tuple[str, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def dependencies(self) -> tuple[str, ...]:
        """The matrices it is computed from: its operands, and those that its sizes are taken from."""
        kinds = OPERATIONS[self.op].parameters
        sizes = [x for key, x in self.parameters.items() if kinds[key] in BOUNDS and isinstance(x, str)]
        return tuple(dict.fromkeys([*self.of, *sizes]))

    def to_json(self) -> dict[str, Any]:
        """The matrix as JSON values."""
        return {"name": self.name, "op": self.op, "of": list(self.of), "parameters": dict(self.parameters)}


class Sheet:
    """A list of matrices that only grows. Each method named after an operation appends a matrix and returns
    its name; operands are names of earlier matrices.

    What is written is checked when it is appended, shapes and numbers when the sheet is evaluated. All errors
    are UserErrors that name the matrix.
    """

    def __init__(self, matrices: Iterable[Matrix] = ()) -> None:
        self._matrices: dict[str, Matrix] = {}
        for matrix in matrices:
            self.append(matrix)

    @property
    def matrices(self) -> tuple[Matrix, ...]:
        """All matrices, in their order."""
        return tuple(self._matrices.values())

    def __getitem__(self, name: str) -> Matrix:
        if name not in self._matrices:
            raise UserError(f"there is no matrix {name}")
        return self._matrices[name]

    def append(self, matrix: Matrix) -> str:
        """Append a matrix and return its name. Raises UserError for one that cannot stand here: its name is
        no name or taken, its operation unknown, an operand not earlier, a parameter not as it must be."""
        if not is_name(matrix.name):
            raise UserError(
                f"matrix number {len(self._matrices)}: its name must be a text of 1 to 64 characters, "
                "none of them a control character"
            )
        try:
            self._matrices[matrix.name] = self._checked(matrix)
        except UserError as error:
            raise UserError(f"{matrix.name}: {error}") from None
        return matrix.name

    def _checked(self, matrix: Matrix) -> Matrix:
        if matrix.name in self._matrices:
            raise UserError("the name is taken by an earlier matrix")
        if not is_name(matrix.op) or matrix.op not in OPERATIONS:
            said = f" {matrix.op}" if is_name(matrix.op) else ""
            raise UserError(f"unknown operation{said}; known: {', '.join(OPERATIONS)}")
        operation = OPERATIONS[matrix.op]
        if not isinstance(matrix.of, tuple | list):
            raise UserError("its operands must be a list of names")
        wanted = operation.operands
        if len(matrix.of) != wanted if wanted is not None else not matrix.of:
            count = "at least 1" if wanted is None else wanted
            raise UserError(f"{matrix.op} takes {count} operands, not {len(matrix.of)}")
        for k, name in enumerate(matrix.of):
            self._require_earlier(f"operand {k}", name)
        kinds, given = operation.parameters, matrix.parameters
        if not isinstance(given, Mapping) or set(given) != set(kinds):
            raise UserError(f"{matrix.op} takes {_listed(kinds)}")
        parameters = {}
        for key, kind in kinds.items():
            try:
                parameters[key] = checked(kind, given[key])
            except UserError as error:
                raise UserError(f"{key} {error}" if kind != "values" else str(error)) from None
            if kind in BOUNDS and isinstance(parameters[key], str):
                self._require_earlier(key, parameters[key])
        return Matrix(matrix.name, matrix.op, tuple(matrix.of), parameters)

    def _require_earlier(self, what: str, name: Any) -> None:
        if not is_name(name):
            raise UserError(f"{what} is no name of a matrix")
        if name not in self._matrices:
            raise UserError(f"{what}, {name}, is no earlier matrix")

    def evaluate(self, given: Mapping[str, Numbers] | None = None) -> dict[str, Array]:
        """The value of every matrix, (rows, cols) each, none of them shared with another.

        `given` replaces the numbers of consts, also by another shape: rows of numbers, or one number as 1x1.
        Raises UserError for what is given to no const, for numbers that are none (NaN is none), and for
        shapes and sizes that do not fit.
        """
        replaced = {name: self._given(name, values) for name, values in (given or {}).items()}
        values: dict[str, Array] = {}
        for matrix in self._matrices.values():
            if matrix.name in replaced:
                values[matrix.name] = replaced[matrix.name]
                continue
            operation = OPERATIONS[matrix.op]
            try:
                with np.errstate(all="ignore"):
                    values[matrix.name] = operation.evaluate(
                        [values[name] for name in matrix.of],
                        resolved(operation.parameters, matrix.parameters, values),
                    )
            except UserError as error:
                raise UserError(f"{matrix.name}: {error}") from None
        return values

    def _given(self, name: str, values: Any) -> Array:
        if not is_name(name) or name not in self._matrices:
            raise UserError(f"given: there is no matrix{f' {name}' if is_name(name) else ' of such a name'}")
        if self[name].op != "const":
            raise UserError(f"given: {name} is computed by {self[name].op}; only a const can be given")
        try:
            return grid(values)
        except UserError as error:
            raise UserError(f"given: {name}: {error}") from None

    def to_json(self) -> dict[str, Any]:
        """The sheet as JSON values, without NaN or Infinity."""
        return {"matrices": [matrix.to_json() for matrix in self._matrices.values()]}

    @classmethod
    def from_json(cls, values: Any) -> "Sheet":
        """The sheet that `to_json` wrote. Raises UserError for everything that is none."""
        entries = values.get("matrices") if isinstance(values, Mapping) and len(values) == 1 else None
        if not isinstance(entries, list):
            raise UserError("a sheet must be an object with the list matrices and nothing else")
        sheet = cls()
        for k, entry in enumerate(entries):
            if not isinstance(entry, Mapping) or set(entry) != set(_KEYS):
                raise UserError(f"matrix number {k}: it must be an object with {', '.join(_KEYS)}")
            sheet.append(Matrix(**entry))
        return sheet

    def _new(self, name: str, op: str, *of: str, **parameters: Any) -> str:
        return self.append(Matrix(name, op, of, parameters))

    def const(self, name: str, values: Numbers) -> str:
        """Given numbers: rows, or one number as 1x1. `evaluate` can be given others."""
        return self._new(name, "const", values=values)

    def normal(self, name: str, rows: Size, cols: Size, seed: Size) -> str:
        """Standard normal numbers. Each depends on the seed and its place only, not on the size."""
        return self._new(name, "normal", rows=rows, cols=cols, seed=seed)

    def embed(self, name: str, tokens: Iterable[str], cols: Size) -> str:
        """A made-up vector for each token, of values among -1, -0.75, ..., 1: equal texts, equal vectors."""
        return self._new(name, "embed", tokens=list(tokens), cols=cols)

    def range(self, name: str, count: Size, start: float = 0.0, step: float = 1.0) -> str:
        """The column start, start + step, ...: (count, 1)."""
        return self._new(name, "range", count=count, start=start, step=step)

    def onehot(self, name: str, indices: str, cols: Size) -> str:
        """For a column of n indices from 0, a 1 in each row at its index: (n, cols)."""
        return self._new(name, "onehot", indices, cols=cols)

    def matmul(self, name: str, a: str, b: str) -> str:
        """(m, k) times (k, n): (m, n)."""
        return self._new(name, "matmul", a, b)

    def transpose(self, name: str, a: str) -> str:
        return self._new(name, "transpose", a)

    def add(self, name: str, a: str, b: str) -> str:
        return self._new(name, "add", a, b)

    def sub(self, name: str, a: str, b: str) -> str:
        return self._new(name, "sub", a, b)

    def mul(self, name: str, a: str, b: str) -> str:
        """Cell by cell."""
        return self._new(name, "mul", a, b)

    def div(self, name: str, a: str, b: str) -> str:
        return self._new(name, "div", a, b)

    def less(self, name: str, a: str, b: str) -> str:
        """1 where a < b, else 0."""
        return self._new(name, "less", a, b)

    def exp(self, name: str, a: str) -> str:
        return self._new(name, "exp", a)

    def log(self, name: str, a: str) -> str:
        """The natural logarithm."""
        return self._new(name, "log", a)

    def sqrt(self, name: str, a: str) -> str:
        return self._new(name, "sqrt", a)

    def sin(self, name: str, a: str) -> str:
        return self._new(name, "sin", a)

    def cos(self, name: str, a: str) -> str:
        return self._new(name, "cos", a)

    def tanh(self, name: str, a: str) -> str:
        return self._new(name, "tanh", a)

    def sigmoid(self, name: str, a: str) -> str:
        return self._new(name, "sigmoid", a)

    def relu(self, name: str, a: str) -> str:
        return self._new(name, "relu", a)

    def mask(self, name: str, scores: str, allowed: str, fill: float = -np.inf) -> str:
        """The scores, but `fill` where `allowed`, which broadcasts over them, is 0."""
        return self._new(name, "mask", scores, allowed, fill=fill)

    def softmax(self, name: str, scores: str) -> str:
        """Over each row. -inf gives exactly 0; a row of nothing else sees nothing: zeros."""
        return self._new(name, "softmax", scores)

    def layernorm(self, name: str, x: str, eps: float = 1e-5) -> str:
        """Each row: (x - mean) / √(variance + eps), the variance biased (Ba et al. 2016)."""
        return self._new(name, "layernorm", x, eps=eps)

    def concat(self, name: str, *parts: str, axis: Literal["columns", "rows"] = "columns") -> str:
        """Parts side by side ("columns") or one under the other ("rows")."""
        return self._new(name, "concat", *parts, axis=axis)

    def slice(self, name: str, a: str, rows: Span = None, columns: Span = None) -> str:
        """The rows and columns from start up to, without, stop; None takes all."""
        return self._new(name, "slice", a, rows=rows, columns=columns)

    def sum(self, name: str, a: str, over: Over = "columns") -> str:
        """Over the columns, one sum for each row: (m, 1). Over the rows: (1, n). Over all: (1, 1)."""
        return self._new(name, "sum", a, over=over)

    def max(self, name: str, a: str, over: Over = "columns") -> str:
        """As `sum`."""
        return self._new(name, "max", a, over=over)

    def argmax(self, name: str, a: str) -> str:
        """The column of each row's largest number, the first of several: (m, 1)."""
        return self._new(name, "argmax", a)


def _listed(kinds: Mapping[str, str]) -> str:
    return f"the parameters {', '.join(kinds)} and no others" if kinds else "no parameters"
