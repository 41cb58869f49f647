"""One child on the stage, the fake or the real pi, in a home of its own and driven by raw lines; judges nothing."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fakes.provider import Provider
from fakes.raw_child import RawChild
from fakes.real_pi import QUICK_RETRY, Installation, Launch, RealPi, write_home
from fakes.records import Record
from tests.contract.stories.extension import EXTENSION
from tests.contract.stories.told import Event, told

ROOT = Path(__file__).parents[3]
BOUND = 30.0
"""Seconds that any one wait may take."""
TEN = "one two three four five six seven eight nine ten"


@dataclass(frozen=True)
class Home:
    """How a child is set up: pi's settings, the model's window, whether sessions are kept on disk."""

    settings: Mapping[str, Any] = field(default_factory=lambda: QUICK_RETRY)
    window: int = 10_000_000
    sessions: bool = False

    @property
    def arguments(self) -> tuple[str, ...]:
        """What follows `--mode rpc`."""
        return () if self.sessions else ("--no-session",)


class Stage:
    """A child, and what a scenario does to it."""

    def __init__(self, child: RawChild, calls: Callable[[int], Any] | None) -> None:
        self.child = child
        self._calls = calls

    async def send(self, *commands: Record) -> None:
        """Write commands in one write."""
        await self.child.send(*commands)

    async def write(self, data: bytes) -> None:
        """Write bytes as they are."""
        await self.child.write(data)

    async def ask(self, kind: str, **fields: Any) -> Record:
        """Write one command and wait for its response."""
        return await self.child.ask({"type": kind, **fields}, bound=BOUND)

    async def until(self, kind: str, **fields: Any) -> Record:
        """Wait for the next record of this type with these fields."""
        return await self.child.until(kind, bound=BOUND, **fields)

    async def prompt(self, text: str, name: str = "p1", **fields: Any) -> None:
        """Write a prompt."""
        await self.send({"id": name, "type": "prompt", "message": text, **fields})

    async def run(self, text: str, name: str = "p1", **fields: Any) -> None:
        """Write a prompt and wait until its run has settled."""
        await self.prompt(text, name, **fields)
        await self.until("agent_settled")

    async def streams(self) -> None:
        """Wait until an answer's text has begun to come."""
        await self.child.until_that(
            lambda record: record.get("assistantMessageEvent", {}).get("type") == "text_delta", bound=BOUND
        )

    async def echoed(self) -> None:
        """Wait until pi has told the text back, and so has begun with it."""
        await self.child.until_that(
            lambda record: record.get("type") == "message_end" and record["message"]["role"] == "user", bound=BOUND
        )

    async def answer(self, method: str, **value: Any) -> None:
        """Wait for the next dialog of this method and answer it."""
        dialog = await self.until("extension_ui_request", method=method)
        await self.send({"type": "extension_ui_response", "id": dialog["id"], **value})

    async def called(self, count: int) -> None:
        """Wait until the provider has been asked so often; the fake's is inside it and has no socket to watch."""
        if self._calls is not None:
            await self._calls(count)


Scene = Callable[[Stage], Any]


async def played_by_the_real(scene: Scene, home: Home, installation: Installation, folder: Path) -> list[Event]:
    """The story of the real pi."""
    async with Provider() as provider:
        launch = RealPi(installation, folder, provider.base_url).launch(
            settings=home.settings, extension=EXTENSION, arguments=home.arguments, window=home.window
        )

        async def called(count: int) -> None:
            await provider.wait_for(lambda p: len(p.calls) >= count)

        async with _told(launch, called) as (stage, events):
            await scene(stage)
        return events


async def played_by_the_fake(scene: Scene, home: Home, folder: Path) -> list[Event]:
    """The story of the fake, as the process that the connector's tests start."""
    env = write_home(folder, home.settings, "http://127.0.0.1:9/v1", home.window)
    command = (sys.executable, "-P", "-m", "fakes.pi", "--mode", "rpc", *home.arguments)
    env = {**env, "PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]}
    async with _told(Launch(command, env, folder / "workspace"), None) as (stage, events):
        await scene(stage)
    return events


@contextlib.asynccontextmanager
async def _told(launch: Launch, calls: Callable[[int], Any] | None) -> AsyncIterator[tuple[Stage, list[Event]]]:
    """A child that is up; when the scene is over its input is closed, and all that it said is in the events."""
    events: list[Event] = []
    async with RawChild.started(launch) as child:
        yield Stage(child, calls), events
        child.close_input()
        code = await child.exited()
    events += [*told(child.lines), Event(f"exit {code}")]
