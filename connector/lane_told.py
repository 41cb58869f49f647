"""What engines tell, and what a child's end means for the rounds it had (BEHAVIOUR §2.1, §2.3, §6); pure.

Everything is keyed by round and generation: what names another write or another child changes nothing (§7.32).
"""

from typing import assert_never

from connector import backoff, facts, notices
from connector.backoff import Failed, Limited, Quota
from connector.lane_base import SECOND, Kid, Stand
from connector.lane_events import Amend, ChildDown, ChildSays, Post
from connector.lane_service import Service
from connector.world import AT_CHILD, Phase, Round
from engine import commands, pi
from engine import events as engine
from engine.events import Code

IDLE_EXITS = 3
IDLE_WINDOW = 60 * SECOND
"""The third idle exit in a minute is no accident any more (CONTRACT, exit code 1)."""


class Told(Service):
    """The lanes hear from their engines."""

    __slots__ = ()

    def says(self, given: ChildSays) -> None:
        """Everything one engine told in one step, in order."""
        kid = self.kids.get(given.lane)
        if kid is None or kid.child != given.child:
            return
        for told in given.told:
            self.hear(kid, told)
        was, kid.busy = kid.busy, given.busy
        if not kid.busy:
            self.amend(kid)
        if kid.idle and was:
            self.unprobe(kid.lane)
            self.rest(kid)

    def hear(self, kid: Kid, told: engine.Effect) -> None:
        """One thing an engine told; what concerns the card alone changes nothing here."""
        match told:
            case engine.Ready(state):
                self.ready(kid, state)
            case engine.Replied(turn, response):
                self.session_answered(kid, turn, response)
            case engine.Started(turn):
                if (round_ := self.round_of(kid, turn)) is not None:
                    self.record(facts.Started(round_.id))
                    self.keep_session(kid)
                    self.log("turn.started", lane=kid.lane, message_id=round_.message, child=kid.child)
            case engine.ToolOpened(turn, call, tool):
                kid.tools[call] = tool
                for round_ in self.at_child(kid.lane):
                    if not round_.tool and round_.phase in {Phase.RUNNING, Phase.JOINED}:
                        self.record(facts.ToolOpened(round_.id, call, tool))
            case engine.ToolClosed(_, call):
                kid.tools.pop(call, None)
            case engine.Progress(thinking=False):
                if kid.model is not None and self.probes.get(kid.model) == kid.lane:
                    self.proven(kid.model)
            case engine.Spent(_, provider, model):
                kid.model = (provider, model)
            case engine.Heard(turn, head):
                self.heard(kid, turn, head)
            case engine.Returned(turn, refused, written):
                self.returned(kid, turn, refused=refused, written=written)
            case engine.Ended(turn, outcome):
                if (round_ := self.round_of(kid, turn)) is not None:
                    self.ended(kid, round_, outcome)
            case engine.Answered(turn, text):
                self.further(kid, turn, text)
            case engine.Wedged(reason):
                kid.fell = True
                self.log("engine.wedged", lane=kid.lane, child=kid.child, reason=reason)
                self.fall(f"wedge: {reason}")
            case _:
                pass

    def round_of(self, kid: Kid, turn: str) -> Round | None:
        """The pending round of this very write in this very child."""
        name, _, write = turn.rpartition("@")
        round_ = self.world.rounds.get(name)
        if round_ is None or not round_.pending or round_.child != kid.child or str(round_.writes) != write:
            return None
        return round_ if round_.phase in AT_CHILD else None

    def amend(self, kid: Kid) -> None:
        """The stopped run has settled: its receipts need not say any more that it is ending (BEHAVIOUR §2)."""
        for key, channel, text in kid.receipts:
            self.out.append(Amend(kid.lane, kid.child, key, channel, text))
        kid.receipts.clear()

    # -- the lane's session ----------------------------------------------------------------------------------------

    def ready(self, kid: Kid, state: object) -> None:
        """The child answers: put it into the lane's session, else learn which one it has begun."""
        self.learn_model(kid, state)
        path = self.world.lane(kid.lane).session
        if path:
            kid.stand = Stand.SESSION
            self.tell(kid, engine.Submit("session/switch", engine.Request(commands.SwitchSession("", path))))
        else:
            kid.stand = Stand.READY
            self.learn_session(kid, state)

    def session_answered(self, kid: Kid, turn: str, response: pi.Response) -> None:
        """A refused or cancelled switch is no session at all: begin a new one, with a notice (CONTRACT)."""
        if turn == "session/switch":
            if response.success and not pi.plain(response.data, "cancelled", default=False):
                kid.stand = Stand.READY
            else:
                self.session_lost(kid.lane)
                self.tell(kid, engine.Submit("session/new", engine.Request(commands.NewSession(""))))
                self.tell(kid, engine.Submit("session/state", engine.Request(commands.GetState(""))))
        elif turn == "session/state":
            kid.stand = Stand.READY
            self.learn_session(kid, response.data)

    def session_lost(self, lane: str) -> None:
        """Forget a session that cannot be had any more, and say so in the lane."""
        known = self.world.lane(lane)
        self.record(facts.SessionSet(lane, ""))
        key = f"{lane}/session/{self.generation}"
        owed = facts.Owed(key, "", known.channel, "notice", notices.session_lost(), 0)
        self.record(owed)
        self.out.append(Post(owed))

    def learn_session(self, kid: Kid, state: object) -> None:
        """Which file the child would write its session to; it does so with the first run."""
        path = pi.plain(state, "sessionFile")
        kid.session = path if isinstance(path, str) else ""

    def keep_session(self, kid: Kid) -> None:
        """Remember the lane's session now that something of it is on the disk."""
        if kid.session and kid.session != self.world.lane(kid.lane).session:
            self.record(facts.SessionSet(kid.lane, kid.session))

    def learn_model(self, kid: Kid, state: object) -> None:
        """The provider and model a gate would be about."""
        model = pi.plain(state, "model")
        provider, name = pi.plain(model, "provider"), pi.plain(model, "id")
        if isinstance(provider, str) and isinstance(name, str):
            kid.model = (provider, name)

    # -- ends of turns ---------------------------------------------------------------------------------------------

    def ended(self, kid: Kid, round_: Round, outcome: engine.Outcome) -> None:
        """The engine's one end of a turn becomes the round's, or its next wait."""
        match outcome.code:
            case Code.ANSWERED:
                self.answered(round_, 1, outcome.text)
                self.good(kid)
            case Code.EMPTY:
                self.finish(round_, "empty", notices.empty())
                self.good(kid)
            case Code.HANDLED:
                self.finish(round_, "handled", notices.handled())
                self.good(kid)
            case Code.JOINED:
                into = (outcome.into or "").rpartition("@")[0]
                self.record(facts.Ended(round_.id, "joined", into=into))
                self.react(round_, "answered")
                self.ended_log(round_, "joined")
            case Code.PROVIDER | Code.RATE_LIMITED:
                self.provider_failed(kid, round_, outcome.detail)
            case Code.REFUSED if outcome.busy:
                self.again(round_, "the agent was busy with something of its own")
            case Code.REFUSED | Code.TIMEOUT | Code.INTERRUPTED:
                notice = notices.failed(outcome.code, retry=True)
                self.finish(round_, outcome.code, notice, detail=outcome.detail, retry=True)
            case Code.STOPPED:
                self.finish(round_, "stopped", notices.stopped())
            case Code.RESTART:
                pass  # cut by us: the next start decides by evidence
            case Code.WEDGED | Code.EXIT | Code.DOWN:
                self.by_evidence(round_, outcome.code)
            case Code.DEAD:
                raise AssertionError("an engine buries nothing")
            case _:
                assert_never(outcome.code)

    def answered(self, round_: Round, number: int, text: str) -> None:
        """Recorded before it is posted; the round has ended when its posts are done."""
        self.record(facts.Answered(round_.id, number, text))
        self.owe(round_, "answer", number, text)

    def further(self, kid: Kid, turn: str, text: str) -> None:
        """A continuation's text after the answer was given out: a further answer of the same round, no second end."""
        name, _, write = turn.rpartition("@")
        round_ = self.world.rounds.get(name)
        if round_ is not None and round_.child == kid.child and str(round_.writes) == write and not round_.stopped:
            self.answered(round_, round_.answers + 1, text)

    def good(self, kid: Kid) -> None:
        """A turn settled well: it ends a row of failed starts, and proves an unproven gate."""
        if self.in_row:
            self.in_row = 0
            self.record(facts.Good(self.now))
        if kid.model is not None and kid.model in self.unproven:
            self.proven(kid.model)

    def provider_failed(self, kid: Kid, round_: Round, detail: str) -> None:
        """A final error of the provider: wait and ask again within bounds, or fail visibly (BEHAVIOUR §2)."""
        trouble = backoff.classify(detail)
        model = kid.model[1] if kid.model else None
        match trouble:
            case Limited(status, wait):
                if round_.steps < len(self.rules.backoff):
                    step = max(self.rules.backoff[round_.steps], wait)
                    self.back_off(kid, round_, self.now + backoff.jittered(step, self.dice), f"status {status}")
                else:
                    notice = notices.failed("rate-limited", status=status, model=model, retry=True)
                    self.finish(round_, "rate-limited", notice, detail=detail, retry=True)
            case Quota(status, reset):
                first = self.rules.backoff[0] if self.rules.backoff else 0
                until = max(reset or 0, self.now + first)
                if reset is None or round_.parked or until > self.now + self.rules.quota_hold:
                    notice = notices.failed("rate-limited", status=status, model=model, retry=True)
                    self.finish(round_, "rate-limited", notice, detail=detail, retry=True)
                else:
                    self.back_off(kid, round_, until, "quota", parked=True)
            case Failed(status):
                notice = notices.failed("provider-error", status=status, model=model, retry=True)
                self.finish(round_, "provider-error", notice, detail=detail, retry=True)
            case _:
                assert_never(trouble)

    def back_off(self, kid: Kid, round_: Round, until: int, reason: str, *, parked: bool = False) -> None:
        """The round waits and holds its lane; the gate closes for everybody (BEHAVIOUR §2.4)."""
        self.record(facts.Backoff(round_.id, until, reason, parked=parked))
        if kid.model is not None:
            self.record(facts.Gated(*kid.model, until))
            self.unproven.add(kid.model)
        self.wake(until, kid.lane)
        self.react(round_, "waiting")
        seconds = round((until - self.now) / SECOND, 3)
        self.log("turn.retry_scheduled", lane=kid.lane, message_id=round_.message, seconds=seconds, reason=reason)

    # -- steers ----------------------------------------------------------------------------------------------------

    def heard(self, kid: Kid, turn: str, head: str | None) -> None:
        """The person's line reached the model: it ends as that run ends."""
        round_ = self.round_of(kid, turn)
        if round_ is not None:
            self.record(facts.Heard(round_.id, (head or "").rpartition("@")[0]))
            self.react(round_, "heard")
            self.log("steer.consumed", lane=kid.lane, message_id=round_.message, child=kid.child)
            if kid.tools and not round_.tool:
                call, tool = next(iter(kid.tools.items()))
                self.record(facts.ToolOpened(round_.id, call, tool))

    def returned(self, kid: Kid, turn: str, *, refused: bool, written: bool) -> None:
        """A steer that did not reach the model is an ordinary message again; refused once, never steered again."""
        round_ = self.round_of(kid, turn)
        if round_ is None:
            return
        if not written:
            self.record(facts.Unwritten(round_.id))
        else:
            self.again(round_, "it was not heard by the running turn", note="", steerable=not refused)

    # -- ends of children ------------------------------------------------------------------------------------------

    def again(self, round_: Round, reason: str, *, note: str | None = None, steerable: bool = True) -> None:
        """Back to the front of its lane within its bound, else a dead letter."""
        if round_.attempts >= self.rules.max_attempts:
            self.bury(round_)
            return
        note = notices.repeat_note() if note is None else note
        self.record(facts.Requeued(round_.id, reason, note=note, steerable=steerable))

    def by_evidence(self, round_: Round, code: str) -> None:
        """BEHAVIOUR §6's table for a round whose child is gone: ask again, or one notice with Retry."""
        if round_.phase not in AT_CHILD or (round_.cut and self.stopping):
            return
        if round_.tool or round_.posted:
            self.finish(round_, code, notices.not_repeated(retry=True), retry=True)
        else:
            self.again(round_, code)

    def down(self, given: ChildDown) -> None:
        """A child is gone: decide about its rounds, and whether this is a reason to exit."""
        kid = self.kids.get(given.lane)
        if kid is None or kid.child != given.child:
            return
        rounds = self.at_child(given.lane)
        unready = kid.stand in {Stand.SPAWNING, Stand.STARTING, Stand.SESSION}
        del self.kids[given.lane]
        self.amend(kid)
        self.unprobe(given.lane)
        if given.code is None:
            self.quit(3, given.reason)
            return
        self.record(facts.ChildEnded(given.child, given.code, given.expected))
        for round_ in sorted(rounds, key=lambda round_: (round_.at, round_.id), reverse=True):
            self.by_evidence(round_, "engine-exit")
        if given.expected or kid.fell:
            return
        if rounds or unready:
            self.fall(f"child exit {given.code} " + ("at its start" if unready else "in a turn"))
            return
        self.idle_exits = [at for at in self.idle_exits if at > self.now - IDLE_WINDOW] + [self.now]
        if len(self.idle_exits) >= IDLE_EXITS:
            self.fall("idle children keep exiting")
