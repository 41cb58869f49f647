"""kill -9 and time away: what waited is answered once, what was said meanwhile is fetched, no older history is."""

from collections.abc import Callable

import pytest

from connector import notices
from fakes.discord import FakeDiscord
from fakes.program import Home, household, living, posts, tool_shown

pytestmark = pytest.mark.anyio

MakeHome = Callable[..., Home]


async def test_after_kill_9_everything_is_answered_once_and_nothing_older_than_the_first_start(
    world: FakeDiscord, home: MakeHome
) -> None:
    """BEHAVIOUR §6: started without a tool is asked again, charged and flagged; what waited is asked, uncharged."""
    ann, general = world.person("ann"), world.channel("general")
    here = home(discord={"reply_in": "channel"}, lanes={"busy": "queue"})
    await world.say(ann, general, "echo before the first start", mention=True)
    async with here.running() as run:
        await run.ready()
        running = await world.say(ann, general, "slow 1500", mention=True)
        await run.logged("turn.started")
        waiting = [await world.say(ann, general, f"echo waits {n}", mention=True) for n in range(2)]
        await run.logged("message.accepted", 3)
        await run.kill()
    away = [await world.say(ann, general, f"echo away {n}", mention=True) for n in range(2)]
    async with here.running() as run:
        await run.ready()
        live = await world.say(ann, general, "echo live", mention=True)
        everything = [running, *waiting, *away, live]
        await run.ended(*everything)
        started = await run.logged("connector.started")
        assert (started["last_exit"], started["recovered"], started["wedges_in_a_row"]) == ("killed", 3, 0)
        assert [line["attempt"] for line in run.of("turn.sent")] == [2, 1, 1, 1, 1, 1]
        assert await run.stop() == 0
    texts = ["slow 1500", "waits 0", "waits 1", "away 0", "away 1", "live"]
    assert [(post.content, post.reference) for post in world.posts(general)] == [
        (f"echo: {text}", message) for text, message in zip(texts, everything, strict=True)
    ]
    first, again, *_ = here.prompts()
    header = first.partition("\n")[0]
    assert first == f"{header}{here.introduction(general.id)}\n\nslow 1500"
    assert again == f"{header}\n[{notices.repeat_note()}]\n\nslow 1500"
    assert here.asked()[1:] == ["slow 1500", *(f"echo {text}" for text in texts[1:])]


async def test_a_tool_whose_start_is_recorded_is_not_run_again_after_kill_9_and_its_processes_are_ended(
    world: FakeDiscord, home: MakeHome
) -> None:
    """BEHAVIOUR §6, invariant 22; a start ends every child of an earlier life, with its descendants."""
    ann = world.person("ann")
    private = world.dm(ann)
    here = home(discord={"progress": "live"}, engine={"kill_after": 0.5})
    async with here.running() as run:
        await run.ready()
        asked = await world.say(ann, private, "ignoreterm tool 60000")
        await posts(world, private, 1)
        await tool_shown(world, private)
        family = household(here.children()[0])
        assert len(family) == 2
        await run.kill()
    old = {line["pid"] for line in here.child_saw()}
    async with here.running() as run:
        await run.ready()
        left = await run.logged("engine.exit")
        assert (left["reason"].startswith("left behind"), left["swept"]) == (True, 2)
        assert living(family) == []
        await posts(world, private, 2)
        assert await run.stop() == 0
    _, notice = world.posts(private)
    assert (notice.content, notice.reference) == (notices.not_repeated(retry=True), asked)
    assert notice.custom_ids() == [f"retry:{asked}"]
    assert here.asked() == ["ignoreterm tool 60000"]
    lives = [line["pid"] in old for line in here.child_saw()]
    assert lives == sorted(
        lives, reverse=True
    )  # the last word of the old ones, a signal, before the first of a new one
    assert not all(lives)
