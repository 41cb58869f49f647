"""Stop in every way a person has, and rate limits: what the child was given, and what people were told."""

from collections.abc import Callable

import pytest

from connector import notices
from fakes.discord import FakeDiscord, Place
from fakes.program import BOUND, Home, household, living, posts, tool_shown

pytestmark = pytest.mark.anyio

MakeHome = Callable[..., Home]
QUICK = {"env": {"FAKE_PI_SCALE": "1000"}}
"""The child's own retries come after 2, 4 and 8 ms: `err429 4` is one exhausted run, and then the answer."""


def receipts(world: FakeDiscord, place: Place) -> list[tuple[str, int | None]]:
    """The first word of each post that is no card, and what it refers to."""
    return [(p.content.split()[0], p.reference) for p in world.posts(place) if not p.content.startswith("-#")]


async def test_the_word_stop_ends_a_run_and_its_tool_and_a_message_after_it_runs_normally(
    world: FakeDiscord, home: MakeHome
) -> None:
    """BEHAVIOUR §2, CONTRACT: the word is never sent to the model; one abort; the tool's process tree is gone."""
    ann = world.person("ann")
    private = world.dm(ann)
    here = home(discord={"progress": "live"}, lanes={"busy": "queue"})
    async with here.running() as run:
        await run.ready()
        asked = await world.say(ann, private, "tool 60000")
        await tool_shown(world, private)
        before = household(here.children()[0])
        assert len(before) == 2
        waits = await world.say(ann, private, "echo waits")
        await run.logged("message.accepted", 2)
        word = await world.say(ann, private, "Stop!")
        await run.ended(asked, waits)
        assert living(before) == here.children()
        idle = await world.say(ann, private, "stop")
        await posts(world, private, 4)
        assert await run.stop() == 0
        assert [line["rounds"] for line in run.of("turn.stopped")] == [[str(asked)]]
        assert [line["outcome"] for line in run.of("turn.ended")] == ["stopped", "answered"]
    _, receipt, answer, nothing = world.posts(private)
    assert receipt.content.startswith(f"Stopped by <@{ann.id}>: running turn, 1 open tool, 1 waiting message kept.")
    assert (receipt.reference, answer.content, answer.reference) == (asked, "echo: waits", waits)
    assert (nothing.content, nothing.reference) == (notices.nothing_to_stop(), idle)
    assert receipt.allowed_mentions == {"parse": [], "replied_user": True}
    assert "🛑" in world.reactions(word)
    assert here.asked() == ["tool 60000", "echo waits"]
    assert len(here.commands("abort")) == 1


async def test_stop_of_a_lane_by_command_ends_everything_in_it_each_with_its_receipt(
    world: FakeDiscord, home: MakeHome
) -> None:
    """CONTRACT `/stop scope:lane`: acknowledged at once, to the person alone; who it was stands in the receipts."""
    ann = world.person("ann")
    private = world.dm(ann)
    here = home(lanes={"busy": "queue"})
    async with here.running() as run:
        await run.ready()
        await run.logged("gateway.commands_registered")
        asked = [await world.say(ann, private, text) for text in ("hang", "echo one", "echo two")]
        await run.logged("turn.started")
        act = await world.slash(ann, private, "stop", {"scope": "lane"})
        assert (await act.message(BOUND)).content == notices.stopping(3)
        await run.ended(*asked)
        after = await world.say(ann, private, "echo after")
        await run.ended(after)
        assert await run.stop() == 0
    assert receipts(world, private) == [*(("Stopped", message) for message in asked), ("echo:", after)]
    assert here.asked() == ["hang", "echo after"]
    assert len(here.commands("abort")) == 1


async def test_stop_in_our_backoff_wins_over_its_timer(world: FakeDiscord, home: MakeHome) -> None:
    """BEHAVIOUR §2's first rows: no call, no abort, no "asked again"; the next message runs once, not flagged."""
    ann = world.person("ann")
    private = world.dm(ann)
    here = home(agent=QUICK, retry={"backoff": [0.4, 0.4]}, lanes={"busy": "queue"})
    async with here.running() as run:
        await run.ready()
        await run.logged("gateway.commands_registered")
        asked = await world.say(ann, private, "err429")
        await run.logged("turn.retry_scheduled")
        act = await world.slash(ann, private, "stop")
        assert (await act.message(BOUND)).content == notices.stopping(1)
        await run.ended(asked)
        # It runs for three times the backoff, behind a gate that the backoff has closed.
        after = await world.say(ann, private, "slow 1200")
        await run.ended(after)
        assert await run.stop() == 0
        assert len(run.of("turn.retry_scheduled")) == 1
    assert receipts(world, private) == [("Stopped", asked), ("echo:", after)]
    assert here.asked() == ["err429", "slow 1200"]
    assert notices.repeat_note() not in "".join(here.prompts())
    assert here.commands("abort") == []


