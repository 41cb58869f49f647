"""What people ask of a conversation's session, model and the agent's own commands; the lanes decide when it happens.

Lists that were read once are kept for autocompletion, which must answer at once; a name is always looked up in a
list of pi before anything is changed for it, since pi takes nonsense silently (PROTOCOL §2).
"""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from connector import facts, notices, sessions
from connector import notices_session as words
from connector.access import Act, may
from connector.header import clean
from connector.interactions import Completing
from connector.lane_effects import ErrandDone
from connector.lane_events import Arrived, ChooseModel, ChooseThinking, Errand, Forget, Resume, SessionGone
from connector.lane_session import ERRAND
from connector.people_desk import Desk
from connector.ports import Commanded
from connector.world import Lane, Phase, Session
from engine import commands, pi
from engine.events import SECOND

_NOTHING_TO_COMPACT = "Nothing to compact"
_SHOWN = 40
"""So many models or commands are listed; the rest is found by typing."""

ACTS = {
    "new": Act.NEW,
    "sessions": Act.SESSIONS,
    "model": Act.MODEL,
    "thinking": Act.THINKING,
    "compact": Act.COMPACT,
    "command": Act.COMMAND,
}
"""Our commands, and what a person must be allowed to do for each (CONTRACT, "Who may do what")."""

Model = tuple[str, str]


class Lists(Struct):
    """What children have told: models, command names with what they do, thinking levels by model."""

    models: tuple[Model, ...] = ()
    commands: tuple[tuple[str, str], ...] = ()
    levels: dict[Model | None, tuple[str, ...]] = field(default_factory=dict)


