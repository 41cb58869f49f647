"""What must be true of every step of the lanes, told by their facts and effects alone (BEHAVIOUR §7); it never acts.

It keeps its own count of everything, from the recorded facts; it asks the lanes nothing.
"""

from collections import Counter
from dataclasses import dataclass, field

from connector import facts
from connector.lane_base import LaneRules
from connector.lane_effects import Effect, Log, Post, Tell
from connector.lane_events import Input, PlaceGone, Shutdown, StopAsked, Tick
from connector.world import AT_CHILD, Phase, World
from engine import events as engine
from engine.events import SECOND, Code

BESIDE = ("lost", "cap-person", "cap-lane", "cap-total")
"""Kinds of posts that are no end of their round."""


@dataclass(slots=True)
class Story:
    """One round as its facts tell it."""

    claim: facts.Claimed
    order: int
    writes: list[facts.Written] = field(default_factory=list)
    attempts: int = 0
    reasks: int = 0
    last: str = ""
    back: bool = True
    waits: bool = False
    hurried: bool = False
    moved: bool = False
    stopped: bool = False
    receipt: bool = False
    forbidden: bool = False
    tool: bool = False
    backoffs: int = 0
    note: str = ""
    ends: list[facts.Ended] = field(default_factory=list)
    owed: list[facts.Owed] = field(default_factory=list)
    fetched: list[facts.Fetched] = field(default_factory=list)

    def uncharge(self) -> None:
        if self.last == "attempt":
            self.attempts -= 1
        elif self.last == "reask":
            self.reasks -= 1
        self.last = ""


