"""What models cost on one day, and whether a cap allows more; pure sums, by lane and person, of today alone.

A day is UTC's. The unit is pi's: what its list of models says of prices, dollars as a rule (CONTRACT, `spend.*`).
"""

from typing import Literal, assert_never

from msgspec import Struct, field

from connector import facts
from engine import pi
from engine.events import SECOND

DAY = 86_400 * SECOND

Scope = Literal["person", "lane", "total"]

_MANY = 10**12
"""More tokens, or more money, than one message costs: a child that says so does not break the sums."""


def day_of(now: int) -> int:
    """The day of an instant (ns): whole days since 1970."""
    return now // DAY


def day_end(day: int) -> int:
    """The instant (ns) at which a day is over and its caps begin anew."""
    return (day + 1) * DAY


class Amount(Struct, frozen=True):
    """Tokens and cost; `cache`: tokens read from or written to the provider's cache."""

    input: int = 0
    output: int = 0
    cache: int = 0
    cost: float = 0.0

    @classmethod
    def of(cls, usage: pi.Usage) -> "Amount":
        """What a child says of one message; nonsense is brought into bounds."""
        cost = usage.cost.total if usage.cost is not None else 0.0
        rest = usage.totalTokens - usage.input - usage.output
        read, written, cached = (min(max(0, count), _MANY) for count in (usage.input, usage.output, rest))
        return cls(read, written, cached, min(max(0.0, cost), float(_MANY)))

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(
            self.input + other.input, self.output + other.output, self.cache + other.cache, self.cost + other.cost
        )

    @property
    def tokens(self) -> int:
        """All of them."""
        return self.input + self.output + self.cache


class Caps(Struct, frozen=True):
    """The settings `spend.*`; 0 is no cap."""

    person: float = 0.0
    lane: float = 0.0
    total: float = 0.0

    def __bool__(self) -> bool:
        return bool(self.person or self.lane or self.total)

    def of(self, scope: Scope) -> float:
        """The cap of one scope."""
        match scope:
            case "person":
                return self.person
            case "lane":
                return self.lane
            case "total":
                return self.total
            case _:
                assert_never(scope)


NO_CAPS = Caps()


def keys(lane: str, person: int) -> tuple[tuple[Scope, str], ...]:
    """The scopes that somebody's message in a lane counts for, and whose they are."""
    return ("person", str(person)), ("lane", lane), ("total", "")


class Today(Struct):
    """The costs of the newest day that anything was recorded of; whatever is older is forgotten.

    `spent` and `extra` (what operators added to a cap) by scope and whose it is.
    """

    day: int = 0
    spent: dict[tuple[str, str], float] = field(default_factory=dict)
    extra: dict[tuple[str, str], float] = field(default_factory=dict)

    def learn(self, fact: facts.Spent | facts.Extended) -> None:
        """Fold one fact in."""
        if fact.day < self.day:
            return
        if fact.day > self.day:
            self.day, self.spent, self.extra = fact.day, {}, {}
        match fact:
            case facts.Spent(lane=lane, person=person, cost=cost):
                for key in keys(lane, person):
                    self.spent[key] = self.spent.get(key, 0.0) + cost
            case facts.Extended(scope=scope, key=name, extra=extra):
                self.extra[scope, name] = extra
            case _:
                assert_never(fact)

    def of(self, day: int, scope: Scope, name: str) -> tuple[float, float]:
        """What was spent of a cap on a day, and what was added to it; a clock that went back ends no day."""
        if day > self.day:
            return 0.0, 0.0
        return self.spent.get((scope, name), 0.0), self.extra.get((scope, name), 0.0)

    def reached(self, caps: Caps, day: int, lane: str, person: int) -> tuple[Scope, ...]:
        """The caps that are reached for this person in this lane, his own first."""
        found: list[Scope] = []
        for scope, name in keys(lane, person):
            cap = caps.of(scope)
            spent, extra = self.of(day, scope, name)
            if cap and spent >= cap + extra:
                found.append(scope)
        return tuple(found)
