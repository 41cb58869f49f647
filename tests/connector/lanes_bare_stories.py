"""Stories of lanes whose children, threads and posts say what the story makes them say; see `lanes_stories`."""

from collections.abc import Callable

from msgspec.structs import replace

from connector import facts
from connector.lane_base import SECOND
from connector.lane_events import (
    Arrived,
    Brought,
    CardDone,
    ChildDown,
    ChildUp,
    ChooseModel,
    ChooseThinking,
    Deleted,
    Errand,
    Extend,
    Forget,
    Missed,
    PlaceGone,
    PostDone,
    Recover,
    Resume,
    SessionGone,
    Shutdown,
    StopAsked,
    ThreadDone,
    Tick,
)
from connector.spend import Caps
from engine import commands
from engine import events as engine
from engine.commands import Image
from engine.events import Code, Outcome
from engine.pi import Cost, Response, Usage
from engine.state import Advice
from tests.connector.lanes_told import Bare
from tests.machine.lanes_ground import RULES, START
from tests.machine.lanes_machine import rules

BareStory = Callable[[Bare], None]

STATE: dict[str, object] = {"sessionFile": "one", "model": {"provider": "acme", "id": "large"}}
QUEUE = rules(busy="queue", outboxes="/out")


def claim(number: int, lane: int = 11, author: int = 1, **changes: object) -> facts.Claimed:
    text = f"[discord] #{lane} · person {author} ({author}) · {number}\n\nplease do {number}"
    made = facts.Claimed(str(number), str(lane), lane, number, number, author, f"person {author}", text, at=START)
    return replace(made, **changes)


def answer(turn: str, text: str = "done") -> tuple[engine.Effect, ...]:
    return engine.Ended(turn, Outcome(Code.ANSWERED, text=text)), engine.Released(turn)


def replied(turn: str, *, success: bool = True, data: object = None) -> tuple[engine.Effect, ...]:
    response = Response(success=success, data=data)
    return engine.Replied(turn, response), engine.Ended(turn, Outcome(Code.HANDLED)), engine.Released(turn)


def posted(bare: Bare, key: str, message: int = 9_000) -> None:
    bare.step(PostDone(facts.Posted(key, 0, 1, message)))


def up(bare: Bare, lane: str = "11", state: object = None) -> None:
    """The lane's child is spawned and ready, in a session of its own."""
    child = bare.lanes.kids[lane].child
    bare.step(ChildUp(lane, child, 100 + child, f"born {child}"))
    bare.says(lane, engine.Ready(STATE if state is None else state))


def sessions(bare: Bare) -> None:
    """A new session, an older one, a model and a level are put into the child before its next turn."""
    bare.step(Arrived(claim(1)), ChooseModel("11", "acme", "small"), ChooseThinking("11", "high"))
    up(bare)
    bare.says("11", *replied("session/model", data={"provider": "acme", "id": "small"}))
    bare.says("11", *replied("session/thinking"))
    bare.says("11", *replied("session/thinking"))
    bare.runs("11", "1@1")
    bare.step(Forget("11"))
    bare.says("11", *answer("1@1"))
    bare.says("11", *replied("session/new"))
    bare.says("11", *replied("session/state", data={"sessionFile": "two"}))
    bare.says("11", *replied("session/model", success=False))
    bare.says("11", *replied("session/thinking"))
    bare.step(Resume("11", "one"))
    bare.says("11", *replied("session/switch", data={"cancelled": False}))
    bare.says("11", *replied("session/thinking"))
    bare.step(Resume("11", "three"))
    bare.says("11", *replied("session/switch", data={"cancelled": True}))
    bare.says("11", *replied("session/new", data={"cancelled": True}))


