"""The open questions of extensions: whom they ask, how they look, what a press on them means; pure, it answers none.

A question lives as long as its child waits for it. Who asked, in which channel, is known from the prompt that was
written last in its lane: what else opens a question has nobody who could answer.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from connector import dialog_texts, facts, notices_dialogs
from connector.cards import View
from connector.literals import code
from connector.modals import Modal
from connector.world import Round
from engine import events as engine
from engine import pi
from engine.events import SECOND

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NUMBER = re.compile(r"[0-9]{1,6}")

MOST = 32
"""Questions that one child may have open: nobody answers more, and each is posted, edited and drawn."""


class Asker(Struct, frozen=True):
    """Whose prompt runs in a lane: whom a question of its run is for, and where."""

    round: str
    channel: int
    reply_to: int
    author: int


class Question(Struct, frozen=True):
    """One open question: `name` in its `custom_id`s, `until` in seconds since the epoch, `page` of its choices.

    `own`: the extension itself ends it then, and says nothing of that.
    """

    name: str
    lane: str
    child: int
    asker: Asker
    dialog: pi.Dialog
    until: int
    page: int = 0
    own: bool = False

    @property
    def key(self) -> str:
        """The outbox's name of the message that has its controls."""
        return f"{self.asker.round}/dialog/{self._post}"

    @property
    def _post(self) -> str:
        return f"{self.child}.{self.name}"

    def views(self, end: str = "") -> list[View]:
        """Its messages as they are to be now; with `end`, their last line and no controls, for good."""
        *before, last = dialog_texts.parts(self.dialog)
        if not dialog_texts.fits(last, self.dialog):
            before, last = [*before, last], ""
        line = end or notices_dialogs.waits(self.asker.author, self.until)
        controls = () if end else dialog_texts.controls(self.name, self.dialog, self.page)
        contents = [*before, dialog_texts.content(last, self.dialog, self.page, line)]
        names = [*(f"dialogtext/{self._post}.{number}" for number in range(1, len(contents))), f"dialog/{self._post}"]
        return [
            View(
                self.asker.round,
                self.asker.channel,
                content,
                controls if number == len(contents) - 1 else (),
                self.asker.reply_to if number == 0 else 0,
                over=bool(end),
                name=name,
            )
            for number, (content, name) in enumerate(zip(contents, names, strict=True))
        ]


class Answer(Struct, frozen=True):
    """A press answers the question: what the child is given, and how that is shown; no `shown`: it is cancelled."""

    given: engine.AnswerDialog
    shown: str = ""


class Turn(Struct, frozen=True):
    """A press turns to this page of the choices."""

    page: int


Meaning = Answer | Turn | Modal


def meaning(question: Question, verb: str, values: tuple[str, ...]) -> Meaning | None:
    """What the rest of a `custom_id` (CONTRACT) means for this kind of question; None: nothing of it."""
    dialog = question.dialog
    match dialog.method, verb.split(":"):
        case _, ["cancel"]:
            return Answer(engine.AnswerDialog(dialog.id))
        case "confirm", ["yes" | "no" as word]:
            return Answer(engine.AnswerDialog(dialog.id, confirmed=word == "yes"), word)
        case "select", ["menu"] if len(values) == 1:
            return _chosen(dialog, values[0])
        case "select", ["page", number] if _NUMBER.fullmatch(number):
            return Turn(dialog_texts.page_of(dialog, int(number)).number)
        case "select", [index]:
            return _chosen(dialog, index)
        case "input" | "editor", ["open"]:
            return dialog_texts.form(question.name, dialog)
        case "input" | "editor", ["text"] if values:
            text = str(pi.without_surrogates("\n".join(values)))
            return Answer(engine.AnswerDialog(dialog.id, value=text), code(text, notices_dialogs.ANSWER))
        case _:
            return None


def _chosen(dialog: pi.Dialog, index: str) -> Answer | None:
    if not _NUMBER.fullmatch(index) or int(index) >= len(dialog.options):
        return None
    option = dialog.options[int(index)]
    return Answer(engine.AnswerDialog(dialog.id, value=option), code(option, notices_dialogs.ANSWER))


