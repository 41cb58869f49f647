"""What is counted of one life, and what its lanes look like now (CONTRACT, Metrics); pure, it serves nothing.

No person, channel or lane is kept here: labels are our own codes, of which there are few.
"""

from bisect import bisect_left
from collections import Counter
from itertools import accumulate
from typing import Protocol, assert_never

from msgspec import Struct, field

from connector.lane_effects import Log
from connector.lanes import Lanes, Stepped
from connector.outbox_moves import Action, Edit, Later, Missing, Never, Other, Outcome, Stands
from connector.ports import Connected, Disconnected, Heard
from connector.world import Phase
from engine.events import SECOND, Code

TURN_BOUNDS = (1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 180.0, 600.0, 1800.0, 7200.0)
COMMIT_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)
"""Seconds: upper bounds of the buckets."""

REFUSED = "refused"
"""The outcome of a message that was refused at the door: it waited for nothing, so its seconds say nothing."""


class Spread:
    """How values are spread over buckets with these upper bounds, and their sum."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def add(self, value: float) -> None:
        """One value."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self.total += value

    def buckets(self) -> list[tuple[str, float]]:
        """Bound and count of all values up to it, the last bound being all."""
        names = [*(str(bound) for bound in self._bounds), "+Inf"]
        return [(name, float(count)) for name, count in zip(names, accumulate(self._counts), strict=True)]


class Meter(Struct):
    """The counts of one life. It is given what happens; it changes nothing of it.

    `turns` by outcome, `seconds` from a message's arrival to its end; `posts` by what came of a try; `commits`:
    seconds until the ledger had a transaction; `reconnects`: connections to Discord after the first.
    """

    turns: Counter[str] = field(default_factory=lambda: Counter(dict.fromkeys((*map(str, Code), REFUSED), 0)))
    seconds: Spread = field(default_factory=lambda: Spread(TURN_BOUNDS))
    wedges: int = 0
    posts: Counter[str] = field(default_factory=lambda: Counter(dict.fromkeys(("posted", "later", "refused"), 0)))
    commits: Spread = field(default_factory=lambda: Spread(COMMIT_BOUNDS))
    reconnects: int = 0
    connected: bool = False
    _met: bool = False

    def stepped(self, step: Stepped) -> None:
        """A step of the lanes is recorded."""
        for effect in step.effects:
            match effect:
                case Log("turn.ended", fields):
                    told = dict(fields)
                    outcome, seconds = str(told["outcome"]), told["seconds"]
                    self.turns[outcome] += 1
                    if outcome != REFUSED and isinstance(seconds, int | float):
                        self.seconds.add(seconds)
                case Log("engine.wedged"):
                    self.wedges += 1
                case _:
                    pass

    def heard(self, event: Heard) -> None:
        """An event of Discord."""
        match event:
            case Connected():
                self.reconnects += self._met
                self.connected = self._met = True
            case Disconnected():
                self.connected = False
            case _:
                pass

    def tried(self, action: Action, outcome: Outcome) -> None:
        """A try of a post or card; edits of what stands already are none."""
        if isinstance(action, Edit):
            return
        match outcome:
            case Stands():
                self.posts["posted"] += 1
            case Later() | Other():
                self.posts["later"] += 1
            case Never():
                self.posts["refused"] += 1
            case Missing():
                pass  # it was only looked for, and is tried next
            case _:
                assert_never(outcome)

    def committed(self, seconds: float) -> None:
        """The ledger has a transaction."""
        self.commits.add(seconds)


class Seen(Protocol):
    """The gateway, to be looked at."""

    @property
    def latency(self) -> float | None:
        """Seconds between a heartbeat and its answer, None while there is none."""
        ...


class State(Struct, frozen=True):
    """The lanes at one instant: `oldest` in seconds, 0 where nothing waits; `gates`: models nothing is sent to now."""

    waiting: int
    oldest: float
    children: int
    backoff: int
    gates: int

    @classmethod
    def of(cls, lanes: Lanes, now: int) -> "State":
        """How they are at `now` (ns). A gate that is only probed is still closed."""
        world = lanes.world
        waiting = [world.rounds[name].at for lane in world.lanes.values() for name in lane.waiting]
        return cls(
            waiting=len(waiting),
            oldest=max(0, now - min(waiting, default=now)) / SECOND,
            children=len(lanes.kids),
            backoff=sum(round_.phase is Phase.BACKOFF for round_ in world.rounds.values()),
            gates=sum(until > now or model in lanes.probes for model, until in world.gates.items()),
        )
