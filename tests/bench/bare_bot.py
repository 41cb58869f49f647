"""The counterpart: a bare discord.py bot with the durable inserts that the rules demand, and nothing else.

`python -m tests.bench.bare_bot REST GATEWAY DB LOG`: a button press is recorded and written to the stdin of the
same scripted child; a message is recorded, given to that child as a prompt, its answer recorded and posted. One that
says "sign" is recorded and gets a reaction.
"""

import asyncio
import json
import os
import sqlite3
import sys
import time
from pathlib import Path

import discord
import yarl
from discord.gateway import DiscordWebSocket
from discord.http import Route

from fakes.program import FAKE_PI


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
            *FAKE_PI,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "FAKE_PI_LOG": self._log},
            limit=1 << 24,
        )

    async def on_ready(self) -> None:
        Path(self._log + ".ready").write_text(str(time.monotonic_ns()))

    def record(self, body: str) -> None:
        self._db.execute("INSERT INTO facts (body) VALUES (?)", (body,))

    def give(self, **command: str) -> None:
        assert self._child.stdin is not None
        self._child.stdin.write(json.dumps(command).encode() + b"\n")

    async def on_interaction(self, interaction: discord.Interaction) -> None:
        self.record(f"stop {interaction.id}")
        data: dict[str, object] = dict(interaction.data or {})
        self.give(type="abort", id=str(data.get("custom_id")))
        await interaction.response.defer()

    async def on_message(self, message: discord.Message) -> None:
        if message.author == self.user or self.user not in message.mentions:
            return
        self.record(f"claim {message.id} {message.content}")
        if message.content.endswith("sign"):
            await message.add_reaction("👀")
            return
        self.give(type="prompt", id=str(message.id), message=f"[discord] #general · ann (1) · {message.id}\n\nhello")
        assert self._child.stdout is not None
        while b'"agent_settled"' not in await self._child.stdout.readline():
            continue
        self.record(f"answer {message.id}")
        await message.channel.send(f"echo {message.id}", reference=message, nonce=str(message.id)[-20:])


def main() -> None:
    rest, gateway, database, log = sys.argv[1:]
    Route.BASE = rest
    DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(gateway)
    Bare(database, log).run(sys.stdin.readline().strip(), log_handler=None)


if __name__ == "__main__":
    main()
