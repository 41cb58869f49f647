"""Facts about processes, and signals to exactly one of them; starts nothing and decides nothing.

A process is its pid *and* its start time: nothing here signals on a pid alone (BEHAVIOUR §1.17).
"""

import contextlib
import ctypes
import functools
import os
import signal
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import psutil

MARK = "PI_GENERATION"
"""Environment variable that tells whose descendant an orphan is once no parent links it to its child."""

OOM_SCORE = 500
"""Of a child and all that it starts, from -1000 to 1000: of two processes the higher one is ended for its memory."""

_HINT = 1 << 12
"""Bytes that `direct_children` compares: some six hundred processes."""

_HAS_PROC = Path("/proc/self/stat").exists()
_PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True, slots=True)
class Identity:
    """One process for ever: `started` is opaque, equal only for the same process of the same boot."""

    pid: int
    started: str


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the process table. `began` orders starts within one boot; `dead` is a zombie."""

    identity: Identity
    parent: int
    session: int
    began: int
    dead: bool


Table = Mapping[int, Row]
"""Rows by pid, as they were read one after the other: no single instant."""


@functools.cache
def _boot() -> str:
    # Start times count from the boot: without it a record could fit another process after a restart of
    # the machine. The wall clock is no help, it is set back and forth.
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def _proc_row(pid: int) -> Row | None:
    try:
        handle = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
    except OSError:
        return None
    try:
        text = os.read(handle, 4096)
    except ProcessLookupError:  # ended between the two calls
        return None
    finally:
        os.close(handle)
    fields = text[text.rindex(b")") + 2 :].split()  # the name before it may hold blanks and brackets
    began = int(fields[19])
    who = Identity(pid, f"{began}@{_boot()}")
    return Row(who, int(fields[1]), int(fields[3]), began, fields[0] in {b"Z", b"X"})


def _psutil_row(pid: int) -> Row | None:
    try:
        process = psutil.Process(pid)
        with process.oneshot():
            began = process.create_time()
            dead = process.status() == psutil.STATUS_ZOMBIE
            who = Identity(pid, repr(began))
            return Row(who, process.ppid(), os.getsid(pid), int(began * 1e6), dead)
    except (psutil.Error, OSError):
        return None


def table() -> Table:
    """Every process in sight, by pid; from `/proc` about 15 µs each, elsewhere through psutil."""
    pids, read = psutil.pids(), _proc_row if _HAS_PROC else _psutil_row
    return {pid: row for pid in pids if (row := read(pid)) is not None}


def instant() -> float:
    """Now, as `Row.began` counts: what starts later has no smaller number."""
    if not _HAS_PROC:
        return time.time() * 1e6
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))


def name_of(pid: int) -> str:
    """The name of a process, for a person; its number where it has none any more."""
    try:
        return f"{psutil.Process(pid).name()} ({pid})"
    except psutil.Error:
        return f"({pid})"


def cpu_of(pid: int) -> float | None:
    """CPU seconds of a process and of those children of its that have ended; None where it is gone or not ours."""
    try:
        used = psutil.Process(pid).cpu_times()
    except psutil.Error:
        return None
    return float(used.user + used.system + used.children_user + used.children_system)


def row_of(pid: int) -> Row | None:
    """The process that has this pid now (a zombie included), or None."""
    return _proc_row(pid) if _HAS_PROC else _psutil_row(pid)


def identity(pid: int) -> Identity | None:
    """Who has this pid now (a zombie included), or None."""
    row = row_of(pid)
    return row.identity if row else None


def alive(who: Identity) -> bool:
    """True while exactly this process runs; a zombie does not."""
    row = row_of(who.pid)
    return row is not None and row.identity == who and not row.dead


def send(who: Identity, signum: signal.Signals) -> Literal["sent", "gone", "refused"]:
    """Signal exactly this process; one that only has its pid is never touched."""
    handle: int | None = None
    with contextlib.suppress(AttributeError, OSError):  # without pidfd the look below is all the guard
        handle = os.pidfd_open(who.pid)  # opened before the look, so that what is signalled is what was seen
    try:
        if identity(who.pid) != who:
            return "gone"
        if handle is None:
            os.kill(who.pid, signum)
        else:
            signal.pidfd_send_signal(handle, signum)
    except ProcessLookupError:
        return "gone"
    except PermissionError:
        return "refused"
    else:
        return "sent"
    finally:
        if handle is not None:
            os.close(handle)


def with_descendants(start: Iterable[Row], rows: Table) -> dict[Identity, Row]:
    """These processes and everything below them in this table."""
    children: dict[int, list[Row]] = {}
    for row in rows.values():
        children.setdefault(row.parent, []).append(row)
    found: dict[Identity, Row] = {}
    pending = list(start)
    while pending:
        row = pending.pop()
        if row.identity not in found:
            found[row.identity] = row
            pending.extend(children.get(row.identity.pid, ()))
    return found


def mark_of(pid: int) -> str | None:
    """The `MARK` in this process's environment; None without one, or where it may not be read."""
    try:
        if not _HAS_PROC:
            return psutil.Process(pid).environ().get(MARK)
        environ = Path(f"/proc/{pid}/environ").read_bytes()
    except (OSError, psutil.Error):  # ended, or another user's
        return None
    for entry in environ.split(b"\0"):
        name, _, value = entry.partition(b"=")
        if name == MARK.encode():
            return value.decode("ascii", "replace")
    return None


def direct_children() -> bytes | None:
    """A hint whether our direct children have changed: equal when they have not; None where there is none.

    The kernel calls these files unreliable while children come and go, so they are good for nothing else.
    """
    try:
        # What comes to a process as an orphan is the first thread's; a look at every thread takes ten times as long.
        file = os.open(f"/proc/self/task/{os.getpid()}/children", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:  # not this system
        return None
    try:
        return os.read(file, _HINT)
    finally:
        os.close(file)


def offer_for_memory(pid: int) -> bool:
    """Where memory runs out, let the system end this process, and what it starts, and not us.

    False where that is refused: another user's process, or ours in the midst of its exec, which still counts as one
    that may not be looked into (`hidden.hide_process`). Nothing happens where the system has no such thing.
    """
    score = Path(f"/proc/{pid}/oom_score_adj")
    try:
        if int(score.read_text(encoding="ascii")) < OOM_SCORE:
            score.write_text(str(OOM_SCORE), encoding="ascii")
    except PermissionError:
        return False
    except OSError:
        return True
    return True


def become_subreaper() -> bool:
    """Have orphaned descendants come to this process (Linux); False and no effect elsewhere."""
    if sys.platform != "linux":
        return False
    return bool(ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)
