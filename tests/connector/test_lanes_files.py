"""A message and its files in the lanes: it waits for them in its place, and may be taken back meanwhile."""

from collections.abc import Callable, Iterator

import pytest
from msgspec.structs import replace

from connector import facts, notices, notices_files
from connector.lane_effects import Effect, Fetch, Tell, Withdraw
from connector.lane_events import Arrived, Brought, Cancel, Deleted, Missed, Rewrite, Shutdown
from connector.notices import Halted
from connector.world import Phase
from engine import events as engine
from engine.commands import Image
from engine.events import Code, Outcome
from tests.machine.lanes_child import Child
from tests.machine.lanes_machine import LONG_WAIT, Sim, rules

Make = Callable[..., "Waiting"]
FILE = facts.File(1, "f", 9)


class Waiting(Sim):
    """Nobody brings what is asked for before the test does; `asked`: the rounds whose files are."""

    def __post_init__(self) -> None:
        self.asked: list[str] = []
        self.patient = True
        super().__post_init__()

    def begin(self) -> None:
        self.asked = []
        super().begin()

    def perform(self, effect: Effect) -> None:
        if isinstance(effect, Fetch) and self.patient:
            assert effect.round not in self.asked, "one fetch of a round at a time"
            self.asked.append(effect.round)
        else:
            super().perform(effect)

    def settle(self) -> None:
        self.patient = False
        for name in self.asked:
            self.inbox.append(self.fetched(name, self.lanes.world.rounds[name].lane))
        super().settle()


@pytest.fixture
def make() -> Iterator[Make]:
    """Worlds with rules of their own, each brought to rest and audited at the end."""
    made: list[Waiting] = []

    def one(**changes: object) -> Waiting:
        made.append(Waiting(rules(**changes)))
        return made[-1]

    yield one
    for sim in made:
        sim.settle()
        sim.db.close()


def sent(sim: Waiting, text: str = "look", **changes: object) -> str:
    """A message with a file; nobody has brought that yet."""
    claim = sim.claim("11")
    header = claim.text.partition("\n")[0]
    claim = replace(claim, files=(FILE,), text=f"{header}\n\n{text}", **changes)
    sim.step(Arrived(claim, sim.advice("11")))
    return claim.round


def saved(sim: Waiting, name: str, **told: object) -> None:
    """Its file is there."""
    sim.asked.remove(name)
    lane = sim.lanes.world.rounds[name].lane
    sim.inbox.append(replace(Brought(name, lane, ("file: f, saved as /in/1.txt",)), **told))
    sim.pump()


def pictured(sim: Waiting, name: str) -> None:
    """Its file is a picture."""
    picture = f"{name.partition('.')[0]}-1.png"
    saved(sim, name, lines=("picture: f",), pictures=(picture,), images=(Image(picture, "image/png"),))


def lost(sim: Waiting, name: str) -> None:
    """Its file cannot be had."""
    saved(sim, name, lines=("file: f, lost",), missed=(Missed("f.zip", "it could not be downloaded"),), some=False)


def running(sim: Waiting) -> tuple[str, Child]:
    """A turn under way in the lane."""
    head = sim.arrive("11")
    return head, sim.up("11")


def phase(sim: Waiting, name: str) -> Phase:
    return sim.lanes.world.rounds[name].phase


def texts(sim: Waiting, name: str) -> list[engine.Text]:
    """What was given to engines of this round, in order."""
    told = [effect.given for effect in sim.effects if isinstance(effect, Tell)]
    given = [one for one in told if isinstance(one, engine.Submit | engine.SteerIn)]
    return [one.work for one in given if one.turn.startswith(f"{name}@") and isinstance(one.work, engine.Text)]


def until_fetched(sim: Waiting) -> list[str]:
    """One thing after the other, until files are asked for: of these rounds."""
    while not sim.asked:
        if sim.inbox:
            sim.deliver()
        else:
            sim.next_alarm()
    return sim.asked


def shown(sim: Waiting, name: str) -> Child:
    """Its picture is there, and again when the child is; its run has begun."""
    pictured(sim, name)
    kid = sim.up("11")
    if sim.asked == [name]:
        pictured(sim, name)
        sim.up("11")
    assert kid.head.startswith(f"{name}@")
    return kid


def notice(sim: Waiting, name: str) -> list[str]:
    return [owed.text for owed in sim.audit.stories[name].owed if owed.kind == "notice"]


def test_what_is_behind_a_slow_fetch_waits_and_follows_in_its_order(make: Make) -> None:
    sim = make(busy="queue")
    first, second = sent(sim), sim.arrive("11")
    kid = sim.up("11")
    assert (kid.head, phase(sim, first), phase(sim, second)) == ("", Phase.WAITING, Phase.WAITING)
    saved(sim, first)
    assert kid.head == f"{first}@1"
    assert kid.texts[f"{first}@1"].endswith("\n[file: f, saved as /in/1.txt]\n\nlook")
    kid = sim.up("11")
    kid.answer()
    sim.do(kid)
    assert kid.head == f"{second}@1"


