"""The incoming half of Discord: events as facts, told in their order at once; it decides nothing about them."""

from collections.abc import Callable, Coroutine
from typing import Any

from connector import gateway_facts as read
from connector.gateway_facts import Json
from connector.gateway_lookups import Lookups
from connector.gateway_order import Order
from connector.gateway_pauses import Clock
from connector.gateway_texts import Texts
from connector.gateway_values import maybe_snowflake, snowflake
from connector.interactions import Interactions
from connector.logs import Log
from connector.messages import Author, Place
from connector.ports import Changed, ChannelGone, Connected, Disconnected, Gone, Heard, Said
from engine.events import SECOND

_GAP_NS = 60 * SECOND


class Hearing:
    """Implements `gateway_client.Ears` and `interactions.Whereabouts`.

    `hear` takes the facts; what it raises goes to `broken`. `interactions` and `on_ready` are set before any event.
    """

    interactions: Interactions
    on_ready: Callable[[], None]

    def __init__(
        self,
        hear: Callable[[Heard], None],
        lookups: Lookups,
        log: Log,
        *,
        us: Callable[[], int],
        clock: Clock,
        spawn: Callable[[Coroutine[Any, Any, None], str], None],
        broken: Callable[[BaseException], None],
    ) -> None:
        self._hear, self._lookups, self._log = hear, lookups, log
        self._us, self._clock, self._broken = us, clock, broken
        self._order = Order(clock, spawn, self._unreadable)
        self._texts = Texts()
        self._held: list[Callable[[], None]] | None = None
        self._gap_ns = 0

    def tell(self, fact: Heard) -> None:
        """Hand a fact on."""
        try:
            self._hear(fact)
        except Exception as error:  # noqa: BLE001 - the listener's fault ends the program, not one event (exit 1)
            self._broken(error)

    def connecting(self) -> None:
        """READY was read: events wait until the guilds are known, or their channels and roles would not be."""
        self._lookups.forget()
        self._held = self._held or []

    def ready(self) -> None:
        """Tell that history must be read, then what came meanwhile."""
        held, self._held = self._held or [], None
        self._log.info("gateway.ready", fresh=True)
        self.tell(Connected(self._us(), fresh=True))
        for tell in held:
            self._guarded(tell)
        self.on_ready()

    def resumed(self) -> None:
        """What was missed has been told before this."""
        self._log.info("gateway.ready", fresh=False)
        self.tell(Connected(self._us(), fresh=False))

    def down(self, reason: str, pause: float) -> None:
        """Tell that nothing is heard for now; the next attempt begins in `pause` seconds."""
        self.tell(Disconnected(reason, pause))

    def malformed(self, name: str) -> None:
        """A message that could not be read is a gap: history is read again, once a minute at most."""
        now = self._clock.now_ns()
        if name == "MESSAGE_CREATE" and self._held is None and (not self._gap_ns or now - self._gap_ns >= _GAP_NS):
            self._gap_ns = now
            self.tell(Connected(self._us(), fresh=True))

    def event(self, name: str, data: Json) -> None:
        """One event, in its first synchronous line."""
        match name:
            case "MESSAGE_CREATE":
                self._when_ready(lambda: self._said(data))
            case "MESSAGE_UPDATE":
                self._when_ready(lambda: self._changed(data))
            case "MESSAGE_DELETE":
                self._when_ready(lambda: self._gone(snowflake(data["channel_id"]), (snowflake(data["id"]),)))
            case "MESSAGE_DELETE_BULK":
                self._when_ready(lambda: self._gone(snowflake(data["channel_id"]), tuple(map(snowflake, data["ids"]))))
            case "CHANNEL_DELETE" | "THREAD_DELETE":
                self._when_ready(lambda: self._channel_gone(snowflake(data["id"])))
            case "INTERACTION_CREATE":
                # Not held: it is acknowledged at once, and only what it tells waits (`behind`).
                self.interactions.take(data)
            case _:
                raise ValueError(f"no reader for {name}")

    def _when_ready(self, tell: Callable[[], None]) -> None:
        if self._held is None:
            tell()
        else:
            self._held.append(tell)

    def _said(self, data: Json) -> None:
        if not read.spoken(data):
            return
        self._texts.heard(data)
        self._message(data, Said)

    def _changed(self, data: Json) -> None:
        if read.spoken(data) and self._texts.changed(data) and snowflake(data["author"]["id"]) != self._us():
            self._message(data, Changed)

    def _message(self, data: Json, fact: Callable[[Any], Said | Changed]) -> None:
        def then(place: Place, roles: frozenset[int]) -> None:
            self.tell(fact(read.message(data, place, us=self._us(), roles=roles)))

        writer = read.author(data, us=self._us())
        where = maybe_snowflake(data.get("guild_id"))
        self._in_order(snowflake(data["channel_id"]), where, writer, data.get("member"), then)

    def _channel_gone(self, channel: int) -> None:
        """Behind what was said there."""
        self._behind_all(channel, ChannelGone(channel))

    def _gone(self, channel: int, messages: tuple[int, ...]) -> None:
        self._behind_all(channel, Gone(channel, messages))

    def _behind_all(self, channel: int, fact: Gone | ChannelGone) -> None:
        def tell() -> None:
            self.tell(fact)

        async def need() -> Callable[[], None]:
            return tell

        self._order.tell(channel, tell, need)

    def behind(
        self, channel: int, guild: int | None, user: Json, member: Json | None, then: Callable[[Place, Author], None]
    ) -> None:
        """`interactions.Whereabouts`: tell of an interaction, in the order of its channel's events."""
        who = read.person(user, member)

        def known(place: Place, roles: frozenset[int]) -> None:
            then(place, read.person(user, member, roles=roles))

        self._when_ready(lambda: self._in_order(channel, guild, who, member, known))

    def _in_order(
        self,
        channel: int,
        guild: int | None,
        who: Author,
        member: Json | None,
        then: Callable[[Place, frozenset[int]], None],
    ) -> None:
        # Another bot is let in by its id alone, and a webhook is nobody's member.
        asked = not who.bot
        place = self._lookups.known(channel, guild)
        roles = self._lookups.roles_known(who.id, guild, member) if asked else frozenset[int]()

        async def need() -> Callable[[], None]:
            where = await self._lookups.event_place(channel, guild)
            held = await self._lookups.roles(who.id, guild, member) if asked else frozenset[int]()
            return lambda: then(where, held)

        now = None if place is None or roles is None else lambda: then(place, roles)
        self._order.tell(channel, now, need)

    def _guarded(self, tell: Callable[[], None]) -> None:
        try:
            tell()
        except Exception as error:  # noqa: BLE001 - as in the parsers: one bad payload ends nothing but itself
            self._unreadable(error)

    def _unreadable(self, error: Exception) -> None:
        self._log.warning("gateway.malformed", kind="held event", exc_info=error)
        self.malformed("MESSAGE_CREATE")
