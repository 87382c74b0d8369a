"""Tensors as a spreadsheet: named matrices with formulas, evaluated here and in the browser alike.

`sheet.js` beside this file evaluates and explains the same JSON; `SCRIPT` is where it lies.
"""

from pathlib import Path

from .explain import Cell, Step, explain
from .sheet import Matrix, Sheet

SCRIPT = Path(__file__).with_name("sheet.js")

__all__ = ["SCRIPT", "Cell", "Matrix", "Sheet", "Step", "explain"]
