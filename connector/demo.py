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
import tempfile
import threading
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TextIO

from connector import demo_process, ledger_read
from connector.demo_process import Keeper, Over
from connector.exits import ExitCode, Refusal
from connector.facts import Ended
from connector.ledger import FILE
from connector.post_parts import FILE_NAME

if TYPE_CHECKING:
    from fakes.discord import FakeDiscord, Person, Place, Post

Kind = Literal["fake", "pi"]

TOUR = ("slow 3000", "tool 2000", "md", "err429 1", "dialog", "hang (then: stop)", "exit 1")
"""What shows most in the shortest time."""

LONGEST = 2000
"""Characters that Discord takes in one message."""

FASTER: Mapping[str, Mapping[str, float]] = {
    "discord": {"stop_timeout": 3},
    "engine": {"turn_timeout": 30, "abort_grace": 5, "run_grace": 10, "kill_after": 2},
    "supervision": {"drain": 10},
}
"""With the scripted child nobody has to wait as long as with a real one."""


def run(*, child: Kind, port: int, says: tuple[str, ...]) -> int:
    """Run the demo and return its exit code. Raises Refusal where it cannot begin."""
    try:
        import fakes.discord  # noqa: F401, PLC0415 - whether it can be had is the question
    except ModuleNotFoundError as missing:
        raise Refusal(f"the demo needs {missing.name}", "pip install 'pi-discord-connector[demo]'") from None
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
        async with _world(port) as world:
            with tempfile.TemporaryDirectory(prefix="pi-connector-demo-", ignore_cleanup_errors=True) as name:
                folder, person = Path(name), world.person("you")
                config = _write_config(folder, child, world, person)
                keeper = Keeper(config, world.token, world.changes.tell)
                async with keeper:
                    talk = _Talk(world, person, folder / "state" / FILE, keeper)
                    await talk.say_all(says) if says else await talk.converse(child)
    except Over as over:
        _note(str(over))
        return ExitCode.FAULT
    except asyncio.CancelledError:
        if not stopped:
            raise
        return ExitCode.FAULT if says else ExitCode.STOPPED
    return ExitCode.STOPPED


@contextlib.asynccontextmanager
async def _world(port: int) -> AsyncIterator["FakeDiscord"]:
    """The embedded Discord, with a bot token of this run alone."""
    from fakes.discord import FakeDiscord  # noqa: PLC0415 - see the module's docstring

    try:
        world = FakeDiscord(token=secrets.token_urlsafe(32), bot_name="pi", validate=False, port=port)
    except OSError as error:
        raise Refusal(f"port {port} cannot be had: {error.strerror or error}", "name another one with --port") from None
    async with world:
        yield world


