"""Settings written as TOML, one key a line, sections in the order they are given; pure."""

import json
import re
from collections.abc import Mapping

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def document(tables: Mapping[str, Mapping[str, object]]) -> str:
    """Return these sections as a TOML document; one without keys is left out.

    Values are what TOML's reader gives for settings: texts, numbers, truths, lists and tables of these. Raises
    TypeError for others.
    """
    sections = [
        "\n".join((f"[{name}]", *(f"{_key(key)} = {value(one)}" for key, one in keys.items())))
        for name, keys in tables.items()
        if keys
    ]
    return "\n\n".join(sections) + "\n"


def value(one: object) -> str:
    """Return one value as TOML."""
    match one:
        case bool():
            return "true" if one else "false"
        case int() | float():
            return repr(one)
        case str():
            # JSON's escapes are TOML's, DEL apart, which JSON leaves as it is.
            return json.dumps(one, ensure_ascii=False).replace("\x7f", "\\u007f")
        case list() | tuple():
            return "[" + ", ".join(map(value, one)) + "]"
        case Mapping():
            return "{ " + ", ".join(f"{_key(str(key))} = {value(item)}" for key, item in one.items()) + " }"
        case _:
            raise TypeError(f"{type(one).__name__} is no value of a setting")


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else value(name)
