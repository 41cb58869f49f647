"""The counterpart: a bare discord.py bot with the durable inserts that the rules demand, and nothing else.

`python -m tests.bench.bare_bot REST GATEWAY DB LOG`: a button press is recorded and written to the stdin of a child
that logs when it came; a message is recorded, written to that child, its echo recorded and posted.
"""

import asyncio
import sqlite3
import sys
import time
from pathlib import Path

import discord
import yarl
from discord.gateway import DiscordWebSocket
from discord.http import Route

CHILD = """
import sys, time
for line in sys.stdin.buffer:
    with open(sys.argv[1], "ab", 0) as log:
        log.write(b"%d %s" % (time.monotonic_ns(), line))
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
"""


class Bare(discord.Client):
    """Records, relays, answers."""

    def __init__(self, database: str, log: str) -> None:
        intents = discord.Intents.default()
        intents.message_content = True
        super().__init__(intents=intents)
        self._log = log
        self._db = sqlite3.connect(database, isolation_level=None)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute("CREATE TABLE IF NOT EXISTS facts (seq INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT")
        self._child: asyncio.subprocess.Process

    async def setup_hook(self) -> None:
        self._child = await asyncio.create_subprocess_exec(
            sys.executable, "-c", CHILD, self._log, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )

    async def on_ready(self) -> None:
        Path(self._log + ".ready").write_text(str(time.monotonic_ns()))

    def record(self, body: str) -> None:
        self._db.execute("INSERT INTO facts (body) VALUES (?)", (body,))

    def give(self, text: str) -> None:
        assert self._child.stdin is not None
        self._child.stdin.write(text.encode() + b"\n")

    async def on_interaction(self, interaction: discord.Interaction) -> None:
        self.record(f"stop {interaction.id}")
        data: dict[str, object] = dict(interaction.data or {})
        self.give(f"abort {data.get('custom_id')}")
        await interaction.response.defer()

    async def on_message(self, message: discord.Message) -> None:
        if message.author == self.user or self.user not in message.mentions:
            return
        self.record(f"claim {message.id} {message.content}")
        self.give(f"prompt {message.id}")
        assert self._child.stdout is not None
        await self._child.stdout.readline()
        self.record(f"answer {message.id}")
        await message.channel.send(f"echo {message.id}", reference=message, nonce=str(message.id)[-20:])


def main() -> None:
    rest, gateway, database, log = sys.argv[1:]
    Route.BASE = rest
    DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(gateway)
    Bare(database, log).run(sys.stdin.readline().strip(), log_handler=None)


if __name__ == "__main__":
    main()
