"""Questions of an extension through the whole program: what a child was given for what a person did, and their ends."""

import re
import time
from collections.abc import Callable
from typing import Any

import pytest

from connector import notices, notices_dialogs
from fakes.discord import FakeDiscord, Place
from fakes.discord_records import walk
from fakes.program import BOUND, Home

pytestmark = pytest.mark.anyio

MakeHome = Callable[..., Home]


async def question(world: FakeDiscord, place: Place, asked: int) -> tuple[int, str]:
    """The open question of this message's turn: its own message, and its name in `custom_id`s."""

    def found() -> list[tuple[int, str]]:
        shown = [(p.id, part.get("custom_id", "")) for p in world.posts(place) for part in walk(p.components)]
        return [(post, name.split(":")[1]) for post, name in shown if post > asked and name.endswith(":cancel")]

    await world.wait_for(found, BOUND, f"a question in {place.name}")
    (one,) = found()
    return one


async def over(world: FakeDiscord, post: int, line: str) -> None:
    await world.wait_for(lambda: world.post(post).content.endswith(line), BOUND, f"{line!r} under the question")
    assert world.post(post).components == []


async def test_what_a_person_chooses_and_writes_reaches_the_child_as_it_is(world: FakeDiscord, home: MakeHome) -> None:
    ann = world.person("ann")
    private = world.dm(ann)
    here = home(lanes={"busy": "queue"})
    given: list[dict[str, Any]] = []
    ends: list[tuple[int, str]] = []
    async with here.running() as run:
        await run.ready()
        asked = await world.say(ann, private, "dialog")
        post, name = await question(world, private, asked)
        assert world.post(post).reference == asked
        await world.click(ann, post, f"dialog:{name}:yes")
        await run.ended(asked)
        given.append({"id": name, "confirmed": True})
        ends.append((post, "yes"))

        asked = await world.say(ann, private, "dialog select 30")
        post, name = await question(world, private, asked)
        await world.select(ann, post, f"dialog:{name}:menu", ["24"])
        await run.ended(asked)
        given.append({"id": name, "value": "choice 24"})
        ends.append((post, "`choice 24`"))

        for kind, text in (("input", "two words"), ("editor", "one\n  two ½\n")):
            asked = await world.say(ann, private, f"dialog {kind}")
            post, name = await question(world, private, asked)
            act = await world.click(ann, post, f"dialog:{name}:open")
            assert (await act.reply(BOUND)).kind == "modal"
            await world.submit_modal(ann, act, {"text": text})
            await run.ended(asked)
            given.append({"id": name, "value": text})
            ends.append((post, f"`{' '.join(text.split())}`"))
        for post, what in ends:
            await over(world, post, notices_dialogs.answered(ann.id, what))
        assert await run.stop() == 0
        assert [line["outcome"] for line in run.of("turn.ended")] == ["answered"] * 4
    assert here.commands("extension_ui_response") == [{"type": "extension_ui_response", **one} for one in given]
    answers = [post.content for post in world.posts(private) if post.content.startswith("you chose")]
    assert answers == [f"you chose: {what}" for what in ("yes", "choice 24", "two words", "one\n  two ½")]


async def test_others_are_refused_and_stop_cancels_it_before_its_abort(world: FakeDiscord, home: MakeHome) -> None:
    """BEHAVIOUR §1.4: an open dialog would block the abort."""
    ann, bob, general = world.person("ann"), world.person("bob"), world.channel("general")
    agent = {"dialog_timeout": 100_000}
    here = home(lanes={"busy": "queue", "respond": "all"}, discord={"reply_in": "channel"}, agent=agent)
    async with here.running() as run:
        await run.ready()
        asked = await world.say(ann, general, "dialog")
        post, name = await question(world, general, asked)
        until = re.search(r"<t:(\d+):R>", world.post(post).content)
        assert until is not None
        assert int(until[1]) > time.time() + 50_000
        act = await world.click(bob, post, f"dialog:{name}:yes")
        await world.wait_for(lambda: act.followups, BOUND, "bob to be told")
        assert [(world.post(m).content, world.post(m).ephemeral) for m in act.followups] == [(notices.refused(), True)]
        await world.say(ann, general, "stop")
        await run.ended(asked)
        await over(world, post, notices_dialogs.stopped())
        after = await world.say(ann, general, "echo after")
        await run.ended(after)
        assert await run.stop() == 0
    cancelled = {"type": "extension_ui_response", "id": name, "cancelled": True}
    commands = [line["command"] for line in here.child_saw() if line["kind"] == "command"]
    kinds = [command for command in commands if command["type"] in {"extension_ui_response", "abort"}]
    assert kinds[0] == cancelled
    assert [command["type"] for command in kinds] == ["extension_ui_response", "abort"]


@pytest.mark.parametrize(("word", "bound"), [("dialog confirm", 0.3), ("dialog confirm 300", 300)])
async def test_what_nobody_answers_is_cancelled_by_us_or_ended_by_the_child(
    world: FakeDiscord, home: MakeHome, word: str, bound: float
) -> None:
    """CONTRACT `agent.dialog_timeout`; an extension's own shorter timeout is its own business (PROTOCOL §9)."""
    ann = world.person("ann")
    private = world.dm(ann)
    here = home(agent={"dialog_timeout": bound})
    async with here.running() as run:
        await run.ready()
        asked = await world.say(ann, private, word)
        await run.ended(asked)
        assert await run.stop() == 0
    asks, answer = world.posts(private)
    assert asks.content.endswith(notices_dialogs.timed_out())
    assert answer.content == "you chose: nothing"
    if bound < 1:
        assert [one["cancelled"] for one in here.commands("extension_ui_response")] == [True]


async def test_a_line_during_a_question_is_steered_and_interrupts_nothing(world: FakeDiscord, home: MakeHome) -> None:
    """BEHAVIOUR §5: a tool that waits for a dialog is not hanging; the line is heard once it is answered."""
    ann = world.person("ann")
    private = world.dm(ann)
    here = home(lanes={"busy": "steer"}, steering={"long_wait": 0.01})
    async with here.running() as run:
        await run.ready()
        asked = await world.say(ann, private, "tooldialog")
        post, name = await question(world, private, asked)
        line = await world.say(ann, private, "echo by the way")
        await run.logged("steer.sent")
        await world.click(ann, post, f"dialog:{name}:yes")
        await run.ended(asked, line)
        await over(world, post, notices_dialogs.answered(ann.id, "yes"))
        assert await run.stop() == 0
        assert run.of("wait.interrupted") == []
    assert here.commands("abort") == []
    assert [one["confirmed"] for one in here.commands("extension_ui_response")] == [True]
