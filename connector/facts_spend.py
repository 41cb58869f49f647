"""Facts of spending: what was paid for, which caps hold what back, and what operators added (CONTRACT, `spend.*`)."""

from typing import Literal

from connector.facts_base import Fact


class Spent(Fact, frozen=True, tag="spent"):
    """What a lane's child has paid for since the last one, by `person`'s turn `round`, on one day (UTC, since 1970).

    Recorded with whatever is recorded next, or when the turn is over: a kill in mid-turn loses what came since.
    `provider` and `model` are "" for tools and summaries; `person` is 0 where nobody had asked anything yet.
    """

    round: str
    lane: str
    person: int
    day: int
    provider: str
    model: str
    input: int
    output: int
    cache: int
    cost: float


class Capped(Fact, frozen=True, tag="capped"):
    """A cap holds the waiting round back until the day is over, and its author is told."""

    round: str
    scope: Literal["person", "lane", "total"]
    day: int


class Extended(Fact, frozen=True, tag="extended"):
    """An operator added to a cap for one day: `extra` in all. `key`: whose cap it is; `round`: where he was asked."""

    round: str
    scope: Literal["person", "lane", "total"]
    key: str
    day: int
    by: int
    extra: float
