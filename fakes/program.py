"""The connector as a real process against the fake Discord, for end-to-end tests: starts it, reads its log, ends it.

It judges nothing: what a child was given is read back from the fake child's own log, in the order in which it was.
"""

import asyncio
import contextlib
import json
import os
import select
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self

from connector.notices_outgoing import how_to_attach
from engine import processes
from engine.processes import Identity
from fakes import waiting
from fakes.discord import FakeDiscord, Place, Post
from fakes.script import person_text
from fakes.waiting import Changes

BOUND = waiting.BOUND

FAKE_PI = (sys.executable, "-P", "-m", "fakes.pi", "--mode", "rpc")

Line = dict[str, Any]


def toml(value: object) -> str:
    """One value as TOML."""
    match value:
        case bool():
            return "true" if value else "false"
        case Mapping():
            return "{" + ", ".join(f"{json.dumps(key)} = {toml(item)}" for key, item in value.items()) + "}"
        case list() | tuple() | set() | frozenset():
            return "[" + ", ".join(map(toml, value)) + "]"
        case _:
            return json.dumps(value, ensure_ascii=False)


def toml_tables(tables: Mapping[str, Mapping[str, object]]) -> str:
    """These sections as a TOML file."""
    lines = []
    for section, keys in tables.items():
        lines += [f"[{section}]", *(f"{key} = {toml(value)}" for key, value in keys.items())]
    return "\n".join(lines) + "\n"


class Home:
    """A folder with everything one connector keeps over restarts: config, workspace, state, the fake child's log."""

    def __init__(self, folder: Path, world: FakeDiscord, *, child: tuple[str, ...] = FAKE_PI, **sections: Any) -> None:
        self.folder, self.world = folder, world
        self.config = folder / "connector.toml"
        self.state = folder / "state"
        self.child_log = folder / "child.log"
        self.workspace = folder / "workspace"
        self.workspace.mkdir(exist_ok=True, parents=True)
        agent_env = {"FAKE_PI_LOG": str(self.child_log), "PI_CODING_AGENT_DIR": str(folder / "agent")}
        base: dict[str, dict[str, Any]] = {
            "discord": {"api_base": world.rest_base, "gateway_url": world.gateway_url, "token_file": "-"},
            "agent": {"command": child, "cwd": str(self.workspace), "env": agent_env},
            "state": {"dir": str(self.state)},
            "log": {"format": "json", "level": "debug"},
        }
        for section, keys in sections.items():
            known = base.setdefault(section, {})
            for key, value in keys.items():
                known[key] = {**known[key], **value} if isinstance(known.get(key), dict) else value
        self.config.write_text(toml_tables(base))
        world.at_end.append(self.end)

    def end(self) -> None:
        """kill -9 of all that any life of this home has left; called when its world ends, however the test did."""
        while left := of_home(self.folder):
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                if not ends(pid):
                    raise RuntimeError(f"{pid} outlives a kill -9")

    def introduction(self, lane: int) -> str:
        """The line under the header of the first prompt of each session in this lane, its line end before it."""
        return f"\n[{how_to_attach(str(self.state / 'outbox' / str(lane)))}]"

    def child_saw(self) -> list[Line]:
        """What every child of this home was given and wrote, in order, over all restarts."""
        if not self.child_log.exists():
            return []
        return [json.loads(line) for line in self.child_log.read_text().splitlines()]

    def commands(self, kind: str) -> list[Line]:
        """The commands of one type that children were given, in order."""
        lines = (line["command"] for line in self.child_saw() if line["kind"] == "command")
        return [command for command in lines if command.get("type") == kind]

    def prompts(self) -> list[str]:
        """Every prompt that children were given, in order, as it was written (2,000 characters at most)."""
        return [command["message"] for command in self.commands("prompt")]

    def asked(self) -> list[str]:
        """The persons' own words in these prompts."""
        return [person_text(prompt) for prompt in self.prompts()]

    def children(self) -> list[int]:
        """The process ids of the children that were prompted, in order of their first prompts."""
        lines = (line for line in self.child_saw() if line["kind"] == "command")
        return list(dict.fromkeys(line["pid"] for line in lines if line["command"].get("type") == "prompt"))

    def most_outstanding(self) -> int:
        """How many prompts one child had at the same time, at most: written, and its run not settled yet."""
        most, outstanding = 0, dict[int, int]()
        for line in self.child_saw():
            if line["kind"] == "command" and line["command"].get("type") == "prompt":
                outstanding[line["pid"]] = outstanding.get(line["pid"], 0) + 1
                most = max(most, outstanding[line["pid"]])
            elif line["kind"] == "event" and line["type"] == "agent_settled":
                outstanding[line["pid"]] = 0
        return most

    def running(
        self,
        *,
        environ: Mapping[str, str] | None = None,
        token: str | None = None,
        module: Sequence[str] = ("connector",),
        command: str = "run",
    ) -> "Running":
        """One life of the connector here; `module` is what runs it, with arguments of its own (`fakes.crashing`).

        `token`: another one than Discord knows; `command`: another one of `pi-connector`.
        """
        return Running(self, environ or {}, self.world.token if token is None else token, (*module, command))


