"""The connector with a resolver that never answers for the name `hung.invalid`, for tests of its end.

    python -P -m fakes.hung_names run --config F

Each lookup of that name is told as the log line `lookup.hangs`, and keeps its thread for ever.
"""

import json
import os
import socket
from typing import Any

from connector.cli import main as command_line
from fakes.blocking import block_the_loop

NAME = "hung.invalid"


def _hang(real: Any, host: Any, *rest: Any, **more: Any) -> Any:
    if host != NAME:
        return real(host, *rest, **more)
    os.write(2, json.dumps({"event": "lookup.hangs"}).encode() + b"\n")  # at once, whoever logs meanwhile
    return block_the_loop()


def main() -> None:
    """Run the connector's command line."""
    real = socket.getaddrinfo
    socket.getaddrinfo = lambda *given, **more: _hang(real, *given, **more)
    command_line()


if __name__ == "__main__":
    main()
