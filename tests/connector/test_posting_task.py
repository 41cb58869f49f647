"""The task that posts: parts, buttons, files, facts, draining and the typing line, against a Discord of plain calls."""

import asyncio
import io
from collections.abc import AsyncIterator
from typing import Any

import pytest

from connector import facts
from connector.gateway_pauses import Clock
from connector.logs import Logs
from connector.outbox import nonce
from connector.ports import Attached, Button, Part, PostLater, PostNever, PostOther
from connector.post_parts import made
from connector.posting import Posting
from connector.settings import LogSettings
from fakes.waiting import BOUND
from tests.connector.posting_setting import Setting, owed

pytestmark = pytest.mark.anyio


@pytest.fixture
async def at_work() -> AsyncIterator[Setting]:
    setting = Setting()
    task = asyncio.create_task(setting.posting.run())
    yield setting
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


# -- what a post is ------------------------------------------------------------------------------------------------


def test_a_post_is_one_part_that_refers_to_its_message_and_has_the_retry_button() -> None:
    retry = (Button("retry:r1", "Retry", "primary"),)
    assert made(owed(retry=True)) == (Part(1, "hello", nonce("r1:answer:0", 0), reply_to=77, buttons=retry),)


def test_a_long_post_is_several_parts_the_first_refers_and_the_last_has_the_button() -> None:
    parts = made(owed(text="\n\n".join(c * 1500 for c in "abc"), retry=True))
    assert [(p.content[0], p.nonce, p.reply_to, len(p.buttons), p.files) for p in parts] == [
        ("a", nonce("r1:answer:0", 0), 77, 0, ()),
        ("b", nonce("r1:answer:0", 1), 0, 0, ()),
        ("c", nonce("r1:answer:0", 2), 0, 1, ()),
    ]


def test_a_very_long_post_is_a_file_with_its_beginning_as_text() -> None:
    text = "\n\n".join(f"{n} " + "x" * 1500 for n in range(9))
    (part,) = made(owed(text=text))
    assert part.files == (Attached("answer.md", text.encode()),)
    assert part.content.startswith("0 xxx")


def test_a_file_beyond_what_discord_takes_is_cut_between_characters_and_says_so() -> None:
    (part,) = made(owed(text="€" * 4_000_000))
    (file,) = part.files
    text = file.data.decode()
    assert len(file.data) <= 10_000_000
    assert text.rstrip("\n").endswith("[cut here: the rest is longer than Discord takes]")
    assert text.count("€") > 3_300_000


# -- posting -------------------------------------------------------------------------------------------------------


async def test_each_part_is_told_when_it_stands(at_work: Setting) -> None:
    at_work.posting.owe(owed(text="a" * 1500 + "\n\n" + "b" * 1500))
    assert await at_work.posting.drain(5)
    assert at_work.told == [facts.Posted("r1:answer:0", 0, 2, 1001), facts.Posted("r1:answer:0", 1, 2, 1002)]


@pytest.mark.parametrize("fate", [PostLater("reset"), PostLater("limited", 3.0)])
async def test_a_post_is_tried_again_with_the_same_nonce(at_work: Setting, fate: PostLater) -> None:
    at_work.discord.fates = [fate]
    at_work.posting.owe(owed())
    await at_work.until(lambda: at_work.told)
    first, second = (call[1].nonce for call in at_work.discord.calls)
    assert first == second
    assert max(at_work.pacing.slept) == max(1.0, fate.after)
    assert at_work.told == [facts.Posted("r1:answer:0", 0, 1, 1002)]


async def test_a_permanent_error_is_told(at_work: Setting) -> None:
    at_work.discord.fates = [PostNever("404 Unknown Channel", 10003)]
    at_work.posting.owe(owed())
    await at_work.until(lambda: at_work.told)
    assert at_work.told == [facts.Dropped("r1:answer:0", "404 Unknown Channel")]


async def test_another_message_for_our_nonce_is_no_post_of_ours(at_work: Setting) -> None:
    """CONTRACT: a reply that comes back with other content counts as not posted."""
    at_work.discord.fates = [PostOther("another", 5)]
    at_work.posting.owe(owed())
    await at_work.until(lambda: at_work.told)
    assert [call[0] for call in at_work.discord.calls] == ["post", "look", "post"]
    assert at_work.told == [facts.Posted("r1:answer:0", 0, 1, 1003)]


async def test_after_a_restart_what_stands_is_found_and_not_posted(at_work: Setting) -> None:
    at_work.discord.found = 55
    at_work.posting.owe(owed(), fresh=False)
    await at_work.until(lambda: at_work.told)
    assert at_work.discord.calls == [("look", 1, nonce("r1:answer:0", 0), 77)]
    assert at_work.told == [facts.Posted("r1:answer:0", 0, 1, 55)]


async def test_an_empty_post_is_dropped(at_work: Setting) -> None:
    at_work.posting.owe(owed(text=" \n "))
    await at_work.until(lambda: at_work.told)
    assert (at_work.told, at_work.discord.calls) == ([facts.Dropped("r1:answer:0", "there is nothing to post")], [])


