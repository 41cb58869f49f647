"""What is shown of a message that came to a wrong end: its trace as an operator sees it, and its lines of the log."""

import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

MOST_LINES = 60


def of(message: int, config: Path, log: Path) -> Iterator[str]:
    """Line by line; `log` holds what all lives logged."""
    yield f"-- pi-connector trace {message}"
    command = [sys.executable, "-P", "-m", "connector", "trace", str(message), "--config", str(config)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    yield from (done.stdout + done.stderr).splitlines()[:MOST_LINES]
    yield f"-- {log} of {message}"
    yield from _lines(log, str(message))


def _lines(log: Path, name: str) -> Iterable[str]:
    if not log.exists():
        return []
    with log.open() as file:
        return [line.rstrip("\n")[:600] for line in file if name in line][:MOST_LINES]
