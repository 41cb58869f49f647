"""Messages in, their own answers out: `pi-connector run` as a process, a real child process, discord.py on a socket."""

from collections.abc import Callable

import pytest

from fakes.discord import FakeDiscord, Post
from fakes.program import BOUND, Home, posts, thread

pytestmark = pytest.mark.anyio

NOBODY = {"parse": [], "replied_user": True}
"""CONTRACT: no answer pings, the replied-to author apart."""


def told(post: Post) -> tuple[str, int | None]:
    """What a post says and which message it refers to."""
    return post.content, post.reference


async def test_a_mention_a_private_message_and_a_line_in_our_thread_get_one_answer_each(
    world: FakeDiscord, home: Callable[..., Home]
) -> None:
    """CONTRACT, What Discord sees; `lanes.respond`: our thread needs no mention, a channel does."""
    ann, general = world.person("ann"), world.channel("general")
    here = home()
    async with here.running() as run:
        await run.ready()
        await world.say(ann, general, "nobody is addressed")
        asked = await world.say(ann, general, "echo in public", mention=True)
        private = await world.say(ann, world.dm(ann), "echo in private")
        ours = await thread(world, general)
        await run.ended(asked, private)
        line = await world.say(ann, ours, "echo once more")
        await run.ended(line)
        assert await run.stop() == 0

    public, secret = world.posts(ours), world.posts(world.dm(ann))
    assert ours.id == asked
    # A thread's starter cannot be referred to inside it.
    assert [told(post) for post in public] == [("echo: in public", None), ("echo: once more", line)]
    assert [told(post) for post in secret] == [("echo: in private", private)]
    assert world.posts(general) == []
    nonces = [post.nonce for post in (*public, *secret)]
    assert all(isinstance(nonce, str) and 0 < len(nonce) <= 25 for nonce in nonces)
    assert len(set(nonces)) == 3
    assert [post.allowed_mentions for post in (*public, *secret)] == [NOBODY] * 3
    assert all(r.body["enforce_nonce"] for r in world.sent("POST", "/channels/{channel_id}/messages"))
    assert sorted(here.prompts(), key=lambda text: text.split("\n")[0][-20:]) == [
        f"[discord] #general · ann ({ann.id}) · {asked}{here.introduction(ours.id)}\n\necho in public",
        f"[discord] private · ann ({ann.id}) · {private}{here.introduction(world.dm(ann).id)}\n\necho in private",
        f"[discord] #{ours.name} · ann ({ann.id}) · {line}\n\necho once more",
    ]


async def test_a_hundred_quick_messages_are_answered_in_order_one_prompt_at_a_time(
    world: FakeDiscord, home: Callable[..., Home]
) -> None:
    """BEHAVIOUR §7.2, §7.26; `reply_in = "channel"` stays in the channel."""
    ann, general = world.person("ann"), world.channel("general")
    here = home(discord={"reply_in": "channel"}, lanes={"per_person": 100, "busy": "queue"})
    async with here.running() as run:
        await run.ready()
        asked = [await world.say(ann, general, f"echo number {n}", mention=True) for n in range(100)]
        await run.ended(*asked)
        assert await run.stop() == 0

    answers = [(f"echo: number {n}", asked[n]) for n in range(100)]
    assert [told(post) for post in world.posts(general)] == answers
    assert here.asked() == [f"echo number {n}" for n in range(100)]
    assert here.most_outstanding() == 1
    assert len(here.children()) == 1
    assert world.threads(general) == []


async def test_two_channels_at_once_never_hear_each_other(world: FakeDiscord, home: Callable[..., Home]) -> None:
    """BEHAVIOUR §7.31: an answer goes where its message came from; each lane has a session of its own."""
    ann, bob = world.person("ann"), world.person("bob")
    red, blue = world.channel("red"), world.channel("blue")
    here = home(discord={"reply_in": "channel"}, lanes={"busy": "queue"})
    async with here.running() as run:
        await run.ready()
        asked: dict[str, list[int]] = {"red": [], "blue": []}
        for n in range(8):
            asked["red"].append(await world.say(ann, red, f"slow 40 red {n}", mention=True))
            asked["blue"].append(await world.say(bob, blue, f"slow 40 blue {n}", mention=True))
        await run.ended(*asked["red"], *asked["blue"])
        recalls = [
            await world.say(ann, red, "recall", mention=True),
            await world.say(bob, blue, "recall", mention=True),
        ]
        await run.ended(*recalls)
        assert await run.stop() == 0

    for place, name in ((red, "red"), (blue, "blue")):
        *answers, recalled = world.posts(place)
        assert [told(post) for post in answers] == [(f"echo: slow 40 {name} {n}", asked[name][n]) for n in range(8)]
        other = {"red": "blue", "blue": "red"}[name]
        assert f"{name} 7" in recalled.content
        assert f"{other} " not in recalled.content
    assert len(here.children()) == 2
    assert here.most_outstanding() == 1


async def test_typing_shows_while_a_turn_runs_and_a_long_turn_has_a_card_with_stop(
    world: FakeDiscord, home: Callable[..., Home]
) -> None:
    """CONTRACT `discord.progress = "live"`: the card is one post, edited; the answer is another."""
    ann = world.person("ann")
    private = world.dm(ann)
    here = home(discord={"progress": "live"})
    async with here.running() as run:
        await run.ready()
        asked = await world.say(ann, private, "tool 2500")
        (card,) = await posts(world, private, 1)
        assert card.custom_ids() == [f"stop:{asked}"]
        assert world.typings(private) == 1
        await run.ended(asked)
        await world.wait_for(lambda: world.post(card.id).components == [], BOUND, "the card's end")
        assert await run.stop() == 0
    last, answer = world.posts(private)
    assert last.id == card.id
    assert last.content.startswith("-# answered · 1 tool · ")
    assert told(answer) == ("echo: tool 2500", asked)
    assert world.typings(private) == 1
