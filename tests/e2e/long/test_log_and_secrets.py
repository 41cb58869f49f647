"""What a run logs, by CONTRACT's list, and what it never says anywhere: the token, and at info what people wrote."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from connector import admin
from connector.settings_load import load
from fakes.discord import FakeDiscord
from fakes.program import Home, Line, Running, tool_shown

pytestmark = pytest.mark.anyio

MakeHome = Callable[..., Home]

BOUND_WHERE_KNOWN = {"lane", "message_id", "child", "attempt"}
FIELDS = {
    "connector.started": {
        "version",
        "head",
        "dirty",
        "runtime_digest",
        "config_digest",
        "python",
        "child_version",
        "last_exit",
        "wedges_in_a_row",
        "recovered",
        "dead",
    },
    "connector.ready": set[str](),
    "connector.stopped": {"code", "reason"},
    "message.accepted": {"lane", "message_id"},
    "message.ignored": {"lane", "message_id", "reason"},
    "turn.sent": BOUND_WHERE_KNOWN,
    "turn.started": {"lane", "message_id", "child"},
    "turn.ended": {*BOUND_WHERE_KNOWN, "outcome", "seconds"},
    "turn.retry_scheduled": {"lane", "message_id", "seconds", "reason"},
    "turn.stopped": {"lane"},
    "message.dead": {"lane", "message_id"},
    "steer.sent": BOUND_WHERE_KNOWN,
    "steer.consumed": {"lane", "message_id", "child"},
    "wait.interrupted": {"lane", "message_id", "child"},
    "engine.wedged": {"lane", "child"},
    "engine.exit": {"lane", "child", "code", "expected", "swept"},
    "gateway.backfilled": {"count"},
}
"""CONTRACT, What is logged; `connector.refused` has its own tests."""


def files_of(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def environment(pid: int) -> str:
    """What a process was started with, `NAME=value` entries separated by NUL."""
    return Path(f"/proc/{pid}/environ").read_bytes().decode()


def lacking(lines: list[Line]) -> dict[str, set[str]]:
    """The events that have a line without one of their fields, with these fields."""
    found: dict[str, set[str]] = {}
    for line in lines:
        if absent := FIELDS.get(line["event"], set()) - set(line):
            found[line["event"]] = absent
    return found


async def eventful(world: FakeDiscord, run: Running) -> None:
    """A life with a rate limit, a steer, an interrupted wait, a Stop, and a dead letter in the end."""
    ann, stranger, private = world.person("ann"), world.person("stranger"), world.dm(world.person("ann"))
    await world.say(stranger, world.channel("general"), "echo xyzzy", mention=True)
    await run.ended(await world.say(ann, private, "err429 4"))
    words = await world.say(ann, private, "slow 1500 xyzzy")
    await run.logged("turn.started", 3)
    steered = await world.say(ann, private, "echo xyzzy steered")
    await run.ended(words, steered)
    waiting = await world.say(ann, private, "tool 60000")
    await tool_shown(world, private)
    hanging = await world.say(ann, private, "hang")
    await run.ended(waiting)
    await run.logged("turn.started", 5)
    await world.say(ann, private, "stop")
    await run.ended(hanging)
    await world.say(ann, private, "die")
    assert await run.exit() == 1


async def test_a_run_logs_every_event_of_the_contract_with_its_fields_and_at_info_nobodys_words(
    world: FakeDiscord, home: MakeHome
) -> None:
    """CONTRACT, What is logged."""
    ann = world.person("ann")
    private = world.dm(ann)
    here = home(
        discord={"progress": "live"},
        agent={"env": {"FAKE_PI_SCALE": "1000"}},
        retry={"backoff": [0.05], "max_attempts": 1},
        steering={"long_wait": 0.5},
        engine={"turn_timeout": 3, "abort_grace": 0.2, "kill_after": 1},
        log={"level": "info"},
    )
    async with here.running() as run:
        await run.ready()
        await eventful(world, run)
        assert "xyzzy" not in "\n".join(run.raw)
        lines = run.lines
    away = await world.say(ann, private, "echo away")
    async with here.running(environ={"PI_CONNECTOR_LOG__LEVEL": "debug"}) as run:
        await run.ready()
        await world.say(ann, world.channel("general"), "nobody is addressed")
        await run.ended(away)
        await world.say(ann, private, "mute")
        assert await run.exit() == 1
        lines += run.lines
    assert lacking(lines) == {}
    assert set(FIELDS) - {line["event"] for line in lines} == set()
    assert "raw" not in {line["event"] for line in lines}
    ignored = {(line["reason"], line["level"]) for line in lines if line["event"] == "message.ignored"}
    assert {("person-not-allowed", "info"), ("not-mentioned", "debug")} <= ignored
    assert [line["count"] > 0 for line in lines if line["event"] == "gateway.backfilled"] == [True]


def printed(here: Home, message: int, copy: Path) -> list[str]:
    """What the other commands say about this home; the backup goes to `copy`."""
    settings = load(here.config, None, {})
    overview, trace = admin.overview(settings, {}), admin.trace(settings, {}, message)
    assert trace is not None
    told = [json.dumps([overview.as_json(), trace.as_json()]), *overview.lines(), *trace.lines()]
    return [*told, admin.backup(settings, {}, copy)]


async def test_the_token_and_foreign_variables_reach_no_log_no_file_no_post_and_no_child(
    world: FakeDiscord, home: MakeHome
) -> None:
    """CONTRACT, What the child sees; `agent.env_pass`; `state.dir`: folders of mode 0700, files 0600.

    Every sink there is: the log, each request to Discord with its files, all of the state folder and a backup of its
    ledger, what each other command prints, and what the child was given, wrote and was started with.
    """
    ann = world.person("ann")
    secrets = {"DISCORD_TOKEN": "some.other.token", "UNRELATED": "some-secret"}
    here = home(log={"level": "debug"})
    async with here.running(environ={**secrets, "PI_CONNECTOR_LANES__CAPACITY": "400"}) as run:
        await run.ready()
        said = await world.say(ann, world.dm(ann), "echo hello")
        await run.ended(said)
        given = environment(here.children()[0])
        modes = {oct(path.stat().st_mode & 0o777) for path in files_of(here.state)}
        told = printed(here, said, here.folder / "copy")
        assert await run.stop() == 0
    told += [*run.raw, *(str((r.body, r.query, r.headers)) for r in world.requests), given, here.child_log.read_text()]
    told += [path.read_bytes().decode("latin-1") for path in files_of(here.folder)]
    for secret in (world.token, *secrets.values()):
        assert [text for text in told if secret in text] == []
    allowed = {"PATH", "HOME", "LANG", "FAKE_PI_LOG", "PI_CODING_AGENT_DIR", "PI_GENERATION"}
    assert {entry.partition("=")[0] for entry in given.split("\0") if entry} - allowed == set()
    assert (modes, oct(here.state.stat().st_mode & 0o777)) == ({"0o600"}, "0o700")