def test_another_lane_does_not_wait(make: Make) -> None:
    sim = make()
    sent(sim)
    other = sim.arrive("12")
    assert sim.up("12").head == f"{other}@1"


def test_it_is_fetched_while_the_turn_before_it_runs_and_the_next_one_when_that_is_asked(make: Make) -> None:
    """Only the first that waits: an inbox is bounded, and nobody needs the files of what may yet be taken back."""
    sim = make(busy="queue")
    _, kid = running(sim)
    first, second = sent(sim), sent(sim)
    assert [effect.round for effect in sim.effects if isinstance(effect, Fetch)] == [first]
    saved(sim, first)
    kid.answer()
    sim.hear(kid)
    while not kid.head:
        sim.deliver()
    assert (kid.head, sim.asked) == (f"{first}@1", [second])


def test_the_fetch_names_where_the_message_stands(make: Make) -> None:
    sim = make()
    claim = replace(sim.claim("11", thread=True), files=(FILE,))
    sim.step(Arrived(claim))
    (fetch,) = [effect for effect in sim.effects if isinstance(effect, Fetch)]
    assert fetch == Fetch(claim.round, claim.lane, 11, claim.message, (FILE,))


@pytest.mark.parametrize("how", ["stop", "cancel", "delete"])
def test_it_can_be_taken_back_while_it_is_fetched(make: Make, how: str) -> None:
    sim = make()
    name, later = sent(sim), sim.arrive("11")
    match how:
        case "stop":
            sim.stop("turn", "11")
        case "cancel":
            sim.step(Cancel(name))
        case _:
            sim.step(Deleted(int(name), known=True))
    story = sim.audit.stories[name]
    assert story.ends == [facts.Ended(name, "deleted" if how == "delete" else "stopped")]
    receipt = {"stop": [notices.stopped(Halted.QUEUED, by=2, kept=1)], "cancel": [notices.stopped(Halted.QUEUED)]}
    assert [owed.text for owed in story.owed] == receipt.get(how, [])
    sim.inbox.append(Brought(name, "11", ("file: f, saved as /in/1.txt",)))
    sim.asked.remove(name)
    assert sim.up("11").head == f"{later}@1"
    assert story.fetched == []


def test_an_edit_while_it_is_fetched_keeps_the_files(make: Make) -> None:
    sim = make()
    name = sent(sim)
    header = sim.audit.stories[name].claim.text.partition("\n")[0]
    sim.step(Rewrite(name, f"{header}\n\nlook again"))
    saved(sim, name)
    assert sim.up("11").texts[f"{name}@1"] == f"{header}\n[file: f, saved as /in/1.txt]\n\nlook again"


def test_a_file_that_cannot_be_had_is_said_to_both_and_the_text_is_asked(make: Make) -> None:
    sim = make()
    name = sent(sim)
    lost(sim, name)
    assert "\n[file: f, lost]\n\nlook" in sim.up("11").texts[f"{name}@1"]
    assert notice(sim, name) == [notices_files.missed([Missed("f.zip", "it could not be downloaded")])]


def test_nothing_but_a_file_that_cannot_be_had_is_not_asked(make: Make) -> None:
    sim = make()
    name, later = sent(sim, " "), sim.arrive("11")
    lost(sim, name)
    assert notice(sim, name) == [notices_files.nothing_left([Missed("f.zip", "it could not be downloaded")])]
    assert sim.audit.stories[name].ends == [facts.Ended(name, "refused")]
    assert sim.up("11").head == f"{later}@1"


def test_a_restart_while_it_is_fetched_fetches_again(make: Make) -> None:
    sim = make()
    name = sent(sim)
    sim.crash()
    assert sim.asked == [name]
    saved(sim, name)
    assert sim.up("11").head == f"{name}@1"


def test_a_restart_after_it_does_not_fetch_what_was_only_saved(make: Make) -> None:
    sim = make()
    name = sent(sim)
    saved(sim, name)
    sim.crash()
    assert sim.asked == []
    assert sim.up("11").head == f"{name}@1"


def test_pictures_are_brought_again_when_their_time_has_come_and_go_with_the_text(make: Make) -> None:
    """Their bytes are in no ledger and are kept for no one: only the step that brought them has them."""
    sim = make(busy="queue")
    _, kid = running(sim)
    name = sent(sim)
    pictured(sim, name)
    kid.answer()
    sim.hear(kid)
    assert (until_fetched(sim), kid.head) == ([name], "")
    pictured(sim, name)
    (text,) = texts(sim, name)
    assert text.images == (Image(f"{name}-1.png", "image/png"),)
    assert len(sim.audit.stories[name].fetched) == 1


