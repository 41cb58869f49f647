"""The outgoing half of Discord: every call bounded, every failure one of two values; it repeats nothing."""

import asyncio
import io
import json
import mimetypes
import re
from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from typing import Any, assert_never

import aiohttp
import discord
from discord.http import Route
from msgspec import Struct

from connector import gateway_facts as read
from connector.gateway_facts import Json
from connector.gateway_files import same_files
from connector.gateway_lookups import Lookups
from connector.gateway_values import snowflake
from connector.logs import Log
from connector.messages import Attachment, Message, Place
from connector.ports import Button, Control, Controls, Menu, Part, PostLater, PostNever, PostOther

MESSAGES = "/channels/{channel_id}/messages"
MESSAGE = MESSAGES + "/{message_id}"
REACTION = MESSAGE + "/reactions/{emoji}/@me"
CHANNEL = "/channels/{channel_id}"

_BANNED = 60.0
_DAY = 86_400.0
_PAGE = 100
_LOOK = 10
_ARCHIVED = 50083
_UNKNOWN_MESSAGE = 10008
_THREAD_EXISTS = 160004
_NO_REPLY = {_UNKNOWN_MESSAGE, 160002}
_INVALID = 50035
_STYLES = {"primary": 1, "secondary": 2, "success": 3, "danger": 4}
_ROW = 5
_ARCHIVE_MINUTES = 1440
_THREAD_NAME = 100
_SLOWEST = 100_000
"""Bytes a second that an upload is allowed to need."""


class Wire:
    """One request at a time as a value or an error of ours; `client` gives the logged-in client, or None.

    `limit` bounds each request in seconds: discord.py's own retries included, a hung one lasts no longer.
    """

    def __init__(self, client: Callable[[], discord.Client | None], log: Log, limit: float) -> None:
        self._client, self._log, self.limit = client, log, limit

    async def ask(
        self,
        method: str,
        path: str,
        *,
        limit: float | None = None,
        read: Callable[[Any], Any] = lambda reply: reply,
        **wanted: Any,
    ) -> Any:
        """What `read` makes of the reply's JSON; a reply that it cannot read is half of one, and no answer yet.

        `wanted`: the path's parameters by name, and `json`, `params`, `form`, `files`, `metadata`. Raises PostLater or
        PostNever; the latter's `code` is Discord's.
        """
        client = self._client()
        if client is None:
            raise PostLater("not logged in")
        sent = {name: wanted.pop(name) for name in ("json", "params", "form", "files") if name in wanted}
        try:
            async with asyncio.timeout(limit or self.limit):
                return read(await client.http.request(Route(method, path, **wanted), **sent))
        except (PostLater, PostNever):
            raise  # what was read says so itself
        except Exception as error:
            # discord.py may raise more than it says (a closed session, a rate limit without its number), and so may
            # `read`; the caller is promised two errors, and "it may stand there or not" is true of all of them.
            found = translated(error)
            if found is None:
                self._log.warning("discord.call_failed", route=f"{method} {path}", exc_info=True)
                found = PostLater(f"{type(error).__name__}: {error}")
            raise found from error


def translated(error: Exception) -> PostLater | PostNever | None:
    """What a failed request means; None for an error that no request should raise."""
    match error:
        case discord.RateLimited():
            return PostLater("rate limited", _bounded(error.retry_after))
        case discord.HTTPException(status=429):
            return PostLater("rate limited", _retry_after(error))
        case discord.HTTPException(status=status) if status >= 500 or status in (401, 408):
            # 401: the gateway learns of a bad token too, and ends the program with what to do.
            return PostLater(f"Discord answered {status}")
        case discord.HTTPException():
            return PostNever(f"{error.status} {error.text} (code {error.code})", error.code)
        case TimeoutError():
            return PostLater("no reply in time")
        case RuntimeError() if str(error) == "Session is closed":  # aiohttp's only sign that we are on our way out
            return PostLater("not logged in")
        case aiohttp.ClientError() | OSError():
            return PostLater(f"{type(error).__name__}: {error}")
        case _:
            return None


def _retry_after(error: discord.HTTPException) -> float:
    """Cloudflare's limit names its end in a header, if at all."""
    try:
        return _bounded(float(error.response.headers["Retry-After"]))
    except (KeyError, ValueError):
        return _BANNED


def _bounded(after: float) -> float:
    """A wait that Discord named; one that is no number, negative or longer than a day is none that it means."""
    return after if 0 <= after <= _DAY else _BANNED


class _Page(Struct, frozen=True):
    """Part of a channel's history; `last` is the id behind which more may follow."""

    whole: list[Json]
    last: int | None


