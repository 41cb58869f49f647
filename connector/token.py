"""The Discord token: read once, from where CONTRACT says, and never shown; it alone knows the places."""

import codecs
import os
import stat
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import NoReturn

from msgspec import Struct

from connector.exits import Refusal
from connector.findings import Finding
from connector.redact import Redactor
from connector.settings import Settings

KEY = "discord.token_file"
VARIABLE = "DISCORD_TOKEN"
CREDENTIAL = "discord-token"
STANDARD_INPUT = "-"
LONGEST = 4096
"""Bytes; a Discord token has about 70."""


class Secret:
    """A text that no repr, log or pickle shows; `reveal()` is the only way to it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """Return the text itself: for the one call that needs it, never to be kept or logged."""
        return self._text

    def __repr__(self) -> str:
        return "Secret(…)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not to be pickled or copied")


class Token(Struct, frozen=True):
    """The token, the place it came from in words, and what is to be said about that place."""

    secret: Secret
    place: str
    findings: tuple[Finding, ...] = ()


def read_token(
    settings: Settings,
    environ: MutableMapping[str, str],
    *,
    instead_of_input: Path | None = None,
    input_fd: int = 0,
) -> Token:
    """Return the token of `discord.token_file`, else `$DISCORD_TOKEN`, else the systemd credential.

    `$DISCORD_TOKEN` is taken out of `environ` in every case, so that nothing started later inherits it. Standard input
    (`"-"`) is read once and then replaced by /dev/null; `check --instance` names a file `instead_of_input`. With a
    non-default `api_base` the credential is not looked at. Raises Refusal where there is no usable token.
    """
    variable = environ.pop(VARIABLE, None)
    named = settings.discord.token_file
    if named == STANDARD_INPUT:
        if instead_of_input is not None:
            return _from_file(instead_of_input)
        return _token(_from_input(input_fd), "standard input")
    if named is not None:
        return _from_file(settings.beside(named))
    if variable is not None:
        return _token(variable.encode(errors="surrogateescape"), f"${VARIABLE}")
    mend = f"name a file that holds it, or set ${VARIABLE}"
    if (credential := _credential(environ)) is None:
        raise _refusal("there is no token", mend, str(settings.source or ""))
    if settings.discord.custom_api:
        text = f"there is no token, and the credential {CREDENTIAL} is not for another discord.api_base"
        raise _refusal(text, mend, str(settings.source or ""))
    return _from_file(credential)


def _credential(environ: Mapping[str, str]) -> Path | None:
    folder = environ.get("CREDENTIALS_DIRECTORY")
    if not folder:
        return None
    path = Path(folder) / CREDENTIAL
    try:
        return path if path.exists() else None
    except OSError:
        return path  # reading it then says what is wrong


def _from_input(fd: int) -> bytes:
    """Read the first line that is not blank: whoever holds the other end open cannot make us wait for its end."""
    data = b""
    try:
        while b"\n" not in data.lstrip() and len(data) <= LONGEST:
            if not (read := os.read(fd, LONGEST)):
                break
            data += read
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, fd)
        os.close(null)
    except OSError as error:
        raise _refusal(f"standard input cannot be read: {error.strerror}", "hand the token over there") from None
    return data


def _from_file(path: Path) -> Token:
    shown = Redactor().text(str(path))  # somebody may have written the token itself where its file belongs
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            data = file.read(LONGEST + 1)
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        mend = "write the bot's token there, with mode 600" if missing else "let this user, and no other, read it"
        raise _refusal(f"{shown} cannot be read: {error.strerror or error}", mend) from None
    findings: tuple[Finding, ...] = ()
    # A pipe (process substitution) has no mode worth judging.
    if stat.S_ISREG(status.st_mode) and status.st_mode & 0o077:
        text = f"{shown} is open to others (mode {stat.S_IMODE(status.st_mode):04o})"
        findings = (Finding("warning", KEY, text, f"run chmod 600 {shown}"),)
    return _token(data, shown, findings)


def _token(data: bytes, place: str, findings: tuple[Finding, ...] = ()) -> Token:
    """Strip white space and judge the form; no message ever repeats what was read."""
    text = data.removeprefix(codecs.BOM_UTF8).decode("ascii", errors="replace").strip()
    if not text:
        raise _refusal(f"{place} is empty", "put the bot's token there")
    if len(text) > LONGEST or not all("!" <= character <= "~" for character in text):
        mend = 'put the bot\'s token there alone, one word, without "Bot" in front'
        raise _refusal(f"{place} holds something else than a token", mend)
    return Token(Secret(text), place, findings)


def _refusal(text: str, mend: str, where: str = "") -> Refusal:
    return Refusal.of((Finding("error", KEY, text, mend, where),))
