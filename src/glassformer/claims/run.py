"""Running claims: each measurement is a file, and one that was stopped goes on."""

import json
import math
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from .. import __version__, output
from ..errors import UserError
from .claim import Claim, Given, Measured, Work

DIGITS = 8  # of a number that is kept


def run(
    claim: Claim,
    folder: Path,
    *,
    quick: bool,
    given: Given | None = None,
    advance: Callable[[int, int], None] = lambda done, total: None,
) -> Measured:
    """Measure a claim and keep what was found as folder/NAME.json. What a run that was stopped had done is
    taken from folder/NAME.partial.json, if it was as quick and of the same version."""
    partial = folder / f"{claim.name}.partial.json"
    terms = {"quick": quick, "version": __version__}

    def keep(parts: dict[str, Any]) -> None:
        output.write_text(partial, json.dumps({"terms": terms, "parts": parts}))

    before = _read(partial)
    kept = before["parts"] if before.get("terms") == terms else {}
    started = time.perf_counter()
    found = claim.measure(Work(quick, kept, keep, advance, given))
    seconds = time.perf_counter() - started
    measured = json.loads(json.dumps(_rounded({**terms, "seconds": seconds, **found}), allow_nan=False))
    output.write_text(folder / f"{claim.name}.json", written(measured))
    partial.unlink(missing_ok=True)
    return dict(measured)


def written(measured: Measured) -> str:
    """A measurement as JSON, a line for each of its entries."""
    lines = (f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in measured.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def reread(path: Path) -> Measured:
    """A measurement from its file. Raises UserError for what is none."""
    found = _read(path)
    if "quick" not in found:
        raise UserError(f"{path} holds no measurement of a claim; glassformer claims writes some")
    return found


def _read(path: Path) -> dict[str, Any]:
    with suppress(OSError, ValueError):
        found = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(found, dict):
            return found
    return {}


def _rounded(value: Any) -> Any:
    """Numbers with DIGITS significant digits; infinite ones and NaN, which JSON has not, as None."""
    if isinstance(value, dict):
        return {str(key): _rounded(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(entry) for entry in value]
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
    return value
