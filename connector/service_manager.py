"""Tells systemd how the service is (`sd_notify`), where it wants to know; what it is told is decided elsewhere."""

import os
import socket
from collections.abc import MutableMapping
from typing import Self

_SOCKET, _PERIOD, _PID = "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"

LONGEST = 500
"""Characters of a status; a longer one is cut."""


class ServiceManager:
    """The way to the service manager; without one every call does nothing.

    No call waits and none raises: whether a message went out is what it returns, and `trouble` says why it did not.
    `period`: seconds within which `alive` must be told, None where nobody watches.
    """

    def __init__(self, address: str = "", period: float | None = None) -> None:
        self.period = period
        self.trouble = ""
        self._address = f"\0{address[1:]}" if address.startswith("@") else address
        self._socket: socket.socket | None = None

    @classmethod
    def of(cls, environ: MutableMapping[str, str]) -> Self:
        """The one that `environ` names. Its variables are taken out: nothing that we start may speak for us."""
        address, period, pid = (environ.pop(name, "") for name in (_SOCKET, _PERIOD, _PID))
        ours = not pid or pid == str(os.getpid())
        watched = ours and period.isascii() and period.isdecimal() and int(period) > 0
        return cls(address, int(period) / 1e6 if watched else None)

    @property
    def listens(self) -> bool:
        """Whether anybody wants to know."""
        return bool(self._address)

    def ready(self, words: str) -> bool:
        """The start is over."""
        return self._tell(f"READY=1\n{_status(words)}")

    def status(self, words: str) -> bool:
        """One line for `systemctl status`."""
        return self._tell(_status(words))

    def stopping(self, words: str) -> bool:
        """The end has begun: from now on the stop timeout holds, and no watchdog."""
        return self._tell(f"STOPPING=1\n{_status(words)}")

    def alive(self) -> bool:
        """Feed the watchdog."""
        return self._tell("WATCHDOG=1")

    def close(self) -> None:
        """Nothing is told from now on."""
        self._address = ""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _tell(self, message: str) -> bool:
        if not self._address:
            return False
        try:
            if self._socket is None:
                self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
                self._socket.setblocking(False)
            self._socket.sendto(message.encode(errors="replace"), self._address)
        except (OSError, ValueError) as error:  # full, gone, or no address at all: nothing of ours depends on it
            self.trouble = f"{type(error).__name__}: {error}"
            return False
        return True


def _status(words: str) -> str:
    line = " ".join(words.split())
    return f"STATUS={line if len(line) <= LONGEST else line[: LONGEST - 1] + '…'}"
