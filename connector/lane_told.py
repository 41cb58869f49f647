"""What engines tell, and what a child's end means for the rounds it had (BEHAVIOUR §2.1, §2.3, §6); pure.

Everything is keyed by round and generation: what names another write or another child changes nothing (§7.32).
"""

from typing import assert_never

from msgspec.structs import replace

from connector import backoff, facts, notices, notices_session
from connector.backoff import Failed, Limited, Quota
from connector.lane_base import Kid, Stand, Tail
from connector.lane_effects import Amend, Post
from connector.lane_events import ChildDown, ChildSays
from connector.lane_service import Service
from connector.world import AT_CHILD, Phase, Round
from engine import events as engine
from engine.events import SECOND, Code

IDLE_EXITS = 3
IDLE_WINDOW = 60 * SECOND
"""The third idle exit in a minute is no accident any more (CONTRACT, exit code 1)."""


class Told(Service):
    """The lanes hear from their engines."""

    def says(self, given: ChildSays) -> None:
        """Everything one engine told in one step, in order."""
        kid = self.kids.get(given.lane)
        if kid is None or kid.child != given.child:
            return
        for told in given.told:
            self.hear(kid, told)
        was, kid.busy = kid.busy, given.busy
        if self.free(kid):
            self.amend(kid)
            if was:
                self.unprobe(kid.lane)
                self.rest(kid)
            if kid.homeless:
                self.retire(kid)

    def hear(self, kid: Kid, told: engine.Effect) -> None:
        """One thing an engine told; what concerns the card alone changes nothing here."""
        match told:
            case engine.Ready(state):
                self.ready(kid, state)
            case engine.Replied(turn, response):
                self.session_answered(kid, turn, response)
            case engine.Sent(turn):
                kid.sent = turn
            case engine.Started(turn):
                kid.tools.clear()
                if (round_ := self.round_of(kid, turn)) is not None and round_.phase is Phase.WRITTEN:
                    self.record(facts.Started(round_.id))
                    self.keep_session(kid)
                    kid.introduced = kid.introduced or not round_.slash
                    self.log("turn.started", lane=kid.lane, message_id=round_.message, child=kid.child)
            case engine.ToolOpened(turn, call, tool):
                if turn == kid.turn or self.round_of(kid, turn) is not None:
                    self.tool_opened(kid, call, tool)
            case engine.ToolClosed(_, call):
                kid.tools.pop(call, None)
            case engine.Progress(thinking=False):
                self.prove(kid)
            case engine.Spent(_, provider, model):
                self.pay(kid, told)
                if provider and model:
                    kid.model = (provider, model)
            case engine.Heard(turn, head):
                self.heard(kid, turn, head)
            case engine.Returned(turn, refused, written):
                self.returned(kid, turn, refused=refused, written=written)
            case engine.Ended(turn, outcome):
                kid.died = kid.died or outcome.code is Code.EXIT
                if (round_ := self.round_of(kid, turn)) is not None:
                    self.ended(kid, round_, outcome)
                else:
                    self.session_unanswered(kid, turn, outcome.code)
            case engine.Answered(turn, text):
                self.further(kid, turn, text)
            case engine.Released(turn) if turn == kid.turn:
                self.released(kid)
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

    def released(self, kid: Kid) -> None:
        """Nothing more comes of the turn: what was answered and posted in its run has ended."""
        kid.turn = ""
        kid.tools.clear()
        for name in self.world.lane(kid.lane).posting:
            if not self.world.rounds[name].owed:
                self.delivered(self.world.rounds[name])

    def delivered(self, round_: Round, detail: str = "") -> None:
        """The end of a round whose answer stands in Discord, or that Discord will never take."""
        self.record(facts.Ended(round_.id, "answered", detail=detail))
        self.react(round_, "answered")
        self.ended_log(round_, "answered")

    def prove(self, kid: Kid) -> None:
        """The model speaks to the lane that probes the gate: it is open again."""
        if kid.model is not None and self.probes.get(kid.model) == kid.lane:
            self.proven(kid.model)

    def tool_opened(self, kid: Kid, call: str, tool: str) -> None:
        """Evidence for everybody whose text is in that run: none of it is asked again by itself (BEHAVIOUR §6)."""
        kid.tools[call] = tool
        self.prove(kid)
        for round_ in self.at_child(kid.lane):
            if not round_.tool and round_.phase in {Phase.RUNNING, Phase.JOINED}:
                self.record(facts.ToolOpened(round_.id, call, tool))

    def amend(self, kid: Kid) -> None:
        """The stopped run has settled: its receipts need not say any more that it is ending (BEHAVIOUR §2)."""
        for key, channel, text in kid.receipts:
            self.out.append(Amend(kid.lane, kid.child, key, channel, text))
        kid.receipts.clear()

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
                if round_.slash:
                    kid.tail = Tail(round_.turn, round_.id, round_.channel)
                text = notices_session.command_handled() if round_.slash else notices.handled()
                self.finish(round_, "handled", text)
                self.good(kid)
            case Code.JOINED:
                into = (outcome.into or "").rpartition("@")[0]
                self.record(facts.Ended(round_.id, "joined", into=into))
                self.react(round_, "answered")
                self.ended_log(round_, "joined")
            case Code.PROVIDER | Code.RATE_LIMITED:
                self.provider_failed(kid, round_, outcome.detail)
            case Code.REFUSED if outcome.busy:
                self.again(round_, "the agent was busy with something of its own", note=round_.note)
            case Code.TIMEOUT | Code.WEDGED | Code.EXIT | Code.DOWN if self.unsent(kid, round_):
                self.record(facts.Unwritten(round_.id))
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
        """A continuation's text after the answer was given out: a further answer of the same round, no second end.

        So is the text of a run that a handled `/command` has started (BEHAVIOUR §1.12); its round is over by then.
        """
        if kid.tail is not None and kid.tail.turn == turn:
            self.keep_session(kid)
            self.command_answers(kid, kid.tail, text)
            return
        name, _, write = turn.rpartition("@")
        round_ = self.world.rounds.get(name)
        if round_ is None or round_.child != kid.child or str(round_.writes) != write:
            return
        if round_.phase is Phase.POSTING and not round_.stopped:
            self.answered(round_, round_.answers + 1, text)

    def command_answers(self, kid: Kid, tail: Tail, text: str) -> None:
        """Recorded before it is posted, beside the round, which has had its one end."""
        kid.tail = tail = replace(tail, answers=tail.answers + 1)
        self.record(facts.Answered(tail.round, tail.answers, text))
        owed = facts.Owed(f"{tail.round}/answer/{tail.answers}", "", tail.channel, "answer", text, 0, lane=kid.lane)
        self.record(owed)
        self.out.append(Post(owed))

    def good(self, kid: Kid) -> None:
        """A turn settled well: it ends a row of failed starts, and proves the gate that it probed."""
        if self.in_row:
            self.in_row = 0
            self.record(facts.Good(self.now))
        self.prove(kid)

    def provider_failed(self, kid: Kid, round_: Round, detail: str) -> None:
        """A final error of the provider: wait and ask again within bounds, or fail visibly (BEHAVIOUR §2)."""
        trouble = backoff.classify(detail)
        model = kid.model[1] if kid.model else None
        match trouble:
            case Limited(status, wait):
                if round_.steps < len(self.rules.backoff) and wait <= self.longest:
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
            self.record(facts.Gated(*kid.model, max(until, self.world.gates.get(kid.model, 0))))
        self.wake(until, kid.lane)
        self.react(round_, "waiting")
        seconds = round((until - self.now) / SECOND, 3)
        self.log("turn.retry_scheduled", lane=kid.lane, message_id=round_.message, seconds=seconds, reason=reason)

    # -- steers ----------------------------------------------------------------------------------------------------

    def heard(self, kid: Kid, turn: str, head: str | None) -> None:
        """The person's line reached the model: it ends as that run ends."""
        round_ = self.round_of(kid, turn)
        if round_ is not None and round_.phase is Phase.STEERED:
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
            self.again(round_, "it was not heard by the running turn", note=round_.note, steerable=not refused)

    # -- ends of children ------------------------------------------------------------------------------------------

    def again(self, round_: Round, reason: str, *, note: str | None = None, steerable: bool = True) -> None:
        """Back to the front of its lane within its bound, else a dead letter."""
        due = round_.cut and round_.reask  # our own shutdown took a re-ask away: that is still its due
        if round_.attempts >= self.rules.max_attempts and not due:
            self.bury(round_)
            return
        note = notices.repeat_note() if note is None else note
        self.record(facts.Requeued(round_.id, reason, charged=not round_.cut, note=note, steerable=steerable))

    def unsent(self, kid: Kid, round_: Round) -> bool:
        """Whether its prompt was held in the engine and never written: it is asked in order, uncharged (§6)."""
        return round_.phase is Phase.WRITTEN and kid.sent != round_.turn

    def by_evidence(self, round_: Round, code: str) -> None:
        """BEHAVIOUR §6's table for a round whose child is gone: ask again, or one notice with Retry."""
        if round_.phase not in AT_CHILD or (round_.cut and (self.stopping or self.draining)):
            return  # over, or cut by us: the next start decides
        if round_.tool or round_.posted or round_.slash:  # nothing tells what a command has done
            self.finish(round_, code, notices.not_repeated(retry=True), retry=True)
        else:
            self.again(round_, code)

    def down(self, given: ChildDown) -> None:
        """A child is gone: decide about its rounds, and whether this is a reason to exit (CONTRACT, exit code 1)."""
        kid = self.kids.get(given.lane)
        if kid is None or kid.child != given.child:
            return
        rounds = self.at_child(given.lane)
        unready = kid.stand in {Stand.SPAWNING, Stand.SESSION}
        del self.kids[given.lane]
        self.amend(kid)
        self.unprobe(given.lane)
        if given.code is None:
            self.unusable(given.reason)
            return
        self.record(facts.ChildEnded(given.child, given.code, given.expected))
        for round_ in rounds:
            if self.unsent(kid, round_):
                self.record(facts.Unwritten(round_.id))
            else:
                kid.died = True
                self.by_evidence(round_, "engine-exit")
        self.released(kid)
        if given.expected or kid.fell:
            return
        if kid.died or unready:
            self.fall(f"child exit {given.code} " + ("at its start" if unready else "in a turn"), kid)
            return
        self.idle_exits = [at for at in self.idle_exits if at > self.now - IDLE_WINDOW] + [self.now]
        if len(self.idle_exits) >= IDLE_EXITS:
            self.fall("idle children keep exiting")

    def unusable(self, reason: str) -> None:
        """The child's command cannot be used at all: exit 3 at once; what runs in the others is cut by us."""
        self.draining, self.due = self.draining or reason, self.now
        for kid in self.kids.values():
            self.cut(kid, self.at_child(kid.lane))
        self.quit(3, reason)

    @property
    def longest(self) -> int:
        """The longest wait that is taken over from an error; beyond it the round fails visibly."""
        return max(self.rules.quota_hold, *self.rules.backoff, 0)
