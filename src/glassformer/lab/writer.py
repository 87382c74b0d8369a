"""Everything of a lesson's page that depends on its sheet and its language, as small pieces of HTML."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from markupsafe import Markup

from ..lessons.lesson import (
    Cell,
    Chart,
    Edits,
    Label,
    Lesson,
    Matrices,
    Preset,
    Presets,
    Query,
    Question,
    Shown,
    Text,
)
from ..sheet import explain
from ..texts import Language, number
from . import marks
from .charts import chart
from .formulas import formula
from .shades import shade
from .words import say


@dataclass(frozen=True)
class Drawn:
    """A number as a cell of a table."""

    text: str
    shade: str


def edited(lesson: Lesson, edits: Edits) -> dict[str, np.ndarray]:
    """The lesson's values after edits of its given matrices."""
    given = {}
    for name, change in edits.items():
        if isinstance(change, Sequence):
            given[name] = np.asarray(change, dtype=float)
        else:
            cells = np.array(lesson.sheet[name].parameters["values"], dtype=float)
            for (i, j), value in change.items():
                cells[i, j] = value
            given[name] = cells
    return lesson.sheet.evaluate(given)


class Writer:
    """Writes the parts of one lesson in one language, with the numbers of `values`."""

    def __init__(self, lesson: Lesson, language: Language, values: marks.Values | None = None) -> None:
        self.lesson, self.language = lesson, language
        self.values = lesson.sheet.evaluate() if values is None else values

    def under(self, edits: Edits) -> "Writer":
        """The same lesson after edits."""
        return Writer(self.lesson, self.language, edited(self.lesson, edits))

    def say(self, key: str, **values: object) -> str:
        return say(key, self.language, **values)

    def plain(self, label: Label) -> str:
        """A label in the page's language."""
        return getattr(label, self.language) if isinstance(label, Text) else label

    def line(self, label: Label) -> Markup:
        return marks.line(self.plain(label), self.values)

    def prose(self, text: Text) -> Markup:
        return marks.paragraphs(self.plain(text), self.values)

    def labels(self, axis: str) -> list[str]:
        """The labels of an axis; none for one without a name."""
        return [self.plain(label) for label in self.lesson.axes.get(axis, ())]

    def number(self, cell: Cell, decimals: int) -> str:
        name, i, j = cell
        return number(float(self.values[name][i, j]), decimals)

    def size(self, name: str) -> str:
        rows, columns = self.values[name].shape
        return f"{rows} × {columns}"

    def is_given(self, name: str) -> bool:
        return self.lesson.sheet[name].op == "const"

    def table(self, shown: Shown) -> list[list[Drawn]]:
        """The cells of a matrix, row by row."""
        values, given = self.values[shown.name], self.is_given(shown.name)
        finite = np.abs(values[np.isfinite(values)])
        largest = float(finite.max()) if finite.size else 0.0
        rows = []
        for row in values.tolist():
            # A row of weights that are all 0 looks nowhere; that has a look of its own.
            nowhere = shown.kind == "weights" and not any(row)
            rows.append(
                [
                    Drawn(
                        number(x, shown.decimals, given=given),
                        "nothing" if nowhere else shade(x, shown.kind, largest),
                    )
                    for x in row
                ]
            )
        return rows

    def right(self, question: Question) -> Markup:
        """The answer of a question as the page shows it, and why."""
        after = self.under(question.under) if question.under else self
        name, i, j = question.answer
        value = float(after.values[name][i, j])
        if question.options:
            chosen = [self.line(label) for label, worth in question.options if worth == value]
            answer = Markup("; ").join(chosen)
        else:
            answer = Markup(number(value, question.decimals))
        return Markup("<p><strong>{}</strong></p>").format(answer) + after.prose(question.why)

    def chart(self, block: Chart) -> Markup:
        return chart(block, self.values, self.labels(block.points.axis) if block.points else ())

    @cached_property
    def symbols(self) -> dict[str, Markup]:
        """How each matrix that is shown is named: as there, up to the first `=`."""
        shown = [s for block in self.lesson.body if isinstance(block, Matrices) for s in block.shown]
        return {s.name: marks.mathematics(s.symbol.partition("=")[0].strip()) for s in reversed(shown)}

    def symbol(self, name: str) -> Markup:
        """How a matrix is named: as where it is shown, else by its name."""
        return self.symbols.get(name) or _spelled(name)

    def worked(self, query: Query, i: int) -> list[tuple[Markup, str]]:
        """Row `i` of the matrices that a query follows, worked out: (which cell, its arithmetic)."""
        lines = []
        for name in query.follow:
            columns = self.values[name].shape[1]
            for j in range(columns):
                step = explain(self.lesson.sheet, self.values, name, i, j)
                # A column is a vector, which may have an index of its own: h₂[1].
                place = "{}[{}]" if columns == 1 else "{}<sub>{},{}</sub>"
                which = Markup(place).format(self.symbol(name), i + 1, j + 1)
                lines.append((which, formula(step.to_json())))
        return lines

    def differs(self, other: "Writer", name: str) -> bool:
        """Whether a matrix has other numbers here than there."""
        return not np.array_equal(self.values[name], other.values[name], equal_nan=True)

    def variants(self) -> list[tuple[Preset, "Writer"]]:
        """The lesson under each preset that changes it, for the page without scripts."""
        groups = [block for block in self.lesson.body if isinstance(block, Presets)]
        states = [(choice, self.under(choice.edits)) for group in groups for choice in group.choices]
        return [
            (choice, state)
            for choice, state in states
            if any(state.differs(self, matrix.name) for matrix in self.lesson.sheet.matrices)
        ]


def _spelled(name: str) -> Markup:
    """A matrix that is not shown: `K_T` is the transpose of K, `s_0` has an index, `largest` is a word.
    `proof.js` spells alike."""
    base, _, index = name.partition("_")
    raised = Markup("<i>{}</i><sup>⊤</sup>") if index == "T" else Markup("<i>{}</i><sub>{}</sub>")
    return raised.format(base, index.replace("_", " ")) if index else Markup("<i>{}</i>").format(base)
