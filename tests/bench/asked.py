"""What of the environment shapes a run of the benches: read when a bench asks, refused before any starts."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

USUAL_PAIRS = 300
"""Interleaved pairs of every figure that is a ratio."""
LEAST_IDLE = 120
"""Seconds: what comes every 120 s must come once at least."""


class RefusedError(ValueError):
    """Something of the environment or of the words is not what a run can be made of; says which, and the mend."""


@dataclass(frozen=True, slots=True)
class Knob:
    """A variable that takes a whole number: what it is without one, and the least that it takes."""

    name: str
    usual: int
    least: int
    unit: str

    def read(self, environ: Mapping[str, str] | None = None) -> int:
        """Its value. Raises RefusedError."""
        text = (os.environ if environ is None else environ).get(self.name, str(self.usual))
        if not (text.isascii() and text.isdigit() and int(text) >= self.least):
            raise RefusedError(
                f"{self.name}={text}: it takes a whole number of {self.unit}, {self.least} at least; "
                f"without it {self.usual} are taken"
            )
        return int(text)


PAIRS = Knob("BENCH_PAIRS", USUAL_PAIRS, 1, "pairs")
IDLE = Knob("BENCH_IDLE", 240, LEAST_IDLE, "seconds")
TURNS = Knob("BENCH_TURNS", 10_000, 10, "turns")
KNOBS = (PAIRS, IDLE, TURNS)


def pairs() -> int:
    """How many pairs each bench is to take. Raises RefusedError."""
    return PAIRS.read()
