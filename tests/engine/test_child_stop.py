"""The stop ladder and the sweep (BEHAVIOUR §1.17, invariants 12-14), with real processes that prove their death."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable

import anyio
import pytest

from engine import processes, sweep
from engine.child import Child, ChildSpec, Exit
from engine.processes import Identity
from fakes.witness import Held, Witness, witness

pytestmark = pytest.mark.anyio

ECHO = "say('child')\nfor line in sys.stdin: print(line, end='', flush=True)\nhold()\n"
DEAF = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
TOOL = "say('tool{n}'); hold()"
START_TOOL = f"start({TOOL.format(n='')!r}, own_session=True)\n"
FREE_DAEMON = "free(\"say('daemon'); hold()\")\n"


@pytest.fixture
async def seen() -> AsyncIterator[Witness]:
    assert processes.become_subreaper()
    with anyio.fail_after(5):
        async with witness() as seen:
            yield seen
    assert strangers() == []


def strangers() -> list[Identity]:
    """Our direct children in a session of their own, zombies too: what a stop must not leave behind."""
    me, session = os.getpid(), os.getsid(0)
    return [r.identity for r in processes.table().values() if r.parent == me and r.session != session]


class Patience:
    """A `kill_after` that ends when the test says so."""

    def __init__(self) -> None:
        self.asked: list[float] = []
        self.begun = anyio.Event()
        self.granted = anyio.Semaphore(0)

    async def __call__(self, seconds: float) -> None:
        self.asked.append(seconds)
        self.begun.set()
        await self.granted.acquire()


Spawn = Callable[..., Awaitable[tuple[Child, Patience]]]


@pytest.fixture
async def spawn(seen: Witness) -> AsyncIterator[Spawn]:
    children: list[Child] = []

    async def spawn(code: str, *, remote: bool = False) -> tuple[Child, Patience]:
        patience = Patience()
        spec = ChildSpec(seen.command(code), ".", {"PATH": os.defpath}, kill_after=5.0, remote=remote)
        children.append(await Child.spawn(spec, 1, patience=patience))
        return children[-1], patience

    yield spawn
    for child in children:
        await child.stop()


def kill(held: Held) -> None:
    """End an adopted process, and leave it unreaped."""
    os.kill(held.pid, signal.SIGKILL)
    os.waitid(os.P_PID, held.pid, os.WEXITED | os.WNOWAIT)  # its connection ends a little before it does


def end(held: Held) -> None:
    """End a process the product rightly let live, and reap it as the product will at its next look."""
    kill(held)
    sweep.HOUSEHOLD.look()


async def test_end_of_input_comes_before_sigterm(seen: Witness, spawn: Spawn) -> None:
    """A child deaf to SIGTERM that heeds the end of its input exits by itself, and SIGKILL is never sent."""
    child, patience = await spawn(DEAF + "say('child'); sys.stdin.read(); sys.exit(4)")
    await seen.named("child")
    assert await child.stop() == Exit(4, expected=True, swept=0)
    assert patience.granted.value == 0


async def test_sigkill_only_after_sigterm_and_kill_after(seen: Witness, spawn: Spawn) -> None:
    """Invariant 13."""
    code = (
        "signal.signal(signal.SIGTERM, lambda *_: os.write(1, b'TERM\\n'))\n"
        "say('child'); sys.stdin.read(); os.write(1, b'EOF\\n'); hold()"
    )
    child, patience = await spawn(code)
    held = await seen.named("child")
    told = b""
    both = anyio.Event()

    def hear(chunk: bytes) -> None:
        nonlocal told
        told += chunk
        if told.count(b"\n") == 2:
            both.set()

    async with anyio.create_task_group() as group:
        group.start_soon(child.pump, hear)
        group.start_soon(child.stop)
        await both.wait()
        assert (sorted(told.split()), patience.asked) == ([b"EOF", b"TERM"], [5.0])
        assert processes.alive(child.identity)
        patience.granted.release()
        await held.end()
    assert await child.wait() == Exit(-9, expected=True, swept=0)


async def test_a_tool_in_its_own_session_survives_killpg_and_is_swept(seen: Witness, spawn: Spawn) -> None:
    """[j_killpg]: pi's tools are in no group of pi's."""
    child, _ = await spawn(START_TOOL + ECHO)
    tool, _child = await seen.named("tool"), await seen.named("child")
    os.killpg(child.pid, signal.SIGKILL)
    assert await child.wait() == Exit(-9, expected=False, swept=1)
    await tool.end()


async def test_a_stop_ends_whatever_hangs_below_at_any_depth_in_any_session(seen: Witness, spawn: Spawn) -> None:
    """Invariant 14: a deaf tool, what it started in yet another session, and one in the child's own."""
    deep = "start(\"say('deep'); hold()\", own_session=True)\n" + DEAF + "say('tool'); hold()"
    code = f"start({deep!r}, own_session=True)\nstart({DEAF + TOOL.format(n=2)!r})\n" + ECHO
    child, _ = await spawn(code)
    held = [await seen.named(name) for name in ("tool", "deep", "tool2", "child")]
    assert await child.stop() == Exit(-15, expected=True, swept=3)
    for each in held:
        await each.end()