class Calls:
    """The half of `ports.Discord` that asks."""

    def __init__(self, wire: Wire, lookups: Lookups, us: Callable[[], int], log: Log) -> None:
        self._wire, self._lookups, self._us, self._log = wire, lookups, us, log

    async def post(self, part: Part) -> int:
        """Post it and return its message id; with a known nonce Discord returns the old message's.

        Raises PostOther where what came back is not what was sent.
        """
        try:
            return await self._post(part, part.reply_to)
        except PostNever as error:
            if error.code == _ARCHIVED:
                await self._unarchive(part.channel)
                raise PostLater("the thread was archived and is opened again") from error
            if not part.reply_to or not _about_reply(error):
                raise
            return await self._post(part, 0)

    async def _post(self, part: Part, reply_to: int) -> int:
        def stands(reply: Any) -> int:
            return _id_of(reply, part)

        payload: dict[str, Any] = {
            "content": part.content,
            "nonce": part.nonce,
            "enforce_nonce": True,
            "allowed_mentions": {"parse": [], "replied_user": True},
        }
        # A thread's id is that of the message it was opened on, which stands in another channel.
        if reply_to and reply_to != part.channel:
            payload["message_reference"] = {
                "message_id": str(reply_to),
                "channel_id": str(part.channel),
                "fail_if_not_exists": False,
            }
        if part.buttons:
            payload["components"] = rows(part.buttons)
        if not part.files:
            posted = await self._wire.ask("POST", MESSAGES, channel_id=part.channel, json=payload, read=stands)
            return int(posted)
        payload["attachments"] = [{"id": n, "filename": one.name} for n, one in enumerate(part.files)]
        files = [discord.File(io.BytesIO(one.data), one.name) for one in part.files]
        form: list[dict[str, Any]] = [{"name": "payload_json", "value": json.dumps(payload)}]
        for n, (one, file) in enumerate(zip(part.files, files, strict=True)):
            kind = mimetypes.guess_type(one.name)[0] or "application/octet-stream"
            form.append({"name": f"files[{n}]", "value": file.fp, "filename": one.name, "content_type": kind})
        limit = self._wire.limit + sum(one.length for one in part.files) / _SLOWEST
        posted = await self._wire.ask(
            "POST", MESSAGES, channel_id=part.channel, form=form, files=files, limit=limit, read=stands
        )
        return int(posted)

    async def _unarchive(self, channel: int) -> None:
        await self._wire.ask("PATCH", CHANNEL, channel_id=channel, json={"archived": False})

    async def edit(self, channel: int, message: int, content: str, buttons: Controls = ()) -> None:
        """Replace content and buttons of one of our messages."""
        payload = {"content": content, "components": rows(buttons), "allowed_mentions": {"parse": []}}
        await self._opened("PATCH", MESSAGE, channel_id=channel, message_id=message, json=payload)

    async def react(self, channel: int, message: int, sign: str) -> None:
        """Add one reaction of ours."""
        await self._opened("PUT", REACTION, channel_id=channel, message_id=message, emoji=sign)

    async def unreact(self, channel: int, message: int, sign: str) -> None:
        """Remove one reaction of ours."""
        await self._opened("DELETE", REACTION, channel_id=channel, message_id=message, emoji=sign)

    async def _opened(self, method: str, path: str, **wanted: Any) -> None:
        """Ask, and where the thread is archived open it first: only a post does that by itself."""
        try:
            await self._wire.ask(method, path, **wanted)
        except PostNever as error:
            if error.code != _ARCHIVED:
                raise
            await self._unarchive(wanted["channel_id"])
            raise PostLater("the thread was archived and is opened again") from error

    async def typing(self, channel: int) -> None:
        """Show the typing line for about ten seconds."""
        await self._wire.ask("POST", CHANNEL + "/typing", channel_id=channel)

    async def history(self, channel: int, after: int, limit: int = 100) -> list[Message]:
        """Messages newer than `after`, oldest first, at most `limit` (≤ 100); fewer: there are no more."""
        found: list[Message] = []
        place = await self._lookups.place(channel)
        while len(found) < limit:
            page = await self._page(channel, after=after)
            for data in page.whole:
                if read.spoken(data) and len(found) < limit:
                    found.append(await self._message(data, place))
            if page.last is None:
                break
            after = page.last
        return found

    async def files(self, channel: int, message: int) -> tuple[Attachment, ...]:
        """The files of a message as Discord names and signs them now, those of what was forwarded with it behind."""
        data = await self._wire.ask("GET", MESSAGE, channel_id=channel, message_id=message)
        if not _readable(data):
            raise PostNever("Discord's reply is no message")
        return read.message(data, Place(channel, ""), us=self._us()).all_files

    async def newest(self, channel: int) -> int:
        """The id of the newest message anybody said in a channel, 0 where there is none among the last hundred."""
        page = await self._page(channel)
        return max((int(data["id"]) for data in page.whole if read.spoken(data)), default=0)

    async def posted_with(self, channel: int, part: Part, after: int) -> int | None:
        """Our own message in this channel newer than `after` that has this part's nonce or content, if any."""
        return await self._own(channel, after, lambda data: self._is(data, part))

    async def shown_with(self, channel: int, control: str, after: int) -> int | None:
        """Our own message in this channel newer than `after` that has a control of this `custom_id`, if any."""
        return await self._own(channel, after, lambda data: control in read.controls(data))

    async def _own(self, channel: int, after: int, wanted: Callable[[Json], bool]) -> int | None:
        """One of our own messages behind `after` that is wanted; at most the newest thousand are looked at."""
        before: dict[str, int] = {}
        for _ in range(_LOOK):
            page = await self._page(channel, **before)
            for data in page.whole:
                if int(data["id"]) > after and int(data["author"]["id"]) == self._us() and wanted(data):
                    return int(data["id"])
            if page.last is None or int(page.whole[0]["id"]) <= after:
                return None
            before = {"before": int(page.whole[0]["id"])}
        return None

    def _is(self, data: Json, part: Part) -> bool:
        """Whether a message of the history is this part. Discord tells no nonces there; where it does, it decides."""
        if data.get("nonce") is not None:
            return str(data["nonce"]) == part.nonce
        referred = read.referred(data)
        if part.reply_to and referred is not None and referred != part.reply_to:
            return False
        return same(data["content"], part.content) and same_files(data.get("attachments") or (), part.files)

    async def _message(self, data: Json, place: Place) -> Message:
        member = data.get("member")
        writer = read.author(data, us=self._us())
        roles = frozenset[int]()
        if not writer.bot:
            roles = await self._lookups.roles(writer.id, place.guild, member)
        return read.message(data, place, us=self._us(), roles=roles)

    async def _page(self, channel: int, **params: int) -> "_Page":
        """A hundred messages, oldest first; what is malformed among them is left out."""
        page: list[Any] = await self._wire.ask(
            "GET", MESSAGES, channel_id=channel, params={"limit": _PAGE, **params}, read=_listed
        )
        whole = sorted((data for data in page if _readable(data)), key=lambda data: int(data["id"]))
        if len(whole) < len(page):
            self._log.warning("gateway.malformed", kind="history", count=len(page) - len(whole))
        more = len(page) >= _PAGE and bool(whole)
        return _Page(whole, int(whole[-1]["id"]) if more else None)

    async def open_thread(self, channel: int, message: int, name: str) -> int:
        """Open a thread on a message, or find the one that a lost reply left there: its id (the message's own)."""
        payload = {"name": name[:_THREAD_NAME].strip() or "pi", "auto_archive_duration": _ARCHIVE_MINUTES}
        try:
            await self._wire.ask(
                "POST",
                MESSAGE + "/threads",
                channel_id=channel,
                message_id=message,
                json=payload,
                read=self._lookups.learn,
            )
        except PostNever as error:
            if error.code != _THREAD_EXISTS:
                raise
            await self._wire.ask("GET", CHANNEL, channel_id=message, read=self._lookups.learn)
        return message


