"""What the engine tells of the real pi's spending is what pi itself adds up for the session."""

from typing import Any

import pytest

from engine import commands
from engine.events import Code, Fail, Replied, Request, Spent, Started, Submit
from fakes.behaviour import Http, Text
from fakes.provider import Provider
from fakes.provider_words import bash
from fakes.real_pi import QUICK_RETRY, RealPi
from tests.contract.live_engine import LiveEngine, living

pytestmark = pytest.mark.anyio

SMALL = {**QUICK_RETRY, "compaction": {"keepRecentTokens": 10, "reserveTokens": 1000}}
"""Settings with which a few words are enough to be summed up."""


async def reply(live: LiveEngine, turn: str, command: commands.Ask) -> Any:
    """The data of the answer to a command."""
    live.engine.give(Submit(turn, Request(command)))
    return (await live.until(Replied, len(live.of(Replied)) + 1)).response.data


async def test_the_sum_of_what_is_told_is_the_sessions(real_pi: RealPi, provider: Provider) -> None:
    """Two answers, a tool, a provider that failed twice, a turn that was stopped, and a summary of it all."""
    provider.push(
        Text("one ", usage=(900, 90)),
        bash("echo two", text="I will look."),
        Text("two", usage=(800, 80)),
        Http(429),
        Text("three"),
        Text("word " * 40, chunks=40, chunk_ms=50),
    )
    async with living(real_pi.launch(settings=SMALL)) as live:
        for mark, words in enumerate(("first", "second", "third"), 1):
            assert (await live.ask(words * 200, mark)).code is Code.ANSWERED
        live.submit("fourth", 4)
        await live.until(Started, 4)
        live.engine.give(Fail("4", Code.STOPPED))
        await live.idle()
        await reply(live, "compact", commands.Compact(""))
        stats = await reply(live, "stats", commands.GetStats(""))
        usages = [spent.usage for spent in live.of(Spent) if spent.usage is not None]
        assert stats["tokens"]["total"] == sum(usage.totalTokens for usage in usages) > 0
        assert stats["cost"] == pytest.approx(sum(usage.cost.total for usage in usages if usage.cost), rel=1e-9)
        assert {(spent.provider, spent.model) for spent in live.of(Spent)} == {("fake", "scripted"), ("", "")}
