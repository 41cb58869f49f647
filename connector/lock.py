"""One instance a state folder: an exclusive lock that the system lets go of when the process ends, however it ends."""

import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import Self

from connector.exits import Refusal
from connector.findings import Finding
from connector.ledger import LedgerBroken
from connector.ledger_file import passing

FILE = "lock"


class StateLock:
    """Held from `__enter__` on.

    Raises Refusal where another instance holds it or this user may not, LedgerBroken where only the disk is in the way.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._fd = -1

    def __enter__(self) -> Self:
        try:
            self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            told = f"{self._path} cannot be opened: {error.strerror or error}"
            if passing(error):
                raise LedgerBroken(told) from error
            mend = "give the folder and all in it to the connector's user, or name another one"
            raise Refusal.of((Finding("error", "state.dir", told, mend),)) from None
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._fd)
            raise Refusal(
                f"another instance holds the state folder {self._path.parent}",
                "stop it first, or give this one another folder (state.dir, or --instance)",
            ) from None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._fd)
