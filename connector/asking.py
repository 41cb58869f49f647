"""Questions of extensions on their way between children and people; what they mean is decided in `connector.dialogs`.

A question is asked, answered and ended in the dispatcher's turn, so that of two presses one wins.
"""

from collections.abc import Callable, Sequence

from connector import facts, notices_dialogs
from connector.cards import View
from connector.children import Children
from connector.dialogs import Answer, Dialogs, Question
from connector.lane_events import ChildDown, ChildSays
from connector.lanes import Lanes
from connector.logs import Log
from connector.showing import Showing
from engine import events as engine


class Asking:
    """The dispatcher's hand for questions. `now`: nanoseconds since the epoch; `bound`: `agent.dialog_timeout`."""

    def __init__(
        self,
        lanes: Lanes,
        children: Callable[[], Children],
        showing: Showing,
        now: Callable[[], int],
        log: Log,
        *,
        bound: int,
    ) -> None:
        self._lanes, self._children, self._showing, self._now, self._log = lanes, children, showing, now, log
        self._dialogs = Dialogs(bound)
        self._cancelled: list[tuple[str, int, str]] = []

    def hear(self, says: ChildSays) -> None:
        """What an engine told; an earlier child has no questions any more (BEHAVIOUR §7.32)."""
        kid = self._lanes.kids.get(says.lane)
        if kid is None or kid.child != says.child:
            return
        for told in says.told:
            match told:
                case engine.Asked(turn, dialog):
                    views = self._dialogs.ask(says.lane, says.child, turn, dialog, self._now())
                    if views is None:
                        self._cancelled.append((says.lane, says.child, dialog.id))
                    self._log.info(
                        "dialog.asked", lane=says.lane, child=says.child, method=dialog.method, shown=views is not None
                    )
                    self._showing.put(views or [])
                case engine.Unasked(dialog, timed_out):
                    views = self._dialogs.unask(says.lane, says.child, dialog, self._now(), timed_out=timed_out)
                    self._showing.put(views)
                case engine.Wedged():
                    self._showing.put(self._dialogs.end(says.lane, says.child))
                case _:
                    pass

    def down(self, given: ChildDown) -> None:
        """A child is gone."""
        self._showing.put(self._dialogs.end(given.lane, given.child))

    def learn(self, new: Sequence[facts.AnyFact]) -> None:
        """What one step recorded."""
        views, unseen = self._dialogs.learn(new, self._lanes.world.rounds)
        self._showing.put(views)
        self._cancelled += [(one.lane, one.child, one.dialog.id) for one in unseen]

    def gone(self, messages: Sequence[int]) -> None:
        """Messages were deleted: a question among them is seen by nobody."""
        for key, (_, message) in self._lanes.world.dialogs.items():
            if message in messages:
                for one in self._dialogs.lost(key):
                    self._cancelled.append((one.lane, one.child, one.dialog.id))
                    self._showing.put(one.views(notices_dialogs.turn_over()))

    def adopt(self) -> None:
        """At a start: the questions of the process before are over, and say so."""
        for key, (channel, message) in self._lanes.world.dialogs.items():
            round_, kind, name = key.rsplit("/", 2)
            view = View(round_, channel, notices_dialogs.restarted(), (), 0, over=True, name=f"{kind}/{name}")
            self._showing.adopt_one(view, message)

    def flush(self) -> None:
        """What nobody can answer is cancelled, once everything before is recorded."""
        cancelled, self._cancelled = self._cancelled, []
        for lane, child, dialog in cancelled:
            self._children().tell(lane, child, engine.AnswerDialog(dialog))

    # -- what people do --------------------------------------------------------------------------------------------

    def find(self, name: str, channel: int, message: int) -> Question | None:
        """The open question that a press means: of its channel, under its own message, still waited for."""
        found = self._dialogs.find(name, channel)
        if found is None:
            return None
        stands = self._lanes.world.dialogs.get(found.key)
        if message and stands is not None and stands[1] not in (0, message):  # 0: pressed before its record
            return None
        return found if self._children().asks(found.lane, found.child, found.dialog.id) else None

    def turn(self, question: Question, page: int) -> None:
        """Show another page of the choices."""
        self._showing.put(self._dialogs.turn(question, page))
        self._showing.flush()

    def answer(self, question: Question, answer: Answer, by: int) -> None:
        """Give the child what a person has answered; the question shows it."""
        self._children().tell(question.lane, question.child, answer.given)
        end = notices_dialogs.answered(by, answer.shown) if answer.shown else notices_dialogs.cancelled(by)
        self._log.info("dialog.answered", lane=question.lane, child=question.child, cancelled=not answer.shown)
        self._showing.put(self._dialogs.close(question, end))
        self._showing.flush()
