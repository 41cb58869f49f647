"""Whether the configured child can be used: starts it, asks its state, stops it; it gives it nothing to do."""

import asyncio
import contextlib
import re
import shlex
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from connector.exits import Refusal
from connector.findings import Finding
from connector.redact import Redactor
from engine import commands, pi, processes
from engine.child import Child, ChildSpec, ChildUnusable
from engine.wire import Framer

KEY = "agent.command"
OLDEST = "0.99.0"
"""The first pi that says what became of a prompt; `clear_queue` is older (PROTOCOL §4)."""

NODE = "22.19"
"""The oldest Node that pi runs on (PROTOCOL §1)."""

_NOTHING = "A check of pi-connector: there is nothing to do."
_TOO_OLD = "is too old"
_NO_MODEL = frozenset({None, "", "unknown"})

End = Callable[[Coroutine[Any, Any, None]], Awaitable[None]]
"""Sees to it that a child which has said all is stopped."""


class _Silent(Exception):  # noqa: N818 - a state of the child
    """The child did not answer within the bound."""


class _Gone(Exception):  # noqa: N818 - a state of the child
    """The child's output ended."""


@dataclass(frozen=True, slots=True)
class _Examined:
    """What is wrong with a child that could be started, and whether it gave an answer at all."""

    findings: list[Finding]
    answered: bool = True


async def child_findings(spec: ChildSpec, *, bound: float, max_line: int) -> list[Finding]:
    """Return what is wrong with the child. `bound`: seconds that one answer may take."""
    try:
        return (await _examine(spec, bound, max_line, _at_once, keys=True)).findings
    except ChildUnusable as unusable:
        return [Finding("error", KEY, unusable.reason, unusable.mend)]


async def _examine(spec: ChildSpec, bound: float, max_line: int, end: End, *, keys: bool) -> _Examined:
    """The findings about a child that can be started. Raises ChildUnusable for one that cannot."""
    processes.become_subreaper()
    try:
        child = await Child.spawn(spec, 1)
    except OSError as error:
        return _Examined([_error(spec, f"could not be started: {error.strerror or error}")], answered=False)
    talk = _Talk(child, bound, max_line)
    try:
        return _Examined(await _interview(talk, keys=keys))
    except _Silent:
        text = f"did not answer within {bound:g} seconds (engine.turn_timeout)"
        return _Examined([_error(spec, text)], answered=False)
    except _Gone:
        ended = await child.stop()
        how = f"exited with status {ended.code}" if ended.code >= 0 else f"died of signal {-ended.code}"
        return _Examined([_gone(spec, f"{how} before it answered", child.stderr_tail())], answered=False)
    finally:
        await end(_put_away(child, talk))


async def _put_away(child: Child, talk: "_Talk") -> None:
    await child.stop()
    await talk.close()


async def _at_once(work: Coroutine[Any, Any, None]) -> None:
    await work


async def refuse_unfit(spec: ChildSpec, *, bound: float, max_line: int, end: End = _at_once) -> str:
    """Raise Refusal for a child that `run` cannot use at all; return why it did not answer, if it did not.

    One that exits or is silent is the lanes' business. `end` is given the ending of the child, which need not be
    waited for.
    """
    try:
        found = await _examine(spec, bound, max_line, end, keys=False)
    except ChildUnusable as unusable:
        raise Refusal.of((Finding("error", KEY, unusable.reason, unusable.mend),)) from unusable
    unfit = tuple(finding for finding in found.findings if finding.text.startswith(_TOO_OLD))
    if unfit:
        raise Refusal.of(unfit)
    return "" if found.answered else found.findings[0].line()


