"""Buttons, menus, modals and commands: acknowledged at once, told as facts, answered later; they decide nothing.

Raw payloads and raw components: nothing has to be registered again after a restart for an old button to work.
"""

import asyncio
import hashlib
import json
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from connector import gateway_facts as read
from connector import modals, notices
from connector.gateway_calls import Wire, rows
from connector.gateway_facts import Json
from connector.gateway_values import maybe_snowflake, snowflake, text
from connector.logs import Log
from connector.messages import Author, Place
from connector.modals import Modal
from connector.ports import Commanded, PostLater, PostNever, Pressed, Rows
from connector.render import AsFile, render
from connector.render_beside import beside

CALLBACK = "/interactions/{interaction_id}/{interaction_token}/callback"
FOLLOW_UP = "/webhooks/{webhook_id}/{webhook_token}"
ORIGINAL = FOLLOW_UP + "/messages/@original"
PREFIXES = ("stop:", "retry:", "queue:", "dialog:", "spend:")
"""What our `custom_id`s begin with (CONTRACT)."""

HEAD_START = 0.004
"""Seconds by which what a press means goes ahead of its acknowledgement, which waits for no disk: building that request
takes longer than Stop's whole way to the child."""

_IN_TIME = 3.0
_COMMAND, _COMPONENT, _AUTOCOMPLETE, _MODAL = 2, 3, 4, 5
_MESSAGE, _DEFERRED, _DEFERRED_UPDATE, _CHOICES, _SHOW_MODAL = 4, 5, 6, 8, 9
_EPHEMERAL = 64
_ALREADY = 40060
_SILENT: dict[str, list[str]] = {"parse": []}


@dataclass(frozen=True, slots=True)
class OptionSpec:
    """One option of a slash command, always a text; `choices` as (name shown, value)."""

    name: str
    description: str
    choices: tuple[tuple[str, str], ...] = ()
    required: bool = False
    autocomplete: bool = False


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """A slash command, or an entry in a message's menu; `private`: its answer is seen by the person alone."""

    name: str
    description: str = ""
    options: tuple[OptionSpec, ...] = ()
    kind: Literal["slash", "message"] = "slash"
    private: bool = True


COMMANDS = (
    CommandSpec(
        "stop",
        "Stop what runs or waits here",
        (OptionSpec("scope", "This turn, or everything in this conversation", (("turn", "turn"), ("lane", "lane"))),),
    ),
    CommandSpec("status", "What runs and waits here"),
    CommandSpec("queue", "The messages that wait here, to be cancelled or moved"),
    CommandSpec("retry", "Ask again what failed last here, or ask now what waits to be asked again"),
    CommandSpec("usage", "What was spent here today and in the last days, and what the caps leave"),
    CommandSpec(
        "trace", "What became of a message", (OptionSpec("message", "The message's link or id", required=True),)
    ),
    CommandSpec("Ask pi", kind="message"),
    CommandSpec("Trace", kind="message"),
)
"""The first commands; whoever makes the gateway may give it more."""


@dataclass(frozen=True, slots=True)
class Completing:
    """A person types into an option of a slash command; `options` are the others as filled in so far."""

    command: str
    option: str
    typed: str
    options: dict[str, str]
    author: Author
    place: Place


@dataclass(frozen=True, slots=True)
class Hooks:
    """What the core decides on the spot; both must answer at once.

    `modal`: the form that a pressed `…:open` shows, or what is said to him instead. `complete`: what an
    option offers, as (name shown, value), at most 25; nothing for who may not see it. `openly`: whether all may see
    that he uses a command that is for all; what is refused is not.
    """

    modal: Callable[[Pressed], Modal | str] = lambda _pressed: notices.outdated()
    complete: Callable[[Completing], Sequence[tuple[str, str]]] = lambda _completing: ()
    openly: Callable[[Commanded], bool] = lambda _commanded: True


class Whereabouts(Protocol):
    """Where an interaction happened and who did it, once both are known (`gateway.Gateway`)."""

    def behind(
        self, channel: int, guild: int | None, user: Json, member: Json | None, then: Callable[[Place, Author], None]
    ) -> None:
        """Call `then` when place and author are known, in the order of the channel's events."""


