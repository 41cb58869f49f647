"""What people do with commands: access first, then an input for the lanes and an answer; no state.

Every answer tells what the lanes really did: it is given after their step was recorded and performed. Buttons are
next door; commands that only look at things read the world and the ledger.
"""

import re
from dataclasses import dataclass
from functools import partial
from typing import Literal, cast

import msgspec
from msgspec.structs import replace

from connector import facts, header, notices, usage
from connector.access import Act, admits, without_mentions
from connector.lane_effects import Tell
from connector.lane_events import Arrived, StopAsked
from connector.ledger import LedgerBroken
from connector.ledger_read import Step, dead_letters, steps_of
from connector.ledger_spend import sums
from connector.people_buttons import Buttons
from connector.people_desk import Acted, Desk
from connector.people_session import ACTS, SessionActs
from connector.ports import Commanded, Pressed
from connector.queue_page import other_lanes, queue_page
from connector.spend import day_of
from connector.status import all_lines, lane_lines
from connector.tracing import FOREIGN, Trace
from engine.events import AbortOrphan

Scope = Literal["turn", "lane"]
TRACED = 60
"""So many lines of a trace are shown, the last ones."""

_ID = re.compile(r"([0-9]{15,20})\D*\Z")


@dataclass(frozen=True, slots=True)
class People:
    """The acts of people beside writing messages (CONTRACT, "Who may do what")."""

    desk: Desk
    session: SessionActs

    async def act(self, heard: Acted) -> None:
        """One press or command; it was acknowledged already. A refusal tells nothing of the lists, and is logged."""
        if (why := admits(self.desk.rules, heard.author, heard.place)) is not None:
            self.desk.log.info("message.ignored", lane=heard.place.lane, reason=str(why))
            await heard.answer(notices.refused())
            return
        try:
            await (Buttons(self.desk).pressed(heard) if isinstance(heard, Pressed) else self._commanded(heard))
        except LedgerBroken as broken:  # a disk that is down is told, and no reason to end
            self.desk.log.warning("ledger.broken", reason=str(broken))
            await heard.answer(notices.disk_unread())

    def openly(self, heard: Commanded) -> bool:
        """Whether he may use this command of `ACTS`, so that all may see it (`interactions.Hooks`)."""
        return self.desk.may(heard, ACTS[heard.name]) if heard.name in ACTS else False

    async def _commanded(self, heard: Commanded) -> None:
        match heard.name:
            case "stop":
                await self._stop(heard)
            case "status":
                await self._status(heard)
            case "queue":
                await self._queue(heard)
            case "usage":
                await self._usage(heard)
            case "retry":
                await Buttons(self.desk).again(heard)
            case "trace":
                found = _ID.search(heard.options.get("message", "").strip())
                await (self._trace(heard, int(found[1])) if found else heard.answer(notices.untold()))
            case "Trace" if heard.target is not None:
                reply = heard.target.reply
                ours = heard.target.author.id == self.desk.us(heard.target).id
                # Of one of our posts, the message it answers is meant.
                await self._trace(heard, reply.message if ours and reply is not None else heard.target.id)
            case "Ask pi" if heard.target is not None:
                await self._ask(heard)
            case name if name in ACTS:
                await self.session.commanded(heard)
            case _:
                await heard.answer(notices.outdated())

    async def _stop(self, heard: Commanded) -> None:
        scope = cast("Scope", heard.options.get("scope", "turn"))
        if not self.desk.may(heard, Act.STOP_LANE if scope == "lane" else Act.STOP_TURN):
            await heard.answer(notices.refused())
            return
        by = heard.author
        step = await self.desk.dispatcher.ask(StopAsked(heard.place.lane, heard.place.channel, by.id, by.name, scope))
        count = sum(isinstance(fact, facts.StopMarked) for fact in step.facts)
        orphan = any(isinstance(effect, Tell) and isinstance(effect.given, AbortOrphan) for effect in step.effects)
        await heard.answer(notices.stopping(count) if count or orphan else notices.nothing_to_stop())

    async def _status(self, heard: Commanded) -> None:
        lanes, here, now = self.desk.dispatcher.lanes, heard.place.lane, self.desk.clock.now()
        if self.desk.may(heard, Act.SEE_ALL):
            lines = all_lines(lanes, here, await self.desk.ledger.look(dead_letters), now)
        else:
            lines = lane_lines(lanes, here, await self.desk.ledger.look(partial(dead_letters, lane=here)), now)
        await heard.answer("\n".join(lines))

    async def _queue(self, heard: Commanded) -> None:
        here = heard.place.lane
        page = queue_page(self.desk.world, here, 0, Buttons(self.desk).has(heard))
        await heard.answer(page.text, buttons=page.buttons)
        others = other_lanes(self.desk.world, here) if self.desk.may(heard, Act.SEE_ALL) else []
        if others:
            await heard.answer("\n".join(["**Elsewhere**", *others]))

    async def _usage(self, heard: Commanded) -> None:
        here, person = heard.place.lane, heard.author.id
        lanes, day = self.desk.dispatcher.lanes, day_of(self.desk.clock.now())
        since = day - usage.DAYS + 1
        found = await self.desk.ledger.look(partial(sums, since=since, lane=here))
        lines = usage.lane_lines(found, day, lanes.rules.spend, lanes.world.today, (here, person))
        if self.desk.may(heard, Act.SEE_ALL):
            lines += usage.all_lines(await self.desk.ledger.look(partial(sums, since=since)), day)
        await heard.answer("\n".join(lines))

    async def _trace(self, heard: Commanded, message: int) -> None:
        """Operators see all of it; others what belongs to their lane or to a message that stands here."""
        steps = await self.desk.ledger.look(partial(steps_of, message=message))
        operator = self.desk.may(heard, Act.SEE_DETAIL)
        seen = steps if operator else [step for step in steps if _belongs(step, steps, heard)]
        if not seen:
            await heard.answer(notices.untold())
            return
        lines = Trace(message, tuple(seen)).lines(self.desk.redactor, hide=frozenset() if operator else FOREIGN)
        cut = ["…"] if len(lines) > TRACED else []
        shown = "\n".join([lines[0], *cut, *lines[1:][-TRACED:]]).replace("```", "ˋˋˋ")
        await heard.answer(f"```\n{shown}\n```")

    async def _ask(self, heard: Commanded) -> None:
        """Ask a message's text in its lane, in the name of the person who chose it (CONTRACT)."""
        target = heard.target
        if target is None or not self.desk.may(heard, Act.ASK):
            await heard.answer(notices.refused())
            return
        us = self.desk.us(target)
        if target.author.id == us.id:
            await heard.answer(notices.own_message())
            return
        written = replace(target, text=without_mentions(us, target), place=heard.place)
        if header.nothing_to_ask(written):
            await heard.answer(notices.nothing_to_ask())
            return
        refusal = self.desk.dispatcher.lanes.full(heard.place.lane, heard.author.id)
        if refusal:
            await heard.answer(refusal)
            return
        now = self.desk.clock.now()
        others = target.author.id != heard.author.id
        notes = (f"written by {header.clean(target.author.name)}, asked by the person above",) if others else ()
        asked = replace(written, author=heard.author)
        claim = self.desk.hearing.claim(asked, now, thread=False, origin=facts.Origin.ASK, notes=notes)
        step = await self.desk.dispatcher.ask(Arrived(msgspec.structs.replace(claim, round=f"{target.id}.{now}")))
        took = any(isinstance(fact, facts.Claimed) for fact in step.facts)
        await heard.answer(notices.asked() if took else notices.outdated())


def _belongs(step: Step, steps: list[Step], heard: Commanded) -> bool:
    """Whether a step is of this lane, or of a message that stands here and has a thread of its own."""
    if step.lane == heard.place.lane:
        return True
    claims = (one.fact for one in steps if one.round == step.round and isinstance(one.fact, facts.Claimed))
    return any(claim.parent == heard.place.channel for claim in claims)
