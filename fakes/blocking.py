"""The connector with a way to block its event loop, for tests of the watchdog.

    python -P -m fakes.blocking run --instance NAME

SIGUSR1 makes the main thread wait for ever in `block_the_loop`, as a call that never returns would.
"""

import signal
import threading

from connector.cli import main as command_line


def block_the_loop(*_: object) -> None:
    """Never return."""
    never = threading.Lock()
    with never, never:
        pass


def main() -> None:
    """Run the connector's command line."""
    signal.signal(signal.SIGUSR1, block_the_loop)
    command_line()


if __name__ == "__main__":
    main()
