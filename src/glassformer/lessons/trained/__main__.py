"""`python -m glassformer.lessons.trained [NAME...]`: train, and write the files beside the recipes."""

import json
import sys
from importlib import import_module

from ... import output
from ...errors import UserError, unknown
from . import RECIPES, path


def main(names: list[str]) -> None:
    """Write the files of these recipes, or of all."""
    for name in names:
        if name not in RECIPES:
            raise unknown("recipe", name, RECIPES)
    for name in names or RECIPES:
        measured = import_module(f"{__package__}.{name}").train()
        lines = (
            f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in measured.items()
        )
        output.write_text(path(name), "{\n" + ",\n".join(lines) + "\n}\n")
        print(f"{path(name).name}: {path(name).stat().st_size:,} bytes")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(2) from None
