"""`pi-connector demo`: the real connector as its own process against an embedded Discord; the product apart from it.

The only module that knows `fakes`, and only inside its functions: they come with the extra `demo`.
"""

import asyncio
import contextlib
import math
import os
import secrets
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from connector import demo_process, ledger_read
from connector.demo_folder import STATE, demo_folder
from connector.demo_inside import Inside
from connector.demo_process import Keeper, Over
from connector.demo_tour import TOUR
from connector.exits import ExitCode, Refusal
from connector.facts import Ended
from connector.ledger import FILE
from connector.post_parts import FILE_NAME
from engine.events import SECOND

if TYPE_CHECKING:
    from fakes.discord import FakeDiscord, Person, Place, Post

Kind = Literal["fake", "pi"]

OPERATOR, GUEST = "ada", "ben"
"""Who may be played on the page: one who may do everything, and one who may do what is his own."""

CHANNELS = ("general", "workshop")

LONGEST = 2000
"""Characters that Discord takes in one message."""

MAX_WEDGES, WEDGE_GAP = 5, 900.0

FASTER: Mapping[str, Mapping[str, float]] = {
    "discord": {"stop_timeout": 3},
    "engine": {"turn_timeout": 30, "abort_grace": 5, "run_grace": 10, "kill_after": 2},
    "supervision": {"drain": 10, "max_wedges": MAX_WEDGES, "wedge_gap": WEDGE_GAP},
}
"""With the scripted child nobody has to wait as long as with a real one."""


def run(*, child: Kind, port: int, says: tuple[str, ...]) -> int:
    """Run the demo and return its exit code. Raises Refusal where it cannot begin."""
    try:
        import fakes.discord  # noqa: F401, PLC0415 - whether it can be had is the question
    except ModuleNotFoundError as missing:
        raise Refusal(
            f"the demo needs {missing.name}", "make demo in the clone, or pip install '.[demo]' there"
        ) from None
    return asyncio.run(_demo(child, port, says))


async def _demo(child: Kind, port: int, says: tuple[str, ...]) -> int:
    script = asyncio.current_task()
    assert script is not None  # noqa: S101 - we are in it
    stopped = False
    keeper: Keeper | None = None

    def stop() -> None:
        nonlocal stopped
        if stopped and keeper is not None:
            keeper.hurry()
        elif not stopped and script is not None:
            stopped = True
            script.cancel()

    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(signum, stop)
    try:
        # With a page, `port` is the page's: it is the one that a person types or forwards.
        async with _world(port if says else 0) as world:
            with demo_folder() as folder:
                people = [world.person(each) for each in (OPERATOR, GUEST)]
                ledger = folder / STATE / FILE
                inside = Inside(ledger, gap=round(WEDGE_GAP * SECOND), max_wedges=MAX_WEDGES)
                config = _write_config(folder, child, world, people, page=not says)
                keeper = Keeper(config, world.token, world.changes.tell, inside.heard)
                if says:
                    async with keeper:
                        await _Talk(world, people[0], ledger, keeper).say_all(says)
                else:
                    await _serve(world, people, keeper, inside, port=port, child=child)
    except Over as over:
        _note(str(over))
        return ExitCode.FAULT
    except asyncio.CancelledError:
        if not stopped:
            raise
        return ExitCode.FAULT if says else ExitCode.STOPPED
    return ExitCode.STOPPED


async def _serve(
    world: "FakeDiscord", people: "Sequence[Person]", keeper: Keeper, inside: Inside, *, port: int, child: Kind
) -> None:
    """Keep the connector and the page over its Discord until the demo is stopped or the connector ends for good."""
    from fakes.page.server import Page  # noqa: PLC0415 - see the module's docstring
    from fakes.script import WORDS  # noqa: PLC0415 - as above

    for name in CHANNELS:
        world.channel(name)

    def about() -> dict[str, Any]:
        state = "up" if keeper.ready.is_set() else "starting again" if keeper.begun.is_set() else "starting"
        return {"state": state, "starts": keeper.starts, "notes": list(keeper.notes), "child": child}

    tour, words = (TOUR, dict(WORDS)) if child == "fake" else ((), {})
    try:
        page = Page(
            world,
            people,
            port=port,
            tour=tour,
            words=words,
            about=about,
            inside=inside.read,
            # What was said before a connector's very first start is not its to answer.
            begun=keeper.begun.wait,
        )
    except OSError as error:
        raise _taken(port, error) from None
    async with page, keeper:
        _print(f"Open {page.url}")
        _print(f"Type there: {', '.join(text for text, _ in tour)}." if tour else "Ask pi something there.")
        _print("It is of this run alone, and everything is gone when you end it here with Ctrl-C.")
        await keeper.until(asyncio.Event().wait())


