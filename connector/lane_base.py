"""The lanes' state and the small verbs all their decisions share; pure: facts and effects come out, nothing is done.

`world` is what facts make and survives a restart. The rest is about processes that a restart ends anyway: which
child a lane has, who probes a closed gate, whether we are going down.
"""

import heapq
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum, auto

from connector import facts, notices
from connector.lane_effects import Effect, Log, Post, Quit, React, Retire, Tell, Typing
from connector.lane_events import Brought, Errand
from connector.spend import NO_CAPS, Amount, Caps
from connector.world import AT_CHILD, Phase, Round, World
from engine import commands
from engine import events as engine
from engine.events import SECOND

Model = tuple[str, str]


@dataclass(frozen=True, slots=True)
class LaneRules:
    """The settings the lanes need; durations in nanoseconds.

    `outboxes`: the folder that holds an outbox for each lane, "" where the child could not use it.
    """

    busy: str = "auto"
    capacity: int = 500
    per_person: int = 20
    bot_turns: int = 5
    max_children: int = 4
    idle_timeout: int = 900 * SECOND
    backoff: tuple[int, ...] = (5 * SECOND, 15 * SECOND, 45 * SECOND)
    max_attempts: int = 3
    quota_hold: int = 21600 * SECOND
    drain: int = 120 * SECOND
    kill_after: int = 5 * SECOND
    run_grace: int = 60 * SECOND
    abort_grace: int = 30 * SECOND
    spend: Caps = NO_CAPS
    outboxes: str = ""


class Stand(Enum):
    """What a child is to its lane."""

    SPAWNING = auto()
    SESSION = auto()
    READY = auto()
    LEAVING = auto()


@dataclass(frozen=True, slots=True)
class Tail:
    """A `/command` that was handled: texts of a run that it starts answer it; `answers` were given so far."""

    turn: str
    round: str
    channel: int
    answers: int = 0


@dataclass(slots=True)
class Kid:
    """One child of the pool.

    `streak`: turns given in a row while an older lane waits; `tools`: open ones by call; `receipts`: key, channel and
    last wording of Stop's receipts that say its run is still ending. `turn`: the one it was given and has not
    released, since `since`; `sent`: the last that was written to it; `interrupted`: the one that a person's line has
    ended. `died`: it ended in a turn. `session`: the file it is in, None while that is not known; `fresh`: nothing was
    said in it; `outdated`: the lane wants another one since. `chosen`, `level`: the model and thinking level it was
    given; `asked`, `asking`: the session command that it has not answered. `tail`: the `/command` it handled last.
    `payer`: round and author of what it was given last; `unbooked`: what it has spent since the last record, by day,
    provider and model.
    `introduced`: its session was told of the lane's outbox, or is an older one. `homeless`:
    its lane's channel was deleted, so it leaves as soon as it is free.
    """

    lane: str
    child: int
    stand: Stand = Stand.SPAWNING
    busy: bool = True
    idle_since: int = 0
    streak: int = 0
    tools: dict[str, str] = field(default_factory=dict)
    model: Model | None = None
    fell: bool = False
    died: bool = False
    outdated: bool = False
    session: str | None = None
    fresh: bool = True
    chosen: Model | None = None
    level: str = ""
    asked: str = ""
    asking: commands.Ask | None = None
    tail: Tail | None = None
    receipts: list[tuple[str, int, str]] = field(default_factory=list)
    turn: str = ""
    sent: str = ""
    since: int = 0
    interrupted: str = ""
    payer: tuple[str, int] = ("", 0)
    unbooked: dict[tuple[int, str, str], Amount] = field(default_factory=dict)
    introduced: bool = False
    homeless: bool = False

    @property
    def idle(self) -> bool:
        """Whether its engine takes a prompt now, as far as that was told; `Base.free` is the whole question."""
        return self.stand is Stand.READY and not self.busy


