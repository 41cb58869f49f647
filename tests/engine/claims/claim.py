"""What a claim of PROTOCOL is to the test suite: its words, its recordings, and how a recording bears it out.

A recording is read as a list of words: what was written to pi (``> prompt``, ``> eof``, ``> SIGTERM``), what pi wrote
(``prompt started``, ``agent_end, retry``), each call of the provider (``call``), and the exit (``exit 143``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from fakes.recordings import Recording, Step, load

OLD = "@0.73.1"
Check = Callable[[Recording], bool]


@dataclass(frozen=True)
class Claim:
    """``order``: these words follow each other in this order, others between them; ``never``: these do not occur.

    ``also``: what else must hold. A ``general`` claim names whole versions, and pins no recording by that.
    """

    section: str
    says: str
    recordings: tuple[str, ...]
    order: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    also: Check | None = None
    general: bool = False

    def holds(self, name: str) -> bool:
        """Whether a recording bears it out; of 0.73.1 without the words which that version has not."""
        recording = recorded(name)
        words = words_of(recording)
        order = _in_old(self.order) if name.endswith(OLD) else self.order
        rest = iter(words)
        in_order = all(wanted in rest for wanted in order)
        return in_order and not set(self.never) & set(words) and (self.also is None or self.also(recording))


@dataclass(frozen=True)
class Unpinned:
    """A claim that no recording pins: ``why``, and the test that does (``path::name``), "" where nothing needs it."""

    section: str
    says: str
    why: str
    test: str = ""


def pins(
    section: str, says: str, recordings: str, order: str = "", *, never: str = "", also: Check | None = None
) -> Claim:
    """A claim from text: recordings apart by spaces, `name+` is both versions; words apart by ``/``."""
    named: list[str] = []
    for name in recordings.split():
        named += [name.removesuffix("+"), name.replace("+", OLD)] if name.endswith("+") else [name]
    return Claim(section, says, tuple(named), _apart(order), _apart(never), also)


def _apart(words: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in words.split("/") if word.strip())


def _in_old(order: tuple[str, ...]) -> tuple[str, ...]:
    """The same without what 0.73.1 never says (PROTOCOL §4): settling, dispositions, retries to come, `pending`."""
    told = [_OLD_WORDS.get(word, word) for word in order if word not in _NOT_IN_OLD]
    return tuple(word.replace(" started", " ok").replace(" queued", " ok").replace(" handled", " ok") for word in told)


_NOT_IN_OLD = {"settled", "settled, aborted", "message_start system", "message_end system", "entry_appended"}
_OLD_WORDS = {
    "agent_end, retry": "agent_end",
    "message_start assistant pending": "message_start assistant stop",
}


@cache
def recorded(name: str) -> Recording:
    """A recording by the name that the table gives it."""
    return load(name.removesuffix(OLD), "0.73.1" if name.endswith(OLD) else "1.6.0")


def words_of(recording: Recording) -> list[str]:
    """The whole recording in words."""
    return [word for step in recording.steps if (word := _word(step))]


def _word(step: Step) -> str:
    match step.kind:
        case "in":
            return f"> {step.type or '?'}"
        case "out":
            return kind(step.record) if isinstance(step.record, dict) else "no record"
        case "proc":
            return _noted(step.data)
        case _:
            return ""


def _noted(data: Any) -> str:
    match data:
        case {"provider": "request"}:
            return "call"
        case {"exit": code}:
            return f"exit {code}"
        case {"signal_sent": signal}:
            return f"> {signal}"
        case {"killpg": _}:
            return "> killpg"
        case str() if data.startswith("driver: closing stdin"):
            return "> eof"
        case _:
            return ""


def kind(record: dict[str, Any]) -> str:
    """The kind of a record: its type, and what tells it apart from others of its type."""
    name, message, data = str(record.get("type")), record.get("message"), record.get("data")
    if name == "response":
        disposition = data.get("disposition", "") if isinstance(data, dict) else ""
        return f"{record.get('command')} {disposition or ('ok' if record.get('success') else 'refused')}"
    if name == "agent_end":
        return "agent_end, retry" if record.get("willRetry") else "agent_end"
    if name == "agent_settled":
        return "settled, aborted" if record.get("aborted") else "settled"
    if name in {"message_start", "message_end"} and isinstance(message, dict):
        return f"{name} {message.get('role')} {message.get('stopReason') or ''}".rstrip()
    if name == "extension_ui_request":
        return f"asks {record.get('method')}"
    if name == "message_update":
        return str((record.get("assistantMessageEvent") or {}).get("type"))
    return name