def sessions_lost(bare: Bare) -> None:
    """A session's file that is not there any more, the present one and another; a command without an answer."""
    bare.step(Arrived(claim(1)))
    up(bare, state={"sessionFile": "one", "messageCount": 3})
    bare.says("11", engine.Sent("session/new"), engine.Ended("session/new", Outcome(Code.TIMEOUT)), busy=True)
    bare.says("11", engine.Released("session/new"), engine.Ended("session/none", Outcome(Code.TIMEOUT)))
    bare.says("11", *replied("session/new"))
    bare.says("11", *replied("session/state", data={"sessionFile": "two"}))
    bare.runs("11", "1@1")
    bare.now += SECOND
    bare.step(SessionGone("11", "other"), SessionGone("11"))


def errands(bare: Bare) -> None:
    """Asked in order when the child is free; one fails; the rest end with Stop and with the program."""
    ask = commands.SetSessionName("", "the plan")
    bare.step(Errand("11", "a", ask, START), Errand("11", "b", commands.GetModels(""), START + 1))
    up(bare)
    bare.says("11", *replied("session/state", data={"sessionFile": "one"}))
    bare.says("11", *replied("session/errand/a"))
    bare.says("11", *replied("session/errand/b", success=False))
    bare.step(Arrived(claim(1)))
    bare.runs("11", "1@1")
    bare.says("11", *answer("1@1"))
    posted(bare, "1/answer/1")
    bare.step(Errand("11", "c", ask, START), Errand("11", "d", commands.Compact(""), START))
    bare.says("11", *replied("session/errand/c"))
    bare.says("11", engine.Sent("session/errand/d"), busy=True)
    bare.step(Errand("11", "e", ask, START), StopAsked("11", 11, 2, "ann", "lane"))
    bare.says("11", engine.Ended("session/errand/d", Outcome(Code.STOPPED)), engine.Released("session/errand/d"))
    bare.step(StopAsked("11", 11, 2, "ann", "lane"), Errand("12", "f", ask, START), Shutdown())


def commanded(bare: Bare) -> None:
    """A /command that was handled, and the texts of a run that it starts; then one that its child's end cuts."""
    bare.step(Arrived(claim(1, text="/deploy")))
    up(bare)
    bare.says("11", engine.Sent("1@1"), engine.Ended("1@1", Outcome(Code.HANDLED)), engine.Released("1@1"))
    bare.says("11", engine.Answered("1@1", "deployed"), engine.Answered("7@1", "a lie"))
    bare.says("11", engine.Answered("1@1", "and checked"))
    bare.step(Arrived(claim(2)))
    bare.says("11", engine.Sent("2@1"), engine.Started("2@1"), *answer("2@1"))
    bare.step(Arrived(claim(3, text="/again")))
    bare.says("11", engine.Sent("3@1"), engine.Started("3@1"), busy=True)
    bare.step(ChildDown("11", 1, 1, expected=False))


def threads(bare: Bare) -> None:
    """A thread that opens, one that cannot be had and what comes there later, and a refused post in one."""
    bare.step(Arrived(claim(20, 20, parent=14, text="[discord] head\n\nsay  something\nvery long " + 30 * "word ")))
    bare.step(ThreadDone(20, 14, opened=True), ThreadDone(19, 14, opened=False))
    bare.step(Arrived(claim(21, 21, parent=14, text="")), ThreadDone(21, 14, opened=False), Arrived(claim(22, 21)))
    up(bare, "20")
    bare.runs("20", "20@1")
    bare.says("20", *answer("20@1"))
    bare.step(PostDone(facts.Dropped("20/answer/1", "unknown channel")))
    posted(bare, "20/lost/1")
    up(bare, "21")
    bare.runs("21", "21@1")
    bare.says("21", engine.Ended("21@1", Outcome(Code.EMPTY)), engine.Released("21@1"))
    bare.step(PostDone(facts.Dropped("21/notice/1", "missing permissions")))
    bare.step(Arrived(claim(23, 20, author=2)), StopAsked("20", 20, 2, "ann", "lane"))
    bare.step(PostDone(facts.Dropped("23/receipt/1", "unknown channel")))
    posted(bare, "23/lost/receipt1")


