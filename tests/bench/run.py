"""`make bench`: every figure beside its counterpart, in one run; prints the tables and writes what README is made of.

`ARGS="NAME…"` runs some benches only. All of them, or `BENCH_JSON`, write the report as JSON: to that file, else to
`figures.json` here, which is what README's tables are made of (`--readme` makes them anew and runs nothing).
"""

import importlib
import json
import os
import platform
import sqlite3
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from fakes.real_pi import installed
from tests.bench.pairs import Figure, Surplus
from tests.bench.report import missed, placed, tables

BENCHES = (
    "bench_wire",
    "bench_turn",
    "bench_relay",
    "bench_ledger",
    "bench_lanes",
    "bench_people",
    "bench_sign",
    "bench_start",
    "bench_ready",
    "bench_idle",
    "bench_memory",
    "bench_growth",
)
ROOT = Path(__file__).parents[2]
REPORT = Path(__file__).with_name("figures.json")
README = ROOT / "README.md"
REAL = "1.6.0"


def main(names: list[str]) -> int:
    """Run the named benches (all by default); 1 where a bound is missed."""
    if names == ["--readme"]:
        README.write_text(placed(README.read_text(), json.loads(REPORT.read_text())))
        return 0
    found: list[Figure | Surplus] = []
    failed = False
    for name in names or BENCHES:
        start = time.monotonic()
        try:
            found += importlib.import_module(f"tests.bench.{name}").run()
        except Exception:  # noqa: BLE001 - told, and the rest of a run of most of an hour is not lost for it
            traceback.print_exc()
            failed = True
        print(f"{name}: {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
    report = {
        "machine": machine(),
        "command": command(names),
        "day": time.strftime("%Y-%m-%d", time.gmtime()),
        "figures": [one.row() for one in found],
    }
    print(tables(report))
    target = os.environ.get("BENCH_JSON", "" if names else str(REPORT))
    if target:
        Path(target).write_text(json.dumps(report, indent=1) + "\n")
    for name in missed(report):
        print(f"missed: {name}", file=sys.stderr)
    return 1 if failed or missed(report) else 0


def command(names: list[str]) -> str:
    """How this run was started, with what of the environment makes it shorter or longer."""
    shaped = [
        f"{name}={os.environ[name]}" for name in ("BENCH_PAIRS", "BENCH_IDLE", "BENCH_TURNS") if name in os.environ
    ]
    return " ".join([*shaped, "make bench", *([f'ARGS="{" ".join(names)}"'] if names else [])])


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    model = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    pi = installed(ROOT, REAL)
    node = "none" if pi is None else subprocess.run([pi.node, "--version"], capture_output=True, text=True, check=True)
    return {
        "cpu": model[0].partition(":")[2].strip() if model else platform.machine(),
        "cores": os.cpu_count(),
        "kernel": platform.release().partition("-")[0],
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "node": node if isinstance(node, str) else node.stdout.strip().removeprefix("v"),
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