def _write_config(folder: Path, child: Kind, world: "FakeDiscord", person: "Person") -> Path:
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
        agent["env"] = {"PI_CODING_AGENT_DIR": str(folder / "agent")}
    tables: dict[str, dict[str, Any]] = {
        # A terminal cannot show a card that is edited.
        "discord": {
            "token_file": "-",
            "api_base": world.rest_base,
            "gateway_url": world.gateway_url,
            "progress": "off",
        },
        "access": {"users": [str(person.id)], "operators": [str(person.id)]},
        "agent": agent,
        "state": {"dir": str(folder / "state")},
        "log": {"format": "json"},
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
            await self._keeper.until(self._happens(lambda message=message: self._over(message, answered=True)))
            self._show(sys.stdout)

    async def converse(self, child: Kind) -> None:
        """Say each line of standard input, print what comes, until the input ends."""
        self._greet(child)
        await self._keeper.until(self._keeper.ready.wait())
        showing = asyncio.create_task(self._keep_showing())
        said: list[int] = []
        try:
            async for line in _lines(prompt=sys.stdin.isatty()):
                if line == "help" and child == "fake":
                    self._help()
                elif line.startswith("/"):
                    await self._command(line)
                elif len(line) > LONGEST:
                    _print(
                        f"not sent: Discord takes {LONGEST:,} characters a message, this has {len(line):,}", sys.stdout
                    )
                elif line:
                    said.append(await self._world.say(self._person, self._place, line))
            if not sys.stdin.isatty():  # a script's input ends at once, and it wants its answers
                await self._keeper.until(self._happens(lambda: all(self._over(message) for message in said)))
        finally:
            showing.cancel()
            self._show(sys.stdout)

    def _greet(self, child: Kind) -> None:
        first = "Type something for pi" if child == "pi" else f"Type something, or one of: {', '.join(TOUR)}"
        more = "" if child == "pi" else "; help lists all such words"
        _print(f"{first}{more}. /status, /queue and /stop work too. End with Ctrl-D.", sys.stdout)

    def _help(self) -> None:
        from fakes.script import WORDS  # noqa: PLC0415 - see the module's docstring

        for word, explained in WORDS.items():
            _print(f"{word:14}{explained}", sys.stdout)

    async def _command(self, line: str) -> None:
        """A slash command: its words fill its options in order."""
        name, *words = line[1:].split() or [""]
        # They are registered a moment after the connector is ready.
        await self._keeper.until(self._happens(lambda: self._world.commands))
        found = next((one for one in self._world.commands if one["name"] == name), None)
        if found is None:
            known = ", ".join(f"/{one['name']}" for one in self._world.commands)
            _print(f"there is no /{name}; there are {known}", sys.stdout)
            return
        options = dict(zip((option["name"] for option in found.get("options") or []), words, strict=False))
        try:
            act = await self._world.slash(self._person, self._place, name, options)
        except (LookupError, ValueError) as wrong:
            _print(f"Discord's own client would not send that: {wrong}", sys.stdout)
            return
        await self._keeper.until(self._happens(lambda: act.acknowledged and act.now().content))
        _print(f"pi (only you see this): {act.now().content}", sys.stdout)

    async def _happens(self, predicate: Any) -> None:
        await self._world.changes.until(predicate, math.inf)

    async def _keep_showing(self) -> None:
        while True:
            await self._happens(self._fresh)
            self._show(sys.stdout, prefix="pi: ")

    def _fresh(self) -> list["Post"]:
        return [post for post in self._world.posts(self._place) if post.id > self._shown]

    def _show(self, stream: TextIO, *, prefix: str = "") -> None:
        for post in self._fresh():
            self._shown = post.id
            text, files = post.content, list(post.files)
            if files[:1] == [FILE_NAME]:
                text = self._world.file(post.id, files.pop(0)).decode(errors="replace")
            _print("\n".join([f"{prefix}{text}", *(f"[file: {name}]" for name in files)]), stream)

    def _over(self, message: int, *, answered: bool = False) -> bool:
        """Whether a message has ended and, if it must, its answer stands in Discord."""
        if answered and not any(post.reference == message for post in self._fresh()):
            return False
        try:
            with ledger_read.opened(self._ledger) as db:
                steps = ledger_read.steps_of(db, message)
        except Refusal:
            return False  # not made yet
        rounds = {step.round for step in steps}
        return bool(rounds) and rounds == {step.round for step in steps if isinstance(step.fact, Ended)}


async def _lines(*, prompt: bool) -> AsyncIterator[str]:
    """The lines of standard input, whatever it is; a thread reads, since not every input can be waited for."""
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[bytes] = asyncio.Queue()

    def read() -> None:
        more = True
        with contextlib.suppress(RuntimeError):  # the loop is gone, and with it everybody who wanted a line
            while more:
                data = os.read(0, 1 << 16)
                loop.call_soon_threadsafe(queue.put_nowait, data)
                more = bool(data)

    threading.Thread(target=read, name="standard input", daemon=True).start()
    rest = b""
    while True:
        if prompt:
            sys.stdout.write("> ")
            sys.stdout.flush()
        data = await queue.get()
        *whole, rest = (rest + data).split(b"\n")
        for line in [*whole, rest] if not data else whole:
            yield line.decode(errors="replace").strip()
        if not data:
            return


def _print(text: str, stream: TextIO) -> None:
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, errors="replace").decode(encoding) + "\n")
    stream.flush()


def _note(text: str) -> None:
    demo_process.note(text)
