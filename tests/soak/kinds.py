"""What a soak must have met for its zeros to mean anything: each kind of trouble once, and enough messages; pure."""

import re
from collections.abc import Mapping

FLOOR = 300
"""Messages that a run says at the least, unless it was asked for fewer."""

LEAST: dict[str, str] = {
    "kill -9 of the connector": "kills of the connector",
    "kill -9 of a child": "kills of children",
    "gateway connection cut": "gateway reset|gateway cut in a frame",
    "connection asked to leave": "gateway asks to reconnect",
    "gateway that stalls": "gateway stalled",
    "gateway that refuses": "gateway refuses",
    "lost session": "sessions lost",
    "429": r"REST 429( global)?",
    "request that fails": r"REST (stored-then-)?5\d\d",
    "request whose connection is reset": r"REST (stored-then-)?reset",
    "request that hangs": "REST hang",
    "Discord that is down": "Discord down",
    "disk that stalls": "disk stalls",
    "disk that refuses": "disk refusals",
    "freeze of the connector": "freezes",
}
"""Each kind by name, and the counts (a pattern of the whole name) of which one at least has it."""


def happened(kind: str, counts: Mapping[str, int]) -> bool:
    """Whether this kind took place."""
    return any(count > 0 and re.fullmatch(LEAST[kind], name) for name, count in counts.items())


def missing(counts: Mapping[str, int], messages: int) -> list[str]:
    """What a run that was to say so many messages has not met, one sentence each; [] where it may be judged."""
    found = [f"no {kind} took place" for kind in LEAST if not happened(kind, counts)]
    if counts.get("messages", 0) < (least := min(FLOOR, messages)):
        found.append(f"{counts.get('messages', 0)} messages are fewer than {least}")
    return found
