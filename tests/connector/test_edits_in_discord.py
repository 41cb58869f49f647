"""Edits and deletions over the wire (CONTRACT, Trust): what waits follows, a turn goes on with one sign and no post."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path

import pytest

from connector import facts, notices
from connector.access import Rules
from connector.ledger_texts import without_text
from connector.notices import Halted
from connector.performing import SIGNS
from fakes.discord import FakeDiscord
from fakes.house import House, house

pytestmark = pytest.mark.anyio
Open = Callable[..., AbstractAsyncContextManager[House]]
REACTION = "/channels/{channel_id}/messages/{message_id}/reactions/{emoji}/@me"
LATE = SIGNS["late"]


@pytest.fixture
def open_house(world: FakeDiscord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Open:
    """Ann has access, turns get their card at once. Opened twice: a restart."""
    monkeypatch.setattr("connector.dispatch.CARD_DELAY", 0.0)
    return partial(house, world, tmp_path, Rules(users=frozenset({world.person("ann").id}), respond="all"))


async def said(home: House, text: str, phase: str) -> int:
    """A line of Ann's, once its round has come so far."""
    message = await home.world.say(home.world.person("ann"), home.world.channel("general"), text)
    await home.comes(message, phase)
    return message


async def card(home: House, message: int) -> int:
    """The card of a turn, once it stands and that is recorded."""
    return await home.until(lambda: home.lanes.world.cards.get(str(message), (0, 0))[1], "the card")


def signs(world: FakeDiscord, sign: str) -> list[str]:
    """The ids of the messages that were given this sign, as often as it was asked for."""
    requests = world.sent("PUT", REACTION)
    return [r.path.split("/")[4] for r in requests if r.path.endswith(f"/{quoted(sign)}/@me")]


def quoted(sign: str) -> str:
    return "".join(f"%{byte:02X}" for byte in sign.encode())


async def test_edits_during_the_turn_leave_it_alone_with_one_sign_and_no_post(
    world: FakeDiscord, open_house: Open
) -> None:
    async with open_house() as home:
        asked = await said(home, "first", "RUNNING")
        shown = await card(home, asked)
        for text in ("second", "third"):
            await world.edit(asked, text)
        await home.until(lambda: signs(world, LATE), "the sign")
        # What comes behind them in the same channel has been heard: so have they.
        waits = await said(home, "the next line", "WAITING")
        await home.answers(asked)
        await home.comes(waits, "RUNNING")
        assert signs(world, LATE) == [str(asked)]
        assert home.puppets.prompts()[0][1].endswith("\n\nfirst")
        assert home.of(facts.Edited) == []
        general = world.channel("general")
        await home.until(lambda: len(world.posts(general)) == 3, "the answer, and the card of the next turn")
        first, *others = world.posts(general)
        assert first.id == shown
        assert [post.content for post in others if post.custom_ids() == []] == ["done"]
    async with open_house() as home:
        await home.comes(waits, "RUNNING")
        await world.edit(asked, "long over")
        await said(home, "another line", "WAITING")
        assert signs(world, LATE) == [str(asked)]


async def test_a_link_preview_during_the_turn_is_no_edit(world: FakeDiscord, open_house: Open) -> None:
    """Also for a gateway that has not heard the message itself, after a restart, where it was edited once."""
    async with open_house() as home:
        asked = await said(home, "see https://example.com", "RUNNING")
        waits = await said(home, "look", "WAITING")
        await world.edit(waits, "look https://example.com")
        await home.until(lambda: home.of(facts.Edited), "the edit")
    async with open_house() as home:
        await home.comes(asked, "RUNNING")
        await home.answers(asked)
        await home.comes(waits, "RUNNING")
        await world.link_preview(asked)
        await world.link_preview(waits)
        await said(home, "the next line", "WAITING")
        assert signs(world, LATE) == []


async def test_a_deletion_during_the_turn_is_shown_on_its_card_and_erased_with_its_end(
    world: FakeDiscord, open_house: Open
) -> None:
    async with open_house() as home:
        asked = await said(home, "forget me", "RUNNING")
        shown = await card(home, asked)
        await world.delete(asked)
        await home.until(lambda: signs(world, LATE), "the sign")
        assert signs(world, LATE) == [str(shown)]
        assert (await home.ledger.story(str(asked)))[0] == home.of(facts.Claimed)[0]
        await home.answers(asked, "you said: forget me")
        await home.until(lambda: facts.Erased(asked) in home.kept, "its erasure")
        claim, *_ = home.of(facts.Claimed)
        assert (await home.ledger.story(str(asked)))[0] == without_text(claim)
        assert signs(world, LATE) == [str(shown)]
        assert [post.content for post in world.posts(world.channel("general"))][1:] == ["you said: forget me"]
        assert [file.name for file in home.ledger.path.parent.iterdir() if b"forget me" in file.read_bytes()] == []


