"""Questions of an extension as the real pi has asked them, as values for tests; it only reads."""

import json
from typing import Any

from engine import pi, wire
from fakes.recordings import load

_SOURCES = {"confirm": "l_confirm_yes", "timed": "l_confirm_timeout"}


def recorded(kind: str, **changes: Any) -> pi.Dialog:
    """The first recorded request of this kind, with these fields changed; `timed`: a confirm that has a timeout."""
    wanted = "confirm" if kind == "timed" else kind
    for step in load(_SOURCES.get(kind, "l_commands")).out:
        if step.type == "extension_ui_request" and step.record["method"] == wanted:
            line = wire.decode(json.dumps(step.record | changes).encode())
            assert isinstance(line, pi.Dialog)
            return line
    raise AssertionError(f"nothing recorded asks {kind}")