async def test_what_is_started_after_the_stop_began_is_swept_too(seen: Witness, spawn: Spawn) -> None:
    """The newest snapshot counts: the child starts a tool, without the mark, on SIGTERM and waits for SIGKILL."""
    code = (
        "signal.signal(signal.SIGTERM, lambda *_: start(\"say('tool'); hold()\", own_session=True, env={}))\n"
        "say('child'); hold()"
    )
    other, _ = await spawn(ECHO)  # a second generation: nothing can be known by there being one only
    await seen.named("child")
    child, patience = await spawn(code)
    await seen.named("child")
    async with anyio.create_task_group() as group:
        group.start_soon(child.stop)
        tool = await seen.named("tool")
        patience.granted.release()
        await tool.end()
    assert await child.wait() == Exit(-9, expected=True, swept=1)
    await other.stop()


@pytest.mark.parametrize("noted", [True, False], ids=["noted", "seen at the stop"])
async def test_a_daemon_set_free_before_a_stop_lives_on(seen: Witness, spawn: Spawn, noted: bool) -> None:
    child, _ = await spawn(FREE_DAEMON + START_TOOL + ECHO)
    daemon, tool = await seen.named("daemon"), await seen.named("tool")
    await seen.named("child")
    if noted:
        child.note_free()
    assert await child.stop() == Exit(-15, expected=True, swept=1)
    await tool.end()
    assert strangers() == [processes.identity(daemon.pid)]
    end(daemon)


async def test_a_crash_ends_the_tools_and_spares_the_daemon_set_free_before(seen: Witness, spawn: Spawn) -> None:
    child, _ = await spawn(FREE_DAEMON + "say('child'); sys.stdin.readline()\n" + START_TOOL + "hold()")
    daemon, _child = await seen.named("daemon"), await seen.named("child")
    child.note_free()  # a tool has closed
    child.write(b"go\n")
    tool = await seen.named("tool")
    os.kill(child.pid, signal.SIGKILL)
    assert await child.wait() == Exit(-9, expected=False, swept=1)
    await tool.end()
    assert strangers() == [processes.identity(daemon.pid)]
    end(daemon)


async def test_a_tool_once_seen_and_then_set_free_is_spared(seen: Witness, spawn: Spawn) -> None:
    """It hung below the child at one look and below nobody at the next: free, whatever was seen first."""
    shell = "start(\"say('daemon'); hold()\", own_session=True)\nsay('shell'); hold()"
    code = (
        f"start({shell!r}, own_session=True)\nsignal.signal(signal.SIGCHLD, lambda *_: (os.wait(), say('reaped')))\n"
        + ECHO
    )
    child, _ = await spawn(code)
    daemon, shell_held = await seen.named("daemon"), await seen.named("shell")
    await seen.named("child")
    child.note_free()
    os.kill(shell_held.pid, signal.SIGKILL)  # the tool's shell ends, the child lives
    await seen.named("reaped")
    child.note_free()
    os.kill(child.pid, signal.SIGKILL)
    assert await child.wait() == Exit(-9, expected=False, swept=0)
    assert strangers() == [processes.identity(daemon.pid)]
    end(daemon)