@dataclass(slots=True)
class Audit:
    """Everything recorded so far; raises AssertionError naming the invariant."""

    rules: LaneRules
    stories: dict[str, Story] = field(default_factory=dict)
    pending: set[str] = field(default_factory=set)
    owed: set[str] = field(default_factory=set)
    dropped: set[str] = field(default_factory=set)
    gates: dict[tuple[str, str], int] = field(default_factory=dict)
    probing: set[str] = field(default_factory=set)
    going_down: bool = False
    redirects: dict[int, int] = field(default_factory=dict)
    now: int = 0
    spent: Counter[tuple[int, str, str]] = field(default_factory=Counter)
    extra: dict[tuple[int, str, str], float] = field(default_factory=dict)
    held_back: set[tuple[str, str, int]] = field(default_factory=set)

    # -- facts -----------------------------------------------------------------------------------------------------

    def fact(self, fact: facts.AnyFact) -> None:
        """One more recorded fact."""
        if isinstance(fact, facts.Claimed):
            assert fact.round not in self.stories, "25: one id enters once"
            self.stories[fact.round] = Story(fact, len(self.stories))
            self.pending.add(fact.round)
            return
        if isinstance(fact, facts.Owed):
            assert fact.key not in self.owed, "a post is recorded once"
            self.owed.add(fact.key)
        self.lane_fact(fact)
        name = facts.round_of(fact)
        if (story := self.stories.get(name)) is not None:
            self.told(story, fact)

    def lane_fact(self, fact: facts.AnyFact) -> None:
        match fact:
            case facts.Redirected(channel, parent):
                self.redirects[channel] = parent
            case facts.Fell(at, _, busy):
                assert 0 <= busy <= at
                self.going_down = True
            case facts.Up():
                self.going_down, self.probing = False, set()
            case facts.Spent(lane=lane, person=person, day=day, cost=cost):
                for scope, name in (("person", str(person)), ("lane", lane), ("total", "")):
                    self.spent[day, scope, name] += cost  # type: ignore[assignment]  # a Counter counts anything
            case facts.Extended(scope=scope, key=name, day=day, extra=extra):
                assert extra > self.extra.get((day, scope, name), 0.0), "a cap's extension adds to it"
                self.extra[day, scope, name] = extra
            case facts.Dropped(key):
                self.dropped.add(key)
            case facts.Gated(provider, model, until):
                self.gates[provider, model] = until
                if not until:
                    self.probing = set()
            case _:
                pass

    def told(self, story: Story, fact: facts.AnyFact) -> None:
        match fact:
            case facts.Written():
                self.written(story, fact)
            case facts.Unwritten():
                story.back = story.waits = True
                story.uncharge()
            case facts.Requeued(charged=charged, note=note):
                story.back, story.waits, story.note = True, story.last != "reask" or charged, note
                if not charged:
                    story.uncharge()
            case facts.Cut():
                story.uncharge()
            case facts.Backoff():
                story.back, story.backoffs = True, story.backoffs + 1
                assert story.backoffs <= len(self.rules.backoff) + 1, "§3.2: waits are bounded"
            case facts.ToolOpened():
                story.tool = True
            case facts.Moved():
                story.moved = True
            case facts.Fetched():
                story.fetched.append(fact)
            case facts.Hurried():
                story.hurried = True
            case facts.StopMarked():
                story.stopped = True
            case facts.Answered():
                assert not story.stopped, "15: an answer after Stop's mark"
            case facts.Ended():
                story.ends.append(fact)
                self.pending.discard(fact.round)
                assert len(story.ends) == 1, "20: exactly one terminal state"
            case facts.Capped(name, scope, day):
                assert self.capped(story.claim), "only what is over a cap is held back"
                assert (name, scope, day) not in self.held_back, "one notice of a cap on a day"
                self.held_back.add((name, scope, day))
            case facts.Owed():
                self.posts(story, fact)
            case _:
                pass

    def written(self, story: Story, fact: facts.Written) -> None:
        assert not story.stopped, "15, 18: written after Stop's mark"
        assert not story.ends, "20: a round that has ended is written again"
        assert not self.capped(story.claim), "spend.*: written although a cap is reached"
        assert not story.forbidden, "22: run again although its tool had started"
        assert story.fetched or not story.claim.files, "a message before its files"
        assert story.back, "§4: both steered and prompted, or written twice"
        story.back = story.waits = False
        if not story.writes and not story.moved:
            self.in_order(story)
        story.writes.append(fact)
        if fact.reask:
            assert fact.kind == "prompt"
            story.reasks, story.last = story.reasks + 1, "reask"
            assert story.reasks <= len(self.rules.backoff) + 1, "19: re-asks are bounded"
        else:
            story.attempts, story.last = story.attempts + 1, "attempt"
            assert story.attempts <= self.rules.max_attempts, "19: attempts are bounded"

    def in_order(self, story: Story) -> None:
        """26: nobody who came before waits still unwritten."""
        for other in self.stories.values():
            if other.claim.lane != story.claim.lane or other.order >= story.order:
                continue
            held = self.capped(other.claim)
            assert held or other.ends or (other.writes and not other.waits), "26: first writes follow arrival"

    def capped(self, claim: facts.Claimed) -> bool:
        """CONTRACT `spend.*`, by the recorded costs of this day (UTC) and what operators added."""
        caps, day = self.rules.spend, self.now // (86_400 * SECOND)
        scopes = (caps.person, "person", str(claim.author)), (caps.lane, "lane", claim.lane), (caps.total, "total", "")
        return any(
            cap and self.spent[day, scope, name] >= cap + self.extra.get((day, scope, name), 0.0)
            for cap, scope, name in scopes
        )

    def posts(self, story: Story, owed: facts.Owed) -> None:
        assert not (story.stopped and owed.kind == "answer"), "15: an answer is owed after Stop's mark"
        if owed.kind == "receipt" or owed.text.startswith("Stopped"):
            assert owed.text.startswith("Stopped")
        if "/lost/" not in owed.key:
            claim = story.claim
            allowed = {claim.channel, claim.parent, self.redirects.get(claim.channel)}
            assert owed.channel in allowed, "31: an answer goes where its message came from"
        story.owed.append(owed)

    def died(self, names: list[str]) -> None:
        """A child is gone that had these rounds: those whose tool had started may not run again by themselves."""
        for name in names:
            story = self.stories[name]
            story.forbidden = story.forbidden or story.tool

    # -- one step --------------------------------------------------------------------------------------------------

    def step(
        self, given: Input, kept: tuple[facts.AnyFact, ...], out: tuple[Effect, ...], world: World, now: int
    ) -> None:
        """After the facts of this step were told: its effects, and that nothing else was touched."""
        self.going_down = self.going_down or isinstance(given, Shutdown)
        logged = [
            dict(effect.fields)["message_id"]
            for effect in out
            if isinstance(effect, Log) and effect.event == "message.dead"
        ]
        dead = [fact.round for fact in kept if isinstance(fact, facts.Ended) and fact.code == "dead"]
        assert Counter(logged) == Counter(self.stories[name].claim.message for name in dead), "21"
        for fact in kept:
            if isinstance(fact, facts.Backoff):
                assert max(self.gates.values(), default=0) >= fact.until, "§2.4: the gate is recorded"
        for effect in out:
            if isinstance(effect, Tell):
                self.tells(given, effect, now)
            elif isinstance(effect, Post):
                assert effect.owed.key in self.owed, "§6: a post before its record"
        self.counts(world)

    def tells(self, given: Input, tell: Tell, now: int) -> None:
        match tell.given:
            case engine.Submit(turn) | engine.SteerIn(turn) if not turn.startswith("session/"):
                story = self.stories[turn.rpartition("@")[0]]
                kind = "prompt" if isinstance(tell.given, engine.Submit) else "steer"
                assert turn == f"{story.claim.round}@{len(story.writes)}", "§3.2: not this very write"
                assert (story.writes[-1].kind, story.writes[-1].child) == (kind, tell.child), "§6: write before record"
                assert (story.ends, story.stopped) == ([], False), "15"
                assert not self.going_down, "§6: nothing new is sent"
                if kind == "prompt":
                    self.behind_the_gate(story, now)
                assert isinstance(tell.given.work, engine.Text)
                told = tell.given.work.message
                self.with_files(story, told, [image.data for image in tell.given.work.images])
                assert story.claim.text.splitlines()[0] == told.splitlines()[0], "33: the text of its own message"
                if story.writes[-1].reask:
                    assert "sent again" in told, "§2.1: a re-ask is flagged"
                assert not story.note or story.note in told or story.writes[-1].reask, "§6: flagged as a repeat"
            case engine.Fail(turn, Code.STOPPED):
                assert isinstance(given, StopAsked | PlaceGone)
            case engine.Fail(_, code):
                assert code in {Code.INTERRUPTED, Code.RESTART}
                assert (code is Code.RESTART) or not isinstance(given, Tick)
            case _:
                pass

    def with_files(self, story: Story, told: str, images: list[str]) -> None:
        """The text names every file by its last fate, and its own pictures go with it."""
        last = story.fetched[-1] if story.fetched else facts.Fetched("", ())
        assert all(f"\n[{line}]\n" in told for line in last.lines)
        assert (told.count("\n[file"), told.count("\n[picture")).count(0) >= 1, "one fate of a file"
        assert images == list(last.pictures), "its own pictures, all of them"

    def behind_the_gate(self, story: Story, now: int) -> None:
        """§2.4: nobody runs into the wall, and one lane goes first; "Retry now" is a person's own wish."""
        until = max(self.gates.values(), default=0)
        out = {name for name in self.probing if not self.stories[name].ends and not self.stories[name].back}
        if until and not story.hurried:
            assert until <= now, "§2.4: sent into the wall"
            assert out <= {story.claim.round}, f"§2.4: one lane goes first, not {story.claim.round} beside {out}"
        if until and not story.hurried:
            self.probing = out | {story.claim.round}
        story.hurried = False

    def counts(self, world: World) -> None:
        """The world agrees with this count (20, 23), and every list with the phases."""
        assert {name for name, round_ in world.rounds.items() if round_.pending} == self.pending, "20"
        waiting: Counter[int] = Counter()
        owing: dict[str, set[str]] = {}
        for key, owed in world.owed.items():
            owing.setdefault(owed.round, set()).add(key)
        for name, round_ in world.rounds.items():
            story = self.stories[name]
            assert (round_.attempts, round_.writes) == (story.attempts, len(story.writes)), "23"
            lane = world.lanes[round_.lane]
            places = (
                round_.phase is Phase.WAITING,
                round_.phase in AT_CHILD | {Phase.BACKOFF},
                round_.phase is Phase.POSTING,
            )
            assert places == (name in lane.waiting, name in lane.held, name in lane.posting), "the lists of a lane"
            waiting[round_.author] += round_.phase is Phase.WAITING
            assert round_.owed == owing.get(name, set())
        assert +waiting == Counter(world.waiting_by)
        for lane in world.lanes.values():
            heads = [
                name for name in lane.held if world.rounds[name].phase in {Phase.WRITTEN, Phase.RUNNING, Phase.BACKOFF}
            ]
            assert len(heads) <= 1, "at most one turn of a lane in flight"

    # -- the end ---------------------------------------------------------------------------------------------------

    def finished(self) -> None:
        """Every accepted message has ended, in exactly one way that a person sees (CONTRACT)."""
        for name, story in self.stories.items():
            assert len(story.ends) == 1, f"27: {name} never ended"
            code, posts = story.ends[0].code, [owed for owed in story.owed if not beside(owed)]
            said = [owed for owed in story.owed if "/notice/" in owed.key and beside(owed)]
            lost = [one for one in story.fetched if one.lines[0].endswith("lost")]
            assert len(said) == len(lost), "what the agent does not get is said"
            kinds = {owed.kind for owed in posts}
            match code:
                case "answered":
                    assert kinds == {"answer"}, (name, posts)
                case "joined" | "deleted":
                    assert not posts or code == "joined", (name, posts)
                case "handled":
                    assert len(posts) <= 1
                case "stopped":
                    receipts = [owed for owed in posts if owed.kind != "answer"]
                    assert len(receipts) == 1, (name, posts)
                    assert receipts[0].text.startswith("Stopped")
                case _:
                    assert len(posts) == 1, (name, code, posts)
                    assert kinds == {"notice"}, (name, code, posts)


def beside(owed: facts.Owed) -> bool:
    """Whether a post is not about the end of its round: of an answer that is lost, of files that are not given."""
    return owed.key.split("/")[-2] in BESIDE or ("/notice/" in owed.key and not owed.key.endswith("/notice/1"))