def test_a_picture_that_is_gone_from_the_inbox_meanwhile_is_said(make: Make) -> None:
    sim = make(busy="queue")
    _, kid = running(sim)
    name = sent(sim)
    pictured(sim, name)
    kid.answer()
    sim.hear(kid)
    until_fetched(sim)
    lost(sim, name)
    assert "\n[file: f, lost]\n\nlook" in kid.texts[f"{name}@1"]
    assert len(notice(sim, name)) == 1


def test_a_reask_brings_its_pictures(make: Make) -> None:
    """§2.1: the same text, and what belongs to it."""
    sim = make()
    name = sent(sim)
    kid = shown(sim, name)
    kid.fails(Outcome(Code.PROVIDER, detail="429: {}"))
    sim.do(kid)
    assert until_fetched(sim) == [name]
    pictured(sim, name)
    assert [text.images for text in texts(sim, name)] == [(Image(f"{name}-1.png", "image/png"),)] * 2


def test_retry_brings_the_files_again(make: Make) -> None:
    sim = make()
    name = sent(sim)
    kid = shown(sim, name)
    kid.times_out()
    kid.release()
    sim.do(kid)
    again = sim.retry(name)
    shown(sim, again)
    assert sim.lanes.world.rounds[again].pictures == (f"{name}-1.png",)


@pytest.mark.parametrize("what", [saved, pictured])
def test_it_is_steered_once_its_files_are_there_and_what_waited_behind_it_too(
    make: Make, what: Callable[[Waiting, str], None]
) -> None:
    """§4, as advice says then; §7.26."""
    sim = make()
    _, kid = running(sim)
    name, behind = sent(sim), sim.arrive("11")
    assert (phase(sim, name), phase(sim, behind)) == (Phase.WAITING, Phase.WAITING)
    what(sim, name)
    assert list(kid.open) == [f"{name}@1", f"{behind}@1"]
    assert "\n[" in kid.texts[f"{name}@1"]


def test_a_run_that_has_ended_meanwhile_is_not_steered(make: Make) -> None:
    sim = make()
    _, kid = running(sim)
    name = sent(sim)
    kid.answer()
    sim.do(kid)
    saved(sim, name)
    assert (kid.open, kid.head) == ({}, f"{name}@1")


def test_it_interrupts_a_tool_that_hangs_by_then(make: Make) -> None:
    """§5: the age counts when the line could be given."""
    sim = make()
    head, kid = running(sim)
    kid.tool(sim.now)
    sim.do(kid)
    name = sent(sim)
    sim.now += LONG_WAIT + 1
    saved(sim, name)
    assert (kid.failed, kid.head) == (Code.INTERRUPTED, f"{head}@1")
    assert sim.lanes.world.lane("11").waiting == (name,)


def test_a_steer_that_comes_back_is_asked_with_its_pictures(make: Make) -> None:
    sim = make()
    _, kid = running(sim)
    name = sent(sim)
    pictured(sim, name)
    kid.return_steer(f"{name}@1")
    kid.answer()
    sim.hear(kid)
    until_fetched(sim)
    pictured(sim, name)
    assert [len(text.images) for text in texts(sim, name)] == [1, 1]
    assert kid.head == f"{name}@2"


def test_capacity_counts_what_is_fetched(make: Make) -> None:
    sim = make(capacity=1)
    name = sent(sim)
    refused = sent(sim)
    assert sim.audit.stories[refused].ends == [facts.Ended(refused, "refused")]
    assert sim.asked == [name]


def test_going_down_nothing_is_fetched(make: Make) -> None:
    sim = make()
    sim.arrive("12")
    sim.up("12")
    sim.step(Shutdown())
    name = sent(sim)
    assert not any(isinstance(effect, Fetch) for effect in sim.effects)
    sim.wait(rules().kill_after)
    sim.restart()
    assert until_fetched(sim) == [name]


def test_a_notice_of_files_is_not_posted_after_stop(make: Make) -> None:
    """§7.15."""
    sim = make()
    name = sent(sim)
    lost(sim, name)
    sim.stop("turn", "11")
    assert any(isinstance(effect, Withdraw) for effect in sim.effects)
    assert f"{name}/notice/2" in sim.audit.dropped


def test_a_bot_is_not_steered_with_files_either(make: Make) -> None:
    sim = make()
    _, kid = running(sim)
    name = sent(sim, bot=True)
    saved(sim, name)
    assert (kid.open, phase(sim, name)) == ({}, Phase.WAITING)


def test_a_deleted_message_gets_no_post_of_its_files_either(make: Make) -> None:
    sim = make(busy="queue")
    running(sim)
    name = sent(sim)
    lost(sim, name)
    sim.step(Deleted(int(name), known=True))
    assert any(isinstance(effect, Withdraw) for effect in sim.effects)
    assert (sim.audit.dropped, sim.lanes.world.rounds.get(name)) == ({f"{name}/notice/2"}, None)
