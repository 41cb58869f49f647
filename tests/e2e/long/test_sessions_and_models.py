"""Sessions, models and commands by the slash commands of a person, through the program and a child that keeps files."""

from collections.abc import Callable
from pathlib import Path

import pytest

from connector import notices, notices_session
from fakes.discord import FakeDiscord
from fakes.discord_acts import Act
from fakes.program import BOUND, Home

pytestmark = pytest.mark.anyio

MakeHome = Callable[..., Home]


async def told(act: Act) -> str:
    return (await act.message(BOUND)).content


def session_files(here: Home) -> list[Path]:
    return sorted((here.folder / "agent").rglob("*.jsonl"))


def kinds(here: Home) -> list[str]:
    """What children of lanes were given, but for the questions of a start."""
    lines = [line["command"]["type"] for line in here.child_saw() if line["kind"] == "command"]
    return [kind for kind in lines if kind not in {"get_state", "clear_queue", "steer"}]


async def test_a_session_survives_a_restart_an_idle_stop_a_wedge_and_a_kill_of_the_child(
    world: FakeDiscord, home: MakeHome
) -> None:
    ann = world.person("ann")
    private = world.dm(ann)
    here = home(
        agent={"idle_timeout": 0.4},
        retry={"max_attempts": 1},
        engine={"turn_timeout": 1.5, "abort_grace": 0.3, "kill_after": 1},
        lanes={"busy": "queue"},
    )
    async with here.running() as run:
        await run.ready()
        await run.ended(await world.say(ann, private, "echo first"))
        await run.logged("engine.exit", where=lambda line: line.get("child") == 1)  # idle
        await run.ended(await world.say(ann, private, "echo second"))
        await world.say(ann, private, "mute")
        assert await run.exit() == 1
    async with here.running() as run:
        await run.ready()
        await run.ended(await world.say(ann, private, "echo third"))
        await world.say(ann, private, "die KILL")
        assert await run.exit() == 1
    async with here.running() as run:
        await run.ended(await world.say(ann, private, "recall"))
        assert await run.stop() == 0
    text = world.posts(private)[-1].content
    assert [said for said in ("echo first", "echo second", "echo third") if said in text] == [
        "echo first",
        "echo second",
        "echo third",
    ]
    assert len(session_files(here)) == 1
    assert notices.session_lost() not in [post.content for post in world.posts(private)]


@pytest.mark.parametrize("damage", ["missing", "damaged"])
async def test_a_missing_or_damaged_session_file_begins_a_new_one_with_a_notice_and_is_kept_aside(
    world: FakeDiscord, home: MakeHome, damage: str
) -> None:
    ann = world.person("ann")
    private = world.dm(ann)
    here = home()
    async with here.running() as run:
        await run.ready()
        await run.ended(await world.say(ann, private, "echo first"))
        assert await run.stop() == 0
    (file,) = session_files(here)
    if damage == "missing":
        file.unlink()
    else:
        file.write_bytes(b"\x00 no session any more\n")
    async with here.running() as run:
        await run.ended(await world.say(ann, private, "recall"))
        assert await run.stop() == 0
    texts = [post.content for post in world.posts(private)]
    assert texts[1] == notices.session_lost()
    assert "first" not in texts[2]
    aside = list((here.folder / "agent").rglob("*.damaged-*"))
    assert [path.read_bytes() for path in aside] == ([] if damage == "missing" else [b"\x00 no session any more\n"])


async def test_new_sessions_resume_and_name_by_command(world: FakeDiscord, home: MakeHome) -> None:
    """CONTRACT: another lane's session is never offered, nor resumed by its number, name or value."""
    ann, bob = world.person("ann"), world.person("bob")
    private, other = world.dm(ann), world.dm(bob)
    here = home(lanes={"busy": "queue"})
    async with here.running() as run:
        await run.ready()
        await run.logged("gateway.commands_registered")
        assert await told(await world.slash(ann, private, "sessions")) == notices_session.no_session()
        await run.ended(await world.say(ann, private, "echo first"))
        named = await world.slash(ann, private, "sessions", {"name": "the plan"})
        assert await told(named) == notices_session.session_named("the plan")
        assert await told(await world.slash(ann, private, "new")) == notices_session.new_session(0, busy=False)
        await run.ended(await world.say(ann, private, "echo second"))
        await run.ended(await world.say(bob, other, "echo of bob"))
        listed = await told(await world.slash(ann, private, "sessions"))
        assert [line.partition("<")[0] for line in listed.splitlines()] == ["2. ", "1. **the plan** · "]
        offered = await (await world.autocomplete(ann, private, "sessions", "resume", "plan")).reply(BOUND)
        assert [choice["name"].partition(" ·")[0] for choice in offered.choices] == ["1. the plan"]
        theirs = await (await world.autocomplete(bob, other, "sessions", "resume", "")).reply(BOUND)
        assert len(theirs.choices) == 1
        for wrong in ("the plan", offered.choices[0]["value"], "2"):
            act = await world.slash(bob, other, "sessions", {"resume": wrong})
            assert await told(act) == notices_session.session_unknown()
        act = await world.slash(ann, private, "sessions", {"resume": offered.choices[0]["value"]})
        assert await told(act) == notices_session.resumed("the plan", busy=False)
        await run.ended(await world.say(ann, private, "recall"))
        assert await run.stop() == 0
    text = world.posts(private)[-1].content
    assert ("echo first" in text, "echo second" in text) == (True, False)
    assert kinds(here).count("new_session") == 1
    assert len(session_files(here)) == 3


