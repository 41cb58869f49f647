"""What Discord says of the token and of the privileged intent, by two questions over REST; it opens no gateway."""

from http import HTTPStatus
from importlib import metadata
from typing import Any

import aiohttp

from connector.findings import Finding
from connector.started import DISTRIBUTION
from connector.token import KEY, Token

BOUND = 15.0
"""Seconds for both questions together."""

MESSAGE_CONTENT = (1 << 18) | (1 << 19)
"""The application's flags of which one allows the intent, the second for bots in few guilds."""

_PORTAL = "open https://discord.com/developers/applications, choose the application, Bot,"


class _Answered(Exception):  # noqa: N818 - a state of the world
    """Discord did not say what it was asked."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


async def online_findings(api_base: str, token: Token) -> list[Finding]:
    """Return what is wrong with the token or the application. Changes nothing there."""
    headers = {
        "Authorization": f"Bot {token.secret.reveal()}",
        "User-Agent": f"DiscordBot ({DISTRIBUTION}, {metadata.version(DISTRIBUTION)})",
    }
    timeout = aiohttp.ClientTimeout(total=BOUND)
    try:
        async with aiohttp.ClientSession(headers=headers, timeout=timeout) as session:
            await _asked(session, f"{api_base}/users/@me")
            application = await _asked(session, f"{api_base}/applications/@me")
    except _Answered as answer:
        if answer.status == HTTPStatus.UNAUTHORIZED:
            mend = f"{_PORTAL} Reset Token, and put the new one there"
            return [Finding("error", KEY, f"Discord refuses the token of {token.place}", mend)]
        text, mend = f"{api_base} answered with status {answer.status}", "try again later"
        return [Finding("error", "discord.api_base", text, mend)]
    except (aiohttp.ClientError, OSError, ValueError) as error:  # TimeoutError is an OSError
        text = f"{api_base} cannot be reached: {type(error).__name__}"
        return [Finding("error", "discord.api_base", text, "see to the network, or correct the address")]
    flags = application.get("flags")
    if not isinstance(flags, int) or not flags & MESSAGE_CONTENT:
        text = "the application may not read messages"
        mend = f"{_PORTAL} Privileged Gateway Intents, switch on MESSAGE CONTENT INTENT, and save"
        return [Finding("error", "discord", text, mend)]
    return []


async def _asked(session: aiohttp.ClientSession, address: str) -> dict[str, Any]:
    async with session.get(address, allow_redirects=False) as response:
        if response.status != HTTPStatus.OK:
            raise _Answered(response.status)
        told = await response.json(content_type=None)
    if not isinstance(told, dict):
        raise ValueError("no JSON object")  # noqa: TRY004 - a wrong answer, as one that is no JSON at all
    return told
