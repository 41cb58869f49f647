"""Readings of one recording for the predicates of claims: what pi said, what the driver noted; they judge nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fakes.recordings import Recording
from tests.engine.claims.claim import words_of

Record = dict[str, Any]


def records(r: Recording, *types: str) -> list[Record]:
    """pi's records of these types, of all without one."""
    return [s.record for s in r.out if isinstance(s.record, dict) and (not types or s.type in types)]


def updates(r: Recording, kind: str = "") -> list[Record]:
    """The changed parts of streaming messages."""
    events: list[Record] = [record["assistantMessageEvent"] for record in records(r, "message_update")]
    return [event for event in events if kind in {"", event["type"]}]


def answers(r: Recording) -> list[Record]:
    """The finished assistant messages."""
    return [m for record in records(r, "message_end") if (m := record["message"])["role"] == "assistant"]


def texts(r: Recording) -> list[str]:
    """The texts of the finished assistant messages."""
    return [text_in(message) for message in answers(r)]


def stops(r: Recording) -> list[str]:
    """Their stop reasons."""
    return [str(message["stopReason"]) for message in answers(r)]


def failures(r: Recording) -> list[str]:
    """Their error texts."""
    return [message["errorMessage"] for message in answers(r) if message.get("errorMessage")]


def echoes(r: Recording) -> list[str]:
    """The texts of user messages, as pi tells of them."""
    said = [record["message"] for record in records(r, "message_start")]
    return [text_in(message) for message in said if message["role"] == "user"]


def results(r: Recording) -> list[Record]:
    """The tool results, as messages."""
    said = [record["message"] for record in records(r, "message_end")]
    return [message for message in said if message["role"] == "toolResult"]


def text_in(message: Record) -> str:
    """The text parts of a message, or of a tool's result."""
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def responses(r: Recording, command: str = "") -> list[Record]:
    """The responses to a command, in the order in which they came."""
    return [record for record in records(r, "response") if command in {"", record.get("command")}]


def data(r: Recording, command: str) -> list[Record]:
    """The data of its good responses."""
    return [record.get("data") or {} for record in responses(r, command) if record["success"]]


def errors(r: Recording) -> list[str]:
    """The error texts of all responses."""
    return [record["error"] for record in responses(r) if not record["success"]]


def answered(r: Recording) -> list[object]:
    """The ids of the responses, in their order."""
    return [record.get("id") for record in responses(r)]


def notes(r: Recording, key: str) -> list[Any]:
    """What the driver noted under a key."""
    return [s.data[key] for s in r.steps if s.kind == "proc" and isinstance(s.data, dict) and key in s.data]


def calls(r: Recording) -> int:
    """How often the provider was asked."""
    return words_of(r).count("call")


def left(r: Recording) -> list[Record]:
    """The processes of the tool that the driver found at its last look."""
    found: list[Record] = notes(r, "found")[-1]
    return found


def stderr(r: Recording) -> str:
    """All of standard error."""
    return "\n".join(s.line for s in r.steps if s.kind == "err")


def seconds(r: Recording, *words: str) -> float:
    """How long it took from the first of these words to the last, each looked for behind the one before it."""
    moments = _moments(r, words)
    first = last = next(moments)
    for moment in moments:
        last = moment
    return (last - first) / 1e9


def _moments(r: Recording, words: tuple[str, ...]) -> Iterator[int]:
    steps = iter([(s.at, word) for s in r.steps for word in words_of(Recording(r.name, r.version, (s,)))])
    for wanted in words:
        yield next(at for at, word in steps if word == wanted)


def between(r: Recording, start: str, end: str) -> list[str]:
    """The words between a word and the next that is `end`."""
    words = words_of(r)
    first = words.index(start) + 1
    return words[first : words.index(end, first)]
