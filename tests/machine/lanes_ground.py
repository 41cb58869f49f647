"""What is under a connector in its model world: ledger, children, Discord and crashes; people come in `Sim`.

Everything that the lanes ask for is performed, and what comes of it waits until the test delivers it. Every step is
audited; a crash loads the lanes from the ledger's own SQL.
"""

import sqlite3
import weakref
from collections import deque
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from connector import chain, facts, ledger
from connector import lanes as product
from connector.lane_base import LaneRules
from connector.lane_effects import (
    Amend,
    Behind,
    Effect,
    ErrandDone,
    Fetch,
    FilesOver,
    Log,
    MayShow,
    OpenThread,
    Post,
    Quit,
    React,
    Retire,
    Spawn,
    Tell,
    Typing,
    Withdraw,
)
from connector.lane_events import (
    Brought,
    ChildDown,
    ChildSays,
    ChildUp,
    Input,
    Missed,
    PostDone,
    Recover,
    StopAsked,
    ThreadDone,
)
from connector.lanes import Lanes, Stepped
from connector.world import AT_CHILD, Phase, Round, World
from engine import events as engine
from engine.commands import Image
from engine.events import SECOND, Code
from engine.state import Advice
from tests.machine.lanes_audit import Audit
from tests.machine.lanes_child import Child

RULES = LaneRules(
    busy="steer",
    capacity=4,
    per_person=5,
    bot_turns=2,
    max_children=2,
    idle_timeout=300 * SECOND,
    backoff=(5 * SECOND,),
    max_attempts=2,
    quota_hold=3600 * SECOND,
    drain=20 * SECOND,
    kill_after=5 * SECOND,
)
LONG_WAIT = 60 * SECOND
START = 1_800_000_000 * SECOND
WEDGE_GAP = 900 * SECOND


