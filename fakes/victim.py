"""A small process that does what its last argument says, and tells a `Witness` that it lives; standard library only.

`victim.py PORT CODE`: CODE is Python, with `say`, `start`, `free` and `hold` at hand.
"""

import os
import signal  # noqa: F401 - for CODE
import socket
import subprocess
import sys
from collections.abc import Mapping

_held: list[socket.socket] = []


def say(name: str) -> None:
    """Tell the witness name and pid on a connection that only the death of this process closes."""
    held = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    held.sendall(f"{name} {os.getpid()}\n".encode())
    _held.append(held)


def start(code: str, *, own_session: bool = False, env: Mapping[str, str] | None = None) -> int:
    """Start another victim below this one, its stdout and stderr inherited; its pid."""
    command = [sys.executable, "-I", "-S", __file__, sys.argv[1], code]
    process = subprocess.Popen(  # noqa: S603 - the command is ourselves
        command, stdin=subprocess.DEVNULL, start_new_session=own_session, env=env
    )
    return process.pid


def free(code: str, *, env: Mapping[str, str] | None = None) -> None:
    """Start another victim in a session of its own whose parent ends at once: a daemon, set free."""
    command = [sys.executable, "-I", "-S", __file__, sys.argv[1], f"start({code!r}, own_session=True, env={env!r})"]
    subprocess.run(command, stdin=subprocess.DEVNULL, check=True)  # noqa: S603 - the command is ourselves


def hold() -> None:
    """Live until a signal ends this process, or nobody is left to witness it."""
    while _held[-1].recv(1):
        pass


if __name__ == "__main__":
    exec(sys.argv[2], globals())  # noqa: S102 - the code is the test's own
