"""What one value of the settings may be: checks that return it, or raise ValueError in plain words."""

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

API_PATH = "/api/v10"
LARGEST_ID = 2**63 - 1
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
SECRET_NAMES = ("DISCORD_TOKEN", "CREDENTIALS_DIRECTORY")
"""Names that lead to the Discord token: no setting hands them to the child."""


@dataclass(frozen=True, slots=True)
class Give:
    """What a key may be, in words that follow "give"."""

    text: str


def listed(value: object) -> tuple[object, ...]:
    """Return a list as a tuple; a single text or number is no list."""
    if not isinstance(value, (list, tuple)):
        raise ValueError(f"{shown(value)} is no list")  # noqa: TRY004 - pydantic collects ValueErrors alone
    return tuple(value)


def ids(value: object) -> frozenset[int]:
    """Return a list of Discord ids, given as numbers or as texts of digits, as numbers."""
    if not isinstance(value, (list, tuple, set, frozenset)):
        raise ValueError(f"{shown(value)} is no list")  # noqa: TRY004 - pydantic collects ValueErrors alone
    return frozenset(_id(item) for item in value)


def _id(item: object) -> int:
    if isinstance(item, str) and re.fullmatch(r"\s*[0-9]{1,20}\s*", item, re.ASCII):
        number = int(item)
    elif isinstance(item, int) and not isinstance(item, bool):
        number = item
    else:
        raise ValueError(f"{shown(item)} is no Discord id")
    if not 1 <= number <= LARGEST_ID:
        raise ValueError(f"{shown(item)} is no Discord id")
    return number


def check_path(path: str | None) -> str | None:
    """Refuse a path no system could open."""
    if path is not None and (not path.strip() or "\0" in path or re.match("~[^/]", path)):
        raise ValueError(f"{shown(path)} is no path")
    return path


def check_argument(word: str) -> str:
    """Refuse a word no process could be given."""
    if "\0" in word:
        raise ValueError(f"{shown(word)} holds a NUL character")
    return word


def check_program(command: tuple[str, ...]) -> tuple[str, ...]:
    """Refuse a command whose program is empty."""
    if command and not command[0].strip():
        raise ValueError("names no program")
    return command


def check_variables(variables: Mapping[str, str]) -> Mapping[str, str]:
    """Refuse variables no process could have, and those that would hand over the Discord token.

    Values are never shown: they may be keys.
    """
    for name, value in variables.items():
        if not name or "=" in name or "\0" in name or "\0" in value:
            raise ValueError(f"{shown(name)} cannot be a variable")
        _refuse_secret(name)
    return variables


def check_passed_name(name: str) -> str:
    """Refuse what is no name of a variable (patterns included), and names that lead to the Discord token."""
    if not NAME.fullmatch(name):
        raise ValueError(f"{shown(name)} is no name of a variable")
    _refuse_secret(name)
    return name


def _refuse_secret(name: str) -> None:
    if name in SECRET_NAMES or name.startswith("PI_CONNECTOR_"):
        raise ValueError(f"{name} is kept from the child")


def check_api_base(address: str) -> str:
    """Refuse a REST base without `/api/v10`, and one that would send the token readably beyond loopback."""
    parts = _address(address, secure="https", plain="http")
    if not parts.path.endswith(API_PATH):
        raise ValueError(f"{shown(address)} does not end in {API_PATH}")
    return address


def check_gateway_url(address: str | None, *, custom_api: bool) -> str | None:
    """Refuse half of the pair: it would send the token of one Discord to the other."""
    if address is None:
        if custom_api:
            raise ValueError("is missing beside a non-default discord.api_base")
        return None
    _address(address, secure="wss", plain="ws")
    if not custom_api:
        raise ValueError(f"{shown(address)} stands without a non-default discord.api_base")
    return address


def _address(address: str, *, secure: str, plain: str) -> SplitResult:
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise ValueError("is no address") from None
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise ValueError("holds a user, a password, a query or a fragment")
    if not host or parts.scheme not in {secure, plain} or not address.isprintable() or " " in address:
        raise ValueError(f"{shown(address)} is no {secure} address")
    if parts.scheme == plain and not is_loopback(host):
        raise ValueError(f"{shown(address)} is {plain} beyond loopback, the token would be readable on the way")
    return parts


def is_loopback(host: str) -> bool:
    """Return whether `host` (a name, or an address without brackets) is this machine alone."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_listen(listen: str) -> str:
    """Refuse what is not empty and not HOST:PORT (an IPv6 host in brackets)."""
    if not listen:
        return listen
    match = re.fullmatch(r"(\[[0-9A-Fa-f:.%]+\]|[^\s:\[\]]+):([0-9]{1,5})", listen, re.ASCII)
    if not match or int(match[2]) > 65535:
        raise ValueError(f"{shown(listen)} is no HOST:PORT")
    return listen


def shown(value: object) -> str:
    """Return a value as a person wrote it, shortened to 60 characters."""
    match value:
        case bool():
            text = "true" if value else "false"
        case int() if value.bit_length() > 256:
            text = "a huge number"
        case str():
            text = f'"{value}"'
        case _:
            try:
                text = str(value)
            except (ValueError, RecursionError):  # Python refuses to write out what holds a huge number, or is too deep
                text = "what stands there"
    return text if len(text) <= 60 else text[:59] + "…"