async def test_a_deletion_before_any_card_is_shown_on_the_answer(
    world: FakeDiscord, open_house: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("connector.dispatch.CARD_DELAY", 3600.0)
    async with open_house() as home:
        asked = await said(home, "forget me", "RUNNING")
        await world.delete(asked)
        await home.until(lambda: home.of(facts.Unsaid), "the deletion")
        await home.answers(asked)
        await home.until(lambda: signs(world, LATE), "the sign")
        (answer,) = world.posts(world.channel("general"))
        assert signs(world, LATE) == [str(answer.id)]


async def test_a_deletion_while_it_waits_is_silent_and_erased_at_once(world: FakeDiscord, open_house: Open) -> None:
    async with open_house() as home:
        await said(home, "first", "RUNNING")
        waits = await said(home, "forget me", "WAITING")
        await world.delete(waits)
        await home.comes(waits, "")
        claim = next(fact for fact in home.of(facts.Claimed) if fact.round == str(waits))  # type: ignore[union-attr]
        ended, erased = facts.Ended(str(waits), "deleted"), facts.Erased(waits)
        assert (await home.ledger.story(str(waits))) == [without_text(claim), ended, erased]
        assert signs(world, LATE) == []


async def test_a_deletion_long_after_the_end_erases_and_its_retry_is_outdated(
    world: FakeDiscord, open_house: Open
) -> None:
    """In another life of the connector: the ledger knows the message."""
    async with open_house() as home:
        asked = await said(home, "forget me", "RUNNING")
        await home.fails(asked)
        await home.comes(asked, "")
    async with open_house() as home:
        (notice,) = [post for post in world.posts(world.channel("general")) if post.custom_ids() == [f"retry:{asked}"]]
        await world.delete(asked)
        await home.until(lambda: facts.Erased(asked) in home.kept, "its erasure")
        act = await world.click(world.person("ann"), notice.id, f"retry:{asked}")
        assert await home.told(act) == notices.outdated()
        assert home.of(facts.Claimed) == []


async def test_deletions_in_bulk_and_of_what_nobody_claimed(world: FakeDiscord, open_house: Open) -> None:
    async with open_house() as home:
        asked = [await said(home, "one", "RUNNING"), await said(home, "two", "WAITING")]
        await home.answers(asked[0])
        await home.comes(asked[1], "RUNNING")
        await home.answers(asked[1])
        await home.comes(asked[1], "")
        general = world.channel("general").id
        ids = [str(message) for message in (1, 2, *asked)]
        world.mind.sim.emit(
            "MESSAGE_DELETE_BULK", {"ids": ids, "channel_id": str(general), "guild_id": str(world.guild.id)}
        )
        await home.until(lambda: len(home.of(facts.Erased)) == 2, "their erasure")
        await said(home, "the next line", "RUNNING")
        assert home.of(facts.Erased) == [facts.Erased(message) for message in asked]


async def test_an_edit_changes_what_waits_to_be_asked_once_more(world: FakeDiscord, open_house: Open) -> None:
    async with open_house() as home:
        ann, general = world.person("ann"), world.channel("general")
        asked = await said(home, "first", "RUNNING")
        await home.fails(asked)
        await home.comes(asked, "")
        button = [f"retry:{asked}"]
        found = lambda: [post for post in world.posts(general) if post.custom_ids() == button]  # noqa: E731
        (notice,) = await home.until(found, "the notice")
        second = await said(home, "second", "RUNNING")
        assert await home.told(await world.click(ann, notice.id, button[0])) == notices.retrying()
        again = f"{asked}.1"
        await world.edit(asked, f"{world.person('bob').mention} first")  # for somebody else: takes nothing back
        await world.edit(asked, "first, but better")
        await home.until(lambda: home.of(facts.Edited), "the edit")
        assert [fact.round for fact in home.of(facts.Edited)] == [again]  # type: ignore[union-attr]
        await home.answers(second)
        await home.comes(again, "RUNNING")
        assert home.puppets.prompts()[-1][1].endswith("\n\nfirst, but better")


async def test_an_edit_that_takes_the_question_back_cancels_what_waits_with_its_receipt(
    world: FakeDiscord, open_house: Open
) -> None:
    async with open_house() as home:
        await said(home, "first", "RUNNING")
        waits = await said(home, "second", "WAITING")
        bob = world.person("bob")
        await world.edit(waits, f"{bob.mention} second")
        await home.comes(waits, "")
        receipt = next(post for post in world.posts(world.channel("general")) if post.reference == waits)
        assert receipt.content == notices.stopped(Halted.QUEUED)