async def test_stop_by_the_button_in_pis_own_backoff_makes_no_further_call(world: FakeDiscord, home: MakeHome) -> None:
    """PROTOCOL §7 [g_abort_in_backoff]: pi itself waits two seconds, the card says so, Stop ends it."""
    ann = world.person("ann")
    private = world.dm(ann)
    here = home(discord={"progress": "live"}, agent={"env": {"FAKE_PI_SCALE": "0.2"}})
    async with here.running() as run:
        await run.ready()
        asked = await world.say(ann, private, "err429")
        (card,) = await posts(world, private, 1)
        await world.wait_for(lambda: "try 1 of" in world.post(card.id).content, BOUND, "a card that tells of the wait")
        act = await world.click(ann, card.id, f"stop:{asked}")
        (told,) = await world.wait_for(lambda: act.followups, BOUND, "what the person who pressed it is told")
        assert (world.post(told).content, world.post(told).ephemeral) == (notices.stopping(1), True)
        await run.ended(asked)
        await run.ended(await world.say(ann, private, "echo after"))
        assert await run.stop() == 0
        assert run.of("turn.retry_scheduled") == []
    assert [first for first, _ in receipts(world, private)] == ["Stopped", "echo:"]
    assert here.asked() == ["err429", "echo after"]
    events = [line["type"] for line in here.child_saw() if line["kind"] == "event"]
    assert (events.count("auto_retry_start"), events.count("agent_start")) == (1, 2)


async def test_a_round_at_its_limit_is_asked_again_once_flagged_then_fails_visibly_when_its_steps_are_spent(
    world: FakeDiscord, home: MakeHome
) -> None:
    """BEHAVIOUR §2.1, §2.3: other provider errors are not asked again at all; no text of the provider is shown."""
    ann = world.person("ann")
    private = world.dm(ann)
    here = home(agent=QUICK, retry={"backoff": [0.1]}, lanes={"busy": "queue"})
    async with here.running() as run:
        await run.ready()
        texts = ("err429 4", "err429", "err400", "quota")
        asked = [await world.say(ann, private, text) for text in texts]
        await run.ended(*asked)
        assert await run.stop() == 0
        assert [line["outcome"] for line in run.of("turn.ended")] == [
            "answered",
            "rate-limited",
            "provider-error",
            "rate-limited",
        ]
        assert [line["attempt"] for line in run.of("turn.sent")] == [1] * 6  # a re-ask is no attempt
    limit = notices.failed("rate-limited", status=429, model="scripted", retry=True)
    failed = notices.failed("provider-error", status=400, model="scripted", retry=True)
    told = [(post.content, post.reference) for post in world.posts(private)]
    assert told == list(zip(["echo: err429 4", limit, failed, limit], asked, strict=True))
    assert here.asked() == ["err429 4", "err429 4", "err429", "err429", "err400", "quota"]
    flagged = [notices.repeat_note() in prompt for prompt in here.prompts()]
    assert flagged == [False, True, False, True, False, False]


async def test_the_gate_holds_other_lanes_until_the_provider_answers_again(world: FakeDiscord, home: MakeHome) -> None:
    """BEHAVIOUR §2.4: nobody is sent into the same wall; "Retry now" opens it for the one, the rest follow."""
    ann, bob = world.person("ann"), world.person("bob")
    here = home(agent=QUICK, retry={"backoff": [3600]}, discord={"progress": "live"})
    async with here.running() as run:
        await run.ready()
        await run.ended(await world.say(bob, world.dm(bob), "echo warm"))
        limited = await world.say(ann, world.dm(ann), "err429 4")
        await run.logged("turn.retry_scheduled")
        held = await world.say(bob, world.dm(bob), "echo held")
        await run.logged("message.accepted", 3)
        (card,) = await posts(world, world.dm(ann), 1)
        await world.click(ann, card.id, f"retry:{limited}")
        await run.ended(limited, held)
        assert await run.stop() == 0
    assert here.asked() == ["echo warm", "err429 4", "err429 4", "echo held"]
    assert [first for first, _ in receipts(world, world.dm(bob))] == ["echo:", "echo:"]
