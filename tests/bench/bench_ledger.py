"""What a ledger's past costs: with 1,000,000, 100,000 and 10,000 past messages by 1,000 (flat within 1.2).

A message is its commits as the connector makes them. What else looks into the ledger is measured with the longest past:
the read of a start with 40 messages waiting, whether ids are known, what `/status` and `/retry` ask, and pruning.
"""

import asyncio
import contextlib
import itertools
import tempfile
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

from connector.ledger import Ledger
from connector.ledger_read import dead_letters, newest_offer
from tests.bench.pairs import Figure, compare
from tests.bench.past import FIRST, filled, message

PAST = (1_000, 10_000, 100_000, 1_000_000)
WAITING = 40
LATER = 2_000_000
"""Messages of the measurements come so many behind the first of the past."""

_ids = itertools.count(FIRST + LATER)


async def relay(book: Ledger) -> int:
    """One message as the connector commits it: claim and write, answer, posted."""
    number = next(_ids)
    new = message(number)
    await book.commit(new[:3], at=number)
    await book.commit(new[3:6], at=number)
    await book.commit(new[6:], at=number, closed=[str(number)])
    return number


async def start(book: Ledger) -> None:
    """What a start reads."""
    found = await book.load()
    assert len(found.world) > WAITING


async def known(book: Ledger) -> None:
    """Two of the past, and two that are new: as after an hour away."""
    assert len(await book.known_messages([FIRST, FIRST + 999, FIRST - 1, FIRST - 2])) == 2


async def asked(book: Ledger) -> None:
    """What `/status` and `/retry` look up of a lane."""
    await book.look(partial(dead_letters, lane="7"))
    await book.look(partial(newest_offer, channel=7))


async def pruned(book: Ledger) -> None:
    """A message, and its texts taken out."""
    await book.prune(await relay(book) + 1)


LOOKS: dict[str, Callable[[Ledger], Coroutine[Any, Any, object]]] = {
    f"the read of a start, {WAITING} messages waiting": start,
    "whether four messages are known": known,
    "what /status and /retry look up": asked,
    "a message and its pruning": pruned,
}


def run() -> list[Figure]:
    """Per message for each past, the rest for the longest."""
    with contextlib.ExitStack() as stack:
        loop = asyncio.new_event_loop()
        stack.callback(loop.close)
        name = stack.enter_context(tempfile.TemporaryDirectory())

        def book(count: int) -> Ledger:
            made = filled(Path(name) / str(count), count, WAITING)
            stack.callback(lambda: loop.run_until_complete(made.close()))
            return made

        def call(work: Callable[[Ledger], Coroutine[Any, Any, object]], book: Ledger) -> Callable[[int], None]:
            def once(_: int) -> None:
                loop.run_until_complete(work(book))

            return once

        def figure(what: str, work: Callable[[Ledger], Coroutine[Any, Any, object]], much: Ledger, past: int) -> Figure:
            return compare(
                f"ledger, {what}: {past:,} past messages by {PAST[0]:,}",
                call(work, much),
                call(work, few),
                bound=1.2,
            )

        few, *longer = map(book, PAST)
        found = [figure("per message", relay, much, past) for much, past in zip(longer, PAST[1:], strict=True)]
        found += [figure(what, work, longer[-1], PAST[-1]) for what, work in LOOKS.items()]
    return found
