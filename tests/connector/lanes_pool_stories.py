"""Stories of lanes that share children, wait behind one another, or end in rare ways; see `lanes_bare_stories`."""

from connector import facts
from connector.lane_base import SECOND
from connector.lane_events import (
    Arrived,
    ChildDown,
    ChildUp,
    Deleted,
    Extend,
    Fault,
    Forget,
    Hurry,
    PlaceGone,
    PostDone,
    Recover,
    Shutdown,
    StopAsked,
    ThreadDone,
    Tick,
)
from connector.spend import Caps
from engine import events as engine
from engine.events import Code, Outcome
from engine.pi import Cost, Usage
from engine.state import Advice
from tests.connector.lanes_bare_stories import BareStory, answer, claim, posted, up
from tests.connector.lanes_told import Bare
from tests.machine.lanes_ground import RULES, START
from tests.machine.lanes_machine import rules

LIMITED = Outcome(Code.PROVIDER, detail="429: too many")


def serves(bare: Bare, turn: str, lane: str = "11") -> None:
    """A prompt that was given runs, is answered and posted."""
    bare.runs(lane, turn)
    bare.says(lane, *answer(turn))
    posted(bare, f"{turn.partition('@')[0]}/answer/1")


def pool(bare: Bare) -> None:
    """One child for two lanes: the idle one gives way, a warm one goes on for three more of its own."""
    bare.lanes.rules = rules(busy="queue", max_children=1, capacity=9, per_person=9)
    bare.step(Arrived(claim(1)))
    up(bare)
    bare.step(Arrived(claim(2, 12)))
    serves(bare, "1@1")
    bare.step(ChildDown("11", 1, 0, expected=True))
    up(bare, "12")
    bare.runs("12", "2@1")
    for number, lane in ((3, 12), (8, 11), (4, 12), (5, 12), (6, 12), (7, 12)):
        bare.step(Arrived(claim(number, lane)))
    bare.says("12", *answer("2@1"))
    for number in (3, 4, 5, 6):
        serves(bare, f"{number}@1", "12")
    bare.step(ChildDown("12", 2, 0, expected=True))
    bare.step(
        StopAsked("11", 11, 1, "ann", "lane"),
        Arrived(claim(9)),
        ChildDown("11", 3, None, expected=False, reason="no such file"),
    )


def idlest(bare: Bare) -> None:
    """Of two idle children the one that has rested for longer gives way; both go after their time."""
    bare.lanes.rules = rules(busy="queue", max_children=2, idle_timeout=60 * SECOND)
    for number, lane in ((1, 11), (2, 12)):
        bare.step(Arrived(claim(number, lane)))
        up(bare, str(lane))
    for turn, rests in (("2@1", "12"), ("1@1", "11")):
        bare.now += SECOND
        serves(bare, turn, rests)
    bare.step(Arrived(claim(3, 13)), Arrived(claim(4, 13)), Arrived(claim(5, 14)))
    bare.step(ChildDown("12", 2, 0, expected=True))
    bare.now += 59 * SECOND
    bare.step(Tick(), StopAsked("14", 14, 1, "ann", "lane"))
    bare.now += SECOND
    bare.step(Tick(), ChildUp("11", 9, 1, "another"), ChildDown("11", 9, 0, expected=True))


def spent(bare: Bare) -> None:
    """What was written as often as it may be, or was taken back meanwhile, is not asked when its turn comes."""
    known: list[facts.AnyFact] = [claim(1), claim(2), claim(3)]
    for child in (41, 42):
        known += [facts.Written("1", child), facts.Requeued("1", "engine-exit")]
    bare.known = tuple(known)
    bare.__post_init__()
    bare.lanes.rules = rules(busy="queue", max_attempts=2)
    bare.step(Recover())
    up(bare, "11")
    bare.runs("11", "2@1")
    bare.step(Deleted(2))
    bare.says("11", engine.Ended("2@1", LIMITED), engine.Released("2@1"))
    bare.now += 9 * SECOND
    bare.step(Tick(), Arrived(claim(2)))
    bare.runs("11", "3@1")
    bare.says("11", engine.Ended("3@1", Outcome(Code.REFUSED, busy=True)), engine.Released("3@1"))
    bare.runs("11", "3@2")
    bare.says("11", engine.Ended("3@2", Outcome(Code.EXIT, detail="exit 1")), busy=True)
    bare.step(ChildDown("11", bare.lanes.kids["11"].child, 1, expected=False))


def gates(bare: Bare) -> None:
    """Behind a gate that opens: one probes, the others follow spread out, in the order of their messages."""
    bare.lanes.rules = rules(busy="queue", max_children=4)
    for number in (1, 2, 3, 4):
        bare.step(Arrived(claim(number, 10 + number)))
        up(bare, str(10 + number))
    for number in (2, 3, 4):
        serves(bare, f"{number}@1", str(10 + number))
    bare.runs("11", "1@1")
    bare.says("11", engine.Ended("1@1", LIMITED), engine.Released("1@1"))
    for number, lane in ((7, 14), (6, 13), (5, 12)):
        bare.now += SECOND
        bare.step(Arrived(claim(number, lane)))
    bare.step(Hurry("7"), Tick())
    bare.now += 5 * SECOND
    bare.step(Tick())
    bare.runs("11", "1@2")
    bare.says("11", engine.Progress("1@2", "hm", thinking=True), busy=True)
    bare.says("11", engine.Progress("1@2", "so"), busy=True)
    bare.step(Arrived(claim(8, 14)))
    for _ in range(4):
        bare.now += SECOND // 8
        bare.step(Tick())
    bare.says("11", engine.Ended("1@2", Outcome(Code.STOPPED)), engine.Released("1@2"))