@dataclass(slots=True)
class Base:
    """State and small verbs; `now` is the instant of the step that is under way, `dice` its chance in [0, 1).

    `day_over`: when the day ends for whom a spending cap holds back, 0 where it holds nobody.
    """

    rules: LaneRules
    world: World = field(default_factory=World)
    generation: int = 0
    kids: dict[str, Kid] = field(default_factory=dict)
    wants: list[tuple[int, str]] = field(default_factory=list)
    timers: list[tuple[int, str]] = field(default_factory=list)
    probes: dict[Model, str] = field(default_factory=dict)
    delays: dict[str, int] = field(default_factory=dict)
    shown: dict[str, int] = field(default_factory=dict)
    behind: dict[str, tuple[str, int]] = field(default_factory=dict)
    idle_exits: list[int] = field(default_factory=list)
    in_row: int = 0
    newest: int = 0
    draining: str = ""
    stopping: bool = False
    due: int = 0
    over: bool = False
    now: int = 0
    dice: float = 0.0
    kept: list[facts.AnyFact] = field(default_factory=list)
    out: list[Effect] = field(default_factory=list)
    touched: dict[str, None] = field(default_factory=dict)
    errands: dict[str, list[Errand]] = field(default_factory=dict)
    day_over: int = 0
    fetching: set[str] = field(default_factory=set)
    at_hand: Brought | None = None

    def record(self, fact: facts.AnyFact) -> None:
        """A fact, folded in at once; the shell puts it on the disk before any effect of this step."""
        self.kept.append(fact)
        self.world.apply(fact)

    def log(self, event: str, **fields: object) -> None:
        """One event of CONTRACT's list."""
        self.out.append(Log(event, tuple(fields.items())))

    def wake(self, at: int, key: str) -> None:
        """Look at a lane ("" for the whole) again at this instant; a stale alarm changes nothing."""
        heapq.heappush(self.timers, (at, key))

    def stands_in(self, round_: Round) -> int:
        """The channel of the round's own message."""
        channel = round_.parent or round_.channel
        if channel == round_.message:  # a thread's first message stands in the channel above it
            channel = self.world.lane(round_.lane).thread_of or channel
        return channel

    def react(self, round_: Round, sign: str) -> None:
        """A sign on the round's own message."""
        if round_.reply_to:
            self.out.append(React(self.stands_in(round_), round_.message, sign))  # type: ignore[arg-type]  # one of React's signs

    def owe(
        self, round_: Round, kind: str, number: int, text: str, *, retry: bool = False, extend: bool = False
    ) -> None:
        """Record a post and hand it to the outbox."""
        owed = facts.Owed(
            key=f"{round_.id}/{kind}/{number}",
            round=round_.id,
            channel=round_.channel,
            kind="notice" if extend else kind,  # type: ignore[arg-type]  # one of Owed's kinds
            text=text,
            reply_to=round_.reply_to if round_.reply_to != round_.channel else 0,
            retry=retry,
            extend=extend,
            lane=round_.lane if kind == "answer" else "",
        )
        self.record(owed)
        self.out.append(Post(owed))

    def tell(self, kid: Kid, given: engine.Submit | engine.SteerIn | engine.Fail | engine.AbortOrphan) -> None:
        """Give an input to the lane's engine."""
        self.out.append(Tell(kid.lane, kid.child, given))

    def finish(self, round_: Round, code: str, notice: str, *, detail: str = "", retry: bool = False) -> None:
        """The one end of a round that has no answer: its one-line notice and its terminal state, in one transaction.

        The notice comes first, so that the round is kept until it is posted, over a restart too.
        """
        self.owe(round_, "notice", 1, notice, retry=retry)
        self.record(facts.Ended(round_.id, code, detail=detail))
        self.react(round_, {"stopped": "stopped", "handled": "answered"}.get(code, "failed"))
        self.ended_log(round_, code)

    def ended_log(self, round_: Round, code: str) -> None:
        """CONTRACT's `turn.ended`."""
        self.log(
            "turn.ended",
            lane=round_.lane,
            message_id=round_.message,
            child=round_.child,
            attempt=round_.attempts,
            outcome=code,
            seconds=round(max(0, self.now - round_.at) / SECOND, 3),
        )

    def bury(self, round_: Round) -> None:
        """A dead letter: one log line, one notice with Retry, the lane goes on (BEHAVIOUR §3.2)."""
        self.log("message.dead", lane=round_.lane, message_id=round_.message, attempt=round_.attempts)
        self.finish(round_, "dead", notices.failed("dead", retry=True), retry=True)

    def at_child(self, lane: str) -> list[Round]:
        """The lane's rounds that a child has: the head, and lines steered into its run."""
        held = (self.world.rounds[name] for name in self.world.lane(lane).held)
        return [round_ for round_ in held if round_.phase in AT_CHILD]

    def runs_on(self, round_: Round) -> bool:
        """Whether the run that answered a round has not settled: it may go on, and Stop can still end it (§1.16)."""
        kid = self.kids.get(round_.lane)
        name = kid.turn.rpartition("@")[0] if kid is not None and kid.child == round_.child else ""
        return bool(name) and name in {round_.id, round_.into}

    def free(self, kid: Kid) -> bool:
        """Whether a child has nothing to do: what its engine told last may be older than what it was given since."""
        return kid.idle and not kid.asked and not kid.turn and not self.at_child(kid.lane)

    def cut(self, kid: Kid, rounds: Iterable[Round]) -> None:
        """Our own drain or shutdown ends what runs there; the next start decides about it, uncharged."""
        for round_ in rounds:
            self.record(facts.Cut(round_.id))
            if round_.phase in {Phase.WRITTEN, Phase.RUNNING}:
                self.tell(kid, engine.Fail(round_.turn, engine.Code.RESTART))

    def fall(self, reason: str, died: Kid | None = None) -> None:
        """A reason to exit with 1: recorded now, then the other running turns get `drain` (BEHAVIOUR §6).

        Going down on request is exit 0 whatever happens meanwhile. `busy` is how long turns ran up to here.
        """
        if self.stopping:
            return
        ran = [kid.since for kid in self.kids.values() if kid.turn]
        if died is not None and died.since:
            ran.append(died.since)
        since = min(ran, default=self.now)
        self.record(facts.Fell(self.now, reason, busy=max(0, self.now - since)))
        self.in_row += 1
        if not self.draining:
            self.draining = reason
            self.due = self.now + self.rules.drain
            self.wake(self.due, "")

    def quit(self, code: int, reason: str) -> None:
        """Once: end the process when what is recorded has been performed."""
        if not self.over:
            self.over = True
            self.out.append(Quit(code, reason))

    def show_typing(self) -> None:
        """Typing follows the rounds at children: on while a lane has one, off with its end."""
        for lane in self.touched:
            running = next((r for r in self.at_child(lane) if r.phase in {Phase.WRITTEN, Phase.RUNNING}), None)
            before = self.shown.get(lane)
            channel = running.channel if running is not None and not running.stopped else None
            if before is not None and before != channel:
                self.out.append(Typing(before, on=False))
                del self.shown[lane]
            if channel is not None and before != channel:
                self.out.append(Typing(channel, on=True))
                self.shown[lane] = channel

    def retire(self, kid: Kid) -> None:
        """Stop a child on purpose."""
        if kid.stand is not Stand.LEAVING:
            kid.stand = Stand.LEAVING
            self.out.append(Retire(kid.lane, kid.child))
