"""`/queue`: what waits, by whom, since when; cancelled and moved by its author or an operator (CONTRACT)."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from connector import facts, notices
from connector.access import Rules
from connector.ports import Rows
from connector.queue_page import PAGE, excerpt, other_lanes, queue_page
from connector.world import World
from engine.events import SECOND
from fakes.discord import FakeDiscord
from fakes.discord_acts import Act
from fakes.house import House, house

# -- the page ------------------------------------------------------------------------------------------------------


def claim(number: int, *, author: int = 5, lane: str = "700", text: str = "do it") -> facts.Claimed:
    header = f"[discord] #x · p ({author}) · {number}"
    return facts.Claimed(
        str(number), lane, int(lane), number, number, author, "p", f"{header}\n\n{text}", at=number * SECOND
    )


def world_of(*new: facts.AnyFact) -> World:
    world = World()
    for fact in new:
        world.apply(fact)
    return world


def names(buttons: Rows) -> list[list[tuple[str, str]]]:
    return [[(one.custom_id, one.label) for one in row] for row in buttons]


def test_nothing_waits() -> None:
    page = queue_page(World(), "700", 0, lambda _: True)
    assert (page.text, page.buttons) == ("Nothing waits here.", ())


def test_what_came_with_a_message_is_counted() -> None:
    one, two = facts.File(1, "a.txt", 1), facts.File(2, "b.txt", 1)
    world = world_of(replace(claim(1, text=""), files=(one,)), replace(claim(2), files=(one, two)))
    assert queue_page(world, "700", 0, lambda _: False).text.splitlines()[1:] == [
        "1. by <@5>, since <t:1:R>, with 1 file",
        "2. by <@5>, since <t:2:R>, with 2 files: `do it`",
    ]


def test_what_waits_stands_in_the_order_in_which_it_is_asked_with_his_buttons_alone() -> None:
    """The first one cannot be moved to the front, and what is not his has no button."""
    world = world_of(
        claim(1),
        facts.Written("1", 1),
        facts.Started("1"),
        claim(2, text="two\n\nof `it`"),
        claim(3, author=6),
        claim(4),
        facts.Moved("4"),
    )
    page = queue_page(world, "700", 0, lambda round_: round_.author == 5)
    assert page.text.splitlines() == [
        "Running: by <@5>, since <t:1:R>: `do it`",
        "**3 waiting**",
        "1. by <@5>, since <t:4:R>: `do it`",
        "2. by <@5>, since <t:2:R>: `two of ˋitˋ`",
        "3. by <@6>, since <t:3:R>: `do it`",
    ]
    assert names(page.buttons) == [
        [("queue:cancel:4", "Cancel 1"), ("queue:cancel:2", "Cancel 2"), ("queue:first:2", "2 to the front")]
    ]


@pytest.mark.parametrize("count", [PAGE, PAGE + 1, 500])
def test_a_long_queue_is_paged_within_discords_rows(count: int) -> None:
    """At most 5 rows of 5 buttons and 2,000 characters; every item stands on one page; a page too far is the last."""
    world = world_of(*(claim(number, text="x" * 500) for number in range(1, count + 1)))
    pages = -(-count // PAGE)
    items: list[str] = []
    for number in range(pages):
        page = queue_page(world, "700", number, lambda _: True)
        assert len(page.text) <= 2000
        assert len(page.buttons) <= 5
        assert all(0 < len(row) <= 5 for row in page.buttons)
        items += [
            one.custom_id.removeprefix("queue:cancel:")
            for row in page.buttons
            for one in row
            if "cancel" in one.custom_id
        ]
        turning = [one.custom_id for row in page.buttons for one in row if one.custom_id.startswith("queue:page:")]
        assert turning == [f"queue:page:{other}" for other in (number - 1, number + 1) if 0 <= other < pages]
    assert items == [str(number) for number in range(1, count + 1)]
    assert queue_page(world, "700", 99_999, lambda _: True) == queue_page(world, "700", pages - 1, lambda _: True)


def test_an_excerpt_can_neither_end_its_line_nor_its_code() -> None:
    assert excerpt("header\n\na `b`\n@everyone\u2028c\x00" + "d" * 99) == f": `a ˋbˋ @everyone c {'d' * 42}…`"
    assert excerpt("header\n\n \n") == ""


def test_other_lanes_are_told_by_their_people_and_their_oldest() -> None:
    world = world_of(claim(1), claim(2, lane="701", author=7), claim(3, lane="701"))
    assert other_lanes(world, "700") == ["<#701>: 2 waiting, by <@5>, <@7>, the oldest since <t:2:R>"]


# -- in Discord ----------------------------------------------------------------------------------------------------


@pytest.fixture
async def home(world: FakeDiscord, tmp_path: Path) -> AsyncIterator[House]:
    """Ann and Bob have access, Cara is an operator; the first line of #general runs, the others wait."""
    people = {name: world.person(name).id for name in ("ann", "bob", "cara")}
    rules = Rules(
        users=frozenset(people.values()) - {people["cara"]}, operators=frozenset({people["cara"]}), respond="all"
    )
    async with house(world, tmp_path, rules, cards=False) as home:
        await world.wait_for(lambda: world.commands)
        yield home


