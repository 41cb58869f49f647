"""`/metrics` and `/healthz` over HTTP, of a hand-made state: which parts, which status, and a port that is taken."""

import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field

import aiohttp
import pytest

from connector.clock import Clock
from connector.exits import Refusal
from connector.health import Health
from connector.lane_base import LaneRules
from connector.lanes import Lanes
from connector.metrics import Meter
from connector.metrics_served import Page, serve
from engine.events import SECOND

pytestmark = pytest.mark.anyio

STARTING = Health.starting(SECOND, gateway_due=0, children_due=0)
WELL = STARTING.works("gateway").works("children")


@dataclass
class Gate:
    latency: float | None = None


@dataclass
class Shown:
    """A page that is served at `url`, and what it shows."""

    url: str = ""
    meter: Meter = field(default_factory=Meter)
    gateway: Gate = field(default_factory=Gate)
    health: Health = WELL

    async def get(self, path: str) -> tuple[int, str]:
        async with aiohttp.ClientSession() as session, session.get(self.url + path) as reply:
            return reply.status, await reply.text()

    async def health_told(self) -> tuple[int, object]:
        async with aiohttp.ClientSession() as session, session.get(f"{self.url}/healthz") as reply:
            return reply.status, await reply.json()

    def page(self) -> Page:
        lanes, hide = Lanes(rules=LaneRules()), "secret"
        return Page(
            self.meter, lanes, self.gateway, Clock(), lambda: self.health, lambda text: text.replace(hide, "[…]")
        )


@asynccontextmanager
async def shown() -> AsyncIterator[Shown]:
    made = Shown()
    server = await serve(made.page(), "127.0.0.1", 0)
    made.url = f"http://127.0.0.1:{server.port}"
    try:
        yield made
    finally:
        await server.close()


Open = Callable[[], AbstractAsyncContextManager[Shown]]


def values(text: str) -> dict[str, str]:
    """Name (with labels) and value of every sample."""
    return dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))


async def test_every_metric_of_the_contract_and_no_other() -> None:
    async with shown() as page:
        page.gateway.latency = 0.25
        page.meter.committed(0.002)
        status, text = await page.get("/metrics")
        assert status == 200
        kinds = dict(line.split()[2:] for line in text.splitlines() if line.startswith("# TYPE"))
        assert kinds == {
            "pi_connector_turns_total": "counter",
            "pi_connector_turn_seconds": "histogram",
            "pi_connector_queue_messages": "gauge",
            "pi_connector_queue_oldest_seconds": "gauge",
            "pi_connector_children": "gauge",
            "pi_connector_wedges_total": "counter",
            "pi_connector_gateway_connected": "gauge",
            "pi_connector_gateway_reconnects_total": "counter",
            "pi_connector_posts_total": "counter",
            "pi_connector_ledger_commit_seconds": "histogram",
            "pi_connector_backoff_rounds": "gauge",
            "pi_connector_gates_closed": "gauge",
            "pi_connector_gateway_latency_seconds": "gauge",
        }
        told = values(text)
        assert told["pi_connector_gateway_latency_seconds"] == "0.25"
        assert told['pi_connector_ledger_commit_seconds_bucket{le="0.001"}'] == "0.0"
        assert told['pi_connector_ledger_commit_seconds_bucket{le="0.0025"}'] == "1.0"
        assert told["pi_connector_ledger_commit_seconds_count"] == "1.0"
        assert {name.partition("{")[2].partition("=")[0] for name in told} == {"", "outcome", "result", "le"}


async def test_a_latency_that_is_not_known_is_not_told() -> None:
    async with shown() as page:
        assert "pi_connector_gateway_latency_seconds" not in values((await page.get("/metrics"))[1])


async def test_healthz_is_200_while_every_part_works() -> None:
    async with shown() as page:
        well = {"state": "works"}
        parts = {"gateway": well, "ledger": well, "children": well, "loop": well}
        assert await page.health_told() == (200, {"ok": True, "parts": parts})


async def test_healthz_names_the_part_that_waits_or_fails_without_a_secret() -> None:
    async with shown() as page:
        page.health = STARTING.fails("ledger", "secret is full", 61 * SECOND, due=0)
        page.health = page.health.works("children").fails("ledger", "secret is full", 62 * SECOND, due=0)
        assert await page.health_told() == (
            503,
            {
                "ok": False,
                "parts": {
                    "gateway": {"state": "waiting", "since": "1970-01-01T00:00:01.000000Z", "for": "Discord's gateway"},
                    "ledger": {
                        "state": "failing",
                        "since": "1970-01-01T00:01:01.000000Z",
                        "reason": "[…] is full",
                        "retried": 1,
                    },
                    "children": {"state": "works"},
                    "loop": {"state": "works"},
                },
            },
        )


async def test_nothing_else_is_served() -> None:
    async with shown() as page:
        assert [(await page.get(path))[0] for path in ("/", "/metrics/", "/health")] == [404, 404, 404]


async def test_a_port_that_is_taken_is_a_refusal_that_names_the_key() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(Refusal) as refused:
            await serve(Shown().page(), "127.0.0.1", port)
    assert refused.value.code == 3
    assert refused.value.reason == f"metrics.listen: 127.0.0.1:{port} cannot be listened on: Address already in use"
    assert refused.value.mend == 'name a free port of this machine, or "" for none'
