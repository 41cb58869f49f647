"""Interleaved pairs and what may be said of them: a ratio of medians' kind with its interval, never a bare time."""

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

from tests.bench.asked import pairs

FEWEST = 100
"""Pairs from which on there is a p99; of fewer it is the longest that is told."""


@dataclass(frozen=True, slots=True)
class Figure:
    """`ratio`: median over the pairs of ours by theirs; `low`, `high`: its 95 % interval.

    `bound` None: the ratio is shown, not judged. `…_far_us` are p99, of fewer than 100 pairs the longest; `far` says
    which, and neither is judged.
    """

    name: str
    bound: float | None
    at_most: bool
    ratio: float
    low: float
    high: float
    pairs: int
    ours_us: float
    theirs_us: float
    ours_far_us: float
    theirs_far_us: float

    @property
    def holds(self) -> bool:
        """Whether the median keeps the bound."""
        if self.bound is None:
            return True
        return self.ratio <= self.bound if self.at_most else self.ratio >= self.bound

    def row(self) -> dict[str, object]:
        """As JSON."""
        return {**asdict(self), "far": "p99" if self.pairs >= FEWEST else "max", "holds": self.holds}


@dataclass(frozen=True, slots=True)
class Surplus:
    """What the connector has more of than its counterpart, in `unit`; `bound` None: shown, not judged."""

    name: str
    unit: str
    bound: float | None
    ours: float
    theirs: float
    why: str = ""

    @property
    def more(self) -> float:
        """By how much."""
        return round(self.ours - self.theirs, 2)

    @property
    def holds(self) -> bool:
        """Whether the bound is kept."""
        return self.bound is None or self.more <= self.bound

    def row(self) -> dict[str, object]:
        """As JSON."""
        return {**asdict(self), "more": self.more, "holds": self.holds}


def compare(
    name: str,
    ours: Callable[[int], None],
    theirs: Callable[[int], None],
    *,
    bound: float | None,
    at_most: bool = True,
    inverse: bool = False,
) -> Figure:
    """Time both as often as is asked for, taking turns at going first; `inverse`: how many times faster ours is."""
    ours(0)
    theirs(0)
    mine, other = [], []
    for number in range(pairs()):
        first, second = (ours, theirs) if number % 2 else (theirs, ours)
        one, two = _timed(first, number), _timed(second, number)
        mine.append(one if number % 2 else two)
        other.append(two if number % 2 else one)
    return figure(name, mine, other, bound=bound, at_most=at_most, inverse=inverse)


def figure(
    name: str,
    mine: list[float],
    other: list[float],
    *,
    bound: float | None,
    at_most: bool = True,
    inverse: bool = False,
) -> Figure:
    """The figure of pairs timed elsewhere, seconds each."""
    ratios = sorted(b / a if inverse else a / b for a, b in zip(mine, other, strict=True))
    half, spread = len(ratios) / 2, 0.98 * math.sqrt(len(ratios))
    return Figure(
        name=name,
        bound=bound,
        at_most=at_most,
        ratio=round(_middle(ratios), 3),
        low=round(ratios[max(0, math.floor(half - spread))], 3),
        high=round(ratios[min(len(ratios) - 1, math.ceil(half + spread))], 3),
        pairs=len(ratios),
        ours_us=round(_middle(sorted(mine)) * 1e6, 1),
        theirs_us=round(_middle(sorted(other)) * 1e6, 1),
        ours_far_us=round(_far(mine) * 1e6, 1),
        theirs_far_us=round(_far(other) * 1e6, 1),
    )


def _timed(work: Callable[[int], None], number: int) -> float:
    start = time.perf_counter()
    work(number)
    return time.perf_counter() - start


def _middle(values: list[float]) -> float:
    return (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2


def _far(values: list[float]) -> float:
    """The value that 99 of 100 do not go beyond; the longest where they are fewer."""
    return sorted(values)[-(-99 * len(values) // 100) - 1]
