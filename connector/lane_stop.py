"""Stop, in every phase of a round (BEHAVIOUR §2): mark, removal, one abort, suppression, receipt; pure."""

from typing import assert_never

from connector import facts, notices
from connector.lane_base import Stand
from connector.lane_effects import React, Withdraw
from connector.lane_events import StopAsked
from connector.lane_told import Told
from connector.notices import Halted
from connector.world import Phase, Round
from engine import events as engine
from engine.events import SECOND

IN_RUN = frozenset({Phase.RUNNING, Phase.JOINED})


class Stops(Told):
    """The lanes are told to stop."""

    __slots__ = ()

    def stop(self, asked: StopAsked) -> None:
        """Everything that this Stop means ends now, in one transaction; the word "stop" itself ends with it."""
        word = asked.word
        if word is not None:
            if self.too_many_bots(word):
                return
            self.record(word)
            self.see(word.parent or word.channel, word.message)
        targets = self.targets(asked)
        kid = self.kids.get(asked.lane)
        orphan = asked.scope == "lane" and kid is not None and kid.busy and kid.stand is Stand.READY
        if orphan and kid is not None:  # which ends nobody's own run
            self.tell(kid, engine.AbortOrphan())
        errands = asked.scope == "lane" and self.stop_errands(asked.lane)
        names = frozenset(round_.id for round_ in targets) | ({word.round} if word is not None else set())
        for round_ in targets:
            self.stop_round(round_, asked.by, names)
        if word is not None:
            if targets:
                self.out.append(React(asked.channel, word.message, "stopped"))
            else:
                self.owe(self.world.rounds[word.round], "notice", 1, notices.nothing_to_stop())
            self.record(facts.Ended(word.round, "handled"))
        if targets or orphan or errands:
            messages = [round_.message for round_ in targets]
            self.log("turn.stopped", lane=asked.lane, by=asked.by, scope=asked.scope, rounds=messages)
        self.touched[asked.lane] = None

    def targets(self, asked: StopAsked) -> list[Round]:
        """The rounds that Stop means: its round, the lane's current or oldest, or all; with what is in their run."""
        word = asked.word.round if asked.word is not None else ""
        rounds = [round_ for round_ in self.world.open_in(asked.lane) if round_.id != word]
        if not rounds:
            rounds = self.without_thread(asked.channel)
        match asked.scope:
            case "round":
                meant = [round_ for round_ in rounds if round_.id == asked.round]
            case "turn":
                current = [round_ for round_ in rounds if round_.phase is not Phase.WAITING]
                waiting = [self.world.rounds[name] for name in self.world.lane(asked.lane).waiting if name != word]
                meant = (current or waiting or rounds)[:1]
            case "lane":
                meant = rounds
            case _:
                assert_never(asked.scope)
        names = {round_.id for round_ in meant}
        if any(round_.phase in IN_RUN for round_ in meant):
            lanes = {round_.lane for round_ in meant}
            names |= {round_.id for round_ in rounds if round_.phase in IN_RUN and round_.lane in lanes}
        return [round_ for round_ in rounds if round_.id in names]

    def without_thread(self, channel: int) -> list[Round]:
        """Rounds asked in this channel whose thread is not to be had yet: nowhere else could they be stopped."""
        homeless = [
            round_
            for round_ in self.world.rounds.values()
            if round_.pending and round_.parent == channel and round_.channel not in self.world.threads
        ]
        return sorted(homeless, key=lambda round_: (round_.at, round_.id))

    def stop_round(self, round_: Round, by: int, targets: frozenset[str]) -> None:
        """One round: its mark, its removal from wherever it is, its receipt."""
        kid = self.kids.get(round_.lane)
        waiting = self.world.lane(round_.lane).waiting
        kept = sum(name not in targets and not self.world.rounds[name].stopped for name in waiting)
        self.record(facts.StopMarked(round_.id, by))
        grace = 0
        match round_.phase:
            case Phase.WAITING:
                behind = kid is not None and self.free(kid) and kid.model in self.world.gates
                what = Halted.GATE if behind and waiting[0] == round_.id else Halted.QUEUED
            case Phase.BACKOFF:
                what = Halted.BACKOFF
            case Phase.POSTING:
                what = Halted.POSTING if round_.owed else Halted.RUNNING
                self.out.append(Withdraw(round_.id))
                grace = self.rules.run_grace if self.runs_on(round_) else 0
            case Phase.WRITTEN:
                what, grace = Halted.STARTING, self.rules.abort_grace
            case Phase.RUNNING:
                what, grace = Halted.RUNNING, self.rules.run_grace
            case Phase.JOINED:
                what, grace = Halted.STEERING, self.rules.run_grace
            case Phase.STEERED:
                what = Halted.STEERING
            case Phase.ENDED:
                raise AssertionError("what has ended is not open")
            case _:
                assert_never(round_.phase)
        tools, until = 0, None
        if kid is not None and kid.child == round_.child and (grace or round_.phase is Phase.STEERED):
            turn = kid.turn if round_.phase is Phase.POSTING else round_.turn
            self.tell(kid, engine.Fail(turn, engine.Code.STOPPED))
            if grace:
                tools, until = len(kid.tools), (self.now + grace) // SECOND
        self.end_stopped(round_, notices.stopped(what, by=by, tools=tools, kept=kept, until=until))
        if until is not None and kid is not None:
            last = notices.stopped(what, by=by, tools=tools, kept=kept)
            kid.receipts.append((f"{round_.id}/receipt/1", round_.channel, last))

    def end_stopped(self, round_: Round, receipt: str) -> None:
        """A stopped round's receipt and end; what it owed is not posted any more."""
        self.drop_owed(round_, "stopped")
        self.owe(round_, "receipt", 1, receipt)
        self.record(facts.Ended(round_.id, "stopped"))
        self.react(round_, "stopped")
        self.ended_log(round_, "stopped")

    def drop_owed(self, round_: Round, reason: str) -> None:
        """What a round that is taken back still owes is not posted any more."""
        for key in sorted(round_.owed):
            self.record(facts.Dropped(key, reason))
        if round_.owed and round_.phase is not Phase.POSTING:
            self.out.append(Withdraw(round_.id))

    # -- what arrivals share with the word "stop" ------------------------------------------------------------------

    def see(self, channel: int, message: int) -> None:
        """A channel's last seen id only grows; the first one is kept even where it is 0, an empty channel's."""
        if message > self.world.seen.get(channel, -1):
            self.record(facts.Seen(channel, message))

    def too_many_bots(self, claim: facts.Claimed) -> bool:
        """Whether this is one more bot's message than `access.bot_turns` allows; if so, it is ignored, but seen."""
        said = claim.bot and claim.origin is not facts.Origin.RETRY
        if not said or self.world.lane(claim.lane).bots_in_row < self.rules.bot_turns:
            return False
        self.see(claim.parent or claim.channel, claim.message)
        self.log("message.ignored", lane=claim.lane, message_id=claim.message, reason="bot-turns")
        return True
