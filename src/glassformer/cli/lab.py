"""The lab: its server, and its pages as files."""

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
    with _listening(host, port) as listener:
        import uvicorn

        from ..device import choose_device
        from ..lab.guard import is_loopback, spelled
        from ..lab.server import create_app

        choose_device(device)  # refused now, not when the first run is opened
        port = listener.getsockname()[1]
        app = create_app(runs or Path("runs"), host=host, port=port, trains=is_loopback(host), device=device)
        settings = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            ws="none",
            server_header=False,
            proxy_headers=False,
            h11_max_incomplete_event_size=1 << 18,  # a long text is a long address
            timeout_graceful_shutdown=2,
        )
        click.echo(f"http://{spelled(host)}:{port}/")
        uvicorn.Server(settings).run(sockets=[listener])


def _listening(host: str, port: int) -> socket.socket:
    """A socket there. Raises UserError for a port that is taken and an address that is not this machine's."""
    try:
        family, *_, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        return socket.create_server(address[:2], family=family)
    except socket.gaierror as error:
        raise UserError(f"--host {host}: {error.strerror}") from None
    except OSError as error:
        raise UserError(
            f"cannot listen at {host}, port {port}: {error.strerror}; "
            "--port names another port, and 0 any free one"
        ) from None