async def test_what_a_daemon_set_free_has_started_is_as_free(seen: Witness, spawn: Spawn) -> None:
    daemon_code = "start(\"say('worker'); hold()\")\nsay('daemon'); hold()"
    child, _ = await spawn(f"free({daemon_code!r})\n" + ECHO)
    daemon, worker = await seen.named("daemon"), await seen.named("worker")
    await seen.named("child")
    child.note_free()
    kill(daemon)  # its worker comes to us, long after the child let go of both
    os.kill(child.pid, signal.SIGKILL)
    assert await child.wait() == Exit(-9, expected=False, swept=0)
    assert strangers() == [processes.identity(worker.pid)]
    end(worker)


async def test_a_tool_nobody_saw_and_without_a_mark_is_swept_when_it_can_be_nobody_elses(
    seen: Witness, spawn: Spawn
) -> None:
    child, _ = await spawn(f"start({TOOL.format(n='')!r}, own_session=True, env={{}})\n" + ECHO)
    tool, _child = await seen.named("tool"), await seen.named("child")
    os.kill(child.pid, signal.SIGKILL)
    assert await child.wait() == Exit(-9, expected=False, swept=1)
    await tool.end()


async def test_a_sweep_touches_no_other_generation_and_no_subprocess_of_ours(seen: Witness, spawn: Spawn) -> None:
    """Two children, each with a tool and a daemon nobody has noted, and two subprocesses of the connector's own."""
    codes = [
        f"start({TOOL.format(n=n)!r}, own_session=True)\nfree(\"say('daemon{n}'); hold()\", env={env})\n"
        + ECHO.replace("child", f"child{n}")
        for n, env in ((1, None), (2, {}))  # nothing but its absence tells whose the second daemon is
    ]
    (one, _), (two, _) = await spawn(codes[0]), await spawn(codes[1])
    names = [f"{who}{n}" for who in ("tool", "daemon", "child") for n in (1, 2)]
    held = {name: await seen.named(name) for name in names}
    plain = await asyncio.create_subprocess_exec(
        *seen.command("say('plain'); sys.exit(sys.stdin.read() or 7)"), stdin=-1
    )
    apart = await asyncio.create_subprocess_exec(
        *seen.command("say('apart'); sys.exit(sys.stdin.read() or 8)"), stdin=-1, start_new_session=True
    )
    sweep.HOUSEHOLD.own(apart.pid)
    await seen.named("plain")
    await seen.named("apart")

    os.kill(one.pid, signal.SIGKILL)
    assert await one.wait() == Exit(-9, expected=False, swept=2)  # its daemon was never seen free
    await held["tool1"].end()
    await held["daemon1"].end()
    assert [processes.identity(held[name].pid) is not None for name in ("tool2", "daemon2", "child2")] == [True] * 3
    assert await two.stop() == Exit(-15, expected=True, swept=1)
    await held["tool2"].end()

    # asyncio still gets the status of both, after sweeps that reaped
    for process in (plain, apart):
        await process.communicate(b"")
    assert (plain.returncode, apart.returncode) == (7, 8)
    end(held["daemon2"])


async def test_subprocesses_of_our_own_are_no_orphans_even_beside_one_generation(seen: Witness, spawn: Spawn) -> None:
    child, _ = await spawn(ECHO)
    await seen.named("child")
    wait = "say('ours'); sys.exit(sys.stdin.read() or 8)"
    ours = [
        await asyncio.create_subprocess_exec(*seen.command(wait), stdin=-1, start_new_session=apart)
        for apart in (False, True)
    ]
    sweep.HOUSEHOLD.own(ours[1].pid)  # the other shares our session, that is enough
    os.kill(child.pid, signal.SIGKILL)
    assert await child.wait() == Exit(-9, expected=False, swept=0)
    for process in ours:
        await process.communicate(b"")
    assert [process.returncode for process in ours] == [8, 8]


async def test_two_children_that_die_in_the_same_instant_are_swept_each_of_its_own(seen: Witness, spawn: Spawn) -> None:
    codes = [f"start({TOOL.format(n=n)!r}, own_session=True)\n" + ECHO.replace("child", f"child{n}") for n in (1, 2)]
    children = [(await spawn(code))[0] for code in codes]
    tools = [await seen.named(f"tool{n}") for n in (1, 2)]
    for n in (1, 2):
        await seen.named(f"child{n}")
    for child in children:
        os.kill(child.pid, signal.SIGKILL)
    children[0].note_free()  # a look between death and its discovery sets nothing free
    sweep.HOUSEHOLD.look()
    assert [await child.wait() for child in children] == [Exit(-9, expected=False, swept=1)] * 2
    for tool in tools:
        await tool.end()


