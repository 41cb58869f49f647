"""Stories of lanes at the edges: exact bounds, late and foreign words, what happens between two steps."""

from connector import facts
from connector.lane_events import (
    Arrived,
    Brought,
    Cancel,
    CardDone,
    ChildDown,
    ChildUp,
    Deleted,
    Errand,
    Extend,
    Forget,
    MoveFirst,
    PlaceGone,
    PostDone,
    Recover,
    SessionGone,
    Shutdown,
    StopAsked,
    ThreadDone,
    Tick,
)
from engine import commands
from engine import events as engine
from engine.commands import Image
from engine.events import SECOND, Code, Outcome
from engine.pi import Cost, Usage
from engine.state import Advice
from tests.connector.lanes_bare_stories import STATE, BareStory, answer, claim, replied, up
from tests.connector.lanes_told import Bare
from tests.machine.lanes_ground import RULES, START
from tests.machine.lanes_machine import rules
from tests.machine.lanes_walks import QUOTA

LIMITED = Outcome(Code.PROVIDER, detail="429: too many")
LONGER = Outcome(Code.PROVIDER, detail="429: too many, retry after 60s")


def starts(bare: Bare, number: int, lane: int = 11, **changes: object) -> None:
    """A message whose run has begun."""
    bare.step(Arrived(claim(number, lane, **changes)))  # type: ignore[arg-type]  # what claim() takes
    if str(lane) not in bare.lanes.kids or bare.lanes.kids[str(lane)].session is None:
        up(bare, str(lane))
    bare.runs(str(lane), f"{number}@1")


def in_one_run(bare: Bare) -> None:
    """What a line that has joined does counts for all of its run, and Stop of its posting ends the run."""
    bare.lanes.rules = RULES
    starts(bare, 1)
    bare.step(CardDone(facts.CardShown("1", 11, 700)), Arrived(claim(2), Advice.STEER))
    bare.says("11", engine.Heard("2@1", "1@1"), engine.ToolOpened("2@1", "c", "bash"), busy=True)
    bare.says("11", engine.ToolOpened("2@1", "d", "read"), engine.ToolClosed("2@1", "c"), busy=True)
    bare.says("11", engine.Answered("1@1", "too early"), engine.Answered("2@2", "a lie"), busy=True)
    bare.step(Deleted(2))
    bare.says("11", engine.Ended("2@1", Outcome(Code.ANSWERED, text="done")), busy=True)
    bare.step(StopAsked("11", 11, 3, "ann", "round", "2"))
    bare.says("11", engine.Ended("1@1", Outcome(Code.STOPPED)), engine.Released("1@1"))


def tools(bare: Bare) -> None:
    """A receipt counts the tools that are open still; the next turn begins without any."""
    bare.lanes.rules = RULES
    starts(bare, 1)
    for call in "ab":
        bare.says("11", engine.ToolOpened("1@1", call, "bash"), busy=True)
    bare.says("11", engine.ToolClosed("1@1", "a"), engine.ToolClosed("1@1", "z"), busy=True)
    bare.step(Arrived(claim(2), Advice.INTERRUPT), Arrived(claim(3), Advice.INTERRUPT))
    bare.step(StopAsked("11", 11, 3, "ann", "round", "1"))
    bare.says("11", engine.Ended("1@1", Outcome(Code.INTERRUPTED)), engine.Released("1@1"))
    bare.runs("11", "2@1")
    bare.step(StopAsked("11", 11, 3, "ann", "turn", word=claim(4, author=3, text="stop")))


def lines_with_files(bare: Bare) -> None:
    """During a run: a line waits for its files, and what waits behind it follows, as far as it may."""
    bare.lanes.rules = RULES
    file = (facts.File(1, "a.png", 9),)
    starts(bare, 1)
    bare.step(Arrived(claim(2, files=file), Advice.STEER), Arrived(claim(3), Advice.STEER))
    bare.step(Arrived(claim(4, author=9, bot=True)), Arrived(claim(5), Advice.STEER))
    image = Image("aaaa", "image/png")
    bare.step(Brought("2", "11", ("picture a",), ("a.png",), (image,), advice=Advice.STEER))
    bare.says("11", engine.Returned("2@1"), busy=True)
    bare.step(Brought("2", "11", ("picture a",), ("a.png",), (image,), advice=Advice.STEER))
    bare.step(
        Brought("2", "12", ()),
        Arrived(claim(6, 12, files=file)),
        ChildDown("12", 2, None, expected=False, reason="gone"),
    )


def exact_bounds(bare: Bare) -> None:
    """A quota that ends exactly when it may; a wait that the gate holds longer; a person who has exactly enough."""
    bare.lanes.rules = rules(busy="queue", max_children=3, per_person=2, capacity=2)
    for number in (1, 2):
        starts(bare, number, 10 + number)
    bare.says("11", engine.Ended("1@1", LONGER), engine.Released("1@1"))
    bare.says("12", engine.Ended("2@1", LIMITED), engine.Released("2@1"))
    starts(bare, 3, 13)
    hold = START // SECOND + 3600
    bare.says("13", engine.Ended("3@1", Outcome(Code.PROVIDER, detail=QUOTA % hold)), engine.Released("3@1"))
    for number in (4, 5, 6):
        bare.step(Arrived(claim(number, 13, author=7)))
    bare.now += 60 * SECOND - 1
    bare.step(Tick())
    bare.now += 1
    bare.step(Tick())


