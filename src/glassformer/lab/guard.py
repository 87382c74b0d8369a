"""What every request must pass before anything answers it, and what every answer carries.

The server listens on this machine alone, but any page open in its browser can send requests there. So a
request must name the server by an address of its own (a foreign name that was made to point here would pass
for it otherwise: DNS rebinding), what changes something must come from the lab's own pages, and a body has a
bound.
"""

import ipaddress
from collections.abc import Mapping

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOCAL = ("localhost", "127.0.0.1", "[::1]")
EVERYWHERE = ("0.0.0.0", "::", "")
LARGEST_BODY = 1_000_000  # bytes
READING = ("GET", "HEAD", "OPTIONS")
CLOSED = "default-src 'none'; frame-ancestors 'none'"

_HEADERS = {
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"cache-control": b"no-cache",
    b"content-security-policy": CLOSED.encode(),
}
"""What an answer carries unless it says otherwise itself."""


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server that listens there."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def spelled(host: str) -> str:
    """An address as it stands in a URL: IPv6 in brackets."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


class Guard:
    """An application behind its checks. `host` and `port` are where the server listens, `largest` bounds a
    body, in bytes."""

    def __init__(self, app: ASGIApp, host: str, port: int, largest: int = LARGEST_BODY) -> None:
        self.app, self.port, self.largest = app, port, largest
        self.names = {*LOCAL, spelled(host).lower()}
        # Who listens everywhere means to be reached by any of the machine's addresses; a name is still none.
        self.any_address = host in EVERYWHERE

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        answer: ASGIApp = self.app
        body: bytes | None = b""
        if refused := self._refused(scope["method"], headers):
            answer = refused
        elif (body := await _body(headers, receive, self.largest)) is None:
            answer = _line(413, f"the body is larger than {self.largest:,} bytes")
        if scope["method"] == "HEAD":
            scope = {**scope, "method": "GET"}  # the server in front leaves out the body
        await answer(scope, _replayed(body or b"", receive), _with_headers(send))

    def _refused(self, method: str, headers: Mapping[bytes, str]) -> PlainTextResponse | None:
        host = headers.get(b"host", "").lower()
        if not self._is_ours(host):
            ours = f"{sorted(self.names)[0]}:{self.port}"
            return _line(421, f"this server is not {ascii(host)[:80]}; it answers to {ours}")
        if method in READING:
            return None
        if headers.get(b"origin", f"http://{host}").lower() != f"http://{host}":
            return _line(403, "only the lab's own pages may change something here")
        if headers.get(b"sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return _line(403, "only the lab's own pages may change something here")
        return None

    def _is_ours(self, host: str) -> bool:
        """Whether a Host header names this server."""
        name, colon, port = host.rpartition(":")
        if not colon or port.endswith("]"):
            name, port = host, "80"
        if port != str(self.port):
            return False
        return name in self.names or (self.any_address and _is_address(name))


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def _line(status: int, text: str) -> PlainTextResponse:
    return PlainTextResponse(text + "\n", status)


async def _body(headers: Mapping[bytes, str], receive: Receive, largest: int) -> bytes | None:
    """The whole body, or None for one beyond the bound, however long it says it is."""
    told = headers.get(b"content-length", "")
    if told.isdecimal() and int(told) > largest:
        return None
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > largest:
            return None
        more = message.get("more_body", False)
    return body


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives the body that was read already, and then what comes after it."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def _with_headers(send: Send) -> Send:
    async def sends(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = list(message.get("headers", []))
            said = {name.lower() for name, _ in own}
            message = {**message, "headers": own + [h for h in _HEADERS.items() if h[0] not in said]}
        await send(message)

    return sends
