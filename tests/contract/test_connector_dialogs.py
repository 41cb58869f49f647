"""Questions of an extension of the real pi, answered in Discord: what reaches the extension is what was done."""

import json
from collections.abc import Callable

import pytest

from connector import notices_dialogs
from fakes.behaviour import Text
from fakes.discord import FakeDiscord, Place
from fakes.discord_records import walk
from fakes.program import BOUND, Home
from fakes.provider import Provider
from fakes.provider_words import bash

pytestmark = pytest.mark.anyio

Relay = Callable[..., Home]

ASKS = """
export default function (pi: any) {
  pi.on("tool_call", async (event: any, ctx: any) => {
    const found = [
      await ctx.ui.confirm("Run it?", event.input.command),
      await ctx.ui.select("Which?", Array.from({ length: 30 }, (_, n) => `choice ${n}`)),
      await ctx.ui.input("A word?", "like this"),
      await ctx.ui.editor("The text", "so far"),
      await ctx.ui.confirm("Again?", "really"),
    ];
    ctx.ui.notify(`heard ${found.length}`, "info");
    return { block: true, reason: JSON.stringify(found) };
  });
}
"""


async def asked(world: FakeDiscord, place: Place, after: int) -> tuple[int, str]:
    """The next open question of a place: its message, and its name in `custom_id`s."""

    def found() -> list[tuple[int, str]]:
        shown = [(p.id, part.get("custom_id", "")) for p in world.posts(place) for part in walk(p.components)]
        return [(post, name.split(":")[1]) for post, name in shown if post > after and name.endswith(":cancel")]

    await world.wait_for(found, BOUND, "a question")
    return found()[0]


async def test_every_kind_of_question_gets_the_answer_that_was_given(
    world: FakeDiscord, relay: Relay, provider: Provider
) -> None:
    ann = world.person("ann")
    private = world.dm(ann)
    provider.push(bash("echo never"), Text("I see."))
    async with relay(extension=ASKS).running() as run:
        await run.ready()
        line = await world.say(ann, private, "run it")
        post, name = await asked(world, private, line)
        first = post
        assert world.post(post).content.startswith("❓ **Run it?**\n> echo never\n")
        await world.click(ann, post, f"dialog:{name}:yes")
        post, name = await asked(world, private, post)
        await world.select(ann, post, f"dialog:{name}:menu", ["7"])
        for text in ("two words", "so far\nand further"):
            post, name = await asked(world, private, post)
            act = await world.click(ann, post, f"dialog:{name}:open")
            assert (await act.reply(BOUND)).kind == "modal"
            await world.submit_modal(ann, act, {"text": text})
        post, name = await asked(world, private, post)
        await world.click(ann, post, f"dialog:{name}:cancel")
        await run.ended(line)
        assert await run.stop() == 0
    assert world.post(first).content.endswith(notices_dialogs.answered(ann.id, "yes"))
    assert world.post(post).content.endswith(notices_dialogs.cancelled(ann.id))
    (result,) = [message["content"] for message in provider.calls[1].messages if message["role"] == "tool"]
    assert json.loads(result) == [True, "choice 7", "two words", "so far\nand further", False]
    assert world.posts(private)[-1].content == "I see."
