"""The command line as a process: exit codes, streams, and what `run` does before the connector is up."""

import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from connector import check, cli, hidden, run_process
from connector.findings import Finding

BOUND = 20.0
TOKEN = "a-token-that-nobody-may-see"

INSTEAD = """
import collections, ctypes, faulthandler, os, sys, types

async def run(program):
    log = program.logs.log
    log.info("seen", token=program.token.secret.reveal(), variable=os.environ.get("DISCORD_TOKEN"),
             dumpable=ctypes.CDLL(None).prctl(3, 0, 0, 0, 0), faulthandler=faulthandler.is_enabled())
    {then}

app = sys.modules["connector.starting"] = types.ModuleType("connector.starting")
app.run = run
app.Program = collections.namedtuple("Program", "settings token environ logs manager")
from connector.cli import main
main()
"""
"""`run` with something else than a connector behind it, which is also much quicker to import."""


def environment(**more: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return kept | more


def call(*arguments: str, module: tuple[str, ...] = ("-m", "connector"), **more: str) -> Any:
    return subprocess.run(
        [sys.executable, "-P", *module, *arguments],
        env=environment(**more),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=BOUND,
        check=False,
    )


@dataclass(frozen=True)
class Done:
    returncode: int | str | None
    stdout: str
    stderr: str


@pytest.fixture
def inside(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """The console script in this process, which stays as it is: for commands that start nothing."""
    monkeypatch.setattr(hidden, "hide_process", lambda: True)

    def call_main(*arguments: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["pi-connector", *arguments])
        with pytest.raises(SystemExit) as end:
            cli.main()
        said = capsys.readouterr()
        return Done(end.value.code, said.out, said.err)

    return call_main


def config(tmp_path: Path, text: str = "[access]\nusers = [1]\n") -> Path:
    path = tmp_path / "config" / "connector.toml"
    path.parent.mkdir()
    path.write_text(f'{text}\n[agent]\ncwd = "{tmp_path}"\n[state]\ndir = "{tmp_path / "state"}"\n')
    return path


def events(stderr: str) -> list[dict[str, Any]]:
    """Standard error of `run`: one JSON object a line, and nothing else (CONTRACT, What is logged)."""
    return [json.loads(line) for line in stderr.splitlines()]


def test_version() -> None:
    done = call("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{metadata.version('pi-discord-connector')}\n", "")


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("nonsense",),
        ("run", "--nonsense"),
        ("run", "extra"),
        ("status", "extra"),
        ("trace",),
        ("trace", "no-number"),
        ("backup",),
        ("demo", "--child", "cat"),
        ("demo", "--port", "70000"),
        ("status", "--config", "x", "--instance", "y"),
        ("run", "--config", "x", "--instance", "y"),
    ],
)
def test_usage_errors_exit_2(inside: Callable[..., Done], arguments: tuple[str, ...]) -> None:
    done = inside(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Usage: " in done.stderr
    assert "Traceback" not in done.stderr


PLAIN = [
    (("run",), (None, None)),
    (("run", "--config", "a b/c.toml"), (Path("a b/c.toml"), None)),
    (("run", "--instance", "home"), (None, "home")),
]
OTHERWISE = [
    (("run", "--config=c.toml"), (Path("c.toml"), None)),
    (("run", "--instance="), (None, "")),
    (("run", "--config", ""), (Path(), None)),
    (("run", "--config", "-odd"), (Path("-odd"), None)),
    (("run", "--instance", "one", "--instance", "two"), (None, "two")),
]


@pytest.mark.parametrize(("words", "given"), PLAIN + OTHERWISE)
def test_run_is_read_alike_with_typer_and_without(
    inside: Callable[..., Done],
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    given: tuple[Path | None, str | None],
) -> None:
    """`run` as the unit calls it goes past typer, which says the same of it."""
    heard = []

    def run(*found: Path | str | None) -> int:
        heard.append(found)
        return 3

    monkeypatch.setattr(run_process, "run", run)
    assert inside(*words) == Done(3, "", "")
    monkeypatch.setattr(cli, "plain_run", lambda _: None)
    assert inside(*words) == Done(3, "", "")
    assert heard == [given, given]


def test_what_run_is_told_beyond_its_plain_forms_is_left_to_typer() -> None:
    others = [*OTHERWISE, (("run", "--help"), ()), (("run", "--config"), ()), (("run", "extra"), ()), (("check",), ())]
    assert [cli.plain_run(words) for words, _ in others] == [None] * len(others)
    assert [cli.plain_run(words) for words, _ in PLAIN] == [given for _, given in PLAIN]


def test_the_commands_of_the_contract_are_there(inside: Callable[..., Done]) -> None:
    shown = inside("--help").stdout.partition("Commands:")[2]
    names = [line.split()[0] for line in shown.splitlines() if line.startswith("  ") and line[2] != " "]
    assert names == ["run", "check", "init", "demo", "status", "trace", "reset-wedges", "backup"]


@pytest.mark.parametrize("arguments", [("status",), ("trace", "5"), ("reset-wedges",), ("backup", "copy")])
def test_without_a_ledger_the_path_is_named(
    inside: Callable[..., Done], tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    done = inside(*arguments, "--config", str(config(tmp_path)))
    mend = "name the settings of a connector that has run (--config or --instance)"
    line = f"error: there is no ledger {tmp_path / 'state' / 'ledger.sqlite'}; {mend}\n"
    assert (done.returncode, done.stdout, done.stderr) == (3, "", line)


def test_check_prints_one_line_a_finding(inside: Callable[..., Done], tmp_path: Path) -> None:
    """CONTRACT `check`: on standard output, naming the key and the mend."""
    path = config(tmp_path, '[access]\n[lanes]\nrespnd = "all"\n')
    done = inside("check", "--config", str(path))
    line = f"error: lanes.respnd: unknown key; the nearest known one is lanes.respond ({path})\n"
    assert (done.returncode, done.stdout, done.stderr) == (3, line, "")


@pytest.mark.parametrize(
    ("findings", "shown"),
    [
        ((), "ok\n"),
        ((Finding("warning", "a.b", "is so", "do that"),), "warning: a.b: is so; do that\n"),
    ],
)
def test_check_exits_0_without_errors(
    inside: Callable[..., Done],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    findings: tuple[Finding, ...],
    shown: str,
) -> None:
    """CONTRACT `check`: 0 without errors, `ok` when there is no finding."""

    async def found(*_: object, online: bool, handed: object) -> tuple[Finding, ...]:
        assert (online, handed) == (True, None)
        return findings

    monkeypatch.setattr(check, "check", found)
    assert inside("check", "--online", "--config", str(config(tmp_path))) == Done(0, shown, "")


def test_run_refuses_bad_settings_with_3_and_one_event(tmp_path: Path) -> None:
    path = config(tmp_path, "[access]\nuser = [1]\n")
    done = call("run", "--config", str(path))
    [event] = events(done.stderr)
    assert (done.returncode, done.stdout) == (3, "")
    assert event["event"] == "connector.refused"
    assert event["reason"] == f"error: access.user: unknown key; the nearest known one is access.users ({path})"


def test_run_refuses_without_a_token(tmp_path: Path) -> None:
    done = call("run", "--config", str(config(tmp_path)))
    [event] = events(done.stderr)
    assert (done.returncode, event["event"]) == (3, "connector.refused")
    assert event["reason"].startswith("error: discord.token_file: there is no token; ")


def test_run_refuses_where_nobody_is_allowed_before_anything_is_made(tmp_path: Path) -> None:
    """CONTRACT `access`: an error, exit 3."""
    done = call("run", "--config", str(config(tmp_path, "")), DISCORD_TOKEN=TOKEN)
    assert done.returncode == 3
    assert [(event["event"], event["reason"].partition(";")[0]) for event in events(done.stderr)] == [
        ("connector.refused", "error: access.users: with users, roles and operators empty nobody is served")
    ]
    assert not (tmp_path / "state").exists()


def test_run_hides_the_token_from_environment_log_and_other_processes(tmp_path: Path) -> None:
    """NOTES, The process: not dumpable before the token is read; the variable is gone, the log knows the value."""
    code = INSTEAD.format(then="return 0")
    done = call("run", "--config", str(config(tmp_path)), module=("-c", code), DISCORD_TOKEN=TOKEN)
    [event] = events(done.stderr)
    told = {key: event[key] for key in ("event", "token", "variable", "dumpable", "faulthandler")}
    assert done.returncode == 0
    assert told == {
        "event": "seen",
        "token": "[redacted]",
        "variable": None,
        "dumpable": 0 if sys.platform == "linux" else event["dumpable"],
        "faulthandler": True,
    }


@pytest.mark.parametrize(
    ("then", "code", "last"),
    [
        ("return 0", 0, "seen"),
        ("return 1", 1, "seen"),
        ("from connector.exits import Refusal; raise Refusal('cannot', 'mend it')", 3, "connector.refused"),
        ("from connector.exits import Fault; raise Fault('broke')", 1, "connector.stopped"),
        ("raise RuntimeError(program.token.secret.reveal())", 1, "connector.stopped"),
    ],
)
def test_how_run_ends(tmp_path: Path, then: str, code: int, last: str) -> None:
    """CONTRACT, exit codes of `run`: a refusal is 3, everything unexpected is 1; logged, and never the token."""
    done = call("run", "--config", str(config(tmp_path)), module=("-c", INSTEAD.format(then=then)), DISCORD_TOKEN=TOKEN)
    told = events(done.stderr)
    assert (done.returncode, told[-1]["event"]) == (code, last)
    assert TOKEN not in done.stderr
    if last == "connector.stopped":
        assert told[-1]["code"] == 1
    if "Runtime" in then:
        assert told[-1]["reason"] == "internal fault: RuntimeError('[redacted]')"
        assert "Traceback" in told[-1]["exception"]


def test_a_start_brings_nothing_that_it_does_not_need_yet(tmp_path: Path) -> None:
    """Each of these costs every start its time, and most of them every run its memory."""
    unneeded = ["PIL", "aiohttp.web", "fakes", "markdown_it", "prometheus_client", "rich", "typer"]
    then = (
        "del sys.modules['connector.starting']; import connector.starting, connector.app; "
        f"log.info('brought', modules=sorted(set(sys.modules) & set({unneeded}))); return 0"
    )
    done = call("run", "--config", str(config(tmp_path)), module=("-c", INSTEAD.format(then=then)), DISCORD_TOKEN=TOKEN)
    assert [event["modules"] for event in events(done.stderr) if event["event"] == "brought"] == [[]]


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_before_the_connector_is_up_is_an_orderly_one(tmp_path: Path, signum: signal.Signals) -> None:
    """CONTRACT: 0 after SIGTERM or SIGINT; also while it still waits for its token, and without a traceback."""
    announce = (
        "import connector.token as t\nreal = t.read_token\n"
        "def read(*a, **k):\n    print('waiting', flush=True)\n    return real(*a, **k)\n"
        "t.read_token = read\nfrom connector.cli import main\nmain()\n"
    )
    path = config(tmp_path, '[access]\nusers = [1]\n[discord]\ntoken_file = "-"\n')
    with subprocess.Popen(
        [sys.executable, "-P", "-c", announce, "run", "--config", str(path)],
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waiting\n"
        process.send_signal(signum)
        assert process.wait(BOUND) == 0
        assert process.stderr is not None
        [event] = events(process.stderr.read())
    assert (event["event"], event["code"]) == ("connector.stopped", 0)


def test_a_second_instance_is_refused_and_the_working_folder_cannot_shadow_us(tmp_path: Path) -> None:
    """CONTRACT: exit 3 while another one holds the state folder; `-P` keeps agent.cwd off the path."""
    (tmp_path / "state").mkdir(mode=0o700)
    (tmp_path / "connector.py").write_text("raise SystemExit(99)")
    with (tmp_path / "state" / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(
            [sys.executable, "-P", "-m", "connector", "run", "--config", str(config(tmp_path))],
            env=environment(DISCORD_TOKEN=TOKEN),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=BOUND,
            check=False,
        )
    last = events(done.stderr)[-1]
    assert (done.returncode, last["event"]) == (3, "connector.refused")
    assert last["reason"] == f"another instance holds the state folder {tmp_path / 'state'}"
