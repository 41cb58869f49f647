"""`step(input, now)`: queues, Stop, bounds and recovery of all lanes as facts and effects; pure (BEHAVIOUR §2-§6).

The shell puts the facts of a step on the disk in one transaction and only then performs its effects, in order.
"""

import heapq
from dataclasses import dataclass
from typing import assert_never

from connector import facts, notices
from connector.lane_base import SECOND, Kid, Stand
from connector.lane_events import (
    Arrived,
    Cancel,
    ChildDown,
    ChildSays,
    ChildUp,
    Effect,
    Fault,
    Forget,
    Hurry,
    Input,
    MoveFirst,
    OpenThread,
    Overlooked,
    Post,
    PostDone,
    React,
    Recover,
    Rewrite,
    SessionGone,
    Shutdown,
    StopAsked,
    ThreadDone,
    Tick,
    Withdraw,
)
from connector.lane_told import Told
from connector.notices import Halted
from connector.world import AT_CHILD, Phase, Round
from engine import events as engine
from engine.state import Advice


@dataclass(frozen=True, slots=True)
class Stepped:
    """What one step decided. `closed`: rounds that need no recovery any more."""

    facts: tuple[facts.AnyFact, ...]
    effects: tuple[Effect, ...]
    closed: tuple[str, ...]


