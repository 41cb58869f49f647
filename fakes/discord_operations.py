"""The operations of Discord's API that clients ask the fake for, by the specification's names; data only.

Each is tried with its request and its reply in one test; a client that asks for another one is told of as a violation,
until that one is tried there too.
"""

from __future__ import annotations

_MESSAGES = "/channels/{channel_id}/messages"
_MESSAGE = "/channels/{channel_id}/messages/{message_id}"
_COMMANDS = "/applications/{application_id}/commands"
_GUILD_COMMANDS = "/applications/{application_id}/guilds/{guild_id}/commands"
_WEBHOOK = "/webhooks/{webhook_id}/{webhook_token}"

RELIED_ON: tuple[tuple[str, str], ...] = (
    ("GET", "/gateway"),
    ("GET", "/gateway/bot"),
    ("GET", "/users/@me"),
    ("GET", "/users/@me/guilds"),
    ("GET", "/users/{user_id}"),
    ("GET", "/applications/@me"),
    ("GET", "/oauth2/applications/@me"),
    ("GET", "/guilds/{guild_id}/channels"),
    ("GET", "/guilds/{guild_id}/roles"),
    ("GET", "/guilds/{guild_id}/members/{user_id}"),
    ("POST", "/users/@me/channels"),
    ("GET", "/channels/{channel_id}"),
    ("PATCH", "/channels/{channel_id}"),
    ("POST", "/channels/{channel_id}/typing"),
    ("POST", _MESSAGES),
    ("GET", _MESSAGES),
    ("GET", _MESSAGE),
    ("PATCH", _MESSAGE),
    ("DELETE", _MESSAGE),
    ("PUT", f"{_MESSAGE}/reactions/{{emoji_name}}/@me"),
    ("DELETE", f"{_MESSAGE}/reactions/{{emoji_name}}/@me"),
    ("DELETE", f"{_MESSAGE}/reactions/{{emoji_name}}/{{user_id}}"),
    ("POST", f"{_MESSAGE}/threads"),
    ("PUT", _COMMANDS),
    ("GET", _COMMANDS),
    ("PUT", _GUILD_COMMANDS),
    ("GET", _GUILD_COMMANDS),
    ("POST", "/interactions/{interaction_id}/{interaction_token}/callback"),
    ("POST", _WEBHOOK),
    ("GET", f"{_WEBHOOK}/messages/@original"),
    ("PATCH", f"{_WEBHOOK}/messages/@original"),
    ("DELETE", f"{_WEBHOOK}/messages/@original"),
    ("GET", f"{_WEBHOOK}/messages/{{message_id}}"),
    ("PATCH", f"{_WEBHOOK}/messages/{{message_id}}"),
    ("DELETE", f"{_WEBHOOK}/messages/{{message_id}}"),
)