def probes(bare: Bare) -> None:
    """A probe that proves nothing leaves the gate to the next lane."""
    bare.lanes.rules = rules(busy="queue", max_children=4)
    for number in (1, 2):
        bare.step(Arrived(claim(number, 10 + number)))
        up(bare, str(10 + number))
    serves(bare, "2@1", "12")
    bare.runs("11", "1@1")
    bare.says("11", engine.Ended("1@1", LIMITED), engine.Released("1@1"))
    bare.step(Arrived(claim(3, 12)))
    bare.now += 5 * SECOND
    bare.step(Tick())
    bare.runs("11", "1@2")
    bare.says("11", engine.Ended("1@2", Outcome(Code.TIMEOUT)), engine.Released("1@2"))
    bare.runs("12", "3@1")
    bare.says("12", engine.ToolOpened("3@1", "c", "bash"), busy=True)


def private(bare: Bare) -> None:
    """`lanes.busy` auto: one person's lane steers, until somebody else has spoken in it."""
    bare.lanes.rules = rules(busy="auto", bot_turns=1)
    bare.step(Arrived(claim(1)))
    up(bare)
    bare.runs("11", "1@1")
    bare.step(Arrived(claim(2), Advice.STEER), Arrived(claim(3, author=2), Advice.STEER))
    bare.step(Arrived(claim(4, author=9, bot=True)), Arrived(claim(5, author=9, bot=True)))
    bare.step(StopAsked("11", 11, 9, "bot", "turn", word=claim(6, author=9, bot=True, text="stop")))
    bare.says("11", engine.Released("7@1"), engine.Heard("9@1", "1@1"), engine.Returned("9@1"), busy=True)
    bare.says("11", engine.Ended("1@1", Outcome(Code.ANSWERED, text="done")), busy=True)
    posted(bare, "1/answer/1")
    bare.says("11", engine.Ended("2@1", Outcome(Code.JOINED, into="1@1")), engine.Released("1@1"))


def restarts(bare: Bare) -> None:
    """Going down and coming up: what is owed, posting or in its thread is taken up where it was left."""
    known: list[facts.AnyFact] = [
        claim(20, 20, parent=14),
        claim(1, 11), facts.Written("1", 41), facts.Answered("1", 1, "done"),
        facts.Owed("1/answer/1", "1", 11, "answer", "done", 1), facts.Posted("1/answer/1", 0, 1, 900),
        claim(2, 12), facts.Written("2", 42), facts.Cut("2"), facts.ToolOpened("2", "c", "bash"),
        claim(3, 13), facts.Written("3", 43), facts.Backoff("3", START + 5 * SECOND, "status 429"),
        facts.Written("3", 43, reask=True), facts.Cut("3"),
        facts.Gated("acme", "large", START + 5 * SECOND),
    ]  # fmt: skip
    bare.known = tuple(known)
    bare.__post_init__()
    bare.step(Recover(), Tick())
    bare.now += SECOND
    bare.step(Fault("a fault of ours"), Fault("another"), Forget("12"), Shutdown(), Fault("a third"))


def late_posts(bare: Bare) -> None:
    """An answer that names files, one that is taken back while it is posted, one that Discord refuses in a channel."""
    bare.step(Arrived(claim(1)), Arrived(claim(2)))
    up(bare)
    bare.runs("11", "1@1")
    bare.says("11", *answer("1@1", "look\nattach: a.png"))
    bare.step(StopAsked("11", 11, 1, "ann", "round", "1"))
    posted(bare, "1/answer/1")
    bare.runs("11", "2@1")
    bare.says("11", *answer("2@1", "look\nattach: a.png"))
    bare.step(PostDone(facts.Posted("2/answer/1", 0, 2, 900)), PostDone(facts.Dropped("2/answer/1", "too long")))
    bare.step(Arrived(claim(11, 11, parent=0, reply_to=0)))
    bare.says("11", engine.Sent("11@1"), engine.Started("11@1"), *answer("11@1"))


def threads_later(bare: Bare) -> None:
    """Stop where a thread is not to be had yet; a message in a thread, its own first one, and an unknown place."""
    bare.step(Arrived(claim(20, 20, parent=14)), Arrived(claim(21, 21, parent=14)))
    bare.step(StopAsked("14", 14, 2, "ann", "turn"), ThreadDone(20, 14, opened=True))
    up(bare, "20")
    bare.runs("20", "20@1")
    bare.says("20", engine.Ended("20@1", Outcome(Code.EMPTY)), engine.Released("20@1"))
    bare.step(Arrived(claim(30, 20, message=20, author=3, reply_to=20)), PlaceGone(14))
    bare.step(StopAsked("14", 14, 2, "ann", "lane"))


def extended(bare: Bare) -> None:
    """The cap of a lane, of everybody, and a round that waits to be asked again behind one."""
    bare.lanes.rules = rules(busy="queue", spend=Caps(lane=1.0, total=3.0), backoff=RULES.backoff)
    bare.step(Arrived(claim(1)))
    up(bare)
    bare.runs("11", "1@1")
    bare.says("11", engine.Spent("1@1", "acme", "large", Usage(1, 2, 3, Cost(4.5))), busy=True)
    bare.says("11", engine.Ended("1@1", LIMITED), engine.Released("1@1"))
    bare.now += 5 * SECOND
    bare.step(Tick(), Arrived(claim(2, 12)), Extend("1", 7), Extend("2", 7), Extend("1", 7))
    bare.step(StopAsked("12", 12, 2, "ann", "turn"), Deleted(1))


POOL_STORIES: tuple[BareStory, ...] = (
    pool, idlest, spent, gates, probes, private, restarts, late_posts, threads_later, extended,
)  # fmt: skip
