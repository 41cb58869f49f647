"""An engine as the lanes see one: says only what an honest engine may say, when the test makes it; it never decides.

A small model of BEHAVIOUR §1 and §4 seen from outside: one head, steers, joined lines, a run that settles.
"""

from dataclasses import dataclass, field

from engine import events as engine
from engine.events import Code, Effect, Outcome
from engine.pi import Cost, Response, Usage
from engine.state import Advice

MODEL = {"provider": "acme", "id": "large"}


@dataclass(slots=True)
class Child:
    """One generation. `out`: told and not yet handed over. `open`: steers, with the code of those given up."""

    lane: str
    number: int
    session: str = ""
    alive: bool = True
    ready: bool = False
    wedged: bool = False
    stopping: bool = False
    held: list[engine.Submit] = field(default_factory=list)
    head: str = ""
    running: bool = False
    failed: Code | None = None
    settling: bool = False
    orphan: bool = False
    joined: list[str] = field(default_factory=list)
    ended: set[str] = field(default_factory=set)
    open: dict[str, Code | None] = field(default_factory=dict)
    tools: dict[str, int] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    past: list[str] = field(default_factory=list)
    steered_out: set[str] = field(default_factory=set)
    prompts: int = 0
    aborts: int = 0
    cost: float = 0.0
    out: list[Effect] = field(default_factory=list)

    @property
    def busy(self) -> bool:
        """BEHAVIOUR §1.1."""
        dead = self.wedged or self.stopping or not self.alive
        return bool(dead or not self.ready or self.head or self.held or self.orphan or self.open)

    @property
    def healthy(self) -> bool:
        return self.running and self.failed is None and not self.settling

    def advise(self, now: int, long_wait: int) -> Advice:
        if not self.healthy or self.wedged or self.stopping:
            return Advice.QUEUE
        hanging = any(now - since > long_wait for since in self.tools.values())
        return Advice.INTERRUPT if hanging else Advice.STEER

    # -- what the lanes give ---------------------------------------------------------------------------------------

    def give(self, given: object) -> None:
        match given:
            case engine.Submit(turn):
                if self.wedged or self.stopping:
                    self.out += [engine.Ended(turn, Outcome(Code.DOWN)), engine.Released(turn)]
                else:
                    self.held.append(given)
            case engine.SteerIn(turn, text):
                if self.healthy and not (self.wedged or self.stopping):
                    self.open[turn] = None
                    self.texts[turn] = text.message
                else:
                    self.out.append(engine.Returned(turn, written=False))
            case engine.Fail(turn, code):
                self.fail(turn, code)
            case engine.AbortOrphan():
                self.aborts += self.orphan
            case _:
                raise AssertionError(f"the lanes never give {given}")
        self.proceed()

    def proceed(self) -> None:
        """Write the next held turn if nothing is in its way."""
        if self.wedged or self.stopping or not self.ready or not self.held:
            return
        if self.head or self.orphan or self.open:
            return
        turn = self.held.pop(0)
        self.head, self.running, self.failed, self.settling = turn.turn, False, None, False
        self.joined, self.ended = [], set()
        self.past.append(turn.turn)
        self.out.append(engine.Sent(turn.turn))
        if isinstance(turn.work, engine.Request):
            data = {"sessionFile": f"new-{self.number}"} if turn.turn == "session/state" else {}
            self.out.append(engine.Replied(turn.turn, Response(success=True, data=data)))
            self.end(turn.turn, Outcome(Code.HANDLED))
            self.release()
        elif isinstance(turn.work, engine.Text):
            self.prompts += 1
            self.texts[turn.turn] = turn.work.message

    def fail(self, turn: str, code: Code) -> None:
        for held in self.held:
            if held.turn == turn:
                self.held.remove(held)
                self.out += [engine.Ended(turn, Outcome(code)), engine.Released(turn)]
                return
        if self.head and self.failed is None and (turn == self.head or (turn in self.joined and self.running)):
            self.fail_head(code)
        elif turn in self.open and self.open[turn] is None:
            self.open[turn] = code

    def fail_head(self, code: Code) -> None:
        self.failed = code
        self.aborts += 1
        for turn in (self.head, *self.joined):
            self.end(turn, Outcome(code))

    def stop(self) -> None:
        self.stopping = True
        for held in self.held:
            self.out += [engine.Ended(held.turn, Outcome(Code.DOWN)), engine.Released(held.turn)]
        self.held.clear()

    def end(self, turn: str, outcome: Outcome) -> None:
        if turn not in self.ended:
            self.ended.add(turn)
            self.out.append(engine.Ended(turn, outcome))

    def release(self) -> None:
        turn, self.head, self.running, self.settling, self.failed = self.head, "", False, False, None
        self.joined, self.tools = [], {}
        self.out.append(engine.Released(turn))
        self.proceed()

    # -- what the child does ---------------------------------------------------------------------------------------

    def come_up(self) -> None:
        self.ready = True
        session = f"file-{self.number}"
        self.out.append(engine.Ready({"sessionFile": session, "model": dict(MODEL)}))
        self.proceed()

    def come_up_busy(self) -> None:
        """An extension begins a run of its own at once."""
        self.come_up()
        self.orphan_starts()

    def start(self) -> None:
        """The head's run begins."""
        self.running = True
        if self.failed is None:
            self.out.append(engine.Started(self.head))

    def speak(self) -> None:
        if self.failed is None:
            self.out += [
                engine.Progress(self.head, "so"),
                engine.Spent(self.head, MODEL["provider"], MODEL["id"], None),
            ]

    def tool(self, now: int) -> None:
        call = f"call-{self.number}-{len(self.past)}-{len(self.tools)}-{now}"
        self.tools[call] = now
        if self.failed is None:
            self.out.append(engine.ToolOpened(self.head, call, "bash"))

    def tool_returns(self) -> None:
        call = next(iter(self.tools))
        del self.tools[call]
        if self.failed is None:
            self.out.append(engine.ToolClosed(self.head, call))

    def answer(self, *, apart: bool = False, settles: bool = True) -> None:
        """The run is final: one answer for all, or one `apart` for each; it settles now or later."""
        if self.cost:
            usage = Usage(10, 1, 11, Cost(self.cost))
            owner = self.head if self.failed is None else ""
            self.out.append(engine.Spent(owner, MODEL["provider"], MODEL["id"], usage))
        if self.failed is None:
            owners = [turn for turn in (self.head, *self.joined) if turn not in self.ended]
            for turn in owners:
                if apart or turn == owners[-1]:
                    self.end(turn, Outcome(Code.ANSWERED, text=f"answer to {turn}"))
                else:
                    self.end(turn, Outcome(Code.JOINED, into=owners[-1]))
        self.tools = {}
        if settles or self.open:
            self.release()
        else:
            self.settling = True

    def fails(self, outcome: Outcome) -> None:
        """The run settles without an answer."""
        if self.failed is None:
            owners = [turn for turn in (self.head, *self.joined) if turn not in self.ended]
            for turn in owners[1:]:
                self.end(turn, Outcome(Code.JOINED, into=owners[0]))
            if owners:
                self.end(owners[0], outcome)
        self.release()

    def further(self) -> None:
        """A continuation's text after the answer was given out."""
        if self.failed is None:
            owner = (self.head, *self.joined)[-1]
            self.out.append(engine.Answered(owner, f"more for {owner}"))

    def settle(self) -> None:
        self.release()

    def refuse(self, *, busy: bool) -> None:
        """pi refuses the head's prompt."""
        self.end(self.head, Outcome(Code.REFUSED, detail="busy", busy=busy))
        self.orphan = self.orphan or busy
        self.release()

    def handle(self) -> None:
        self.end(self.head, Outcome(Code.HANDLED))
        self.release()

    def times_out(self) -> None:
        """The silence bound of the head, or of a turn that is held."""
        if self.head:
            self.fail_head(Code.TIMEOUT)
        else:
            turn = self.held.pop(0).turn
            self.out += [
                engine.Ended(turn, Outcome(Code.TIMEOUT, detail="while waiting for the engine")),
                engine.Released(turn),
            ]

    def hear(self, steer: str) -> None:
        """The echo of a steer."""
        code = self.open.pop(steer)
        head = self.head if self.running else None
        self.out.append(engine.Heard(steer, head))
        if head is None:
            self.end(steer, Outcome(code or Code.JOINED))
            return
        self.joined.append(steer)
        if self.failed is not None or code is not None:
            self.end(steer, Outcome(code or self.failed or Code.STOPPED))
            if self.failed is None:
                self.fail_head(code or Code.STOPPED)

    def return_steer(self, steer: str, *, refused: bool = False) -> None:
        code = self.open.pop(steer)
        self.steered_out.add(steer)
        if code is not None:
            self.out.append(engine.Ended(steer, Outcome(code)))
        else:
            self.out.append(engine.Returned(steer, refused=refused))
        self.proceed()

    def orphan_starts(self) -> None:
        self.orphan = True
        self.out.append(engine.Note("orphan-run"))

    def orphan_ends(self) -> None:
        self.orphan = False
        self.out.append(engine.Note("orphan-over"))
        self.proceed()

    def wedge(self) -> None:
        self.wedged = True
        self.out.append(engine.Wedged("nothing ended the turn within its grace"))
        for held in self.held:
            self.out += [engine.Ended(held.turn, Outcome(Code.WEDGED)), engine.Released(held.turn)]
        self.held.clear()

    def exit(self) -> None:
        """The process is gone."""
        self.alive = False
        code = Code.WEDGED if self.wedged else Code.EXIT
        if self.head:
            if self.failed is None:
                for turn in (self.head, *self.joined):
                    self.end(turn, Outcome(code, detail="exit 1"))
            for steer, given_up in self.open.items():
                self.out.append(engine.Ended(steer, Outcome(given_up or code)))
            self.out.append(engine.Released(self.head))
        for held in self.held:
            self.out += [engine.Ended(held.turn, Outcome(Code.DOWN)), engine.Released(held.turn)]
        self.held, self.head, self.open = [], "", {}