class SessionActs:
    """The acts. `remote`: session files are out of reach (`agent.remote`), so none is looked at here."""

    def __init__(self, desk: Desk, *, remote: bool) -> None:
        self._desk, self._remote = desk, remote
        self._lists = Lists()
        self._waiting: dict[str, asyncio.Future[pi.Response | None]] = {}
        self._count = 0
        self._fetching: set[str] = set()
        desk.dispatcher.on_errand = self._done

    async def commanded(self, heard: Commanded) -> None:
        """One of `ACTS`; whoever used it has access."""
        if not self._desk.may(heard, ACTS[heard.name]):
            await heard.answer(notices.refused())
            return
        match heard.name:
            case "new":
                await self._new(heard)
            case "sessions":
                await self._sessions(heard)
            case "model":
                await self._model(heard)
            case "thinking":
                await self._thinking(heard)
            case "compact":
                await self._compact(heard)
            case _:
                await self._command(heard)

    # -- errands ---------------------------------------------------------------------------------------------------

    def _done(self, effect: ErrandDone) -> None:
        future = self._waiting.pop(effect.name, None)
        if future is not None and not future.done():
            future.set_result(effect.response)

    async def _ask(self, lane: str, ask: commands.Ask, heard: Commanded | None = None) -> pi.Response | None:
        """What the lane's child answers when it is free; whoever asked is told where that takes longer."""
        self._count += 1
        name = str(self._count)
        future: asyncio.Future[pi.Response | None] = asyncio.get_running_loop().create_future()
        self._waiting[name] = future
        await self._desk.dispatcher.ask(Errand(lane, name, ask, self._desk.clock.now()))
        kid = self._desk.dispatcher.lanes.kids.get(lane)
        begun = future.done() or (kid is not None and kid.asked == ERRAND + name)
        if heard is not None and not begun:
            await heard.answer(words.waits())
        return await future

    def _busy(self, lane: str) -> bool:
        lanes = self._desk.dispatcher.lanes
        kid = lanes.kids.get(lane)
        return kid is not None and bool(lanes.at_child(lane) or kid.turn)

    def _lane(self, heard: Commanded) -> Lane:
        return self._desk.world.lane(heard.place.lane)

    # -- sessions --------------------------------------------------------------------------------------------------

    def _held(self, lane: str) -> bool:
        """Whether a message waits to be asked again: that stays in the session it was asked in (BEHAVIOUR §3.2)."""
        head = self._desk.world.head(lane)
        return head is not None and head.phase is Phase.BACKOFF

    async def _new(self, heard: Commanded) -> None:
        lane = heard.place.lane
        if self._held(lane):
            await heard.answer(words.not_while_asked_again())
            return
        busy = self._busy(lane)
        await self._desk.dispatcher.ask(Forget(lane))
        await heard.answer(words.new_session(len(self._lane(heard).waiting), busy=busy))

    async def _sessions(self, heard: Commanded) -> None:
        if wanted := heard.options.get("resume", "").strip():
            await self._resume(heard, wanted)
        elif name := heard.options.get("name", "").strip():
            await self._name(heard, name)
        else:
            lane = self._lane(heard)
            lines = [_line(number, one, lane) for number, one in enumerate(lane.sessions, 1)]
            await heard.answer("\n".join(reversed(lines)) or words.no_session())

    async def _resume(self, heard: Commanded, wanted: str) -> None:
        lane, found = heard.place.lane, _session(self._lane(heard), wanted)
        if found is None:
            await heard.answer(words.session_unknown())
        elif self._held(lane):
            await heard.answer(words.not_while_asked_again())
        elif not self._remote and not await asyncio.to_thread(readable, Path(found.path)):
            await self._desk.dispatcher.ask(SessionGone(lane, found.path))
            await heard.answer(words.session_unreadable())
        else:
            busy = self._busy(lane)
            await self._desk.dispatcher.ask(Resume(lane, found.path))
            await heard.answer(words.resumed(found.name or f"The session of {_day(found.at)}", busy=busy))

    async def _name(self, heard: Commanded, name: str) -> None:
        if not self._lane(heard).session:
            await heard.answer(words.no_session())
            return
        response = await self._ask(heard.place.lane, commands.SetSessionName("", name), heard)
        await heard.answer(_told(response, words.session_named(name)))

    async def _compact(self, heard: Commanded) -> None:
        kid = self._desk.dispatcher.lanes.kids.get(heard.place.lane)
        if not self._lane(heard).session and (kid is None or kid.fresh):
            await heard.answer(words.no_session())
            return
        told = heard.options.get("instructions", "").strip()
        ask = commands.Compact("", told) if told else commands.Compact("")
        response = await self._ask(heard.place.lane, ask, heard)
        if response is not None and (response.error or "").startswith(_NOTHING_TO_COMPACT):
            await heard.answer(words.nothing_to_compact())
        else:
            await heard.answer(_told(response, words.compacted()))

    # -- model and thinking level ----------------------------------------------------------------------------------

    async def _model(self, heard: Commanded) -> None:
        lane, wanted = heard.place.lane, heard.options.get("name", "").strip()
        found = _model_named(self._lists.models, wanted) if wanted else None
        if found is None and not await self._read_models(lane, heard):
            await heard.answer(words.no_agent())
            return
        found = found or (_model_named(self._lists.models, wanted) if wanted else None)
        if not wanted:
            present = self._present(lane)
            lines = [f"{'▶' if one == present else '·'} `{_clean('/'.join(one))}`" for one in self._lists.models]
            await heard.answer("\n".join(lines[:_SHOWN]) or words.no_agent())
        elif found is None:
            await heard.answer(words.model_unknown(wanted))
        else:
            busy = self._busy(lane)
            await self._desk.dispatcher.ask(ChooseModel(lane, *found))
            await heard.answer(words.model_set("/".join(found), busy=busy))

    async def _thinking(self, heard: Commanded) -> None:
        lane, wanted = heard.place.lane, heard.options.get("level", "").strip().lower()
        levels = self._lists.levels.get(self._present(lane)) if wanted else None
        levels = levels or await self._read_levels(lane, heard)
        if levels is None:
            await heard.answer(words.no_agent())
        elif not wanted:
            present = self._lane(heard).thinking
            await heard.answer("\n".join(f"{'▶' if one == present else '·'} `{_clean(one)}`" for one in levels))
        elif wanted not in levels:
            await heard.answer(words.thinking_unknown(levels))
        else:
            busy = self._busy(lane)
            await self._desk.dispatcher.ask(ChooseThinking(lane, wanted))
            await heard.answer(words.thinking_set(wanted, busy=busy))

    def _present(self, lane: str) -> Model | None:
        """The model that answers in the lane, as far as it is known."""
        kid = self._desk.dispatcher.lanes.kids.get(lane)
        return self._desk.world.lane(lane).model or (kid.model if kid is not None else None)

    # -- commands of the agent -------------------------------------------------------------------------------------

    async def _command(self, heard: Commanded) -> None:
        """A round of its own, claimed, recorded and bounded like any (CONTRACT, "What the child sees")."""
        lane, name = heard.place.lane, heard.options.get("name", "").strip().removeprefix("/")
        known = name in dict(self._lists.commands)
        if not known and not await self._read_commands(lane, heard):
            await heard.answer(words.no_agent())
            return
        if name not in dict(self._lists.commands):
            await heard.answer(words.command_unknown(name))
            return
        if refusal := self._desk.dispatcher.lanes.full(lane, heard.author.id):
            await heard.answer(refusal)
            return
        text = f"/{name} {heard.options.get('args', '').strip()}".strip()
        claim = facts.Claimed(
            round=str(heard.id),
            lane=lane,
            channel=heard.place.channel,
            message=heard.id,
            reply_to=0,
            author=heard.author.id,
            author_name=clean(heard.author.name),
            text=text,
            at=self._desk.clock.now(),
            origin=facts.Origin.COMMAND,
        )
        await self._desk.dispatcher.ask(Arrived(claim))
        await heard.answer(words.command_taken(text))

    # -- lists -----------------------------------------------------------------------------------------------------

    async def _read_models(self, lane: str, heard: Commanded | None) -> bool:
        found = _items(await self._ask(lane, commands.GetModels(""), heard), "models")
        if found is None:
            return False
        pairs = ((pi.plain(one, "provider"), pi.plain(one, "id")) for one in found)
        self._lists.models = tuple((a, b) for a, b in pairs if isinstance(a, str) and isinstance(b, str))
        return True

    async def _read_levels(self, lane: str, heard: Commanded | None) -> tuple[str, ...] | None:
        found = _items(await self._ask(lane, commands.GetThinkingLevels(""), heard), "levels")
        if found is None:
            return None
        levels = tuple(one for one in found if isinstance(one, str))
        self._lists.levels[self._present(lane)] = levels
        return levels

    async def _read_commands(self, lane: str, heard: Commanded | None) -> bool:
        found = _items(await self._ask(lane, commands.GetCommands(""), heard), "commands")
        if found is None:
            return False
        pairs = ((pi.plain(one, "name"), pi.plain(one, "description", "")) for one in found)
        self._lists.commands = tuple((name, str(what)) for name, what in pairs if isinstance(name, str))
        return True

    # -- autocompletion --------------------------------------------------------------------------------------------

    def complete(self, wanted: Completing) -> Sequence[tuple[str, str]]:
        """What an option offers now: names shown and values; nothing for who may not use it here."""
        act = ACTS.get(wanted.command)
        lane = wanted.place.lane
        one = len(self._desk.world.lane(lane).people) <= 1
        if act is None or not may(self._desk.rules, wanted.author, wanted.place, act, asked=False, one_person=one):
            return ()
        match wanted.command, wanted.option:
            case "sessions", "resume":
                known = self._desk.world.lane(lane).sessions
                offered = [(_title(number, one), str(one.at)) for number, one in enumerate(known, 1)][::-1]
            case "model", _:
                offered = [("/".join(one), "/".join(one)) for one in self._lists.models]
            case "thinking", _:
                offered = [(one, one) for one in self._lists.levels.get(self._present(lane), ())]
            case "command", "name":
                offered = [(f"/{name}: {what}"[:100], name) for name, what in self._lists.commands]
            case _:
                return ()
        if not offered and wanted.command != "sessions":
            self._fetch(lane)
        return [pair for pair in offered if wanted.typed.lower() in pair[0].lower()][:25]

    def _fetch(self, lane: str) -> None:
        """Have the lists for the next key; a child that is not free is left alone."""
        lanes = self._desk.dispatcher.lanes
        kid = lanes.kids.get(lane)
        if kid is not None and lanes.free(kid) and lane not in self._fetching:
            self._fetching.add(lane)
            self._desk.dispatcher.spawn(self._read_all(lane))

    async def _read_all(self, lane: str) -> None:
        try:
            await self._read_models(lane, None)
            await self._read_levels(lane, None)
            await self._read_commands(lane, None)
        finally:
            self._fetching.discard(lane)


