"""Messages that are edited or deleted: what waits follows, a turn that has begun goes on, with one sign; pure.

CONTRACT, Trust: the texts of a deleted message leave the ledger, at once where none of its rounds needs them any more.
"""

from connector import facts, notices
from connector.cards import key_of
from connector.lane_effects import MayShow, React
from connector.lane_stop import Stops
from connector.notices import Halted
from connector.world import AT_CHILD, Phase, Round


class Texts(Stops):
    """What their authors do to messages afterwards."""

    def cancel(self, name: str) -> None:
        """Take back what waits; a running turn is left alone."""
        if (round_ := self.waiting(name)) is not None:
            self.end_stopped(round_, notices.stopped(Halted.QUEUED))
            self.touched[round_.lane] = None

    def move_first(self, name: str) -> None:
        """What waits goes to the front of its lane."""
        if (round_ := self.waiting(name)) is not None:
            self.record(facts.Moved(round_.id))
            self.touched[round_.lane] = None

    def waiting(self, name: str) -> Round | None:
        """The round, if it still waits."""
        round_ = self.world.rounds.get(name)
        return round_ if round_ is not None and round_.phase is Phase.WAITING else None

    def rewrite(self, name: str, text: str) -> None:
        """An edit: a waiting message says it from now on, or is taken back (`text` ""); a turn is left alone."""
        round_ = self.world.rounds.get(name)
        if round_ is None or not round_.pending or (text and said(round_.text) == said(text)):
            return
        if round_.phase is not Phase.WAITING:
            if not round_.late:
                self.record(facts.Late(name))
                self.react(round_, "late")
        elif text:
            self.record(facts.Edited(name, text))
        else:
            self.cancel(name)

    def deleted(self, message: int, *, known: bool) -> None:
        """A deletion ends what waits of the message, without a word: there is nobody to tell it to."""
        for round_ in [round_ for round_ in self.world.rounds.values() if round_.message == message]:
            known = True
            if round_.phase in {Phase.WAITING, Phase.BACKOFF}:
                self.drop_owed(round_, "deleted")
                self.record(facts.Ended(round_.id, "deleted"))
                self.touched[round_.lane] = None
            elif not round_.unsaid:
                self.record(facts.Unsaid(round_.id))
                self.sign_on_card(self.world.rounds[round_.id])
        if known and message not in self.world.unsaid:
            self.record(facts.Erased(message))

    def erase_ended(self) -> None:
        """What was deleted during its turn loses its texts with its last post: until then a restart needs them."""
        if self.world.unsaid:
            needed = {round_.message for round_ in self.world.rounds.values()}
            for message in sorted(self.world.unsaid - needed):
                self.record(facts.Erased(message))

    # -- the sign for a message that is not there any more -----------------------------------------------------------

    def sign_on_card(self, round_: Round) -> None:
        """On the turn's card, where one stands; else on what is posted next of the turn."""
        kid = self.kids.get(round_.lane)
        head = round_.into or (kid.turn.rpartition("@")[0] if kid is not None and round_.phase in AT_CHILD else "")
        place = self.world.cards.get(round_.id) or self.world.cards.get(head)
        if place is not None and place[1]:
            self.sign_at(round_, *place)

    def card_stands(self, fact: facts.CardShown | facts.CardOver | facts.DialogShown | facts.DialogOver) -> None:
        """A card stands: the sign that had no place goes there. One that does not yet may be posted now."""
        match fact:
            case facts.CardShown(name, message=0):
                self.out.append(MayShow(key_of(name)))
            case facts.DialogShown(key, message=0):
                self.out.append(MayShow(key))
            case facts.CardShown(name, channel, message) if (round_ := self.world.rounds.get(name)) is not None:
                self.sign_at(round_, channel, message)
            case _:
                pass

    def answer_stands(self, fact: facts.Posted | facts.Dropped) -> None:
        """An answer stands: so does the sign, where there was no card for it."""
        owed = self.world.owed.get(fact.key)
        round_ = self.world.rounds.get(owed.round) if owed is not None else None
        if owed is not None and round_ is not None and owed.kind == "answer" and isinstance(fact, facts.Posted):
            self.sign_at(round_, owed.channel, fact.message)

    def sign_at(self, round_: Round, channel: int, message: int) -> None:
        """Once."""
        if round_.unsaid and not round_.late and round_.pending:
            self.record(facts.Late(round_.id))
            self.out.append(React(channel, message, "late"))


def said(text: str) -> str:
    """The person's own text in what the child is given (CONTRACT, "What the child sees")."""
    return text.partition("\n\n")[2]
