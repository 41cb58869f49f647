"""Answers with files, killed between their record and their post; a child whose files are out of reach."""

from pathlib import Path

import pytest

from fakes.program import Home, discord

MADE = b"made by the scripted child\n"


@pytest.mark.anyio
@pytest.mark.parametrize("point", ["before:Answered:1", "after:Answered:1", "before:post:1", "before:Posted:1"])
async def test_an_answer_with_files_arrives_once(tmp_path: Path, point: str) -> None:
    """BEHAVIOUR §6: answered and not posted: posted, not asked again; started and not answered: asked again."""
    async with discord() as world:
        ann = world.person("ann")
        private = world.dm(ann)
        here = Home(tmp_path, world, access={"users": [ann.id]}, discord={"progress": "off"})
        async with here.running(module=("fakes.crashing", point)) as run:
            await run.ready()
            asked = await world.say(ann, private, "attach a.txt b.txt")
            assert await run.exit() == -9
        if point in {"before:post:1", "before:Posted:1"}:  # what was copied at the first try is what is posted
            (here.workspace / "a.txt").unlink()
        async with here.running() as run:
            await run.ended(asked)
            assert await run.stop() == 0
        (post,) = world.posts(private)
        assert (post.content, post.reference, post.files) == ("Here it is.", asked, ("a.txt", "b.txt"))
        assert [world.file(post.id, name) for name in post.files] == [MADE, MADE]
        assert len(here.asked()) == (2 if point == "before:Answered:1" else 1)
        assert len(world.sent("POST", "/channels/{channel_id}/messages")) == 1


@pytest.mark.anyio
async def test_nothing_is_read_where_the_agents_files_are_out_of_reach(tmp_path: Path) -> None:
    """CONTRACT, `agent.remote`: refused with a notice, and no prompt names an outbox."""
    async with discord() as world:
        ann = world.person("ann")
        private = world.dm(ann)
        far = Home(tmp_path, world, access={"users": [ann.id]}, discord={"progress": "off"}, agent={"remote": True})
        async with far.running() as run:
            await run.ready()
            await run.ended(await world.say(ann, private, "attach a.txt"))
            assert await run.stop() == 0
        assert [(post.content, post.files) for post in world.posts(private)] == [
            ("Here it is.\n\ncould not attach a.txt: the agent's files are out of reach here", ())
        ]
        assert ["attach:" in prompt for prompt in far.prompts()] == [False]
        assert not (far.state / "outbox").exists()
