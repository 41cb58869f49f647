"""What was missed is read from history, once, in order, and only where there is something new (BEHAVIOUR §6)."""

import asyncio

import pytest

from connector import facts
from connector.backfill import AT_ONCE, PAGE
from connector.lane_events import Overlooked
from connector.ports import Changed, Gone, PostNever, Said
from tests.connector.backfill_setting import HIDDEN, A, B, message, missed, setting

PRIVATE, THREAD = 400, 500
REFUSED = PostNever("403 Missing Access")

pytestmark = pytest.mark.anyio


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


async def test_an_edit_waits_behind_what_was_missed_as_its_message_does() -> None:
    """Found by the soak: an edit was claimed at once, and after a kill what was said before it was never read."""
    async with setting() as here:
        here.see(A, 5)
        here.past.listed, here.past.said = [A], {A: [5, 6, 7]}
        here.past.gates[A] = asyncio.Event()
        reading = here.connect()
        await here.until(lambda: here.past.calls)
        here.live(7)
        here.edited(7)
        assert here.given == []
        here.past.gates[A].set()
        await reading
        assert here.given == [*missed([6, 7]), Said(message(7)), Changed(message(7))]
        here.edited(6)
        assert here.given[-1] == Changed(message(6))


async def test_a_deletion_waits_behind_its_message_and_else_for_nothing() -> None:
    """What is deleted is in no history any more: held alone, it would be answered."""
    async with setting() as here:
        here.see(A, 5)
        here.past.listed, here.past.said = [A], {A: [5, 6]}
        here.past.gates[A] = asyncio.Event()
        reading = here.connect()
        await here.until(lambda: here.past.calls)
        here.live(7)
        here.backfill.gone(Gone(A, (7,)))
        here.backfill.gone(Gone(A, (4,)))
        assert here.given == [Gone(A, (4,))]
        here.past.gates[A].set()
        await reading
        assert here.given[1:] == [*missed([6]), Said(message(7)), Gone(A, (7,))]


async def test_an_edit_of_long_ago_does_not_make_a_channel_that_is_new_to_us_begin_there() -> None:
    async with setting() as here:
        here.past.listed, here.past.said = [A], {A: [5, 8]}
        here.past.gates[A] = asyncio.Event()
        reading = here.connect()
        await here.until(lambda: here.past.calls)
        here.edited(5)
        here.past.gates[A].set()
        await reading
        assert here.given == [Overlooked(A, 8), Changed(message(5))]


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
            await here.comes(channel)
            for _ in range(5):  # the next one has its turn now
                await asyncio.sleep(0)
        await reading
