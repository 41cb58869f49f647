"""How Discord answers a request: what simcord leaves out or does otherwise is decided here; knows no socket."""

from __future__ import annotations

from typing import Any

from fakes.discord_cdn import UploadedFile
from fakes.discord_faults import refused
from fakes.discord_payloads import SPOKEN, error, form_error, mend, refusal_of_message
from fakes.discord_records import Json
from fakes.discord_sim import NOT_MODELLED, Refused, Sim

Answered = tuple[int, Any]

_MESSAGES = "/channels/{channel_id}/messages"
_MESSAGE = "/channels/{channel_id}/messages/{message_id}"
_THREADS = "/channels/{channel_id}/messages/{message_id}/threads"
_IN_THREAD = {
    ("PATCH", _MESSAGE),
    ("PUT", _MESSAGE + "/reactions/{emoji}/@me"),
    ("DELETE", _MESSAGE + "/reactions/{emoji}/@me"),
}


class Mind(Sim):
    """The simulated Discord: REST requests in, replies and events out.

    `nonce_window` is how long (seconds) a repeated nonce with `enforce_nonce` gives the old message.
    """

    def __init__(
        self, *, base: str, gateway_url: str, bot_name: str, intents_allowed: bool, nonce_window: float
    ) -> None:
        super().__init__(base=base, bot_name=bot_name, intents_allowed=intents_allowed)
        self.gateway_url = gateway_url
        self.nonce_window = nonce_window
        self.gaps: list[str] = []
        """Requests the simulation does not know: routes, or fields of known routes."""
        self.failures: list[str] = []
        """Requests that broke the simulation: a bug of the fake, or a body no client sends."""
        self._nonces: dict[tuple[int, str], tuple[int, int]] = {}

    # ------------------------------------------------------------------ requests

    def request(
        self,
        method: str,
        path: str,
        *,
        query: dict[str, str],
        body: Any,
        files: list[UploadedFile],
    ) -> Answered:
        """Act on one authorised request; its status and its reply (None: no content)."""
        route = self.route_of(method, path)
        if route is None:
            self.gaps.append(f"{method} {path}")
            return 404, error(0, "404: Not Found")
        body = _unsaid(body)
        try:
            status, reply = self._answer(method, path, route, query=query, body=body, files=files)
        except NOT_MODELLED as gap:
            self.gaps.append(f"{method} {route}: {gap.message}")
            return 404, error(0, "404: Not Found")
        except Refused as no:
            return no.status, error(no.code, no.message, no.errors)
        except (AttributeError, KeyError, TypeError, ValueError) as broken:
            # A body of the wrong shape surfaces in simcord as one of these; Discord would call it a bad form.
            self.failures.append(f"{method} {route}: {broken!r}")
            return 400, error(50035, "Invalid Form Body")
        return status, mend(reply, self._facts)

    def _answer(
        self,
        method: str,
        path: str,
        route: str,
        *,
        query: dict[str, str],
        body: Any,
        files: list[UploadedFile],
    ) -> Answered:
        match method, route:
            case "GET", "/gateway":
                return 200, {"url": self.gateway_url}
            case "GET", "/gateway/bot":
                start = {"total": 1000, "remaining": 999, "reset_after": 86_400_000, "max_concurrency": 1}
                return 200, {"url": self.gateway_url, "shards": 1, "session_start_limit": start}
            case "GET", "/users/@me":
                return 200, self.me()
            case "GET", "/applications/@me" | "/oauth2/applications/@me":
                return 200, self.application()
            case "GET", "/users/@me/guilds":
                return 200, self.my_guilds(int(query.get("after", "0")), int(query.get("limit", "200")))
            case "POST", r if r == _MESSAGES:
                return self._post(int(path.split("/")[2]), path, query, body, files)
            case "POST", r if r == _THREADS:
                return self._thread_on(int(path.split("/")[2]), int(path.split("/")[4]), body)
        if (method, route) in _IN_THREAD and self._archived(int(path.split("/")[2])):
            return _code(50083)
        if (method, route) == ("PATCH", _MESSAGE):
            now = self.message(int(path.split("/")[2]), int(path.split("/")[4]))
            if (no := refusal_of_message(body, files=len(files), editing=now)) is not None:
                return 400, no
        if (method, route) == ("GET", _MESSAGES) and "after" in query:
            return 200, self._behind(path, query)
        said = body.get("data") or body if isinstance(body, dict) else body
        reply = self.dispatch(method, path, query=query, body=body, files=files, posting=said)
        if route.endswith("/callback") and query.get("with_response") not in ("1", "true", "True"):
            reply = None
        return (204, None) if reply is None else (200, reply)

    def _behind(self, path: str, query: dict[str, str]) -> list[Json]:
        """The oldest messages behind an id, newest first, as Discord gives them; simcord gives the newest of all."""
        everything = {**query, "limit": "1000000"}
        found: list[Json] = self.dispatch("GET", path, query=everything, body=None, files=[], posting=None)
        return found[-int(query.get("limit", "50")) :]

    def _archived(self, channel_id: int) -> bool:
        channel = self.sim.channels.get(channel_id)
        return bool(channel and channel.thread_metadata and channel.thread_metadata.archived)

    def _post(
        self, channel_id: int, path: str, query: dict[str, str], body: Json, files: list[UploadedFile]
    ) -> Answered:
        self.sim.get_channel(channel_id)
        if self.accessible(channel_id):
            if (no := refusal_of_message(body, files=len(files))) is not None:
                return 400, no
            if (old := self._said_before(channel_id, body)) is not None:
                return 200, old
            body, refusal = self._referred(channel_id, body)
            if refusal is not None:
                return 400, refusal
            self.unarchive(channel_id)
            if self._archived(channel_id):
                return _code(50083)
        reply = self.dispatch("POST", path, query=query, body=body, files=files, posting=body)
        if body.get("nonce") is not None:
            reply["nonce"] = body["nonce"]
            if body.get("enforce_nonce"):
                self._nonces[channel_id, str(body["nonce"])] = int(reply["id"]), self.clock.ns()
        return 200, reply

    def _said_before(self, channel_id: int, body: Json) -> Json | None:
        if body.get("nonce") is None or not body.get("enforce_nonce"):
            return None
        message_id, at = self._nonces.get((channel_id, str(body["nonce"])), (0, 0))
        if message_id not in self.sim.messages[channel_id] or self.clock.ns() - at > self.nonce_window * 1e9:
            return None
        return self.message(channel_id, message_id) | {"nonce": body["nonce"]}

    def _referred(self, channel_id: int, body: Json) -> tuple[Json, Json | None]:
        """A reply needs its message: refused without it, or sent as no reply where that was allowed."""
        reference = body.get("message_reference")
        if not reference or reference.get("type") == 1:
            return body, None
        target = self.sim.messages[channel_id].get(int(reference["message_id"]))
        if target is None:
            if reference.get("fail_if_not_exists", True):
                no = "MESSAGE_REFERENCE_UNKNOWN_MESSAGE"
                return body, form_error("message_reference", no, "Unknown message")
            return {k: v for k, v in body.items() if k != "message_reference"}, None
        if target.type not in SPOKEN:
            no = "REPLIES_CANNOT_REPLY_TO_SYSTEM_MESSAGE"
            return body, form_error("message_reference", no, "Cannot reply to a system message")
        return body, None

    def _thread_on(self, channel_id: int, message_id: int, body: Json) -> Answered:
        channel = self.sim.get_channel(channel_id)
        if channel.guild_id is None or channel.is_thread:
            return 400, error(50024, "Cannot execute action on this channel type")
        self.sim.require_permissions(channel.guild_id, self.bot_id, channel_id, "create_public_threads")
        self.sim.get_message(channel_id, message_id)
        if message_id in self.sim.channels:
            return _code(160004)
        name = body.get("name")
        if not isinstance(name, str) or not 1 <= len(name) <= 100:
            return 400, form_error("name", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length.")
        return 201, self.open_thread(channel_id, name, self.bot_id, message_id)


def _unsaid(body: Any) -> Any:
    """The body without an `enforce_nonce` that is false, which is the same as not to say it."""
    if not isinstance(body, dict):
        return body
    kept = {key: value for key, value in body.items() if key != "enforce_nonce" or value is not False}
    return kept | {"data": _unsaid(kept["data"])} if "data" in kept else kept


def _code(code: int) -> Answered:
    answer = refused(code)
    return answer.status, answer.body
