"""The lab: its server, and its pages as files."""

import os
import socket
from pathlib import Path

import click

from ..errors import UserError
from .options import device_option


@click.command()
@click.argument("runs", metavar="[RUNS_DIR]", required=False, type=click.Path(path_type=Path))
@click.option(
    "--export",
    "folder",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Write the lessons into this folder, to be opened from the disk, and serve nothing.",
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Where to listen; another than this machine is open to all who reach it.",
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0: any free one."
)
@device_option
def lab(runs: Path | None, folder: Path | None, host: str, port: int, device: str) -> None:
    """Serve the interactive lab: the lessons, and the runs in RUNS_DIR (by default "runs").

    Prints the lab's address; Ctrl-C ends it. Lessons that train do so only where the server listens on this
    machine alone.
    """
    if folder is not None:
        if runs is not None:
            raise UserError(f"--export writes the lessons alone, which need no runs; leave out {runs}")
        from ..lab.export import export

        click.echo(export(folder))
        return
    runs = Path("runs") if runs is None else runs
    _require_runs(runs)
    with _listening(host, port) as listener:
        import uvicorn

        from ..device import choose_device
        from ..lab.guard import is_loopback, spelled
        from ..lab.server import create_app

        choose_device(device)  # refused now, not when the first run is opened
        port = listener.getsockname()[1]
        app = create_app(runs, host=host, port=port, trains=is_loopback(host), device=device)
        settings = uvicorn.Config(
            app,
            log_config=None,
            log_level="error",  # what a stranger sends is no news for who started the lab
            access_log=False,
            ws="none",
            server_header=False,
            proxy_headers=False,
            h11_max_incomplete_event_size=1 << 18,  # a long text is a long address
            timeout_graceful_shutdown=2,
        )
        click.echo(f"http://{spelled(host)}:{port}/")
        uvicorn.Server(settings).run(sockets=[listener])


def _require_runs(folder: Path) -> None:
    """UserError for what cannot be a folder of runs. One that is not there yet may come."""
    from ..store.run import Run

    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is a file; name the folder that holds the runs")
    if folder.is_dir() and Run(folder).exists():
        raise UserError(f"{folder} is a run itself; name the folder that holds it: {folder.resolve().parent}")


def _listening(host: str, port: int) -> socket.socket:
    """A socket there. Raises UserError for a port that is taken and an address that is not this machine's."""
    try:
        family, *_, address = socket.getaddrinfo(
            host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        return socket.create_server(address[:2], family=family)
    except (socket.gaierror, UnicodeError):  # UnicodeError: a label that no name may have
        raise UserError(
            f"--host {host[:80]!r} is no address of this machine; "
            "127.0.0.1 listens to this machine alone, 0.0.0.0 to all that reach it"
        ) from None
    except OSError as error:
        reason = error.strerror if error.errno is None else os.strerror(error.errno)
        raise UserError(
            f"cannot listen at {host}, port {port}: {reason}; --port names another port, and 0 any free one"
        ) from None
