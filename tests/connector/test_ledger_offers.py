"""Which round was the last to offer a Retry in a channel: found again without reading all facts, told to no start."""

import asyncio
from functools import partial
from pathlib import Path

from connector import facts
from connector.ledger import Ledger
from connector.ledger_read import newest_offer


def claimed(number: int, channel: int) -> facts.Claimed:
    return facts.Claimed(str(number), str(channel), channel, number, number, 1, "person", "text", number)


def failed(number: int, channel: int) -> list[facts.AnyFact]:
    """A round that ended with a Retry button, which stands in Discord."""
    key = f"{number}/notice/1"
    owed = facts.Owed(key, str(number), channel, "notice", "It failed.", number, retry=True)
    return [claimed(number, channel), owed, facts.Ended(str(number), "dead"), facts.Posted(key, 0, 1, 90)]


async def offers(folder: Path, new: list[facts.AnyFact], *channels: int) -> list[str]:
    opened = Ledger.open(folder)
    try:
        await opened.commit(new, at=1)
        return [await opened.look(partial(newest_offer, channel=channel)) for channel in channels]
    finally:
        await opened.close()


def test_the_last_one_of_each_channel(tmp_path: Path) -> None:
    facts_of_both = [*failed(21, 11), *failed(22, 11), *failed(23, 12), claimed(24, 11), facts.Ended("24", "answered")]
    assert asyncio.run(offers(tmp_path, facts_of_both, 11, 12, 13)) == ["22", "23", ""]


def test_a_thread_that_could_not_be_opened_has_it_in_the_channel_above(tmp_path: Path) -> None:
    assert asyncio.run(offers(tmp_path, [*failed(31, 31), facts.Redirected(31, 11)], 31, 11)) == ["", "31"]


def test_a_start_is_told_of_none(tmp_path: Path) -> None:
    """The round is over and its post made: the offer would come back as one that is owed."""

    async def main() -> tuple[facts.AnyFact, ...]:
        opened = Ledger.open(tmp_path)
        try:
            await opened.commit(failed(21, 11), at=1, closed=["21"])
            return (await opened.load()).world
        finally:
            await opened.close()

    assert asyncio.run(main()) == (facts.LaneKnown("11", 11, (1,), 0, 0),)
