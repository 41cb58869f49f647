"""Cards as people see them: behind a gate, over restarts, through faults; no answer is ever lost because of one."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path

import pytest

from connector import facts, notices
from connector.access import Rules
from connector.outbox import EDIT_PACE, Outbox
from connector.outbox_moves import Edit, Later, Never, Show, Stands, Told
from engine.events import SECOND
from fakes.discord import FakeDiscord, Place
from fakes.house import House, house

Open = Callable[..., AbstractAsyncContextManager[House]]
MESSAGES = "/channels/{channel_id}/messages"


@pytest.fixture
def open_house(world: FakeDiscord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Open:
    """Turns get their card at once; opened twice, it is a restart."""
    monkeypatch.setattr("connector.dispatch.CARD_DELAY", 0.0)
    return partial(house, world, tmp_path, Rules(users=frozenset({world.person("ann").id}), respond="all"))


async def runs(home: House, place: Place) -> str:
    name = str(await home.world.say(home.world.person("ann"), place, "work"))
    await home.comes(name, "RUNNING")
    return name


async def card_of(home: House, place: Place, beginning: str) -> int:
    """The card in a place, once it begins like this and is recorded."""

    def found() -> int:
        posts = [post for post in home.world.posts(place) if post.content.startswith(beginning)]
        known = {message for _, message in home.lanes.world.cards.values()}
        return next((post.id for post in posts if post.id in known), 0)

    return await home.until(found, f"a card that begins with {beginning}")


async def over(home: House, card: int, code: str) -> None:
    await home.until(lambda: home.world.post(card).content.startswith(f"-# {code}"), f"the card to say {code}")
    await home.until(lambda: card not in {message for _, message in home.lanes.world.cards.values()}, "its last record")
    assert home.buttons(card) == []


# -- in one life ---------------------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_a_lane_behind_a_closed_gate_shows_until_when(open_house: Open) -> None:
    """BEHAVIOUR §2.4: no lane is sent into the same wall; uncharged, shown on its card, told once."""
    async with open_house() as home:
        world = home.world
        general, other = world.channel("general"), world.channel("other")
        first = await runs(home, other)
        await home.answers(first)  # its child stays, and its model is known
        limited = await runs(home, general)
        await home.limited(limited)
        until = home.lanes.world.rounds[limited].until // SECOND
        waits = str(await world.say(world.person("ann"), other, "and this"))
        card = await card_of(home, other, f"⏳ {notices.behind_gate(until)}")
        assert home.buttons(card) == [f"stop:{waits}"]
        await home.later(1)
        assert home.round(waits) == "WAITING"
        await home.later(3600)
        # One lane probes, the other one waits for what comes of that.
        await home.until(lambda: {home.round(limited), home.round(waits)} == {"RUNNING", *([home.round(waits)])})
        await home.answers(limited if home.round(limited) == "RUNNING" else waits)
        await home.later(1)
        await home.comes(waits, "RUNNING")
        assert home.lanes.world.rounds[waits].attempts == 1
        await home.answers(waits)
        await over(home, card, "answered")


@pytest.mark.anyio
async def test_a_card_ends_with_its_turn_and_so_does_the_typing_line(open_house: Open) -> None:
    async with open_house() as home:
        general = home.world.channel("general")
        name = await runs(home, general)
        card = await card_of(home, general, "⚙️")
        await home.until(lambda: home.world.typings(general), "the typing line")
        await home.answers(name, "the answer")
        await over(home, card, "answered")
        await home.comes(name, "")
        count = home.world.typings(general)
        # More posts later: whatever kept typing alive would have called again, its pauses pass at once here.
        await home.answers(await runs(home, general), "another")
        assert home.posting._typing == {}
        assert next(post.content for post in home.world.posts(general) if post.id != card) == "the answer"
        assert home.world.typings(general) >= count


@pytest.mark.anyio
async def test_a_card_that_discord_refuses_costs_no_answer(open_house: Open) -> None:
    """CONTRACT: a card is never the only place of an answer."""
    async with open_house() as home:
        general = home.world.channel("general")
        home.world.faults.refuse("POST", MESSAGES, 50013)
        name = await runs(home, general)
        await home.living.logged("post.refused")
        await home.answers(name, "the answer")
        await home.until(lambda: [post.content for post in home.world.posts(general)] == ["the answer"])
        await home.comes(name, "")
        assert [*home.of(facts.CardShown), *home.of(facts.CardOver)] == [
            facts.CardShown(name, general.id, 0),
            facts.CardOver(name),
        ]


@pytest.mark.anyio
async def test_a_card_that_somebody_deletes_costs_no_answer_and_no_second_card(open_house: Open) -> None:
    async with open_house() as home:
        general = home.world.channel("general")
        name = await runs(home, general)
        card = await card_of(home, general, "⚙️")
        await home.world.delete(card)
        await home.answers(name, "the answer")
        await home.until(lambda: [post.content for post in home.world.posts(general)] == ["the answer"])
        await home.until(lambda: home.of(facts.CardOver), "the card to be given up")
        assert home.lanes.world.cards == {}


# -- over restarts -------------------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_a_card_from_before_a_restart_goes_on_with_its_round_and_is_finished(open_house: Open) -> None:
    """The round is asked again by evidence (BEHAVIOUR §6): one card for both lives, no second one."""
    async with open_house() as home:
        general = home.world.channel("general")
        name = await runs(home, general)
        card = await card_of(home, general, "⚙️")
    async with open_house() as home:
        await home.comes(name, "RUNNING")
        assert home.lanes.world.rounds[name].attempts == 2
        await home.until(lambda: home.world.post(card).content.startswith("⚙️"), "the card to go on")
        await home.answers(name, "the answer")
        await over(home, card, "answered")
        assert [post.content for post in home.world.posts(general)][1:] == ["the answer"]
    async with open_house() as home:
        assert home.lanes.world.cards == {}


@pytest.mark.anyio
async def test_a_card_of_a_round_that_is_not_repeated_ends_at_the_start(open_house: Open) -> None:
    async with open_house() as home:
        general = home.world.channel("general")
        name = await runs(home, general)
        card = await card_of(home, general, "⚙️")
        await home.ledger.commit([facts.ToolOpened(name, "c1", "bash")], at=home.clock.now())
    async with open_house() as home:
        await over(home, card, "engine-exit")
        assert await home.post(general, 2) == notices.not_repeated(retry=True)


@pytest.mark.anyio
async def test_a_card_of_a_round_that_is_over_and_forgotten_ends_at_the_start(open_house: Open) -> None:
    """The process died between the round's last post and the card's last line."""
    async with open_house() as home:
        general = home.world.channel("general")
        name = await runs(home, general)
        card = await card_of(home, general, "⚙️")
        ended = facts.Ended(name, "answered")
        await home.ledger.commit([facts.Answered(name, 1, "x"), ended], at=home.clock.now(), closed=[name])
    async with open_house() as home:
        await over(home, card, "ended")


@pytest.mark.anyio
async def test_a_backoff_from_before_a_restart_still_counts_down(open_house: Open) -> None:
    async with open_house() as home:
        general = home.world.channel("general")
        name = await runs(home, general)
        await home.limited(name)
        card = await card_of(home, general, "⏳")
        until = home.lanes.world.rounds[name].until // SECOND
    async with open_house() as home:
        await home.until(lambda: home.living.facts)
        assert home.world.post(card).content == f"⏳ {notices.asked_again(until)}"
        act = await home.world.click(home.world.person("ann"), card, f"retry:{name}")
        assert await home.told(act) == notices.retrying()
        await home.comes(name, "RUNNING")


@pytest.mark.anyio
async def test_with_progress_off_an_old_card_still_ends_and_no_new_one_comes(open_house: Open) -> None:
    async with open_house() as home:
        general = home.world.channel("general")
        name = await runs(home, general)
        card = await card_of(home, general, "⚙️")
    async with open_house(cards=False) as home:
        await home.comes(name, "RUNNING")
        await home.answers(name, "the answer")
        await over(home, card, "answered")
        await home.answers(await runs(home, general), "another")
        await home.until(lambda: len(home.world.posts(general)) == 3)
        assert [post.content for post in home.world.posts(general)][1:] == ["the answer", "another"]


@pytest.mark.anyio
async def test_identifies_and_registered_commands_are_remembered_over_a_restart(
    world: FakeDiscord, open_house: Open
) -> None:
    """`gateway.Memory` is kept in the ledger: Discord takes a token that identifies too often away."""
    async with open_house() as home:
        await home.living.logged("gateway.commands_registered")
    async with open_house() as home:
        # A whole exchange later: whatever the start would have asked for has been asked for.
        await home.living.gateway.typing(world.channel("general").id)
        assert len((await home.ledger.load()).kept["identifies"].split(",")) == 2
    assert len(world.sent("PUT", "/applications/{application_id}/commands")) == 1


# -- the outbox's word for it --------------------------------------------------------------------------------------

KEY, NAME = "7/card/1", "7"


def shown(box: Outbox, content: str) -> list[Told]:
    """What is told when a card is to show this, which is recorded then."""
    told = box.show(KEY, 1, content)
    box.recorded(KEY)
    return told


def test_a_card_is_told_when_it_stands_and_when_it_shows_its_end() -> None:
    box = Outbox()
    assert shown(box, "working") == [facts.CardShown(NAME, 1, 0)]
    (show,) = box.ready(0)
    assert box.done(show, Stands(70), 0) == [facts.CardShown(NAME, 1, 70)]
    box.show(KEY, 1, "done")
    assert box.finish(KEY) == []
    (edit,) = box.ready(EDIT_PACE)
    assert box.done(edit, Stands(70), EDIT_PACE) == [facts.CardOver(NAME)]
    assert box.idle


def test_a_card_that_shows_its_end_already_is_over_at_once() -> None:
    box = Outbox()
    box.adopt(KEY, 1, 70)
    box.show(KEY, 1, "done")
    (edit,) = box.ready(0)
    assert edit == Edit(KEY, 1, 70, "done", ())
    assert box.done(edit, Stands(70), 0) == []
    assert box.finish(KEY) == [facts.CardOver(NAME)]


def test_a_card_that_never_stood_is_over_at_once() -> None:
    """Else a start would look for it."""
    box = Outbox()
    box.show(KEY, 1, "working")
    assert box.finish(KEY) == [facts.CardOver(NAME)]
    box.recorded(KEY)  # which came too late
    assert shown(box, "working") == [facts.CardShown(NAME, 1, 0)]
    (show,) = box.ready(0)
    assert isinstance(show, Show)
    assert box.done(show, Never("missing access"), 0) == [facts.CardOver(NAME)]
    box.show(KEY, 1, "still working")
    assert box.idle
    assert box.finish(KEY) == []


def test_a_card_that_ends_while_it_is_first_posted_is_told_both() -> None:
    box = Outbox()
    shown(box, "working")
    (show,) = box.ready(0)
    box.show(KEY, 1, "done")
    box.finish(KEY)
    assert box.done(show, Later(0), 0) == []
    (show,) = box.ready(2 * SECOND)
    told = box.done(show, Stands(70), 2 * SECOND)
    for action in box.ready(4 * SECOND):
        told += box.done(action, Stands(70), 4 * SECOND)
    assert told == [facts.CardShown(NAME, 1, 70), facts.CardOver(NAME)]


def test_a_card_that_is_gone_from_discord_is_over_and_is_not_tried_again() -> None:
    box = Outbox()
    box.adopt(KEY, 1, 70)
    box.show(KEY, 1, "working")
    (edit,) = box.ready(0)
    assert box.done(edit, Never("unknown message"), 0) == [facts.CardOver(NAME)]
    box.show(KEY, 1, "still working")
    assert box.idle
    assert box.finish(KEY) == []


def test_a_receipt_that_is_edited_is_no_card() -> None:
    box = Outbox()
    box.adopt("7/receipt/1", 1, 70)
    box.show("7/receipt/1", 1, "Stopped.")
    (edit,) = box.ready(0)
    assert box.finish("7/receipt/1") == []
    assert box.done(edit, Stands(70), 0) == []
    assert box.idle
