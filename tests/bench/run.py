"""`make bench`: every figure beside its counterpart, in one run; prints the tables and writes what README is made of.

`ARGS="NAME…"` runs some benches only. All of them, or `BENCH_JSON`, write the report as JSON: to that file, else to
`figures.json` here, which is what README's tables are made of (`--readme` makes them anew and runs nothing). What
cannot be run is said before anything starts, exit code 2: a name, a variable, the pinned pi where it is missing.
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
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.bench.asked import KNOBS, RefusedError
from tests.bench.pinned import pinned
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
NEED_PI = {"bench_wire", "bench_relay", "bench_ready"}
ROOT = Path(__file__).parents[2]
REPORT = Path(__file__).with_name("figures.json")
README = ROOT / "README.md"


def main(names: list[str]) -> int:
    """Run the named benches (all by default); 1 where a bound is missed or one fails, 2 where none can be run."""
    if names == ["--readme"]:
        README.write_text(placed(README.read_text(), json.loads(REPORT.read_text())))
        return 0
    try:
        checked(names or BENCHES)
        return measured(names)
    except RefusedError as refused:
        print(f"bench: {refused}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("bench: interrupted; what was measured is not kept", file=sys.stderr)
        return 130


def checked(names: Sequence[str]) -> None:
    """Raise RefusedError where one of these benches could not be run as it is asked for."""
    if unknown := [name for name in names if name not in BENCHES]:
        raise RefusedError(
            f"unknown bench {', '.join(unknown)}: it takes some of {', '.join(BENCHES)}, or --readme alone"
        )
    for knob in KNOBS:
        knob.read()
    if NEED_PI & set(names):
        pinned()


def measured(names: list[str]) -> int:
    """Run them, print the tables, keep the report of a run that was whole."""
    rows: list[dict[str, object]] = []
    failed = False
    for name in names or BENCHES:
        start = time.monotonic()
        try:
            rows += [{"bench": name, **one.row()} for one in importlib.import_module(f"tests.bench.{name}").run()]
        except Exception:  # noqa: BLE001 - told, and the rest of a run of half an hour is not lost for it
            traceback.print_exc()
            failed = True
        print(f"{name}: {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
    report = {
        "machine": machine(),
        "command": command(names),
        "day": time.strftime("%Y-%m-%d", time.gmtime()),
        "figures": rows,
    }
    print(tables(report))
    target = os.environ.get("BENCH_JSON", "" if names or failed else str(REPORT))
    if target:
        Path(target).write_text(json.dumps(report, indent=1) + "\n")
    for name in missed(report):
        print(f"missed: {name}", file=sys.stderr)
    return 1 if failed or missed(report) else 0


def command(names: Sequence[str], environ: Mapping[str, str] = os.environ) -> str:
    """How this run was started, with what of the environment makes it shorter or longer."""
    shaped = [f"{knob.name}={environ[knob.name]}" for knob in KNOBS if knob.name in environ]
    return " ".join([*shaped, "make bench", *([f'ARGS="{" ".join(names)}"'] if names else [])])


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    model = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    try:
        node = subprocess.check_output([pinned().node, "--version"], text=True).strip().removeprefix("v")
    except RefusedError:
        node = "none"  # none of these benches needed it
    return {
        "cpu": model[0].partition(":")[2].strip() if model else platform.machine(),
        "cores": os.cpu_count(),
        "kernel": platform.release().partition("-")[0],
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "node": node,
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
