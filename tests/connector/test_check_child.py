"""`check` and the child: it is started, asked, and stopped; each thing that is wrong with it is one finding."""

import asyncio
import json
import os
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from connector.check_child import child_findings, refuse_unfit
from connector.findings import Finding
from engine.child import ChildSpec

ROOT = Path(__file__).parents[2]
TRANSCRIPTS = ROOT / "tests" / "transcripts"
KEY = "agent.command"
STUB = """
import json, sys
said = json.loads(sys.argv[1])
for line in sys.stdin:
    command = json.loads(line)
    answer = said.get(command["type"])
    if answer is not None:
        if "id" in answer:
            answer["id"] = command["id"]
        print(json.dumps(answer), flush=True)
"""


def spec(folder: Path, *command: str, **env: str) -> ChildSpec:
    given = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **env}
    return ChildSpec(command, str(folder), given, kill_after=2.0)


def asked(child: ChildSpec, bound: float = 20.0) -> list[Finding]:
    return asyncio.run(child_findings(child, bound=bound, max_line=1 << 20))


def recorded(name: str, command: str) -> Any:
    """The first answer to this command in a recording."""
    for text in (TRANSCRIPTS / f"{name}.jsonl").read_text(encoding="utf-8").split("\n"):
        entry = json.loads(text) if text else {}
        if entry.get("dir") == "out":
            said = json.loads(entry["line"])
            if said.get("type") == "response" and said.get("command") == command:
                return said
    raise LookupError(f"no answer to {command} in {name}")


def telling(folder: Path, *answers: tuple[str, str]) -> ChildSpec:
    """A child that gives recorded answers: (recording, command)."""
    said = {command: recorded(name, command) for name, command in answers}
    return spec(folder, sys.executable, "-c", STUB, json.dumps(said))


NEW = (
    ("f_clear_queue", "get_state"),
    ("f_clear_queue", "clear_queue"),
    ("e_idle_then_prompt", "steer"),
    ("m_state_commands", "get_available_models"),
)


def test_a_child_that_can_be_used_is_no_finding_and_is_asked_nothing_that_costs(tmp_path: Path) -> None:
    """CONTRACT `check`: starts it, asks its state, stops it; changes nothing."""
    log = tmp_path / "log"
    fake = spec(tmp_path, sys.executable, "-m", "fakes.pi", "--mode", "rpc", FAKE_PI_LOG=str(log))
    assert asked(fake) == []
    told = [json.loads(line) for line in log.read_text().splitlines()]
    commands = [entry["command"]["type"] for entry in told if entry["kind"] == "command"]
    assert commands == ["get_state", "clear_queue", "steer", "get_available_models"]
    assert not [entry for entry in told if entry["kind"] == "event" and entry["type"].startswith("agent_")]
    assert told[-1]["kind"] == "exit"
    assert [path.name for path in tmp_path.iterdir()] == ["log"]


def test_the_recorded_pi_can_be_used(tmp_path: Path) -> None:
    assert asked(telling(tmp_path, *NEW)) == []


def test_a_child_without_clear_queue_is_too_old(tmp_path: Path) -> None:
    """[f_clear_queue@0.73.1]: the refusal names no id."""
    old = telling(tmp_path, ("f_clear_queue@0.73.1", "get_state"), ("f_clear_queue@0.73.1", "clear_queue"))
    how = "is too old: it does not know clear_queue"
    assert asked(old) == [Finding("error", KEY, how, "install pi 0.99.0 or newer")]


def test_a_child_that_names_no_disposition_is_too_old(tmp_path: Path) -> None:
    """PROTOCOL §4: between 0.84.4 and 0.99.0; seen at a steer, which starts nothing [e_idle_then_prompt]."""
    old = telling(tmp_path, *NEW[:2], ("e_idle_then_prompt@0.73.1", "steer"))
    how = "is too old: it does not say what became of a prompt"
    assert asked(old) == [Finding("error", KEY, how, "install pi 0.99.0 or newer")]


def test_a_child_without_a_model_would_refuse_everything(tmp_path: Path) -> None:
    """[r_no_models_at_all]"""
    bare = telling(tmp_path, ("r_no_models_at_all", "get_state"), *NEW[1:])
    mend = "start pi by hand as this user, /login there, choose a model"
    assert asked(bare) == [Finding("error", KEY, "has no model, so it would refuse every message", mend)]


def test_a_child_without_a_key_for_its_model_would_refuse_everything(tmp_path: Path) -> None:
    """[r_no_key]: it names that model as its own all the same; tests/contract holds that it is not available."""
    said = {command: recorded(name, command) for name, command in NEW}
    said["get_available_models"]["data"]["models"].clear()
    mend = "start pi by hand as this user and /login there, or name the key's variable in agent.env_pass"
    text = "has no key for fake, so it would refuse every message"
    keyless = spec(tmp_path, sys.executable, "-c", STUB, json.dumps(said))
    assert asked(keyless) == [Finding("error", KEY, text, mend)]


