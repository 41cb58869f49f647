"""Serves `/metrics` and `/healthz` on `metrics.listen` (CONTRACT); it counts nothing and judges nothing.

It is loaded only where it is asked for: a web server and Prometheus's library take memory.
"""

import os
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, assert_never

from aiohttp import web
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from connector.clock import Clock
from connector.exits import Refusal
from connector.health import Failing, Health, PartState, Waiting, Works
from connector.lanes import Lanes
from connector.metrics import Meter, Seen, Spread, State
from connector.tracing import instant

PREFIX = "pi_connector_"
TEXT = "text/plain; version=0.0.4; charset=utf-8"

_LINGER = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Page(Collector):
    """What is shown. `health` looks anew whenever it is called; `redact` takes secrets out of a reason."""

    meter: Meter
    lanes: Lanes
    gateway: Seen
    clock: Clock
    health: Callable[[], Health]
    redact: Callable[[str], str]

    def collect(self) -> Iterator[Metric]:
        """Every metric of CONTRACT."""
        meter, state = self.meter, State.of(self.lanes, self.clock.now())
        yield _counter("turns", "Messages that ended, by outcome.", meter.turns, "outcome")
        yield _histogram("turn_seconds", "From a message's arrival to its end.", meter.seconds)
        yield _gauge("queue_messages", "Messages that wait, over all lanes.", state.waiting)
        yield _gauge("queue_oldest_seconds", "How long the oldest of them has waited.", state.oldest)
        yield _gauge("children", "Agent processes.", state.children)
        yield CounterMetricFamily(f"{PREFIX}wedges", "Agents that were given up.", meter.wedges)
        yield _gauge("gateway_connected", "Whether Discord's events come in.", meter.connected)
        yield CounterMetricFamily(f"{PREFIX}gateway_reconnects", "Connections after the first.", meter.reconnects)
        yield _counter("posts", "Tries to post, by what came of them.", meter.posts, "result")
        yield _histogram("ledger_commit_seconds", "Until a transaction was recorded.", meter.commits)
        yield _gauge("backoff_rounds", "Messages that wait to be asked again.", state.backoff)
        yield _gauge("gates_closed", "Models that nothing is sent to for now.", state.gates)
        latency = GaugeMetricFamily(f"{PREFIX}gateway_latency_seconds", "From a heartbeat to its answer.")
        if (seconds := self.gateway.latency) is not None:
            latency.add_metric((), seconds)
        yield latency

    async def metrics(self, _: web.Request) -> web.Response:
        """`/metrics`."""
        registry = CollectorRegistry()
        registry.register(self)
        return web.Response(body=generate_latest(registry), headers={"Content-Type": TEXT})

    async def healthz(self, _: web.Request) -> web.Response:
        """`/healthz`: 200 while every part works, else 503, with what each part is at."""
        health = self.health()
        parts = {name: self._part(state) for name, state in health.parts().items()}
        return web.json_response({"ok": health.ok, "parts": parts}, status=200 if health.ok else 503)

    def _part(self, state: PartState) -> dict[str, Any]:
        match state:
            case Works():
                return {"state": "works"}
            case Waiting(what, since):
                return {"state": "waiting", "since": instant(since), "for": self.redact(what)}
            case Failing(reason, since, _, retried):
                return {
                    "state": "failing",
                    "since": instant(since),
                    "reason": self.redact(reason),
                    "retried": retried,
                }
            case _:
                assert_never(state)


@dataclass(frozen=True, slots=True)
class Server:
    """Listens on `port` until it is closed; a request under way then has a second."""

    port: int
    close: Callable[[], Awaitable[None]]


async def serve(page: Page, host: str, port: int) -> Server:
    """Listen. Raises Refusal where that address cannot be had."""
    app = web.Application()
    app.add_routes([web.get("/metrics", page.metrics), web.get("/healthz", page.healthz)])
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=_LINGER)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
    except OSError as error:
        await runner.cleanup()
        why = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)  # those of names are below 0
        reason = f"metrics.listen: {host}:{port} cannot be listened on: {why}"
        raise Refusal(reason, 'name a free port of this machine, or "" for none') from None
    return Server(runner.addresses[0][1], runner.cleanup)


def _gauge(name: str, told: str, value: float) -> Metric:
    return GaugeMetricFamily(f"{PREFIX}{name}", told, float(value))


def _counter(name: str, told: str, counts: Mapping[str, int], label: str) -> Metric:
    family = CounterMetricFamily(f"{PREFIX}{name}", told, labels=[label])
    for value, count in sorted(counts.items()):
        family.add_metric([value], count)
    return family


def _histogram(name: str, told: str, spread: Spread) -> Metric:
    return HistogramMetricFamily(f"{PREFIX}{name}", told, spread.buckets(), spread.total)
