"""The questions of `init`, in order: explained, and checked with Discord where that is wanted; it writes nothing."""

import codecs
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from connector import init_words as words
from connector.exits import Refusal
from connector.findings import one_line
from connector.init_ask import Asker, ask, ids, yes
from connector.init_discord import Live, NotTold, Opened, unknown
from connector.init_find import Found, find, keys_seen
from connector.init_plan import Answers
from connector.settings import AgentSettings, Settings
from connector.settings_load import INSTANCE
from connector.token import LONGEST, Secret, read_token

WORKSPACE = "~/pi-work"
RPC = ("--mode", "rpc")


class Known(Struct, frozen=True):
    """What holds already, and becomes the defaults. `token`: its file, if there is one; `own`: our program's folder."""

    settings: Settings
    instance: str
    token: Path | None
    own: Path


class Asked(Struct, frozen=True):
    """The answers, and the token apart from them; None: none was given."""

    answers: Answers
    secret: Secret | None


def questions(asker: Asker, known: Known, environ: Mapping[str, str], *, offline: bool) -> Asked:
    """Ask everything. Raises Refusal where a script's answer is no good."""
    access, agent = known.settings.access, known.settings.agent
    asker.say(f"\n{words.APPLICATION}\n")
    secret, live, opened = _token(asker, known, offline=offline)
    asker.say(f"\n{words.invite(opened.application.id if opened else None)}\n")
    asker.pause("Press Enter when the bot is in your server.")
    guilds = _guilds(asker, live, _sorted(access.guilds))
    channels = _ids(
        asker,
        "Channels it may answer in (ids; Enter: every channel it can see)",
        _sorted(access.channels),
        lambda one: live is None or live.channel(one) is not None,
        "channel",
    )
    asker.say(f"\n{words.PEOPLE}\n")
    owner = (opened.application.owners[0][0],) if opened and opened.application.owners else ()
    users = _people(asker, live, "Users who may speak to it (ids)", _sorted(access.users) or owner, needed=True)
    proposed = _sorted(access.operators) or (owner if set(owner) & set(users) else users[:1])
    operators = _people(asker, live, "Operators, who may do everything in every conversation (ids)", proposed)
    asker.say(f"\n{words.AGENT}\n")
    found = find(environ, known.own)
    command = _command(asker, found, agent)
    cwd = ask(asker, "Folder it works in (made if it is not there)", _folder(agent), _path)
    keys = _keys(asker, environ, agent.env_pass)
    asker.say(f"\n{words.SERVICE}\n")
    instance = ask(asker, "Name of the instance", known.instance, _instance)
    path = _agent_path(found, agent)
    return Asked(Answers(guilds, channels, users, operators, command, path, cwd, keys, instance), secret)


def _token(asker: Asker, known: Known, *, offline: bool) -> tuple[Secret | None, Live | None, Opened | None]:
    """The token, the way to Discord with it, and what it opens; each as far as it is wanted and works."""
    question = words.ASK_AGAIN if known.token else words.ASK_FOR_IT
    while True:
        text = asker.secret(question).removeprefix(codecs.BOM_UTF8.decode())
        if not text:
            return None, *_opened(asker, known, _kept(known), offline=offline)
        if len(text) > LONGEST or not all("!" <= character <= "~" for character in text):
            asker.wrong(question, 'that is no token: it is one word, without "Bot" in front')
            continue
        secret = Secret(text)
        live, opened = _opened(asker, known, secret, offline=offline)
        if live is None or opened is not None:
            return secret, live, opened
        asker.wrong(question, "Discord refuses this token; press Reset Token and take the new one")


def _kept(known: Known) -> Secret | None:
    """The token of an earlier time."""
    if known.token is None:
        return None
    try:
        return read_token(Settings.model_validate({"discord": {"token_file": str(known.token)}}), {}).secret
    except Refusal:
        return None


