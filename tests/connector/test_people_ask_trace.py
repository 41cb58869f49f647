"""The entries in a message's menu, "Ask pi" and "Trace", `/trace` and `/status`: who is told what (CONTRACT)."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from connector import facts, notices
from connector.access import Rules
from connector.lane_base import LaneRules
from engine import events as told
from fakes.discord import FakeDiscord, Place
from fakes.house import House, house

pytestmark = pytest.mark.anyio
SECRET = "sk-abcdefghijklmnop"


@pytest.fixture
async def home(world: FakeDiscord, tmp_path: Path) -> AsyncIterator[House]:
    """Ann and Bob have access, Cara is an operator, Dora has none; lines need a mention, and there are no cards."""
    ids = [world.person(name).id for name in ("ann", "bob", "cara")]
    rules = Rules(users=frozenset(ids[:2]), operators=frozenset(ids[2:]))
    async with house(world, tmp_path, rules, cards=False, lane_rules=LaneRules(busy="queue", capacity=2)) as home:
        await world.wait_for(lambda: world.commands)
        yield home


async def choose(home: House, who: str, entry: str, message: int, place: Place | None = None) -> str:
    place = place or home.world.channel("general")
    return await home.told(await home.world.context_menu(home.world.person(who), place, entry, message))


async def runs(home: House, who: str, text: str, place: Place | None = None) -> str:
    place = place or home.world.channel("general")
    name = str(await home.world.say(home.world.person(who), place, text, mention=True))
    await home.comes(name, "RUNNING")
    return name


# -- ask -----------------------------------------------------------------------------------------------------------


async def test_ask_pi_asks_the_text_in_its_lane_in_the_name_of_who_chose_it(home: House) -> None:
    """CONTRACT; who wrote it is said to the agent, in a bracketed line, and the answer refers to that message."""
    world, general = home.world, home.world.channel("general")
    dora, ann = world.person("dora"), world.person("ann")
    message = await world.say(dora, general, "what is\n\nthis?")
    assert await choose(home, "ann", "Ask pi", message) == notices.asked()
    (claim,) = home.of(facts.Claimed)
    assert isinstance(claim, facts.Claimed)
    assert (claim.lane, claim.author, claim.message, claim.origin) == (
        str(general.id),
        ann.id,
        message,
        facts.Origin.ASK,
    )
    await home.comes(claim.round, "RUNNING")
    header = f"[discord] #general · ann ({ann.id}) · {message}\n[written by dora, asked by the person above]"
    assert home.puppets.prompts() == [(str(general.id), f"{header}\n\nwhat is\n\nthis?")]
    await home.answers(claim.round, "a test")
    assert await home.post(general) == "a test"
    assert world.posts(general)[0].reference == message


async def test_ask_pi_of_ones_own_message_needs_no_such_line_and_may_be_repeated(home: House) -> None:
    message = await home.world.say(home.world.person("ann"), home.world.channel("general"), "hello")
    assert await choose(home, "ann", "Ask pi", message) == notices.asked()
    assert await choose(home, "ann", "Ask pi", message) == notices.asked()
    await home.until(home.puppets.prompts)
    assert home.puppets.prompts()[0][1].partition("\n")[2] == "\nhello"
    assert len({fact.round for fact in home.of(facts.Claimed) if isinstance(fact, facts.Claimed)}) == 2


async def test_what_cannot_be_asked_is_refused_with_its_reason_and_claims_nothing(home: House) -> None:
    """BEHAVIOUR §3.1: our own messages never enter a lane."""
    world, general, ann = home.world, home.world.channel("general"), home.world.person("ann")
    name = await runs(home, "ann", "hello")
    await home.answers(name, "our own words")
    await home.post(general)
    before = len(home.of(facts.Claimed))
    assert await choose(home, "ann", "Ask pi", world.posts(general)[0].id) == notices.own_message()
    empty = await world.say(ann, general, f"<@{world.bot.id}>")
    await home.until(lambda: len(world.posts(general)) == 2, "its own notice")
    before += 1
    assert await choose(home, "ann", "Ask pi", empty) == notices.nothing_to_ask()
    world.forbid(general, "send_messages", person=world.person("bob"))
    assert await choose(home, "bob", "Ask pi", empty) == notices.refused()
    assert await choose(home, "dora", "Ask pi", empty) == notices.refused()
    assert len(home.of(facts.Claimed)) == before


async def test_ask_pi_in_a_full_lane_is_refused_to_the_person_alone(home: House) -> None:
    world, general = home.world, home.world.channel("general")
    await runs(home, "ann", "one")
    for text in ("two", "three"):
        await world.say(world.person("ann"), general, text, mention=True)
    message = await world.say(world.person("bob"), general, "four")
    await home.until(lambda: len(home.lanes.world.lane(str(general.id)).waiting) == 2)
    assert await choose(home, "bob", "Ask pi", message) == notices.lane_full(2)
    assert world.posts(general) == []


# -- trace ---------------------------------------------------------------------------------------------------------


async def failed(home: House, place: Place | None = None) -> str:
    name = await runs(home, "ann", f"the key is {SECRET}", place)
    await home.ends(name, told.Outcome(told.Code.PROVIDER, detail=f"400 the provider's own words, {SECRET}"))
    return name


async def test_a_trace_shows_each_step_to_whoever_is_in_the_lane_and_no_foreign_word(home: House) -> None:
    """CONTRACT: no text of a provider reaches Discord; the rest is, redacted, in an operator's `/trace`."""
    name = await failed(home)
    shown = await choose(home, "bob", "Trace", int(name))
    assert [line.split()[1] for line in shown.splitlines()[3:-1]][:4] == ["claimed", "written", "started", "owed"]
    assert "provider-error" in shown
    assert "own words" not in shown
    assert SECRET not in shown
    operator = await choose(home, "cara", "Trace", int(name))
    assert "own words, [redacted]" in operator
    assert SECRET not in operator