def places(bare: Bare) -> None:
    """A thread is deleted with a turn and its queue, then the channel above it with all its lanes."""
    bare.step(Arrived(claim(20, 20, parent=14)), ThreadDone(20, 14, opened=True))
    up(bare, "20")
    bare.runs("20", "20@1")
    bare.step(Arrived(claim(30, 20)), Arrived(claim(31, 14)), PlaceGone(20))
    bare.says("20", engine.Ended("20@1", Outcome(Code.STOPPED)), engine.Released("20@1"))
    up(bare, "14")
    bare.runs("14", "31@1")
    bare.says("14", *answer("31@1"))
    bare.step(PlaceGone(14), PlaceGone(99))


def stops(bare: Bare) -> None:
    """Stop in each phase: waiting, written, running with tools, posting, nothing there; as a button and as a word."""
    bare.step(StopAsked("11", 11, 2, "ann", "turn", word=claim(1, author=2, text="stop")))
    bare.step(Arrived(claim(2)), Arrived(claim(3)), StopAsked("11", 11, 2, "ann", "round", "3"))
    up(bare)
    bare.step(StopAsked("11", 11, 2, "ann", "turn"))
    bare.says("11", engine.Sent("2@1"), engine.Ended("2@1", Outcome(Code.STOPPED)), engine.Released("2@1"))
    bare.step(Arrived(claim(4)), Arrived(claim(5)))
    bare.runs("11", "4@1")
    bare.says("11", engine.ToolOpened("4@1", "c", "bash"), busy=True)
    bare.now += 3 * SECOND
    bare.step(StopAsked("11", 11, 2, "ann", "turn", word=claim(6, author=2, text="stop")))
    bare.says("11", engine.Ended("4@1", Outcome(Code.STOPPED)), engine.Released("4@1"))
    bare.runs("11", "5@1")
    bare.says("11", engine.Ended("5@1", Outcome(Code.ANSWERED, text="done")), busy=True)
    bare.step(StopAsked("11", 11, 2, "ann", "lane"))
    bare.says("11", engine.Released("5@1"))
    bare.says("11", busy=True)
    bare.step(StopAsked("11", 11, 2, "ann", "lane"))
    bare.step(StopAsked("12", 12, 2, "ann", "lane", word=claim(7, 12, author=9, text="stop", bot=True)))


def stops_in_waits(bare: Bare) -> None:
    """Stop in the backoff, behind the gate, and of a line that was steered or has joined."""
    bare.lanes.rules = RULES
    bare.step(Arrived(claim(1)))
    up(bare)
    bare.runs("11", "1@1")
    detail = "429: too many"
    bare.says("11", engine.Ended("1@1", Outcome(Code.PROVIDER, detail=detail)), engine.Released("1@1"))
    bare.step(Arrived(claim(2, 12)))
    up(bare, "12")
    bare.step(StopAsked("11", 11, 2, "ann", "turn"), StopAsked("12", 12, 2, "ann", "turn"))
    bare.now += 9 * SECOND
    bare.step(Tick(), Arrived(claim(3)))
    bare.runs("11", "3@1")
    bare.step(Arrived(claim(4), Advice.STEER))
    bare.step(StopAsked("11", 11, 2, "ann", "round", "4"), Arrived(claim(5), Advice.STEER))
    bare.says("11", engine.Ended("4@1", Outcome(Code.STOPPED)), engine.Heard("5@1", "3@1"), busy=True)
    bare.step(StopAsked("11", 11, 2, "ann", "round", "5"))


