"""Open tool waits, by call id (BEHAVIOUR §5); it measures nothing but ages and decides nothing."""

from msgspec import Struct
from msgspec.structs import replace

from engine.pi import MessageEnd, MessageStart, ToolEnd


class Wait(Struct, frozen=True):
    """One tool that was opened and has not returned; ``since`` in nanoseconds."""

    call: str
    tool: str
    since: int


Waits = tuple[Wait, ...]


def opened(waits: Waits, call: str, tool: str, now: int) -> Waits:
    """The waits with one more; an empty or already open id opens nothing."""
    if not call or any(wait.call == call for wait in waits):
        return waits
    return (*waits, Wait(call, tool, now))


def closed(waits: Waits, call: str | None) -> Waits:
    """The waits without this call; an empty or unknown id closes nothing."""
    return tuple(wait for wait in waits if wait.call != call)


def paused(waits: Waits, since: int, now: int) -> Waits:
    """The waits without the time from ``since`` to ``now``: a tool that waits for a person does not hang."""
    return tuple(replace(wait, since=wait.since + max(0, now - max(wait.since, since))) for wait in waits)


def result_of(record: ToolEnd | MessageStart | MessageEnd) -> str | None:
    """The call id that a result names, in any shape that names one (BEHAVIOUR §5)."""
    match record:
        case ToolEnd(toolCallId=call, callId=other):
            return call or other
        case MessageStart(message=message) | MessageEnd(message=message):
            if message.toolCallId:
                return message.toolCallId
            return message.source.callId if message.source else None


def oldest(waits: Waits) -> Wait | None:
    """The wait that has been open for longest."""
    return min(waits, key=lambda wait: wait.since, default=None)


def hanging(waits: Waits, now: int, long_wait: int) -> bool:
    """Whether the oldest open wait is strictly older than ``long_wait`` nanoseconds."""
    wait = oldest(waits)
    return wait is not None and now > wait.since + long_wait
