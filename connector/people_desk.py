"""What acts of people have in common: the parts they work with, and whether somebody may do something; no state."""

from collections.abc import Callable

from msgspec import Struct

from connector.access import Act, Rules, Us, may
from connector.clock import Clock
from connector.dispatch import Dispatcher
from connector.hearing import Hearing
from connector.ledger import Ledger
from connector.logs import Log
from connector.messages import Message
from connector.ports import Commanded, Pressed
from connector.redact import Redactor
from connector.world import World

Acted = Pressed | Commanded


class Desk(Struct, frozen=True):
    """The parts. `us`: who the bot is where a message stands; `redactor` knows the secrets of this process."""

    hearing: Hearing
    us: Callable[[Message], Us]
    dispatcher: Dispatcher
    ledger: Ledger
    clock: Clock
    log: Log
    redactor: Redactor

    @property
    def rules(self) -> Rules:
        """The access settings."""
        return self.hearing.rules

    @property
    def world(self) -> World:
        """The lanes' state, to be read only."""
        return self.dispatcher.lanes.world

    def operator(self, heard: Acted) -> bool:
        """Whether an operator did it."""
        return heard.author.id in self.rules.operators

    def may(self, heard: Acted, act: Act, *, asked: bool = False) -> bool:
        """Whether this person may do this here (CONTRACT, "Who may do what"); `asked`: it is about his own message."""
        one = len(self.world.lane(heard.place.lane).people) <= 1
        return may(self.rules, heard.author, heard.place, act, asked=asked, one_person=one, can_write=heard.can_write)