async def test_model_and_thinking_are_chosen_from_pis_lists_and_remembered_over_a_restart(
    world: FakeDiscord, home: MakeHome
) -> None:
    ann = world.person("ann")
    private = world.dm(ann)
    here = home()
    async with here.running() as run:
        await run.ready()
        await run.logged("gateway.commands_registered")
        act = await world.slash(ann, private, "model")
        await world.wait_for(lambda: act.followups, BOUND, "the list, after the child was started for it")
        assert await told(act) == notices_session.waits()
        assert world.post(act.followups[0]).content == "▶ `fake/scripted`\n· `fake/scripted-2`"
        offered = await (await world.autocomplete(ann, private, "model", "name", "2")).reply(BOUND)
        assert [choice["value"] for choice in offered.choices] == ["fake/scripted-2"]
        gone = await world.slash(ann, private, "model", {"name": "nonsense"})
        assert await told(gone) == notices_session.model_unknown("nonsense")
        levels = await world.slash(ann, private, "thinking", {"level": "nonsense"})
        assert await told(levels) == notices_session.thinking_unknown(("off", "minimal", "low", "medium", "high"))
        chosen = await world.slash(ann, private, "thinking", {"level": "low"})
        assert await told(chosen) == notices_session.thinking_set("low", busy=False)
        chosen = await world.slash(ann, private, "model", {"name": "scripted-2"})
        assert await told(chosen) == notices_session.model_set("fake/scripted-2", busy=False)
        await run.ended(await world.say(ann, private, "echo one"))
        assert await run.stop() == 0
    before = len(here.child_saw())
    async with here.running() as run:
        await run.ended(await world.say(ann, private, "echo two"))
        assert await run.stop() == 0
    after = [line["command"] for line in here.child_saw()[before:] if line["kind"] == "command"]
    given = [command for command in after if command["type"] not in {"get_state", "clear_queue", "steer"}]
    assert [command["type"] for command in given] == ["switch_session", "set_model", "set_thinking_level", "prompt"]
    assert (given[1]["modelId"], given[2]["level"]) == ("scripted-2", "low")


async def test_a_command_of_the_agent_is_a_turn_of_its_own_and_an_unknown_one_is_not_sent_to_the_model(
    world: FakeDiscord, home: MakeHome
) -> None:
    ann = world.person("ann")
    private = world.dm(ann)
    here = home(lanes={"busy": "queue"})
    async with here.running() as run:
        await run.ready()
        await run.logged("gateway.commands_registered")
        asked = await world.say(ann, private, "slow 1000")
        await run.logged("turn.started")
        unknown = await world.slash(ann, private, "command", {"name": "nonsense"})
        await world.wait_for(lambda: unknown.followups, BOUND, "an answer after the turn")
        assert await told(unknown) == notices_session.waits()
        assert world.post(unknown.followups[0]).content == notices_session.command_unknown("nonsense")
        known = await world.slash(ann, private, "command", {"name": "later", "args": "hello there"})
        assert await told(known) == notices_session.command_taken("/later hello there")
        await world.wait_for(lambda: len(world.posts(private)) >= 5, BOUND, "the notice and the answer")
        await run.ended(asked)
        assert await run.stop() == 0
    texts = [post.content for post in world.posts(private) if not post.ephemeral]
    assert [text for text in texts if "echo" in text] == ["echo: slow 1000", "echo: EXT RUN hello there"]
    assert notices_session.command_handled() in texts
    assert here.prompts()[1:] == ["/later hello there"]


async def test_these_commands_are_for_an_operator_where_several_people_speak(
    world: FakeDiscord, home: MakeHome
) -> None:
    """CONTRACT, "Who may do what"; nothing is offered to the others either."""
    ann, bob, general = world.person("ann"), world.person("bob"), world.channel("general")
    here = home(discord={"reply_in": "channel"}, access={"operators": [bob.id]})
    async with here.running() as run:
        await run.ready()
        await run.logged("gateway.commands_registered")
        for who in (ann, bob):
            await run.ended(await world.say(who, general, "echo hello", mention=True))
        for name in ("new", "sessions", "model", "thinking", "compact"):
            assert await told(await world.slash(ann, general, name)) == notices.refused()
        assert await told(await world.slash(ann, general, "command", {"name": "later"})) == notices.refused()
        offered = await (await world.autocomplete(ann, general, "sessions", "resume", "")).reply(BOUND)
        assert offered.choices == []
        assert await told(await world.slash(bob, general, "compact")) == notices_session.nothing_to_compact()
        assert await run.stop() == 0
    assert kinds(here).count("new_session") == 0
