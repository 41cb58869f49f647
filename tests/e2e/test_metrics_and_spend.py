"""A whole life of the program: what it counts and serves, what it spends, and what a cap holds back."""

import asyncio
import json
import socket
import time
from collections.abc import Callable
from typing import Any

import aiohttp
import pytest

from fakes.discord import FakeDiscord
from fakes.program import BOUND, Home, posts

pytestmark = pytest.mark.anyio

MakeHome = Callable[..., Home]

DAY = 86_400


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


async def fetched(port: int, path: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}{path}") as reply:
        return reply.status, await reply.text()


async def counted(port: int, name: str, value: float) -> str:
    """`/metrics` once this has come so far: a post is counted when Discord's answer has come back."""
    async with asyncio.timeout(BOUND):
        while True:
            status, text = await fetched(port, "/metrics")
            assert status == 200
            if values(text).get(name, 0) >= value:
                return text


def values(text: str) -> dict[str, float]:
    """The samples that are not 0, buckets apart."""
    pairs = (line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#") and "_bucket" not in line)
    return {name.removeprefix("pi_connector_"): float(value) for name, value in pairs if float(value)}


async def test_a_life_is_counted_without_a_name_an_id_or_the_token(world: FakeDiscord, home: MakeHome) -> None:
    """CONTRACT, Metrics and Trust: no person, channel or lane."""
    port = free_port()
    here = home(metrics={"listen": f"127.0.0.1:{port}"})
    ann, private = world.person("ann"), world.dm(world.person("ann"))
    async with here.running() as run:
        await run.ready()
        first = await world.say(ann, private, "echo hello")
        await run.ended(first)
        failed = await world.say(ann, private, "err400")
        await run.ended(failed)
        hanging = await world.say(ann, private, "hang")
        await run.logged("turn.started", 3)
        await world.say(ann, private, "stop")
        await run.ended(hanging)
        text = await counted(port, 'posts_total{result="posted"}', 3)
        told = values(text)
        for name in ("turn_seconds_sum", "ledger_commit_seconds_sum", "ledger_commit_seconds_count"):
            assert told.pop(name) > 0
        told.pop("gateway_latency_seconds", None)
        assert told == {
            'turns_total{outcome="answered"}': 1,
            'turns_total{outcome="provider-error"}': 1,
            'turns_total{outcome="stopped"}': 1,
            "turn_seconds_count": 3,
            "children": 1,
            "gateway_connected": 1,
            'posts_total{result="posted"}': 3,
        }
        async with asyncio.timeout(BOUND):  # the agent's first answer at the start comes beside
            while (health := await fetched(port, "/healthz"))[0] != 200:
                pass
        for secret in (world.token, "ann", str(ann.id), str(private.id), str(first), "hello", "general"):
            assert secret not in text + health[1]
        assert await run.stop() == 0
    with socket.create_server(("127.0.0.1", port)):
        pass  # it was given back


async def test_a_port_that_is_taken_is_refused(world: FakeDiscord, home: MakeHome) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        async with home(metrics={"listen": f"127.0.0.1:{port}"}).running() as run:
            assert await run.exit() == 3
            assert f"metrics.listen: 127.0.0.1:{port} cannot be listened on" in run.of("connector.refused")[0]["reason"]


async def test_what_cannot_be_reached_is_named_while_the_rest_works(world: FakeDiscord, home: MakeHome) -> None:
    """Served before Discord is reached: 503 with the part that fails, and each of the others."""
    port, closed = free_port(), free_port()
    there = f"ws://127.0.0.1:{closed}"
    async with home(metrics={"listen": f"127.0.0.1:{port}"}, discord={"gateway_url": there}).running() as run:
        await run.logged("gateway.down", 2)
        async with asyncio.timeout(BOUND):  # the agent's first answer comes beside
            while (told := parts(await fetched(port, "/healthz")))["children"] != "works":
                pass
        assert told == {"gateway": "failing", "ledger": "works", "children": "works", "loop": "works"}
        assert values((await fetched(port, "/metrics"))[1]).get("gateway_connected") is None
        assert await run.stop() == 0


def parts(health: tuple[int, str]) -> dict[str, str]:
    """The state of each part where not all of them work."""
    status, text = health
    told = json.loads(text)
    assert (status, told["ok"]) == (503, False)
    return {name: part["state"] for name, part in told["parts"].items()}


async def test_a_cap_holds_back_and_stop_ends_the_wait(world: FakeDiscord, home: MakeHome) -> None:
    """What the fake's answers cost is what pi's do: 100 tokens at 1 and 10 at 2 for a million; a tool asks twice."""
    if time.time() % DAY > DAY - 120:
        pytest.skip("the day is about to end, and the cap with it")
    caps: dict[str, Any] = {"spend": {"lane_day": 0.0003}}
    here = home(**caps)
    ann, private = world.person("ann"), world.dm(world.person("ann"))
    async with here.running() as run:
        await run.ready()
        await run.ended(await world.say(ann, private, "tool 1"))
        await run.ended(await world.say(ann, private, "echo two"))
        held = await world.say(ann, private, "echo three")
        capped = await run.logged("spend.capped")
        assert (capped["message_id"], capped["scope"]) == (str(held), "lane")
        assert 0 < capped["until"] - time.time() <= DAY
        assert capped["until"] % DAY == 0
        said = (await posts(world, private, 3))[2]
        assert said.reference == held
        assert f"<t:{capped['until']}:R>" in said.content
        await world.say(ann, private, "stop")
        await run.ended(held)
        assert len(run.of("turn.sent")) == 2
        assert (await posts(world, private, 4))[3].content.startswith("Stopped")
        assert await run.stop() == 0
    assert here.asked() == ["tool 1", "echo two"]