@dataclass
class Ground:
    """The world around one connector, over all its lives."""

    rules: LaneRules = RULES
    now: int = START
    cost: float = 0.0
    files: bool = False

    def __post_init__(self) -> None:
        self.db = sqlite3.connect(":memory:", isolation_level=None)
        weakref.finalize(self, self.db.close)  # worlds are many, and end where their test does
        ledger.migrate(self.db, Path("nowhere"), 0)
        self.audit = Audit(self.rules)
        self.recorded: list[facts.AnyFact] = []
        self.effects: list[Effect] = []
        self.children: dict[int, Child] = {}
        self.posts: dict[str, facts.Owed] = {}
        self.stands: dict[tuple[str, int], str] = {}
        self.withdrawn: set[str] = set()
        self.threads: dict[int, int] = {}
        self.opened: set[int] = set()
        self.undone: set[int] = set()
        self.messages = 1000
        self.typing: set[int] = set()
        self.quit: Quit | None = None
        self.kill_at: int | None = None
        self.unrecorded = False
        self.dice = 0.0
        self.lives = 0
        self.taste = (4, 1, 2, 5)
        self.begin()

    # -- a life of the process -------------------------------------------------------------------------------------

    def begin(self) -> None:
        """A start: load, sweep, recover."""
        self.lives += 1
        self.inbox: deque[Input] = deque()
        self.children, self.posts, self.withdrawn, self.threads, self.quit = {}, {}, set(), {}, None
        self.typing, self.undone = set(), set()
        self.fetches: set[str] = set()
        known = ledger.load(self.db)
        in_row = chain.in_a_row(known.chain, WEDGE_GAP)
        # By its module, so that a mutant can take its place.
        self.lanes: Lanes = product.restored(product.Lanes(rules=self.rules, in_row=in_row), known.world)
        self.record([facts.Up(self.now)])
        for child in list(self.lanes.world.children.values()):
            gone = facts.ChildEnded(child.child, 0, expected=False)
            self.lanes.world.apply(gone)
            self.record([gone])
        self.step(Recover())

    def crash(self) -> None:
        """kill -9 and a new start; nothing but the ledger and what stands in Discord is left."""
        assert self.unrecorded or self.lanes.world == self.folded(), "§7.30: the facts make the world"
        self.unrecorded, self.kill_at = False, None
        loaded = product.restored(product.Lanes(rules=self.rules), ledger.load(self.db).world).world
        folded = self.folded()
        assert loaded == folded, difference(loaded, folded)
        self.audit.died([name for name, round_ in folded.rounds.items() if round_.phase in AT_CHILD])
        self.begin()

    def folded(self) -> World:
        world = World()
        for fact in self.recorded:
            world.apply(fact)
        return world

    def record(self, new: list[facts.AnyFact], closed: tuple[str, ...] = ()) -> None:
        """One transaction."""
        for fact in new:
            ledger.write(self.db, fact, self.now)
            self.audit.fact(fact)
            self.recorded.append(fact)
        self.db.executemany("UPDATE rounds SET open = 0 WHERE round = ?", [(name,) for name in closed])

    # -- steps -----------------------------------------------------------------------------------------------------

    def step(self, given: Input) -> Stepped | None:
        """One step, its transaction, its effects; None where the process was killed in it."""
        before = dict(self.lanes.world.rounds)
        self.audit.now = self.now
        stepped = self.lanes.step(given, self.now, self.dice)
        if self.kill_at == 0:
            self.unrecorded = True
            self.crash()
            return None
        self.record(list(stepped.facts), stepped.closed)
        self.audit.step(given, stepped.facts, stepped.effects, self.lanes.world, self.now)
        if isinstance(given, StopAsked):
            self.check_stop(given, stepped, before)
        for number, effect in enumerate(stepped.effects, 1):
            if self.kill_at == number:
                self.crash()
                return None
            self.effects.append(effect)
            self.perform(effect)
        if self.kill_at is not None:
            self.crash()
            return None
        return stepped

    def check_stop(self, asked: StopAsked, stepped: Stepped, before: dict[str, Round]) -> None:
        """16: no other round is changed but what is in the stopped run; 17: it reports true iff there was something."""
        if asked.word is not None and asked.word.round not in self.audit.stories:
            return  # one bot's word too many
        lane = [round_ for round_ in before.values() if round_.pending and round_.lane == asked.lane]
        stops = [e.given.turn for e in stepped.effects if isinstance(e, Tell) and isinstance(e.given, engine.Fail)]
        for round_ in lane:
            live = self.lanes.kids.get(round_.lane)
            if round_.phase in AT_CHILD and live is not None and live.child == round_.child:
                stopped = any(isinstance(f, facts.StopMarked) and f.round == round_.id for f in stepped.facts)
                assert (round_.turn in stops) is stopped, "§2: it is aborted, and nothing else is"
        marked = [fact.round for fact in stepped.facts if isinstance(fact, facts.StopMarked)]
        ended = [f.round for f in stepped.facts if isinstance(f, facts.Ended) and f.code == "stopped"]
        word = [asked.word.round] if asked.word else []
        assert marked == ended
        run = {r.id for r in lane if r.phase.name in {"RUNNING", "JOINED"}}
        meant = {"round": {asked.round} & {r.id for r in lane}, "lane": {r.id for r in lane}}.get(asked.scope)
        if meant is None:
            assert bool(marked) is bool(lane), "17"
            assert len(set(marked) - run) <= 1, "16"
        else:
            assert set(marked) == (meant | run if meant & run else meant), "16"
        touched = {
            f.round
            for f in stepped.facts
            if isinstance(f, facts.Requeued | facts.Backoff | facts.Dropped) and hasattr(f, "round")
        }
        assert touched <= set(marked) | set(word), "16"
        if asked.word is not None:
            signs = [e for e in stepped.effects if isinstance(e, React) and e.message == asked.word.message]
            told = [f for f in stepped.facts if isinstance(f, facts.Owed) and f.round == asked.word.round]
            assert (len(signs), len(told)) == ((1, 0) if marked else (0, 1)), "17"

    def perform(self, effect: Effect) -> None:
        match effect:
            case Spawn(lane, child):
                alive = [kid for kid in self.children.values() if kid.alive]
                assert lane not in {kid.lane for kid in alive}, "one child of a lane"
                assert len(alive) < self.rules.max_children
                self.children[child] = Child(lane, child, session=self.lanes.world.lane(lane).session, cost=self.cost)
                self.inbox.append(ChildUp(lane, child, 100 + child, f"born {child}"))
            case Retire(_, child):
                kid = self.children[child]
                assert (kid.head, kid.held, kid.open) == ("", [], {}), "only an idle child is stopped"
                if kid.alive:
                    kid.stop()
                    self.hear(kid)
            case Tell(_, child, given):
                kid = self.children[child]
                if kid.alive:
                    self.obey(kid, given)
            case Fetch(round_, lane):
                assert round_ not in self.fetches, "one fetch of a round at a time"
                self.fetches.add(round_)
                self.inbox.append(self.fetched(round_, lane))
            case OpenThread(parent, message):
                self.threads[message] = parent
            case Post(owed):
                if owed.key not in self.posts:
                    self.posts[owed.key] = owed
            case Withdraw(round_):
                gone = [k for k, owed in self.posts.items() if owed.round == round_ and owed.kind != "receipt"]
                for key in gone:
                    del self.posts[key]
            case Typing(channel, on):
                (self.typing.add if on else self.typing.discard)(channel)
            case Quit():
                assert self.quit is None
                self.quit = effect
            case Amend() | FilesOver() | React() | Log() | Behind() | MayShow() | ErrandDone():
                pass

    def fetched(self, round_: str, lane: str) -> Brought:
        """What becomes of a round's file; of every seventh the picture is gone when it is brought once more."""
        story = self.audit.stories[round_]
        number = story.claim.message
        kind = ("lost", "saved", "picture")[number % 3]
        if kind == "picture" and number % 7 == 0 and story.fetched:
            kind = "lost"
        name = f"{number}-1.png"
        match kind:
            case "lost":
                return Brought(round_, lane, (f"file {number} lost",), missed=(Missed("f", "gone"),), some=False)
            case "saved":
                return Brought(round_, lane, (f"file {number} saved",))
            case _:
                return Brought(round_, lane, (f"picture {number}",), (name,), (Image(name, "image/png"),))

    def advice(self, lane: str) -> Advice:
        for kid in self.children.values():
            if kid.lane == lane and kid.alive:
                return kid.advise(self.now, LONG_WAIT)
        return Advice.QUEUE

    def obey(self, kid: Child, given: object) -> None:
        if isinstance(given, engine.Submit):
            assert not kid.head or kid.failed is not None or kid.settling or kid.wedged, "2: one prompt at a time"
            assert not kid.held, "waiting belongs to the lanes"
            if isinstance(given.work, engine.Text):
                name = given.turn.rpartition("@")[0]
                steers = {t.rpartition("@")[0] for t in (*kid.open, *kid.joined)}
                assert name not in steers, "§4: both steered and prompted"
        if isinstance(given, engine.Fail) and given.code is Code.INTERRUPTED:
            assert kid.failed is None or kid.head != given.turn, "28: at most one interrupt of a run"
        kid.give(given)
        self.hear(kid)

    # -- what comes back -------------------------------------------------------------------------------------------

    def hear(self, kid: Child) -> None:
        """What the engine told goes into the inbox."""
        if kid.out:
            told, kid.out = tuple(kid.out), []
            self.inbox.append(ChildSays(kid.lane, kid.number, told, kid.busy))

    def exits(self, kid: Child, code: int = 1) -> None:
        kid.exit()
        self.hear(kid)
        self.inbox.append(ChildDown(kid.lane, kid.number, code, expected=kid.stopping))

    def deliver(self) -> None:
        """The oldest input of the inbox is stepped."""
        given = self.inbox.popleft()
        if isinstance(given, Brought):
            self.fetches.discard(given.round)
            given = replace(given, advice=self.advice(given.lane))
        if isinstance(given, ChildDown | ChildSays):
            there = [r for r in self.lanes.world.rounds.values() if r.phase in AT_CHILD and r.child == given.child]
            down = isinstance(given, ChildDown)
            past = self.children[given.child].past if there else []
            sent = [r for r in there if r.phase is not Phase.WRITTEN or r.turn in past]
            self.audit.died([r.id for r in sent if down or gone(given, r.turn)])
        stepped = self.step(given)
        if isinstance(given, ThreadDone) and stepped is not None:
            self.undone.discard(given.channel)
            for key, owed in self.posts.items():
                if owed.channel == given.channel and not given.opened:
                    self.posts[key] = facts.moved(owed, given.parent)
        if isinstance(given, ChildSays) and stepped is not None:
            for told in given.told:
                if isinstance(told, engine.Answered):
                    story = self.audit.stories[told.turn.rpartition("@")[0]]
                    texts = [owed.text for owed in story.owed]
                    deleted = any(end.code == "deleted" for end in story.ends)
                    assert story.stopped or deleted or told.text in texts, "§1.16: a further answer of the same round"

    def pump(self) -> None:
        """Everything of the inbox, and what it makes."""
        while self.inbox:
            self.deliver()

    def post(self, key: str, *, refused: str = "") -> None:
        """Discord takes a post, or will never take it."""
        owed = self.posts.pop(key)
        story = self.audit.stories.get(owed.round)
        if refused:
            self.inbox.append(PostDone(facts.Dropped(key, refused)))
            return
        assert owed.channel < 1000 or owed.channel in self.opened, "31: there is no such thread"
        if owed.kind != "receipt" and story is not None:
            assert not story.receipt, "15: posted after Stop's receipt"
        if owed.kind == "receipt" and story is not None:
            story.receipt = True
        before = self.stands.setdefault((key, 0), owed.text)
        assert before == owed.text, "two posts with one nonce"
        self.inbox.append(PostDone(facts.Posted(key, 0, 1, 9_000 + len(self.stands))))

    def thread(self, message: int, *, opened: bool) -> None:
        parent = self.threads.pop(message)
        opened = opened or message in self.opened  # somebody has written in it
        if opened:
            self.opened.add(message)
        else:
            self.undone.add(message)
        self.inbox.append(ThreadDone(message, parent, opened))


def gone(says: ChildSays | ChildDown, turn: str) -> bool:
    """Whether this tells that the turn's child is gone."""
    dead = {Code.EXIT, Code.WEDGED}
    told = says.told if isinstance(says, ChildSays) else ()
    return any(isinstance(t, engine.Ended) and t.turn == turn and t.outcome.code in dead for t in told)


def difference(one: World, other: World) -> str:
    """Where two worlds differ, for the eye."""
    names = World.__dataclass_fields__
    return "; ".join(
        f"{name}: {getattr(one, name)} != {getattr(other, name)}"
        for name in names
        if getattr(one, name) != getattr(other, name)
    )
