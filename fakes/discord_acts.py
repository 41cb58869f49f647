"""What people do with the bot's buttons, menus, modals and commands in the fake Discord."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fakes.discord_people import People
from fakes.discord_records import InteractionReply, Json, Person, Place, walk
from fakes.discord_sim import Record
from fakes.waiting import BOUND

_COMMAND, _COMPONENT, _AUTOCOMPLETE, _MODAL = 2, 3, 4, 5
_BUTTON, _SELECT = 2, 3
_MESSAGE_MENU, _USER_MENU = 3, 2
_TEXT, _LABEL = 4, 18


@dataclass(frozen=True, slots=True)
class Act:
    """One interaction: what a person did, and what the bot answers to it."""

    world: Acting
    person: Person
    record: Record

    @property
    def id(self) -> int:
        """The interaction's id."""
        return self.record.id

    @property
    def acknowledged(self) -> bool:
        """Whether the bot has answered, in whatever way."""
        return self.record.responded

    @property
    def followups(self) -> list[int]:
        """The ids of the bot's follow-up messages, in order."""
        return list(self.record.followup_ids)

    async def reply(self, timeout: float = BOUND) -> InteractionReply:
        """The bot's answer, as it stands when it comes; AssertionError without one in `timeout` seconds."""
        await self.world.changes.until(lambda: self.record.responded, timeout, f"an answer to {self.id}")
        return self.now()

    async def message(self, timeout: float = BOUND) -> InteractionReply:
        """The answer once it is more than a deferral."""
        kinds = ("deferred", "deferred_update")
        await self.world.changes.until(
            lambda: self.record.responded and self.now().kind not in kinds, timeout, f"a message for {self.id}"
        )
        return self.now()

    def now(self) -> InteractionReply:
        """The answer as it stands, edits included; `kind` is `none` while there is none."""
        return self.world.reply_of(self.record)


