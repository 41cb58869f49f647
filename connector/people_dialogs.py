"""What people do with an extension's question: it must be open, of its channel, and theirs (CONTRACT); no state."""

from msgspec import Struct

from connector import notices
from connector.access import Act, admits
from connector.dialogs import Answer, Meaning, Question, Turn, meaning
from connector.modals import Modal
from connector.people_desk import Desk
from connector.ports import Pressed


class DialogActs(Struct, frozen=True):
    """Presses, choices and forms of questions."""

    desk: Desk

    async def pressed(self, heard: Pressed) -> None:
        """One press by somebody with access, acknowledged already; nothing is awaited between looking and answering."""
        found = self._means(heard)
        match found:
            case str():
                await heard.answer(found)
            case question, Answer() as answer:
                self.desk.dispatcher.asking.answer(question, answer, heard.author.id)
            case question, Turn(page):
                self.desk.dispatcher.asking.turn(question, page)
            case _:  # a form, but acknowledged already
                await heard.answer(notices.outdated())

    def form(self, heard: Pressed) -> Modal | str:
        """The form that a pressed `…:open` shows, or what he is told instead (`interactions.Hooks`)."""
        if (why := admits(self.desk.rules, heard.author, heard.place)) is not None:
            self.desk.log.info("message.ignored", lane=heard.place.lane, reason=str(why))
            return notices.refused()
        found = self._means(heard)
        if isinstance(found, str):
            return found
        return found[1] if isinstance(found[1], Modal) else notices.outdated()

    def _means(self, heard: Pressed) -> tuple[Question, Meaning] | str:
        """What was pressed and what that means, or why nothing comes of it."""
        _, name, verb = [*heard.custom_id.split(":", 2), "", ""][:3]
        question = self.desk.dispatcher.asking.find(name, heard.place.channel, heard.message)
        if question is None:
            return notices.outdated()
        if not self.desk.may(heard, Act.ANSWER_DIALOG, asked=question.asker.author == heard.author.id):
            return notices.refused()
        found = meaning(question, verb, heard.values)
        return (question, found) if found is not None else notices.outdated()