async def test_a_descendant_that_holds_stdout_delays_neither_exit_nor_pump(seen: Witness, spawn: Spawn) -> None:
    child, _ = await spawn(FREE_DAEMON + "say('child'); sys.stdin.readline(); print('bye'); sys.exit(0)")
    daemon, _child = await seen.named("daemon"), await seen.named("child")
    child.note_free()
    child.write(b"go\n")
    heard: list[bytes] = []
    await child.pump(heard.append)
    assert (b"".join(heard), await child.wait()) == (b"bye\n", Exit(0, expected=False, swept=0))
    assert processes.identity(daemon.pid) is not None
    end(daemon)


async def test_all_callers_of_stop_share_one_run_and_one_exit(seen: Witness, spawn: Spawn) -> None:
    child, patience = await spawn(ECHO)
    await seen.named("child")
    exits: list[Exit] = []

    async def stop() -> None:
        exits.append(await child.stop())

    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(stop)
    exits.append(await child.stop())
    assert (exits, patience.asked) == ([Exit(-15, expected=True, swept=0)] * 6, [5.0])
    assert all(ended is exits[0] for ended in exits)


async def test_a_caller_that_is_cancelled_leaves_the_ladder_running(seen: Witness, spawn: Spawn) -> None:
    child, patience = await spawn(DEAF + "say('child'); hold()")
    held = await seen.named("child")
    async with anyio.create_task_group() as group:
        group.start_soon(child.stop)
        await patience.begun.wait()
        group.cancel_scope.cancel()
    patience.granted.release()
    await held.end()
    assert await child.wait() == Exit(-9, expected=True, swept=0)


async def test_a_stop_after_a_crash_reports_the_crash(seen: Witness, spawn: Spawn) -> None:
    child, patience = await spawn("say('child'); sys.stdin.readline(); sys.exit(5)")
    await seen.named("child")
    child.write(b"\n")
    crashed = await child.wait()
    assert (await child.stop(), patience.asked) == (crashed, [])
    assert crashed == Exit(5, expected=False, swept=0)


async def test_a_stop_into_a_natural_exit_ends_with_the_childs_own_code(seen: Witness, spawn: Spawn) -> None:
    child, _ = await spawn(DEAF + "say('child'); sys.stdin.readline(); sys.exit(6)")
    held = await seen.named("child")
    child.write(b"\n")
    await held.end()  # dead, and nobody has told the loop yet
    assert (await child.stop()).code == 6


async def test_an_exit_before_anything_else(seen: Witness, spawn: Spawn) -> None:
    child, _ = await spawn("sys.exit(1)")
    assert await child.stop() in {Exit(1, expected=True, swept=0), Exit(-15, expected=True, swept=0)}


async def test_a_remote_childs_sweep_is_not_verifiable_here(seen: Witness, spawn: Spawn) -> None:
    """`agent.remote`: the ladder runs on the local wrapper, and nothing is claimed of the other side."""
    child, _ = await spawn(START_TOOL + ECHO, remote=True)
    tool, held = await seen.named("tool"), await seen.named("child")
    assert await child.stop() == Exit(-15, expected=True, swept=None)
    await held.end()
    await tool.end()


async def test_one_that_cannot_be_ended_holds_up_nobody(
    seen: Witness, spawn: Spawn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As under sudo: our signals are refused. The exit comes after twice `kill_after` and names the pid."""
    child, patience = await spawn("say('child'); hold()")
    held = await seen.named("child")
    for _ in range(2):
        patience.granted.release()
    monkeypatch.setattr(sweep, "send", lambda *_: "refused")
    assert await child.stop() == Exit(-9, expected=True, swept=0, left=(child.pid,))
    assert patience.asked == [5.0, 5.0]
    assert sweep.HOUSEHOLD._is_known(child.identity)  # asyncio waits for its status, not we
    monkeypatch.undo()
    os.kill(held.pid, signal.SIGKILL)
    await held.end()
    while strangers():  # noqa: ASYNC110 - nobody is told when asyncio has reaped
        await asyncio.sleep(0)
