"""`step(input, now)`: queues, Stop, bounds and recovery of all lanes as facts and effects; pure (BEHAVIOUR §2-§6).

The shell puts the facts of a step on the disk in one transaction and only then performs its effects, in order.
"""

import heapq
from collections.abc import Iterable
from typing import assert_never

import msgspec
from msgspec import Struct

from connector import facts, notices
from connector.attach_lines import WORD
from connector.header import clean, filed
from connector.lane_base import Kid, Stand
from connector.lane_effects import Effect, FilesOver, OpenThread, Post
from connector.lane_events import (
    Arrived,
    Brought,
    Cancel,
    CardDone,
    ChildDown,
    ChildSays,
    ChildUp,
    ChooseModel,
    ChooseThinking,
    Deleted,
    Errand,
    Extend,
    Fault,
    Forget,
    Hurry,
    Input,
    MoveFirst,
    Overlooked,
    PlaceGone,
    PostDone,
    Recover,
    Resume,
    Rewrite,
    SessionGone,
    Shutdown,
    StopAsked,
    ThreadDone,
    Tick,
)
from connector.lane_places import Places
from connector.world import AT_CHILD, Phase, Round
from engine import events as engine
from engine.state import Advice


class Stepped(Struct, frozen=True):
    """What one step decided. `closed`: rounds that need no recovery any more."""

    facts: tuple[facts.AnyFact, ...]
    effects: tuple[Effect, ...]
    closed: tuple[str, ...]


