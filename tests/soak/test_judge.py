"""The judge of the soak can fail: worlds made by hand, each with one thing wrong, and one with nothing wrong."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from connector import facts, notices
from fakes.discord import Place
from tests.soak.judge import Judge, Recorded, Stands, Verdict, recorded
from tests.soak.spoken import Said

HERE, THERE = Place(10, "here", 1), Place(20, "there", 1)
ANSWERED, STOPPED = Recorded("answered"), Recorded("stopped", stopped=True)


class World:
    """Six messages, all of them served: answered, in two posts, failed, stopped, joined, deleted."""

    def __init__(self) -> None:
        texts = (
            "echo m000001",
            "pages 2 m000002",
            "hang m000003",
            "slow 900 m000004",
            "tool 9 bash m000005",
            "echo m000006",
        )
        self.said = [Said(n, THERE if n == 3 else HERE, 7, [text]) for n, text in enumerate(texts, 1)]
        self.said[5].deleted = True
        pages = self.said[1].answers[0]
        assert len(pages) == 2
        self.posts = [
            Stands(99, 10, "⚙️ writing · began\n> echo: m000002\n> echo: m000005", 2),
            Stands(101, 10, "-# answered · 1 s", 1),
            Stands(102, 10, "echo: m000001", 1),
            Stands(103, 10, pages[0], 2),
            Stands(104, 10, pages[1]),
            Stands(105, 20, notices.failed("engine-timeout", retry=True), 3),
            Stands(106, 10, notices.stopped(by=7), 4),
            Stands(107, 20, notices.session_lost()),
        ]
        self.ledger = {
            1: ANSWERED,
            2: Recorded("answered", card=True),
            3: Recorded("engine-timeout"),
            4: STOPPED,
            5: Recorded("joined", into=2),
            6: Recorded("deleted"),
        }
        self.pressed = [4]
        self.left: list[str] = []

    def judged(self) -> Verdict:
        return Judge(self.said, self.posts, self.ledger, self.pressed, self.left).verdict

    def put(self, number: int, **changes: object) -> None:
        """Change one post."""
        self.posts = [replace(post, **changes) if post.id == number else post for post in self.posts]  # type: ignore[arg-type]  # by name

    def take(self, number: int) -> None:
        """Take one post away."""
        self.posts = [post for post in self.posts if post.id != number]

    def add(self, content: str, reference: int | None, place: int = 10) -> None:
        """One more post, the newest."""
        self.posts.append(Stands(200 + len(self.posts), place, content, reference))


def test_a_world_in_which_all_is_well_is_clean() -> None:
    verdict = World().judged()
    assert verdict.sums == {name: [] for name in verdict.sums}
    assert verdict.clean
    assert verdict.kinds == {
        "card": 1,
        "card at work": 1,
        "answer": 3,
        "engine-timeout": 1,
        "stopped": 1,
        "session-lost": 1,
    }


Change = Callable[[World], object]


def answered_twice(world: World) -> None:
    """Both what it said at first and what it was edited to are answered."""
    world.said[0].edit("echo m000001 new")
    world.add("echo: m000001 new", 1)


WRONG: dict[str, tuple[str, int, Change]] = {
    "no answer": ("lost", 1, lambda w: w.take(102)),
    "half an answer": ("lost", 2, lambda w: w.take(104)),
    "no notice": ("lost", 3, lambda w: w.take(105)),
    "joined into one that nobody knows": ("lost", 5, lambda w: w.ledger.update({5: Recorded("joined", into=99)})),
    "joined in a circle": ("lost", 5, lambda w: w.ledger.update({5: Recorded("joined", into=5)})),
    "no end of a word": ("lost", 8, lambda w: w.said.append(Said(8, HERE, 7, ["stop"], word=True))),
    "deleted, and it waits for ever": ("lost", 6, lambda w: w.ledger.update({6: Recorded()})),
    "never heard of": ("lost", 9, lambda w: w.said.append(Said(9, HERE, 7, ["echo m000009"]))),
    "a second answer": ("doubled", 1, lambda w: w.add("echo: m000001", 1)),
    "one of two posts again": ("doubled", 2, lambda w: w.add(w.said[1].answers[0][1], None)),
    "answer and notice": ("doubled", 1, lambda w: w.add(notices.not_repeated(retry=True), 1)),
    "two notices": ("doubled", 3, lambda w: w.add(notices.failed("dead", retry=True), 3, place=20)),
    "two receipts": ("doubled", 4, lambda w: w.add(notices.stopped(by=7), 4)),
    "answers to both texts": ("doubled", 1, answered_twice),
    "a card nobody knows of": ("cards left at work", 3, lambda w: w.add("⚙️ thinking", 3, place=20)),
    "joined, and answered": ("doubled", 5, lambda w: w.add(w.said[4].answers[0][0], 5)),
    "joined, and a notice": ("doubled", 5, lambda w: w.add(notices.failed("dead", retry=True), 5)),
    "deleted, and answered": ("doubled", 6, lambda w: w.add("echo: m000006", 6)),
    "another's text": ("misattributed", 1, lambda w: w.add("echo: m000001", 3)),
    "an answer elsewhere": ("misattributed", 1, lambda w: w.put(102, place=20)),
    "a notice elsewhere": ("misattributed", 3, lambda w: w.put(105, place=10)),
    "two texts in one": ("misattributed", 1, lambda w: w.put(102, content="echo: m000001 m000002")),
    "another answer": ("misattributed", 1, lambda w: w.put(102, content="echo: this m000001")),
    "no reference": ("misattributed", 1, lambda w: w.put(102, reference=None)),
    "what nobody asked": ("misattributed", 0, lambda w: w.add("echo: m000777", None)),
    "a sentence that is not known": ("misattributed", 1, lambda w: w.add("Traceback (most recent call last)", 1)),
    "a card elsewhere": ("misattributed", 1, lambda w: w.put(101, place=20)),
    "a card of what nobody asked": ("misattributed", 77, lambda w: w.put(101, reference=77)),
    "a card with another's text": ("misattributed", 2, lambda w: w.put(99, content="⚙️ writing\n> m000001")),
    "two cards": ("doubled", 3, lambda w: w.posts.extend(Stands(n, 20, "-# 1 s", 3) for n in (7, 8))),
    "a process": ("orphans", 0, lambda w: w.left.append("4711 python -m fakes.pi")),
    "no receipt": ("Stop ignored", 4, lambda w: w.take(106)),
    "stopped, and then answered": ("Stop ignored", 4, lambda w: w.ledger.update({4: ANSWERED})),
    "an answer behind the receipt": ("Stop ignored", 4, lambda w: w.add("echo: slow 900 m000004", 4)),
    "a mark that nobody kept": ("Stop ignored", 1, lambda w: w.pressed.append(1)),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_found_and_named(name: str) -> None:
    kind, message, change = WRONG[name]
    world = World()
    change(world)
    verdict = world.judged()
    assert not verdict.clean
    assert message in [found for found, _ in verdict.sums[kind]], verdict.sums


def test_an_answer_that_was_recorded_behind_the_mark_is_ignored_stop_and_one_before_it_is_none() -> None:
    """Stop while an answer is posted: what stands by then stays (BEHAVIOUR §2)."""
    mark, answered = facts.StopMarked("4", 7), facts.Answered("4", 1, "echo: slow 900 m000004")
    end = facts.Ended("4", "stopped")
    for steps, ignored in (((answered, mark, end), []), ((mark, answered, end), [4])):
        world = World()
        world.posts.append(Stands(100, 10, "echo: slow 900 m000004", 4))
        world.ledger[4] = recorded(steps)
        assert [message for message, _ in world.judged().ignored] == ignored


def test_a_card_that_a_start_would_still_see_to_is_not_left() -> None:
    shown, over = facts.CardShown("3", 20, 0), facts.CardOver("3")
    for steps, left in (((shown,), []), ((shown, facts.CardShown("3", 20, 9)), []), ((shown, over), [3]), ((), [3])):
        world = World()
        world.add("⚙️ thinking", 3, place=20)
        world.ledger[3] = recorded([*steps, facts.Ended("3", "engine-timeout")])
        assert [message for message, _ in world.judged().cards] == left


def test_the_ledger_tells_into_what_a_line_was_joined() -> None:
    assert recorded([facts.Ended("5", "joined", into="2.1")]) == Recorded("joined", into=2)
