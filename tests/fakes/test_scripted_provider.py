"""The scripted provider: what it does for a script's words, and what a client on its socket gets."""

import asyncio
import datetime
import json
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from fakes.behaviour import Call, Drop, Hang, Http, Text, Tools
from fakes.provider import Provider
from fakes.provider_words import Script, rate_limited

START = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)
HEADER = "[discord] #general · Ada (1001) · "


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def ask(script: Script, *texts: str, seconds: float = 0) -> Call:
    return script.behaviour([user(text) for text in texts], START + datetime.timedelta(seconds=seconds))


def test_a_text_without_a_script_word_is_echoed_without_its_header() -> None:
    assert ask(Script(), f"{HEADER}2001\n\nhello there") == Text("echo: hello there")


def test_the_newest_user_text_decides() -> None:
    assert ask(Script(), "hang", "hello") == Text("echo: hello")
    assert ask(Script(), "hello", "hang") == Hang()


def test_a_tool_is_asked_for_once_and_answered_after_its_result() -> None:
    script = Script()
    first = script.behaviour([user("tool 100")], START)
    second = script.behaviour([user("tool 100"), {"role": "tool", "content": "tool done"}], START)

    assert isinstance(first, Tools)
    assert [(tool.name, tool.args) for tool in first.tools] == [("bash", {"command": "sleep 0.100; echo tool done"})]
    assert second == Text("echo: tool 100")


def test_failures_count_over_the_repeats_of_one_message_and_not_for_another() -> None:
    """BEHAVIOUR §2.1: a re-ask is the same message under a header of its own."""
    script = Script()
    said = [
        ask(script, f"{HEADER}2001\n\nerr429 2"),
        ask(script, f"{HEADER}2001\n[asked again]\n\nerr429 2"),
        ask(script, f"{HEADER}2001\n[asked again]\n\nerr429 2"),
        ask(script, f"{HEADER}2002\n\nerr429 2"),
    ]

    assert [each.status if isinstance(each, Http) else each for each in said] == [
        429,
        429,
        Text("echo: err429 2"),
        429,
    ]


def test_a_drop_is_had_once() -> None:
    script = Script()

    assert isinstance(ask(script, "drop"), Drop)
    assert ask(script, "drop") == Text("echo: drop")


def test_a_quota_names_its_reset_and_answers_from_then_on() -> None:
    script = Script()
    first, second, third = (ask(script, "quota 60", seconds=seconds) for seconds in (0, 59, 60))

    assert isinstance(first, Http)
    assert first == second
    assert first.message.endswith("it resets at 2030-01-01T00:01:00+00:00")
    assert third == Text("echo: quota 60")


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    async with Provider() as provider:
        yield provider


async def post(port: int, text: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = json.dumps({"messages": [user(text)]}).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    return reader, writer


async def answer(port: int, text: str) -> tuple[str, list[Any]]:
    """Return the status line and the JSON documents of the answer to one call."""
    reader, writer = await post(port, text)
    async with asyncio.timeout(5):
        head, _, body = (await reader.read()).decode().partition("\r\n\r\n")
    writer.close()
    await writer.wait_closed()
    lines = [line.removeprefix("data: ") for line in body.split("\n")]
    return head.split("\r\n")[0], [json.loads(line) for line in lines if line.startswith("{")]


@pytest.mark.anyio
async def test_a_text_is_streamed_in_pieces_with_finish_and_usage(provider: Provider) -> None:
    status, chunks = await answer(provider.port, "abcdef")

    deltas = [chunk["choices"][0]["delta"].get("content") for chunk in chunks]
    assert status == "HTTP/1.1 200 OK"
    assert deltas == ["", "echo", ": ab", "cdef", None]
    assert chunks[-1]["choices"][0]["finish_reason"] == "stop"
    assert chunks[-1]["usage"] == {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    assert [(call.number, call.user_text, call.outcome) for call in provider.calls] == [(1, "abcdef", "answered")]


@pytest.mark.anyio
async def test_what_was_pushed_comes_first(provider: Provider) -> None:
    provider.push(rate_limited())

    assert await answer(provider.port, "hello") == (
        "HTTP/1.1 429 Scripted",
        [
            {
                "error": {
                    "message": "Rate limit reached",
                    "type": "rate_limit_error",
                    "code": "rate_limit_exceeded",
                }
            }
        ],
    )
    assert (await answer(provider.port, "hello"))[0] == "HTTP/1.1 200 OK"


@pytest.mark.anyio
async def test_a_gate_holds_a_text_back_and_a_client_that_goes_away_is_seen(provider: Provider) -> None:
    provider.push(Text("held"), gate=asyncio.Event())
    reader, writer = await post(provider.port, "hello")
    async with asyncio.timeout(5):
        await reader.readuntil(b'"content": "he"')
    assert provider.calls[0].outcome == "open"

    writer.close()
    await writer.wait_closed()

    await provider.wait_for(lambda p: p.calls[0].outcome == "cut")


@pytest.mark.anyio
async def test_as_a_program_it_prints_its_port_serves_and_ends_on_sigterm() -> None:
    program = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-P", "-m", "fakes.provider", "--port", "0"),
        cwd=Path(__file__).parents[2],
        env={"PYTHONPATH": str(Path(__file__).parents[2])},
        stdout=asyncio.subprocess.PIPE,
    )
    assert program.stdout is not None
    try:
        async with asyncio.timeout(5):
            port = int(await program.stdout.readline())
            status, chunks = await answer(port, "hello")
            program.send_signal(signal.SIGTERM)
            assert (status, len(chunks), await program.wait()) == ("HTTP/1.1 200 OK", 5, 0)
    finally:
        if program.returncode is None:
            program.kill()
            await program.wait()
