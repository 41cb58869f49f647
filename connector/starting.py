"""What `run` does while the rest of the program is still being read from the disk: lock, ledger, first answer.

Discord's client and our own parts take Python about as long to import as the child takes to start, so both happen at
the same time. Nothing here decides what the answers mean.
"""

import asyncio
import contextlib
import gc
import importlib
import signal
from collections.abc import Coroutine, Iterator, MutableMapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from connector import chain
from connector.check_child import refuse_unfit
from connector.clock import Clock
from connector.environment import child_spec
from connector.exits import ExitCode
from connector.ledger import Known, Ledger
from connector.left_behind import sweep_left
from connector.logs import Logs
from connector.patience import locked, opened, patiently
from connector.service_manager import ServiceManager
from connector.settings import Settings, nanoseconds
from connector.settings_load import problems, refuse
from connector.state_folder import prepare_state_folder, state_folder
from connector.token import Token
from connector.trust import trust_findings
from engine import processes

if TYPE_CHECKING:  # it is brought once it is asked
    from connector import started

UNHURRIED = 5.0
"""Seconds after which `connector.started` is told, though the start is not over yet."""


class Program(Struct, frozen=True):
    """What a run needs from its surroundings."""

    settings: Settings
    token: Token
    environ: MutableMapping[str, str]
    logs: Logs
    manager: ServiceManager = field(default_factory=ServiceManager)


class Ground(Struct, frozen=True):
    """What one life begins on: the state folder, its ledger and what that knew, `in_row` failed starts before it."""

    folder: Path
    ledger: Ledger
    known: Known
    in_row: int


class Ahead:
    """The questions to the child that need nobody else: the first one is under way from `begin` on."""

    def __init__(self, program: Program) -> None:
        self._settings, self._environ = program.settings, program.environ
        self._asked: asyncio.Task[str] | None = None
        self._endings: set[asyncio.Task[None]] = set()

    def begin(self) -> "asyncio.Task[str]":
        """Ask for the first answer, or anew."""
        self._asked = asyncio.create_task(self._ask(), name="first answer")
        return self._asked

    async def facts(self, over: asyncio.Event, patience: float) -> "started.Facts":
        """What `connector.started` tells.

        It is asked once the start is `over`, from which it would take processor time, or after so many seconds.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await over.wait()
        return await asyncio.to_thread(_facts, self._settings, self._environ)

    async def meet(self) -> str:
        """Is the child of a kind that can be used (CONTRACT, exit code 3)? Why it did not answer, if it did not.

        The first call takes the answer that is under way, each later one asks anew. Raises Refusal.
        """
        asked = self._asked or self.begin()
        try:
            return await asyncio.shield(asked)  # who gives up leaves it to `close`, which waits for its end
        finally:
            if asked.done():
                self._asked = None

    async def close(self) -> None:
        """End what is under way."""
        if self._asked is not None:
            self._asked.cancel()
            await asyncio.gather(self._asked, return_exceptions=True)
        await asyncio.gather(*self._endings)

    async def _ask(self) -> str:
        engine = self._settings.engine
        spec = child_spec(self._settings, self._environ)
        return await refuse_unfit(spec, bound=engine.turn_timeout, max_line=engine.max_line, end=self._end)

    async def _end(self, work: Coroutine[Any, Any, None]) -> None:
        ending = asyncio.create_task(work, name="the end of the child that was asked")
        self._endings.add(ending)
        ending.add_done_callback(self._endings.discard)


def _facts(settings: Settings, environ: MutableMapping[str, str]) -> "started.Facts":
    from connector import started  # noqa: PLC0415 - a start is over before it is asked

    return started.facts(settings, environ)


@contextlib.contextmanager
def _stopped_early() -> Iterator[None]:
    """A first SIGTERM or SIGINT ends what is done here in order, which is a SystemExit; a later one changes nothing.

    It lasts until the connector listens itself (`App`). An exit out of the midst of the loop would leave the child that
    is being asked, of which no ledger knows (BEHAVIOUR §7.14).
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    asked = False

    def stop() -> None:
        nonlocal asked
        if task is not None and not asked:
            asked = task.cancel()

    for signum in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(signum, stop)
    try:
        yield
    except asyncio.CancelledError:
        if asked:
            raise SystemExit(ExitCode.STOPPED) from None
        raise


async def run(program: Program) -> ExitCode:
    """`pi-connector run`: relays until stopped, then takes everything down; the exit code.

    Raises Refusal, and SystemExit where it was stopped before it was up.
    """
    with _stopped_early():
        return await _run(program)


async def _run(program: Program) -> ExitCode:
    settings, log, status = program.settings, program.logs.log, program.manager.status
    refuse(problems(settings))
    folder = state_folder(settings, program.environ)
    for finding in (*trust_findings(settings), *program.token.findings, *prepare_state_folder(folder)):
        log.warning("connector.finding", key=finding.key, finding=finding.text, mend=finding.mend)
    processes.become_subreaper()
    async with contextlib.AsyncExitStack() as held:
        await locked(held.enter_context(contextlib.ExitStack()), folder, log, status)
        rest = asyncio.create_task(asyncio.to_thread(importlib.import_module, "connector.app"))
        ledger = await opened(folder, log, status)
        held.push_async_callback(ledger.close)
        known = await patiently(ledger.load, log, status)
        in_row = chain.in_a_row(known.chain, nanoseconds(settings.supervision.wedge_gap))
        ahead = Ahead(program)
        held.push_async_callback(ahead.close)
        if in_row < settings.supervision.max_wedges:
            known = await sweep_left(known, ledger, Clock(), log, kill_after=settings.engine.kill_after)
            ahead.begin()
        app = await rest
        gc.freeze()  # what the imports brought stays; the collector need not go through it ever again
        gc.enable()
        code: ExitCode = await app.relay(program, Ground(folder, ledger, known, in_row), ahead)
        return code
