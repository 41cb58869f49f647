"""The counterpart of a start and of idling: discord.py's client with its defaults, which does nothing.

`python -m tests.bench.bare_client REST GATEWAY [CHILD…]`: connects, with a child only once that has given its first
answer, and then says so as a service does. It reads the token from standard input.
"""

import asyncio
import os
import socket
import sys

import discord
import yarl
from discord.gateway import DiscordWebSocket
from discord.http import Route


class Bare(discord.Client):
    """discord.py's fixed wait for further guilds (2 s) is taken out: the connector has none where none is missing."""

    def __init__(self, child: list[str]) -> None:
        intents = discord.Intents.default()
        intents.message_content = True
        super().__init__(intents=intents, guild_ready_timeout=0.0)
        self._child = child

    async def setup_hook(self) -> None:
        if not self._child:
            return
        pipe = asyncio.subprocess.PIPE
        child = await asyncio.create_subprocess_exec(*self._child, stdin=pipe, stdout=pipe)
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(b'{"type":"get_state","id":"1"}\n')
        while b'"response"' not in await child.stdout.readline():
            continue

    async def on_ready(self) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.sendto(b"READY=1", os.environ["NOTIFY_SOCKET"].replace("@", "\0", 1))


def main() -> None:
    Route.BASE = sys.argv[1]
    DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(sys.argv[2])
    Bare(sys.argv[3:]).run(sys.stdin.readline().strip(), log_handler=None)


if __name__ == "__main__":
    main()
