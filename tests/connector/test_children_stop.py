"""Children as running engines: a stop leaves none and lets none start, and a session that cannot be had is told.

Victims are real processes that prove their death; the ladder itself is tested beside the engine.
"""

import asyncio
import errno
import io
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from connector import sessions
from connector.children import Children, Nursery
from connector.lane_events import ChildDown, ChildUp, Input, SessionGone
from connector.logs import Logs
from connector.settings import LogSettings
from engine import processes
from engine.child import ChildSpec
from engine.events import Limits
from engine.runner import Engine
from fakes.waiting import BOUND, Changes
from fakes.witness import Witness, witness

pytestmark = pytest.mark.anyio

CHILD = "say('child'); hold()"
TOOL = "start(\"say('tool'); hold()\", own_session=True)\n"


@pytest.fixture
async def seen() -> AsyncIterator[Witness]:
    assert processes.become_subreaper()
    with anyio.fail_after(10):
        async with witness() as seen:
            yield seen


class Setting:
    """Children, what they told, and their log."""

    def __init__(self, spec: ChildSpec) -> None:
        self.told: list[Input] = []
        self.changes = Changes(lambda: f"told: {self.told}; log: {self.stream.getvalue()}")
        self.stream = io.StringIO()
        log = Logs(LogSettings(level="debug", format="console"), self.stream).log
        self.children = Children(Nursery(spec, Limits(), 1 << 20, 10**12), self._put, log)

    def _put(self, told: Input) -> None:
        self.told.append(told)
        self.changes.tell()

    def of(self, *kinds: type) -> list[Input]:
        return [one for one in self.told if isinstance(one, kinds)]

    async def comes(self, kind: type, count: int = 1) -> None:
        await self.changes.until(lambda: len(self.of(kind)) >= count, what=f"{kind.__name__} no. {count}")


Make = Callable[..., Setting]


@pytest.fixture
async def make(seen: Witness) -> AsyncIterator[Make]:
    made: list[Setting] = []

    def make(*command: str, code: str = CHILD, remote: bool = False) -> Setting:
        env = {"PATH": os.environ["PATH"]}
        made.append(Setting(ChildSpec(command or seen.command(code), ".", env, kill_after=5.0, remote=remote)))
        return made[-1]

    yield make
    for setting in made:
        await setting.children.stop_all()


