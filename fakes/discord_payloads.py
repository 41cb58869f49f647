"""Payloads of the simulated Discord brought to Discord's own shape: pure functions over JSON values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from fakes.discord_records import Json, walk

HAS_THREAD = 1 << 5
MESSAGE_CONTENT_FLAGS = 1 << 19
MEMBERS_FLAGS = 1 << 15
PRESENCE_FLAGS = 1 << 13
_MENU = 3
"""The component type whose bounds Discord tells even where the request named none."""
SPOKEN = (0, 19, 20, 23)
"""Message types somebody said: plain, reply, slash command, context menu."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a payload alone does not say, looked up while it is mended."""

    bot_id: str
    bot_role_ids: Callable[[], set[str]]
    thread: Callable[[str], Json | None]
    """The thread opened on a message (ids as strings), or None."""
    pressed: Callable[[str], str | None]
    """The message whose component began an interaction, or None."""
    signed: Callable[[str], str]
    """The address of a file as it is told now."""


def mend(value: Any, facts: Facts) -> Any:
    """A deep copy of `value` with every object in it as Discord sends it; recognised by the keys it has."""
    if isinstance(value, list):
        return [mend(item, facts) for item in value]
    if not isinstance(value, dict):
        return value
    out = {key: mend(item, facts) for key, item in value.items()}
    if "username" in out and "discriminator" in out:
        _user(out)
    if "joined_at" in out and "roles" in out and "nick" in out:
        out.setdefault("banner", None)
    if "hoist" in out and "mentionable" in out and out["id"] in facts.bot_role_ids():
        out["tags"] = {"bot_id": facts.bot_id}
    if "author" in out and "channel_id" in out and "content" in out:
        _message(out, facts)
    if "rate_limit_per_user" in out or "recipients" in out:
        _channel(out)
    if "application_id" in out and "default_member_permissions" in out:
        _command(out)
    if "response_message_loading" in out and out.get("response_message_id", "") is None:
        del out["response_message_id"]
    if "content_type" in out and "proxy_url" in out and out.get("description", "") is None:
        del out["description"]
    if "content_type" in out and "proxy_url" in out:
        out["url"], out["proxy_url"] = facts.signed(out["url"]), facts.signed(out["proxy_url"])
    return out


def _user(out: Json) -> None:
    if "email" not in out:
        for private in ("verified", "mfa_enabled", "locale"):
            out.pop(private, None)
    for absent in ("banner", "accent_color", "avatar_decoration_data", "collectibles", "primary_guild", "clan"):
        out.setdefault(absent, None)
    if not out.get("system"):
        out.pop("system", None)


def _message(out: Json, facts: Facts) -> None:
    seen: dict[str, Json] = {user["id"]: user for user in out.get("mentions") or []}
    out["mentions"] = list(seen.values())
    out["mention_roles"] = list(dict.fromkeys(out.get("mention_roles") or []))
    if out.get("nonce", "") is None:
        del out["nonce"]
    for empty in ("sticker_items", "reactions"):
        if not out.get(empty, True):
            del out[empty]
    for component in walk(out.get("components") or []):
        if component["type"] == _MENU:
            component.setdefault("min_values", 1)
            component.setdefault("max_values", 1)
    if (thread := facts.thread(str(out["id"]))) is not None:
        out["thread"] = thread
        out["flags"] |= HAS_THREAD
    if (metadata := out.get("interaction_metadata")) is not None:
        out["interaction_metadata"] = _origin(metadata, facts)
    reference = out.get("message_reference")
    if reference is not None:
        reference.setdefault("type", 0)
        reference.pop("fail_if_not_exists", None)
        if out.get("guild_id"):
            reference.setdefault("guild_id", out["guild_id"])
        if out["type"] == 19:
            out.setdefault("referenced_message", None)


