"""The watchdog: fed while the loop turns and each part works or is tried again; READY once, STATUS in words."""

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass, field

import pytest
import structlog
from structlog.testing import LogCapture

from connector import watch
from connector.health import Failing, Waiting, Works
from connector.service_manager import ServiceManager
from connector.watch import Sight, Watch
from engine.events import SECOND

T0 = 1_800_000_000 * SECOND
RUNNING = "Running: connected to Discord, the ledger is written, the agent answers, the lanes answer"


class Clock:
    def __init__(self) -> None:
        self.at = T0

    def now(self) -> int:
        return self.at

    def later(self, seconds: float) -> None:
        self.at += int(seconds * SECOND)


class Manager(ServiceManager):
    """One that takes everything, unless it is `deaf`."""

    def __init__(self, period: float | None = 60.0) -> None:
        super().__init__("@never-used", period)
        self.told: list[str] = []
        self.deaf = False

    def _tell(self, message: str) -> bool:
        if not self.deaf:
            self.told.append(message)
        return not self.deaf


@dataclass
class Ledger:
    lives: bool = True
    seconds: float = 0.0

    def stalled(self) -> float:
        return self.seconds


@dataclass
class World:
    """The parts as the watch sees them."""

    clock: Clock = field(default_factory=Clock)
    manager: Manager = field(default_factory=Manager)
    ledger: Ledger = field(default_factory=Ledger)
    connected: bool = False
    overdue: float = 0.0
    draining: str = ""
    silent: bool = False

    def __post_init__(self) -> None:
        self.heard = LogCapture()
        log = structlog.wrap_logger(None, processors=[self.heard]).bind()
        self.watch = Watch(self.manager, self.clock, log, redact=lambda text: text, child_bound=180.0)  # type: ignore[arg-type]  # a clock that is played
        self.sight = Sight(
            ledger=self.ledger,  # type: ignore[arg-type]  # what the watch asks of it
            connected=lambda: self.connected,
            overdue=lambda: self.overdue,
            draining=lambda: self.draining,
            lanes=self.ask,
        )

    def ask(self) -> Awaitable[object]:
        answer: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        if not self.silent:
            answer.set_result(None)
        return answer

    async def up(self) -> None:
        async def answers() -> str:
            return ""

        self.watch.connected()
        await self.watch.meet(answers)
        self.watch.relaying()
        self.connected = True

    async def fed(self, seconds: float) -> bool:
        """Whether the watchdog was fed in a look `seconds` later."""
        self.clock.later(seconds)
        self.manager.told.clear()
        self.watch.look(self.sight)
        self.watch._feed()
        await asyncio.sleep(0)  # what was asked of the lanes is answered
        return "WATCHDOG=1" in self.manager.told


pytestmark = pytest.mark.anyio


async def test_the_start_says_what_it_waits_for_and_is_ready_once() -> None:
    world = World()
    await world.up()
    world.watch.disconnected("closed", 1.0)
    world.watch.connected()

    waiting = "Starting: waiting for Discord's gateway and the agent's first answer"
    half = "Starting: waiting for the agent's first answer"
    down = "Running: gateway fails since 2027-01-15 08:00:00 UTC: closed"
    assert world.manager.told == [
        f"STATUS={waiting}",
        f"STATUS={half}",
        f"READY=1\nSTATUS={RUNNING}",
        f"STATUS={down}",
        f"STATUS={RUNNING}",
    ]


async def test_a_look_is_no_first_answer() -> None:
    world = World()
    world.watch.connected()
    await world.fed(20)

    assert world.watch.health.status_line() == "Starting: waiting for the agent's first answer"


async def test_ready_is_said_again_to_a_manager_that_could_not_take_it() -> None:
    world = World()
    world.manager.deaf = True
    await world.up()
    world.manager.deaf = False

    assert await world.fed(20)
    assert world.manager.told == [f"READY=1\nSTATUS={RUNNING}", "WATCHDOG=1"]


async def test_an_agent_that_gives_no_answer_is_asked_again_and_the_watchdog_is_fed() -> None:
    world = World()
    answers = ["it exited", ""]
    pauses: list[float] = []

    async def ask() -> str:
        return answers.pop(0)

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        assert world.watch.health.children == Failing("it exited", T0, world.clock.at + due(5.0))

    world.watch._sleep = sleep
    await world.watch.meet(ask)

    assert pauses == [5.0]
    assert world.watch.health.children == Works()


def due(pause: float) -> int:
    return int((pause + watch.QUESTIONS * 180.0 + watch.CHILD_LATE) * SECOND)


async def test_while_all_works_it_is_fed_for_ever() -> None:
    world = World()
    await world.up()

    assert [await world.fed(20) for _ in range(50)] == [True] * 50


async def test_a_gateway_that_is_away_for_hours_starves_nobody() -> None:
    world = World()
    await world.up()
    world.connected = False
    for _ in range(100):
        world.watch.disconnected("nobody there", 60.0)
        assert await world.fed(60)

    assert "tried 100 times" in world.watch.health.status_line()


