"""What the scripted provider does for a text: the fake child's script words, read for a real one; no socket here.

One text asks for the same story of either child: `fakes.script` is the only place where words get their meaning.
Words about the wire itself (`mute`, `half`, `exit` …) have none here, since the real pi does as it does.
"""

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from fakes.behaviour import Call, Drop, Http, Recount, Text, Tool, Tools
from fakes.script import ScriptSource, message_key, plan

Message = Mapping[str, Any]
"""One message of a chat-completions request."""


SUMMARY_ASKED = ("<conversation>", "# Conversation")
"""How pi begins what it asks for a summary (m_compact)."""


def bash(*commands: str, text: str = "") -> Tools:
    """Ask for one bash call per command, all in the same turn, after some text."""
    return Tools(tuple(Tool(args={"command": command}) for command in commands), text)


def rate_limited(message: str = "Rate limit reached") -> Http:
    """Refuse with the 429 that pi asks again after (PROTOCOL §7)."""
    return Http(429, message, "rate_limit_error", "rate_limit_exceeded")


def out_of_quota(message: str = "You exceeded your current quota") -> Http:
    """Refuse with the 429 that pi does not ask again after (PROTOCOL §7)."""
    return Http(429, message, "insufficient_quota", "insufficient_quota")


def user_texts(messages: Sequence[Message]) -> list[str]:
    """Return the texts of the user messages, oldest first; pictures are left out."""
    return [_text(message.get("content")) for message in messages if message.get("role") == "user"]


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(str(part.get("text", "")) for part in parts if isinstance(part, dict))


class Script:
    """Reads each call's newest user text as a script, and counts the calls of one message over all its repeats."""

    def __init__(self) -> None:
        self._earlier: dict[str, list[datetime.datetime]] = {}

    def behaviour(self, messages: Sequence[Message], now: datetime.datetime) -> Call:
        """Return what this request's newest user text asks for; `now` is the wall time, with its zone."""
        texts = user_texts(messages) or [""]
        if texts[-1].startswith(SUMMARY_ASKED):
            return ScriptSource().summary()
        calls = plan(texts[-1]).calls or (Text("default answer"),)
        earlier = self._earlier.setdefault(message_key(texts[-1]), [])
        earlier.append(now)
        match calls[0]:
            case Http() as failure:
                return self._failure(failure, earlier)
            case Drop() if len(earlier) > 1:
                return calls[-1]
            case Tools() if messages[-1].get("role") == "tool":
                return calls[-1]
            case Recount():
                return Text("\n".join(["I remember:", *texts]))
            case first:
                return first

    def _failure(self, failure: Http, earlier: list[datetime.datetime]) -> Call:
        if failure.times is not None and len(earlier) > failure.times:
            return Text(failure.then)
        if failure.reset_s is None:
            return failure
        reset = earlier[0] + datetime.timedelta(seconds=failure.reset_s)
        if earlier[-1] >= reset:
            return Text(failure.then)
        # To the next whole second: asked again at the instant named, it must not be refused once more.
        named = (reset + datetime.timedelta(microseconds=999_999)).isoformat(timespec="seconds")
        return Http(failure.status, f"{failure.message}; it resets at {named}", failure.kind, failure.code)
