"""The connector as a real process against the fake Discord, for end-to-end tests: starts it, reads its log, ends it."""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any, Self

from fakes.discord import FakeDiscord
from fakes.waiting import Changes

BOUND = 30.0
"""Seconds that any one wait may take; a wait ends with what it waits for, never with this."""

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


class Home:
    """A folder with everything one connector keeps over restarts: config, workspace, state, the fake child's log."""

    def __init__(self, folder: Path, world: FakeDiscord, *, child: tuple[str, ...] = FAKE_PI, **sections: Any) -> None:
        self.folder, self.world = folder, world
        self.config = folder / "connector.toml"
        self.state = folder / "state"
        self.child_log = folder / "child.log"
        self.workspace = folder / "workspace"
        self.workspace.mkdir(exist_ok=True)
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
        lines = []
        for section, keys in base.items():
            lines += [f"[{section}]", *(f"{key} = {toml(value)}" for key, value in keys.items())]
        self.config.write_text("\n".join(lines) + "\n")

    def child_saw(self) -> list[Line]:
        """What every child of this home was given and wrote, in order, over all restarts."""
        if not self.child_log.exists():
            return []
        return [json.loads(line) for line in self.child_log.read_text().splitlines()]

    def running(self, *, environ: Mapping[str, str] | None = None) -> "Running":
        """One life of the connector here."""
        return Running(self, environ or {})


class Running:
    """One process of the connector, as an async context: killed at the end if a test left it running."""

    def __init__(self, home: Home, environ: Mapping[str, str]) -> None:
        self.home = home
        self.lines: list[Line] = []
        self.raw: list[str] = []
        self._changes = Changes(lambda: "the log ends:\n" + "\n".join(self.raw[-40:]))
        self._environ = environ
        self._process: asyncio.subprocess.Process

    async def __aenter__(self) -> Self:
        reader, writer = os.pipe()
        os.write(writer, f"{self.home.world.token}\n".encode())
        os.close(writer)
        environ = {"PATH": os.environ["PATH"], "HOME": str(self.home.folder), "LANG": "C.UTF-8", **self._environ}
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            "-m",
            "connector",
            "run",
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

    async def logged(self, event: str, count: int = 1, where: Callable[[Line], bool] = lambda _: True) -> Line:
        """The `count`-th line with this event, waited for."""

        def found() -> list[Line]:
            return [line for line in self.lines if line.get("event") == event and where(line)][count - 1 :]

        return (await self._changes.until(found, BOUND, f"log line {event}, number {count}"))[0]

    async def ready(self) -> None:
        """Wait until it listens to Discord."""
        await self.logged("connector.ready")

    async def exit(self) -> int:
        """Wait for the end: its exit code."""
        code = await asyncio.wait_for(self._process.wait(), BOUND)
        await self._reading
        return code

    async def stop(self) -> int:
        """SIGTERM, as systemd sends it, and the exit code."""
        self._process.send_signal(signal.SIGTERM)
        return await self.exit()

    async def kill(self) -> None:
        """kill -9."""
        self._process.kill()
        await self.exit()


@contextlib.asynccontextmanager
async def discord(**options: Any) -> AsyncIterator[FakeDiscord]:
    """A fake Discord for one test."""
    async with FakeDiscord(token="bot.token.of-a-test", **options) as world:  # noqa: S106 - of the fake itself
        yield world
