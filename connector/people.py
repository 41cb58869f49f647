"""What people do with buttons and commands: access first, then an input for the lanes and an answer; no state."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, cast

import msgspec

from connector import facts, notices
from connector.access import Act, Rules, admits, may
from connector.clock import Clock
from connector.dispatch import Dispatcher
from connector.lane_events import Arrived, Cancel, Hurry, MoveFirst, StopAsked
from connector.ledger import Ledger
from connector.logs import Log
from connector.messages import Author
from connector.ports import Commanded, Pressed
from connector.status import lane_lines, queue_lines
from connector.world import Phase, Round

Scope = Literal["turn", "lane"]


@dataclass(frozen=True, slots=True)
class People:
    """The acts of people beside writing messages (CONTRACT, "Who may do what")."""

    rules: Rules
    dispatcher: Dispatcher
    ledger: Ledger
    clock: Clock
    log: Log

    async def act(self, heard: Pressed | Commanded) -> None:
        """One press or command; it was acknowledged already."""
        if admits(self.rules, heard.author, heard.place) is not None:
            self.log.info("message.ignored", lane=heard.place.lane, reason="person-not-allowed")
            await heard.answer(notices.refused())
        elif isinstance(heard, Pressed):
            await self._pressed(heard)
        else:
            await self._commanded(heard)

    # -- commands --------------------------------------------------------------------------------------------------

    async def _commanded(self, heard: Commanded) -> None:
        world, lane = self.dispatcher.lanes.world, heard.place.lane
        operator = heard.author.id in self.rules.operators
        match heard.name:
            case "stop":
                scope = cast("Scope", heard.options.get("scope", "turn"))
                act = Act.STOP_LANE if scope == "lane" else Act.STOP_TURN
                await (self._stop(heard, scope) if self._may(heard, act) else heard.answer(notices.refused()))
            case "status":
                await heard.answer("\n".join(lane_lines(self.dispatcher.lanes, None if operator else lane)))
            case "queue":
                await heard.answer("\n".join(queue_lines(world, lane)))
            case _:
                await heard.answer(notices.outdated())

    async def _stop(self, heard: Commanded, scope: Scope) -> None:
        open_rounds = self.dispatcher.lanes.world.open_in(heard.place.lane)
        kid = self.dispatcher.lanes.kids.get(heard.place.lane)
        orphan = scope == "lane" and kid is not None and kid.busy and not open_rounds
        found = bool(open_rounds) or orphan
        self.dispatcher.put(StopAsked(heard.place.lane, heard.place.channel, heard.author.id, heard.author.name, scope))
        count = len(open_rounds) if scope == "lane" else min(1, len(open_rounds))
        await heard.answer(notices.stopping(count) if found else notices.nothing_to_stop())

    def _may(self, heard: Pressed | Commanded, act: Act, *, asked: bool = False) -> bool:
        lane = self.dispatcher.lanes.world.lane(heard.place.lane)
        one = len(lane.people) <= 1
        return may(self.rules, heard.author, heard.place, act, asked=asked, one_person=one)

    # -- buttons ---------------------------------------------------------------------------------------------------

    async def _pressed(self, heard: Pressed) -> None:
        kind, _, name = heard.custom_id.partition(":")
        match kind:
            case "stop":
                await self._on_round(heard, name, Act.STOP_TURN, self._stop_round)
            case "retry":
                await self._retry(heard, name)
            case "queue":
                verb, _, name = name.partition(":")
                act, done = (Act.MOVE, self._move) if verb == "first" else (Act.CANCEL, self._cancel)
                await self._on_round(heard, name, act, done)
            case _:
                await heard.answer(notices.outdated())

    async def _on_round(self, heard: Pressed, name: str, act: Act, do: Callable[[Author, Round], str]) -> None:
        """Look the round up: it must be live and of the channel where the button was pressed."""
        round_ = self.dispatcher.lanes.world.rounds.get(name)
        if round_ is None or not round_.pending or round_.lane != heard.place.lane:
            await heard.answer(notices.outdated())
        elif not self._may(heard, act, asked=round_.author == heard.author.id):
            await heard.answer(notices.refused())
        else:
            await heard.answer(do(heard.author, round_))

    def _stop_round(self, by: Author, round_: Round) -> str:
        self.dispatcher.put(StopAsked(round_.lane, round_.channel, by.id, by.name, "round", round_.id))
        return notices.stopping(1)

    def _move(self, _by: Author, round_: Round) -> str:
        self.dispatcher.put(MoveFirst(round_.id))
        return notices.moved()

    def _cancel(self, _by: Author, round_: Round) -> str:
        self.dispatcher.put(Cancel(round_.id))
        return notices.stopping(1)

    async def _retry(self, heard: Pressed, name: str) -> None:
        """A fresh round of the same message; where the old one waits in backoff, that wait is over instead."""
        world = self.dispatcher.lanes.world
        waiting = world.rounds.get(name)
        if waiting is not None and waiting.phase is Phase.BACKOFF:
            await self._on_round(heard, name, Act.RETRY, self._hurry)
            return
        claim = next((fact for fact in await self.ledger.story(name) if isinstance(fact, facts.Claimed)), None)
        if claim is None or claim.lane != heard.place.lane or (waiting is not None and waiting.pending):
            await heard.answer(notices.outdated())
        elif not self._may(heard, Act.RETRY, asked=claim.author == heard.author.id):
            await heard.answer(notices.refused())
        else:
            again = retried(claim, await self.ledger.rounds_of(claim.message), self.clock.now())
            self.dispatcher.put(Arrived(again))
            await heard.answer(notices.retrying())

    def _hurry(self, _by: Author, round_: Round) -> str:
        self.dispatcher.put(Hurry(round_.id))
        return notices.retrying()


def retried(claim: facts.Claimed, number: int, now: int) -> facts.Claimed:
    """The claim of a new round for the same message (BEHAVIOUR §0: the old one stays terminal)."""
    return msgspec.structs.replace(
        claim, round=f"{claim.message}.{number}", at=now, origin=facts.Origin.RETRY, parent=0
    )
