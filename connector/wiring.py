"""Settings turned into the values that the parts take; it builds no part and starts nothing."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

from connector import fetching
from connector.access import Rules
from connector.children import Nursery
from connector.commands_session import SESSION_COMMANDS
from connector.download import Doors
from connector.environment import child_spec, plain_environment
from connector.gateway import Options
from connector.inbox import Inbox
from connector.interactions import COMMANDS
from connector.lane_base import LaneRules
from connector.logs import Log
from connector.outgoing import Bounds, Outgoing
from connector.pictures import AT_ONCE, Worker
from connector.ports import Discord
from connector.settings import Settings, nanoseconds
from connector.spend import Caps
from connector.token import Token
from engine.events import Limits


def access_rules(settings: Settings) -> Rules:
    """The access settings as the rules take them."""
    access = settings.access
    return Rules(
        guilds=access.guilds,
        channels=access.channels,
        users=access.users,
        roles=access.roles,
        operators=access.operators,
        dms=access.dms,
        bots=access.bots,
        respond=settings.lanes.respond,
    )


def lane_rules(settings: Settings, outboxes: Path) -> LaneRules:
    """The bounds of the lanes, durations in nanoseconds; `outboxes` is the folder that holds theirs."""
    return LaneRules(
        busy=settings.lanes.busy,
        capacity=settings.lanes.capacity,
        per_person=settings.lanes.per_person,
        bot_turns=settings.access.bot_turns,
        max_children=settings.agent.max_children,
        idle_timeout=nanoseconds(settings.agent.idle_timeout),
        backoff=tuple(nanoseconds(step) for step in settings.retry.backoff),
        max_attempts=settings.retry.max_attempts,
        quota_hold=nanoseconds(settings.retry.quota_hold),
        drain=nanoseconds(settings.supervision.drain),
        kill_after=nanoseconds(settings.engine.kill_after),
        run_grace=nanoseconds(settings.engine.run_grace),
        abort_grace=nanoseconds(settings.engine.abort_grace),
        spend=Caps(settings.spend.person_day, settings.spend.lane_day, settings.spend.total_day),
        outboxes="" if settings.agent.remote else str(outboxes),
    )


def outgoing(settings: Settings, state: Path) -> Outgoing:
    """Where files that answers name may lie, and their bounds."""
    bounds = Bounds(settings.files.max_bytes, settings.files.max_message)
    return Outgoing(state, settings.cwd, bounds, remote=settings.agent.remote)


def limits(settings: Settings) -> Limits:
    """The engine's bounds in nanoseconds."""
    engine = settings.engine
    return Limits(
        turn_timeout=nanoseconds(engine.turn_timeout),
        tool_timeout=nanoseconds(engine.tool_timeout),
        turn_limit=nanoseconds(engine.turn_limit),
        abort_grace=nanoseconds(engine.abort_grace),
        run_grace=nanoseconds(engine.run_grace),
        dialog=nanoseconds(settings.agent.dialog_timeout),
    )


def nursery(settings: Settings, environ: Mapping[str, str], prepare: Callable[[str], None]) -> Nursery:
    """How children of the pool are started; `prepare` makes a lane's outbox before its child."""
    return Nursery(
        spec=child_spec(settings, environ),
        limits=limits(settings),
        max_line=settings.engine.max_line,
        long_wait=nanoseconds(settings.steering.long_wait),
        prepare=prepare,
    )


def discord_options(settings: Settings, token: Token) -> Options:
    """How Discord is reached."""
    api = settings.discord
    return Options(
        token=token.secret.reveal(),
        api_base=api.api_base if api.custom_api else None,
        gateway_url=api.gateway_url if api.custom_api else None,
        roles=settings.access.roles,
        guilds=settings.access.guilds,
        commands=(*COMMANDS, *SESSION_COMMANDS),
    )


def file_tools(
    settings: Settings, environ: Mapping[str, str], state: Path, discord: Discord, log: Log
) -> fetching.Tools:
    """How files of messages are brought into the inboxes below the state folder."""
    api = settings.discord
    return fetching.Tools(
        fetching.Bounds(
            max_bytes=settings.files.max_bytes,
            max_message=settings.files.max_message,
            remote=settings.agent.remote,
            doors=Doors(api.api_base if api.custom_api else None),
        ),
        Inbox(state, settings.files.max_lane),
        Worker(plain_environment(environ), log, asyncio.Semaphore(AT_ONCE)),
        discord,
        log,
    )
