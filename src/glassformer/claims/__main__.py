"""`python -m glassformer.claims README.md docs/claims.md`: write the verdicts of the kept measurements into
these files, between the marks `<!-- verdicts -->` and `<!-- end -->`."""

import re
import sys
from pathlib import Path

from .. import output
from ..errors import UserError
from . import MODULES, claim, measured

BEGIN, END = "<!-- verdicts -->", "<!-- end -->"


def table(found: bool) -> str:
    """The verdicts as a table of Markdown; `found`: with the figures that they rest on."""
    head = "| | claim | verdict |" + (" measured |" if found else "")
    lines = [head, "|---" * head.count(" |") + "|"]
    for name in MODULES:
        judgement = claim(name).judge(measured(name))
        cells = [name, claim(name).title.en, judgement.spoken("en")]
        if found:
            cells.append(" ".join(text.en for text in (judgement.found, judgement.reason) if text))
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)


def renewed(text: str, found: bool) -> str:
    """A text with the table between its marks."""
    return re.sub(
        f"{BEGIN}.*?{END}", lambda _: f"{BEGIN}\n\n{table(found)}\n\n{END}", text, count=1, flags=re.DOTALL
    )


def main(paths: list[str]) -> None:
    for path in map(Path, paths):
        text = path.read_text(encoding="utf-8")
        if BEGIN not in text:
            raise UserError(f"{path} has no {BEGIN}")
        output.write_text(path, renewed(text, found=path.name == "claims.md"))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(2) from None
