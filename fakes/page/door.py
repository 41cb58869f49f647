"""Who may come in: every request and socket is held against Host, Origin and this run's key; it serves nothing.

With `--child pi` whoever may use the page drives an agent, so another page, another host name that leads here
(DNS rebinding) and another user of this machine are refused.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable

from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

ENTRY = "/enter/"

HEADERS = {
    # Nothing is loaded, sent or framed that is not of this page itself, whatever a message contains.
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
        " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


class Door:
    """The check before every request to one loopback port, and the way in: `entry`, whose key becomes a cookie."""

    def __init__(self, port: int) -> None:
        self._key = secrets.token_urlsafe(32)
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        # Cookies do not tell ports apart: two demos at once would take each other's away.
        self._cookie = f"demo-{port}"
        self.entry = f"http://127.0.0.1:{port}{ENTRY}{self._key}"

    async def check(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """The answer of `handler`, or the refusal."""
        if (refusal := self._refusal(request)) is not None:
            return refusal
        return await handler(request)

    def _refusal(self, request: web.Request) -> web.Response | None:
        """The answer in place of the page's, None for who may go on."""
        if request.host not in self._hosts:
            return web.Response(
                status=421, text="This is not the host and port that the demo printed; forward the same port.\n"
            )
        origin = request.headers.get("Origin")
        acts = request.method not in {"GET", "HEAD"} or "Upgrade" in request.headers
        if (origin is None and acts) or (origin is not None and origin != f"http://{request.host}"):
            return web.Response(status=403, text="This may only be asked by the demo's own page.\n")
        if request.path.startswith(ENTRY):
            if not self._right(request.path.removeprefix(ENTRY)):
                return web.Response(status=403, text="This address is of another run; see what this one printed.\n")
            inside = web.Response(status=303, headers={"Location": "/"})
            inside.set_cookie(self._cookie, self._key, httponly=True, samesite="Strict", path="/")
            return inside
        if not self._right(request.cookies.get(self._cookie, "")):
            return web.Response(status=403, text="Open the address that the demo printed.\n")
        return None

    def _right(self, key: str) -> bool:
        return secrets.compare_digest(key.encode(errors="replace"), self._key.encode())


async def add_headers(_request: web.Request, response: web.StreamResponse) -> None:
    """For `on_response_prepare`: what every response says to the browser."""
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
