"""What the demo's page shows of the connector: a fold over a ledger in use, its last facts, the log lines."""

import asyncio
import os
from pathlib import Path
from typing import Any

from connector import facts
from connector.demo_inside import FACTS, LINES, Inside
from connector.ledger import FILE, Ledger
from engine import processes
from engine.events import SECOND

AT = 1_800_000_000 * SECOND
ME = processes.identity(os.getpid())
assert ME is not None


def claimed(message: int, text: str, lane: str = "700") -> facts.Claimed:
    return facts.Claimed(str(message), lane, int(lane), message, message, 5, "ada", f"[discord] x\n\n{text}", at=AT)


def read(folder: Path, *new: facts.AnyFact) -> dict[str, Any]:
    """The look inside while the ledger's owner has it open."""

    async def main() -> dict[str, Any]:
        ledger = Ledger.open(folder)
        try:
            for fact in new:
                await ledger.commit([fact], at=AT)
            return inside(folder).read()
        finally:
            await ledger.close()

    return asyncio.run(main())


def inside(folder: Path) -> Inside:
    return Inside(folder / FILE, gap=900 * SECOND, max_wedges=5, now=lambda: AT + 5 * SECOND)


def test_lanes_with_their_head_their_queue_and_their_children(tmp_path: Path) -> None:
    assert ME is not None
    told = read(
        tmp_path,
        claimed(1, "the first"),
        facts.ChildStarted(1, "700", ME.pid, ME.started),
        facts.Written("1", 1),
        facts.Started("1"),
        claimed(2, "the second"),
        claimed(3, "elsewhere", "800"),
        facts.ChildStarted(2, "800", ME.pid, "another start"),
        facts.Written("3", 2),
        facts.Backoff("3", AT + 9 * SECOND, "rate-limited"),
        facts.Gated("fake", "scripted", AT + 9 * SECOND),
        facts.Gated("fake", "over", AT + 4 * SECOND),
        claimed(4, "over", "900"),
        facts.Ended("4", "answered"),
    )
    since = "2027-01-15T08:00:00.000000Z"
    waits = {"attempts": 0, "since": since, "until": None}
    assert told["lanes"] == [
        {
            "lane": "700",
            "channel": "700",
            "head": waits | {"message": "1", "phase": "running", "attempts": 1, "words": "the first"},
            "queue": [waits | {"message": "2", "phase": "waiting", "words": "the second"}],
            "others": [],
            "children": [{"child": 1, "pid": ME.pid, "state": "in a turn"}],
        },
        {
            "lane": "800",
            "channel": "800",
            "head": waits
            | {
                "message": "3",
                "phase": "asked again",
                "attempts": 1,
                "until": AT // SECOND + 9,
                "words": "elsewhere",
            },
            "queue": [],
            "others": [],
            "children": [{"child": 2, "pid": ME.pid, "state": "gone"}],
        },
    ]
    assert told["gates"] == [{"name": "fake/scripted", "until": AT // SECOND + 9}]


def test_the_last_facts_with_texts_as_their_lengths(tmp_path: Path) -> None:
    many = [claimed(number, "a secret thing") for number in range(1, FACTS + 1)]
    told = read(tmp_path, *many, facts.ChildEnded(1, 0, expected=True))["facts"]
    assert [one["seq"] for one in told] == list(range(2, FACTS + 2))
    assert (told[0]["step"], told[0]["lane"], told[0]["message"]) == ("claimed", "700", "2")
    assert (told[-1]["step"], told[-1]["lane"], told[-1]["message"]) == ("child-ended", "", "0")
    assert "a secret thing" not in str(told)


def test_the_row_of_failed_starts_and_the_end_before_the_present_life(tmp_path: Path) -> None:
    wedged = (facts.Up(AT), facts.Fell(AT, "a wedge"), facts.Down(AT, 1, "a wedge"))
    assert read(tmp_path, *wedged, facts.Up(AT))["wedges"] == {"in_row": 1, "allowed": 5, "last_exit": "1: a wedge"}


def test_before_there_is_a_ledger_there_are_log_lines(tmp_path: Path) -> None:
    looking = inside(tmp_path)
    looking.heard({"event": "library.log", "level": "info", "timestamp": "t", "message": "dull"})
    for number in range(LINES + 1):
        looking.heard({"event": "turn.sent", "level": "info", "timestamp": "t", "lane": "7", "child": number})
    told = looking.read()
    assert told.keys() == {"log"}
    assert len(told["log"]) == LINES
    assert told["log"][-1] == {
        "timestamp": "t",
        "level": "info",
        "event": "turn.sent",
        "lane": "7",
        "message_id": "",
        "fields": {"child": str(LINES)},
    }
