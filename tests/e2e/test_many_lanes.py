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
        for number in range(EACH):
            for lane, place in enumerate(places):
                who = (ann, bob)[lane % 2]
                text = f"echo lane {lane} number {number}"
                asked[await world.say(who, place, text, mention=True)] = (lane, text)
        await run.logged("turn.ended", LANES * EACH)
        assert await run.stop() == 0
        exits = {line["code"] for line in run.of("engine.exit")}
        assert exits <= {0, 143}
    for lane, place in enumerate(places):
        told = [(post.reference, post.content) for post in world.posts(place)]
        mine = [
            (name, f"echo: lane {lane} number {text[-1]}") for name, (where, text) in asked.items() if where == lane
        ]
        assert told == mine
    order = [int(text.split()[2]) for text in here.asked()]
    assert len(order) == LANES * EACH
    firsts = [order.index(lane) for lane in range(LANES)]
    for lane in range(LANES):
        assert order[: max(firsts)].count(lane) <= 4
    assert here.most_outstanding() == 1
    pids = {}
    for line in here.child_saw():
        if line["kind"] == "command" and line["command"].get("type") == "prompt":
            pids.setdefault(line["pid"], set()).add(line["command"]["message"].partition("lane ")[2].split()[0])
    assert all(len(lanes) == 1 for lanes in pids.values()), "a child serves one lane"
