"""How long a command takes before it does anything, beside an empty interpreter and `import torch`."""

import subprocess
import sys

from .side_by_side import compare


def python(*words: str) -> None:
    subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)


def main() -> None:
    for what, words in (
        ("glassformer --help", ["-m", "glassformer", "--help"]),
        ("import", ["-c", "import glassformer"]),
    ):
        compare(
            what, lambda words=words: python(*words), "an empty interpreter", lambda: python("-c", "pass")
        )
    compare(
        "import",
        lambda: python("-c", "import glassformer"),
        "import torch",
        lambda: python("-c", "import torch"),
        3,
    )


if __name__ == "__main__":
    main()