def readable(path: Path) -> bool:
    """Whether pi could go on in this file; a damaged one is kept aside."""
    if sessions.usable(path):
        return True
    sessions.keep_aside(path)
    return False


def _items(response: pi.Response | None, name: str) -> list[Any] | None:
    found = pi.plain(response.data, name) if response is not None and response.success else None
    return found if isinstance(found, list) else None


def _told(response: pi.Response | None, done: str) -> str:
    if response is None:
        return words.not_done()
    return done if response.success else words.refused()


def _session(lane: Lane, wanted: str) -> Session | None:
    """By what autocompletion gave, by its number in the list, or by its name."""
    by_value = [one for one in lane.sessions if str(one.at) == wanted or one.name == wanted]
    if not by_value and wanted.isascii() and wanted.isdigit() and 0 < int(wanted) <= len(lane.sessions):
        return lane.sessions[int(wanted) - 1]
    return by_value[-1] if by_value else None


def _model_named(models: tuple[Model, ...], wanted: str) -> Model | None:
    """By provider and id, or by an id that only one has."""
    exact = [one for one in models if "/".join(one) == wanted]
    alike = exact or [one for one in models if one[1] == wanted]
    return alike[0] if len(alike) == 1 else None


def _line(number: int, one: Session, lane: Lane) -> str:
    name = f"**{_clean(one.name)}** · " if one.name else ""
    here = " · the present one" if one.path == lane.session else ""
    return f"{number}. {name}<t:{one.at // SECOND}:f>{here}"


def _title(number: int, one: Session) -> str:
    return f"{number}. {_clean(one.name) if one.name else 'session'} · {_day(one.at)}"


def _day(at: int) -> str:
    return f"{datetime.fromtimestamp(at / SECOND, UTC):%Y-%m-%d %H:%M} UTC"


def _clean(text: str) -> str:
    return clean(text).replace("`", " ").replace("*", " ").strip()
