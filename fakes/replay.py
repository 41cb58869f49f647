"""Plays a recording's inputs to a fake pi in memory, each at its place behind the outputs it followed. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from fakes.memory import MemoryChild
from fakes.recordings import THINNED, Feed, Recording

__all__ = ["names_in", "replay"]

_TOGETHER = 3_000_000  # ns: what the real pi found in its pipe when it came round to reading (x_D_2)


def replay(
    recording: Recording,
    child: MemoryChild,
    instead: Mapping[int, bytes | str] | None = None,
    *,
    eof_after: int | None = None,
) -> None:
    """Feeds the child everything that was done to pi, in simulated time, and lets it come to rest.

    `instead` replaces what was fed by its number: for the few that were not noted as they were written. `eof_after`:
    behind so many records standard input was closed, which was not noted.
    """
    recorded = names_in(step.record for step in recording.out)
    feeds = list(enumerate(recording.feeds))
    if eof_after is not None:
        behind = sum(feed.records < eof_after or isinstance(feed.what, bytes) for _, feed in feeds)
        feeds.insert(behind, (-1, Feed("eof", 0, eof_after, 0, 0)))
    while feeds:
        number, feed = feeds.pop(0)
        due = _due(child, feed)
        child.advance(due)
        what = (instead or {}).get(number, feed.what)
        if isinstance(what, str):
            child.close_stdin() if what == "eof" else child.signal(what)
            continue
        while feeds and isinstance(feeds[0][1].what, bytes) and _is_due(child, feeds[0][1], due + _TOGETHER):
            number, more = feeds.pop(0)
            extra = (instead or {}).get(number, more.what)
            what += extra if isinstance(extra, bytes) else b""
        for old, new in zip(recorded, names_in(child.records()), strict=False):
            what = what.replace(json.dumps(old).encode(), json.dumps(new).encode())
        child.write(what)
    child.settle()


def _due(child: MemoryChild, feed: Feed) -> int:
    """When to feed: so long after its output as it was. An output that does not come is given up at rest."""
    while True:
        at = _seen(child, feed)
        if at is not None:
            return at + feed.delay
        if not child.step():
            return child.now + feed.delay


def _is_due(child: MemoryChild, feed: Feed, by: int) -> bool:
    at = _seen(child, feed)
    return at is not None and at + feed.delay <= by


def _seen(child: MemoryChild, feed: Feed) -> int | None:
    """When the output that this feed followed was written, None if it was not yet."""
    records = updates = 0
    if feed.records == 0 and feed.updates == 0:
        return 0
    for at, data in zip(child.times, child.written, strict=True):
        thin = any(data.startswith(b'{"type":"%s"' % name.encode()) for name in THINNED)
        records, updates = (records, updates + 1) if thin else (records + 1, 0)
        if (records, updates) >= (feed.records, feed.updates):
            return at
    return None


def names_in(records: Iterable[Any]) -> list[str]:
    """The names that later commands use, in order: dialogs, the entries of forks, session files."""
    found: list[str] = []
    for record in records:
        if not isinstance(record, dict):
            continue
        data = record.get("data")
        if record.get("type") == "extension_ui_request":
            found.append(str(record["id"]))
        elif isinstance(data, dict) and record.get("command") == "get_fork_messages":
            found += [str(message["entryId"]) for message in data["messages"]]
        elif isinstance(data, dict) and "sessionFile" in data:
            found.append(str(data["sessionFile"]))
    return found