def _opened(asker: Asker, known: Known, secret: Secret | None, *, offline: bool) -> tuple[Live | None, Opened | None]:
    """A way to Discord that answers, else None; and what the token opens, None where it is refused."""
    if offline or secret is None:
        return None, None
    live = Live(known.settings.discord.api_base, secret)
    try:
        opened = live.opened()
    except NotTold as silent:
        asker.say(f"   Not checked: {silent.finding.line()}")
        return None, None
    if opened is not None:
        asker.say(one_line(words.known(opened.bot, opened.application.name, opened.application.owners)))
        for finding in opened.intent:
            asker.say(f"   {finding.line()}")
    return live, opened


def _guilds(asker: Asker, live: Live | None, before: tuple[int, ...]) -> tuple[int, ...]:
    there: dict[int, str] = {}
    if live is not None:
        try:
            there = {guild.id: guild.name for guild in live.guilds()}
        except NotTold as silent:
            asker.say(f"   Not checked: {silent.finding.line()}")
            live = None
    if there:
        asker.say(words.listed("The bot is in", [(id_, one_line(name)) for id_, name in there.items()]))
    default = before or (tuple(there) if len(there) == 1 else ())
    question = "Servers it may answer in (ids; Enter: every server it is in)"
    return _ids(asker, question, default, lambda one: live is None or one in there, "server with the bot in it,")


def _people(
    asker: Asker, live: Live | None, question: str, default: tuple[int, ...], *, needed: bool = False
) -> tuple[int, ...]:
    def exists(user: int) -> bool:
        return live is None or live.user(user) is not None

    return _ids(asker, question, default, exists, "user", needed=needed)


def _ids(
    asker: Asker,
    question: str,
    default: tuple[int, ...],
    exists: Callable[[int], bool],
    kind: str,
    *,
    needed: bool = False,
) -> tuple[int, ...]:
    def parse(text: str) -> tuple[int, ...]:
        found = ids("" if text == "-" else text)
        if needed and not found:
            raise ValueError("at least one is needed, or nobody could be served")
        try:
            unknown(found, exists, kind)
        except NotTold as silent:
            asker.say(f"   Not checked: {silent.finding.line()}")
        return found

    return ask(
        asker, f"{question}{'; - for none' if default and not needed else ''}", " ".join(map(str, default)), parse
    )


def _command(asker: Asker, found: Found, agent: AgentSettings) -> tuple[str, ...]:
    standard = AgentSettings().command
    if agent.command != standard:
        default = shlex.join(agent.command)
    elif found.pi is not None:
        default = shlex.join((str(found.pi), *RPC))
        asker.say(f"   pi is {found.pi}" + (f", its node {found.node}" if found.node else ", but there is no node"))
    else:
        default = shlex.join(standard)
        asker.say("   pi was not found: npm install -g @earendil-works/pi-coding-agent, or name where it is.")
    return ask(asker, "Command that starts it", default, _words)


def _keys(asker: Asker, environ: Mapping[str, str], before: tuple[str, ...]) -> tuple[str, ...]:
    kept = [name for name in before if not environ.get(name)]
    for name in dict.fromkeys((*before, *keys_seen(environ))):
        if name not in kept and yes(
            asker, f"{name} is set here. Hand it to the agent (by name; its value is not stored)", default=True
        ):
            kept.append(name)
    return tuple(kept)


def _agent_path(found: Found, agent: AgentSettings) -> str:
    """The PATH that was, where pi and node are in it; else one with their folders first."""
    before = agent.env.get("PATH", "")
    needed = {str(program.parent) for program in (found.pi, found.node) if program}
    return before if before and needed <= set(before.split(":")) else found.path


def _folder(agent: AgentSettings) -> str:
    return agent.cwd if agent.cwd != AgentSettings().cwd else WORKSPACE


def _path(text: str) -> str:
    if not text.startswith(("/", "~/")):
        raise ValueError("name it from the root (/…) or from the home folder (~/…)")
    return text


def _words(text: str) -> tuple[str, ...]:
    found = tuple(shlex.split(text))  # raises ValueError in plain words
    if not found:
        raise ValueError("name a program")
    return (*found, *RPC) if len(found) == 1 else found


def _instance(text: str) -> str:
    if not INSTANCE.fullmatch(text):
        raise ValueError("use letters, digits, _ . : and -")
    return text


def _sorted(some: frozenset[int]) -> tuple[int, ...]:
    return tuple(sorted(some))
