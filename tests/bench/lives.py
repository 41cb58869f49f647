"""The connector and a bare client as processes that say READY to a service manager, which is the bench."""

import asyncio
import contextlib
import itertools
import os
import socket
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fakes.discord import FakeDiscord
from fakes.program import BOUND, Home

_NUMBER = itertools.count(1)


class Manager:
    """What `Type=notify` is to a service. `environ` names it to the service, with a watchdog as the unit's."""

    def __init__(self, ear: socket.socket, name: str) -> None:
        self._ear = ear
        self.environ = {"NOTIFY_SOCKET": f"@{name}", "WATCHDOG_USEC": "60000000"}

    async def ready(self) -> None:
        """Wait for READY."""
        async with asyncio.timeout(BOUND):
            while b"READY=1" not in (await asyncio.get_running_loop().sock_recv(self._ear, 4096)).split(b"\n"):
                continue


@contextlib.contextmanager
def manager() -> Iterator[Manager]:
    """One for one life."""
    name = f"bench-{os.getpid()}-{next(_NUMBER)}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ear:
        ear.bind(f"\0{name}")
        ear.setblocking(False)
        yield Manager(ear, name)


@contextlib.asynccontextmanager
async def connector(home: Home) -> AsyncIterator[int]:
    """The connector up to READY: its process id."""
    with manager() as listening:
        async with home.running(environ=listening.environ) as program:
            await listening.ready()
            yield program.pid


@contextlib.asynccontextmanager
async def bare(
    world: FakeDiscord, child: Sequence[str] = (), environ: Mapping[str, str] | None = None
) -> AsyncIterator[int]:
    """The bare client, with one child or none, up to READY: its process id. `environ`: beside what it inherits."""
    command = [sys.executable, "-m", "tests.bench.bare_client", world.rest_base, world.gateway_url, *child]
    with manager() as listening:
        whole = {**os.environ, **(environ or {}), **listening.environ}
        client = await asyncio.create_subprocess_exec(*command, stdin=asyncio.subprocess.PIPE, env=whole)
        try:
            assert client.stdin is not None
            client.stdin.write(f"{world.token}\n".encode())
            await listening.ready()
            yield client.pid
        finally:
            client.kill()
            await client.wait()


@dataclass(frozen=True, slots=True)
class Stand:
    """`resident`: bytes in memory. `wakes`: how often its threads have slept so far (voluntary context switches)."""

    resident: int
    wakes: int


def stand(pid: int) -> Stand:
    """How a process stands."""
    wakes = sum(_field(path / "status", "voluntary_ctxt_switches") for path in Path(f"/proc/{pid}/task").iterdir())
    return Stand(_field(Path(f"/proc/{pid}/status"), "VmRSS") * 1024, wakes)


def _field(file: Path, name: str) -> int:
    line = next(line for line in file.read_text().splitlines() if line.startswith(f"{name}:"))
    return int(line.split()[1])


def cpu_of(pid: int) -> float:
    """Seconds of processor time that a process has used so far, all its threads included: its own clock on Linux."""
    return time.clock_gettime_ns((~pid << 3) | 2) / 1e9
