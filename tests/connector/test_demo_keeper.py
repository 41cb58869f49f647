"""The demo as systemd: which ends of the connector it starts again, and what it says of the others."""

import asyncio
import sys
from pathlib import Path

import pytest

from connector import demo_process
from connector.demo_process import Keeper, Over

NEVER = "a thing that does not happen"


def kept(tmp_path: Path, code: str, monkeypatch: pytest.MonkeyPatch) -> tuple[str, list[str]]:
    """How a keeper of a program of this code ends, and what it noted."""
    monkeypatch.setattr(demo_process, "RESTART", 0.0)
    notes: list[str] = []
    monkeypatch.setattr(demo_process, "note", notes.append)

    async def main() -> str:
        keeper = Keeper(tmp_path / "config", "the-token", lambda: None)
        monkeypatch.setattr(keeper, "_command", [sys.executable, "-c", f"import sys\n{code}"])
        async with keeper:
            try:
                await keeper.until(asyncio.Event().wait())
            except Over as over:
                last = keeper.notes[-1][1]
                return str(over) if last == str(over) else f"{over}; but the page shows {last}"
        return NEVER

    return asyncio.run(main()), notes


def says(event: str, **fields: str) -> str:
    pairs = "".join(f', "{key}": "{value}"' for key, value in fields.items())
    return f'print(\'{{"event": "{event}"{pairs}}}\', file=sys.stderr, flush=True)\n'


def test_a_refusal_is_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = says("connector.refused", reason="nobody is served", level="error") + "sys.exit(3)"
    assert kept(tmp_path, code, monkeypatch) == ("the connector refuses to run: nobody is served", [])


def test_a_stop_by_somebody_else_is_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert kept(tmp_path, "sys.exit(0)", monkeypatch) == ("the connector was stopped", [])


def test_what_never_gets_ready_is_given_up_with_its_last_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    again = "the connector exited with 1; starting it again, as systemd would"
    assert kept(tmp_path, "sys.exit('no such module')", monkeypatch) == (
        "the connector cannot be started: no such module | no such module | no such module",
        ["no such module", again, "no such module", again, "no such module"],
    )


def test_what_was_ready_is_started_again_as_often_as_it_falls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sixth start refuses, as the connector does after `supervision.max_wedges`."""
    code = (
        "from pathlib import Path\n"
        "file = Path('count')\n"
        "file.write_text(str(int(file.read_text() if file.exists() else '0') + 1))\n"
        f"if file.read_text() == '6':\n    {says('connector.refused', reason='too often').strip()}\n    sys.exit(3)\n"
        + says("connector.ready")
        + says("connector.stopped", reason="wedge")
        + "sys.exit(1)"
    )
    again = "the connector exited with 1 (wedge); starting it again, as systemd would"
    assert kept(tmp_path, code, monkeypatch) == ("the connector refuses to run: too often", [again] * 5)


def test_a_kill_is_a_fall_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    over, notes = kept(tmp_path, "import os; os.kill(os.getpid(), 9)", monkeypatch)
    assert over == "the connector cannot be started: it says nothing"
    assert notes == ["the connector died of signal 9; starting it again, as systemd would"] * 2


def test_the_end_of_an_agent_is_told_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "".join(
        f'print(\'{{"event": "engine.exit", "level": "warning", "code": {code}}}\', file=sys.stderr)\n'
        for code in (3, -11)
    )
    notes = kept(tmp_path, lines + "sys.exit(0)", monkeypatch)[1]
    assert notes == ["the agent exited with 3", "the agent died of signal 11"]


def test_the_token_comes_on_standard_input_and_the_rest_of_the_environment_stays_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISCORD_TOKEN", "another")
    monkeypatch.setenv("PI_CONNECTOR_LOG__LEVEL", "debug")
    code = (
        "import os\n"
        "seen = [name for name in os.environ if name.startswith(('PI_CONNECTOR_', 'DISCORD_'))]\n"
        "print(sys.stdin.read().strip(), seen, file=sys.stderr)\nsys.exit(0)"
    )
    assert kept(tmp_path, code, monkeypatch)[1] == ["the-token []"]
