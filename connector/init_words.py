"""What `init` says: each step at Discord explained, and what was found; sentences alone, pure."""

from collections.abc import Sequence

from connector.permissions import NEEDED, invite_link

PORTAL = "https://discord.com/developers/applications"

HELLO = """\
This asks a few questions, then writes a configuration, a file with the bot's token, and a systemd unit. Nothing is
written before the last question, nothing is overwritten without asking, and nothing is run as root. Enter takes what
stands in brackets; where the answers are there already, they stand there."""

APPLICATION = f"""\
1. The application. Open {PORTAL}
   → New Application, give it a name. Its bot comes with it: choose Bot in the menu on the left.
   On that page switch on MESSAGE CONTENT INTENT (below Privileged Gateway Intents) and save: without it the bot is
   given no text. The other two intents are not needed.
   Then press Reset Token, and copy what it shows: that is the bot's password. It is shown once."""

ASK_FOR_IT = "The bot's token (not shown while you type or paste; Enter: leave it for later)"
ASK_AGAIN = "The bot's token (not shown while you type or paste; Enter: keep the one that is there)"

PEOPLE = """\
3. Who may speak to it. Whoever may, can make the agent read and change whatever its user can on this machine: name only
   people you would give that user's shell. Ids are found in Discord under Settings → Advanced → Developer Mode, then by
   a right click on a person, server or channel → Copy ID."""

AGENT = """\
4. The agent. pi works in one folder, with the keys it keeps itself (/login in pi) or those handed to it here."""

SERVICE = """\
5. The service. systemd starts one instance for each name; one bot, one configuration, one name."""

ROOT = """\
You are root: the agent would be, too, and so would whoever speaks to it. End this with Ctrl-C, and run it as the user
who set pi up."""

TRY = "Try it now, as yourself, with: {program} run{config}   (Ctrl-C ends it; mention the bot in a channel)"

LINES = "For good, as a service. These lines need root, so they are yours to run, in this order:"

UNTRUSTED = """\
This program ({program}) can be changed by the agent, which runs as you. Better, before these lines: install it where
only root may write (below /opt, see the README), and run init again from there."""


def invite(application: int | None) -> str:
    """The step that takes the bot to a server; without an application's id its place is told."""
    names = ", ".join(permission.name for permission in NEEDED)
    link = invite_link(application or "APPLICATION_ID")
    place = "" if application else "\n   (APPLICATION_ID stands on the page General Information of the application.)"
    return f"""\
2. The invitation. Open this link and choose your server; you need Manage Server there:
   {link}
   It asks for the scopes bot and applications.commands, and for: {names}.{place}"""


def known(bot: str, application: str, owners: Sequence[tuple[int, str]]) -> str:
    """What the token opened."""
    owner = f", owned by {owners[0][1] or owners[0][0]}" if owners else ""
    return f"   The token is good: the bot is {bot} of the application {application}{owner}."


def listed(kind: str, names: Sequence[tuple[int, str]]) -> str:
    """Things with their ids, one a line."""
    return "\n".join((f"   {kind}:", *(f"     {id_}  {name}" for id_, name in names)))
