"""What goes on in the demo's connector, for its page: read from the ledger and its log lines; it changes nothing."""

import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from connector import chain, facts, ledger_read
from connector.exits import Refusal
from connector.facts import AnyFact
from connector.ledger import load
from connector.status import PHASES
from connector.tracing import folded, instant, step_json
from connector.world import AT_CHILD, Phase, Round, World
from engine import processes
from engine.events import SECOND
from engine.processes import Identity

FACTS = 40
"""So many facts are shown, the newest ones."""

LINES = 40
"""So many log lines."""

_DULL = frozenset({"library.log", "connector.finding"})
_TOLD_ELSEWHERE = frozenset({"event", "timestamp", "level", "lane", "message_id"})


class Inside:
    """One look at a time over one state folder's ledger. `heard` takes the connector's log lines.

    `now` is the wall clock's (nanoseconds): a provider's limit that is over is not shown. `gap` (nanoseconds) and
    `max_wedges` are the connector's own settings for failed starts in a row.
    """

    def __init__(self, ledger: Path, *, gap: int, max_wedges: int, now: Callable[[], int] = time.time_ns) -> None:
        self._ledger, self._now = ledger, now
        self._gap, self._max_wedges = gap, max_wedges
        self._lines: deque[dict[str, Any]] = deque(maxlen=LINES)

    def heard(self, line: dict[str, Any]) -> None:
        """Keep a log line."""
        if line.get("event") not in _DULL:
            fields = {key: str(value)[:200] for key, value in line.items() if key not in _TOLD_ELSEWHERE}
            kept = {key: str(line.get(key, "")) for key in ("timestamp", "level", "event", "lane", "message_id")}
            self._lines.append(kept | {"fields": fields})

    def read(self) -> dict[str, Any]:
        """Everything there is to see now; blocks on the file. Log lines alone where there is no ledger yet."""
        try:
            with ledger_read.opened(self._ledger) as db:
                known = load(db)
                steps = ledger_read.last_steps(db, FACTS)
        except Refusal:
            return {"log": list(self._lines)}
        world = folded(known.world)
        now = self._now()
        in_row = chain.in_a_row(known.chain, self._gap)
        return {
            "lanes": [_lane(world, key) for key in sorted(world.lanes) if _shows(world, key)],
            "gates": [
                {"name": f"{provider}/{model}", "until": until // SECOND}
                for (provider, model), until in sorted(world.gates.items())
                if until > now
            ],
            "wedges": {
                "in_row": in_row,
                "allowed": self._max_wedges,
                "last_exit": chain.last_exit(_before(known.chain)),
            },
            "facts": [
                {"seq": seq, "lane": step.lane, "message": str(message)} | step_json(step)
                for seq, message, step in steps
            ],
            "log": list(self._lines),
        }


def _before(told: Sequence[AnyFact]) -> Sequence[AnyFact]:
    """The chain without the life that is going on, which has not ended in any way yet."""
    starts = [at for at, fact in enumerate(told) if isinstance(fact, facts.Up)]
    return told[: starts[-1]] if starts else told


def _shows(world: World, key: str) -> bool:
    return bool(world.open_in(key)) or any(child.lane == key for child in world.children.values())


def _lane(world: World, key: str) -> dict[str, Any]:
    lane, head = world.lane(key), world.head(key)
    kids = [
        {"child": child.child, "pid": child.pid, "state": _state(child.pid, child.started, head)}
        for child in world.children.values()
        if child.lane == key
    ]
    open_rounds = world.open_in(key)
    return {
        "lane": key,
        "channel": str(lane.channel or key),
        "head": _round(head) if head is not None else None,
        "queue": [_round(world.rounds[name]) for name in lane.waiting],
        "others": [_round(one) for one in open_rounds if one is not head and one.phase is not Phase.WAITING],
        "children": kids,
    }


def _state(pid: int, started: str, head: Round | None) -> str:
    if not processes.alive(Identity(pid, started)):
        return "gone"
    return "in a turn" if head is not None and head.phase in AT_CHILD else "idle"


def _round(round_: Round) -> dict[str, Any]:
    return {
        "message": str(round_.message),
        "phase": PHASES[round_.phase],
        "attempts": round_.attempts,
        "since": instant(round_.at),
        "until": round_.until // SECOND or None,
        "words": round_.text.partition("\n\n")[2][:60],
    }
