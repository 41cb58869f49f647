"""`pi-connector check`: finds what would stop or surprise a run; it changes nothing and tells no token."""

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from connector.admin import ledger_folder
from connector.check_child import child_findings
from connector.environment import child_spec
from connector.exits import Refusal
from connector.findings import Finding
from connector.isolation import isolation_findings
from connector.settings import Settings
from connector.settings_load import CONFIG_VARIABLE, ETC, instance_file, problems, usual_places
from connector.token import KEY, STANDARD_INPUT, Token, read_token
from connector.trust import trust_findings


class TokenFound(Struct, frozen=True):
    """The token, where it can be had, and what is wrong with its place."""

    token: Token | None
    findings: tuple[Finding, ...] = ()


async def check(
    settings: Settings,
    environ: Mapping[str, str],
    *,
    online: bool,
    handed: TokenFound | None = None,
    etc: Path = ETC,
) -> tuple[Finding, ...]:
    """Return every finding there is: errors are what `run` would refuse or could not work with, the rest warnings.

    `handed` is what the unit would hand over on standard input, where somebody could read it (`check_as`).
    """
    found = [*config_findings(settings, environ, etc=etc), *problems(settings), *trust_findings(settings)]
    found += [*isolation_findings(settings, environ), *state_findings(settings, environ)]
    if handed is None or settings.discord.token_file not in {None, STANDARD_INPUT}:
        handed = token_findings(settings, environ, online=online, etc=etc)
    token = handed.token
    found += handed.findings
    if not any(finding.key == "agent.cwd" for finding in found):
        found += cwd_findings(settings)
        spec, engine = child_spec(settings, environ), settings.engine
        found += await child_findings(spec, bound=engine.turn_timeout, max_line=engine.max_line)
    if online and token is not None:
        from connector.check_online import online_findings  # noqa: PLC0415 - an HTTP client only where it is needed

        found += await online_findings(settings, token)
    return tuple(found)


def config_findings(settings: Settings, environ: Mapping[str, str], *, etc: Path = ETC) -> list[Finding]:
    """Where a configuration was looked for, if there is none: variables and defaults alone hold then."""
    if settings.source is not None:
        return []
    places = " and ".join(map(str, usual_places(environ, etc=etc)))
    text = f"there is none in {places}, and ${CONFIG_VARIABLE} names none"
    return [Finding("warning", "config", text, "write one there with pi-connector init, or name one with --config")]


def state_findings(settings: Settings, environ: Mapping[str, str]) -> list[Finding]:
    """What is wrong with the state folder, or with the place where a run would make it."""
    try:
        folder = ledger_folder(settings, environ)
    except Refusal as refusal:
        return list(refusal.findings)
    try:
        if str(folder) == environ.get("STATE_DIRECTORY") and not folder.exists():
            return []  # systemd makes it, as root
        return _state_findings(folder)
    except OSError as error:
        mend = "run this as the connector's user, or name another folder"
        return [Finding("error", "state.dir", f"{folder} cannot be looked at: {error.strerror or error}", mend)]


def _state_findings(folder: Path) -> list[Finding]:
    if folder.exists():
        if not folder.is_dir():
            return [Finding("error", "state.dir", f"{folder} is no folder", "name another one")]
        if not os.access(folder, os.W_OK | os.X_OK):
            mend = "give it to the connector's user, or name another folder"
            return [Finding("error", "state.dir", f"{folder} may not be written by this user", mend)]
        if folder.stat().st_mode & 0o077:
            return [Finding("warning", "state.dir", f"{folder} is open to others", f"run chmod 700 {folder}")]
        return []
    above = next(parent for parent in folder.parents if parent.exists())
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        text = f"{folder} cannot be made: {above} is not this user's to write"
        return [Finding("error", "state.dir", text, "make it for him, or name another folder")]
    return []


def token_findings(settings: Settings, environ: Mapping[str, str], *, online: bool, etc: Path = ETC) -> TokenFound:
    """Return the token, where it can be had, and what is wrong with its place.

    `--instance NAME` means `NAME.token`, which the unit hands over on standard input and only root need be able to
    read. Without an instance, standard input is read only where the token is needed. Where no place is named for it
    (CONTRACT: whoever starts the run may still hand it over in $DISCORD_TOKEN) its absence is an error only `online`.
    """
    named = settings.discord.token_file
    of_unit = None
    if settings.instance is not None and named in {None, STANDARD_INPUT}:
        of_unit = instance_file(settings.instance, "token", etc=etc)
        try:
            of_unit.stat()
            readable = os.access(of_unit, os.R_OK)
        except FileNotFoundError:
            text, mend = f"there is no {of_unit}", "write the bot's token there, as root, with mode 600"
            return TokenFound(None, (Finding("error", KEY, text, mend),))
        except OSError:
            readable = False
        if not readable:
            text = f"{of_unit} may not be read by this user, so the token was not checked"
            mend = "that is as it should be; run the check as root to have it read"
            return TokenFound(None, (Finding("warning", KEY, text, mend),))
        discord = settings.discord.model_copy(update={"token_file": STANDARD_INPUT})
        settings = settings.model_copy(update={"discord": discord})
    elif named == STANDARD_INPUT and (not online or os.isatty(0)):
        if not online:
            return TokenFound(None)
        mend = "hand the token over there: … < FILE"
        return TokenFound(None, (Finding("error", KEY, "standard input is a terminal", mend),))
    try:
        token = read_token(settings, dict(environ), instead_of_input=of_unit)
    except Refusal as refusal:
        if online or of_unit or named:
            return TokenFound(None, refusal.findings)
        return TokenFound(None, tuple(replace(finding, level="warning") for finding in refusal.findings))
    return TokenFound(token, token.findings)


def cwd_findings(settings: Settings) -> list[Finding]:
    """Whether the agent can work in its folder."""
    if settings.agent.remote or os.access(settings.cwd, os.W_OK | os.X_OK):
        return []
    text = f"{settings.cwd} may not be written by this user: the agent can change nothing there"
    return [
        Finding("warning", "agent.cwd", text, "give him the folder, or name another one", str(settings.source or ""))
    ]
