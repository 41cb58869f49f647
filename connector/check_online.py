"""What Discord says of token, privileged intent, permissions and clock, over REST; it opens no gateway."""

from http import HTTPStatus

from connector.check_places import place_findings
from connector.discord_asked import Asking, Refused, Unreachable
from connector.findings import Finding
from connector.settings import Settings
from connector.token import KEY, Token

MESSAGE_CONTENT = (1 << 18) | (1 << 19)
"""The application's flags of which one allows the intent, the second for bots in few guilds."""

CLOCK_OFF = 30.0
"""Seconds that this machine's clock may be off; the date Discord sends is a whole second."""

PORTAL = "open https://discord.com/developers/applications, choose the application, Bot,"


async def online_findings(settings: Settings, token: Token) -> list[Finding]:
    """Return what is wrong with the token, the application, its places, or the clock. Changes nothing there."""
    api_base = settings.discord.api_base
    async with Asking(api_base, token.secret) as asking:
        found: list[Finding] = []
        try:
            bot, _ = await asking.me()
            application = await asking.application()
            found += intent_findings(application.flags)
            found += await place_findings(asking, settings, bot=bot, application=application.id)
        except Refused as answer:
            found.append(refused_finding(answer, api_base, token.place))
        except Unreachable as silent:
            found.append(unreachable_finding(silent, api_base))
        return found + clock_findings(asking.ahead)


def intent_findings(flags: int) -> list[Finding]:
    """Whether the application may read what people write."""
    if flags & MESSAGE_CONTENT:
        return []
    mend = f"{PORTAL} Privileged Gateway Intents, switch on MESSAGE CONTENT INTENT, and save"
    return [Finding("error", "discord", "the application may not read messages", mend)]


def refused_finding(answer: Refused, api_base: str, place: str) -> Finding:
    """What a status says; `place` is where the token came from, in words."""
    if answer.status == HTTPStatus.UNAUTHORIZED:
        mend = f"{PORTAL} Reset Token, and put the new one there"
        return Finding("error", KEY, f"Discord refuses the token of {place}", mend)
    return Finding("error", "discord.api_base", f"{api_base} answered with status {answer.status}", "try again later")


def unreachable_finding(silent: Unreachable, api_base: str) -> Finding:
    """What silence says."""
    text = f"{api_base} cannot be reached: {silent}"
    return Finding("error", "discord.api_base", text, "see to the network, or correct the address")


def clock_findings(ahead: float | None) -> list[Finding]:
    """Whether this machine's clock agrees with Discord's; `ahead` in seconds, None where nobody said the time."""
    if ahead is None or abs(ahead) <= CLOCK_OFF:
        return []
    way = "ahead of" if ahead > 0 else "behind"
    text = f"this machine is {abs(ahead):.0f} seconds {way} Discord, so waits are shown and kept wrongly"
    return [Finding("warning", "clock", text, "let it be set from the network: timedatectl set-ntp true")]
