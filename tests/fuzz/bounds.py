"""What one example of a target may take of the processor and of memory: beyond it, it is a find like any other."""

import functools
import resource
import signal
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from tests.fuzz.hostile import TIMES

SECONDS = 20.0
"""Of processor time, so that a machine that is slow or busy finds nothing; generous: most take milliseconds."""

MEMORY = 512 << 20
"""Bytes of address space beyond what the process has before the example."""


class HangsError(AssertionError):
    """An example went on beyond its processor time."""


def bounded(
    example: Callable[..., Any], *, seconds: float = SECONDS, memory: int = MEMORY if TIMES > 1 else 0
) -> Callable[..., Any]:
    """The same example within these bounds: HangsError or MemoryError beyond them. No memory: no bound of it.

    `make test` bounds no memory: other tests of its process may hold threads, whose stacks are address space, too.
    """

    @functools.wraps(example)
    def within(*arguments: Any, **named: Any) -> Any:
        handler = signal.signal(signal.SIGPROF, _hangs)
        limits = resource.getrlimit(resource.RLIMIT_AS)
        if memory:
            most = _address_space() + memory
            resource.setrlimit(resource.RLIMIT_AS, (most, limits[1]))
        signal.setitimer(signal.ITIMER_PROF, seconds, 1.0)  # again and again: what hangs may swallow the first
        try:
            return example(*arguments, **named)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            resource.setrlimit(resource.RLIMIT_AS, limits)
            signal.signal(signal.SIGPROF, handler)

    return within


def _hangs(_number: int, _frame: FrameType | None) -> None:
    raise HangsError("one example took more processor time than any may")


def _address_space() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
