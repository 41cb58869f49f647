"""`make bench`: every figure beside its counterpart, as a table, and as JSON where `BENCH_JSON` names a file."""

import importlib
import json
import os
import platform
import sys
from pathlib import Path

BENCHES = (
    "bench_wire",
    "bench_ledger",
    "bench_lanes",
    "bench_people",
    "bench_sign",
    "bench_start",
    "bench_ready",
)


def main(names: list[str]) -> int:
    """Run the named benches (all by default); 1 where a bound is missed."""
    rows = []
    for name in names or BENCHES:
        rows += [figure.row() for figure in importlib.import_module(f"tests.bench.{name}").run()]
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    print("| figure | median | 95 % | bound | ours, p99 (µs) | counterpart, p99 (µs) | holds |")
    print("|---|---|---|---|---|---|---|")
    for row in rows:
        sign = "≤" if row["at_most"] else "≥"
        print(
            f"| {row['name']} | {row['ratio']} | {row['low']}–{row['high']} | {sign} {row['bound']} "
            f"| {row['ours_us']}, {row['ours_p99_us']} | {row['theirs_us']}, {row['theirs_p99_us']} "
            f"| {'yes' if row['holds'] else 'NO'} |"
        )
    if target := os.environ.get("BENCH_JSON"):
        Path(target).write_text(json.dumps(rows, indent=1))
    return 0 if all(row["holds"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
