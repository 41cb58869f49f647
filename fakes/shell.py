"""What a line of `sleep`, `echo`, `seq` and `exit` would print, and when; it runs nothing."""

from __future__ import annotations

import re
import shlex

from fakes.behaviour import Tool

__all__ = ["bash"]


def bash(command: str, **more: object) -> Tool:
    """A bash call whose output and time are worked out from its command; `more` are fields of `Tool`.

    Knows lists of `sleep S`, `echo WORDS`, `seq A B`, `exit N` and `for i in WORDS; do …; done`; a command it does
    not know, or one in the background, prints nothing and takes no time.
    """
    at, said, code = 0.0, "", 0
    steps: list[tuple[float, str]] = []
    for part in _unrolled(command):
        words = shlex.split(part.replace(">&2", ""), comments=False) if "&" not in part.replace(">&2", "") else []
        match words:
            case ["sleep", seconds]:
                at += float(seconds) * 1000
            case ["echo", *rest]:
                said += " ".join(rest) + "\n"
                steps.append((at, said))
            case ["seq", low, high]:
                said += "".join(f"{n}\n" for n in range(int(low), int(high) + 1))
                steps.append((at, said))
            case ["exit", status]:
                code = int(status)
                break
            case _:
                pass  # a real shell would do something; this one only tells time
    fields: dict[str, object] = {"ms": at, "steps": tuple(steps), "code": code, **more}
    return Tool(args={"command": command}, **fields)  # type: ignore[arg-type]  # keywords of Tool, by name


def _unrolled(command: str) -> list[str]:
    parts: list[str] = []
    rest = command
    while loop := re.search(r"for (\w+) in ([^;]*); do (.*?); done;?", rest):
        parts += rest[: loop.start()].split(";")
        for word in loop[2].split():
            parts += loop[3].replace(f"${loop[1]}", word).split(";")
        rest = rest[loop.end() :]
    parts += rest.split(";")
    # `A & B`: A runs beside; what follows it counts
    return [piece.strip() for part in parts for piece in _foreground(part) if piece.strip()]


def _foreground(part: str) -> list[str]:
    pieces = re.split(r"(?<!>)&(?!1|2|&)", part)
    return pieces[-1:] if len(pieces) > 1 else pieces