class Interactions:
    """Turns interaction payloads into facts. `spawn` runs a coroutine beside; `hear` takes the facts."""

    def __init__(
        self,
        wire: Wire,
        where: Whereabouts,
        log: Log,
        *,
        hear: Callable[[Pressed | Commanded], None],
        spawn: Callable[[Coroutine[Any, Any, None], str], None],
        us: Callable[[], int],
        commands: tuple[CommandSpec, ...],
        hooks: Hooks,
    ) -> None:
        self._wire, self._where, self._log = wire, where, log
        self._hear, self._spawn, self._us, self._hooks = hear, spawn, us, hooks
        self._commands = {spec.name: spec for spec in commands}

    def take(self, data: Json) -> None:
        """One INTERACTION_CREATE: what can be acknowledged without a question is, before anything else happens."""
        reply = _Reply(self._wire, self._log, data)
        match data["type"]:
            case kind if kind == _COMMAND:
                self._command(data, reply)
            case kind if kind == _AUTOCOMPLETE:
                self._complete(data, reply)
            case kind if kind in (_COMPONENT, _MODAL):
                self._pressed(data, reply)
            case kind:
                self._log.warning("interaction.unknown", kind=kind)

    def _command(self, data: Json, reply: "_Reply") -> None:
        inner = data["data"]
        spec = self._commands.get(inner["name"])
        if spec is None:
            self._spawn(reply.say_at_once(notices.outdated()), "acknowledge")
            return
        deferred = spec.private
        if deferred:
            self._spawn(reply.defer(private=True), "acknowledge")
        options = {text(one["name"]): text(str(one["value"])) for one in inner.get("options") or () if "value" in one}

        def then(place: Place, author: Author) -> None:
            nonlocal deferred
            target = (inner.get("resolved") or {}).get("messages", {}).get(str(inner.get("target_id")))
            message = read.message(target, place, us=self._us()) if target is not None else None
            writes = read.can_write(data.get("member"), place)
            number = snowflake(data["id"])
            heard = Commanded(spec.name, options, author, place, reply.answer, message, writes, number)
            if not deferred:
                deferred = True
                self._spawn(reply.defer(private=not self._hooks.openly(heard)), "acknowledge")
            self._hear(heard)

        self._behind(data, then)
        if not deferred:  # the acknowledgement waits for no question about him
            deferred = True
            self._spawn(reply.defer(private=True), "acknowledge")

    def _pressed(self, data: Json, reply: "_Reply") -> None:
        inner = data["data"]
        name = text(inner["custom_id"])
        opens = data["type"] == _COMPONENT and name.startswith("dialog:") and name.endswith(":open")
        if not name.startswith(PREFIXES):
            self._spawn(reply.say_at_once(notices.outdated()), "acknowledge")
            return
        if not opens:
            self._spawn(reply.defer_quietly(), "acknowledge")
        chosen = map(text, inner.get("values") or ())
        values = tuple(modals.written(inner) if data["type"] == _MODAL else chosen)
        message = maybe_snowflake((data.get("message") or {}).get("id")) or 0

        def then(place: Place, author: Author) -> None:
            writes = read.can_write(data.get("member"), place)
            pressed = Pressed(name, author, place, message, reply.answer, values, can_write=writes)
            if not opens:
                self._hear(pressed)
                return
            # A form must be the first answer, so who may have it is asked before the acknowledgement.
            shown = self._hooks.modal(pressed)
            answer = reply.say_at_once(shown) if isinstance(shown, str) else reply.show(shown)
            self._spawn(answer, "acknowledge")

        self._behind(data, then)

    def _complete(self, data: Json, reply: "_Reply") -> None:
        inner = data["data"]
        given = {one["name"]: one for one in inner.get("options") or () if "value" in one}
        focused = next((one for one in given.values() if one.get("focused")), None)
        if focused is None:
            self._spawn(reply.offer(()), "complete")
            return
        others = {text(name): text(str(one["value"])) for name, one in given.items() if one is not focused}

        def then(place: Place, author: Author) -> None:
            typed = text(str(focused["value"]))
            wanted = Completing(inner["name"], focused["name"], typed, others, author, place)
            self._spawn(reply.offer(self._hooks.complete(wanted)), "complete")

        self._behind(data, then)

    def _behind(self, data: Json, then: Callable[[Place, Author], None]) -> None:
        member = data.get("member")
        guild = maybe_snowflake(data.get("guild_id"))
        user = member["user"] if member is not None else data["user"]
        self._where.behind(snowflake(data["channel_id"]), guild, user, member, then)


