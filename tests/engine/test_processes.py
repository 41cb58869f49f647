"""Identity, the process table, exact signals, and ending a recorded child at a later start (BEHAVIOUR §6)."""

import os
import signal
import subprocess
from collections.abc import AsyncIterator

import anyio
import pytest

from engine import processes
from engine.processes import Identity
from engine.sweep import HOUSEHOLD, Swept, end_tree
from fakes.witness import Witness, witness

pytestmark = pytest.mark.anyio


@pytest.fixture
async def seen() -> AsyncIterator[Witness]:
    assert processes.become_subreaper()
    with anyio.fail_after(5):
        async with witness() as seen:
            yield seen


async def recorded(seen: Witness, code: str) -> Identity:
    """A child of an earlier run: no child of ours, and its tool in a session of its own."""
    starter = f"start({code!r}, own_session=True)"
    await anyio.run_process(seen.command(starter), stdout=None, stderr=None)
    held = await seen.named("child")
    who = processes.identity(held.pid)
    assert who is not None
    return who


def wait_dead(who: Identity) -> None:
    os.waitid(os.P_PID, who.pid, os.WEXITED | os.WNOWAIT)


async def never(_seconds: float) -> None:
    await anyio.sleep_forever()


async def at_once(_seconds: float) -> None:
    pass


def test_an_identity_is_stable_and_the_same_pid_with_another_start_is_another_process() -> None:
    me = processes.identity(os.getpid())
    assert me is not None
    assert me == processes.identity(os.getpid())
    assert processes.alive(me)
    assert not processes.alive(Identity(me.pid, "another start"))


def test_a_zombie_has_an_identity_and_is_not_alive() -> None:
    process = subprocess.Popen(["true"])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    who = processes.identity(process.pid)
    assert who is not None
    assert not processes.alive(who)
    process.wait()
    assert processes.identity(process.pid) is None


@pytest.mark.parametrize("has_proc", [True, False], ids=["/proc", "psutil"])
def test_the_table_knows_parent_session_and_death(monkeypatch: pytest.MonkeyPatch, has_proc: bool) -> None:
    monkeypatch.setattr(processes, "_HAS_PROC", has_proc)
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, start_new_session=True) as cat:
        rows = processes.table()
        row, me = rows[cat.pid], rows[os.getpid()]
        assert (row.parent, row.session, row.dead) == (os.getpid(), cat.pid, False)
        assert me.session == os.getsid(0)
        assert me.began < row.began
        assert processes.row_of(cat.pid) == row
        assert set(processes.with_descendants([me], rows)) >= {me.identity, row.identity}
        assert cat.stdin is not None
        cat.stdin.close()
        os.waitid(os.P_PID, cat.pid, os.WEXITED | os.WNOWAIT)
        assert processes.table()[cat.pid].dead


@pytest.mark.parametrize("has_proc", [True, False], ids=["/proc", "psutil"])
def test_the_mark_is_read_from_the_environment(monkeypatch: pytest.MonkeyPatch, has_proc: bool) -> None:
    monkeypatch.setattr(processes, "_HAS_PROC", has_proc)
    env = {"PATH": os.defpath, "X" + processes.MARK: "no", processes.MARK: "abc"}
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, bufsize=0) as cat:
        assert cat.stdin is not None
        assert cat.stdout is not None
        cat.stdin.write(b"x")
        cat.stdout.read(1)  # in the midst of its exec it has no environment yet
        assert processes.mark_of(cat.pid) == "abc"
    assert processes.mark_of(cat.pid) is None


@pytest.mark.parametrize("pidfd", [True, False], ids=["pidfd", "plain kill"])
def test_a_reused_pid_is_never_signalled(monkeypatch: pytest.MonkeyPatch, pidfd: bool) -> None:
    """Same pid *and* same start time (BEHAVIOUR §1.17)."""
    if not pidfd:
        monkeypatch.delattr(os, "pidfd_open")
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as cat:
        who = processes.identity(cat.pid)
        assert who is not None
        assert processes.send(Identity(cat.pid, "an earlier start"), signal.SIGKILL) == "gone"
        assert processes.alive(who)
        assert processes.send(who, signal.SIGTERM) == "sent"
    assert cat.returncode == -signal.SIGTERM
    assert processes.send(who, signal.SIGKILL) == "gone"


async def test_a_recorded_child_is_ended_with_its_descendants(seen: Witness) -> None:
    who = await recorded(seen, "start(\"say('tool'); hold()\", own_session=True)\nsay('child'); hold()")
    tool = await seen.named("tool")
    assert await end_tree(who, kill_after=5.0, patience=never) == Swept(2)
    await tool.end()
    assert processes.identity(who.pid) is None or not processes.alive(who)
    HOUSEHOLD.look()


async def test_a_recorded_child_deaf_to_sigterm_is_killed_after_it(seen: Witness) -> None:
    """Invariant 13 holds for a later start too: with a `kill_after` that ends at once, SIGKILL comes."""
    who = await recorded(seen, "signal.signal(signal.SIGTERM, signal.SIG_IGN); say('child'); hold()")
    asked: list[float] = []

    async def once(seconds: float) -> None:
        asked.append(seconds)
        if len(asked) > 1:
            await anyio.sleep_forever()

    assert await end_tree(who, kill_after=0.5, patience=once) == Swept(1)
    assert asked == [0.5, 5.0]
    HOUSEHOLD.look()


async def test_a_recorded_pid_that_is_another_process_now_is_let_be(seen: Witness) -> None:
    who = await recorded(seen, "say('child'); hold()")
    assert await end_tree(Identity(who.pid, "an earlier start"), kill_after=0.0, patience=at_once) == Swept(0)
    assert processes.alive(who)
    assert await end_tree(who, kill_after=5.0, patience=never) == Swept(1)
    assert await end_tree(who, kill_after=5.0, patience=never) == Swept(0)
    HOUSEHOLD.look()


async def test_an_orphan_that_dies_is_reaped_at_the_next_look(seen: Witness) -> None:
    who = await recorded(seen, "say('child'); sys.exit(0)")
    wait_dead(who)
    assert processes.identity(who.pid) == who
    HOUSEHOLD.look()
    assert processes.identity(who.pid) is None


async def test_during_a_start_nothing_is_reaped(seen: Witness) -> None:
    """A start that fails waits for the status of what it forked."""
    who = await recorded(seen, "say('child'); sys.exit(0)")
    wait_dead(who)
    with HOUSEHOLD.starting():
        HOUSEHOLD.look()
        assert processes.identity(who.pid) == who
    HOUSEHOLD.look()


def test_without_a_change_of_our_children_no_table_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []
    monkeypatch.setattr(HOUSEHOLD, "look", lambda: looks.append(1))
    HOUSEHOLD.note_free()
    HOUSEHOLD.note_free()
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE):
        HOUSEHOLD.note_free()
        HOUSEHOLD.note_free()
    assert len(looks) == 2
