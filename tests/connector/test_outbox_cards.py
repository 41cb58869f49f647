"""A card that may stand in Discord without our knowing: recorded first, looked for, edited, and never left at work."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connector import facts
from connector.outbox import EDIT_PACE, FORGOTTEN, Outbox, nonce
from connector.outbox_cards import NONCE_WINDOW, UNDER_WAY, control
from connector.outbox_moves import Action, Edit, Find, Later, Missing, Never, Other, Outcome, Show, Stands, Told
from connector.ports import Button, Controls

S = 1_000_000_000
KEY, NAME = "7.1/card/1", "7.1"
STOP = (Button(f"stop:{NAME}", "Stop", "danger"),)
FIND = Find(KEY, 1, f"stop:{NAME}", 7)
OVER = [facts.CardOver(NAME)]


def the(actions: list[Action]) -> Action:
    """The one action of a list."""
    (action,) = actions
    return action


def posting(content: str = "one") -> tuple[Outbox, Action]:
    """A card on its way for the first time."""
    box = Outbox()
    box.show(KEY, 1, content, STOP)
    box.recorded(KEY)
    return box, the(box.ready(0))


def adopted(content: str = "waits", *, over: bool = False) -> Outbox:
    """A card that an earlier process may have posted."""
    box = Outbox()
    box.adopt(KEY, 1, 0)
    assert box.show(KEY, 1, content, () if over else STOP) == []
    assert not over or box.finish(KEY) == []
    return box


# -- facts before effects ------------------------------------------------------------------------------------------


def test_a_card_is_not_posted_before_it_is_recorded_and_nobody_waits_for_that() -> None:
    box = Outbox()
    assert box.show(KEY, 1, "one", STOP) == [facts.CardShown(NAME, 1, 0)]
    assert box.show(KEY, 1, "two", STOP) == []
    assert (box.ready(0), box.deadline(), box.idle) == ([], None, True)
    box.recorded(KEY)
    assert the(box.ready(0)) == Show(KEY, 1, "two", STOP, 0)


@pytest.mark.parametrize(
    ("key", "name"),
    [
        (KEY, "stop:7.1"),
        ("7/dialog/2.3f-a_9", "dialog:3f-a_9:cancel"),
        ("7/dialogtext/2.d.1", ""),
        ("7/receipt/1", ""),
        ("7/answer/1", ""),
    ],
)
def test_what_is_looked_for_is_a_control_that_it_always_has(key: str, name: str) -> None:
    assert control(key) == name


# -- after a restart -----------------------------------------------------------------------------------------------


def test_a_card_that_an_earlier_process_had_posted_is_found_and_goes_on() -> None:
    box = adopted()
    assert the(box.ready(0)) == FIND
    assert box.done(FIND, Later(), 0) == []
    assert the(box.ready(S)) == FIND
    assert box.done(FIND, Stands(70), S) == [facts.CardShown(NAME, 1, 70)]
    edit = the(box.ready(S))
    assert edit == Edit(KEY, 1, 70, "waits", STOP)
    assert box.done(edit, Stands(70), S) == []
    assert box.idle


def test_one_whose_round_is_over_is_found_and_shows_its_end() -> None:
    box = adopted("-# ended", over=True)
    box.done(the(box.ready(0)), Stands(70), 0)
    assert box.done(the(box.ready(0)), Stands(70), 0) == OVER
    assert box.idle


def test_one_that_was_never_posted_is_posted_where_its_round_goes_on() -> None:
    box = adopted()
    assert box.done(the(box.ready(0)), Missing(), 0) == []
    show = the(box.ready(0))
    assert show == Show(KEY, 1, "waits", STOP, 0)
    assert box.done(show, Stands(70), 0) == [facts.CardShown(NAME, 1, 70)]


def test_one_that_is_not_found_and_whose_round_is_over_is_looked_for_once_more_and_nobody_waits_for_that() -> None:
    """The dead process's request may still be on its way to Discord."""
    box = adopted("-# ended", over=True)
    assert not box.idle
    assert box.done(the(box.ready(0)), Missing(), 0) == []
    assert (box.ready(0), box.deadline(), box.idle) == ([], UNDER_WAY, True)
    assert the(box.ready(UNDER_WAY)) == FIND
    assert box.done(FIND, Missing(), UNDER_WAY) == OVER
    assert (box.ready(UNDER_WAY), box.deadline()) == ([], None)


def test_where_discord_does_not_let_us_look_it_is_given_up() -> None:
    box = adopted()
    assert box.done(the(box.ready(0)), Never("missing access"), 0) == OVER
    assert box.idle


def test_what_was_on_its_way_comes_back_as_another_message_and_is_found() -> None:
    box = adopted()
    box.done(the(box.ready(0)), Missing(), 0)
    assert box.done(the(box.ready(0)), Other(), 0) == []
    assert box.done(the(box.ready(0)), Stands(70), 0) == [facts.CardShown(NAME, 1, 70)]
    assert the(box.ready(EDIT_PACE)) == Edit(KEY, 1, 70, "waits", STOP)


