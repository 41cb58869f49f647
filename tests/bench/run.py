"""`make bench`: every figure beside its counterpart, as a table, and as JSON where `BENCH_JSON` names a file."""

import importlib
import json
import os
import platform
import sys
from pathlib import Path

from tests.bench.pairs import Figure, Surplus

BENCHES = (
    "bench_wire",
    "bench_ledger",
    "bench_lanes",
    "bench_people",
    "bench_sign",
    "bench_start",
    "bench_ready",
    "bench_idle",
    "bench_growth",
)


def main(names: list[str]) -> int:
    """Run the named benches (all by default); 1 where a bound is missed."""
    found: list[Figure | Surplus] = []
    for name in names or BENCHES:
        found += importlib.import_module(f"tests.bench.{name}").run()
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    ratios = [one for one in found if isinstance(one, Figure)]
    if ratios:
        print("| figure | median | 95 % | bound | ours, p99 (µs) | counterpart, p99 (µs) | holds |")
        print("|---|---|---|---|---|---|---|")
    for ratio in ratios:
        sign = "≤" if ratio.at_most else "≥"
        print(
            f"| {ratio.name} | {ratio.ratio} | {ratio.low}–{ratio.high} | {sign} {ratio.bound} "
            f"| {ratio.ours_us}, {ratio.ours_p99_us} | {ratio.theirs_us}, {ratio.theirs_p99_us} | {_held(ratio)} |"
        )
    if surpluses := [one for one in found if isinstance(one, Surplus)]:
        print("\n| figure | more | bound | ours | counterpart | holds |")
        print("|---|---|---|---|---|---|")
    for more in surpluses:
        bound = "" if more.bound is None else f"≤ {more.bound}"
        print(
            f"| {more.name} ({more.unit}) | {more.more} | {bound} | {more.ours} | {more.theirs} | {_held(more)} |"
            + (f" {more.why}" if more.why else "")
        )
    if target := os.environ.get("BENCH_JSON"):
        Path(target).write_text(json.dumps([one.row() for one in found], indent=1))
    return 0 if all(one.holds for one in found) else 1


def _held(one: Figure | Surplus) -> str:
    return "yes" if one.holds else "NO"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
