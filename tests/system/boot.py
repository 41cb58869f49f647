"""A real systemd in namespaces of its own, for tests of the unit: boots it, runs commands in it, reads its journal.

It needs root, Debian's `systemd` and util-linux; `missing()` says what there is not. What was booted ends with
`booted`, or with the test run itself, however that ends: every process in there hangs on ours.
"""

import asyncio
import contextlib
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from fakes.waiting import Changes

BOUND = 60.0
"""Seconds that any one wait may take; a wait ends with what it waits for, never with this."""

SOURCE = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("boot.sh")
SYSTEMD = Path("/lib/systemd/systemd")
COMMANDS = ("unshare", "nsenter", "setpriv", "mount", "useradd", "systemctl", "journalctl")

EXITED = "98e322203f7a4ed290d09fe03c09fe15"
FAILED = "d9b373ed55a64feb8242e02dbe79a49c"
RESTARTS = "5eb03494b6584870a536b337290809b3"
STARTED = "39f53479d3a045ac8e11786248231fbf"
STOPPED = "9d1aaa27d60140bd96365438aad20286"
"""What systemd says of a unit in the journal, by the ids that it promises to keep (sd-messages.h)."""

Entry = dict[str, Any]


def missing() -> str:
    """What a boot needs and is not here, in words; nothing where all of it is."""
    if os.geteuid() != 0:
        return "only root can boot a systemd"
    absent = [name for name in COMMANDS if shutil.which(name) is None] + [str(SYSTEMD)] * (not SYSTEMD.exists())
    return f"no systemd can be booted without {', '.join(absent)}" if absent else ""


class Boot:
    """One booted systemd; `pid` is its first process as we see it."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def path(self, inside: str | Path) -> Path:
        """Where a path of in there can be read and written from here."""
        return Path(f"/proc/{self.pid}/root") / str(inside).lstrip("/")

    def inside(self, *command: str) -> tuple[str, ...]:
        """The command that runs this one in there; it ends with the process that this starts."""
        enter = ("nsenter", "--target", str(self.pid), "--mount", "--pid", "--root", "--wd")
        return (*enter, "setpriv", "--pdeathsig", "KILL", *command)

    def run(self, *command: str, codes: tuple[int, ...] = (0,)) -> str:
        """Run it in there, to its end: what it wrote."""
        done = subprocess.run(self.inside(*command), check=False, capture_output=True, text=True)
        assert done.returncode in codes, f"{command} ended with {done.returncode}: {done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def seen(self, pid: int) -> int:
        """The process id in there of one that we see as `pid`."""
        line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("NSpid"))
        return int(line.split()[-1])


@contextlib.contextmanager
def booted(scratch: Path) -> Iterator[Boot]:
    """Boot one, with this repository's environment at /opt/pi-connector and a user `pi`; `scratch`: a new folder."""
    name = f"pi-boot-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ear:
        ear.bind(f"\0{name}")
        ear.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        ear.settimeout(BOUND)
        # The kernel ends it when we end, and everything below it when it ends.
        leash = ("setpriv", "--pdeathsig", "KILL", "unshare", "--pid", "--fork", "--kill-child=KILL")
        namespaces = ("--mount", "--ipc", "--uts")
        with (scratch / "boot.log").open("wb") as log:
            process = subprocess.Popen(
                (*leash, *namespaces, "bash", SCRIPT, scratch, name, SOURCE, sys.base_prefix),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={"PATH": os.environ["PATH"], "NOTIFY_SOCKET": f"@{name}"},
            )
        first = 0
        try:
            first = _first_process(ear, process, scratch / "boot.log")
            yield Boot(first)
        finally:
            if first:
                os.kill(first, signal.SIGKILL)  # with it everything in there, before anybody hears of its end
            else:
                process.kill()
            process.wait()
            _forget_cgroup(name)


def _first_process(ear: socket.socket, process: "subprocess.Popen[bytes]", log: Path) -> int:
    """The first process, once it says that all is up."""
    end = os.pidfd_open(process.pid)
    try:
        while ear.fileno() in select.select([ear.fileno(), end], [], [], BOUND)[0]:
            told, ancillary, _, _ = ear.recvmsg(4096, socket.CMSG_SPACE(12))
            if b"READY=1" in told.split(b"\n"):
                return int.from_bytes(ancillary[0][2][:4], sys.byteorder)
    finally:
        os.close(end)
    raise AssertionError(f"systemd did not boot: {log.read_text(errors='replace')[-2000:]}")


def _forget_cgroup(name: str) -> None:
    """Take away the empty folders that a boot leaves below our own cgroup."""
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    own = next((line[3:] for line in Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::")), "/")
    for place in (Path(fields[1]) for fields in mounts if fields[2] == "cgroup2"):
        for folder, _, _ in os.walk(f"{place}{own.rstrip('/')}/{name}", topdown=False):
            Path(folder).rmdir()


class Journal:
    """What one unit and systemd about it have said since the boot, as it comes; an async context."""

    def __init__(self, boot: Boot, unit: str) -> None:
        self._boot, self.unit = boot, unit
        self.entries: list[Entry] = []
        self._changes = Changes(self._story)
        self._process: asyncio.subprocess.Process

    def _story(self) -> str:
        return "the journal ends:\n" + "\n".join(str(entry.get("MESSAGE")) for entry in self.entries[-40:])

    async def __aenter__(self) -> "Journal":
        # Not by --unit: one of which nothing is written yet is not always followed.
        command = ("journalctl", "--follow", "--lines=all", "--output=json", "--all")
        self._process = await asyncio.create_subprocess_exec(
            *self._boot.inside(*command), stdout=asyncio.subprocess.PIPE, limit=1 << 26
        )
        self._reading = asyncio.create_task(self._read())
        return self

    async def __aexit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()
        await self._reading

    async def _read(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            entry = json.loads(line)
            if self.unit not in (entry.get("UNIT"), entry.get("_SYSTEMD_UNIT")):
                continue
            with contextlib.suppress(ValueError, TypeError):
                entry["said"] = json.loads(entry["MESSAGE"])
            self.entries.append(entry)
            self._changes.tell()

    async def until(self, fits: Callable[[Entry], bool], what: str, *, count: int = 1) -> Entry:
        """The `count`-th entry that fits, once it stands there."""

        def found() -> list[Entry]:
            return [entry for entry in self.entries if fits(entry)][count - 1 :]

        return (await self._changes.until(found, BOUND, f"{what}, number {count},"))[0]

    async def told(self, message: str, *, count: int = 1) -> Entry:
        """The `count`-th entry of systemd's about the unit with this id (`EXITED` and so on)."""
        return await self.until(lambda entry: entry.get("MESSAGE_ID") == message, f"systemd's {message}", count=count)

    def of(self, event: str) -> list[Entry]:
        """The connector's log lines with this event so far."""
        return [entry["said"] for entry in self.entries if event_of(entry) == event]

    async def logged(self, event: str, *, count: int = 1) -> Entry:
        """The connector's `count`-th log line with this event, over all its lives, once it is there."""
        entry = await self.until(lambda entry: event_of(entry) == event, f"log line {event}", count=count)
        said: Entry = entry["said"]
        return said

    def counted(self, message: str) -> int:
        """How often systemd has said this of the unit so far."""
        return sum(entry.get("MESSAGE_ID") == message for entry in self.entries)


def event_of(entry: Entry) -> object:
    """The event of a log line of the connector's; None for what is none."""
    said = entry.get("said")
    return said.get("event") if isinstance(said, dict) else None
