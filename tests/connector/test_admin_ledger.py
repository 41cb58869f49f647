"""status, trace, reset-wedges and backup: folds over a ledger that its owner may have open at the same time."""

import asyncio
import json
import os
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from connector import admin, facts, ledger_read
from connector.clock import Clock
from connector.exits import ExitCode, Refusal
from connector.ledger import FILE, Ledger
from connector.ledger_schema import VERSION
from connector.settings import Settings
from engine import processes
from engine.events import SECOND

SEEN_AT = 1_800_000_000 * SECOND + 123_456_789
MESSAGE = 1_577_018_589_897_031_680
ASKED = "what is the answer, and is hunter2 safe?"


def claimed(message: int, *, lane: str = "700", round_: str = "", at: int = SEEN_AT) -> facts.Claimed:
    return facts.Claimed(
        round=round_ or str(message),
        lane=lane,
        channel=int(lane),
        message=message,
        reply_to=message,
        author=5,
        author_name="you",
        text=ASKED,
        at=at,
    )


@asynccontextmanager
async def owned(folder: Path, *new: facts.AnyFact) -> AsyncIterator[Ledger]:
    """The ledger as `run` has it open, with these facts in it."""
    ledger = Ledger.open(folder)
    try:
        for step, fact in enumerate(new):
            await ledger.commit([fact], at=SEEN_AT + step * SECOND)
        yield ledger
    finally:
        await ledger.close()


def while_up(folder: Path, new: Sequence[facts.AnyFact], look: Callable[[], Any]) -> Any:
    async def main() -> Any:
        async with owned(folder, *new):
            return look()

    folder.mkdir()

    return asyncio.run(main())


def settings(folder: Path, **more: dict[str, Any]) -> Settings:
    return Settings.model_validate({"state": {"dir": str(folder)}, **more})


ME = processes.identity(os.getpid())
assert ME is not None
STORY: tuple[facts.AnyFact, ...] = (
    claimed(MESSAGE),
    facts.ChildStarted(1, "700", ME.pid, ME.started),
    facts.ChildStarted(2, "701", ME.pid, "another start time"),
    facts.Written(str(MESSAGE), 1),
    facts.Started(str(MESSAGE)),
    claimed(MESSAGE + 1),
    claimed(7, lane="701"),
    facts.Ended("7", "dead", detail="key sk-abcdefghijklmnop was refused"),
    facts.Owed("7/notice/1", "7", 701, "notice", "given up", 7),
    facts.Gated("fake", "scripted", SEEN_AT + 60 * SECOND),
)