def rows(controls: Iterable[Control]) -> list[dict[str, Any]]:
    """Controls as raw components: they work after a restart, since no view is kept for them."""
    found: list[list[dict[str, Any]]] = []
    for is_menu, group in groupby(controls, key=lambda one: isinstance(one, Menu)):
        shown = [_component(one) for one in group]
        size = 1 if is_menu else _ROW
        found += [shown[at : at + size] for at in range(0, len(shown), size)]
    return [{"type": 1, "components": row} for row in found]


def _component(one: Control) -> dict[str, Any]:
    match one:
        case Button(custom_id, label, style):
            return {"type": 2, "style": _STYLES[style], "label": label[:80], "custom_id": custom_id}
        case Menu(custom_id, choices, placeholder):
            options = [{"label": label[:100], "value": value[:100]} for label, value in choices[:25]]
            more = {"placeholder": placeholder[:150]} if placeholder else {}
            return {"type": 3, "custom_id": custom_id, "options": options, **more}
        case _:
            assert_never(one)


def same(one: str, other: str) -> bool:
    """Whether Discord's content is what was sent: it takes away blanks around it, and carriage returns."""
    return _plain(one) == _plain(other)


def _plain(text: str) -> str:
    return re.sub(r"[ \t]+(?=\n)", "", text.replace("\r\n", "\n").replace("\r", "\n")).strip()


def _listed(reply: Any) -> list[Any]:
    if not isinstance(reply, list):
        raise PostLater("Discord's reply is no list")
    return reply


def _id_of(reply: Any, part: Part) -> int:
    if not isinstance(reply, Mapping) or "id" not in reply:
        raise PostLater("Discord's reply is no message")
    message = snowflake(reply["id"])
    if not same(str(reply.get("content", "")), part.content):
        raise PostOther("Discord's reply is another message", message)
    return message


def _about_reply(error: PostNever) -> bool:
    """Whether a refusal is about the message replied to: the post goes without the reference then."""
    return error.code in _NO_REPLY or (error.code == _INVALID and "message_reference" in error.reason)


def _readable(data: Any) -> bool:
    """Whether a message of the history can be read."""
    try:
        read.message(data, Place(0, ""), us=0)
        if data.get("member") is not None:
            read.member_roles(data["member"], 0)
        return isinstance(data["type"], int)
    except read.MALFORMED:
        return False
