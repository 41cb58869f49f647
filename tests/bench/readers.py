"""Readers of the same replayed turns, each in a process of its own: plainly, by our framing, by our whole engine.

`python -m tests.bench.readers ROLE FOLDER`: for each line on standard input one turn is asked for and read to its
`agent_settled`; then a line of JSON tells the processor time of this process and the wall time that took, ns.
`rpc_client.mjs` is the fourth, for pi's own client.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from engine import pi
from engine.child import Child, ChildSpec
from engine.commands import Prompt, encode
from engine.events import Effect, Limits, Released, Submit, Text
from engine.runner import Engine
from engine.wire import Framer
from tests.bench.readers_how import LONGEST, command

Turn = Callable[[int], Awaitable[None]]
"""Asks for one turn, and returns when it was read."""


async def plain(folder: str) -> Turn:
    """asyncio's `readline` and `json.loads`."""
    pipe = asyncio.subprocess.PIPE
    child = await asyncio.create_subprocess_exec(*command(folder), stdin=pipe, stdout=pipe, limit=LONGEST)
    stdin, stdout = child.stdin, child.stdout
    assert stdin is not None
    assert stdout is not None

    async def turn(number: int) -> None:
        stdin.write(encode(Prompt(f"p{number}", "hello")))
        while json.loads(await stdout.readline())["type"] != "agent_settled":
            continue

    return turn


async def framing(folder: str) -> Turn:
    """The child's pipe as the engine reads it, and our framing."""
    child = await Child.spawn(_spec(folder), 1)
    framer, settled = Framer(LONGEST), asyncio.Event()

    def take(chunk: bytes) -> None:
        if any(isinstance(line, pi.AgentSettled) for line in framer.read(chunk)[-1:]):
            settled.set()

    reading = asyncio.create_task(child.pump(take))

    async def turn(number: int) -> None:
        settled.clear()
        child.write(encode(Prompt(f"p{number}", "hello")))
        await asyncio.wait({reading, waiting := asyncio.create_task(settled.wait())}, return_when="FIRST_COMPLETED")
        waiting.result()

    return turn


async def engine(folder: str) -> Turn:
    """The whole engine: child, framing and core with its queue."""
    released = asyncio.Event()

    def tell(told: tuple[Effect, ...], _: bool) -> None:
        if any(isinstance(effect, Released) for effect in told):
            released.set()

    running = await Engine.start(_spec(folder), Limits(), generation=1, max_line=LONGEST, tell=tell)

    async def turn(number: int) -> None:
        released.clear()
        running.give(Submit(f"t{number}", Text("hello")))
        await released.wait()

    return turn


ROLES = {"plain": plain, "framing": framing, "engine": engine}


async def serve(role: str, folder: str) -> None:
    """Turn by turn, as standard input asks."""
    turn = await ROLES[role](folder)
    loop, number = asyncio.get_running_loop(), 0
    while await loop.run_in_executor(None, sys.stdin.readline):
        number += 1
        cpu, wall = time.process_time_ns(), time.perf_counter_ns()
        await turn(number)
        spent = {"cpu": time.process_time_ns() - cpu, "wall": time.perf_counter_ns() - wall}
        print(json.dumps(spent), flush=True)


def _spec(folder: str) -> ChildSpec:
    return ChildSpec(command(folder), str(Path.cwd()), dict(os.environ), 5.0)


if __name__ == "__main__":
    asyncio.run(serve(*sys.argv[1:]))
