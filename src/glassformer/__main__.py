"""`glassformer` and `python -m glassformer`: run a verb, and say what went wrong in one line."""

import os
import pathlib
import sys


def main() -> None:
    """Exit codes: 0 done, 1 the machine failed (disk full), 2 the user's mistake, 130 stopped by Ctrl-C."""
    _open_streams()
    try:
        code = _run()
    except KeyboardInterrupt as stop:
        code = _say(str(stop) or "stopped", 130)
    sys.exit(code)


def _open_streams() -> None:
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started us: nobody listens
            setattr(sys, name, pathlib.Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
        # A console that cannot show a character must not end the program.
        getattr(sys, name).reconfigure(errors="backslashreplace")


def _run() -> int:
    """Run the verb; what goes wrong becomes a line and an exit code."""
    import click

    from .cli import cli
    from .errors import UserError

    try:
        cli(standalone_mode=False)
    except UserError as error:
        return _say(str(error), 2)
    except click.ClickException as error:
        error.show()
        return 2
    except click.Abort as stop:  # what click makes of a KeyboardInterrupt
        raise stop.__cause__ or KeyboardInterrupt from None
    except RuntimeError as error:  # torch has no class of its own for a CPU without memory
        if "allocate memory" not in str(error):
            raise
        return _say("not enough memory for a model of this size", 2)
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        return _say(f"{error.strerror or error}{where}", 1)
    return 0


def _say(message: str, code: int) -> int:
    sys.stderr.write(f"glassformer: {message}\n")
    return code


if __name__ == "__main__":
    main()
