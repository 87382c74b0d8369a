"""Holds sheet.js to the Python beside it: every value, the steps behind the cells, and every error.

    browser = load(page)
    assert_conforms(browser, [sheet.to_json(), ...], [{}, ...])

Numbers may differ by 1e-12·max(1,|x|), which floats keep for inputs of moderate size: of large terms that
cancel, no bound on what is left holds for two orders of summation.
"""

import json
import math

import numpy as np

from glassformer.errors import UserError
from glassformer.sheet import SCRIPT, Sheet, explain

EXPLAINED = 40  # cells of a matrix

BATCH = """
text => {
  const { evaluate, explain } = window.sheets;
  const plain = (key, x) => typeof x !== "number" || Number.isFinite(x) ? x
    : Number.isNaN(x) ? "nan" : x > 0 ? "inf" : "-inf";
  const results = JSON.parse(text).map(({ sheet, given, cells }) => {
    try {
      const values = evaluate(sheet, given);
      const steps = cells.map(([name, i, j]) => explain(sheet, values, name, i, j));
      const matrices = Object.entries(values).map(([name, { rows, cols, data }]) =>
        [name, { rows, cols, data: [...data] }]);
      return { values: Object.fromEntries(matrices), steps };
    } catch (error) {
      return { error: error.message };
    }
  });
  return JSON.stringify(results, plain);
}
"""


def load(page, source=None):
    """Make sheet.js the page's `window.sheets`; returns the page."""
    text = SCRIPT.read_text(encoding="utf-8") if source is None else source
    page.evaluate(
        """async text => {
          window.sheets = await import(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
        }""",
        text,
    )
    return page


def assert_conforms(page, sheets, givens=None):
    """Fail unless a page that `load` was called with makes of each sheet (its JSON) what Python makes."""
    cases = []
    for sheet, given in zip(sheets, givens or [{}] * len(sheets), strict=True):
        expected, cells = reckoned(sheet, given)
        cases.append(({"sheet": sheet, "given": given, "cells": cells}, expected))
    found = json.loads(page.evaluate(BATCH, json.dumps([case for case, _ in cases], allow_nan=False)))
    for (case, expected), theirs in zip(cases, found, strict=True):
        if wrong := difference(expected, theirs):
            raise AssertionError(f"{wrong}\nof {json.dumps({k: case[k] for k in ('sheet', 'given')})[:4000]}")


def reckoned(sheet_json, given):
    """What Python makes of a sheet, as BATCH returns it, and the cells that were explained."""
    try:
        sheet = Sheet.from_json(sheet_json)
        values = sheet.evaluate(given)
    except UserError as error:
        return {"error": str(error)}, []
    cells = [
        (name, *map(int, np.unravel_index(place, value.shape)))
        for name, value in values.items()
        for place in range(0, value.size, -(-value.size // EXPLAINED))
    ]
    matrices = {
        name: {"rows": len(value), "cols": value.shape[1], "data": [plain(x) for x in value.ravel().tolist()]}
        for name, value in values.items()
    }
    steps = [explain(sheet, values, *cell).to_json() for cell in cells]
    return {"values": matrices, "steps": steps}, cells


def plain(x):
    return x if math.isfinite(x) else str(x)


def difference(mine, theirs, path=""):
    """Where two JSON values first differ, None if nowhere."""
    if isinstance(mine, dict) and isinstance(theirs, dict):
        if mine.keys() != theirs.keys():
            return f"{path}: {sorted(mine)} in Python, {sorted(theirs)} in the browser: {theirs.get('error')}"
        tied = mine.get("which") != theirs.get("which") and agree(*(step_largest(x) for x in (mine, theirs)))
        keys = mine.keys() - {"which"} if tied else mine.keys()
        parts = ((mine[key], theirs[key], f"{path}.{key}") for key in keys)
    elif isinstance(mine, list) and isinstance(theirs, list):
        if len(mine) != len(theirs):
            return f"{path}: {len(mine)} entries in Python, {len(theirs)} in the browser"
        parts = ((a, b, f"{path}[{k}]") for k, (a, b) in enumerate(zip(mine, theirs, strict=True)))
    else:
        return None if agree(mine, theirs) else f"{path}: {mine!r} in Python, {theirs!r} in the browser"
    return next((wrong for part in parts if (wrong := difference(*part))), None)


def step_largest(step):
    """The operand that a maximum took: which of several equal ones that is, rounding decides."""
    return step["operands"][step["which"]]["value"]


def agree(mine, theirs):
    numbers = [x for x in (mine, theirs) if isinstance(x, int | float) and not isinstance(x, bool)]
    if len(numbers) == 2:
        return abs(mine - theirs) <= 1e-12 * max(1.0, abs(mine))
    return type(mine) is type(theirs) and mine == theirs