class Slow:
    """`Engine.start` that waits, before or after it has made a process, until the test lets it go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, when: str) -> None:
        self.begun, self.go = asyncio.Event(), asyncio.Event()
        self._start: Callable[..., Awaitable[Engine]] = Engine.start
        self._when = when
        monkeypatch.setattr(Engine, "start", self._slowly)

    async def _slowly(self, *args: Any, **more: Any) -> Engine:
        if self._when == "before":
            await self._wait()
        engine = await self._start(*args, **more)
        if self._when == "after":
            await self._wait()
        return engine

    async def _wait(self) -> None:
        self.begun.set()
        await self.go.wait()


def alive(told: list[Input]) -> list[int]:
    """The children of which `ChildUp` was told that still live."""
    ups = [one for one in told if isinstance(one, ChildUp)]
    return [up.pid for up in ups if processes.alive(processes.Identity(up.pid, up.started))]


# -- the stop ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_child_that_is_just_being_started_is_stopped_too(
    make: Make, seen: Witness, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    slow = Slow(monkeypatch, when)
    here = make(code=TOOL + CHILD)
    here.children.spawn("700", 1, "")
    await slow.begun.wait()
    if when == "after":
        running = [await seen.named("child"), await seen.named("tool")]
    stopping = asyncio.create_task(here.children.stop_all())
    for _ in range(10):
        await asyncio.sleep(0)
    assert not stopping.done()
    slow.go.set()
    await stopping
    assert alive(here.told) == []
    if when == "after":
        for held in running:
            await held.end()
    assert [type(one) for one in here.of(ChildUp, ChildDown)] == [ChildUp, ChildDown]
    down = here.of(ChildDown)[0]
    assert isinstance(down, ChildDown)
    assert (down.lane, down.child, down.expected) == ("700", 1, True)


async def test_all_of_them_are_stopped_whatever_each_is_at(
    make: Make, seen: Witness, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = make()
    for number in range(3):
        here.children.spawn(str(number), number, "")
        await seen.named("child")
    await here.comes(ChildUp, 3)
    slow = Slow(monkeypatch, "after")
    here.children.spawn("3", 3, "")
    await slow.begun.wait()
    here.children.retire("0", 0)
    stopping = asyncio.create_task(here.children.stop_all())
    slow.go.set()
    await stopping
    assert len(here.of(ChildUp)) == 4
    assert alive(here.told) == []
    assert sorted((one.lane, one.expected) for one in here.of(ChildDown) if isinstance(one, ChildDown)) == [
        (str(number), True) for number in range(4)
    ]


async def test_after_closing_none_is_started(make: Make) -> None:
    here = make()
    await here.children.stop_all()
    here.children.spawn("700", 1, "")
    assert here.told == [ChildDown("700", 1, 0, expected=True)]
    await here.children.stop_all()
    assert here.told == [ChildDown("700", 1, 0, expected=True)]


async def test_nor_one_whose_session_file_was_still_being_looked_at(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looking, go = threading.Event(), threading.Event()

    def usable(_: Path) -> bool:
        looking.set()
        return go.wait(5)

    monkeypatch.setattr(sessions, "usable", usable)
    here = make()
    here.children.spawn("700", 1, str(tmp_path / "s.jsonl"))
    assert await asyncio.to_thread(looking.wait, BOUND)
    stopping = asyncio.create_task(here.children.stop_all())
    await asyncio.sleep(0)
    go.set()
    await stopping
    assert here.told == [ChildDown("700", 1, 0, expected=True)]


async def test_one_is_retired(make: Make, seen: Witness) -> None:
    here = make()
    here.children.spawn("700", 2, "")
    held = await seen.named("child")
    await here.comes(ChildUp)
    here.children.retire("700", 2)
    await here.comes(ChildDown)
    await held.end()
    assert here.of(ChildDown) == [ChildDown("700", 2, -15, expected=True)]


async def test_another_generation_or_lane_is_not(make: Make, seen: Witness) -> None:
    """No stop had begun when it died."""
    here = make()
    here.children.spawn("700", 2, "")
    held = await seen.named("child")
    await here.comes(ChildUp)
    here.children.retire("700", 1)
    here.children.retire("701", 2)
    await asyncio.sleep(0)
    os.kill(held.pid, signal.SIGKILL)
    await here.comes(ChildDown)
    assert here.of(ChildDown) == [ChildDown("700", 2, -9, expected=False)]


# -- the start -----------------------------------------------------------------------------------------------------


async def test_a_command_that_cannot_be_used_is_told_with_what_to_do(make: Make) -> None:
    here = make("no-such-command-anywhere")
    here.children.spawn("700", 1, "")
    await here.comes(ChildDown)
    reason = "agent.command: there is no command no-such-command-anywhere; install it, or give its full path"
    assert here.told == [ChildDown("700", 1, None, expected=False, reason=reason)]


async def test_a_machine_that_has_no_room_for_a_child_is_an_exit_of_it(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: Any, **__: Any) -> Engine:
        raise OSError(errno.ENOMEM, "Cannot allocate memory")

    monkeypatch.setattr(Engine, "start", refuse)
    here = make()
    here.children.spawn("700", 1, "")
    await here.comes(ChildDown)
    assert here.told == [ChildDown("700", 1, -1, expected=False)]
    assert "Cannot allocate memory" in here.stream.getvalue()


async def test_an_exit_by_itself_is_not_expected_and_its_last_words_are_logged(make: Make) -> None:
    here = make(sys.executable, "-I", "-S", "-c", "import sys; sys.exit('last words')")
    here.children.spawn("700", 1, "")
    await here.comes(ChildDown)
    assert here.of(ChildUp, ChildDown)[1:] == [ChildDown("700", 1, 1, expected=False)]
    assert "last words" in here.stream.getvalue()


# -- its session ---------------------------------------------------------------------------------------------------


def contents(folder: Path) -> dict[str, bytes]:
    return {item.name: item.read_bytes() for item in folder.iterdir()}


GOOD = b'{"type":"session","version":3}\n'


@pytest.mark.parametrize(("content", "gone"), [(GOOD, False), (None, True), (b"\x00\x00half", True), (b"", True)])
async def test_a_session_that_cannot_be_resumed_is_told_and_kept_aside_before_the_child_is_up(
    make: Make, tmp_path: Path, content: bytes | None, *, gone: bool
) -> None:
    path = tmp_path / "s.jsonl"
    if content is not None:
        path.write_bytes(content)
    here = make()
    here.children.spawn("700", 1, str(path))
    await here.comes(ChildUp)
    assert here.of(SessionGone, ChildUp)[:-1] == ([SessionGone("700")] if gone else [])
    name = "s.jsonl.damaged-1" if gone else "s.jsonl"
    left = {} if content is None else {name: content}
    assert contents(tmp_path) == left


async def test_a_damaged_one_that_cannot_be_moved_is_told_all_the_same(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that we may not write in must not keep the lane without a child."""

    def refuse(self: Path, target: Path) -> Path:
        raise PermissionError(errno.EACCES, "Permission denied")

    path = tmp_path / "s.jsonl"
    path.write_text("half")
    monkeypatch.setattr(Path, "rename", refuse)
    here = make()
    here.children.spawn("700", 1, str(path))
    await here.comes(ChildUp)
    assert here.of(SessionGone) == [SessionGone("700")]
    assert path.read_text() == "half"


async def test_a_new_session_and_one_of_another_machine_are_not_looked_at(make: Make, tmp_path: Path) -> None:
    here, far = make(), make(remote=True)
    here.children.spawn("700", 1, "")
    far.children.spawn("700", 1, str(tmp_path / "none.jsonl"))
    await here.comes(ChildUp)
    await far.comes(ChildUp)
    assert here.of(SessionGone) == far.of(SessionGone) == []
