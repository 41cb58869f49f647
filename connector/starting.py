"""What `run` does while the rest of the program is still being read from the disk: lock, first looks, first questions.

Discord's client and our own parts take Python about as long to import as the child takes to start, so both happen at
the same time. Nothing here decides what the answers mean.
"""

import asyncio
import contextlib
import gc
import importlib
from collections.abc import MutableMapping
from dataclasses import field

from connector import started
from connector.check_child import refuse_unfit
from connector.environment import child_spec
from connector.exits import ExitCode
from connector.logs import Logs
from connector.patience import locked
from connector.service_manager import ServiceManager
from connector.settings import Settings
from connector.settings_load import problems, refuse
from connector.state_folder import prepare_state_folder, state_folder
from connector.token import Token
from connector.trust import trust_findings
from engine import processes
from engine.values import dataclass


@dataclass(frozen=True, slots=True)
class Program:
    """What a run needs from its surroundings."""

    settings: Settings
    token: Token
    environ: MutableMapping[str, str]
    logs: Logs
    manager: ServiceManager = field(default_factory=ServiceManager)


class Ahead:
    """The questions to the child that need neither ledger nor Discord, under way from the beginning."""

    def __init__(self, program: Program) -> None:
        self._settings, self._environ = program.settings, program.environ
        self._asked: asyncio.Task[str] | None = asyncio.create_task(self._ask(), name="first answer")
        self._found = asyncio.create_task(asyncio.to_thread(started.facts, self._settings, self._environ))
        self._tasks = (self._asked, self._found)

    async def facts(self) -> started.Facts:
        """What `connector.started` tells."""
        return await self._found

    async def meet(self) -> str:
        """Is the child of a kind that can be used (CONTRACT, exit code 3)? Why it did not answer, if it did not.

        The first call takes the answer that is under way, each later one asks anew. Raises Refusal.
        """
        first, self._asked = self._asked, None
        return await (self._ask() if first is None else first)

    async def close(self) -> None:
        """End what is under way."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _ask(self) -> str:
        engine = self._settings.engine
        spec = child_spec(self._settings, self._environ)
        return await refuse_unfit(spec, bound=engine.turn_timeout, max_line=engine.max_line)


async def run(program: Program) -> ExitCode:
    """`pi-connector run`: relays until stopped, then takes everything down; the exit code. Raises Refusal."""
    settings, log = program.settings, program.logs.log
    refuse(problems(settings))
    folder = state_folder(settings, program.environ)
    for finding in (*trust_findings(settings), *program.token.findings, *prepare_state_folder(folder)):
        log.warning("connector.finding", key=finding.key, finding=finding.text, mend=finding.mend)
    processes.become_subreaper()
    with contextlib.ExitStack() as held:
        await locked(held, folder, log, program.manager.status)
        ahead = Ahead(program)
        try:
            app = await asyncio.to_thread(importlib.import_module, "connector.app")
            gc.freeze()  # what the imports brought stays; the collector need not go through it ever again
            gc.enable()
            code: ExitCode = await app.relay(program, folder, ahead)
            return code
        finally:
            await ahead.close()