class _Reply:
    """The ways to answer one interaction; each is logged and never raised, since the person may be gone."""

    def __init__(self, wire: Wire, log: Log, data: Json) -> None:
        self._wire, self._log = wire, log
        self._id, self._app = snowflake(data["id"]), snowflake(data["application_id"])
        self._token = text(data["token"])
        self._thinking = False
        self._acknowledged = asyncio.Event()

    async def defer(self, *, private: bool) -> None:
        """Say that the answer is being thought about."""
        self._thinking = True
        await self._call_back(_DEFERRED, {"flags": _EPHEMERAL} if private else {})

    async def defer_quietly(self) -> None:
        """Say nothing yet."""
        await self._call_back(_DEFERRED_UPDATE)

    async def say_at_once(self, text: str) -> None:
        """Answer the person alone, as the acknowledgement."""
        await self._call_back(_MESSAGE, {"content": text, "flags": _EPHEMERAL, "allowed_mentions": _SILENT})

    async def offer(self, choices: Sequence[tuple[str, str]]) -> None:
        """Offer these values."""
        shown = [{"name": name[:100], "value": value[:100]} for name, value in choices[:25]]
        await self._call_back(_CHOICES, {"choices": shown})

    async def show(self, modal: Modal) -> None:
        """Show a form."""
        await self._call_back(_SHOW_MODAL, modals.payload(modal))

    async def answer(self, text: str, *, private: bool = True, buttons: Rows = (), in_place: bool = False) -> None:
        """`ports.Answer`: in as many messages as it takes, the first in the place of what was deferred."""
        await self._acknowledged.wait()
        shown = await beside(text, lambda: render(text))
        parts = (shown.beginning,) if isinstance(shown, AsFile) else shown.parts
        for number, content in enumerate(parts, 1):
            payload: dict[str, Any] = {"content": content, "allowed_mentions": _SILENT}
            if in_place or (buttons and number == len(parts)):
                payload["components"] = [row for one in buttons for row in rows(one)] if number == len(parts) else []
            if self._thinking or in_place:
                self._thinking = in_place = False
                await self._try("PATCH", ORIGINAL, payload)
            else:
                await self._try("POST", FOLLOW_UP, payload | ({"flags": _EPHEMERAL} if private else {}))

    async def _try(self, method: str, path: str, payload: Json) -> None:
        try:
            await self._wire.ask(method, path, webhook_id=self._app, webhook_token=self._token, json=payload)
        except (PostLater, PostNever) as error:
            self._log.warning("interaction.unanswered", reason=error.reason)

    async def _call_back(self, kind: int, data: Json | None = None) -> None:
        payload = {"type": kind} | ({"data": data} if data else {})
        await asyncio.sleep(HEAD_START)
        try:
            await self._wire.ask(
                "POST",
                CALLBACK,
                limit=_IN_TIME,
                interaction_id=self._id,
                interaction_token=self._token,
                metadata=self._id,  # a bucket of its own: nobody waits behind another's acknowledgement
                json=payload,
            )
        except PostNever as error:
            if error.code != _ALREADY:  # a lost reply of the first try: it is acknowledged
                self._log.warning("interaction.lost", reason=error.reason)
        except PostLater as error:
            self._log.warning("interaction.lost", reason=error.reason)
        finally:
            self._acknowledged.set()


def payload(spec: CommandSpec) -> dict[str, Any]:
    """A command as it is registered: in guilds and in private messages with the bot."""
    common: dict[str, Any] = {"name": spec.name, "contexts": [0, 1], "integration_types": [0]}
    if spec.kind == "message":
        return common | {"type": 3}
    options = [
        {
            "type": 3,
            "name": option.name,
            "description": option.description,
            "required": option.required,
            **({"autocomplete": True} if option.autocomplete else {}),
            **({"choices": [{"name": n, "value": v} for n, v in option.choices]} if option.choices else {}),
        }
        for option in spec.options
    ]
    return common | {"type": 1, "description": spec.description, "options": options}


def digest(commands: Sequence[CommandSpec], application: int) -> str:
    """What is compared to know whether the commands have to be registered again."""
    told = json.dumps([application, [payload(spec) for spec in commands]], sort_keys=True)
    return hashlib.sha256(told.encode()).hexdigest()
