"""What was missed is read from history, once, in order, and nothing waits for a channel that fails (BEHAVIOUR §6)."""

import asyncio
import io
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from connector import facts
from connector.backfill import AT_ONCE, PAGE, Backfill
from connector.lane_events import Overlooked
from connector.logs import Logs
from connector.messages import Author, Message, Place
from connector.ports import Discord, PostLater, PostNever, Said
from connector.settings import LogSettings
from connector.world import World
from fakes.waiting import Changes

A, B, C = 100, 200, 300
PRIVATE, THREAD, HIDDEN = 400, 500, 600
REFUSED, FAILS = PostNever("403 Missing Access"), PostLater("Discord answered 500")


def message(number: int, channel: int = A) -> Message:
    return Message(number, Place(channel, "here"), Author(5, "ann"), "hello")


class Past:
    """The four questions of `ports.Discord` that are asked here, with what each channel has and how it answers."""

    def __init__(self, changes: Changes) -> None:
        self.listed = [A, B]
        self.said: dict[int, list[int]] = {}
        self.told: dict[int, int] = {}
        self.fates: dict[int, Exception] = {}
        self.gates: dict[int, asyncio.Event] = {}
        self.calls: list[tuple[Any, ...]] = []
        self._changes = changes

    async def _meet(self, *call: Any) -> None:
        self.calls.append(call)
        self._changes.tell()
        if call[1] in self.fates:
            raise self.fates[call[1]]

    async def _answer(self, channel: int, found: Any) -> Any:
        """What Discord knew when it was asked; it may take long until we read it."""
        if channel in self.gates:
            await self.gates[channel].wait()
        return found

    async def history(self, channel: int, after: int, limit: int = 100) -> list[Message]:
        await self._meet("history", channel, after)
        found = [message(number, channel) for number in self.said.get(channel, ()) if number > after][:limit]
        return cast("list[Message]", await self._answer(channel, found))

    async def newest(self, channel: int) -> int:
        await self._meet("newest", channel)
        return cast("int", await self._answer(channel, max(self.said.get(channel, ()), default=0)))

    async def latest(self) -> dict[int, int]:
        told, self.told = self.told, {}
        return told

    async def channels(self) -> list[Place]:
        return [Place(channel, "here") for channel in self.listed]


class Setting:
    """A backfill, a world that takes what it gives as the lanes do, and sleeps that end when the test says so."""

    def __init__(self) -> None:
        self.changes = Changes(lambda: f"asked: {self.past.calls}; given: {self.given}")
        self.past = Past(self.changes)
        self.world = World()
        self.given: list[Said | Overlooked] = []
        self.slept: list[float] = []
        self.rested = asyncio.Semaphore(0)
        self.stream = io.StringIO()
        log = Logs(LogSettings(level="debug", format="console"), self.stream).log
        discord = cast("Discord", self.past)  # no other call is made here
        self.backfill = Backfill(
            discord, self.world, lambda place: place.channel != HIDDEN, self.give, log, sleep=self.sleep
        )
        self.passes: set[asyncio.Task[None]] = set()

    def give(self, given: Said | Overlooked) -> None:
        self.given.append(given)
        match given:
            case Said(found):
                self.see(found.place.channel, found.id)
            case Overlooked(channel, number):
                self.see(channel, number)
        self.changes.tell()

    def see(self, channel: int, number: int) -> None:
        self.world.apply(facts.Seen(channel, number))

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.changes.tell()
        await self.rested.acquire()

    def connect(self) -> asyncio.Task[None]:
        """A fresh session, as the app answers it."""
        self.backfill.begin()
        task = asyncio.create_task(self.backfill.run())
        self.passes.add(task)
        return task

    def live(self, number: int, channel: int = A) -> None:
        self.backfill.live(Said(message(number, channel)))

    def of(self, channel: int) -> list[Said | Overlooked]:
        return [one for one in self.given if channel in _where(one)]

    async def until(self, predicate: Callable[[], Any]) -> None:
        await self.changes.until(predicate)

    def histories(self) -> list[tuple[int, int]]:
        return [(call[1], call[2]) for call in self.past.calls if call[0] == "history"]


