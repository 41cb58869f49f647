"""argv → one of the commands → exit code. `run` as the unit calls it needs no library for that; all else is typer's."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from connector.exits import Refusal


def main() -> NoReturn:
    """Run the command line and exit with its code (CONTRACT, Commands)."""
    given = plain_run(sys.argv[1:])
    if given is not None:
        from connector import run_process  # noqa: PLC0415 - `check` and the others have no use for it yet

        sys.exit(run_process.run(*given))
    from connector.cli_commands import app  # noqa: PLC0415 - brings typer, which costs a start of `run` a tenth

    try:
        app()
    except Refusal as refusal:
        sys.stderr.write("".join(f"{line}\n" for line in refusal.lines()))
        code = refusal.code
    sys.exit(code)


def plain_run(words: Sequence[str]) -> tuple[Path | None, str | None] | None:
    """Configuration and instance of a `run` that has nothing to be told about; None for everything else."""
    match words:
        case ["run"]:
            return None, None
        case ["run", "--config", file] if _is_value(file):
            return Path(file), None
        case ["run", "--instance", name] if _is_value(name):
            return None, name
        case _:
            return None


def _is_value(word: str) -> bool:
    return bool(word) and not word.startswith("-")