def test_status_is_a_fold_over_a_ledger_in_use(tmp_path: Path) -> None:
    """CONTRACT `status --json`: lanes, children, gate, dead, chain; a child that is gone is not shown."""
    told = while_up(tmp_path / "s", STORY, lambda: admin.overview(settings(tmp_path / "s"), {}).as_json())
    waiting = {"attempts": 0, "since": SEEN_AT // SECOND, "until": None}
    assert told == {
        "lanes": {
            "700": [
                waiting | {"message": str(MESSAGE), "round": str(MESSAGE), "phase": "running", "attempts": 1},
                waiting | {"message": str(MESSAGE + 1), "round": str(MESSAGE + 1), "phase": "waiting"},
            ],
            "701": [],
        },
        "children": [{"child": 1, "lane": "700", "pid": os.getpid()}],
        "gate": [{"provider": "fake", "model": "scripted", "until": SEEN_AT // SECOND + 60}],
        "dead": [{"message": "7", "round": "7", "lane": "701", "since": SEEN_AT // SECOND + 7}],
        "chain": 0,
    }
    assert json.loads(json.dumps(told)) == told


def test_status_lines_say_the_same_in_words(tmp_path: Path) -> None:
    lines = while_up(tmp_path / "s", STORY, lambda: admin.overview(settings(tmp_path / "s"), {}).lines())
    since = admin.clock(SEEN_AT // SECOND)
    assert lines == [
        f"lane 700: message {MESSAGE} running, since {since}, attempt 1",
        f"lane 700: message {MESSAGE + 1} waiting, since {since}",
        f"agent 1 of lane 700: process {os.getpid()}",
        f"gate: nothing is sent to fake/scripted until {admin.clock(SEEN_AT // SECOND + 60)}",
        "dead letters: 1, the last one message 7 in lane 701",
        "last exit: none",
        "failed starts in a row: 0 of 5",
    ]


def test_status_of_an_empty_ledger(tmp_path: Path) -> None:
    seen = while_up(tmp_path / "s", (), lambda: admin.overview(settings(tmp_path / "s"), {}))
    assert seen.as_json() == {"lanes": {}, "children": [], "gate": [], "dead": [], "chain": 0}
    assert seen.lines() == [
        "lanes: nothing runs or waits",
        "dead letters: none",
        "last exit: none",
        "failed starts in a row: 0 of 5",
    ]


def test_a_message_that_quotes_a_dead_letter_is_none(tmp_path: Path) -> None:
    text = '{"fact":"ended","round":"9","code":"dead"}'
    quote = facts.Claimed("9", "700", 700, 9, 9, 5, "you", text, SEEN_AT)
    assert while_up(tmp_path / "s", (quote,), lambda: admin.overview(settings(tmp_path / "s"), {}).dead) == ()


def test_trace_tells_every_step_with_time_and_reason_and_no_text(tmp_path: Path) -> None:
    """CONTRACT `trace --json`; texts as lengths, ids as texts, no secret."""
    name = str(MESSAGE)
    story = (
        claimed(MESSAGE),
        facts.Written(name, 1),
        facts.Backoff(name, SEEN_AT + 30 * SECOND, "status 429"),
        facts.StopMarked(name, 1_577_018_589_897_031_999, said="stop it"),
        facts.Ended(name, "stopped", detail="key sk-abcdefghijklmnop was refused"),
    )
    found = while_up(tmp_path / "s", story, lambda: admin.trace(settings(tmp_path / "s"), {}, MESSAGE))
    at = [f"2027-01-15T08:00:0{second}.123456Z" for second in range(5)]
    assert found.as_json() == {
        "message_id": name,
        "lane": "700",
        "state": "stopped",
        "steps": [
            {
                "at": at[0],
                "step": "claimed",
                "round": name,
                "channel": 700,
                "reply_to": name,
                "author": 5,
                "author_name": "you",
                "text_characters": len(ASKED),
            },
            {"at": at[1], "step": "written", "round": name, "child": 1},
            {
                "at": at[2],
                "step": "backoff",
                "round": name,
                "until": "2027-01-15T08:00:30.123456Z",
                "reason": "status 429",
            },
            {
                "at": at[3],
                "step": "stopped",
                "round": name,
                "by": "1577018589897031999",
                "said_characters": 7,
            },
            {"at": at[4], "step": "ended", "round": name, "code": "stopped", "detail": "key [redacted] was refused"},
        ],
    }
    assert found.lines() == [
        f"message {name} in lane 700: stopped",
        f"round {name}",
        f"  {at[0]} claimed channel=700 reply_to={name} author=5 author_name=you text_characters={len(ASKED)}",
        f"  {at[1]} written child=1",
        f'  {at[2]} backoff until=2027-01-15T08:00:30.123456Z reason="status 429"',
        f"  {at[3]} stopped by=1577018589897031999 said_characters=7",
        f'  {at[4]} ended code=stopped detail="key [redacted] was refused"',
    ]


def test_trace_follows_a_message_over_all_its_rounds_and_tells_where_the_last_one_is(tmp_path: Path) -> None:
    name = str(MESSAGE)
    story = (claimed(MESSAGE), facts.Ended(name, "dead"), claimed(MESSAGE, round_=f"{name}.2"))
    found = while_up(tmp_path / "s", story, lambda: admin.trace(settings(tmp_path / "s"), {}, MESSAGE))
    told = found.as_json()
    assert told["state"] == "waiting"
    assert [(step["round"], step["step"]) for step in told["steps"]] == [
        (name, "claimed"),
        (name, "ended"),
        (f"{name}.2", "claimed"),
    ]


def test_trace_of_an_unknown_message_is_none(tmp_path: Path) -> None:
    assert while_up(tmp_path / "s", STORY, lambda: admin.trace(settings(tmp_path / "s"), {}, 4)) is None


def test_reset_wedges_records_that_the_row_is_forgotten(tmp_path: Path) -> None:
    """BEHAVIOUR §6: also while `run` is up, as a fact of its own; nothing is taken away."""
    now = Clock().now()
    falls = (facts.Up(now), facts.Fell(now, "wedge"), facts.Up(now), facts.Fell(now, "wedge"))
    rules = settings(tmp_path / "s", supervision={"max_wedges": 2})

    def look() -> None:
        before = admin.overview(rules, {})
        assert before.as_json()["chain"] == 2
        assert before.lines()[-1] == (
            "failed starts in a row: 2 of 2; the next start refuses: see the log for why, mend it, then run"
            " pi-connector reset-wedges"
        )
        assert admin.reset_wedges(rules, {}) == ("forgot 2 failed starts in a row; pi-connector run may start again")
        after = admin.overview(rules, {})
        assert after.as_json()["chain"] == 0
        assert after.known.chain[:4] == falls
        assert isinstance(after.known.chain[4], facts.Forgiven)

    while_up(tmp_path / "s", falls, look)


def test_a_backup_is_one_consistent_file_for_the_owner_alone(tmp_path: Path) -> None:
    """The copy needs no companion, holds what was committed when it was taken, and leaves the ledger in use alone."""
    copy = tmp_path / "copy.sqlite"

    async def main() -> None:
        async with owned(tmp_path / "s", *STORY) as ledger:
            told = await asyncio.to_thread(admin.backup, settings(tmp_path / "s"), {}, copy)
            assert told == f"copied {tmp_path / 's' / FILE} to {copy}"
            await ledger.commit([claimed(8)], at=SEEN_AT)
            assert await ledger.known_messages([8]) == {8}

    (tmp_path / "s").mkdir()
    asyncio.run(main())
    assert copy.stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.sqlite", "s"]
    (tmp_path / "restored").mkdir()
    copy.rename(tmp_path / "restored" / FILE)
    rules = settings(tmp_path / "restored")
    assert len(admin.overview(rules, {}).as_json()["lanes"]["700"]) == 2
    assert admin.trace(rules, {}, MESSAGE) is not None
    assert admin.trace(rules, {}, 8) is None


def test_a_backup_overwrites_nothing(tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("precious")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")

    def look() -> None:
        rules = settings(tmp_path / "s")
        for target, words in (
            (taken, f"{taken} exists already"),
            (tmp_path / "link", f"{tmp_path / 'link'} exists already"),
            (tmp_path, f"{tmp_path} is a folder"),
            (tmp_path / "no" / "x", f"{tmp_path / 'no' / 'x'} cannot be written: No such file or directory"),
        ):
            with pytest.raises(Refusal) as refused:
                admin.backup(rules, {}, target)
            assert refused.value.reason == words

    while_up(tmp_path / "s", STORY, look)
    assert taken.read_text() == "precious"
    assert not (tmp_path / "nowhere").exists()


def test_a_backup_that_fails_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = sqlite3.connect

    def failing(target: Any, **options: Any) -> sqlite3.Connection:
        if target == tmp_path / "copy":
            raise sqlite3.OperationalError("disk I/O error")
        opened: sqlite3.Connection = real(target, **options)
        return opened

    def look() -> None:
        monkeypatch.setattr(sqlite3, "connect", failing)
        with pytest.raises(Refusal, match="disk I/O error"):
            admin.backup(settings(tmp_path / "s"), {}, tmp_path / "copy")

    while_up(tmp_path / "s", STORY, look)
    assert not (tmp_path / "copy").exists()


ASKS: tuple[Callable[[Settings], object], ...] = (
    lambda rules: admin.overview(rules, {}),
    lambda rules: admin.trace(rules, {}, MESSAGE),
    lambda rules: admin.reset_wedges(rules, {}),
    lambda rules: admin.backup(rules, {}, Path(rules.state.dir or "") / "copy"),
)


@pytest.mark.parametrize("ask", ASKS)
def test_without_a_ledger_the_path_is_named_and_nothing_made(tmp_path: Path, ask: Callable[[Settings], object]) -> None:
    """CONTRACT: commands that read a ledger exit 3 and name the path where there is none."""
    with pytest.raises(Refusal) as refused:
        ask(settings(tmp_path))
    assert refused.value.code == ExitCode.REFUSED
    assert refused.value.reason == f"there is no ledger {tmp_path / FILE}"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ask", ASKS)
def test_a_ledger_of_another_version_or_a_damaged_one_is_left_as_it_is(
    tmp_path: Path, ask: Callable[[Settings], object]
) -> None:
    path = tmp_path / FILE
    for version, words in ((VERSION + 1, "newer than this program"), (0, "older than this program")):
        with sqlite3.connect(path) as db:
            db.execute(f"PRAGMA user_version = {version}")
        db.close()
        with pytest.raises(Refusal, match=words) as refused:
            ask(settings(tmp_path))
        assert str(path) in refused.value.reason
    path.write_bytes(b"no database at all, but long enough to be looked at as one" * 20)
    before = path.read_bytes()
    with pytest.raises(Refusal, match="file is not a database") as refused:
        ask(settings(tmp_path))
    assert str(path) in refused.value.reason
    assert path.read_bytes() == before


def test_looking_writes_nothing(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "one") as db:
        db.execute(f"PRAGMA user_version = {VERSION}")
    db.close()
    with ledger_read.opened(tmp_path / "one") as looked, pytest.raises(sqlite3.OperationalError, match="readonly"):
        looked.execute("CREATE TABLE x (y)")


def test_an_instance_means_the_state_folder_of_its_unit(tmp_path: Path) -> None:
    """CONTRACT: `--instance NAME`, state `pi-connector/NAME`; only the service itself is told where that is."""
    environ = {"HOME": str(tmp_path / "home")}
    of_unit = Settings.model_validate({"instance": "main"})
    at_home = tmp_path / "home" / ".local" / "state" / "pi-connector" / "main"
    assert admin.ledger_folder(of_unit, environ, system=tmp_path) == at_home
    (tmp_path / "main").mkdir()
    assert admin.ledger_folder(of_unit, environ, system=tmp_path) == tmp_path / "main"
    assert admin.ledger_folder(of_unit, environ | {"STATE_DIRECTORY": "/s"}, system=tmp_path) == Path("/s")
    elsewhere = Settings.model_validate({"instance": "main", "state": {"dir": "/e"}})
    assert admin.ledger_folder(elsewhere, environ, system=tmp_path) == Path("/e")
