"""Takes secrets out of texts, known ones by value, others by shape; it never touches Discord's `<@id>`."""

import re
from collections.abc import Callable, Mapping
from enum import Enum

REMOVED = "[redacted]"
SHORTEST = 8
"""Characters; a shorter value would take ordinary words out of every line."""

DEEPEST = 8
"""Levels of a nested value; below it a value is shown as its repr."""

_SECRET_KEYS = frozenset(
    {"authorization", "proxy-authorization", "x-api-key", "api-key", "api_key", "apikey", "password", "secret", "token"}
)

# Each alternative of a shape begins where no word is under way, so that "task-…" is no "sk-…".
_SHAPES = (
    # `Authorization: Bot …`, also as a JSON member, quoted once or twice
    r"""(?P<keep>authorization\\*["']?\s*[:=]\s*\\*["']?)(?:(?:bot|bearer|basic|token)\s+)?[^\s"'\\,;}]+""",
    r"""(?P<keep2>\b(?:x-api-key|api[-_]?key)\\*["']?\s*[:=]\s*\\*["']?)[^\s"'\\,;}]+""",
    r"(?P<keep3>\bbearer\s+)(?:(?=[^\s]*[0-9])[A-Za-z0-9._~+/=-]{6,}|[A-Za-z0-9._~+/=-]{16,})",
    # the token inside the address of a webhook or an interaction
    r"(?P<keep4>/(?:webhooks|interactions)/[0-9]+/)[A-Za-z0-9._~%-]{16,}",
    # Discord bot tokens, and signed tokens in three parts
    r"(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{23,30}\.[A-Za-z0-9_-]{6,7}\.[A-Za-z0-9_-]{27,}",
    r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+",
    # keys of providers and forges
    r"(?<![A-Za-z0-9])(?:sk|gsk|xai|pplx|r8|hf|glpat|ghp|gho|ghs|ghu|github_pat)[-_][A-Za-z0-9_-]{8,}",
    r"(?<![A-Za-z0-9])AIza[A-Za-z0-9_-]{30,}",
    r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}",
)
_MENTION = r"(?P<mention><(?:@[!&]?|\#)[0-9]+>)"
_SHAPE = re.compile("|".join((_MENTION, *_SHAPES)), re.IGNORECASE)


class Redactor:
    """Takes out the values it was told, and everything shaped like a token or key."""

    def __init__(self, *values: str) -> None:
        self._values: frozenset[str] = frozenset()
        self._known: re.Pattern[str] | None = None
        for value in values:
            self.add(value)

    def add(self, value: str) -> None:
        """Take `value` out of every text from now on; values below 8 characters are not taken."""
        if len(value) < SHORTEST:
            return
        self._values |= {value}
        longest_first = sorted(self._values, key=lambda known: (-len(known), known))
        self._known = re.compile("|".join([_MENTION, *map(re.escape, longest_first)]))

    def text(self, text: str) -> str:
        """Return `text` with every secret replaced by `[redacted]`; `<@id>`, `<@!id>`, `<@&id>`, `<#id>` stay."""
        if self._known:
            text = self._known.sub(_replace_known, text)
        return _SHAPE.sub(_replace_shape, text)

    def value(self, value: object, depth: int = 0) -> object:
        """Return `value` as plain data (what JSON knows) without secrets; what it does not know becomes its repr."""
        match value:
            case None | bool():
                return value
            case Enum():
                return self.value(value.value, depth)
            case int():
                return int(value)
            case float():
                return value if abs(value) < float("inf") else repr(value)  # NaN and infinity are no JSON
            case str():
                return self.text(value)
            case bytes() | bytearray():
                return self.text(value.decode(errors="replace"))
            case Mapping() if depth < DEEPEST:
                return {self.text(str(key)): self._member(key, item, depth) for key, item in value.items()}
            case list() | tuple() | set() | frozenset() if depth < DEEPEST:
                return [self.value(item, depth + 1) for item in value]
            case _:
                return self.text(_repr(value))

    def _member(self, key: object, item: object, depth: int) -> object:
        if str(key).lower() in _SECRET_KEYS and isinstance(item, (str, bytes)):
            return REMOVED
        return self.value(item, depth + 1)


def _replace_known(match: re.Match[str]) -> str:
    return match["mention"] or REMOVED


def _replace_shape(match: re.Match[str]) -> str:
    groups = match.groupdict()
    return groups.pop("mention") or next((kept for kept in groups.values() if kept), "") + REMOVED


def _repr(value: object, write: Callable[[object], str] = repr) -> str:
    try:
        return write(value)
    except Exception:  # noqa: BLE001 - the repr of a stranger's object must not end what is being logged
        return f"<{type(value).__name__}>"