def _where(given: Said | Overlooked) -> tuple[int]:
    return (given.channel if isinstance(given, Overlooked) else given.message.place.channel,)


def missed(numbers: Iterable[int], channel: int = A) -> list[Said]:
    return [Said(message(number, channel), live=False) for number in numbers]


@asynccontextmanager
async def setting() -> AsyncIterator[Setting]:
    found = Setting()
    yield found
    for task in found.passes:
        task.cancel()
    for end in await asyncio.gather(*found.passes, return_exceptions=True):
        assert end is None or isinstance(end, asyncio.CancelledError), end


pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


# -- a first start -------------------------------------------------------------------------------------------------


async def test_a_first_start_takes_no_history_and_misses_none_later() -> None:
    """At a first ready the newest id of every allowed channel becomes its last seen one."""
    async with setting() as here:
        here.past.said, here.past.told = {A: [1, 5], B: [2]}, {A: 5, B: 2}
        await here.connect()
        assert (here.given, here.past.calls) == ([Overlooked(A, 5), Overlooked(B, 2)], [])

        here.past.said[A] += [6, 7]  # while we are away
        here.past.told = {A: 7, B: 2}
        await here.connect()
        assert here.given[2:] == missed([6, 7])
        assert here.past.calls == [("history", A, 5)]


async def test_a_channel_that_no_ready_told_of_is_asked_for_its_newest() -> None:
    async with setting() as here:
        here.past.listed, here.past.said = [A], {A: [1, 5]}
        await here.connect()
        assert (here.given, here.past.calls) == ([Overlooked(A, 5)], [("newest", A)])


async def test_an_empty_channel_is_known_as_one_so_that_its_first_messages_are_not_missed() -> None:
    async with setting() as here:
        here.past.listed = [A]
        await here.connect()
        assert here.given == [Overlooked(A, 0)]
        here.past.said[A] = [1, 2]
        await here.connect()
        assert here.given[1:] == missed([1, 2])


async def test_what_is_said_while_the_newest_is_asked_for_is_never_seen_before_it_is_given() -> None:
    """The last seen id of a channel never before the message it has seen: a crash in between must not lose it."""
    async with setting() as here:
        here.past.listed, here.past.said = [A], {A: [5, 8, 9]}
        here.past.gates[A] = asyncio.Event()
        reading = here.connect()
        await here.until(lambda: here.past.calls)
        here.live(8)
        here.live(9)
        here.past.gates[A].set()
        await reading
        assert here.given == [Overlooked(A, 7), Said(message(8)), Said(message(9))]


async def test_the_past_of_a_channel_that_could_not_be_read_is_not_taken_once_it_can() -> None:
    async with setting() as here:
        here.past.listed, here.past.said, here.past.fates = [A], {A: [1, 2, 3]}, {A: REFUSED}
        await here.connect()
        assert here.given == []
        here.past.fates.clear()
        await here.connect()
        assert here.given == [Overlooked(A, 3)]


# -- what is read --------------------------------------------------------------------------------------------------


async def test_only_channels_with_something_new_are_read() -> None:
    """A quiet channel costs no request, and does not wait for the others."""
    async with setting() as here:
        here.see(A, 5)
        here.see(B, 3)
        here.past.said, here.past.told = {A: [5], B: [3, 4]}, {A: 5, B: 4}
        here.past.gates[B] = asyncio.Event()
        reading = here.connect()
        here.live(6)
        await here.until(lambda: here.past.calls)
        assert (here.past.calls, here.given) == ([("history", B, 3)], [Said(message(6))])
        here.past.gates[B].set()
        await reading
        assert here.of(B) == missed([4], B)
        assert "count=1" in here.stream.getvalue()


