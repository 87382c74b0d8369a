"""What browser tests share: a server in a thread, and pages that are watched."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import uvicorn

TIMEOUT = 15_000  # milliseconds, on a busy machine


@contextmanager
def serving(app_for: Callable[[int], Any], **settings: Any) -> Iterator[str]:
    """The address of an application, which is made for its port and served from a thread."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        config = uvicorn.Config(app_for(port), log_config=None, ws="none", **settings)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{port}"
        server.should_exit = True
        thread.join(10)


@contextmanager
def watched(
    chromium: Any, *asked: str, forgiven: str | None = None, **usual: Any
) -> Iterator[Callable[..., Any]]:
    """Opens pages in contexts with these options; at the end, nothing may have been complained of but what
    has `forgiven` in it, and nothing fetched but what begins with one of `asked`."""
    heard: list[str] = []
    contexts = []

    def opens(url: str, **options: Any) -> Any:
        contexts.append(chromium.new_context(**usual | options))
        page = contexts[-1].new_page()
        page.set_default_timeout(TIMEOUT)
        page.on("crash", lambda _: heard.append("the page crashed"))
        page.on("console", lambda said: heard.append(f"{said.type}: {said.text}"))
        page.on("pageerror", lambda error: heard.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (heard.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: fetched(request.url))
        page.goto(url)
        return page

    def fetched(url: str) -> None:
        if not url.startswith(asked):
            heard.append(url)

    if not chromium.is_connected():
        pytest.fail("the browser died in an earlier test")
    yield opens
    if not chromium.is_connected():
        pytest.fail(f"the browser died in this test; heard before: {heard}")
    for context in contexts:
        context.close()
    assert [what for what in heard if forgiven is None or forgiven not in what] == []
