"""Nothing waits for a channel that fails, nor for a pass whose session is lost (BEHAVIOUR §6)."""

import asyncio

import pytest

from connector.backfill import AT_ONCE
from connector.ports import PostLater, PostNever, Said
from tests.connector.backfill_setting import A, B, message, missed, setting

REFUSED, FAILS = PostNever("403 Missing Access"), PostLater("Discord answered 500")

pytestmark = pytest.mark.anyio


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
            await here.sleeps(count)
            if count == 8:
                here.past.fates = {A: PostLater("rate limited", 7.5)}
            here.rested.release()
        await here.sleeps(9)
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