class Dialogs:
    """All open questions. `bound`: nanoseconds after which the engine cancels one (`agent.dialog_timeout`)."""

    def __init__(self, bound: int) -> None:
        self._bound = bound
        self._open: dict[str, Question] = {}
        self._askers: dict[str, Asker] = {}
        self._used: dict[str, set[str]] = {}

    def learn(self, new: Iterable[facts.AnyFact], rounds: Mapping[str, Round]) -> tuple[list[View], list[Question]]:
        """What the facts of one step change, and the questions that nobody can see: to be cancelled."""
        views: list[View] = []
        unseen: list[Question] = []
        for fact in new:
            match fact:
                case facts.Written(round=name, kind="prompt") if name in rounds:
                    round_ = rounds[name]
                    reply_to = round_.reply_to if round_.reply_to != round_.channel else 0
                    self._askers[round_.lane] = Asker(name, round_.channel, reply_to, round_.author)
                    self._used[round_.lane] = set()
                case facts.Redirected(channel, parent):
                    self._redirect(channel, parent)
                case facts.StopMarked(round=name):
                    views += self._end(name, notices_dialogs.stopped())
                case facts.Cut(round=name):
                    views += self._end(name, notices_dialogs.restarting())
                case facts.DialogOver(key):
                    lost = self.lost(key)
                    unseen += lost
                    views += [view for one in lost for view in one.views(notices_dialogs.turn_over())]
                case _:
                    pass
        return views, unseen

    def _end(self, round_: str, end: str) -> list[View]:
        found = [one for one in self._open.values() if one.asker.round == round_]
        return [view for one in found for view in self.close(one, end)]

    def _redirect(self, channel: int, parent: int) -> None:
        """The thread of a lane could not be had: its questions stand in the channel above."""
        for lane, asker in self._askers.items():
            if asker.channel == channel:
                self._askers[lane] = replace(asker, channel=parent, reply_to=channel)
        for name, one in self._open.items():
            if one.asker.channel == channel:
                self._open[name] = replace(one, asker=replace(one.asker, channel=parent, reply_to=channel))

    def ask(self, lane: str, child: int, turn: str, dialog: pi.Dialog, now: int) -> list[View] | None:
        """A question was opened: how it looks, or None where there is nobody to answer it, or to answer so many."""
        asker = self._askers.get(lane)
        if asker is None or turn.rpartition("@")[0] != asker.round or len(self._of(lane, child)) >= MOST:
            return None
        own = round((dialog.timeout or 0) * SECOND / 1000)
        shorter = 0 < own < self._bound
        until = (now + (own if shorter else self._bound)) // SECOND
        name = self._named(lane, child, dialog.id)
        self._used[lane].add(name)
        question = Question(name, lane, child, asker, dialog, until, own=shorter)
        self._open[name] = question
        return question.views()

    def _named(self, lane: str, child: int, dialog: str) -> str:
        """The child's own name of it where that can stand in a `custom_id`, and named nothing else in this turn."""
        used = self._used[lane]
        if _NAME.fullmatch(dialog) and dialog not in self._open and dialog not in used:
            return dialog
        return hashlib.sha256(f"{lane}\0{child}\0{len(used)}\0{dialog}".encode(errors="replace")).hexdigest()[:32]

    def unask(self, lane: str, child: int, dialog: str, now: int, *, timed_out: bool) -> list[View]:
        """The child waits for this no longer; for one that was answered nothing is left to show.

        The clock of an extension's own timeout began before ours: its turn may be over before we have counted to it.
        """
        views: list[View] = []
        for one in self._of(lane, child):
            if one.dialog.id == dialog:
                late = timed_out or (one.own and now // SECOND + 1 >= one.until)
                views += self.close(one, notices_dialogs.timed_out() if late else notices_dialogs.turn_over())
        return views

    def end(self, lane: str, child: int) -> list[View]:
        """The child is gone, or given up: nothing of it waits any more."""
        return [view for one in self._of(lane, child) for view in self.close(one, notices_dialogs.turn_over())]

    def _of(self, lane: str, child: int) -> list[Question]:
        return [one for one in self._open.values() if (one.lane, one.child) == (lane, child)]

    def lost(self, key: str) -> list[Question]:
        """The question whose message is not to be had (any more), if it is open: it is no longer."""
        found = [one for one in self._open.values() if one.key == key]
        for one in found:
            del self._open[one.name]
        return found

    def find(self, name: str, channel: int) -> Question | None:
        """The open question of this name in this channel."""
        found = self._open.get(name)
        return found if found is not None and found.asker.channel == channel else None

    def turn(self, question: Question, page: int) -> list[View]:
        """The question shows another page of its choices."""
        turned = replace(question, page=page)
        self._open[question.name] = turned
        return turned.views()[-1:]

    def close(self, question: Question, end: str) -> list[View]:
        """The question is over, and shows this as its last line."""
        self._open.pop(question.name, None)
        return question.views(end)
