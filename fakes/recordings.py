"""The recordings of the real pi in `tests/transcripts`, as values; it only reads those files.

A recording is a list of steps in order: what was written to pi, what pi wrote, what the driver or the scripted
provider saw. Long strings were cut when saved, and runs of `message_update` thinned out (`trimmed`).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

__all__ = ["FOLDER", "TRIM", "Feed", "Recording", "Step", "Version", "load", "names"]

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "transcripts"
Version = Literal["1.6.0", "0.73.1"]
_TAGS: dict[str, str] = {"1.6.0": "", "0.73.1": "@0.73.1"}
THINNED = frozenset({"message_update", "tool_execution_update"})
"""Records whose number says nothing: pi sends as many as it likes, and the recordings keep a few."""
TRIM = re.compile(r"\.\.\.\[trimmed (\d+) chars\]\.\.\.", re.DOTALL)
"""How a string says that it was cut when saved."""
_ONE_WRITE = 300_000  # ns: commands of one write were noted one after the other within this time


@dataclass(frozen=True, slots=True)
class Step:
    """One line of a recording. `at` is ns since the spawn; `line` is set for "in", "out" and "err".

    `record` is the line's JSON, or None where it is none; `data` is what a "proc" step says. `trimmed`: strings of
    this line were cut, and say so themselves (`...[trimmed N chars]...`).
    """

    at: int
    kind: Literal["in", "out", "err", "proc"]
    line: str = ""
    record: Any = None
    data: Any = None
    trimmed: bool = False

    @property
    def type(self) -> str:
        """The record's type, "" where it has none."""
        return str(self.record.get("type", "")) if isinstance(self.record, dict) else ""


@dataclass(frozen=True, slots=True)
class Feed:
    """One thing done to pi: bytes in one write, `"eof"`, or a signal's name without `SIG`.

    It was done `delay` ns after an output: after the `records`-th record that is not THINNED, and `updates` of
    those behind it (0 where they were trimmed away).
    """

    what: bytes | str
    at: int
    records: int
    updates: int
    delay: int


@dataclass(frozen=True)
class Recording:
    """One transcript."""

    name: str
    version: Version
    steps: tuple[Step, ...]

    @cached_property
    def out(self) -> tuple[Step, ...]:
        """What pi wrote to standard output."""
        return tuple(s for s in self.steps if s.kind == "out")

    @cached_property
    def trimmed(self) -> bool:
        """Whether anything was cut or left out of it."""
        return any(s.trimmed or _thinned(s) for s in self.steps)

    @cached_property
    def exit(self) -> int | None:
        """pi's exit status, minus the signal; None where it was still alive."""
        codes = [s.data["exit"] for s in self.steps if isinstance(s.data, dict) and "exit" in s.data]
        return int(codes[0]) if codes else None

    @cached_property
    def feeds(self) -> tuple[Feed, ...]:
        """What was done to pi, in order; commands of one write together. What was cut is filled up with `x`."""
        feeds: list[Feed] = []
        records = updates = since = 0
        trimmed, before = False, ""
        for step in self.steps:
            if step.kind == "out":
                thin = step.type in THINNED
                records, updates = (records, updates + 1) if thin else (records + 1, 0)
                trimmed = trimmed and thin
                since = step.at
            trimmed = trimmed or _thinned(step)
            what = _fed(step)
            if what is not None:
                last = feeds[-1] if feeds else None
                together = before == "in" and last is not None and step.at - last.at <= _ONE_WRITE
                if together and last and isinstance(what, bytes) and isinstance(last.what, bytes):
                    feeds[-1] = Feed(last.what + what, last.at, last.records, last.updates, last.delay)
                else:
                    feeds.append(Feed(what, step.at, records, 0 if trimmed else updates, step.at - since))
            before = step.kind
        return tuple(feeds)


def _thinned(step: Step) -> bool:
    return isinstance(step.data, dict) and "trimmed_message_update_lines" in step.data


def _fed(step: Step) -> bytes | str | None:
    if step.kind == "in":
        whole = TRIM.sub(lambda cut: "x" * int(cut[1]), step.line) if step.trimmed else step.line
        return whole.encode("utf-8", "surrogatepass") + b"\n"
    if isinstance(step.data, str) and step.data.startswith("driver: closing stdin"):
        return "eof"
    if isinstance(step.data, dict) and "signal_sent" in step.data:
        return str(step.data["signal_sent"]).removeprefix("SIG")
    if isinstance(step.data, dict) and "killpg" in step.data:
        return "KILL"
    return None


def names(version: Version = "1.6.0") -> list[str]:
    """The names of all recordings of a version, sorted."""
    stems = (path.stem for path in FOLDER.glob("*.jsonl"))
    tag = _TAGS[version]
    return sorted(stem.removesuffix(tag) for stem in stems if ("@" in stem) == bool(tag) and stem.endswith(tag))


def load(name: str, version: Version = "1.6.0") -> Recording:
    """One recording; raises FileNotFoundError for a name that is none."""
    rows = (FOLDER / f"{name}{_TAGS[version]}.jsonl").read_text(encoding="utf-8").split("\n")
    return Recording(name, version, tuple(_step(json.loads(row)) for row in rows if row))


def _step(row: dict[str, Any]) -> Step:
    at, kind, trimmed = round(row["t"] * 1e9), row["dir"], bool(row.get("trimmed"))
    if kind == "proc":
        return Step(at, kind, data=row["data"])
    try:
        record = json.loads(row["line"])
    except ValueError:
        record = None
    return Step(at, kind, row["line"], record, trimmed=trimmed)
