"""100 lanes over 4 real processes: each answer goes where its message came from, and every lane is served in turn."""

from collections.abc import Callable

import pytest

from fakes.discord import FakeDiscord
from fakes.program import Home

pytestmark = pytest.mark.anyio

LANES, EACH = 100, 5


@pytest.mark.timeout(120)
async def test_100_lanes_with_5_messages_each_over_4_processes_are_served_fairly_and_without_cross_talk(
    world: FakeDiscord, home: Callable[..., Home]
) -> None:
    """BEHAVIOUR §7.26, §7.31: oldest waiting first, a warm lane up to 4 in a row; one child of a lane at a time."""
    ann, bob = world.person("ann"), world.person("bob")
    places = [world.channel(f"lane-{n}") for n in range(LANES)]
    here = home(
        discord={"reply_in": "channel", "reactions": False},
        lanes={"per_person": 1000, "busy": "queue"},
        agent={"max_children": 4},
    )
    asked: dict[int, tuple[int, str]] = {}
    async with here.running() as run:
        await run.ready()
        # All four processes are held until everything has arrived, number by number: then the order is known.
        held = [await world.say(ann, world.channel(f"held-{n}"), "hang", mention=True) for n in range(4)]
        await run.logged("turn.started", 4)
        for number in range(EACH):
            for lane, place in enumerate(places):
                who = (ann, bob)[lane % 2]
                text = f"echo lane {lane} number {number}"
                asked[await world.say(who, place, text, mention=True)] = (lane, text)
            await run.logged("message.accepted", len(held) + (number + 1) * LANES)
        for n in range(4):
            await world.say(ann, world.channel(f"held-{n}"), "stop", mention=True)
        for count in range(50, LANES * EACH + 1, 50):
            await run.logged("turn.ended", len(held) + count)
        assert await run.stop() == 0
        exits = {line["code"] for line in run.of("engine.exit")}
        assert exits <= {0, 143}
    for lane, place in enumerate(places):
        told = [(post.reference, post.content) for post in world.posts(place)]
        mine = [
            (name, f"echo: lane {lane} number {text[-1]}") for name, (where, text) in asked.items() if where == lane
        ]
        assert told == mine
    order = [int(text.split()[2]) for text in here.asked() if text != "hang"]
    assert len(order) == LANES * EACH
    firsts = sorted(order.index(lane) for lane in range(LANES))
    waited_for = order[: firsts[-4]]  # the last four lanes have their slots from here on, and nobody waits for one
    assert max(waited_for.count(lane) for lane in range(LANES)) == 4
    assert here.most_outstanding() == 1
    pids: dict[int, set[str]] = {}
    for line in here.child_saw():
        if line["kind"] == "command" and line["command"].get("type") == "prompt":
            pids.setdefault(line["pid"], set()).add(line["command"]["message"].split(" · ")[0])
    assert {len(lanes) for lanes in pids.values()} == {1}, "a child serves one lane"
