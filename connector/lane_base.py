"""The lanes' state and the small verbs all their decisions share; pure: facts and effects come out, nothing is done.

`world` is what facts make and survives a restart. The rest is about processes that a restart ends anyway: which
child a lane has, who probes a closed gate, whether we are going down.
"""

import heapq
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum, auto

from connector import facts, notices
from connector.lane_events import Effect, Log, Post, Quit, React, Retire, Tell, Typing
from connector.world import AT_CHILD, Phase, Round, World
from engine import events as engine

SECOND = 1_000_000_000

Model = tuple[str, str]


@dataclass(frozen=True, slots=True)
class LaneRules:
    """The settings the lanes need; durations in nanoseconds."""

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


class Stand(Enum):
    """What a child is to its lane."""

    SPAWNING = auto()
    STARTING = auto()
    SESSION = auto()
    READY = auto()
    LEAVING = auto()


@dataclass(slots=True)
class Kid:
    """One child of the pool.

    `streak`: turns given in a row while an older lane waits; `tools`: open ones by call; `receipts`: key, channel and
    last wording of Stop's receipts that say its run is still ending.
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
    session: str = ""
    receipts: list[tuple[str, int, str]] = field(default_factory=list)

    @property
    def idle(self) -> bool:
        """Whether a prompt may be given now."""
        return self.stand is Stand.READY and not self.busy


@dataclass(slots=True)
class Base:
    """State and small verbs; `now` is the instant of the step that is under way, `dice` its chance in [0, 1)."""

    rules: LaneRules
    world: World = field(default_factory=World)
    generation: int = 0
    kids: dict[str, Kid] = field(default_factory=dict)
    wants: list[tuple[int, str]] = field(default_factory=list)
    timers: list[tuple[int, str]] = field(default_factory=list)
    probes: dict[Model, str] = field(default_factory=dict)
    unproven: set[Model] = field(default_factory=set)
    delays: dict[str, int] = field(default_factory=dict)
    shown: dict[str, int] = field(default_factory=dict)
    idle_exits: list[int] = field(default_factory=list)
    in_row: int = 0
    draining: str = ""
    stopping: bool = False
    due: int = 0
    over: bool = False
    now: int = 0
    dice: float = 0.0
    kept: list[facts.AnyFact] = field(default_factory=list)
    out: list[Effect] = field(default_factory=list)
    touched: dict[str, None] = field(default_factory=dict)

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

    def react(self, round_: Round, sign: str) -> None:
        """A sign on the round's own message."""
        if round_.message:
            self.out.append(React(round_.parent or round_.channel, round_.message, sign))  # type: ignore[arg-type]  # one of React's signs

    def owe(self, round_: Round, kind: str, number: int, text: str, *, retry: bool = False) -> None:
        """Record a post and hand it to the outbox."""
        owed = facts.Owed(
            key=f"{round_.id}/{kind}/{number}",
            round=round_.id,
            channel=round_.channel,
            kind=kind,  # type: ignore[arg-type]  # one of Owed's kinds
            text=text,
            reply_to=round_.reply_to if round_.reply_to != round_.channel else 0,
            retry=retry,
        )
        self.record(owed)
        self.out.append(Post(owed))

    def tell(self, kid: Kid, given: engine.Submit | engine.SteerIn | engine.Fail | engine.AbortOrphan) -> None:
        """Give an input to the lane's engine."""
        self.out.append(Tell(kid.lane, kid.child, given))

    def finish(self, round_: Round, code: str, notice: str, *, detail: str = "", retry: bool = False) -> None:
        """The one end of a round that has no answer: its terminal state and its one-line notice, in one transaction."""
        self.record(facts.Ended(round_.id, code, detail=detail))
        self.owe(round_, "notice", 1, notice, retry=retry)
        self.react(round_, "stopped" if code == "stopped" else "failed")
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

    def cut(self, kid: Kid, rounds: Iterable[Round]) -> None:
        """Our own drain or shutdown ends what runs there; the next start decides about it, uncharged."""
        for round_ in rounds:
            self.record(facts.Cut(round_.id))
            if round_.phase in {Phase.WRITTEN, Phase.RUNNING}:
                self.tell(kid, engine.Fail(round_.turn, engine.Code.RESTART))

    def fall(self, reason: str) -> None:
        """A reason to exit with 1: recorded now, then the other running turns get `drain` (BEHAVIOUR §6)."""
        since = min((round_.at for kid in self.kids.values() for round_ in self.at_child(kid.lane)), default=self.now)
        self.record(facts.Fell(self.now, reason, busy=max(0, self.now - since)))
        self.in_row += 1
        if not self.draining and not self.stopping:
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
