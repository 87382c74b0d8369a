"""What a lesson is made of: a sheet, the parts of its page in their order, and questions.

Texts may hold mathematics between dollars (`$W^Q$`, TeX), `code`, **emphasis**, and numbers of the sheet
that stay true when it changes: `«A[0,1]»` is cell (0, 1) of matrix A, counted from 0, and `«A[0,1]:4»` the
same with 4 decimals. A blank line begins a new paragraph.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ..sheet import Sheet
from ..texts import Text as Text

Label = Text | str
"""What stands in every language alike is a plain string."""

Cell = tuple[str, int, int]
"""(matrix, row, column), counted from 0."""

Kind = Literal["numbers", "scores", "weights", "mask"]
"""How cells are coloured: not at all; around 0; from 0 to 1; visible or not."""

Edits = Mapping[str, Mapping[tuple[int, int], float] | Sequence[Sequence[float]]]
"""Other numbers for given matrices: some cells of one, or all of it."""


@dataclass(frozen=True)
class Shown:
    """A matrix of the sheet as a table.

    `symbol` is TeX and names it; `rows` and `columns` name axes of the lesson, whose labels head the table.
    `small` draws cells as colours alone, for matrices that are pictures.
    """

    name: str
    symbol: str
    rows: str = ""
    columns: str = ""
    kind: Kind = "numbers"
    decimals: int = 2
    small: bool = False
    note: Text | None = None


@dataclass(frozen=True)
class Prose:
    text: Text


@dataclass(frozen=True)
class Heading:
    text: Text


@dataclass(frozen=True)
class Formula:
    """A formula of its own line, in TeX."""

    tex: str


@dataclass(frozen=True)
class Matrices:
    """Matrices side by side; `title` says what they are together."""

    shown: tuple[Shown, ...]
    title: Text | None = None


@dataclass(frozen=True)
class Slider:
    """Sets a given 1 × 1 matrix."""

    name: str
    label: Text
    low: float
    high: float
    step: float = 1.0


@dataclass(frozen=True)
class Preset:
    key: str
    label: Text
    edits: Edits


@dataclass(frozen=True)
class Presets:
    """Buttons that set given matrices. The first is how the sheet is defined. The page without scripts
    shows the matrices under each of them."""

    label: Text
    choices: tuple[Preset, ...]


@dataclass(frozen=True)
class Query:
    """Buttons that choose one label of an axis, `begin` at first; its row is marked in every matrix with that
    axis, and the rows of `follow` are worked out in words, one after the other."""

    axis: str
    label: Text
    follow: tuple[str, ...]
    begin: int = 0


@dataclass(frozen=True)
class Sentence:
    """Lets the reader type own tokens: `embedded` becomes a made-up embedding of theirs, and every given
    matrix with the axis on both sides becomes as large, with the pattern of the preset in force."""

    axis: str
    embedded: str
    masks: tuple[str, ...] = ()
    most: int = 8


@dataclass(frozen=True)
class Line:
    """One line of a chart: a column of the sheet."""

    y: str
    label: Text


@dataclass(frozen=True)
class Points:
    """A point for each row of a chart's x, as high as in the column y, with the label that the axis gives
    it."""

    y: str
    axis: str


@dataclass(frozen=True)
class Chart:
    """Lines, or named points, over a common column x; `marks` are points (x, y) given by 1 × 1 matrices."""

    title: Text
    x: str
    x_label: Text
    y_label: Text
    lines: tuple[Line, ...] = ()
    points: Points | None = None
    marks: tuple[tuple[str, str], ...] = ()
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True)
class Flow:
    """What a row goes through from bottom to top. A node "+" adds what came into the node `skips` before it:
    the residual."""

    title: Text
    nodes: tuple[Label, ...]
    skips: int = 2


@dataclass(frozen=True)
class Flows:
    """Drawings of flows, side by side."""

    title: Text
    flows: tuple[Flow, ...]


@dataclass(frozen=True)
class Code:
    """A program of ours that prints the page's numbers, and what it prints (a test runs it)."""

    source: str
    output: str


@dataclass(frozen=True)
class Ledger:
    """A table of shapes: each matrix by its symbol, its shape as the sheet has it, and what it means."""

    rows: tuple[tuple[str, str, Text], ...]
    """(matrix, TeX, meaning)"""


@dataclass(frozen=True)
class Facts:
    """A table of single numbers: (meaning, cell, decimals)."""

    rows: tuple[tuple[Text, Cell, int], ...]
    title: Text | None = None


@dataclass(frozen=True)
class Live:
    """A part that only the server can serve, by name; the page without one says how to start it."""

    name: str


@dataclass(frozen=True)
class Mistake:
    """A wrong answer with a reason: what the reader sees who answers with this cell's number."""

    cell: Cell
    say: Text


@dataclass(frozen=True)
class Question:
    """Asked of the sheet, answered by a cell of it: so the answer follows the numbers on the page.

    With `options`, the right ones are those whose number is the cell's; without, the reader types a number,
    and is right within half a unit of the last of `decimals`. `under` are edits made before the cell is
    read ("what if …"). `why` is shown with the answer.
    """

    key: str
    ask: Text
    answer: Cell
    why: Text
    options: tuple[tuple[Label, float], ...] = ()
    decimals: int = 2
    under: Edits = field(default_factory=dict)
    mistakes: tuple[Mistake, ...] = ()


Block = (
    Prose
    | Heading
    | Formula
    | Matrices
    | Slider
    | Presets
    | Query
    | Sentence
    | Chart
    | Flows
    | Code
    | Ledger
    | Facts
    | Live
    | Question
)


@dataclass(frozen=True)
class Transfer:
    """A question that leaves the page's numbers behind, and its answer."""

    ask: Text
    answer: Text


@dataclass(frozen=True)
class Lesson:
    """One page. `axes` name the labels of rows and columns. `insight` is its line in the index, `claims` are
    those that it makes, by their names."""

    slug: str
    title: Text
    insight: Text
    question: Text
    sheet: Sheet
    predict: tuple[Question, ...]
    body: tuple[Block, ...]
    check: tuple[Question, ...]
    boundary: Text
    transfer: Transfer
    axes: Mapping[str, tuple[Label, ...]] = field(default_factory=dict)
    claims: tuple[str, ...] = ()


@dataclass(frozen=True)
class Chapter:
    """Lessons that belong together, in their order."""

    title: Text
    lessons: tuple[Lesson, ...]