def _origin(metadata: Json, facts: Facts) -> Json:
    """Which interaction a message answers, in the form its kind has."""
    kept = {k: metadata[k] for k in ("id", "type", "user", "authorizing_integration_owners")}
    pressed = facts.pressed(metadata["id"])
    if metadata["type"] == 3:
        return kept | {"interacted_message_id": pressed or "0"}
    if metadata["type"] == 5:
        began = kept | ({"type": 2} if pressed is None else {"type": 3, "interacted_message_id": pressed})
        return kept | {"triggering_interaction_metadata": began}
    return kept


def _channel(out: Json) -> None:
    out.setdefault("flags", 0)
    if out.get("type") == 1:
        for absent in ("topic", "rate_limit_per_user", "parent_id"):
            out.pop(absent, None)
        return
    if "thread_metadata" not in out:
        out.setdefault("nsfw", False)


def _command(out: Json) -> None:
    out.setdefault("version", out.get("id", "1"))
    out.setdefault("nsfw", False)
    if out.get("default_member_permissions") is not None:
        out["default_member_permissions"] = str(out["default_member_permissions"])
    for absent in ("contexts", "name_localizations", "description_localizations"):
        out.setdefault(absent, None)
    if out.get("integration_types", True) is None:
        del out["integration_types"]
    if out.get("type", 1) != 1:
        out.pop("options", None)


def with_member_mentions(message: Json, member: Callable[[str], Json | None]) -> Json:
    """The MESSAGE_CREATE form: each mentioned user carries its member (without the user), where it is one."""
    mentions = [dict(user) for user in message.get("mentions") or []]
    for user in mentions:
        if (found := member(user["id"])) is not None:
            user["member"] = found
    return {**message, "mentions": mentions}


def application(application_id: int, bot: Json, *, intents_allowed: bool, owner: Json) -> Json:
    """`/applications/@me`; its flags tell which privileged intents are switched on."""
    flags = (MESSAGE_CONTENT_FLAGS | MEMBERS_FLAGS | PRESENCE_FLAGS) if intents_allowed else 0
    return {
        "id": str(application_id),
        "name": bot["username"],
        "icon": None,
        "description": "",
        "summary": "",
        "type": None,
        "bot_public": True,
        "bot_require_code_grant": False,
        "verify_key": "0" * 64,
        "flags": flags,
        "flags_new": str(flags),
        "redirect_uris": [],
        "interactions_endpoint_url": None,
        "role_connections_verification_url": None,
        "owner": owner,
        "approximate_guild_count": 1,
        "approximate_user_install_count": 0,
        "approximate_user_authorization_count": 0,
        "explicit_content_filter": 0,
        "team": None,
        "eligible_oauth2_scopes": [],
        "bot": bot,
    }


def error(code: int, message: str, errors: Json | None = None) -> Json:
    """Discord's error body."""
    body: Json = {"message": message, "code": code}
    if errors:
        body["errors"] = errors
    return body


def form_error(field: str, code: str, message: str) -> Json:
    """A 50035 body for one field."""
    return error(50035, "Invalid Form Body", {field: {"_errors": [{"code": code, "message": message}]}})


def refusal_of_message(body: Json, *, files: int, editing: Json | None = None) -> Json | None:
    """What Discord says against a message's own fields, before anything else is looked at; None: nothing.

    `editing` is the message as it stands, whose fields count where `body` does not name them.
    """
    merged = {**(editing or {}), **body}
    content = merged.get("content") or ""
    if not isinstance(content, str):
        return form_error("content", "BASE_TYPE_STRING", "Must be a string.")
    if len(content) > 2000:
        return form_error("content", "BASE_TYPE_MAX_LENGTH", "Must be 2000 or fewer in length.")
    nonce = body.get("nonce")
    if isinstance(nonce, str) and len(nonce) > 25:
        return form_error("nonce", "NONCE_TYPE_TOO_LONG", "Nonce must be 25 or fewer in length.")
    others: Iterable[Any] = (
        merged.get(key) for key in ("embeds", "embed", "components", "sticker_ids", "sticker_items", "poll")
    )
    reference = body.get("message_reference") or {}
    kept = merged.get("attachments") if editing is not None else None
    if content.strip() or files or kept or any(others) or reference.get("type") == 1:
        return None
    return error(50006, "Cannot send an empty message")