def test_a_start_of_run_does_not_wait_for_the_question_of_keys(tmp_path: Path) -> None:
    log = tmp_path / "log"
    fake = spec(tmp_path, sys.executable, "-m", "fakes.pi", "--mode", "rpc", FAKE_PI_LOG=str(log))
    asyncio.run(refuse_unfit(fake, bound=20.0, max_line=1 << 20))
    told = [json.loads(line) for line in log.read_text().splitlines()]
    commands = [entry["command"]["type"] for entry in told if entry["kind"] == "command"]
    assert commands == ["get_state", "clear_queue", "steer"]


def test_a_start_of_run_does_not_wait_for_the_end_of_the_child_it_asked(tmp_path: Path) -> None:
    log = tmp_path / "log"
    fake = spec(tmp_path, sys.executable, "-m", "fakes.pi", "--mode", "rpc", FAKE_PI_LOG=str(log))

    def kinds() -> set[str]:
        return {json.loads(line)["kind"] for line in log.read_text().splitlines()}

    async def ask() -> None:
        left: list[Coroutine[Any, Any, None]] = []

        async def keep(work: Coroutine[Any, Any, None]) -> None:
            left.append(work)

        assert await refuse_unfit(fake, bound=20.0, max_line=1 << 20, end=keep) == ""
        before = kinds()
        [ending] = left
        await ending
        assert kinds() - before == {"eof", "exit"}

    asyncio.run(ask())


def test_a_child_that_exits_at_once_is_told_with_its_last_words(tmp_path: Path) -> None:
    fake = spec(tmp_path, sys.executable, "-m", "fakes.pi", "--mode", "rpc", "--nonsense", "two words")
    by_hand = (
        f"start it by hand in {tmp_path} to see why: {sys.executable} -m fakes.pi --mode rpc --nonsense 'two words'"
    )
    text = 'exited with status 1 before it answered, saying "Error: Unknown option: --nonsense"'
    assert asked(fake) == [Finding("error", KEY, text, by_hand)]


def test_a_child_on_an_old_node_is_told_so(tmp_path: Path) -> None:
    """PROTOCOL §1: on Node 20 a SyntaxError about enableCompileCache, then the version."""
    crash = (
        "import sys; sys.stderr.write('file:///opt/pi/cli.js:3\\n\\n"
        "SyntaxError: The requested module has no export enableCompileCache\\n    at x\\n\\nNode.js v20.20.2\\n"
        "'); sys.exit(1)"
    )
    text = (
        'exited with status 1 before it answered, saying "SyntaxError: The requested module has no export'
        ' enableCompileCache", "Node.js v20.20.2"'
    )
    found = asked(spec(tmp_path, sys.executable, "-c", crash))
    assert found == [Finding("error", KEY, text, "install Node 22.19 or newer, first on PATH")]


def test_a_secret_in_the_childs_words_or_command_is_not_repeated(tmp_path: Path) -> None:
    crash = "import sys; sys.exit('bad key sk-abcdefghijklmnop')"
    [found] = asked(spec(tmp_path, sys.executable, "-c", crash, "--api-key=sk-qrstuvwxyzabcdef"))
    assert found.text == 'exited with status 1 before it answered, saying "bad key [redacted]"'
    assert "sk-" not in found.line()


def test_a_child_that_dies_of_a_signal(tmp_path: Path) -> None:
    [found] = asked(spec(tmp_path, sys.executable, "-c", "import os; os.kill(os.getpid(), 11)"))
    assert found.text == "died of signal 11 before it answered"


def test_a_child_that_says_nothing_is_given_up(tmp_path: Path) -> None:
    [found] = asked(spec(tmp_path, sys.executable, "-c", "import sys; sys.stdin.read()"), bound=0.1)
    assert found.text == "did not answer within 0.1 seconds (engine.turn_timeout)"


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("no-such-program", "there is no command no-such-program"),
        ("./plain", "plain may not be executed"),
        ("./lost", "lost cannot be started, the interpreter in its first line is missing"),
    ],
)
def test_a_command_that_cannot_be_started(tmp_path: Path, command: str, text: str) -> None:
    """CONTRACT, exit code 3: not found, not executable."""
    (tmp_path / "plain").write_text("#!/bin/sh\n")
    (tmp_path / "lost").write_text("#!/no/such/interpreter\n")
    (tmp_path / "lost").chmod(0o700)
    [found] = asked(spec(tmp_path, command))
    assert (found.level, found.key) == ("error", KEY)
    assert found.text.endswith(text)
    assert found.mend