async def said(home: House, who: str, text: str, place: str = "general") -> str:
    world = home.world
    message = await world.say(world.person(who), world.channel(place), text)
    await home.until(lambda: str(message) in home.lanes.world.rounds, "the message to be taken")
    await home.settle()
    return str(message)


async def list_of(home: House, who: str) -> tuple[Act, str]:
    act = await home.world.slash(home.world.person(who), home.world.channel("general"), "queue")
    return act, await home.told(act)


async def pressed(home: House, who: str, act: Act, name: str) -> Act:
    message = act.now().message_id
    assert message is not None
    return await home.world.click(home.world.person(who), message, name)


@pytest.mark.anyio
async def test_each_sees_the_list_alone_with_the_buttons_of_his_own_messages(home: House) -> None:
    await said(home, "ann", "first")
    ann, bob = await said(home, "ann", "second"), await said(home, "bob", "third")
    act, text = await list_of(home, "bob")
    assert [re.sub(r"<t:\d+:R>", "T", line) for line in text.splitlines()] == [
        f"Running: by <@{home.world.person('ann').id}>, since T: `first`",
        "**2 waiting**",
        f"1. by <@{home.world.person('ann').id}>, since T: `second`",
        f"2. by <@{home.world.person('bob').id}>, since T: `third`",
    ]
    message = act.now().message_id
    assert message is not None
    assert home.buttons(message) == [f"queue:cancel:{bob}", f"queue:first:{bob}"]
    operator, _ = await list_of(home, "cara")
    message = operator.now().message_id
    assert message is not None
    assert home.buttons(message) == [f"queue:cancel:{ann}", f"queue:cancel:{bob}", f"queue:first:{bob}"]


@pytest.mark.anyio
async def test_an_item_is_moved_to_the_front_and_the_list_shows_it(home: House) -> None:
    await said(home, "ann", "first")
    ann, bob = await said(home, "ann", "second"), await said(home, "bob", "third")
    act, _ = await list_of(home, "bob")
    await pressed(home, "bob", act, f"queue:first:{bob}")
    await home.until(lambda: act.now().content.startswith(notices.moved()), "the list to be edited")
    assert home.lanes.world.lane(str(home.world.channel("general").id)).waiting == (bob, ann)
    message = act.now().message_id
    assert message is not None
    assert home.buttons(message) == [f"queue:cancel:{bob}"]


@pytest.mark.anyio
async def test_an_item_is_cancelled_with_a_receipt_and_the_running_turn_goes_on(home: House) -> None:
    first = await said(home, "ann", "first")
    second = await said(home, "bob", "second")
    act, _ = await list_of(home, "cara")
    await pressed(home, "cara", act, f"queue:cancel:{second}")
    await home.until(lambda: act.now().content.startswith(notices.cancelled()), "the list to be edited")
    general = home.world.channel("general")
    assert (await home.post(general)).startswith("Stopped")
    assert home.world.posts(general)[0].reference == int(second)
    assert home.round(first) == "RUNNING"
    # The list that another one still holds is out of date: pressing it changes nothing and says so.
    again = await home.world.click(
        home.world.person("bob"), act.now().message_id or 0, f"queue:cancel:{second}", force=True
    )
    assert await home.told(again) == notices.outdated()
    assert len(home.of(facts.Ended)) == 1


@pytest.mark.anyio
async def test_what_runs_already_is_neither_cancelled_nor_moved(home: House) -> None:
    first = await said(home, "ann", "first")
    act, _ = await list_of(home, "ann")
    for name in (f"queue:cancel:{first}", f"queue:first:{first}", "queue:page:x", "queue:page:-1", "queue:"):
        press = await home.world.click(home.world.person("ann"), act.now().message_id or 0, name, force=True)
        assert await home.told(press) == notices.outdated()
    assert home.round(first) == "RUNNING"
    assert home.of(facts.Moved) == []


@pytest.mark.anyio
async def test_pages_are_turned_in_place(home: House) -> None:
    waiting = [await said(home, "ann", f"number {number}") for number in range(PAGE + 3)][1:]
    act, text = await list_of(home, "ann")
    assert f"**{PAGE + 2} waiting**, page 1 of 2" in text
    await pressed(home, "ann", act, "queue:page:1")
    await home.until(lambda: "page 2 of 2" in act.now().content, "the second page")
    message = act.now().message_id
    assert message is not None
    shown = [name for name in home.buttons(message) if name.startswith("queue:cancel:")]
    assert shown == [f"queue:cancel:{name}" for name in waiting[PAGE:]]
    assert act.followups == []


@pytest.mark.anyio
async def test_only_an_operator_hears_of_other_lanes(home: House) -> None:
    """CONTRACT: `/queue` shows only the lane it is used in; operators see all, privately."""
    await said(home, "ann", "first", "secret")
    await said(home, "ann", "second", "secret")
    _, bob = await list_of(home, "bob")
    assert bob == "Nothing waits here."
    act, _ = await list_of(home, "cara")
    await home.until(lambda: act.followups, "the other lanes")
    where = home.world.channel("secret").id
    assert f"<#{where}>: 1 waiting, by <@{home.world.person('ann').id}>" in await home.told(act)
