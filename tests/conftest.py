"""What tests of every room share: one event loop, a Discord within its specification, and how Hypothesis tries."""

import asyncio
import functools
import inspect
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from fakes.discord import FakeDiscord
from fakes.program import discord

# A slow machine is no fault of what is tested; what failed comes with a blob to replay it.
settings.register_profile("here", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("here")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    """A cancellation that gets out of a test fails that test: anyio would end the task that its fixtures need, too."""
    if inspect.iscoroutinefunction(pyfuncitem.obj) and not hasattr(pyfuncitem.obj, "hypothesis"):
        pyfuncitem.obj = _for_itself(pyfuncitem.obj)


def _for_itself(test: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    @functools.wraps(test)
    async def alone(**given: Any) -> None:
        try:
            await test(**given)
        except asyncio.CancelledError as stray:
            raise AssertionError("it waited for something that was cancelled") from stray

    return alone


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def world() -> AsyncIterator[FakeDiscord]:
    """A Discord; at its end nothing was asked or said that the real one does not know."""
    async with discord() as world:
        yield world


# -- how much of the specification a session held its Discord to ---------------------------------------------------


_HELD: Counter[tuple[str, str, str]] = Counter()
"""What was held against Discord's specification in this session: side, method, route or event."""


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Count, and tell the controller of several workers."""
    if (spec := sys.modules.get("fakes.discord_spec")) is not None:
        _HELD.update(spec.held())
    if (told := getattr(session.config, "workeroutput", None)) is not None:
        told["held"] = [[*what, count] for what, count in _HELD.items()]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take over what a worker counted."""
    for *what, count in getattr(node, "workeroutput", {}).get("held", ()):
        _HELD[what[0], what[1], what[2]] += count


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how many operations and events were held against it, and which only in one direction."""
    requests, replies = ({key[1:] for key in _HELD if key[0] == side} for side in ("request", "reply"))
    events = {event for side, _, event in _HELD if side == "event"}
    if requests or events:
        count = {side: sum(number for key, number in _HELD.items() if key[0] == side) for side in ("request", "reply")}
        terminalreporter.write_line(
            f"Discord's specification: {len(requests & replies)} operations ({count['request']} requests,"
            f" {count['reply']} replies) and {len(events)} kinds of events were held against it"
        )
    for method, route in sorted(requests - replies):
        terminalreporter.write_line(f"  without a reply: {method} {route}")
