"""A kill between a card's post and its record: the next start finds what stands there, and nothing is left at work."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path

import pytest

from connector import facts, notices, notices_dialogs
from connector.access import Rules
from engine import events as told
from fakes.discord import FakeDiscord
from fakes.house import House, house
from fakes.recorded_dialogs import recorded

Open = Callable[..., AbstractAsyncContextManager[House]]

pytestmark = pytest.mark.anyio


@pytest.fixture
def open_house(world: FakeDiscord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Open:
    """Turns get their card at once; opened twice, it is a restart."""
    monkeypatch.setattr("connector.dispatch.CARD_DELAY", 0.0)
    return partial(house, world, tmp_path, Rules(users=frozenset({world.person("ann").id}), respond="all"))


async def unrecorded(home: House) -> tuple[str, int]:
    """A running round, and its card, of which the ledger knows only that it was about to be posted."""
    general = home.world.channel("general")
    name = str(await home.world.say(home.world.person("ann"), general, "work"))
    # Told by the ledger, not by the fold: what is committed below must be the last word.
    await home.until(lambda: len(home.of(facts.CardShown)) == 2, "the card to be recorded")
    card = home.lanes.world.cards[name][1]
    assert home.of(facts.CardShown) == [facts.CardShown(name, general.id, 0), facts.CardShown(name, general.id, card)]
    await home.ledger.commit([facts.CardShown(name, general.id, 0)], at=home.clock.now())
    return name, card


async def over(home: House, card: int, code: str) -> None:
    await home.until(lambda: home.world.post(card).content.startswith(f"-# {code}"), f"the card to say {code}")
    await home.until(lambda: home.lanes.world.cards == {}, "its last record")
    assert home.buttons(card) == []


async def test_the_card_goes_on_with_its_round_and_no_second_one_comes(open_house: Open) -> None:
    async with open_house() as home:
        name, card = await unrecorded(home)
    async with open_house() as home:
        await home.until(lambda: home.lanes.world.cards.get(name, (0, 0))[1] == card, "the card to be found")
        await home.comes(name, "RUNNING")
        await home.answers(name, "the answer")
        await over(home, card, "answered")
        contents = [post.content for post in home.world.posts(home.world.channel("general")) if post.id != card]
        assert contents == ["the answer"]


async def test_the_card_of_a_round_that_is_not_repeated_shows_its_end(open_house: Open) -> None:
    async with open_house() as home:
        name, card = await unrecorded(home)
        await home.ledger.commit([facts.ToolOpened(name, "c1", "bash")], at=home.clock.now())
    async with open_house() as home:
        await over(home, card, "engine-exit")
        assert await home.post(home.world.channel("general"), 2) == notices.not_repeated(retry=True)


async def test_the_card_of_a_round_that_is_over_and_forgotten_shows_its_end(open_house: Open) -> None:
    async with open_house() as home:
        name, card = await unrecorded(home)
        ended = facts.Ended(name, "answered")
        await home.ledger.commit([facts.Answered(name, 1, "x"), ended], at=home.clock.now(), closed=[name])
    async with open_house() as home:
        await over(home, card, "ended")


async def test_a_card_that_was_never_posted_is_posted_once_where_its_round_goes_on(open_house: Open) -> None:
    async with open_house() as home:
        name, card = await unrecorded(home)
        await home.world.delete(card)
    async with open_house() as home:
        general = home.world.channel("general")
        found = await home.until(lambda: home.lanes.world.cards.get(name, (0, 0))[1], "a card")
        assert [(post.id, post.reference) for post in home.world.posts(general)] == [(found, int(name))]
        await home.comes(name, "RUNNING")
        await home.answers(name, "the answer")
        await over(home, found, "answered")


async def test_a_card_that_was_never_posted_is_forgotten_where_its_round_is_over(open_house: Open) -> None:
    async with open_house() as home:
        name, card = await unrecorded(home)
        await home.world.delete(card)
        await home.ledger.commit([facts.Ended(name, "answered")], at=home.clock.now(), closed=[name])
    async with open_house() as home:
        await home.until(lambda: home.of(facts.CardOver), "it to be given up")
        assert home.world.posts(home.world.channel("general")) == []


async def test_with_progress_off_it_shows_its_end_with_its_round_and_is_never_posted(open_house: Open) -> None:
    async with open_house() as home:
        name, card = await unrecorded(home)
    async with open_house(cards=False) as home:
        await home.comes(name, "RUNNING")
        await home.answers(name, "the answer")
        await over(home, card, "answered")


async def test_with_progress_off_one_that_was_never_posted_is_not_posted_either(open_house: Open) -> None:
    async with open_house() as home:
        name, card = await unrecorded(home)
        await home.limited(name)
        await home.world.delete(card)
    async with open_house(cards=False) as home:
        assert home.round(name) == "BACKOFF"
        await home.later(3600)
        await home.comes(name, "RUNNING")
        await home.answers(name, "the answer")
        await home.until(lambda: home.of(facts.CardOver), "the card to be given up")
        assert [post.content for post in home.world.posts(home.world.channel("general"))] == ["the answer"]


async def test_the_sign_of_a_deleted_message_waits_until_its_card_stands(open_house: Open) -> None:
    async with open_house() as home:
        general = home.world.channel("general")
        hang = home.world.faults.hang("POST", "/channels/{channel_id}/messages")
        name = str(await home.world.say(home.world.person("ann"), general, "work"))
        await home.until(lambda: home.of(facts.CardShown), "the card to be on its way")
        await home.world.delete(int(name))
        await home.until(lambda: home.of(facts.Unsaid), "its deletion")
        assert home.of(facts.Late) == []
        hang.release()
        await home.until(lambda: home.of(facts.Late), "the sign")
        card = home.lanes.world.cards[name][1]
        await home.until(lambda: home.world.reactions(card) == ["🔒"], "the sign on the card")


async def test_a_question_of_the_process_before_is_found_and_says_that_it_is_over(open_house: Open) -> None:
    async with open_house(cards=False) as home:
        general = home.world.channel("general")
        name = str(await home.world.say(home.world.person("ann"), general, "work"))
        await home.comes(name, "RUNNING")
        asked = told.Asked(home.lanes.world.rounds[name].turn, recorded("confirm", id="d"))
        home.puppets.says(str(general.id), asked, busy=True)
        await home.until(lambda: len(home.of(facts.DialogShown)) == 2, "the question to be recorded")
        [(key, (_, post))] = home.lanes.world.dialogs.items()
        await home.ledger.commit([facts.DialogShown(key, general.id, 0)], at=home.clock.now())
    async with open_house(cards=False) as home:
        line = notices_dialogs.restarted()
        await home.until(lambda: home.world.post(post).content.rpartition("\n")[2] == line, "the question to be over")
        assert home.buttons(post) == []
        await home.until(lambda: home.lanes.world.dialogs == {}, "its last record")


async def test_a_question_is_answered_before_it_is_known_to_stand(open_house: Open) -> None:
    """Who sees it may press sooner than Discord's reply comes."""
    async with open_house(cards=False) as home:
        ann, general = home.world.person("ann"), home.world.channel("general")
        name = str(await home.world.say(ann, general, "work"))
        await home.comes(name, "RUNNING")
        hang = home.world.faults.hang("POST", "/channels/{channel_id}/messages", stored=True)
        asked = told.Asked(home.lanes.world.rounds[name].turn, recorded("confirm", id="d"))
        home.puppets.says(str(general.id), asked, busy=True)
        [post] = await home.until(lambda: home.world.posts(general), "the question")
        act = await home.world.click(ann, post.id, "dialog:d:yes")
        given = told.AnswerDialog("d", confirmed=True)
        await home.until(lambda: given in [one for _, one in home.puppets.heard] or act.followups, "an answer")
        assert given in [one for _, one in home.puppets.heard]
        hang.release()
        await home.until(lambda: not home.buttons(post.id), "the question to be over")
