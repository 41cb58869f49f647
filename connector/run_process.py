"""The process of `run`: signals, secrets and the log first, then the connector; its exit code."""

import contextlib
import faulthandler
import gc
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from connector import loop
from connector.exits import ExitCode, ProgramEnd, Refusal

if TYPE_CHECKING:  # they are brought once the process has hidden itself
    from connector.logs import Logs
    from connector.service_manager import ServiceManager
    from connector.settings import Settings


def run(config: Path | None, instance: str | None) -> int:
    """Relay until stopped; the exit code. At most one of the two is given."""
    faulthandler.enable(2)  # every thread's stack, also when the watchdog of systemd sends SIGABRT
    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, _stop_early)
    gc.disable()  # it would go through what the imports bring ten times over, and all of that stays; `starting` ends it
    from connector.hidden import hide_process  # noqa: PLC0415 - only run reads a token for long
    from connector.service_manager import ServiceManager  # noqa: PLC0415 - only run tells systemd anything

    hide_process()
    with contextlib.closing(ServiceManager.of(os.environ)) as manager:
        return _settled(config, instance, manager)


def _settled(config: Path | None, instance: str | None, manager: "ServiceManager") -> int:
    """Settings and log, then the connector itself."""
    with _hidden("rich"):  # structlog brings it along wherever it is installed; our console lines need none of it
        import structlog  # noqa: F401, PLC0415 - for the line below
    from connector.logs import Logs  # noqa: PLC0415 - brings structlog
    from connector.settings import LogSettings  # noqa: PLC0415 - brings pydantic
    from connector.settings_load import load  # noqa: PLC0415 - as above

    try:
        settings = load(config, instance, os.environ)
    except Refusal as refusal:
        with Logs(LogSettings(), sys.stderr) as logs:
            return _refused(logs, refusal, manager)
    with Logs(settings.log, sys.stderr) as logs:
        return _relay(settings, logs, manager)


@contextlib.contextmanager
def _hidden(module: str) -> Iterator[None]:
    """What is imported meanwhile finds this module not installed, unless it is there already."""
    if module in sys.modules:
        yield
        return
    sys.modules[module] = None  # type: ignore[assignment]  # what Python itself takes for "there is none"
    try:
        yield
    finally:
        del sys.modules[module]


def _stop_early(_signum: int, _frame: object) -> NoReturn:
    """Until the connector listens itself, a stop needs nothing but the way out."""
    raise SystemExit(ExitCode.STOPPED)


def _relay(settings: "Settings", logs: "Logs", manager: "ServiceManager") -> int:
    from connector.token import read_token  # noqa: PLC0415 - as in run

    try:
        token = read_token(settings, os.environ)
        logs.redactor.add(token.secret.reveal())
        from connector.starting import Program  # noqa: PLC0415 - brings the engine
        from connector.starting import run as relay  # noqa: PLC0415 - as above

        return loop.run(relay(Program(settings, token, os.environ, logs, manager)))
    except Refusal as refusal:
        return _refused(logs, refusal, manager)
    except ProgramEnd as end:
        logs.log.error("connector.stopped", code=end.code, reason=end.reason)  # noqa: TRY400 - it says why itself
        return end.code
    except SystemExit:
        logs.log.info("connector.stopped", code=ExitCode.STOPPED, reason="asked to stop before it was up")
        return ExitCode.STOPPED
    except Exception as error:  # whatever it is: it is logged here, and ends the program
        logs.log.exception("connector.stopped", code=ExitCode.FAULT, reason=f"internal fault: {error!r}")
        manager.status(logs.redactor.text(f"Failed: internal fault: {error!r}"))
        return ExitCode.FAULT


def _refused(logs: "Logs", refusal: Refusal, manager: "ServiceManager") -> int:
    manager.status(logs.redactor.text(f"Refused: {refusal.reason}; {refusal.mend}"))
    logs.log.error("connector.refused", reason=refusal.reason, mend=refusal.mend)
    if sys.stderr.isatty():
        sys.stderr.write("".join(f"{line}\n" for line in refusal.lines()))  # for a person; elsewhere it is all JSON
    return refusal.code
