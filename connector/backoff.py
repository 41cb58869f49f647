"""What an error of the provider means for asking again (BEHAVIOUR §2); pure.

Classified by the structured status at the head of pi's error text and by the error's own type, never by a number
found anywhere in it ("429" may stand in a model's name).
"""

import json
import re
from datetime import UTC, datetime

from msgspec import Struct

from engine.events import LONGEST, SECOND

_HEAD = re.compile(r"\s*(\d{3})(?::\s*|\s+|$)(.*)", re.DOTALL)
_AMOUNT = r"(\d+(?:\.\d+)?)\s?(milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d)(?![a-z])"
_WAIT = re.compile(
    rf"(?:(?:retry|try again)[- ](?:after:?|in)|wait(?: for)?) ((?:{_AMOUNT}(?:,? (?:and )?)?)+|\d+(?:\.\d+)?)",
    re.IGNORECASE,
)
_AMOUNTS = re.compile(_AMOUNT, re.IGNORECASE)
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_RESET = re.compile(
    r"resets? (?:at|on) (\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?|\d{10,13})\b",
    re.IGNORECASE,
)

_SPENT = "exceeded your current quota"
"""What the error says where its type is not told (pi 0.73.1)."""

LIMITED = frozenset({429, 503, 529})


class Limited(Struct, frozen=True):
    """A rate limit or an overload: to be asked again. `wait` in ns, 0 where the error names none."""

    status: int
    wait: int = 0


class Quota(Struct, frozen=True):
    """A quota is spent. `reset` in ns since the epoch, None where the error names none."""

    status: int
    reset: int | None = None


class Failed(Struct, frozen=True):
    """Anything else: never asked again by itself. `status` None where the error has none."""

    status: int | None = None


Trouble = Limited | Quota | Failed


def classify(detail: str) -> Trouble:
    """What pi's final error text means."""
    match = _HEAD.match(detail)
    status = int(match[1]) if match else None
    kinds, said = _body(match[2] if match else detail)
    if status == 429 and ("insufficient_quota" in kinds or _SPENT in said.lower()):
        return Quota(429, reset_of(said))
    if status in LIMITED:
        return Limited(status, wait_of(said))
    if "overloaded_error" in kinds or (status is None and said.strip().lower() == "overloaded"):
        return Limited(status or 529, wait_of(said))
    return Failed(status)


def _body(text: str) -> tuple[frozenset[str], str]:
    """The error's own type and code, and its message."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return frozenset(), text
    if not isinstance(body, dict):
        return frozenset(), text
    nested = body.get("error")
    inner = nested if isinstance(nested, dict) else body
    kinds = {value for name in ("type", "code") if isinstance(value := inner.get(name), str)}
    said = inner.get("message")
    return frozenset(kinds), said if isinstance(said, str) else ""


def wait_of(said: str) -> int:
    """The longest wait an error names, in ns; 0 where it names none. A number without a unit is of seconds."""
    waits = [0.0]
    for match in _WAIT.finditer(said):
        amounts = _AMOUNTS.findall(match[1])
        waits.append(sum(float(amount) * _seconds(unit) for amount, unit in amounts) or float(match[1].split()[0]))
    return int(min(max(waits), LONGEST) * SECOND)


def _seconds(unit: str) -> float:
    unit = unit.lower()
    return 1e-3 if unit.startswith(("ms", "milli")) else _UNITS[unit[0]]


def reset_of(said: str) -> int | None:
    """The instant at which a quota resets, in ns since the epoch."""
    match = _RESET.search(said)
    if match is None:
        return None
    if match[1].isdigit():
        return int(match[1]) * (SECOND if len(match[1]) == 10 else SECOND // 1000)
    try:
        when = datetime.fromisoformat(match[1])
    except ValueError:
        return None
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return int(when.timestamp() * SECOND)


def jittered(wait: int, dice: float) -> int:
    """The wait, up to a fifth longer, never shorter; `dice` from 0 up to 1."""
    return wait + int(wait * 0.2 * dice)
