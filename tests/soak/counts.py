"""The soak's counts as they are printed: what was done to the connector, what it posted, and the six zeros."""

from collections import Counter
from collections.abc import Iterator

from tests.soak.judge import Verdict

MOST = 5
"""Finds of one sum that are told one by one."""


def table(counts: Counter[str], verdict: Verdict, seconds: float) -> Iterator[str]:
    """Line by line."""
    said = counts["messages"]
    yield f"{said:,} messages in {seconds:.0f} s ({said / seconds:.1f}/s)"
    yield "posted: " + _told(verdict.kinds)
    yield "done and seen: " + _told(Counter({name: count for name, count in counts.items() if name != "messages"}))
    yield ", ".join(f"{name} {len(found)}" for name, found in verdict.sums.items())
    for name, found in verdict.sums.items():
        for message, what in found[:MOST]:
            yield f"  {name}: {message or '-'}: {what}"
        if len(found) > MOST:
            yield f"  {name}: and {len(found) - MOST} more"


def _told(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items()))