async def test_a_gateway_that_is_tried_no_more_starves_the_watchdog() -> None:
    world = World()
    await world.up()
    world.connected = False
    world.watch.disconnected("nobody there", 60.0)

    assert await world.fed(60 + watch.GATEWAY_TRY)
    assert not await world.fed(1)
    assert [entry["parts"] for entry in world.heard.entries if entry["event"] == "watchdog.starved"] == [["gateway"]]


async def test_a_gateway_whose_socket_stands_may_wait_for_ready() -> None:
    world = World()
    world.connected = True

    assert [await world.fed(100) for _ in range(5)] == [True] * 5
    assert world.watch.health.gateway == Waiting("Discord's gateway", T0, world.clock.at + due_gateway())


def due_gateway() -> int:
    return int(watch.GATEWAY_TRY * SECOND)


async def test_a_disk_that_refuses_starves_nobody_and_is_shown() -> None:
    world = World()
    await world.up()
    world.silent = True  # the lanes wait for it
    for _ in range(60):
        world.watch.recorded("disk is full")
        assert await world.fed(20)

    assert "ledger fails since" in world.watch.health.status_line()
    world.watch.recorded("")
    assert world.watch.health.ledger == Works()


async def test_a_start_that_waits_for_its_disk_for_hours_starves_nobody() -> None:
    """Nobody has begun to reach Discord or the agent: their time runs from then on."""
    world = World()
    for _ in range(600):
        world.watch.recorded("database or disk is full")
        assert await world.fed(20.0)
    world.clock.later(watch.GATEWAY_TRY + 1)
    world.watch.recorded("")
    world.watch.relaying()
    assert await world.fed(watch.GATEWAY_TRY - 1)
    assert not await world.fed(2.0)


async def test_a_disk_that_says_nothing_starves_nobody_while_its_thread_lives() -> None:
    world = World()
    await world.up()
    world.silent, world.ledger.seconds = True, watch.SLOW_DISK
    assert [await world.fed(40) for _ in range(10)] == [True] * 10
    assert isinstance(world.watch.health.ledger, Failing)

    world.ledger.lives = False
    assert [await world.fed(40) for _ in range(3)] == [True, False, False]


async def test_lanes_that_do_not_answer_starve_the_watchdog() -> None:
    world = World()
    await world.up()
    world.silent = True

    assert [await world.fed(20) for _ in range(5)] == [True, True, True, True, False]
    assert world.watch.health.stopped(world.clock.at) == ("loop",)


async def test_lanes_that_answer_late_are_fed_again() -> None:
    world = World()
    await world.up()
    late: asyncio.Future[object] = asyncio.get_running_loop().create_future()
    world.ask = lambda: late  # type: ignore[method-assign]  # a slow answer
    world.sight = Sight(world.ledger, lambda: True, lambda: 0.0, lambda: "", lambda: late)  # type: ignore[arg-type]  # as above
    assert [await world.fed(30) for _ in range(3)] == [True, True, True]
    assert isinstance(world.watch.health.loop, Failing)
    late.set_result(None)
    await asyncio.sleep(0)

    assert world.watch.health.ok


async def test_an_agent_whose_bound_has_passed_without_a_word_starves_the_watchdog() -> None:
    world = World()
    await world.up()
    world.overdue = 5.0
    assert await world.fed(20)
    world.overdue = watch.CHILD_LATE + 1
    assert not await world.fed(20)
    world.overdue = 0.0
    assert await world.fed(20)
    assert world.watch.health.ok


async def test_a_drain_is_shown_and_fed() -> None:
    world = World()
    await world.up()
    world.draining = "wedge: the agent said nothing"

    assert [await world.fed(50) for _ in range(4)] == [True] * 4
    assert "wedge: the agent said nothing; a new start follows" in world.watch.health.status_line()


async def test_the_end_is_said_and_nothing_after_it() -> None:
    world = World()
    await world.up()
    world.manager.told.clear()
    world.watch.stopping("wedge: silence")
    world.watch.disconnected("closed by us", 1.0)

    assert world.manager.told == ["STOPPING=1\nSTATUS=Stopping: wedge: silence"]


async def test_without_a_watchdog_nobody_wakes_up() -> None:
    world = World(manager=Manager(period=None))

    await world.watch.run(world.sight)

    assert world.manager.told == ["STATUS=Starting: waiting for Discord's gateway and the agent's first answer"]


async def test_it_is_fed_at_a_third_of_the_period() -> None:
    world = World(manager=Manager(period=60.0))
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            raise asyncio.CancelledError

    world.watch._sleep = sleep
    with pytest.raises(asyncio.CancelledError):
        await world.watch.run(world.sight)

    assert pauses == [20.0, 20.0, 20.0]
    assert [told for told in world.manager.told if told.startswith("WATCHDOG")] == ["WATCHDOG=1"] * 3
