"""Files that answers name, by the program as a process: once, whatever is lost or killed, and nothing of our own."""

import stat
from collections.abc import Callable

import pytest

from connector.notices_outgoing import MISSING, OUTSIDE
from fakes.discord import FakeDiscord
from fakes.program import Home

pytestmark = pytest.mark.anyio

MakeHome = Callable[..., Home]
MESSAGES = "/channels/{channel_id}/messages"
MADE = b"made by the scripted child\n"


async def test_an_answer_carries_what_it_names_from_the_working_folder_and_its_outbox(
    world: FakeDiscord, home: MakeHome
) -> None:
    """A lost reply of the POST leaves one message; the outbox stands before the prompt that names it."""
    ann = world.person("ann")
    private = world.dm(ann)
    here = home()
    outbox = here.state / "outbox" / str(private.id)
    async with here.running() as run:
        await run.ready()
        world.faults.stored_then_reset("POST", MESSAGES)
        first = await world.say(ann, private, "attach report.txt out/data.csv")
        await run.ended(first)
        assert stat.S_IMODE(outbox.stat().st_mode) == 0o700
        (outbox / "picture of it.png").write_bytes(b"a picture")
        named = [outbox / "picture of it.png", here.state / "ledger.db", "../connector.toml", "none.txt"]
        second = await world.say(ann, private, "echo \n" + "\n".join(f"attach: {path}" for path in named))
        await run.ended(second)
        assert await run.stop() == 0
    one, two = world.posts(private)
    assert (one.content, one.reference, one.files) == ("Here it is.", first, ("report.txt", "data.csv"))
    assert [world.file(one.id, name) for name in one.files] == [MADE, MADE]
    lines = [
        f"could not attach {name}: {why}"
        for name, why in (("ledger.db", OUTSIDE), ("connector.toml", OUTSIDE), ("none.txt", MISSING))
    ]
    assert (two.content, two.reference) == ("echo:\n\n" + "\n".join(lines), second)
    assert two.files == ("picture_of_it.png",)
    assert world.file(two.id, "picture_of_it.png") == b"a picture"
    assert [here.introduction(private.id) in prompt for prompt in here.prompts()] == [True, False]


async def test_an_answer_with_files_that_stands_in_discord_is_found_after_kill_9(
    world: FakeDiscord, home: MakeHome
) -> None:
    """BEHAVIOUR §6, answered and not posted: posted, not asked again; what Discord has is found by its files."""
    ann = world.person("ann")
    private = world.dm(ann)
    here = home()
    async with here.running(module=("fakes.crashing", "after:post:1")) as run:
        await run.ready()
        asked = await world.say(ann, private, "attach a.txt b.txt")
        assert await run.exit() == -9
    (here.workspace / "a.txt").unlink()
    async with here.running() as run:
        await run.ended(asked)
        assert await run.stop() == 0
    (post,) = world.posts(private)
    assert (post.content, post.reference, post.files) == ("Here it is.", asked, ("a.txt", "b.txt"))
    assert [world.file(post.id, name) for name in post.files] == [MADE, MADE]
    assert here.asked() == ["attach a.txt b.txt"]
    assert len(world.sent("POST", MESSAGES)) == 1
