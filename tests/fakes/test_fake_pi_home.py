"""The fake pi reads what pi itself reads in its home: settings and models."""

import os
import sys
from pathlib import Path

import pytest

from fakes.raw_child import RawChild
from fakes.real_pi import Launch, write_home
from fakes.records import prompt

ROOT = Path(__file__).parents[2]


@pytest.mark.anyio
async def test_pis_own_settings_and_models_are_read(tmp_path: Path) -> None:
    env = write_home(tmp_path, {"retry": {"baseDelayMs": 30, "maxRetries": 1}}, "http://127.0.0.1:9/v1", 5000)
    command = (sys.executable, "-P", "-m", "fakes.pi", "--mode", "rpc", "--no-session")
    env = {**env, "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    async with RawChild.started(Launch(command, env, tmp_path / "workspace")) as pi:
        state = await pi.ask({"type": "get_state"})
        await pi.send(prompt("err429"))
        retry = await pi.until("auto_retry_start")
    assert state["data"]["model"]["contextWindow"] == 5000
    assert (retry["delayMs"], retry["maxAttempts"]) == (30, 1)