async def test_after_a_drop_nothing_of_the_round_is_posted_but_what_was_on_its_way(at_work: Setting) -> None:
    """BEHAVIOUR §7.15: after the receipt nothing of it is posted."""
    release = asyncio.Event()
    at_work.discord.fates = [release]
    at_work.posting.owe(owed("a", text="a" * 1500 + "\n\n" + "b" * 1500))
    at_work.posting.owe(owed("b"))
    at_work.posting.owe(owed("receipt", kind="receipt", text="Stopped."))
    await at_work.until(lambda: at_work.discord.calls)
    at_work.posting.drop("r1")
    assert at_work.told == [facts.Dropped("b", "stopped")]
    release.set()
    assert await at_work.posting.drain(5)
    assert [call[1].content[:8] for call in at_work.discord.calls] == ["aaaaaaaa", "Stopped."]
    assert at_work.told[1:] == [
        facts.Posted("a", 0, 2, 1001),
        facts.Dropped("a", "stopped"),
        facts.Posted("receipt", 0, 1, 1002),
    ]


async def test_a_post_begins_before_the_task_looks_for_more(at_work: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    """A person waits for the post; that nothing else is to be done may be found out behind it."""
    calls_at_looks: list[int] = []
    look = at_work.posting.flush

    def looked() -> None:
        calls_at_looks.append(len(at_work.discord.calls))
        look()

    await asyncio.sleep(0)  # its task waits
    monkeypatch.setattr(at_work.posting, "flush", looked)
    at_work.posting.owe(owed())
    look()
    await at_work.until(lambda: calls_at_looks)
    assert calls_at_looks[0] == 1


async def test_draining_ends_at_its_bound(at_work: Setting) -> None:
    at_work.discord.fates = [asyncio.Event()]
    at_work.posting.owe(owed())
    assert not await at_work.posting.drain(10)
    assert 10 in at_work.pacing.slept


async def test_a_card_is_posted_edited_and_forgotten(at_work: Setting) -> None:
    release = asyncio.Event()
    at_work.discord.fates = [release]
    stop = (Button("stop:r1", "Stop", "danger"),)
    at_work.posting.show("r1:card", 1, "working", stop, reply_to=77)
    await at_work.until(lambda: at_work.discord.calls)
    at_work.posting.show("r1:card", 1, "still working", stop)
    at_work.posting.show("r1:card", 1, "done")
    at_work.posting.finish("r1:card")
    release.set()
    assert await at_work.posting.drain(5)
    card = Part(1, "working", nonce("r1:card", 0), 77, stop)
    assert at_work.discord.calls == [("post", card), ("edit", 1, 1001, "done", ())]
    assert at_work.told == []


async def test_what_the_listener_raises_ends_the_task() -> None:
    def done(_fact: Any) -> None:
        raise RuntimeError("the listener is broken")

    setting = Setting()
    posting = Posting(setting.discord, done, Logs(LogSettings(), io.StringIO()).log, Clock())
    posting.owe(owed())
    with pytest.raises(RuntimeError, match="the listener is broken"):
        await asyncio.wait_for(posting.run(), BOUND)


# -- typing --------------------------------------------------------------------------------------------------------


async def test_typing_is_kept_alive_while_on_and_no_call_begins_after_off(at_work: Setting) -> None:
    at_work.posting.typing(1, True)
    at_work.posting.typing(1, True)
    await at_work.until(lambda: len(at_work.discord.calls) >= 3)
    assert set(at_work.pacing.slept) == {8.0}
    at_work.posting.typing(1, False)
    count = len(at_work.discord.calls)
    for _ in range(20):
        await asyncio.sleep(0)
    assert len(at_work.discord.calls) == count


async def test_an_answer_that_comes_sooner_needs_no_typing_line(at_work: Setting) -> None:
    at_work.posting.typing(1, True, after=0.25)
    at_work.posting.typing(1, False)
    for _ in range(20):
        await asyncio.sleep(0)
    assert at_work.discord.calls == []
    at_work.posting.typing(1, True, after=0.25)
    await at_work.until(lambda: at_work.discord.calls)
    assert at_work.pacing.slept[0] == 0.25
    at_work.posting.typing(1, False)


async def test_off_during_a_call_lets_it_finish_and_begins_no_other(at_work: Setting) -> None:
    release = asyncio.Event()
    at_work.discord.fates = [release]
    at_work.posting.typing(1, True)
    await at_work.until(lambda: at_work.discord.calls)
    at_work.posting.typing(1, False)
    release.set()
    for _ in range(20):
        await asyncio.sleep(0)
    assert at_work.discord.calls == [("typing", 1)]


async def test_typing_gives_up_after_three_failures_until_it_is_switched_on_again(at_work: Setting) -> None:
    at_work.discord.fates = [PostLater("down"), PostLater("down"), PostNever("down")]
    at_work.posting.typing(1, True)
    await at_work.until(lambda: len(at_work.discord.calls) == 3)
    for _ in range(20):
        await asyncio.sleep(0)
    at_work.posting.typing(1, True)
    for _ in range(20):
        await asyncio.sleep(0)
    assert len(at_work.discord.calls) == 3
    at_work.posting.typing(1, False)
    at_work.posting.typing(1, True)
    await at_work.until(lambda: len(at_work.discord.calls) == 4)
    at_work.posting.typing(1, False)
