"""A real, unmodified discord.py client pointed at the fake Discord, for tests; changes no behaviour but the pauses."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from typing import Any

import discord
import yarl
from discord import app_commands
from discord.gateway import DiscordWebSocket
from discord.http import Route

from fakes.discord import FakeDiscord
from fakes.waiting import Changes


@contextlib.contextmanager
def pointed(world: FakeDiscord) -> Iterator[None]:
    """While it lasts, every discord.py client of this process talks to `world`.

    Both addresses are set: with the first alone the token would go to the real gateway.
    """
    base, gateway = Route.BASE, DiscordWebSocket.DEFAULT_GATEWAY
    Route.BASE = world.rest_base
    DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(world.gateway_url)
    try:
        yield
    finally:
        Route.BASE = base
        DiscordWebSocket.DEFAULT_GATEWAY = gateway


class Client(discord.Client):
    """discord.py without its pauses, which records what it is told: `seen` holds (event, arguments) in order."""

    def __init__(self, **options: Any) -> None:
        intents = options.pop("intents", None)
        if intents is None:
            intents = discord.Intents.default()
            intents.message_content = True
        super().__init__(intents=intents, guild_ready_timeout=0.01, **options)
        self.tree = app_commands.CommandTree(self)
        self.seen: list[tuple[str, tuple[Any, ...]]] = []
        self.changes = Changes(lambda: f"seen: {[name for name, _ in self.seen[-20:]]}")

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        """Five seconds in discord.py, before each IDENTIFY but the first."""

    def dispatch(self, event: str, /, *args: Any, **kwargs: Any) -> None:
        """Record, then do as always."""
        self.seen.append((event, args))
        super().dispatch(event, *args, **kwargs)
        self.changes.tell()

    def got(self, event: str) -> list[Any]:
        """The first argument (None without one) of each event of this name."""
        return [args[0] if args else None for name, args in self.seen if name == event]

    async def until(self, event: str, count: int = 1) -> Any:
        """The first argument of the `count`th event of this name, once it came."""
        await self.changes.until(lambda: len(self.got(event)) >= count, what=f"event {event} no. {count}")
        return self.got(event)[count - 1]

    def texts(self) -> list[str]:
        """What was said, by message event, the bot's own included."""
        return [message.content for message in self.got("message")]


@contextlib.asynccontextmanager
async def running(world: FakeDiscord, client: Client) -> AsyncIterator[asyncio.Task[None]]:
    """The client, ready; its task is given. Whatever ended it early is raised instead of waiting for ready."""
    with pointed(world):
        task = asyncio.create_task(client.start(world.token))
        try:
            ready = asyncio.create_task(client.until("ready"))
            await asyncio.wait({task, ready}, return_when=asyncio.FIRST_COMPLETED)
            if not ready.done():
                ready.cancel()
                await task
                raise AssertionError("the client ended by itself before it was ready")
            await ready
            yield task
        finally:
            await client.close()
            with contextlib.suppress(asyncio.CancelledError, discord.DiscordException, OSError):
                await task