async def test_where_nothing_was_told_every_known_channel_is_read() -> None:
    """After a long resume, and for what became allowed since."""
    async with setting() as here:
        here.see(A, 5)
        here.see(B, 3)
        here.past.said = {A: [5, 6], B: [3]}
        await here.connect()
        assert sorted(here.histories()) == [(A, 5), (B, 3)]
        assert here.given == missed([6])


async def test_a_channel_that_is_not_allowed_is_not_read() -> None:
    async with setting() as here:
        here.past.listed, here.past.said, here.past.told = [HIDDEN], {HIDDEN: [1]}, {HIDDEN: 1}
        here.see(HIDDEN, 0)
        reading = here.connect()
        here.live(2, HIDDEN)
        await reading
        assert (here.past.calls, here.given) == ([], [Said(message(2, HIDDEN))])


async def test_private_channels_are_read_and_our_archived_threads_are_not() -> None:
    """Discord lists neither; whoever writes in an archived thread opens it, and then it is listed."""
    async with setting() as here:
        here.past.listed = []
        here.see(PRIVATE, 5)
        here.see(THREAD, 5)
        here.world.apply(facts.ThreadOpened(THREAD, A))
        here.past.said = {PRIVATE: [5, 6], THREAD: [5, 6]}
        reading = here.connect()
        here.live(7, THREAD)
        await reading
        assert here.histories() == [(PRIVATE, 5)]
        assert here.of(PRIVATE) == missed([6], PRIVATE)
        assert here.of(THREAD) == [Said(message(7, THREAD))]
        here.past.listed = [THREAD]
        await here.connect()
        assert (THREAD, 7) in here.histories()


@pytest.mark.parametrize(
    ("count", "pages"),
    [(PAGE - 1, [0]), (PAGE, [0, PAGE]), (PAGE + 1, [0, PAGE]), (250, [0, PAGE, 2 * PAGE])],
)
async def test_more_than_a_page_is_paged(count: int, pages: list[int]) -> None:
    async with setting() as here:
        here.past.listed, here.past.said = [A], {A: list(range(1, count + 1))}
        here.see(A, 0)
        await here.connect()
        assert here.given == missed(range(1, count + 1))
        assert here.histories() == [(A, after) for after in pages]


# -- order ---------------------------------------------------------------------------------------------------------


async def test_what_is_said_meanwhile_follows_what_was_missed_channel_by_channel() -> None:
    async with setting() as here:
        here.see(A, 1)
        here.see(B, 1)
        here.past.said = {A: [1, 2, 3], B: [1, 2]}
        here.past.gates[A] = asyncio.Event()
        reading = here.connect()
        here.live(4, A)  # before the pass had its first turn
        here.live(4, B)
        await here.until(lambda: len(here.of(B)) == 2)
        here.live(5, A)
        here.live(5, B)
        assert here.of(B) == [*missed([2], B), Said(message(4, B)), Said(message(5, B))]
        assert here.of(A) == []
        here.past.gates[A].set()
        await reading
        assert here.of(A) == [*missed([2, 3]), Said(message(4)), Said(message(5))]


async def test_so_many_questions_at_once_and_no_more() -> None:
    async with setting() as here:
        here.past.listed = list(range(1, 10))
        here.past.gates = {channel: asyncio.Event() for channel in here.past.listed}
        reading = here.connect()
        await here.until(lambda: len(here.past.calls) == AT_ONCE)
        for channel in here.past.listed:
            asked = {call[1] for call in here.past.calls}
            assert len(here.past.calls) == min(AT_ONCE + channel - 1, 9)
            assert channel in asked
            here.past.gates[channel].set()
            await here.until(lambda channel=channel: here.of(channel))
            for _ in range(5):  # the next one has its turn now
                await asyncio.sleep(0)
        await reading


# -- what fails ----------------------------------------------------------------------------------------------------