def longest(bare: Bare) -> None:
    """An error names exactly the longest wait, and one second more."""
    for number, seconds in ((1, 3601), (2, 3600)):
        starts(bare, number, 10 + number)
        named = Outcome(Code.PROVIDER, detail=f"429: too many, retry after {seconds}s")
        bare.says(str(10 + number), engine.Ended(f"{number}@1", named), engine.Released(f"{number}@1"))


def without_waits(bare: Bare) -> None:
    """`retry.backoff` may be empty: an error of the provider fails at once, a quota waits."""
    bare.lanes.rules = rules(busy="queue", backoff=(), quota_hold=0)
    starts(bare, 1)
    bare.says("11", engine.Ended("1@1", LIMITED), engine.Released("1@1"))
    bare.lanes.rules = rules(busy="queue", backoff=())
    bare.step(Arrived(claim(2)))
    bare.runs("11", "2@1")
    reset = START // SECOND + 60
    bare.says("11", engine.Ended("2@1", Outcome(Code.PROVIDER, detail=QUOTA % reset)), engine.Released("2@1"))


def unsent(bare: Bare) -> None:
    """A prompt that was never written to the child is asked in order, uncharged; so is a steer that was not."""
    bare.step(Arrived(claim(1)))
    up(bare)
    bare.says("11", engine.Ended("1@1", Outcome(Code.TIMEOUT)), engine.Released("1@1"))
    bare.step(ChildDown("11", 1, 1, expected=True), Arrived(claim(2, 12)))
    bare.step(ChildDown("12", 9, 1, expected=False))
    up(bare, "12")
    bare.step(ChildDown("12", 2, 1, expected=False))


def odd_beginnings(bare: Bare) -> None:
    """A child that is ready before its process was told of, says it twice, and one whose start another lane has."""
    bare.step(Arrived(claim(1)))
    bare.says("11", engine.Ready(STATE))
    bare.step(ChildUp("11", 1, 101, "born 1"), ChildUp("12", 1, 101, "born 1"))
    bare.says("11", engine.Ready(STATE), engine.Sent("1@1"), engine.Started("1@1"), busy=True)
    bare.says("11", *answer("1@1"))
    bare.step(Arrived(claim(2)))


def errands_stopped(bare: Bare) -> None:
    """Stop ends an errand at once, and what it answers afterwards is nobody's; one that nothing answers."""
    ask = commands.GetModels("")
    starts(bare, 1)
    bare.says("11", *answer("1@1"))
    bare.step(Errand("11", "a", ask, START), StopAsked("11", 11, 2, "ann", "lane"))
    bare.says("11", *replied("session/errand/a"))
    bare.step(Errand("11", "b", ask, START), Errand("11", "c", ask, START))
    bare.says("11", engine.Sent("session/errand/b"), busy=True)
    bare.says("11", engine.Ended("session/errand/b", Outcome(Code.TIMEOUT)), engine.Released("session/errand/b"))
    bare.step(ChildDown("11", 1, 0, expected=True))
    bare.step(Arrived(claim(2, 12)), Errand("12", "d", ask, START), StopAsked("12", 12, 2, "ann", "lane"))


def words(bare: Bare) -> None:
    """The word "stop" ends what waits, not itself; a notice that Discord refuses is nobody's end."""
    bare.step(Arrived(claim(1)), Arrived(claim(2)))
    bare.step(StopAsked("11", 11, 2, "ann", "turn", word=claim(3, author=2, text="stop")))
    bare.step(Arrived(claim(21, 21, parent=14)), ThreadDone(21, 14, opened=False))
    bare.step(PostDone(facts.Dropped("21/thread/1", "unknown channel")), Extend("7", 2))


def clocks(bare: Bare) -> None:
    """A start whose clock went back: a wait as long as the longest stays, one that is longer is over."""
    longest = 2 * 3600 * SECOND
    known: list[facts.AnyFact] = []
    for number, more in ((1, 0), (2, 1)):
        known += [claim(number, 10 + number, at=START + number), facts.Written(str(number), 40 + number)]
        known += [facts.Backoff(str(number), START + longest + more, "quota")]
        known += [facts.Gated("acme", f"model {number}", START + longest + more)]
    known += [
        claim(5, 15), facts.Written("5", 45), facts.Answered("5", 1, "done"),
        facts.Owed("5/answer/1", "5", 15, "answer", "done", 5), facts.Owed("5/x/1", "", 15, "notice", "said", 0),
        facts.ChildStarted(77, "15", 177, "born 77"),
    ]  # fmt: skip
    bare.known = tuple(known)
    bare.__post_init__()
    bare.step(Recover(), Arrived(claim(6, 16, at=START - 9)))