async def _interview(talk: "_Talk", *, keys: bool) -> list[Finding]:
    """Ask what costs nothing and changes nothing: state, then whether it knows what a turn needs.

    `keys`: whether it has a key, too, for which a start of `run` need not wait.
    """
    state = await talk.ask(commands.GetState("check-1"))
    cleared = await talk.ask(commands.ClearQueue("check-2"))
    if not cleared.success:
        return [_old("it does not know clear_queue")]
    # A steer to an idle child waits in its queue and starts nothing; it is gone with the child [e_idle_then_prompt].
    steered = await talk.ask(commands.Steer("check-3", _NOTHING))
    if steered.success and not isinstance(pi.plain(steered.data, "disposition"), str):
        return [_old("it does not say what became of a prompt")]
    if not state.success:
        return [Finding("error", KEY, "refused to tell its state", "name pi 1.6.0, or what speaks as it does")]
    model = pi.plain(state.data, "model")
    if pi.plain(model, "id") in _NO_MODEL and pi.plain(model, "provider") in _NO_MODEL:
        mend = "start pi by hand as this user, /login there, choose a model"
        return [Finding("error", KEY, "has no model, so it would refuse every message", mend)]
    return await _without_key(talk, pi.plain(model, "provider")) if keys else []


async def _without_key(talk: "_Talk", provider: object) -> list[Finding]:
    """Whether pi has a key for the provider of its model.

    It names a model without one as its own, and refuses every prompt [r_no_key]; among the available ones it is not.
    """
    told = await talk.ask(commands.GetModels("check-4"))
    models = pi.plain(told.data, "models")
    if not isinstance(provider, str) or not told.success or not isinstance(models, list):
        return []
    if any(pi.plain(one, "provider") == provider for one in models):
        return []
    mend = "start pi by hand as this user and /login there, or name the key's variable in agent.env_pass"
    return [Finding("error", KEY, f"has no key for {provider}, so it would refuse every message", mend)]


class _Talk:
    """Commands to one child, and the response to each."""

    def __init__(self, child: Child, bound: float, max_line: int) -> None:
        self._child = child
        self._bound = bound
        self._framer = Framer(max_line)
        self._heard: asyncio.Queue[pi.Response | None] = asyncio.Queue()
        self._pump = asyncio.create_task(self._listen())

    async def ask(self, command: commands.Command) -> pi.Response:
        """Return the response; an old pi answers an unknown command without its id. Raises _Silent or _Gone."""
        name, kind = getattr(command, "id", ""), command.__struct_config__.tag
        self._child.write(commands.encode(command))
        try:
            async with asyncio.timeout(self._bound):
                while (heard := await self._heard.get()) is not None:
                    if heard.id == name or (heard.id is None and heard.command == kind):
                        return heard
        except TimeoutError:
            raise _Silent from None
        raise _Gone

    async def close(self) -> None:
        """Stop listening."""
        self._pump.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._pump

    async def _listen(self) -> None:
        await self._child.pump(self._deliver)
        self._heard.put_nowait(None)

    def _deliver(self, chunk: bytes) -> None:
        for line in self._framer.read(chunk):
            if isinstance(line, pi.Response):
                self._heard.put_nowait(line)


def _old(how: str) -> Finding:
    return Finding("error", KEY, f"{_TOO_OLD}: {how}", f"install pi {OLDEST} or newer")


def _error(spec: ChildSpec, text: str) -> Finding:
    command = Redactor().text(shlex.join(spec.command))
    return Finding("error", KEY, text, f"start it by hand in {spec.cwd} to see why: {command}")


def _gone(spec: ChildSpec, text: str, said: tuple[str, ...]) -> Finding:
    """With the child's last words, and the line before them that names the error, if any (Node ends in its version)."""
    errors = [line for line in said if re.match(r"\w*(?:Error|error)\b", line)]
    words = list(dict.fromkeys([*errors[-1:], *said[-1:]]))
    if words:
        text += ", saying " + ", ".join(f'"{Redactor().text(line)}"' for line in words)
    if any("enableCompileCache" in line for line in said):
        return Finding("error", KEY, text, f"install Node {NODE} or newer, first on PATH")
    return _error(spec, text)
