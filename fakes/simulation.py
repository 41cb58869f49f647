"""The connector's pure cores with fake children in memory on one simulated clock: hours of people, bots and providers
in a moment. It starts no process, touches no disk and no Discord; posts stand at once.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from connector import facts, lane_effects
from connector import lane_events as asked
from connector.lane_base import LaneRules
from connector.lanes import Lanes, restored
from engine import core
from engine import events as told
from engine.commands import encode
from engine.state import Advice, State, advice, deadline
from engine.wire import Framer
from fakes.memory import MemoryChild
from fakes.pi_core import Options

SECOND = 1_000_000_000


@dataclass(slots=True)
class _House:
    """One lane's engine and child; `read`: how much of the child's output was taken; `busy`: as was told last."""

    lane: str
    generation: int
    state: State
    child: MemoryChild
    framer: Framer
    read: int = 0
    kill_at: int | None = None
    stopping: bool = False
    over: bool = False
    busy: bool = True


@dataclass(slots=True)
class Simulation:
    """A connector and its world. `ledger` holds the facts; `posts` what reached Discord, in order."""

    rules: LaneRules = field(default_factory=LaneRules)
    limits: told.Limits = field(default_factory=told.Limits)
    options: Callable[[str], Options] = lambda _lane: Options()
    long_wait: int = 60 * SECOND
    now: int = 1_800_000_000 * SECOND
    ledger: list[facts.AnyFact] = field(default_factory=list)
    posts: list[facts.Owed] = field(default_factory=list)
    quit: lane_effects.Quit | None = None
    effects: list[lane_effects.Effect] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    lanes: Lanes = field(init=False)
    heard: list[dict[str, object]] = field(default_factory=list)
    on_post: Callable[[facts.Owed], None] = lambda _owed: None
    _houses: dict[str, _House] = field(default_factory=dict)
    _inbox: list[asked.Input] = field(default_factory=list)
    _ids: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1_000))

    def __post_init__(self) -> None:
        self.lanes = Lanes(rules=self.rules)

    # -- people ----------------------------------------------------------------------------------------------------

    def say(self, author: int, channel: int, text: str, *, bot: bool = False) -> str:
        """A message that is for the model; its round."""
        claim = self.claim(author, channel, text, bot=bot)
        self.give(asked.Arrived(claim, self._advice(claim.lane)))
        return claim.round

    def claim(self, author: int, channel: int, text: str, *, bot: bool = False) -> facts.Claimed:
        """What such a message is to the lanes; it is not given to them."""
        message = next(self._ids)
        header = f"[discord] #c{channel} · p{author} ({author}) · {message}"
        return facts.Claimed(
            round=str(message),
            lane=str(channel),
            channel=channel,
            message=message,
            reply_to=message,
            author=author,
            author_name=f"p{author}",
            text=f"{header}\n\n{text}",
            at=self.now,
            bot=bot,
        )

    def _advice(self, lane: str) -> Advice:
        house = self._houses.get(lane)
        return advice(house.state, self.now, self.long_wait) if house else Advice.QUEUE

    def again(self, name: str, origin: str = "retry") -> str:
        """The same message once more, in a new round: Retry, or "Ask pi"."""
        claim = next(fact for fact in self.ledger if isinstance(fact, facts.Claimed) and fact.round == name)
        number = next(self._ids)
        more = {"round": f"{claim.message}.{number}", "at": self.now, "origin": facts.Origin(origin)}
        self.give(asked.Arrived(msgspec.structs.replace(claim, **more), self._advice(claim.lane)))
        return str(more["round"])

    def command(self, author: int, channel: int, text: str) -> str:
        """`/command` of a person, `text` with its slash; its round."""
        number = next(self._ids)
        claim = facts.Claimed(
            round=str(number),
            lane=str(channel),
            channel=channel,
            message=number,
            reply_to=0,
            author=author,
            author_name=f"p{author}",
            text=text,
            at=self.now,
            origin=facts.Origin.COMMAND,
        )
        self.give(asked.Arrived(claim))
        return claim.round

    def stop(self, channel: int, scope: str = "turn", by: int = 1) -> None:
        """`/stop` in a channel."""
        self.give(asked.StopAsked(str(channel), channel, by, f"p{by}", scope))  # type: ignore[arg-type]  # a scope

    def give(self, *given: asked.Input) -> None:
        """These inputs, one right after the other, and all that follows at this instant."""
        self._inbox += given
        self._settle()

    def kill(self, channel: int) -> None:
        """kill -9 of a lane's child."""
        self._houses[str(channel)].child.signal("KILL")
        self._settle()

    # -- time ------------------------------------------------------------------------------------------------------

    def run(self, until: int, steps: int = 1_000_000) -> None:
        """Let the time pass up to `until` (ns)."""
        for _ in range(steps):
            due = self._next()
            if due is None or due > until or self.quit is not None:
                self.now = max(self.now, until)
                return
            self.now = max(self.now, due)
            self._tick()
        raise AssertionError("the simulation does not come to rest")

    def seconds(self, count: float) -> None:
        """Let so many seconds pass."""
        self.run(self.now + int(count * SECOND))

    def crash(self) -> None:
        """kill -9 of everything: what is on the disk is all that is left; then a new start."""
        self._houses.clear()
        self._inbox.clear()
        self.quit = None
        self.lanes = restored(Lanes(rules=self.rules), tuple(self.ledger))
        self.give(asked.Recover())

    def _next(self) -> int | None:
        dues = [self.lanes.deadline()]
        for house in self._houses.values():
            dues += [deadline(house.state), house.child.deadline(), house.kill_at]
        return min((due for due in dues if due is not None), default=None)

    def _tick(self) -> None:
        for house in list(self._houses.values()):
            house.child.advance(self.now)
            if house.kill_at is not None and self.now >= house.kill_at:
                house.kill_at = None
                house.child.signal("KILL")
            if (due := deadline(house.state)) is not None and due <= self.now:
                self._engine(house, told.Tick())
        if (due := self.lanes.deadline()) is not None and due <= self.now:
            self._inbox.append(asked.Tick())
        self._settle()

    # -- machinery -------------------------------------------------------------------------------------------------

    def _settle(self) -> None:
        """Until nothing more happens at this instant."""
        moved = True
        while moved:
            moved = False
            while self._inbox:
                moved = True
                step = self.lanes.step(self._inbox.pop(0), self.now)
                self.ledger += step.facts
                self.effects += step.effects
                for effect in step.effects:
                    self._perform(effect)
            for house in list(self._houses.values()):
                moved = self._listen(house) or moved

    def _listen(self, house: _House) -> bool:
        """Take in what the child wrote, and its end."""
        new = house.child.written[house.read :]
        house.read += len(new)
        for chunk in new:
            if lines := house.framer.read(chunk):
                self._engine(house, told.Read(house.generation, lines))
        if house.child.code is not None and not house.over:
            house.over = True
            self._engine(house, told.Exited(house.generation, house.child.code))
            del self._houses[house.lane]
            self._inbox.append(asked.ChildDown(house.lane, house.generation, house.child.code, expected=house.stopping))
            return True
        return bool(new)

    def _engine(self, house: _House, given: told.Input) -> None:
        house.state, effects = core.step(house.state, given, self.now)
        self._after(house, effects)

    def _after(self, house: _House, effects: tuple[told.Effect, ...]) -> None:
        said = []
        for effect in effects:
            match effect:
                case told.Write(commands):
                    self.heard += [
                        {"lane": house.lane, "type": type(c).__name__, "at": self.now, "command": c} for c in commands
                    ]
                    house.child.advance(self.now)
                    house.child.write(b"".join(map(encode, commands)))
                case told.Kill():
                    house.stopping = True
                    house.kill_at = self.now + self.rules.kill_after
                    house.child.close_stdin()
                    house.child.signal("TERM")
                case _:
                    said.append(effect)
        if effects or house.state.busy is not house.busy:  # also a run that is nobody's ends our waiting
            house.busy = house.state.busy
            self._inbox.append(asked.ChildSays(house.lane, house.generation, tuple(said), house.state.busy))

    def _perform(self, effect: lane_effects.Effect) -> None:
        match effect:
            case lane_effects.Spawn(lane, generation):
                options = self.options(lane)
                child = MemoryChild(options, now=self.now, files=self.files)
                state, first = core.start(generation, self.limits, self.now)
                house = _House(lane, generation, state, child, Framer(1 << 26))
                self._houses[lane] = house
                self._inbox.append(asked.ChildUp(lane, generation, generation, "simulated"))
                self._after(house, first)
            case lane_effects.Tell(lane, generation, given):
                house_ = self._houses.get(lane)
                if house_ is not None and house_.generation == generation:
                    self._engine(house_, given)
            case lane_effects.Retire(lane, generation):
                house_ = self._houses.get(lane)
                if house_ is not None and house_.generation == generation:
                    self._engine(house_, told.Stop())
            case lane_effects.Post(owed):
                self.posts.append(owed)
                self._inbox.append(asked.PostDone(facts.Posted(owed.key, 0, 1, next(self._ids))))
                self.on_post(owed)
            case lane_effects.OpenThread(parent, message):
                self._inbox.append(asked.ThreadDone(message, parent, opened=True))
            case lane_effects.Quit():
                self.quit = effect
            case _:
                pass

    # -- counts ----------------------------------------------------------------------------------------------------

    def count(self, kind: str, lane: int | None = None) -> int:
        """How many commands of a kind ("Prompt", "Steer", "Abort") the children were given."""
        return sum(entry["type"] == kind and lane in {None, int(str(entry["lane"]))} for entry in self.heard)