def _taken(port: int, error: OSError) -> Refusal:
    return Refusal(f"port {port} cannot be had: {error.strerror or error}", "name another one with --port")


@contextlib.asynccontextmanager
async def _world(port: int) -> AsyncIterator["FakeDiscord"]:
    """The embedded Discord, with a bot token of this run alone."""
    from fakes.discord import FakeDiscord  # noqa: PLC0415 - see the module's docstring

    try:
        world = FakeDiscord(token=secrets.token_urlsafe(32), bot_name="pi", validate=False, port=port)
    except OSError as error:
        raise _taken(port, error) from None
    async with world:
        yield world


def _write_config(folder: Path, child: Kind, world: "FakeDiscord", people: "Sequence[Person]", *, page: bool) -> Path:
    """The settings of this run; everything they name is in `folder`."""
    from fakes.program import toml_tables  # noqa: PLC0415 - see the module's docstring

    workspace = folder / "workspace"
    workspace.mkdir()
    agent: dict[str, Any] = {"cwd": str(workspace)}
    if child == "pi":
        agent["command"] = [_pi(), "--mode", "rpc", "--session-dir", str(folder / "sessions")]
        agent["env_pass"] = sorted(name for name in os.environ if name.endswith("_API_KEY") and name.isidentifier())
    else:
        agent["command"] = [sys.executable, "-P", "-m", "fakes.pi", "--mode", "rpc"]
        agent["env"] = {"PI_CODING_AGENT_DIR": str(folder / "agent"), "FAKE_PI_SCALE": "4"}
    tables: dict[str, dict[str, Any]] = {
        "discord": {
            "token_file": "-",
            "api_base": world.rest_base,
            "gateway_url": world.gateway_url,
            # Without a page only answers are to be printed, and a card is none.
            "progress": "live" if page else "off",
        },
        "access": {"users": [str(person.id) for person in people], "operators": [str(people[0].id)]},
        "agent": agent,
        "state": {"dir": str(folder / STATE)},
        "log": {"format": "json", "level": "debug" if page else "info"},
    }
    if child == "fake":
        for section, values in FASTER.items():
            tables.setdefault(section, {}).update(values)
    config = folder / "connector.toml"
    config.write_text(toml_tables(tables))
    return config


def _pi() -> str:
    if (found := shutil.which("pi")) is None:
        raise Refusal("there is no pi on PATH", "npm install -g @earendil-works/pi-coding-agent, or use --child fake")
    return found


class _Talk:
    """One person's private conversation with the bot, seen from his side of Discord."""

    def __init__(self, world: "FakeDiscord", person: "Person", ledger: Path, keeper: Keeper) -> None:
        self._world = world
        self._person = person
        self._place: Place = world.dm(person)
        self._ledger = ledger
        self._keeper = keeper
        self._shown = 0

    async def say_all(self, says: tuple[str, ...]) -> None:
        """Say each text once the one before has its answer; only answers reach standard output."""
        await self._keeper.until(self._keeper.ready.wait())
        for text in says:
            if not 0 < len(text.strip()) <= LONGEST:
                raise Refusal("--say: Discord takes 1 to 2,000 characters a message", "say something shorter")
            message = await self._world.say(self._person, self._place, text)
            answered = self._world.changes.until(partial(self._answered, message), math.inf)
            await self._keeper.until(answered)
            self._show()

    def _fresh(self) -> list["Post"]:
        return [post for post in self._world.posts(self._place) if post.id > self._shown]

    def _show(self) -> None:
        for post in self._fresh():
            self._shown = post.id
            text, files = post.content, list(post.files)
            if files[:1] == [FILE_NAME]:
                text = self._world.file(post.id, files.pop(0)).decode(errors="replace")
            _print("\n".join([text, *(f"[file: {name}]" for name in files)]))

    def _answered(self, message: int) -> bool:
        """Whether a message has ended and its answer stands in Discord."""
        if not any(post.reference == message for post in self._fresh()):
            return False
        try:
            with ledger_read.opened(self._ledger) as db:
                steps = ledger_read.steps_of(db, message)
        except Refusal:
            return False  # not made yet
        rounds = {step.round for step in steps}
        return bool(rounds) and rounds == {step.round for step in steps if isinstance(step.fact, Ended)}


def _print(text: str) -> None:
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, errors="replace").decode(encoding) + "\n")
    sys.stdout.flush()


def _note(text: str) -> None:
    demo_process.note(text)
