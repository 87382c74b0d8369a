"""Numbers that our own models learned, for lessons to show.

Each recipe here trains what one lesson shows, from its seed, on the CPU, in a minute or two; what it measured
lies beside it as JSON. Lessons read the file, so that no page trains anything. To make the files anew:

    python -m glassformer.lessons.trained            # all
    python -m glassformer.lessons.trained vectors    # one
"""

import json
from pathlib import Path
from typing import Any

RECIPES = ("vectors", "bottleneck", "alignment", "leak", "cross_attention", "pronoun")


def path(name: str) -> Path:
    """The file of what a recipe measured."""
    return Path(__file__).with_name(f"{name}.json")


def learned(name: str) -> dict[str, Any]:
    """What a recipe measured, as its `train` returned it."""
    found: dict[str, Any] = json.loads(path(name).read_text(encoding="utf-8"))
    return found