def test_another_message_that_is_not_this_card_ends_it_at_the_second_time() -> None:
    box, show = posting()
    assert box.done(show, Other(), 0) == []
    assert box.done(the(box.ready(0)), Missing(), 0) == []
    assert box.done(the(box.ready(0)), Other(), 0) == OVER
    assert box.idle


# -- in one life ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ends", [False, True])
def test_a_card_whose_reply_was_lost_for_so_long_that_its_nonce_may_be_forgotten_is_looked_for(*, ends: bool) -> None:
    box, show = posting()
    now = NONCE_WINDOW
    assert box.done(show, Later(), 0) == []
    box.show(KEY, 1, "two")
    assert not ends or box.finish(KEY) == []
    assert the(box.ready(now)) == FIND
    assert box.done(FIND, Stands(70), now) == [facts.CardShown(NAME, 1, 70)]
    edit = the(box.ready(now + EDIT_PACE))
    assert edit == Edit(KEY, 1, 70, "two", ())
    assert box.done(edit, Stands(70), now + EDIT_PACE) == (OVER if ends else [])


# -- whatever happens ----------------------------------------------------------------------------------------------


@dataclass
class Channel:
    """Discord: what each of our messages shows, and the nonces it remembers for as long as it must, or longer."""

    memory: int
    stands: list[tuple[str, Controls]] = field(default_factory=list)
    nonces: dict[str, tuple[int, int]] = field(default_factory=dict)

    def take(self, action: Action, now: int) -> Outcome:
        match action:
            case Find(_, _, name, _):
                found = [n for n, (_, shown) in enumerate(self.stands, 1) if name in {one.custom_id for one in shown}]
                return Stands(found[0]) if found else Missing()
            case Edit(_, _, message, content, buttons):
                self.stands[message - 1] = content, buttons
                return Stands(message)
            case Show(key, _, content, buttons):
                known = self.nonces.get(nonce(key, 0))
                if known is not None and now - known[1] <= self.memory:
                    return Stands(known[0]) if self.stands[known[0] - 1] == (content, buttons) else Other()
                self.stands.append((content, buttons))
                self.nonces[nonce(key, 0)] = len(self.stands), now
                return Stands(len(self.stands))
            case _:
                raise AssertionError(action)


FATES = st.lists(st.sampled_from(["good", "good", "lost before", "lost after", "killed before", "killed after"]))


@settings(max_examples=300, deadline=None)
@given(
    fates=FATES,
    memory=st.sampled_from([NONCE_WINDOW, FORGOTTEN]),
    waits=st.lists(st.sampled_from([0, S, NONCE_WINDOW - S, NONCE_WINDOW, 2 * FORGOTTEN])),
    contents=st.lists(st.booleans(), max_size=4),
)
def test_one_card_at_most_stands_there_and_it_shows_its_end(
    fates: list[str], memory: int, waits: list[int], contents: list[bool]
) -> None:
    """Through lost replies and a process that dies: no card is left at work, and none is posted twice."""
    discord, recorded, now = Channel(memory), dict[str, int](), 0
    box, number = _started(recorded), 0
    while True:
        killed = False
        for action in box.ready(now):
            fate = fates.pop() if fates else "good"
            outcome = Later() if fate.endswith("before") else discord.take(action, now)
            killed = killed or fate.startswith("killed")
            if not killed:
                _record(recorded, box.done(action, Later() if fate.startswith("lost") else outcome, now))
        now += waits.pop() if waits else EDIT_PACE
        if killed:
            box = _started(recorded)
            _show(box, recorded, number, over=not contents)
        elif contents:
            number += 1
            contents.pop()
            _show(box, recorded, number, over=not contents)
        elif box.deadline() is None:
            break
        else:
            now = max(now, box.deadline() or now)
    assert [shown for shown in discord.stands if shown != ("-# ended", ())] == []
    assert len(discord.stands) <= 1
    assert recorded == {}


def _started(recorded: dict[str, int]) -> Outbox:
    box = Outbox()
    for message in recorded.values():
        box.adopt(KEY, 1, message)
    return box


def _show(box: Outbox, recorded: dict[str, int], number: int, *, over: bool) -> None:
    """What a round does: its card shows its content, or its end; that of an earlier life only where there is one."""
    if over and not recorded:
        return
    _record(recorded, box.show(KEY, 1, "-# ended" if over else f"working {number}", () if over else STOP))
    box.recorded(KEY)
    if over:
        _record(recorded, box.finish(KEY))


def _record(recorded: dict[str, int], told: list[Told]) -> None:
    for fact in told:
        if isinstance(fact, facts.CardShown):
            recorded[fact.round] = fact.message
        elif isinstance(fact, facts.CardOver):
            recorded.pop(fact.round)
