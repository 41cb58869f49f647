"""What people press: each button's round is looked up and must belong to its channel, its kind and a live round."""

from collections.abc import Awaitable, Callable
from functools import partial

import msgspec
from msgspec import Struct

from connector import facts, notices, notices_spend
from connector.access import Act
from connector.lane_events import Arrived, Cancel, Extend, Hurry, Input, MoveFirst, StopAsked
from connector.lanes import Stepped
from connector.ledger_read import newest_offer
from connector.people_desk import Acted, Desk
from connector.people_dialogs import DialogActs
from connector.ports import Commanded, Pressed
from connector.queue_page import page_of, queue_page
from connector.spend import day_end, day_of
from connector.world import Phase, Round
from engine.events import SECOND


class Buttons(Struct, frozen=True):
    """Stop, Retry, a cap's extension and those of `/queue`; whoever presses one has access."""

    desk: Desk

    async def pressed(self, heard: Pressed) -> None:
        """One press."""
        kind, _, name = heard.custom_id.partition(":")
        match kind:
            case "stop":
                await self._on_round(heard, name, Act.STOP_TURN, self._stop)
            case "retry":
                await self._retry(heard, name, notices.outdated())
            case "spend":
                await self._on_round(heard, name, Act.EXTEND_SPEND, self._extend)
            case "queue":
                await self._queue(heard, name)
            case "dialog":
                await DialogActs(self.desk).pressed(heard)
            case _:
                await heard.answer(notices.outdated())

    def has(self, heard: Acted) -> Callable[[Round], bool]:
        """Whether he may cancel and move a waiting round: its author or an operator."""
        return lambda round_: self.desk.may(heard, Act.CANCEL, asked=round_.author == heard.author.id)

    async def _on_round(self, heard: Acted, name: str, act: Act, do: Callable[[Acted, Round], Awaitable[None]]) -> None:
        """Look the round up: it must be live and of the channel where the button was pressed."""
        round_ = self.desk.world.rounds.get(name)
        if round_ is None or not round_.pending or round_.channel != heard.place.channel:
            await heard.answer(notices.outdated())
        elif not self.desk.may(heard, act, asked=round_.author == heard.author.id):
            await heard.answer(notices.refused())
        else:
            await do(heard, round_)

    async def _does(self, given: Input, fact: type[facts.Fact]) -> bool:
        """Whether the lanes, given this, recorded such a fact: another press may have come first."""
        step = await self.desk.dispatcher.ask(given)
        return _recorded(step, fact)

    async def _stop(self, heard: Acted, round_: Round) -> None:
        by = heard.author
        asked = StopAsked(round_.lane, round_.channel, by.id, by.name, "round", round_.id)
        step = await self.desk.dispatcher.ask(asked)
        count = sum(isinstance(fact, facts.StopMarked) for fact in step.facts)
        await heard.answer(notices.stopping(count) if count else notices.outdated())

    async def _extend(self, heard: Acted, round_: Round) -> None:
        """Adds the cap's amount once more for today; the lanes log who did it."""
        scope = self.desk.dispatcher.lanes.cap_on(round_)
        done = scope is not None and await self._does(Extend(round_.id, heard.author.id), facts.Extended)
        cap = self.desk.dispatcher.lanes.rules.spend.of(scope) if scope is not None else 0.0
        await heard.answer(notices_spend.extended(cap) if done else notices.outdated())

    # -- the queue -------------------------------------------------------------------------------------------------

    async def _queue(self, heard: Pressed, name: str) -> None:
        verb, _, name = name.partition(":")
        match verb:
            case "first":
                await self._on_round(heard, name, Act.MOVE, self._move)
            case "cancel":
                await self._on_round(heard, name, Act.CANCEL, self._cancel)
            case "page" if name.isascii() and name.isdigit() and len(name) < 6:
                await self._show(heard, int(name))
            case _:
                await heard.answer(notices.outdated())

    async def _move(self, heard: Acted, round_: Round) -> None:
        moved = await self._does(MoveFirst(round_.id), facts.Moved)
        await (self._show(heard, 0, notices.moved()) if moved else heard.answer(notices.outdated()))

    async def _cancel(self, heard: Acted, round_: Round) -> None:
        page = page_of(self.desk.world, round_)
        ended = await self._does(Cancel(round_.id), facts.Ended)
        await (self._show(heard, page, notices.cancelled()) if ended else heard.answer(notices.outdated()))

    async def _show(self, heard: Acted, number: int, said: str = "") -> None:
        """The list as it is now, in the place of the one that was pressed."""
        page = queue_page(self.desk.world, heard.place.lane, number, self.has(heard))
        text = f"{said}\n{page.text}" if said else page.text
        await heard.answer(text, buttons=page.buttons, in_place=True)

    # -- retry -----------------------------------------------------------------------------------------------------

    async def again(self, heard: Commanded) -> None:
        """`/retry`: as the button of what waits in backoff here, else of the newest round that ended with one here."""
        here = heard.place.channel
        waits = [one for one in self.desk.world.rounds.values() if one.channel == here and one.phase is Phase.BACKOFF]
        name = waits[-1].id if waits else await self.desk.ledger.look(partial(newest_offer, channel=here))
        await self._retry(heard, name, notices.nothing_to_retry())

    async def _retry(self, heard: Acted, name: str, over: str) -> None:
        """A fresh round of the same message; where the old one waits in backoff, that wait is over instead.

        `over`: what he is told where there is no such round any more.
        """
        known = self.desk.world.rounds.get(name)
        if known is not None and known.pending:
            await self._on_round(heard, name, Act.RETRY, partial(self._hurry, over=over))
            return
        ended = await self._ended(heard, name)
        if ended is None:
            await heard.answer(over)
        elif not self.desk.may(heard, Act.RETRY, asked=ended.author == heard.author.id):
            await heard.answer(notices.refused())
        elif refusal := self.desk.dispatcher.lanes.full(ended.lane, ended.author):
            await heard.answer(refusal)
        else:
            again = retried(ended, self.desk.clock.now())
            took = not await self.desk.ledger.story(again.round) and await self._does(Arrived(again), facts.Claimed)
            await heard.answer(notices.retrying() if took else over)

    async def _ended(self, heard: Acted, name: str) -> facts.Claimed | None:
        """The claim, as last edited, of a round of this channel that ended with a Retry button."""
        claim: facts.Claimed | None = None
        offered = False
        for fact in await self.desk.ledger.story(name):
            match fact:
                case facts.Claimed():
                    claim = fact
                case facts.Edited(text=text) if claim is not None:
                    claim = msgspec.structs.replace(claim, text=text)
                case facts.Owed(retry=True):
                    offered = True
                case _:
                    pass
        if claim is None or not offered or not claim.text or claim.message in self.desk.world.unsaid:
            return None  # its text is gone, or goes: deleted, or too old
        channel = self.desk.world.redirects.get(claim.channel, claim.channel)
        return claim if channel == heard.place.channel else None

    async def _hurry(self, heard: Acted, round_: Round, over: str) -> None:
        """The wait is over; where a spending cap would hold the message back all the same, that is said instead."""
        lanes = self.desk.dispatcher.lanes
        if (scope := lanes.cap_on(round_)) is not None:
            until = day_end(day_of(self.desk.clock.now())) // SECOND
            await heard.answer(notices_spend.capped(scope, lanes.rules.spend.of(scope), until))
            return
        done = await self._does(Hurry(round_.id), facts.Hurried)
        await heard.answer(notices.retrying() if done else over)


def _recorded(step: Stepped, fact: type[facts.Fact]) -> bool:
    return any(isinstance(one, fact) for one in step.facts)


def retried(claim: facts.Claimed, now: int) -> facts.Claimed:
    """The claim of a new round for the same message (BEHAVIOUR §0: the old one stays terminal).

    It counts on from the round that it repeats, so that one button makes one round, however often it is pressed.
    """
    base, _, number = claim.round.partition(".")
    again = f"{base}.{int(number or 0) + 1}"
    return msgspec.structs.replace(claim, round=again, at=now, origin=facts.Origin.RETRY, parent=0)
