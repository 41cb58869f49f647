"""Performs what the lanes decided, each effect by the part it belongs to; it decides nothing."""

import asyncio
from collections.abc import Callable, Coroutine
from enum import IntEnum, auto
from typing import Any, assert_never

from msgspec import Struct

from connector import notices
from connector.access import Us
from connector.children import Children
from connector.clock import Clock
from connector.hearing import Hearing
from connector.lane_effects import (
    Amend,
    Behind,
    Effect,
    ErrandDone,
    Fetch,
    FilesOver,
    Log,
    MayShow,
    OpenThread,
    Post,
    Quit,
    React,
    Retire,
    Spawn,
    Tell,
    Typing,
    Withdraw,
)
from connector.lane_events import Input
from connector.lanes import Lanes, Stepped
from connector.ledger import Ledger
from connector.logs import Log as Logger
from connector.messages import Message
from connector.ports import Discord, PostLater, PostNever
from connector.posting import Posting
from connector.showing import Showing
from connector.threads import Threads
from engine.events import Limits

SIGNS = {
    "accepted": "👀",
    "waiting": "⏳",
    "heard": "👂",
    "answered": "✅",
    "failed": "⚠️",
    "stopped": "🛑",
    "late": "🔒",
}


BREATH = 0.001
"""Seconds behind a first sign or a post in which nothing more is begun: the child, and whoever carries that request on,
need a processor now; further signs and the lines of the log do not."""

TYPING_DELAY = 0.25
"""Seconds from the first sign of life to the typing line: an answer that comes sooner needs none."""


class Rank(IntEnum):
    """The order of one batch's effects.

    What is done comes first: a prompt is one write to a pipe, and building the request of a sign takes longer than
    that. Then the sign that a person waits for, then further ones; what is only written down comes last.
    """

    WORK = auto()
    LIFE = auto()
    COURTESY = auto()
    RECORD = auto()


def rank(effect: Effect) -> Rank:
    """Where an effect stands in its batch."""
    match effect:
        case React(sign="accepted"):
            return Rank.LIFE
        case React() | Typing() | MayShow() | Behind():
            return Rank.COURTESY
        case Log():
            return Rank.RECORD
        case _:
            return Rank.WORK


class Parts(Struct, frozen=True):
    """What a dispatcher works with; `dialog_timeout` in nanoseconds."""

    lanes: Lanes
    ledger: Ledger
    discord: Discord
    hearing: Hearing
    clock: Clock
    log: Logger
    reactions: bool
    cards: bool
    us: Callable[[Message], Us]
    dialog_timeout: int = Limits().tool_timeout


class Hands(Struct, frozen=True):
    """The parts that an effect may need, and ways back into the dispatcher."""

    children: Callable[[], Children]
    posting: Callable[[], Posting]
    threads: Threads
    showing: Showing
    spawn: Callable[[Coroutine[Any, Any, None]], None]
    ask: Callable[[Input], Coroutine[Any, Any, Stepped]]
    errand_done: Callable[[ErrandDone], None]
    fetch: Callable[[Fetch], None]
    quit: Callable[[Quit], None]


class Performing(Struct, frozen=True):
    """The lanes' hands."""

    _parts: Parts
    _hands: Hands

    def perform(self, effect: Effect) -> None:
        """One effect, begun at once; its facts are on the disk."""
        match effect:
            case Spawn(lane, child):
                self._hands.children().spawn(lane, child, self._parts.lanes.world.lane(lane).session)
            case Retire(lane, child):
                self._hands.children().retire(lane, child)
            case Tell(lane, child, given):
                self._hands.children().tell(lane, child, given)
            case Fetch():
                self._hands.fetch(effect)
            case OpenThread():
                self._hands.threads.expect(effect)
                self._hands.spawn(self._open_thread(effect))
            case Post(owed, posted, last, fresh):
                if not self._hands.threads.holds(owed):
                    self._hands.posting().owe(owed, posted=posted, last=last, fresh=fresh)
            case FilesOver(key):
                self._hands.posting().forget(key)
            case Amend():
                self._hands.spawn(self._amend(effect))
            case Withdraw(round_):
                self._withdraw(round_)
            case React(channel, message, sign):
                if self._parts.reactions:
                    self._hands.spawn(self._react(channel, message, SIGNS[sign]))
            case Typing(channel, on):
                if channel not in self._hands.threads.opening or not on:
                    self._hands.posting().typing(channel, on=on, after=TYPING_DELAY if self._parts.reactions else 0.0)
            case Behind():
                self._hands.showing.behind(effect)
            case MayShow(key):
                self._hands.posting().recorded(key)
            case ErrandDone():
                self._hands.errand_done(effect)
            case Log(event, fields):
                self._parts.log.info(event, **dict(fields))
            case Quit():
                self._hands.quit(effect)
            case _:
                assert_never(effect)

    async def _amend(self, effect: Amend) -> None:
        """Verified, not hoped: what the stopped turn's tools left running is looked for, off the loop, and named."""
        left = await asyncio.to_thread(self._hands.children().left, effect.lane, effect.child)
        self._hands.posting().show(effect.key, effect.channel, notices.settled(effect.text, left))
        self._hands.posting().finish(effect.key)

    def _withdraw(self, round_: str) -> None:
        self._hands.threads.withdraw(round_)
        self._hands.posting().drop(round_)

    async def _react(self, channel: int, message: int, sign: str) -> None:
        """A sign is a courtesy: one that fails is logged and left."""
        try:
            await self._parts.discord.react(channel, message, sign)
        except (PostLater, PostNever) as trouble:
            self._parts.log.debug("reaction.failed", message_id=message, reason=trouble.reason)

    async def _open_thread(self, effect: OpenThread) -> None:
        """Held until its end is recorded: what is decided meanwhile still belongs to a thread that may not be had."""
        done = await self._hands.threads.open(effect)
        await self._hands.ask(done)
        self._hands.threads.release(done)
        self._hands.showing.thread_done(done.channel, done.parent, opened=done.opened)
        if str(done.channel) in self._parts.lanes.shown:
            self._hands.posting().typing(done.channel if done.opened else done.parent, on=True)