class Running:
    """One process of the connector, as an async context: killed at the end if a test left it running."""

    def __init__(self, home: Home, environ: Mapping[str, str], token: str, words: Sequence[str]) -> None:
        self.home = home
        self._words = tuple(words)
        self.lines: list[Line] = []
        self.raw: list[str] = []
        self._changes = Changes(lambda: "the log ends:\n" + "\n".join(self.raw[-40:]))
        self._environ, self._token = environ, token
        self._process: asyncio.subprocess.Process

    async def __aenter__(self) -> Self:
        reader, writer = os.pipe()
        os.write(writer, f"{self._token}\n".encode())
        os.close(writer)
        environ = {"PATH": os.environ["PATH"], "HOME": str(self.home.folder), "LANG": "C.UTF-8", **self._environ}
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            "-m",
            *self._words,
            "--config",
            str(self.home.config),
            stdin=reader,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            env=environ,
            cwd=self.home.folder,
            limit=1 << 26,
        )
        os.close(reader)
        self._reading = asyncio.create_task(self._read())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
        await self._process.wait()
        await self._reading

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    async def _read(self) -> None:
        assert self._process.stderr is not None
        async for raw in self._process.stderr:
            text = raw.decode(errors="replace").rstrip("\n")
            self.raw.append(text)
            try:
                line = json.loads(text)
            except ValueError:
                line = {"event": "raw", "text": text}
            self.lines.append(line)
            self._changes.tell()

    def of(self, event: str) -> list[Line]:
        """The log lines with this event so far."""
        return [line for line in self.lines if line.get("event") == event]

    async def logged(
        self, event: str, count: int = 1, where: Callable[[Line], bool] = lambda _: True, bound: float = BOUND
    ) -> Line:
        """The `count`-th line with this event, waited for."""

        def found() -> list[Line]:
            return [line for line in self.lines if line.get("event") == event and where(line)][count - 1 :]

        return (await self._changes.until(found, bound, f"log line {event}, number {count}"))[0]

    async def ready(self, bound: float = BOUND) -> None:
        """Wait until it listens to Discord."""
        await self.logged("connector.ready", bound=bound)

    async def exit(self, bound: float = BOUND) -> int:
        """Wait for the end: its exit code."""
        code = await asyncio.wait_for(self._process.wait(), bound)
        await self._reading
        return code

    async def ended(self, *messages: int) -> None:
        """Wait until the round of each of these messages is over; what an answer owes is posted by then."""
        for name in map(str, messages):
            await self.logged("turn.ended", where=partial(_is_about, name))

    def terminate(self) -> None:
        """SIGTERM, as systemd sends it."""
        self._process.send_signal(signal.SIGTERM)

    async def stop(self) -> int:
        """SIGTERM, and the exit code."""
        self.terminate()
        return await self.exit()

    def signal_kill(self) -> None:
        """kill -9, whose end somebody else waits for."""
        self._process.kill()

    async def kill(self) -> None:
        """kill -9."""
        self.signal_kill()
        await self.exit()


def _is_about(message: str, line: Line) -> bool:
    return line.get("message_id") == message


def of_home(folder: Path) -> list[int]:
    """Every process whose environment names this folder: the connector's of any life, its children, their tools."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                environ = (entry / "environ").read_bytes()
                if any(os.fsencode(folder) + end in environ for end in (b"/", b"\0")):
                    found.append(int(entry.name))
    return found


def ends(pid: int) -> bool:
    """Wait for a process's end; whether it came within the bound."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], BOUND)[0])
    finally:
        os.close(handle)


def household(pid: int) -> list[Identity]:
    """A process and everything below it, to be asked later whether it lives."""
    rows = processes.table()
    root = rows.get(pid)
    return [] if root is None else list(processes.with_descendants([root], rows))


def living(household: Sequence[Identity]) -> list[int]:
    """The process ids of those that still live."""
    return [who.pid for who in household if processes.alive(who)]


async def posts(world: FakeDiscord, place: Place, count: int) -> list[Post]:
    """The bot's first `count` posts in a place, once they stand there."""
    await world.wait_for(lambda: len(world.posts(place)) >= count, BOUND, f"post {count} in {place.name}")
    return world.posts(place)[:count]


async def thread(world: FakeDiscord, channel: Place, number: int = 1) -> Place:
    """The `number`-th thread of a channel, once it was opened."""
    await world.wait_for(lambda: len(world.threads(channel)) >= number, BOUND, f"thread {number} of {channel.name}")
    return world.threads(channel)[number - 1]


async def tool_shown(world: FakeDiscord, place: Place) -> None:
    """Wait until a card in this place shows the fake's tool: a turn that was started may not have opened it yet."""
    await world.wait_for(
        lambda: any("bash" in post.content for post in world.posts(place)), BOUND, "a card that shows the tool"
    )


@contextlib.asynccontextmanager
async def discord(**options: Any) -> AsyncIterator[FakeDiscord]:
    """A fake Discord for one test."""
    async with FakeDiscord(token="bot.token.of-a-test", **options) as world:  # noqa: S106 - of the fake itself
        yield world
