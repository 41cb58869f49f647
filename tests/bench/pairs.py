"""Interleaved pairs and what may be said of them: a ratio of medians' kind with its interval, never a bare time."""

import math
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

PAIRS = int(os.environ.get("BENCH_PAIRS", "300"))


@dataclass(frozen=True, slots=True)
class Figure:
    """`ratio`: median over the pairs of ours by theirs; `low`, `high`: its 95 % interval; p99 is not judged.

    `bound` None: the ratio is shown, not judged.
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
    ours_p99_us: float
    theirs_p99_us: float

    @property
    def holds(self) -> bool:
        """Whether the median keeps the bound."""
        if self.bound is None:
            return True
        return self.ratio <= self.bound if self.at_most else self.ratio >= self.bound

    def row(self) -> dict[str, object]:
        """As JSON."""
        return {**asdict(self), "holds": self.holds}


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
    pairs: int = PAIRS,
) -> Figure:
    """Time both `pairs` times, taking turns at going first; `inverse`: how many times faster ours is."""
    ours(0)
    theirs(0)
    mine, other = [], []
    for number in range(pairs):
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
        ours_p99_us=round(sorted(mine)[int(len(mine) * 0.99)] * 1e6, 1),
        theirs_p99_us=round(sorted(other)[int(len(other) * 0.99)] * 1e6, 1),
    )


def _timed(work: Callable[[int], None], number: int) -> float:
    start = time.perf_counter()
    work(number)
    return time.perf_counter() - start


def _middle(values: list[float]) -> float:
    return (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2
