"""Framing and decoding, and the whole engine, against plain readers of the same replayed turns: asyncio's `readline`
with `json.loads`, and pi's own `RpcClient` under pi's own Node, which `make contract` installs.

The stream is 100,000 deltas and 20 lines of 2 MB, in 20 turns of a tool and an answer, over and over. Each reader is a
process that has read all of it once before anything counts, so that imports and just-in-time compilation are over.
What is judged is the reader's own processor time, since all share the cores with whoever replays.
"""

import contextlib
import tempfile
from pathlib import Path

from tests.bench.asked import pairs
from tests.bench.pairs import Figure, figure
from tests.bench.pinned import pinned
from tests.bench.readers_how import Reader, Spent, reader, rpc_client
from tests.bench.stream import lay, turn

DELTAS, LONG_LINES, LONGEST = 100_000, 20, 2_000_000
PLAIN, RPC = "asyncio readline + json.loads", "pi's RpcClient"


def run() -> list[Figure]:
    """Framing and the engine, each by each of the others."""
    pi = pinned()
    with tempfile.TemporaryDirectory() as scratch, contextlib.ExitStack() as stack:
        folder = lay(Path(scratch), turn(DELTAS // LONG_LINES, LONGEST))
        readers = {role: stack.enter_context(reader(role, folder)) for role in ("framing", "engine", "plain")}
        client = pi.cli.parents[1] / "modes" / "rpc" / "rpc-client.js"
        readers["rpc"] = stack.enter_context(rpc_client(pi.node, client, folder))
        spent = measured(readers)
    cpu, wall = (
        {role: [getattr(one, kind) for one in all_] for role, all_ in spent.items()} for kind in Spent.__slots__
    )
    faster = {"at_most": False, "inverse": True}
    return [
        figure(f"framing and decoding, times faster than {PLAIN}", cpu["framing"], cpu["plain"], bound=4, **faster),
        figure(f"the whole engine, times faster than {PLAIN}", cpu["engine"], cpu["plain"], bound=2, **faster),
        figure(f"framing and decoding, times faster than {RPC}", cpu["framing"], cpu["rpc"], bound=None, **faster),
        figure(f"the whole engine, times faster than {RPC}", cpu["engine"], cpu["rpc"], bound=4, **faster),
        figure(f"the whole engine by the clock, than {RPC}", wall["engine"], wall["rpc"], bound=None, **faster),
    ]


def measured(readers: dict[str, Reader]) -> dict[str, list[Spent]]:
    """What each turn took each reader, all of them taking turns at going first: never less than the whole stream."""
    spent: dict[str, list[Spent]] = {role: [] for role in readers}
    order = list(readers)
    for number in range(-LONG_LINES, max(LONG_LINES, pairs())):
        for role in order:
            one = readers[role].turn()
            if number >= 0:
                spent[role].append(one)
        order.append(order.pop(0))
    return spent