def spends(bare: Bare) -> None:
    """What is paid for is booked; a cap holds back, is said, extended, and over with its day."""
    bare.lanes.rules = rules(busy="queue", spend=Caps(person=2.0, lane=5.0))
    bare.step(Arrived(claim(1)))
    up(bare)
    bare.runs("11", "1@1")
    usage = Usage(100, 10, 160, Cost(1.25))
    bare.says("11", engine.Spent("1@1", "acme", "large", usage), busy=True)
    bare.says("11", engine.Spent("1@1", "acme", "large", usage), engine.Spent("1@1", "", "", usage), busy=True)
    bare.says("11", engine.Spent("1@1", "acme", "large", None), engine.Spent("", "acme", "l", Usage()), busy=True)
    bare.says("11", *answer("1@1"))
    bare.now += SECOND
    bare.step(Arrived(claim(2)), Arrived(claim(3, 12)), Arrived(claim(4, author=2)), Extend("9", 3), Extend("4", 3))
    bare.runs("11", "4@1")
    bare.step(Extend("2", 3), Extend("2", 3))
    bare.says("11", *answer("4@1"))
    bare.now += 86_400 * SECOND
    bare.step(Tick())


def files(bare: Bare) -> None:
    """A message with files waits for them; a picture is brought once more; one that leaves nothing is refused."""
    two = (facts.File(1, "a.png", 9), facts.File(2, "b.txt", 9))
    bare.step(Arrived(claim(1, files=two)), Arrived(claim(2, files=two[:1])))
    bare.step(Brought("1", "11", ("picture a",), ("a.png",), (Image("aaaa", "image/png"),), (Missed("b", "gone"),)))
    up(bare)
    bare.step(Brought("1", "11", ("picture a",), ("a.png",), (Image("aaaa", "image/png"),)))
    bare.runs("11", "1@1")
    bare.step(Brought("2", "11", ("file a lost",), missed=(Missed("a", "too large"),), some=False))
    empty = "[discord] #11 · person 1 (1) · 3\n\n"
    bare.step(Arrived(claim(3, 12, files=two, text=empty)))
    bare.step(Brought("3", "12", (), missed=(Missed("a", "gone"), Missed("b", "gone")), some=False))
    bare.step(Brought("9", "12", ()))
    bare.says("11", *answer("1@1", "look\n\nATTACH: a.png"))
    posted(bare, "1/answer/1")


def signs(bare: Bare) -> None:
    """A deletion during a turn gets its sign on the card, or on the answer."""
    for number, card in ((1, True), (2, False)):
        bare.step(Arrived(claim(number)))
        if number == 1:
            up(bare)
        bare.runs("11", f"{number}@1")
        if card:
            bare.step(CardDone(facts.CardShown(str(number), 11, 800)))
        bare.step(Deleted(number), Deleted(number))
        bare.says("11", *answer(f"{number}@1"))
        posted(bare, f"{number}/answer/1", 900 + number)


def recovered(bare: Bare) -> None:
    """A start after a kill: running with and without a tool, cut, waiting, posting, behind a clock that went back."""
    known: list[facts.AnyFact] = [claim(number, 10 + number, at=START + number) for number in range(1, 9)]
    for number in (1, 2, 3, 5, 6):
        known += [facts.Written(str(number), 40 + number), facts.Started(str(number))]
    known += [
        facts.ToolOpened("2", "c", "bash"),
        facts.Cut("3"),
        facts.Answered("5", 1, "done"),
        facts.Owed("5/answer/1", "5", 15, "answer", "done", 5),
        facts.Posted("5/answer/1", 0, 2, 900),
        facts.Backoff("6", START + 9_999_999 * SECOND, "status 429"),
        facts.Gated("acme", "large", START + 9_999_999 * SECOND),
        facts.Written("7", 47),
    ]
    bare.known = tuple(known)
    bare.__post_init__()
    bare.step(Recover(tooled=frozenset({"7"})), Arrived(claim(9, 19)))


BARE_STORIES: tuple[BareStory, ...] = (
    sessions, sessions_lost, errands, commanded, threads, places, stops, stops_in_waits, spends, files, signs,
    recovered,
)  # fmt: skip