async def test_a_trace_of_our_answer_is_that_of_its_message(home: House) -> None:
    name = await runs(home, "ann", "hello")
    await home.answers(name)
    general = home.world.channel("general")
    await home.post(general)
    assert f"message {name} " in await choose(home, "ann", "Trace", home.world.posts(general)[0].id)


async def test_another_lane_is_an_operators_alone(home: House) -> None:
    world, general, other = home.world, home.world.channel("general"), home.world.channel("other")
    name = await failed(home, other)
    link = f"https://discord.com/channels/{world.guild.id}/{other.id}/{name}"
    for who, sees in (("bob", False), ("cara", True)):
        for typed in (name, link):
            act = await world.slash(world.person(who), general, "trace", {"message": typed})
            assert (f"message {name} " in await home.told(act)) is sees
    act = await world.slash(world.person("bob"), other, "trace", {"message": link})
    assert f"message {name} " in await home.told(act)


@pytest.mark.parametrize("typed", ["", "no number", "123", "9" * 19, "'; DROP TABLE facts"])
async def test_what_is_no_message_of_ours_is_untold(home: House, typed: str) -> None:
    act = await home.world.slash(home.world.person("cara"), home.world.channel("general"), "trace", {"message": typed})
    assert await home.told(act) == notices.untold()


async def test_the_message_a_thread_was_opened_on_is_traced_where_it_stands(world: FakeDiscord, tmp_path: Path) -> None:
    ann = world.person("ann")
    async with house(world, tmp_path, Rules(users=frozenset({ann.id})), cards=False, threads=True) as home:
        await world.wait_for(lambda: world.commands)
        name = await runs(home, "ann", "hello")
        assert f"message {name} in lane {name}" in await choose(home, "ann", "Trace", int(name))


# -- status --------------------------------------------------------------------------------------------------------


async def test_status_is_of_the_lane_and_for_an_operator_of_all(home: House) -> None:
    world, general, other = home.world, home.world.channel("general"), home.world.channel("other")
    await runs(home, "ann", "one")
    second = await runs(home, "ann", "two", other)
    await home.limited(second)
    until = home.lanes.world.rounds[second].until // 10**9
    here = f"<#{general.id}>: 1 running, 0 waiting; its agent is up."
    assert await home.told(await world.slash(world.person("bob"), general, "status")) == here
    assert await home.told(await world.slash(world.person("cara"), general, "status")) == "\n".join(
        [
            here,
            f"<#{other.id}>: 0 running, 0 waiting, asked again <t:{until}:R>; its agent is up.",
            f"Nothing is sent to `fake/scripted` before <t:{until}:R>.",
        ]
    )


async def test_dead_letters_are_listed(home: House) -> None:
    """Issue 4: dead letters with `status` listing them; each lane sees its own."""
    world, general, other = home.world, home.world.channel("general"), home.world.channel("other")
    name = await runs(home, "ann", "one", other)
    for _ in range(3):
        await home.ends(name, told.Outcome(told.Code.REFUSED, busy=True))
    assert home.of(facts.Ended)[-1:] == [facts.Ended(name, "dead")]
    nothing = f"<#{general.id}>: 0 running, 0 waiting; no agent runs."
    assert await home.told(await world.slash(world.person("bob"), general, "status")) == nothing
    listed = await home.told(await world.slash(world.person("bob"), other, "status"))
    assert listed.splitlines()[1] == "Given up after every allowed try: 1."
    assert listed.splitlines()[2].startswith(f"- message {name}, <t:")
    everywhere = await home.told(await world.slash(world.person("cara"), general, "status"))
    assert f"- message {name} in <#{other.id}>, <t:" in everywhere