class Lanes(Places):
    """All lanes of one connector."""

    def step(self, given: Input, now: int, dice: float = 0.0) -> Stepped:
        """One input at `now` (ns, never going back); `dice` in [0, 1) is this step's jitter."""
        self.now, self.dice = max(now, self.now), dice
        self.kept, self.out, self.touched = [], [], {}
        self.take(given)
        self.book()
        for lane in list(self.touched):
            self.serve(lane)
        self.fill()
        self.show_typing()
        self.check_end()
        self.erase_ended()
        rounds = dict.fromkeys(name for fact in self.kept if (name := facts.round_of(fact)))
        closed = tuple(name for name in rounds if name not in self.world.rounds)
        self.forget_fetches(closed)
        return Stepped(tuple(self.kept), tuple(self.out), closed)

    def deadline(self) -> int | None:
        """The next instant at which a Tick may change something."""
        return self.timers[0][0] if self.timers else None

    def take(self, given: Input) -> None:
        """One input."""
        match given:
            case Arrived(claim, advice, refusal):
                self.arrived(claim, advice, refusal)
            case Brought():
                self.files_brought(given)
            case Overlooked(channel, message):
                self.see(channel, message)
            case StopAsked():
                self.stop(given)
            case Hurry(name):
                self.hurry(name)
            case Extend():
                self.extend(given)
            case Cancel(name):
                self.cancel(name)
            case MoveFirst(name):
                self.move_first(name)
            case Rewrite() | Deleted() | PlaceGone():
                self.outside(given)
            case Forget() | Resume() | ChooseModel() | ChooseThinking() | Errand():
                self.wished(given)
            case ThreadDone(channel, parent, opened):
                self.thread_done(channel, parent, opened=opened)
            case SessionGone(lane, path):
                self.session_lost(lane, path)
            case ChildUp(lane, child, pid, started):
                self.up(lane, child, pid, started)
            case ChildSays(lane):
                self.says(given)
                self.touched[lane] = None
            case ChildDown(lane):
                self.down(given)
                self.touched[lane] = None
            case PostDone(fact):
                self.answer_stands(fact)
                self.post_done(fact)
            case CardDone(fact):
                self.record(fact)
                self.card_stands(fact)
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
        if claim.round in self.world.rounds or self.too_many_bots(claim):
            return
        refusal = refusal or self.full(claim.lane, claim.author)
        claim = self.placed(claim, refused=bool(refusal))
        self.record(claim)
        if claim.message in self.world.unsaid:  # asked again while its deletion was on its way
            self.record(facts.Unsaid(claim.round))
        if claim.origin is facts.Origin.MESSAGE:  # in the same transaction
            self.see(claim.parent or claim.channel, claim.message)
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
        if kid is not None and joins(round_):
            self.add_to_run(kid, round_, advice)

    def files_brought(self, given: Brought) -> None:
        """A line with files is steered or interrupts, or waits, as it would now; what waited behind it follows (§4)."""
        round_ = self.brought(given)
        kid = self.kids.get(round_.lane) if round_ is not None else None
        if kid is None:
            return
        for name in self.world.lane(kid.lane).waiting:
            waits = self.world.rounds[name]
            if not joins(waits) or (waits.pictures and not self.holds(waits)):
                return
            self.add_to_run(kid, waits, given.advice)
            if self.world.rounds[name].phase is Phase.WAITING:
                return

    def full(self, lane: str, author: int) -> str:
        """Why one more message of this author cannot wait here, "" if it can."""
        if len(self.world.lane(lane).waiting) >= self.rules.capacity:
            return notices.lane_full(self.rules.capacity)
        if self.world.waiting_by.get(author, 0) >= self.rules.per_person:
            return notices.person_full(self.rules.per_person)
        return ""

    def placed(self, claim: facts.Claimed, *, refused: bool) -> facts.Claimed:
        """The claim with the channel that its posts can go to, and an instant behind all earlier ones.

        A refused message gets no thread; a thread that could not be had is none for a retry either. The wall clock
        may have gone back since the last start, but arrival is the order of a lane.
        """
        self.newest = max(claim.at, self.newest + 1)
        channel, parent = claim.channel, claim.parent
        if refused and parent:
            channel, parent = parent, 0
        elif (above := self.world.redirects.get(channel)) is not None:
            channel, parent = above, 0
        return msgspec.structs.replace(claim, channel=channel, parent=parent, at=self.newest)

    def open_thread(self, round_: Round) -> None:
        """The thread's name is the first words of what was asked."""
        head, blank, asked = round_.text.partition("\n\n")
        words = (asked if blank else head).split()
        self.out.append(OpenThread(round_.parent, round_.message, " ".join(words)[:80] or "pi"))

    def thread_done(self, channel: int, parent: int, *, opened: bool) -> None:
        """What waited for the thread goes there, or, with a note, to the channel above it."""
        if opened:
            self.record(facts.ThreadOpened(channel, parent))
            self.see(channel, channel)
            return
        self.record(facts.Redirected(channel, parent))
        if not self.world.open_in(str(channel)):
            return
        owed = facts.Owed(f"{channel}/thread/1", "", parent, "notice", notices.no_thread(), channel)
        self.record(owed)
        self.out.append(Post(owed))
        self.touched[str(channel)] = None

    def add_to_run(self, kid: Kid, round_: Round, advice: Advice) -> None:
        """A person's line during his lane's own run: steered, or it interrupts a hanging tool, or it waits (§4, §5)."""
        head = self.world.head(kid.lane)
        if head is None or head.phase is not Phase.RUNNING or head.stopped or not self.steers(kid.lane):
            return
        if self.draining or self.stopping or self.cap_on(round_):
            return
        if advice is Advice.STEER and self.world.lane(kid.lane).waiting[:1] == (round_.id,):
            self.record(facts.Written(round_.id, kid.child, kind="steer"))
            written = self.world.rounds[round_.id]
            self.tell_steer(kid, written)
        elif advice is Advice.INTERRUPT and kid.interrupted != head.turn:
            kid.interrupted = head.turn
            tool = clean(next(iter(kid.tools.values()), "call"))
            note = f"the turn before was interrupted: its tool {tool} did not return"
            self.record(facts.Requeued(round_.id, "interrupts", note=note))
            self.record(facts.Moved(round_.id))
            self.log("wait.interrupted", lane=kid.lane, message_id=head.message, child=kid.child)
            self.tell(kid, engine.Fail(head.turn, engine.Code.INTERRUPTED))

    def tell_steer(self, kid: Kid, round_: Round) -> None:
        """Hand a recorded steer to the engine."""
        self.tell(kid, engine.SteerIn(round_.turn, engine.Text(filed(round_.text, round_.lines), self.images(round_))))
        self.log("steer.sent", lane=kid.lane, message_id=round_.message, child=kid.child, attempt=round_.attempts)

    def steers(self, lane: str) -> bool:
        """`lanes.busy`: auto steers in private and one-person lanes."""
        if self.rules.busy == "auto":
            return len(self.world.lane(lane).people) <= 1
        return self.rules.busy == "steer"

    def hurry(self, name: str) -> None:
        """Retry now: the wait of this round is over; its bound stays."""
        round_ = self.world.rounds.get(name)
        if round_ is not None and round_.phase is Phase.BACKOFF and not round_.hurried:
            self.record(facts.Hurried(round_.id))
            self.touched[round_.lane] = None

    # -- posts, children, time ---------------------------------------------------------------------------------------

    def post_done(self, fact: facts.Posted | facts.Dropped) -> None:
        """An answer that stands wholly in Discord, or that Discord will never take, ends its round."""
        owed = self.world.owed.get(fact.key)
        if owed is None:
            if "/answer/" in fact.key:  # taken back while it was being posted: no start needs the copies of its files
                self.out.append(FilesOver(fact.key))
            return
        self.refused(owed, fact)
        self.record(fact)
        if fact.key not in self.world.owed and WORD in owed.text:
            self.out.append(FilesOver(fact.key))
        round_ = self.world.rounds.get(owed.round)
        if round_ is None or round_.phase is not Phase.POSTING:
            return
        lost = isinstance(fact, facts.Dropped) and owed.kind == "answer"
        if lost and (parent := self.world.lane(round_.lane).thread_of):
            key = owed.key.replace("/answer/", "/lost/")
            told = facts.Owed(key, round_.id, parent, "notice", notices.answer_lost(), round_.message)
            self.record(told)
            self.out.append(Post(told))
        elif not round_.owed and not self.runs_on(round_):
            self.delivered(round_, f"not delivered: {fact.reason}" if isinstance(fact, facts.Dropped) else "")

    def up(self, lane: str, child: int, pid: int, started: str) -> None:
        """A spawned child, recorded so that a later start can end what is left of it."""
        kid = self.kids.get(lane)
        if kid is not None and kid.child == child:
            self.record(facts.ChildStarted(child, lane, pid, started))

    def recover(self, given: Recover) -> None:
        """At a start: everything that was at a child, by evidence; then everything that waits (BEHAVIOUR §6)."""
        rounds = list(self.world.rounds.values())
        self.newest = max((round_.at for round_ in rounds), default=0)
        self.generation = max((self.generation, *self.world.children, *(round_.child for round_ in rounds)))
        self.unstep_clock(rounds)
        for round_ in rounds:
            if round_.parent and round_.channel not in self.world.threads:
                self.open_thread(round_)
        self.drop_unheard()
        for owed in self.world.owed.values():
            self.out.append(Post(owed, *self.world.stands.get(owed.key, (0, 0)), fresh=False))
        for round_ in rounds:
            if round_.phase is Phase.POSTING and not round_.owed:
                self.delivered(round_)
            if round_.phase not in AT_CHILD:
                continue
            if round_.id in given.tooled and not round_.tool:
                self.record(facts.ToolOpened(round_.id, "", "seen in the session file"))
            code = "restart" if round_.cut else "engine-exit"
            self.by_evidence(self.world.rounds[round_.id], code)
        self.touch_all()

    def unstep_clock(self, rounds: Iterable[Round]) -> None:
        """A wait that is longer than any was counted by a wall clock that has gone back since: it is over."""
        bound = self.now + self.longest * 2
        for round_ in rounds:
            if round_.phase is Phase.BACKOFF and round_.until > bound:
                self.record(facts.Hurried(round_.id))
        for model, until in list(self.world.gates.items()):
            if until > bound:
                self.record(facts.Gated(*model, self.now))

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
        self.day_turned()
        if self.draining and not self.stopping and self.now >= self.due:
            for kid in self.kids.values():
                self.cut(kid, [round_ for round_ in self.at_child(kid.lane) if not round_.cut])

    def check_end(self) -> None:
        """Going down: when nothing runs any more, or the time for it is over."""
        if self.stopping or self.draining:
            self.give_up_errands()
        if self.stopping:
            settled = all(kid.stand is not Stand.READY or not (kid.busy or kid.turn) for kid in self.kids.values())
            if settled or self.now >= self.due:
                self.quit(0, "asked to stop")
        elif self.draining:
            running = any(not kid.fell and self.at_child(lane) for lane, kid in self.kids.items())
            if not running or self.now >= self.due:
                self.quit(1, self.draining)


def joins(round_: Round) -> bool:
    """Whether it is a person's line that nobody was given yet, with its files told of: it may go into a run."""
    person = not round_.bot and round_.origin is facts.Origin.MESSAGE
    return person and not round_.writes and not round_.unfetched


def restored(lanes: Lanes, known: tuple[facts.AnyFact, ...]) -> Lanes:
    """The lanes after the facts of a ledger, before `Recover`."""
    for fact in known:
        lanes.world.apply(fact)
    return lanes