async def test_a_channel_that_fails_holds_up_no_other() -> None:
    """More of them than may be asked at once, for ever; each is asked again after a pause that grows."""
    async with setting() as here:
        broken = list(range(1, AT_ONCE + 3))
        here.past.listed = [*broken, A]
        for channel in here.past.listed:
            here.see(channel, 1)
        here.past.fates = dict.fromkeys(broken, FAILS)
        here.past.said = {A: [1, 2]}
        here.connect()
        here.live(3)
        here.live(3, broken[0])
        await here.until(lambda: len(here.slept) == len(broken) and len(here.of(A)) == 2)
        here.live(4)
        assert here.of(A) == [*missed([2]), Said(message(3)), Said(message(4))]
        assert here.of(broken[0]) == []


async def test_a_channel_is_asked_again_until_it_answers() -> None:
    async with setting() as here:
        here.past.listed, here.past.said, here.past.fates = [A], {A: [1, 2]}, {A: FAILS}
        here.see(A, 1)
        reading = here.connect()
        here.live(3)
        for count in range(1, 9):
            await here.until(lambda count=count: len(here.slept) == count)
            if count == 8:
                here.past.fates = {A: PostLater("rate limited", 7.5)}
            here.rested.release()
        await here.until(lambda: len(here.slept) == 9)
        assert here.slept == [1, 2, 4, 8, 16, 32, 60, 60, 7.5]
        assert here.given == []
        here.past.fates.clear()
        here.rested.release()
        await reading
        assert here.given == [*missed([2]), Said(message(3))]


async def test_a_channel_that_is_refused_is_left() -> None:
    async with setting() as here:
        here.see(A, 1)
        here.see(B, 1)
        here.past.said, here.past.fates = {A: [2], B: [2]}, {A: REFUSED}
        reading = here.connect()
        here.live(3)
        await reading
        assert here.of(A) == [Said(message(3))]
        assert here.of(B) == missed([2], B)
        assert (here.slept, here.histories()) == ([], [(A, 1), (B, 1)])
        assert "gateway.backfill_refused" in here.stream.getvalue()


# -- a session that is lost again ----------------------------------------------------------------------------------


async def test_after_a_lost_session_it_is_read_again() -> None:
    async with setting() as here:
        here.past.listed, here.past.said = [A], {A: [1, 2]}
        here.see(A, 1)
        await here.connect()
        here.past.said[A] += [3]
        await here.connect()
        assert here.given == missed([2, 3])


async def test_a_later_pass_does_not_wait_for_one_that_fails_for_ever() -> None:
    async with setting() as here:
        here.see(A, 1)
        here.see(B, 1)
        here.past.said, here.past.fates = {A: [1, 2], B: [1]}, {A: FAILS}
        first = here.connect()
        await here.until(lambda: here.slept)
        here.past.said[B] += [2]
        second = here.connect()
        here.live(3, B)
        await here.until(lambda: len(here.of(B)) == 2)
        assert here.of(B) == [*missed([2], B), Said(message(3, B))]
        assert first.cancelled()
        here.past.fates.clear()
        here.rested.release()
        await second
        assert here.of(A) == missed([2])


async def test_what_an_earlier_pass_reads_lets_nothing_pass_that_the_later_one_has_to_follow() -> None:
    """A reply that was on its way when the session was lost knows nothing of what was said since."""
    async with setting() as here:
        here.past.listed, here.past.said = [A], {A: [1, 2]}
        here.see(A, 1)
        gate = here.past.gates[A] = asyncio.Event()
        here.connect()
        await here.until(lambda: here.past.calls)
        here.past.said[A] += [3]  # lost with the session
        here.past.gates.clear()
        gate.set()
        second = here.connect()
        here.live(4)
        await second
        assert here.given == [*missed([2, 3]), Said(message(4))]


async def test_two_sessions_in_one_breath_are_one_pass() -> None:
    async with setting() as here:
        here.past.listed, here.past.said = [A], {A: [1, 2]}
        here.see(A, 1)
        here.past.gates[A] = asyncio.Event()
        first, second = here.connect(), here.connect()
        here.live(3)
        await here.until(lambda: here.past.calls)
        here.past.gates[A].set()
        await second
        assert first.cancelled()
        assert here.given == [*missed([2]), Said(message(3))]