class Acting(People):
    """Interactions. Each gives an `Act` at once; a bot that does not answer is seen by `Act.reply` failing.

    What a person could not do in Discord's own client raises LookupError, unless `force`: a forged request.
    """

    def reply_of(self, record: Record) -> InteractionReply:
        """The bot's answer to one interaction as it stands."""
        kind = record.response_kind.value if record.response_kind is not None else "none"
        shown = None
        if record.message_id is not None and kind in ("message", "deferred", "update"):
            shown = self.mind.sim.messages.get(record.channel_id, {}).get(record.message_id)
        return InteractionReply(
            record.id,
            kind,
            content=shown.content if shown else "",
            ephemeral=record.ephemeral,
            message_id=record.message_id,
            components=list(shown.components) if shown else [],
            modal=record.modal,
            choices=list(record.autocomplete_choices or []),
        )

    @property
    def interaction_replies(self) -> list[InteractionReply]:
        """The bot's answers to all interactions, by time of the interaction."""
        return [self.reply_of(record) for record in self.mind.sim.interactions.values() if record.responded]

    def _act(self, kind: int, person: Person, channel_id: int, data: Json, message_id: int | None = None) -> Act:
        record = self.mind.interact(kind, channel_id, person.id, data, message_id=message_id)
        self.changes.tell()
        return Act(self, person, record)

    # ------------------------------------------------------------------ components

    async def click(self, person: Person, message_id: int, custom_id: str, *, force: bool = False) -> Act:
        """Press a button."""
        component = self._component(message_id, custom_id, force, _BUTTON)
        return self._press(person, message_id, component, {})

    async def select(
        self, person: Person, message_id: int, custom_id: str, values: Sequence[str], *, force: bool = False
    ) -> Act:
        """Choose in a menu."""
        component = self._component(message_id, custom_id, force, _SELECT)
        offered = [option["value"] for option in component.get("options") or []]
        if not force and not set(values) <= set(offered):
            raise LookupError(f"{custom_id} offers {offered}, not {list(values)}")
        return self._press(person, message_id, component, {"values": list(values)})

    def _press(self, person: Person, message_id: int, component: Json, more: Json) -> Act:
        data = {"custom_id": component["custom_id"], "component_type": component["type"], **more}
        if "id" in component:
            data["id"] = component["id"]
        return self._act(_COMPONENT, person, self.mind.where(message_id), data, message_id)

    def _component(self, message_id: int, custom_id: str, force: bool, kind: int) -> Json:
        message = self.mind.sim.get_message(self.mind.where(message_id), message_id)
        shown = [c for c in walk(message.components) if "custom_id" in c]
        for component in shown:
            if component["custom_id"] == custom_id and (force or not component.get("disabled")):
                return component
        if force:
            return {"custom_id": custom_id, "type": kind}
        raise LookupError(f"no {custom_id!r} to press on {message_id}, only {[c['custom_id'] for c in shown]}")

    async def submit_modal(self, person: Person, shown: Act, values: Mapping[str, str]) -> Act:
        """Fill in the modal an act was answered with, and send it."""
        modal = shown.record.modal
        if modal is None:
            raise LookupError(f"interaction {shown.id} was not answered with a modal")
        named = {c["custom_id"] for c in walk(modal["components"]) if "custom_id" in c}
        if not set(values) <= named:
            raise LookupError(f"the modal has {sorted(named)}, not {sorted(values)}")
        data = {
            "custom_id": modal["custom_id"],
            "components": [_filled(component, values) for component in modal["components"]],
        }
        source = shown.record.source_message_id
        return self._act(_MODAL, person, shown.record.channel_id, data, source)

    async def forge_modal(self, person: Person, channel: Place, custom_id: str, values: Mapping[str, str]) -> Act:
        """Send a modal that nobody was shown."""
        rows = [
            {"type": 1, "id": n, "components": [{"type": _TEXT, "id": n + 100, "custom_id": key, "value": text}]}
            for n, (key, text) in enumerate(values.items(), start=1)
        ]
        return self._act(_MODAL, person, channel.id, {"custom_id": custom_id, "components": rows})

    # ------------------------------------------------------------------ commands

    @property
    def commands(self) -> list[Json]:
        """The registered application commands, global ones first."""
        scopes = self.mind.sim.commands
        return [command for scope in sorted(scopes, key=lambda guild: guild or 0) for command in scopes[scope].values()]

    def _command(self, channel: Place, name: str, kind: int) -> Json:
        found = self.mind.sim.find_command(name, channel.guild_id, kind)
        if found is None:
            raise LookupError(f"no command {name!r} is registered, only {[c['name'] for c in self.commands]}")
        return found

    async def slash(self, person: Person, channel: Place, name: str, options: Mapping[str, Any] | None = None) -> Act:
        """Use a slash command; subcommands follow in `name` after a space."""
        return self._act(_COMMAND, person, channel.id, self._slash(channel, name, options or {}, None))

    async def autocomplete(
        self,
        person: Person,
        channel: Place,
        name: str,
        option: str,
        typed: str,
        *,
        options: Mapping[str, Any] | None = None,
    ) -> Act:
        """Type into an option of a slash command; the answer's `choices` are what is offered."""
        data = self._slash(channel, name, {**(options or {}), option: typed}, option)
        return self._act(_AUTOCOMPLETE, person, channel.id, data)

    def _slash(self, channel: Place, name: str, options: Mapping[str, Any], focused: str | None) -> Json:
        first, *path = name.split()
        root = self._command(channel, first, 1)
        data = {"id": root["id"], "name": root["name"], "type": 1}
        data["options"] = self.mind.command_options(path, root, options, focused)
        if "guild_id" in root:
            data["guild_id"] = root["guild_id"]
        return data

    async def context_menu(self, person: Person, channel: Place, name: str, target: int | Person) -> Act:
        """Use a command of the context menu on a message (its id) or on a person."""
        kind = _USER_MENU if isinstance(target, Person) else _MESSAGE_MENU
        root = self._command(channel, name, kind)
        if isinstance(target, Person):
            resolved: Json = {"users": {str(target.id): self.mind.user(target.id)}}
            target_id = target.id
        else:
            resolved = {"messages": {str(target): self.mind.message(self.mind.where(target), target)}}
            target_id = target
        data = {"id": root["id"], "name": name, "type": kind, "target_id": str(target_id), "resolved": resolved}
        return self._act(_COMMAND, person, channel.id, data)


def _filled(component: Json, values: Mapping[str, str]) -> Json:
    """A modal's component as it is sent back."""
    kept: Json = {key: component[key] for key in ("type", "id") if key in component}
    if "components" in component:
        return kept | {"components": [_filled(child, values) for child in component["components"]]}
    if component["type"] == _LABEL:
        return kept | {"component": _filled(component["component"], values)}
    if component["type"] == _TEXT:
        name = component["custom_id"]
        return kept | {"custom_id": name, "value": values.get(name, component.get("value") or "")}
    if component["type"] == _SELECT:
        name = component["custom_id"]
        return kept | {"custom_id": name, "values": [values[name]] if name in values else []}
    return kept
