"""An OpenAI-style completions server on loopback that does what it is told; it serves the real pi in tests.

A call is answered by the next behaviour pushed, else by the script words of its newest user text.
Every call is kept with its request and its end. `python -m fakes.provider --port 0` prints its port.
"""

import argparse
import asyncio
import collections
import contextlib
import datetime
import json
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self, assert_never

from fakes import behaviour
from fakes.behaviour import Drop, Hang, Http, Recount, RefuseConnection, Stall, Text, Tools
from fakes.provider_words import Script, user_texts
from fakes.waiting import BOUND


@dataclass(slots=True, eq=False)
class Call:
    """One request: its number from 1, its JSON body, the behaviour chosen, and how it ended.

    `gate` holds a text back after its first piece. `outcome` is "open", then "answered" (the behaviour was done to its
    end) or "cut" (the client went first).
    """

    number: int
    body: dict[str, Any]
    behaviour: behaviour.Call
    gate: asyncio.Event | None = None
    outcome: Literal["open", "answered", "cut"] = "open"

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation as the model would see it."""
        messages: list[dict[str, Any]] = self.body.get("messages", [])
        return messages

    @property
    def user_text(self) -> str:
        """The newest user text of the conversation."""
        return (user_texts(self.messages) or [""])[-1]


class Provider:
    """The server; an async context manager. `calls` holds every call in order of arrival."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.port = 0
        self._pushed: collections.deque[tuple[behaviour.Call, asyncio.Event | None]] = collections.deque()
        self._script = Script()
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._news = asyncio.Event()

    @property
    def base_url(self) -> str:
        """The address that belongs into pi's models.json."""
        return f"http://127.0.0.1:{self.port}/v1"

    def push(self, *behaviours: behaviour.Call, gate: asyncio.Event | None = None) -> None:
        """Queue behaviours: each of the next calls takes one, whatever its text says.

        With a `gate` they send their first piece of text and wait for it before the next.
        """
        self._pushed.extend((each, gate) for each in behaviours)

    async def wait_for(self, predicate: Callable[[Self], bool]) -> None:
        """Wait until the predicate holds, asked at each arrival and end of a call; raises TimeoutError."""
        async with asyncio.timeout(BOUND):
            while not predicate(self):
                self._news.clear()
                await self._news.wait()

    async def start(self, port: int = 0) -> None:
        """Listen on loopback; port 0 takes a free one."""
        self._server = await asyncio.start_server(self._client, "127.0.0.1", port, limit=1 << 26)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Stop listening and drop every connection."""
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()
        for task in list(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            # One request a connection: what closes is then that call, and nothing else.
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await self._serve(reader, writer)
        finally:
            self._connections.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        fields = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
        body = await reader.readexactly(int(fields.get("content-length", "0")))
        if not head[0].startswith("POST /v1/chat/completions "):
            writer.write(_response(404, {"error": {"message": "not served here"}}))
            await writer.drain()
            return
        call = self._accept(json.loads(body))
        work = asyncio.ensure_future(self._answer(writer, call))
        gone = asyncio.ensure_future(reader.read(1))  # b"" when the client goes away
        try:
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
            done = work.done() and not work.cancelled() and work.exception() is None
            call.outcome = "answered" if done else "cut"
        finally:
            work.cancel()
            gone.cancel()
            await asyncio.gather(work, gone, return_exceptions=True)
            self._news.set()

    def _accept(self, body: dict[str, Any]) -> Call:
        call = Call(len(self.calls) + 1, body, *self._next(body))
        self.calls.append(call)
        self._news.set()
        return call

    def _next(self, body: dict[str, Any]) -> tuple[behaviour.Call, asyncio.Event | None]:
        if self._pushed:
            return self._pushed.popleft()
        return self._script.behaviour(body.get("messages", []), datetime.datetime.now(datetime.UTC)), None

    async def _answer(self, writer: asyncio.StreamWriter, call: Call) -> None:
        stream = _Stream(writer, call.number, call.gate)
        match call.behaviour:
            case Http() as failure:
                await asyncio.sleep(failure.wait_ms / 1000)
                writer.write(_response(failure.status, _error(failure)))
                await writer.drain()
            case Text() as answer:
                await asyncio.sleep(answer.wait_ms / 1000)
                await stream.open()
                if answer.think:
                    await stream.send({"reasoning_content": answer.think})
                await stream.text(answer.text, answer.chunks, answer.chunk_ms)
                await stream.end(answer.finish, *answer.usage)
            case Tools(tools, text):
                await stream.open()
                await stream.text(text)
                for index, tool in enumerate(tools):
                    await stream.tool(index, tool.name, tool.args)
                await stream.end("tool_calls")
            case Stall(text, chunks):
                await stream.open()
                await stream.text(text, chunks)
                await asyncio.Event().wait()
            case Drop(text, chunks):
                await stream.open()
                await stream.text(text, chunks)
            case Hang():
                await asyncio.Event().wait()
            case RefuseConnection():
                pass
            case Recount():
                raise TypeError("Recount is a word of the script: push the Text that is wanted")
            case _ as other:
                assert_never(other)


class _Stream:
    """A server-sent stream of completion chunks on one connection."""

    def __init__(self, writer: asyncio.StreamWriter, number: int, gate: asyncio.Event | None) -> None:
        self._writer = writer
        self._number = number
        self._gate = gate

    async def open(self) -> None:
        """Send the headers and the role."""
        self._writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        await self.send({"role": "assistant", "content": ""})

    async def send(self, delta: Mapping[str, Any], finish: str | None = None, **more: Any) -> None:
        chunk = {
            "id": f"resp-{self._number}",
            "object": "chat.completion.chunk",
            "created": 0,
            "model": "scripted",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
            **more,
        }
        self._writer.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
        await self._writer.drain()

    async def text(self, text: str, chunks: int = 1, chunk_ms: float = 0) -> None:
        """Send the text in pieces, and wait after each."""
        step = max(1, -(-len(text) // chunks))
        for start in range(0, len(text), step):
            await self.send({"content": text[start : start + step]})
            if self._gate is not None:
                await self._gate.wait()
            if chunk_ms:
                await asyncio.sleep(chunk_ms / 1000)

    async def tool(self, index: int, name: str, arguments: Mapping[str, Any]) -> None:
        """Send a tool call as providers do: the name, then the arguments; its id is `call_CALL_INDEX`."""
        call = {"index": index, "id": f"call_{self._number}_{index}", "type": "function"}
        await self.send({"tool_calls": [{**call, "function": {"name": name, "arguments": ""}}]})
        await self.send({"tool_calls": [{"index": index, "function": {"arguments": json.dumps(arguments)}}]})

    async def end(self, finish: str, tokens_in: int = 100, tokens_out: int = 10) -> None:
        total = tokens_in + tokens_out
        usage = {"prompt_tokens": tokens_in, "completion_tokens": tokens_out, "total_tokens": total}
        await self.send({}, finish, usage=usage)
        self._writer.write(b"data: [DONE]\n\n")
        await self._writer.drain()


def _error(failure: Http) -> dict[str, Any]:
    fields = {"message": failure.message, "type": failure.kind, "code": failure.code}
    return {"error": {name: value for name, value in fields.items() if value}}


def _response(status: int, body: Mapping[str, Any]) -> bytes:
    payload = json.dumps(body).encode()
    head = (
        f"HTTP/1.1 {status} Scripted\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(payload)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + payload


async def _serve_until_told(port: int) -> None:
    told = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, told.set)
    provider = Provider()
    await provider.start(port)
    sys.stdout.write(f"{provider.port}\n")
    sys.stdout.flush()
    await told.wait()
    await provider.stop()


def main() -> None:
    """Serve on loopback until SIGINT or SIGTERM; the first line of standard output is the port."""
    parser = argparse.ArgumentParser(prog="python -m fakes.provider", description="A scripted LLM provider.")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one, which is printed")
    asyncio.run(_serve_until_told(parser.parse_args().port))


if __name__ == "__main__":
    main()
