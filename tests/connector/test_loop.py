"""Lookups of names beside the loop: one for all who ask, an error for each, and nobody waits for one that hangs."""

import asyncio
import gc
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from connector import loop

ADDRESS = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 80))


class Resolver:
    """Stands for `socket.getaddrinfo`: each lookup waits until it is let go."""

    def __init__(self) -> None:
        self.asked: list[tuple[object, ...]] = []
        self.begun, self.go = threading.Semaphore(0), threading.Semaphore(0)
        self.error: OSError | None = None

    def __call__(self, *query: object) -> list[Any]:
        self.asked.append(query)
        self.begun.release()
        self.go.acquire()
        if self.error is not None:
            raise self.error
        return [ADDRESS]

    def all_begun(self, count: int) -> str:
        """Wait until so many more lookups are under way."""
        for _ in range(count):
            self.begun.acquire()
        return "begun"


@pytest.fixture
def resolver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Resolver]:
    resolver = Resolver()
    monkeypatch.setattr(socket, "getaddrinfo", resolver)
    yield resolver
    resolver.go.release(100)  # its threads end with their test


async def ask(host: str) -> list[Any]:
    return await asyncio.get_running_loop().getaddrinfo(host, 80, type=socket.SOCK_STREAM)


def test_who_asks_the_same_waits_for_one_lookup(resolver: Resolver) -> None:
    async def play() -> tuple[list[list[Any]], list[Any]]:
        several = [asyncio.create_task(ask("a")), asyncio.create_task(ask("a")), asyncio.create_task(ask("b"))]
        await asyncio.to_thread(resolver.all_begun, 2)
        several[1].cancel()  # that one of them gives up takes nothing from the other
        resolver.go.release(3)
        found = [await several[0], await several[2]]
        return found, await ask("a")

    assert loop.run(play()) == ([[ADDRESS], [ADDRESS]], [ADDRESS])
    assert sorted(query[0] for query in resolver.asked if isinstance(query[0], str)) == ["a", "a", "b"]
    assert {query[1:] for query in resolver.asked} == {(80, 0, socket.SOCK_STREAM, 0, 0)}


def test_a_name_that_is_unknown_is_told_to_who_still_asks_and_is_no_fault_of_the_loop(resolver: Resolver) -> None:
    async def play() -> list[str]:
        troubles: list[str] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: troubles.append(context["message"]))
        resolver.error = socket.gaierror(-2, "unknown")
        resolver.go.release()
        with pytest.raises(socket.gaierror, match="unknown"):
            await ask("a")
        gives_up = asyncio.create_task(ask("b"))
        await asyncio.to_thread(resolver.all_begun, 2)
        gives_up.cancel()
        resolver.go.release()
        with pytest.raises(asyncio.CancelledError):
            await gives_up
        resolver.go.release()
        with pytest.raises(socket.gaierror):
            await ask("b")  # by now the answer that nobody waits for is there, whether this was asked before or after
        gc.collect()
        return troubles

    assert loop.run(play()) == []


@pytest.mark.timeout(30)
def test_lookups_that_hang_keep_neither_our_files_nor_the_end_waiting(resolver: Resolver) -> None:
    """asyncio's own threads are six at two processors: more lookups than that are under way."""

    async def play() -> str:
        hanging = [asyncio.create_task(ask(str(number))) for number in range(64)]
        read = await asyncio.to_thread(resolver.all_begun, len(hanging))
        for one in hanging:
            one.cancel()
        return read

    assert loop.run(play()) == "begun"


def test_a_lookup_for_which_there_is_no_thread_fails_and_the_next_one_is_made(
    resolver: Resolver, monkeypatch: pytest.MonkeyPatch
) -> None:
    class NoThread(threading.Thread):
        def start(self) -> None:
            raise RuntimeError("can't start new thread")

    async def play() -> list[Any]:
        with monkeypatch.context() as full:
            full.setattr(threading, "Thread", NoThread)
            with pytest.raises(OSError, match="temporarily unavailable"):
                await ask("a")
        resolver.go.release()
        return await ask("a")

    assert loop.run(play()) == [ADDRESS]