class Lanes(Told):
    """All lanes of one connector."""

    __slots__ = ()

    def step(self, given: Input, now: int, dice: float = 0.0) -> Stepped:
        """One input at `now` (ns, never going back); `dice` in [0, 1) is this step's jitter."""
        self.now, self.dice = max(now, self.now), dice
        self.kept, self.out, self.touched = [], [], {}
        self.take(given)
        for lane in list(self.touched):
            self.serve(lane)
        self.fill()
        self.show_typing()
        self.check_end()
        rounds = dict.fromkeys(name for fact in self.kept if (name := getattr(fact, "round", "")))
        closed = tuple(name for name in rounds if name not in self.world.rounds)
        return Stepped(tuple(self.kept), tuple(self.out), closed)

    def deadline(self) -> int | None:
        """The next instant at which a Tick may change something."""
        return self.timers[0][0] if self.timers else None

    def take(self, given: Input) -> None:
        """One input."""
        match given:
            case Arrived(claim, advice, refusal):
                self.arrived(claim, advice, refusal)
            case Overlooked(channel, message):
                self.record(facts.Seen(channel, message))
            case StopAsked():
                self.stop(given)
            case Hurry(name):
                self.hurry(name)
            case Cancel(name, silent):
                self.cancel(name, silent=silent)
            case MoveFirst(name):
                if (round_ := self.waiting(name)) is not None:
                    self.record(facts.Moved(round_.id))
            case Rewrite(name, text):
                if (round_ := self.waiting(name)) is not None:
                    self.record(facts.Edited(round_.id, text))
            case Forget(lane):
                self.record(facts.SessionSet(lane, ""))
                if (kid := self.kids.get(lane)) is not None and kid.idle:
                    self.retire(kid)
            case ThreadDone(channel, parent, opened):
                self.thread_done(channel, parent, opened=opened)
            case SessionGone(lane):
                self.session_lost(lane)
            case ChildUp(lane, child, pid, started):
                self.up(lane, child, pid, started)
            case ChildSays(lane):
                self.says(given)
                self.touched[lane] = None
            case ChildDown(lane):
                self.down(given)
                self.touched[lane] = None
            case PostDone(fact):
                self.post_done(fact)
            case Recover():
                self.recover(given)
            case Fault(reason):
                self.fall(f"internal fault: {reason}")
            case Shutdown():
                self.shut_down()
            case Tick():
                self.tick()
            case _:
                assert_never(given)

    # -- arrivals --------------------------------------------------------------------------------------------------

    def arrived(self, claim: facts.Claimed, advice: Advice, refusal: str) -> None:
        """Claim before any sign of acceptance; beyond a bound refuse visibly."""
        lane = self.world.lane(claim.lane)
        if claim.round in self.world.rounds:
            return
        if claim.bot and lane.bots_in_row >= self.rules.bot_turns:
            self.record(facts.Seen(claim.channel, claim.message))
            self.log("message.ignored", lane=claim.lane, message_id=claim.message, reason="bot-turns")
            return
        if refusal:
            pass
        elif len(lane.waiting) >= self.rules.capacity:
            refusal = notices.lane_full(self.rules.capacity)
        elif self.world.waiting_by.get(claim.author, 0) >= self.rules.per_person:
            refusal = notices.person_full(self.rules.per_person)
        self.record(claim)
        self.see(claim)
        round_ = self.world.rounds[claim.round]
        if refusal:
            self.log("message.ignored", lane=claim.lane, message_id=claim.message, reason="full")
            self.finish(round_, "refused", refusal)
            return
        self.log("message.accepted", lane=claim.lane, message_id=claim.message)
        self.react(round_, "accepted")
        if claim.parent:
            self.open_thread(round_)
        self.touched[claim.lane] = None
        kid = self.kids.get(claim.lane)
        if kid is not None and not claim.bot and claim.origin is facts.Origin.MESSAGE:
            self.add_to_run(kid, round_, advice)

    def open_thread(self, round_: Round) -> None:
        """The thread's name is the first words of what was asked."""
        words = round_.text.rpartition("\n\n")[2].split()
        self.out.append(OpenThread(round_.parent, round_.message, " ".join(words)[:80] or "pi"))

    def thread_done(self, channel: int, parent: int, *, opened: bool) -> None:
        """What waited for the thread goes there, or, with a note, to the channel above it."""
        if opened:
            self.record(facts.ThreadOpened(channel, parent))
            self.record(facts.Seen(channel, channel))
            return
        self.record(facts.Redirected(channel, parent))
        owed = facts.Owed(f"{channel}/thread/1", "", parent, "notice", notices.no_thread(), channel)
        self.record(owed)
        self.out.append(Post(owed))

    def see(self, claim: facts.Claimed) -> None:
        """The channel's last seen id, in the same transaction as the claim."""
        if claim.origin is facts.Origin.MESSAGE:
            self.record(facts.Seen(claim.parent or claim.channel, claim.message))

    def add_to_run(self, kid: Kid, round_: Round, advice: Advice) -> None:
        """A person's line during his lane's own run: steered, or it interrupts a hanging tool, or it waits (§4, §5)."""
        head = self.world.head(kid.lane)
        if head is None or head.phase is not Phase.RUNNING or head.stopped or not self.steers(kid.lane):
            return
        if self.draining or self.stopping:
            return
        if advice is Advice.STEER and self.world.lane(kid.lane).waiting == (round_.id,):
            self.record(facts.Written(round_.id, kid.child, kind="steer"))
            written = self.world.rounds[round_.id]
            self.tell_steer(kid, written)
        elif advice is Advice.INTERRUPT:
            note = f"the turn before was interrupted: its tool {next(iter(kid.tools.values()), 'call')} did not return"
            self.record(facts.Requeued(round_.id, "interrupts", note=note))
            self.record(facts.Moved(round_.id))
            self.log("wait.interrupted", lane=kid.lane, message_id=head.message, child=kid.child)
            self.tell(kid, engine.Fail(head.turn, engine.Code.INTERRUPTED))

    def tell_steer(self, kid: Kid, round_: Round) -> None:
        """Hand a recorded steer to the engine."""
        self.tell(kid, engine.SteerIn(round_.turn, engine.Text(round_.text)))
        self.log("steer.sent", lane=kid.lane, message_id=round_.message, child=kid.child, attempt=round_.attempts)

    def steers(self, lane: str) -> bool:
        """`lanes.busy`: auto steers in private and one-person lanes."""
        if self.rules.busy == "auto":
            return len(self.world.lane(lane).people) <= 1
        return self.rules.busy == "steer"

    def waiting(self, name: str) -> Round | None:
        """The round, if it still waits."""
        round_ = self.world.rounds.get(name)
        return round_ if round_ is not None and round_.phase is Phase.WAITING else None

    def cancel(self, name: str, *, silent: bool) -> None:
        """Take back what waits; a running turn is left alone."""
        if (round_ := self.waiting(name)) is None:
            return
        if silent:
            self.record(facts.Ended(round_.id, "deleted"))
        else:
            self.end_stopped(round_, notices.stopped(Halted.QUEUED))
        self.touched[round_.lane] = None

    def hurry(self, name: str) -> None:
        """Retry now: the wait of this round is over; its bound stays."""
        round_ = self.world.rounds.get(name)
        if round_ is not None and round_.phase is Phase.BACKOFF:
            self.record(facts.Hurried(round_.id))
            kid = self.kids.get(round_.lane)
            if kid is not None and kid.model is not None:
                self.unproven.discard(kid.model)
            self.touched[round_.lane] = None

    # -- Stop ------------------------------------------------------------------------------------------------------

    def stop(self, asked: StopAsked) -> None:
        """Stop in every phase: durable mark, removal, one abort, suppression, receipts (BEHAVIOUR §2)."""
        if asked.word is not None:
            self.record(asked.word)
            self.see(asked.word)
            self.record(facts.Ended(asked.word.round, "handled"))
        targets = self.targets(asked)
        kid = self.kids.get(asked.lane)
        orphan = asked.scope == "lane" and kid is not None and kid.busy and kid.stand is Stand.READY
        if orphan and kid is not None and not self.at_child(asked.lane):
            self.tell(kid, engine.AbortOrphan())
        for round_ in targets:
            self.stop_round(round_, asked.by)
        self.log(
            "turn.stopped",
            lane=asked.lane,
            by=asked.by,
            scope=asked.scope,
            rounds=[round_.message for round_ in targets],
        )
        if asked.word is not None:
            if targets:
                self.out.append(React(asked.channel, asked.word.message, "stopped"))
            else:
                self.nothing(asked.word)
        self.touched[asked.lane] = None

    def nothing(self, word: facts.Claimed) -> None:
        """A notice that there was nothing to stop."""
        key = f"{word.round}/notice/1"
        owed = facts.Owed(key, word.round, word.channel, "notice", notices.nothing_to_stop(), word.reply_to)
        self.record(owed)
        self.out.append(Post(owed))

    def targets(self, asked: StopAsked) -> list[Round]:
        """The rounds that Stop means: its round, the lane's oldest, or all; with what joined their run."""
        rounds = self.world.open_in(asked.lane)
        match asked.scope:
            case "round":
                rounds = [round_ for round_ in rounds if round_.id == asked.round]
            case "turn":
                rounds = rounds[:1]
            case "lane":
                pass
            case _:
                assert_never(asked.scope)
        names = {round_.id for round_ in rounds}
        if any(round_.phase in {Phase.RUNNING, Phase.JOINED} for round_ in rounds):
            names |= {r.id for r in self.at_child(asked.lane) if r.phase in {Phase.RUNNING, Phase.JOINED}}
        return [round_ for round_ in self.world.open_in(asked.lane) if round_.id in names]

    def stop_round(self, round_: Round, by: int) -> None:
        """One round: its mark, its removal from wherever it is, its receipt."""
        kid = self.kids.get(round_.lane)
        kept = len(self.world.lane(round_.lane).waiting)
        self.record(facts.StopMarked(round_.id, by))
        tools, until = 0, None
        match round_.phase:
            case Phase.WAITING:
                what, kept = Halted.QUEUED, kept - 1
            case Phase.BACKOFF:
                what = Halted.BACKOFF
            case Phase.POSTING:
                what = Halted.POSTING
                self.out.append(Withdraw(round_.id))
            case Phase.WRITTEN | Phase.RUNNING | Phase.STEERED | Phase.JOINED:
                what = {Phase.WRITTEN: Halted.STARTING, Phase.RUNNING: Halted.RUNNING}.get(
                    round_.phase, Halted.STEERING
                )
                if kid is not None and kid.child == round_.child:
                    self.tell(kid, engine.Fail(round_.turn, engine.Code.STOPPED))
                    tools = len(kid.tools)
                    grace = self.rules.abort_grace if round_.phase is Phase.WRITTEN else self.rules.run_grace
                    until = (self.now + grace) // SECOND if round_.phase is not Phase.STEERED else None
            case Phase.ENDED:
                return
            case _:
                assert_never(round_.phase)
        self.end_stopped(round_, notices.stopped(what, by=by, tools=tools, kept=kept, until=until))
        if until is not None and kid is not None:
            last = notices.stopped(what, by=by, tools=tools, kept=kept)
            kid.receipts.append((f"{round_.id}/receipt/1", round_.channel, last))

    def end_stopped(self, round_: Round, receipt: str) -> None:
        """A stopped round's end and receipt; what it owed is not posted any more."""
        for key in sorted(round_.owed):
            self.record(facts.Dropped(key, "stopped"))
        self.record(facts.Ended(round_.id, "stopped"))
        self.owe(round_, "receipt", 1, receipt)
        self.react(round_, "stopped")
        self.ended_log(round_, "stopped")

    # -- posts, children, time ---------------------------------------------------------------------------------------

    def post_done(self, fact: facts.Posted | facts.Dropped) -> None:
        """An answer that stands wholly in Discord, or that Discord will never take, ends its round."""
        owed = self.world.owed.get(fact.key)
        if owed is None:
            return
        self.record(fact)
        round_ = self.world.rounds.get(owed.round)
        if round_ is None or round_.phase is not Phase.POSTING or round_.owed:
            return
        detail = f"not delivered: {fact.reason}" if isinstance(fact, facts.Dropped) else ""
        self.record(facts.Ended(round_.id, "answered", detail=detail))
        self.react(round_, "answered")
        self.ended_log(round_, "answered")

    def up(self, lane: str, child: int, pid: int, started: str) -> None:
        """A spawned child, recorded so that a later start can end what is left of it."""
        kid = self.kids.get(lane)
        if kid is not None and kid.child == child:
            self.record(facts.ChildStarted(child, lane, pid, started))
            if kid.stand is Stand.SPAWNING:
                kid.stand = Stand.STARTING

    def recover(self, given: Recover) -> None:
        """At a start: everything that was at a child, by evidence; then everything that waits (BEHAVIOUR §6)."""
        self.generation = max(self.generation, *self.world.children, 0) if self.world.children else self.generation
        self.unproven |= {model for model, until in self.world.gates.items() if until > self.now}
        left = [round_ for round_ in self.world.rounds.values() if round_.phase in AT_CHILD]
        for round_ in sorted(left, key=lambda round_: (round_.at, round_.id), reverse=True):
            if round_.id in given.tooled and not round_.tool:
                self.record(facts.ToolOpened(round_.id, "", "seen in the session file"))
            code = "restart" if round_.cut else "engine-exit"
            self.by_evidence(self.world.rounds[round_.id], code)
        for round_ in list(self.world.rounds.values()):
            if round_.parent and round_.channel not in self.world.threads:
                self.open_thread(round_)
        for owed in list(self.world.owed.values()):
            self.out.append(Post(owed, *self.world.stands.get(owed.key, (0, 0)), fresh=False))
        for round_ in list(self.world.rounds.values()):
            if round_.phase is Phase.POSTING and not round_.owed:
                self.record(facts.Ended(round_.id, "answered"))
        self.touched |= dict.fromkeys(lane.key for lane in self.world.lanes.values() if lane.waiting or lane.held)

    def shut_down(self) -> None:
        """SIGTERM: cut what runs; it has `kill_after` to settle."""
        if self.stopping:
            return
        self.stopping = True
        self.due = self.now + self.rules.kill_after
        self.wake(self.due, "")
        for kid in self.kids.values():
            self.cut(kid, self.at_child(kid.lane))

    def tick(self) -> None:
        """Look again at every lane whose alarm has come; a stale one finds nothing to do."""
        while self.timers and self.timers[0][0] <= self.now:
            _, lane = heapq.heappop(self.timers)
            if lane:
                self.expire(lane)
                self.touched[lane] = None
        if self.draining and not self.stopping and self.now >= self.due:
            for kid in self.kids.values():
                self.cut(kid, [round_ for round_ in self.at_child(kid.lane) if not round_.cut])

    def check_end(self) -> None:
        """Going down: when nothing runs any more, or the time for it is over."""
        if self.stopping:
            settled = all(not kid.busy or kid.stand is not Stand.READY for kid in self.kids.values())
            if settled or self.now >= self.due:
                self.quit(0, "asked to stop")
        elif self.draining:
            running = any(not kid.fell and self.at_child(lane) for lane, kid in self.kids.items())
            if not running or self.now >= self.due:
                self.quit(1, self.draining)


def restored(lanes: Lanes, known: tuple[facts.AnyFact, ...]) -> Lanes:
    """The lanes after the facts of a ledger, before `Recover`."""
    for fact in known:
        lanes.world.apply(fact)
    return lanes
