"""Threads and channels that go, or take nothing any more: everything asked there has its end, said once elsewhere."""

from collections.abc import Callable, Iterator

import pytest

from connector import facts, notices, notices_places
from connector.lane_effects import Post, Retire, Tell, Typing
from connector.lane_events import Deleted, PlaceGone, PostDone, SessionGone
from connector.world import Phase
from engine import events as engine
from tests.machine.lanes_machine import Sim, rules

Make = Callable[..., Sim]
ABOVE = "14"


@pytest.fixture
def make() -> Iterator[Make]:
    """Worlds with rules of their own, each brought to rest and audited at the end."""
    made: list[Sim] = []

    def one(**changes: object) -> Sim:
        made.append(Sim(rules(busy="queue", **changes)))
        return made[-1]

    yield one
    for sim in made:
        sim.settle()


def in_thread(sim: Sim) -> tuple[str, str]:
    """A turn that runs in its own thread, and a message that waits there."""
    first = sim.arrive(ABOVE, thread=True)
    sim.thread(int(first), opened=True)
    sim.up(first)
    return first, sim.arrive(first)


def ends(sim: Sim, *names: str) -> list[list[str]]:
    return [[end.code for end in sim.audit.stories[name].ends] for name in names]


def test_a_deleted_thread_ends_its_turn_and_its_queue_with_one_notice_above(make: Make) -> None:
    sim = make()
    first, waits = in_thread(sim)
    kid = sim.kid(first)
    done = sim.step(PlaceGone(int(first)))
    assert done is not None
    assert ends(sim, first, waits) == [["deleted"], ["deleted"]]
    told = facts.Owed(f"{first}/lost/gone", "", 14, "notice", notices_places.thread_gone(1, 1), int(first))
    fail = Tell(first, kid.number, engine.Fail(f"{first}@1", engine.Code.STOPPED))
    wanted = (Post, Tell, Retire, Typing)
    assert [effect for effect in done.effects if isinstance(effect, wanted)] == [
        *(Post(told), fail, Typing(int(first), on=False))
    ]
    before = len(sim.effects)
    kid.settle()
    sim.do(kid)
    assert Retire(first, kid.number) in sim.effects[before:]


def test_it_is_said_once(make: Make) -> None:
    sim = make()
    first, _ = in_thread(sim)
    sim.step(PlaceGone(int(first)))
    before = len(sim.recorded)
    sim.step(PlaceGone(int(first)))
    assert len(sim.recorded) == before


def test_a_deleted_channel_takes_its_threads_with_it_and_there_is_nobody_to_tell(make: Make) -> None:
    sim = make()
    first, waits = in_thread(sim)
    here, elsewhere = sim.arrive(ABOVE), sim.arrive("11")
    posts = dict(sim.posts)
    sim.step(PlaceGone(14))
    assert ends(sim, first, waits, here, elsewhere) == [["deleted"], ["deleted"], ["deleted"], []]
    assert sim.posts == posts


def test_what_is_being_posted_ends_as_its_posts_do(make: Make) -> None:
    sim = make()
    first, _ = in_thread(sim)
    kid = sim.kid(first)
    kid.answer()
    sim.do(kid)
    sim.step(PlaceGone(int(first)))
    assert sim.lanes.world.rounds[first].phase is Phase.POSTING
    sim.step(PostDone(facts.Dropped(f"{first}/answer/1", "404 Unknown Channel (code 10003)")))
    lost = sim.posts[f"{first}/lost/1"]
    assert (lost.channel, lost.text, lost.reply_to) == (14, notices.answer_lost(), int(first))


def test_a_message_said_again_in_the_channel_above_is_served(make: Make) -> None:
    sim = make()
    first, _ = in_thread(sim)
    sim.step(PlaceGone(int(first)))
    sim.pump()
    again = sim.arrive(ABOVE)
    sim.up(ABOVE).answer()
    sim.do(sim.kid(ABOVE))
    sim.post_all()
    assert ends(sim, again) == [["answered"]]


@pytest.mark.parametrize("reason", ["403 Missing Access (code 50001)", "404 Unknown Channel (code 10003)"])
def test_a_notice_that_its_thread_does_not_take_is_said_above(make: Make, reason: str) -> None:
    sim = make()
    first, waits = in_thread(sim)
    kid = sim.kid(first)
    kid.fails(engine.Outcome(engine.Code.PROVIDER, detail="no"))
    sim.do(kid)
    sim.step(PostDone(facts.Dropped(f"{first}/notice/1", reason)))
    told = sim.posts[f"{first}/lost/notice1"]
    assert (told.channel, told.text, told.reply_to) == (14, notices_places.untold(), int(first))
    assert ends(sim, waits) == [[]]


def session_notices(sim: Sim, lane: str) -> list[str]:
    return [key for key in sim.posts if key.startswith(f"{lane}/session/")]


def test_what_the_lane_was_to_be_told_goes_with_a_message_that_never_got_its_thread(make: Make) -> None:
    """Found by the soak's walks: after a restart it was posted where no thread stood."""
    sim = make()
    name = sim.arrive(ABOVE, thread=True)
    sim.step(SessionGone(name))
    (key,) = session_notices(sim, name)
    sim.step(Deleted(int(name), known=True))
    sim.crash()
    assert key not in sim.posts
    assert key not in sim.lanes.world.owed


@pytest.mark.parametrize("stands", [False, True])
def test_it_is_told_where_the_thread_stands_or_is_still_to_be_opened(make: Make, *, stands: bool) -> None:
    sim = make()
    name = sim.arrive(ABOVE, thread=True)
    if stands:
        sim.thread(int(name), opened=True)
        sim.pump()
    sim.step(SessionGone(name))
    told = session_notices(sim, name)
    if stands:
        sim.step(Deleted(int(name), known=True))
    sim.crash()
    assert session_notices(sim, name) == told
    assert len(told) == 1


def test_so_is_a_receipt_of_stop_word_for_word(make: Make) -> None:
    sim = make()
    first, waits = in_thread(sim)
    sim.stop("round", first, waits)
    receipt = sim.posts[f"{waits}/receipt/1"]
    sim.step(PostDone(facts.Dropped(receipt.key, "403 Missing Access (code 50001)")))
    told = sim.posts[f"{waits}/lost/receipt1"]
    assert (told.channel, told.text) == (14, receipt.text)


def test_what_stop_took_back_is_said_by_its_receipt_alone(make: Make) -> None:
    sim = make()
    first, _ = in_thread(sim)
    kid = sim.kid(first)
    kid.fails(engine.Outcome(engine.Code.PROVIDER, detail="no"))
    sim.do(kid)
    sim.step(PostDone(facts.Dropped(f"{first}/notice/1", "stopped")))
    assert f"{first}/lost/notice1" not in sim.posts


def test_a_refusal_in_the_channel_above_ends_it(make: Make) -> None:
    """There is no further place: the log has it."""
    sim = make()
    name = sim.arrive("11")
    kid = sim.up("11")
    kid.fails(engine.Outcome(engine.Code.PROVIDER, detail="no"))
    sim.do(kid)
    sim.step(PostDone(facts.Dropped(f"{name}/notice/1", "403 Missing Access (code 50001)")))
    assert sim.posts == {} or list(sim.posts) == [f"{name}/notice/1"]
    assert name not in sim.lanes.world.rounds


@pytest.mark.parametrize(
    "say", [notices_places.untold(), notices_places.thread_gone(1, 0), notices_places.thread_gone(1, 2)]
)
def test_its_sentences_are_one_line(say: str) -> None:
    assert "\n" not in say
    assert len(say) <= 200
    assert not say.startswith("Stopped")
