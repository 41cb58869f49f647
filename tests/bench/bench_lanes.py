"""Per-message time of the pure cores over in-memory children: 1,000 lanes by 10 lanes (flat within 1.2)."""

from connector.lane_base import LaneRules
from fakes.simulation import Simulation
from tests.bench.pairs import Figure, compare

LANES = (10, 1_000)
EACH = 10


class Party:
    """So many lanes that get their messages in turn; a call relays ten."""

    def __init__(self, lanes: int) -> None:
        self._lanes = lanes
        self._next = 0
        self.world = Simulation(rules=LaneRules(max_children=4, per_person=10**9))
        self.fresh()

    def fresh(self) -> None:
        """A new world, its lanes known by one message each."""
        self.world = Simulation(rules=LaneRules(max_children=4, per_person=10**9))
        for lane in range(self._lanes):
            self.world.say(1, lane + 1, "hello")
        self.world.seconds(3600)

    def relay(self, _: int) -> None:
        """Ten messages in one lane after another, answered."""
        for _ in range(EACH):
            self._next = self._next % self._lanes + 1
            self.world.say(1, self._next, "hello")
            self.world.seconds(30)
        self.world.ledger.clear()
        self.world.posts.clear()
        self.world.heard.clear()
        self.world.effects.clear()


def run() -> list[Figure]:
    """The one figure."""
    few, many = (Party(lanes) for lanes in LANES)
    name = f"lanes, per message: {LANES[1]:,} lanes by {LANES[0]}"
    return [compare(name, many.relay, few.relay, bound=1.2)]
