"""REST v10 and the CDN on the socket: recording, authorisation, faults and the wire form; decides no semantics."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from typing import Any, Protocol, assert_never

from aiohttp import web

from fakes.discord_backend import Mind
from fakes.discord_cdn import UploadedFile
from fakes.discord_faults import Answer, Fault, Faults, Hang, Outcome, Reset
from fakes.discord_net import reset
from fakes.discord_payloads import error
from fakes.discord_records import Json, Request, Violation

API = "/api/v10"
_TOKENLESS = re.compile(r"^/interactions/\d+/[^/]+/callback$|^/webhooks/\d+/[^/]+|^/gateway$")
_HTML = "<html><head><title>{status}</title></head><body>cloudflare</body></html>"


class Spec(Protocol):
    """What holds requests and replies against Discord's specification."""

    def check_request(
        self, method: str, path: str, body: Any, *, query: dict[str, str] | None = None, parts: tuple[str, ...] = ()
    ) -> list[Violation]:
        """What is wrong with a request."""

    def check_event(self, event: str, payload: Json) -> list[Violation]:
        """What is wrong with an event."""

    def check_reply(self, method: str, path: str, status: int, body: Any) -> list[Violation]:
        """What is wrong with a reply."""


class Rest:
    """What answers HTTP. `requests` holds every request in order of arrival, also those still open."""

    def __init__(self, mind: Mind, faults: Faults, token: str, spec: Spec | None, changed: Callable[[], None]) -> None:
        self.mind = mind
        self.faults = faults
        self.token = token
        self.spec = spec
        self.changed = changed
        self.requests: list[Request] = []
        self.unknown_routes: list[str] = []
        self.violations: list[Violation] = []

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """One request to the API, the CDN, or nowhere."""
        raw = request.rel_url.raw_path
        path = raw.removeprefix(API)
        api = raw != path
        path = path.replace("%40", "@")  # discord.js writes `@original` so
        record = Request(
            request.method,
            path,
            self.mind.route_of(request.method, path) if api else None,
            dict(request.query),
            None,
            (),
            {k: v for k, v in request.headers.items() if k.lower() != "authorization"},
            "Authorization" in request.headers,
        )
        record.body, files, parts = await _body(request)
        record.files = tuple(file.filename for file in files)
        self.requests.append(record)
        if self.spec is not None and record.route is not None:
            self.violations += self.spec.check_request(
                record.method, path, record.body, query=record.query, parts=parts
            )
        self.changed()
        fault = self.faults.take(record.method, path, record.route)
        if fault is not None:
            record.fault = fault.name
        if api:
            return await self._serve(request, record, files, fault)
        return await self._cdn(request, record, fault)

    async def _serve(
        self, request: web.Request, record: Request, files: list[UploadedFile], fault: Fault | None
    ) -> web.StreamResponse:
        headers: dict[str, str] = {}
        reply: Answer | None = None
        if fault is None:
            reply, headers = self.faults.spend(record.method, record.path, record.route, self.mind.clock.ns())
        if reply is None and (fault is None or fault.stored):
            reply = self._act(record, files, request.headers.get("Authorization"))
        if fault is not None:
            after = await self._meet(fault.outcome, request)
            if after is None and isinstance(fault.outcome, Reset):
                self.changed()
                return web.Response(status=500)
            reply = after or reply or self._act(record, files, request.headers.get("Authorization"))
        assert reply is not None
        if self.spec is not None and record.route is not None and (reply.body is not None or reply.status == 204):
            self.violations += self.spec.check_reply(record.method, record.path, reply.status, reply.body)
        return self._respond(record, Answer(reply.status, reply.body, headers | reply.headers))

    def _act(self, record: Request, files: list[UploadedFile], authorization: str | None) -> Answer:
        if not _TOKENLESS.match(record.path) and authorization != f"Bot {self.token}":
            return Answer(401, error(0, "401: Unauthorized"))
        gaps = len(self.mind.gaps)
        status, body = self.mind.request(record.method, record.path, query=record.query, body=record.body, files=files)
        self.unknown_routes += self.mind.gaps[gaps:]
        record.stored = status < 300
        return Answer(status, body)

    async def _meet(self, outcome: Outcome, request: web.Request) -> Answer | None:
        match outcome:
            case Answer():
                return outcome
            case Reset():
                reset(request)
                return None
            case Hang(release):
                await release.wait()
                return None
            case _:
                assert_never(outcome)

    def _respond(self, record: Request, answer: Answer) -> web.Response:
        record.status, record.reply = answer.status, answer.body
        self.changed()
        if answer.status == 204:
            return web.Response(status=204, headers=answer.headers)
        if answer.body is None:
            page = _HTML.format(status=answer.status).encode()
            return web.Response(status=answer.status, body=page, headers={"Content-Type": "text/html"} | answer.headers)
        # Exactly this type: with a charset behind it clients leave the body a string.
        return web.Response(
            status=answer.status,
            body=json.dumps(answer.body).encode(),
            headers={"Content-Type": "application/json"} | answer.headers,
        )

    async def _cdn(self, request: web.Request, record: Request, fault: Fault | None) -> web.StreamResponse:
        if fault is not None:
            after = await self._meet(fault.outcome, request)
            if after is not None or isinstance(fault.outcome, Reset):
                return self._respond(record, after or Answer(500, None))
        upload = self.mind.cdn.find(record.path, record.query.get("ex", ""))
        if upload is None:
            if record.path not in self.mind.cdn.files:
                self.unknown_routes.append(f"{record.method} {record.path}")
            return self._respond(record, Answer(404, error(0, "404: Not Found")))
        record.status = upload.status
        self.changed()
        body = upload.data if upload.status == 200 else b"gone"
        kind = upload.content_type or "application/octet-stream"
        if upload.sent is None:
            return web.Response(status=upload.status, body=body, headers={"Content-Type": kind})
        cut = web.StreamResponse(headers={"Content-Type": kind, "Content-Length": str(len(body))})
        await cut.prepare(request)
        await cut.write(body[: upload.sent])
        reset(request)
        return cut


async def _body(request: web.Request) -> tuple[Any, list[UploadedFile], tuple[str, ...]]:
    """The JSON of a request, its files and the names of their parts; a body that is no JSON is given as its text."""
    if request.content_type != "multipart/form-data":
        text = await request.text()
        if not text:
            return None, [], ()
        try:
            return json.loads(text), [], ()
        except json.JSONDecodeError:
            return text, [], ()
    payload: Any = {}
    found: list[tuple[int, UploadedFile]] = []
    form = await request.post()
    if isinstance(raw := form.get("payload_json"), str):
        payload = json.loads(raw)
    holder = payload.get("data") if isinstance(payload.get("data"), dict) else payload
    told = {str(a.get("id")): a for a in holder.get("attachments") or []}
    for name, value in form.items():
        if isinstance(value, web.FileField):
            number = int(re.sub(r"\D", "", name) or 0)
            told_of = told.get(str(number), {})
            file = UploadedFile(value.filename, io.BytesIO(value.file.read()), told_of.get("description"))
            found.append((number, file))
    parts = tuple(name for name, value in form.items() if isinstance(value, web.FileField))
    return payload, [file for _, file in sorted(found, key=lambda pair: pair[0])], parts
