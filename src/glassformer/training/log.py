"""The log of a run, one JSON object a line, and the picture made of it."""

import json
import math
from pathlib import Path
from typing import Any

from ..errors import UserError
from ..store.run import replace_text

LOG, PICTURE = "log.jsonl", "loss.png"


class Log:
    """`log.jsonl`. Opening it for a step drops lines of later steps, which a kill left behind."""

    def __init__(self, folder: Path, step: int) -> None:
        self.path = folder / LOG
        kept = [line for line in read(folder) if line["step"] <= step]
        replace_text(self.path, "".join(_spelled(line) for line in kept).rstrip("\n")) if kept else None
        if not kept:
            self.path.unlink(missing_ok=True)

    def add(self, **entry: Any) -> None:
        with self.path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(_spelled(entry))


def _spelled(entry: dict[str, Any]) -> str:
    return json.dumps(entry, allow_nan=False) + "\n"


def read(folder: Path) -> list[dict[str, Any]]:
    """The lines of a run's log; a last line that a kill cut short is left out."""
    path = folder / LOG
    if not path.is_file():
        return []
    entries: list[dict[str, Any]] = []
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    for number, line in enumerate(lines, 1):
        entry = _entry(line) if line else None
        if entry:
            entries.append(entry)
        elif line and number < len(lines) - 1:
            raise UserError(f"{path}: line {number} is damaged; it and what follows can be deleted")
    return entries


def _entry(line: str) -> dict[str, Any] | None:
    """A line of the log, or None if it is no object of finite numbers with a step."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(entry, dict) or type(entry.get("step")) is not int:
        return None
    numbers = all(type(value) in (int, float) and math.isfinite(value) for value in entry.values())
    return entry if numbers else None


def draw(folder: Path) -> Path:
    """`loss.png`: training and validation loss against the step."""
    from matplotlib.figure import Figure

    entries = read(folder)
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot(xlabel="step", ylabel="loss per token (nats)")
    for key, label, style in (("loss", "training", "-"), ("valid_loss", "validation", "o-")):
        points = [(entry["step"], entry[key]) for entry in entries if key in entry]
        if points:
            axes.plot(*zip(*points, strict=True), style, label=label, linewidth=1.2, markersize=3)
    axes.grid(alpha=0.3)
    if axes.lines:
        axes.legend()
    path = folder / PICTURE
    partial = folder / f"{PICTURE}.partial"
    figure.savefig(partial, format="png", dpi=120)
    partial.replace(path)
    return path