def unready(bare: Bare) -> None:
    """A child that dies at its start; a session command that gets no answer from a child that goes."""
    bare.step(Arrived(claim(1)), ChildUp("11", 1, 101, "born 1"), ChildDown("11", 1, 2, expected=False))
    bare.__post_init__()
    bare.step(Arrived(claim(2)))
    up(bare, state={"sessionFile": "one", "messageCount": 3})
    bare.says("11", engine.Ended("session/new", Outcome(Code.DOWN)), engine.Released("session/new"), busy=True)
    bare.says("11", engine.Ended("session/new", Outcome(Code.REFUSED)), busy=True)


def errands_in_need(bare: Bare) -> None:
    """An errand that no child is there for is stopped; one that is under way when the program goes down is awaited."""
    ask = commands.GetModels("")
    for number in (1, 2):
        starts(bare, number, 10 + number)
    bare.step(Errand("13", "a", ask, START), StopAsked("13", 13, 2, "ann", "lane"))
    bare.says("11", *answer("1@1"))
    bare.step(Errand("11", "b", ask, START), Errand("11", "c", ask, START), Shutdown())
    bare.says("11", *replied("session/errand/b"))


def spent_twice(bare: Bare) -> None:
    """Without caps what a turn costs is added up and booked with its end; the child's own is its last payer's."""
    starts(bare, 1, author=5)
    usage = Usage(100, 10, 160, Cost(1.25))
    for _ in range(2):
        bare.says("11", engine.Spent("1@1", "acme", "large", usage), busy=True)
    bare.says("11", *answer("1@1"))
    bare.says("11", engine.Spent("", "acme", "large", usage))


def taken_back(bare: Bare) -> None:
    """What runs is neither cancelled nor moved; a line that nobody has heard is signed on its turn's card."""
    bare.lanes.rules = RULES
    starts(bare, 1)
    bare.step(Cancel("1"), MoveFirst("1"), Cancel("9"), MoveFirst("9"), CardDone(facts.CardShown("1", 11, 700)))
    bare.step(Arrived(claim(2), Advice.STEER), Deleted(2))


def homeless(bare: Bare) -> None:
    """A channel goes whose lane has no child; notices of no round go where the lane posts, or to where it is."""
    for number in (1, 2):
        starts(bare, number, 10 + number)
    bare.step(Arrived(claim(21, 21, parent=14)), ThreadDone(21, 14, opened=False), SessionGone("21"))
    bare.step(Arrived(claim(22, 22, parent=14)), ThreadDone(22, 14, opened=True), PlaceGone(22), SessionGone("99"))


def rows(bare: Bare) -> None:
    """A good turn ends a row of failed starts once; a re-ask that is refused is bounded as any; an old reset."""
    bare.lanes.rules = rules(busy="queue", max_attempts=1)
    bare.lanes.in_row = 2
    for number in (1, 2):
        starts(bare, number)
        bare.says("11", *answer(f"{number}@1"))
    starts(bare, 3)
    past = Outcome(Code.PROVIDER, detail=QUOTA % (START // SECOND - 60))
    bare.says("11", engine.Ended("3@1", past), engine.Released("3@1"))
    bare.now += 5 * SECOND
    bare.step(Tick())
    bare.runs("11", "3@2")
    bare.says("11", engine.Ended("3@2", Outcome(Code.REFUSED, busy=True)), engine.Released("3@2"))


def in_thread(bare: Bare) -> None:
    """An answer that stands in a thread ends its round there."""
    bare.step(Arrived(claim(20, 20, parent=14)), ThreadDone(20, 14, opened=True))
    up(bare, "20")
    bare.runs("20", "20@1")
    bare.says("20", *answer("20@1"))
    bare.step(PostDone(facts.Posted("20/answer/1", 0, 1, 900)))


def long_questions(bare: Bare) -> None:
    """A thread is named by the first words of a question with paragraphs; Stop of a lane ends what runs and waits."""
    bare.step(Arrived(claim(20, 20, parent=14, text="[discord] head\n\nfirst words\n\nand last words")))
    bare.step(ThreadDone(20, 14, opened=True))
    up(bare, "20")
    bare.runs("20", "20@1")
    bare.step(Arrived(claim(30, 20)), StopAsked("20", 20, 2, "ann", "lane"))


def forgotten_meanwhile(bare: Bare) -> None:
    """Who asked for a new session during a turn gets it before the message that waits behind that turn is given."""
    starts(bare, 1)
    bare.step(Arrived(claim(2)), Forget("11"))
    bare.says("11", *answer("1@1"))
    bare.says("11", *replied("session/new"))
    bare.says("11", *replied("session/state", data={"sessionFile": "two"}))


SEAM_STORIES: tuple[BareStory, ...] = (
    in_one_run, tools, lines_with_files, exact_bounds, without_waits, unsent, odd_beginnings, errands_stopped, words,
    clocks, unready, errands_in_need, spent_twice, taken_back, homeless, rows,
    in_thread, longest, long_questions, forgotten_meanwhile,
)  # fmt: skip
