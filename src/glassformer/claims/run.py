"""Running claims: each measurement is a file; one that is finished is taken, one that was stopped goes on."""

import hashlib
import json
import math
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from .. import __version__, output
from ..errors import UserError
from . import MODULES
from .claim import Claim, Given, Measured, Work

DIGITS = 8  # of a number that is kept
SEAL = "digest"


def run(
    claim: Claim,
    folder: Path,
    *,
    quick: bool,
    again: bool = False,
    given: Given | None = None,
    advance: Callable[[int, int], None] = lambda done, total: None,
) -> Measured:
    """Measure a claim and keep what was found as folder/NAME.json; the folder is made where there is none.

    What is `finished` there is taken as it is, unless it is to be measured `again`. A run that was stopped
    goes on from folder/NAME.partial.json, if it was of the same terms; its time counts. Raises UserError as
    `finished` does."""
    if not again and (taken := finished(claim, folder, quick=quick, given=given)):
        return taken
    whole, partial = _files(claim, folder)
    output.prepare(whole)
    terms = _terms(claim, quick, given)
    before = _read(partial)
    if not _is_of(before, terms):
        before = {}
    begun = time.perf_counter() - before.get("seconds", 0.0)

    def so_far() -> dict[str, Any]:
        return {**terms, "seconds": time.perf_counter() - begun}

    def keep(parts: dict[str, Any]) -> None:
        output.write_text(partial, _sealed({**so_far(), "parts": parts}))

    work = Work(quick, before.get("parts"), keep, advance, given)
    found = claim.measure(work)
    work.finish()
    measured: Measured = json.loads(json.dumps(_rounded({**so_far(), **found}), allow_nan=False))
    output.write_text(whole, _sealed(measured))
    partial.unlink(missing_ok=True)
    return measured


def finished(claim: Claim, folder: Path, *, quick: bool, given: Given | None = None) -> Measured | None:
    """What a finished run of the same terms found: as quick, by this version, with the same files given. None
    where there is none, or where one that measures it again was stopped.

    Raises UserError where a quick run would take the place of a full one, finished or stopped, and where the
    file is not as it was written."""
    whole, partial = _files(claim, folder)
    terms = _terms(claim, quick, given)
    found = _read(whole)
    if whole.exists() and not found:
        raise UserError(
            f"{whole} is no measurement, or was changed; delete it, or give another -o, or --again"
        )
    if _is_of(found, terms) and not _is_of(_read(partial), terms):
        return found
    if found.get("given") and terms["given"] is None:
        raise UserError(
            f"{whole} is of files that were given, which this run would leave out; give them again, or "
            "another -o, or --again"
        )
    for path in (whole, partial):
        if quick and _read(path).get("quick") is False:
            raise UserError(
                f"{path} is of a full run, which a quick one would replace; give another -o, or --again"
            )
    return None


def held(folder: Path) -> dict[str, Measured]:
    """What a folder holds of this version's measurements, by claim."""
    found = {name: _read(folder / f"{name}.json") for name in MODULES}
    ours = {"version": __version__}
    return {name: one for name, one in found.items() if _is_of(one, {**ours, "claim": name})}


def reread(path: Path) -> Measured:
    """A measurement from its file. Raises UserError for what is none."""
    found = _read(path)
    if not found:
        raise UserError(f"{path} holds no measurement of a claim, or was changed")
    return found


def _files(claim: Claim, folder: Path) -> tuple[Path, Path]:
    """Where a claim's measurement is kept, and what is done of one that goes on."""
    return folder / f"{claim.name}.json", folder / f"{claim.name}.partial.json"


def _terms(claim: Claim, quick: bool, given: Given | None) -> dict[str, Any]:
    """What measurements must share to stand for each other."""
    return {"claim": claim.name, "quick": quick, "version": __version__, "given": given and given.marks()}


def _is_of(found: dict[str, Any], terms: dict[str, Any]) -> bool:
    return all(found.get(key) == value for key, value in terms.items())


def _sealed(entries: dict[str, Any]) -> str:
    """What is kept as JSON, a line for each of its entries, with a digest that tells later changes."""
    entries = json.loads(json.dumps(entries))
    kept = {**entries, SEAL: _digest(entries)}
    lines = (f"{json.dumps(key)}: {json.dumps(value)}" for key, value in kept.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _digest(entries: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(entries, sort_keys=True).encode()).hexdigest()


def _read(path: Path) -> dict[str, Any]:
    """What is kept in a file; nothing where there is none, or it is not as it was written."""
    with suppress(OSError, ValueError, RecursionError):
        found = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(found, dict) and found.pop(SEAL, None) == _digest(found):
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
