"""The event loop that commands run in: names are looked up beside it, so that nothing waits for a lookup that hangs.

asyncio asks in the threads that also serve our files, and waits for those at its end: a resolver that never answers
would take them all, one for each try, and then delay the exit until systemd kills. Here each lookup has a thread of
its own that ends with the program, and whoever asks for what is being asked waits for that one.
"""

import asyncio
import contextlib
import errno
import os
import socket
import threading
from collections.abc import Coroutine
from socket import AddressFamily, SocketKind
from typing import Any, Literal, TypeVar

T = TypeVar("T")

Query = tuple[str | bytes | None, str | bytes | int | None, int, int, int, int]
V4 = tuple[Literal[AddressFamily.AF_INET], SocketKind, int, str, tuple[str, int]]
V6 = tuple[Literal[AddressFamily.AF_INET6], SocketKind, int, str, tuple[str, int, int, int] | tuple[int, bytes]]
Found = list[V4 | V6]


class Loop(asyncio.SelectorEventLoop):
    """asyncio's own, but for its lookups."""

    def __init__(self) -> None:
        super().__init__()
        self._under_way: dict[Query, asyncio.Future[Found]] = {}

    async def getaddrinfo(
        self,
        host: str | bytes | None,
        port: str | bytes | int | None,
        *,
        family: int = 0,
        type: int = 0,  # noqa: A002 - socket's word
        proto: int = 0,
        flags: int = 0,
    ) -> Found:
        """As `socket.getaddrinfo`. Raises what that raises, and OSError where there can be no thread for it."""
        query = (host, port, family, type, proto, flags)
        answer = self._under_way.get(query)
        if answer is None:
            answer = self.create_future()
            try:
                threading.Thread(target=self._look_up, args=(query, answer), name="lookup", daemon=True).start()
            except RuntimeError as error:  # the agent's tools have used up what the unit may have of tasks
                raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN)) from error
            self._under_way[query] = answer
        await asyncio.wait((answer,))  # who gives up takes it from nobody else
        return answer.result()

    def _look_up(self, query: Query, answer: "asyncio.Future[Found]") -> None:
        """In a thread of its own."""
        found: Found | Exception
        try:
            found = socket.getaddrinfo(*query)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is for who asked
            found = error
        with contextlib.suppress(RuntimeError):  # the loop is closed, and nobody asks any more
            self.call_soon_threadsafe(self._looked_up, query, answer, found)

    def _looked_up(self, query: Query, answer: "asyncio.Future[Found]", found: Found | Exception) -> None:
        del self._under_way[query]
        if isinstance(found, Exception):
            answer.set_exception(found)
            answer.exception()  # who asked may have given up: then nobody is to be told
        else:
            answer.set_result(found)


def run(main: Coroutine[Any, Any, T]) -> T:
    """As `asyncio.run`, in this loop."""
    with asyncio.Runner(loop_factory=Loop) as runner:
        return runner.run(main)
