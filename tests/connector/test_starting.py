"""What `run` asks the child beside the rest of a start: when it is asked, and that nothing is left of it."""

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from connector import started
from connector.logs import Logs
from connector.settings import LogSettings
from connector.settings_load import load
from connector.starting import Ahead, Program
from connector.token import Secret, Token
from engine import processes

FAKE_PI = [sys.executable, "-P", "-m", "fakes.pi", "--mode", "rpc"]


def ahead(folder: Path, child: Sequence[str] = FAKE_PI) -> Ahead:
    """The questions of a start, by default with the scripted child, which logs into `log`."""
    config = folder / "connector.toml"
    env = f'{{ FAKE_PI_LOG = "{folder / "log"}" }}'
    config.write_text(f'[agent]\ncommand = {json.dumps(child)}\ncwd = "{folder}"\nenv = {env}\n')
    return Ahead(Program(load(config, None, {}), Token(Secret("x"), "a test"), {}, Logs(LogSettings(), sys.stderr)))


def seen(folder: Path) -> list[str]:
    """What the child was given and how it went, in order."""
    lines = map(json.loads, (folder / "log").read_text().splitlines())
    return [line["command"]["type"] if line["kind"] == "command" else line["kind"] for line in lines]


def test_what_started_is_asked_once_the_start_is_over_or_has_lasted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []
    over = asyncio.Event()
    monkeypatch.setattr(started, "facts", lambda *_: asked.append(over.is_set()))

    async def start() -> None:
        facts = asyncio.create_task(ahead(tmp_path).facts(over, 3600.0))
        for _ in range(5):
            await asyncio.sleep(0)
        over.set()
        await facts
        over.clear()
        await ahead(tmp_path).facts(over, 0.0)

    asyncio.run(start())
    assert asked == [True, False]


def test_the_first_answer_is_under_way_and_its_child_is_gone_at_the_end(tmp_path: Path) -> None:
    async def start() -> None:
        first = ahead(tmp_path)
        first.begin()
        assert await first.meet() == ""
        assert seen(tmp_path).count("get_state") == 1
        assert await first.meet() == ""
        assert seen(tmp_path).count("get_state") == 2
        await first.close()

    asyncio.run(start())
    assert seen(tmp_path).count("exit") == 2


def test_an_answer_that_nobody_waits_for_any_more_leaves_no_child(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pid")

    async def start() -> int:
        first = ahead(tmp_path, ["sh", "-c", f"echo $$ > {tmp_path / 'pid'}; exec sleep 3600"])
        first.begin()
        pid = int(await asyncio.to_thread((tmp_path / "pid").read_text))
        assert pid in processes.table()
        await first.close()
        return pid

    assert asyncio.run(start()) not in processes.table()


def test_an_answer_that_was_asked_anew_and_given_up_leaves_no_child(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pid")

    async def start() -> int:
        first = ahead(tmp_path, ["sh", "-c", f"echo $$ > {tmp_path / 'pid'}; exec sleep 3600"])
        meeting = asyncio.create_task(first.meet())
        pid = int(await asyncio.to_thread((tmp_path / "pid").read_text))
        meeting.cancel()
        await asyncio.wait({meeting})
        await first.close()
        return pid

    assert asyncio.run(start()) not in processes.table()
