"""Reactions as signs: what became of a message is seen on it, and nothing is where they are switched off (CONTRACT)."""

from pathlib import Path

import pytest

from connector import facts
from connector.access import Rules
from connector.lane_base import LaneRules
from connector.performing import SIGNS
from engine import events as told
from engine.state import Advice
from fakes.discord import FakeDiscord
from fakes.house import House, house

pytestmark = pytest.mark.anyio
REACTION = "/channels/{channel_id}/messages/{message_id}/reactions/{emoji}/@me"


async def said(home: House, text: str, phase: str, place: str = "general") -> int:
    message = await home.world.say(home.world.person("ann"), home.world.channel(place), text)
    await home.comes(message, phase)
    return message


async def live(home: House) -> dict[str, int]:
    """Every sign's occasion; the messages by what became of them."""
    answered = await said(home, "one", "RUNNING")
    home.puppets.advice = Advice.STEER
    heard = await said(home, "and this", "STEERED")
    rounds = home.lanes.world.rounds
    turns = [rounds[str(message)].turn for message in (answered, heard)]
    home.puppets.says(rounds[str(heard)].lane, told.Heard(turns[1], turns[0]), busy=True)
    await home.comes(heard, "JOINED")
    await home.world.edit(answered, "one, no, two")
    await home.until(lambda: facts.Late(str(answered)) in home.kept, "the edit")
    home.puppets.says(
        rounds[str(heard)].lane,
        told.Ended(turns[0], told.Outcome(told.Code.ANSWERED, text="done")),
        told.Ended(turns[1], told.Outcome(told.Code.JOINED, into=turns[0])),
        told.Released(turns[0]),
        busy=False,
    )
    await home.comes(answered, "")
    failed = await said(home, "fails", "RUNNING", "third")
    await home.fails(failed)
    await home.comes(failed, "")
    stopped = await said(home, "runs", "RUNNING", "fourth")
    await said(home, "stop", "", "fourth")
    await home.comes(stopped, "")
    # Last: it closes the way to the provider for everybody.
    waiting = await said(home, "limited", "RUNNING", "other")
    await home.limited(waiting)
    await home.comes(waiting, "BACKOFF")
    return {"answered": answered, "heard": heard, "waiting": waiting, "failed": failed, "stopped": stopped}


async def test_each_message_shows_what_became_of_it(world: FakeDiscord, tmp_path: Path) -> None:
    wanted = {
        "answered": ["accepted", "late", "answered"],
        "heard": ["accepted", "heard", "answered"],
        "waiting": ["accepted", "waiting"],
        "failed": ["accepted", "failed"],
        "stopped": ["accepted", "stopped"],
    }
    rules = Rules(users=frozenset({world.person("ann").id}), respond="all")
    async with house(world, tmp_path, rules, lane_rules=LaneRules(busy="steer"), cards=False) as home:
        messages = await live(home)
        signs = {what: sorted(SIGNS[sign] for sign in signs) for what, signs in wanted.items()}
        # Each is asked for by itself, so they may stand in another order than they were decided in.
        await home.until(
            lambda: {what: sorted(world.reactions(message)) for what, message in messages.items()} == signs, "the signs"
        )


async def test_nothing_is_shown_where_signs_are_switched_off(world: FakeDiscord, tmp_path: Path) -> None:
    rules = Rules(users=frozenset({world.person("ann").id}), respond="all")
    steers = LaneRules(busy="steer")
    async with house(world, tmp_path, rules, lane_rules=steers, cards=False, reactions=False) as home:
        await live(home)
        await world.wait_for(lambda: world.typings(world.channel("other")), what="the typing line, the other sign")
    assert world.sent("PUT", REACTION) == []
