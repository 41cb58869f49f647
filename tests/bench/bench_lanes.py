"""What lanes cost each other: 1,000 and 100 lanes by 10 (flat within 1.2), in the pure cores over in-memory children.

Per message, and what `/status` and `/queue` show where three of the lanes have work: to a person, and to an operator.
"""

from collections.abc import Callable

from connector.lane_base import LaneRules
from connector.queue_page import other_lanes, queue_page
from connector.status import all_lines, lane_lines
from fakes.simulation import Simulation
from tests.bench.pairs import Figure, compare

LANES = (10, 100, 1_000)
EACH = 3
AT_WORK = 3


class Party:
    """So many lanes that get their messages in turn; a call relays three."""

    def __init__(self, lanes: int, *, at_work: int = 0) -> None:
        """`at_work`: of so many lanes one message runs for ever, and one waits behind it."""
        self._lanes = lanes
        self._next = 0
        self.world = Simulation(rules=LaneRules(max_children=4, per_person=10**9))
        for lane in range(self._lanes):
            self.world.say(1, lane + 1, "hello")
        self.world.seconds(3600)
        for lane in range(at_work):
            for text in ("hang", "hello"):
                self.world.say(2, lane + 1, text)
            self.world.seconds(1)

    def relay(self, _: int) -> None:
        """Three messages in one lane after another, answered."""
        for _ in range(EACH):
            self._next = self._next % self._lanes + 1
            self.world.say(1, self._next, "hello")
            self.world.seconds(30)
        self.world.ledger.clear()
        self.world.posts.clear()
        self.world.heard.clear()
        self.world.effects.clear()

    def person(self, _: int) -> None:
        """What somebody sees of his lane."""
        lanes = self.world.lanes
        lane_lines(lanes, "1", (), self.world.now)
        queue_page(lanes.world, "1", 0, lambda _: True)

    def operator(self, _: int) -> None:
        """What an operator sees of all of them."""
        lanes = self.world.lanes
        assert len(all_lines(lanes, "1", (), self.world.now)) == AT_WORK
        assert len(other_lanes(lanes.world, "1")) == AT_WORK - 1


def run() -> list[Figure]:
    """Per message for each number, the pages for the largest."""
    few, *more = (Party(lanes) for lanes in LANES)
    found = [
        compare(
            f"deciding a message, pure: {lanes:,} lanes by {LANES[0]}",
            many.relay,
            few.relay,
            bound=1.2,
        )
        for many, lanes in zip(more, LANES[1:], strict=True)
    ]
    some, most = (Party(lanes, at_work=AT_WORK) for lanes in (LANES[0], LANES[-1]))
    pages: dict[str, tuple[Callable[[int], None], Callable[[int], None]]] = {
        "a person's": (most.person, some.person),
        "an operator's": (most.operator, some.operator),
    }
    found += [
        compare(f"making {whose} /status and /queue, pure: {LANES[-1]:,} lanes by {LANES[0]}", *both, bound=1.2)
        for whose, both in pages.items()
    ]
    return found
