"""The shipped unit under a real systemd: what restarts, what stays down, what nobody is killed for (CONTRACT)."""

import contextlib
import os
from collections.abc import AsyncIterator, Iterator

import pytest

from connector import notices
from connector.exits import ExitCode
from engine import processes
from fakes.discord import FakeDiscord, Person
from fakes.program import discord, posts
from tests.system.boot import (
    EXITED,
    FAILED,
    RESTARTS,
    STARTED,
    STOPPED,
    Boot,
    Entry,
    NotBootedError,
    booted,
    event_of,
    missing,
)
from tests.system.service import PERIODS, WATCHED, Service

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(180)]


@pytest.fixture(scope="session")
def boot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Boot]:
    """One systemd for all tests of this process; each has an instance of its own.

    Where none can be booted the tests are skipped, unless `$REQUIRE_SYSTEMD` is set, as it is in CI.
    """
    unavailable = pytest.fail if os.environ.get("REQUIRE_SYSTEMD") else pytest.skip
    if why := missing():
        unavailable(why)
    with contextlib.ExitStack() as held:
        try:
            boot = held.enter_context(booted(tmp_path_factory.mktemp("boot")))
        except NotBootedError as error:
            unavailable(str(error))
        yield boot


@pytest.fixture
async def world() -> AsyncIterator[FakeDiscord]:
    async with discord() as world:
        yield world


async def say(world: FakeDiscord, text: str, person: str = "ann") -> int:
    ann: Person = world.person(person)
    return await world.say(ann, world.dm(ann), text)


async def told(world: FakeDiscord, count: int) -> list[tuple[str, int | None]]:
    """Content and reference of the first `count` posts to Ann."""
    return [(post.content, post.reference) for post in await posts(world, world.dm(world.person("ann")), count)]


async def test_what_connector_and_child_are_given(boot: Boot, world: FakeDiscord) -> None:
    """The child speaks for nobody, goes first where memory runs out, and writes in its folder, not in the system's."""
    async with Service(boot, "given", world) as service:
        assert await service.run("systemd-analyze", "verify", f"/etc/systemd/system/{service.unit}") == (0, "")
        await service.start()
        assert (await service.shown("StatusText"))["StatusText"].startswith("Running: connected to Discord")
        await say(world, "hang")
        await service.journal.logged("turn.started")
        child, main = service.child_of("hang"), await service.main_pid()
        environ = boot.path(f"/proc/{child}/environ").read_text().split("\0")
        assert not [line for line in environ if line.startswith(("NOTIFY_", "WATCHDOG_", "PI_CONNECTOR_", "DISCORD"))]
        scores = [int(boot.path(f"/proc/{pid}/oom_score_adj").read_text()) for pid in (main, child)]
        assert scores[0] <= 0  # a machine that is a container itself may not let systemd lower it
        assert scores[1] == processes.OOM_SCORE
        user = str(service.uid)
        inside = ("nsenter", "--target", str(child), "--mount", "--root", "--setuid", user, "--setgid", user)
        assert (await service.run(*inside, "touch", f"/home/pi/{service.name}/made"))[0] == 0
        assert (await service.run(*inside, "touch", "/etc/made"))[0] != 0


async def test_a_wedge_is_exit_1_and_the_queue_goes_on(boot: Boot, world: FakeDiscord) -> None:
    async with Service(boot, "wedge", world, engine={"abort_grace": 0.3, "kill_after": 1.0}) as service:
        await service.start()
        mute = await say(world, "mute")
        await service.journal.logged("turn.sent")
        after = await say(world, "echo after")
        await say(world, "stop")
        assert (await service.journal.told(EXITED))["EXIT_STATUS"] == str(int(ExitCode.FAULT))
        await service.journal.told(RESTARTS)
        await service.journal.told(STARTED, count=2)
        shown = await told(world, 2)
        assert [reference for _, reference in shown] == [mute, after]
        assert shown[0][0].startswith("Stopped")
        assert shown[1][0] == "echo: after"


async def test_a_child_killed_in_a_turn_is_exit_1_and_the_queue_goes_on(boot: Boot, world: FakeDiscord) -> None:
    async with Service(boot, "killed", world, retry={"max_attempts": 1}) as service:
        await service.start()
        cut = await say(world, "hang")
        await service.journal.logged("turn.started")
        after = await say(world, "echo after")
        await service.journal.logged("message.accepted", count=2)
        await service.signal("KILL", service.child_of("hang"))
        assert (await service.journal.told(EXITED))["EXIT_STATUS"] == str(int(ExitCode.FAULT))
        await service.journal.told(STARTED, count=2)
        assert await told(world, 2) == [(notices.failed("dead", retry=True), cut), ("echo: after", after)]


async def test_a_killed_connector_is_started_again_and_leaves_no_child(boot: Boot, world: FakeDiscord) -> None:
    """What it left ends although it heeds neither the end of its input nor SIGTERM; what waited is answered."""
    async with Service(boot, "left", world, retry={"max_attempts": 1}) as service:
        await service.start()
        cut = await say(world, "ignoreterm hang")
        await service.journal.logged("turn.started")
        after = await say(world, "echo after")
        await service.journal.logged("message.accepted", count=2)
        child = service.child_of("ignoreterm hang")
        assert service.alive(child)
        await service.signal("KILL", await service.main_pid())
        assert (await service.journal.told(EXITED))["EXIT_STATUS"] == "9"
        await service.journal.told(STARTED, count=2)
        assert not service.alive(child)
        assert await told(world, 2) == [(notices.failed("dead", retry=True), cut), ("echo: after", after)]


async def test_too_many_failed_starts_stay_down_and_say_why(boot: Boot, world: FakeDiscord) -> None:
    async with Service(boot, "poison", world, supervision={"max_wedges": 2}) as service:
        await service.start()
        await say(world, "die SEGV")
        codes = [(await service.journal.told(EXITED, count=count))["EXIT_STATUS"] for count in (1, 2, 3)]
        assert codes == [str(int(code)) for code in (ExitCode.FAULT, ExitCode.FAULT, ExitCode.REFUSED)]
        await service.journal.told(FAILED, count=3)
        assert service.journal.counted(RESTARTS) == 2
        assert await down(service) == ("failed", "exit-code", str(int(ExitCode.REFUSED)))
        assert "Refused: the agent failed 2 times in a row" in await service.status()


async def test_wedges_in_a_row_stay_down_and_say_why(boot: Boot, world: FakeDiscord) -> None:
    """A child that stays mute after its abort counts as one that crashes: two starts have one, the third is refused."""
    grace = {"abort_grace": 0.3, "kill_after": 1.0}
    async with Service(boot, "wedges", world, engine=grace, supervision={"max_wedges": 2}) as service:
        await service.start()
        for wedge in (1, 2):
            await say(world, "mute")
            await service.journal.logged("turn.sent", count=wedge)
            await say(world, "stop")
            assert (await service.journal.told(EXITED, count=wedge))["EXIT_STATUS"] == str(int(ExitCode.FAULT))
            if wedge == 1:
                await service.journal.told(STARTED, count=2)
        assert (await service.journal.told(EXITED, count=3))["EXIT_STATUS"] == str(int(ExitCode.REFUSED))
        await service.journal.told(FAILED, count=3)
        assert service.journal.counted(RESTARTS) == 2
        assert await down(service) == ("failed", "exit-code", str(int(ExitCode.REFUSED)))
        assert "Refused: the agent failed 2 times in a row" in await service.status()


async def test_a_bad_token_stays_down_and_says_so(boot: Boot, world: FakeDiscord) -> None:
    async with Service(boot, "token", world, token="not.the.token") as service:
        await service.begin()
        assert (await service.journal.told(EXITED))["EXIT_STATUS"] == str(int(ExitCode.REFUSED))
        await service.journal.told(FAILED)
        assert service.journal.counted(RESTARTS) == 0
        assert await down(service) == ("failed", "exit-code", str(int(ExitCode.REFUSED)))
        status = await service.status()
        assert "Refused: Discord does not accept the bot token" in status
        assert "not.the.token" not in status


async def test_a_stop_in_a_long_turn_ends_in_order_within_its_time(boot: Boot, world: FakeDiscord) -> None:
    """The child heeds nothing; the stop is SIGTERM, an abort, the ladder, exit 0, and no SIGKILL of systemd's."""
    async with Service(boot, "stop", world, engine={"kill_after": 1.0}) as service:
        await service.start()
        await say(world, "ignoreterm hang")
        await service.journal.logged("turn.started")
        child = service.child_of("ignoreterm hang")
        await service.systemctl("stop", service.unit)
        await service.journal.told(STOPPED)
        assert await down(service) == ("inactive", "success", str(int(ExitCode.STOPPED)))
        assert (await service.journal.logged("connector.stopped"))["code"] == ExitCode.STOPPED
        assert not service.alive(child)
        assert service.journal.counted(RESTARTS) == 0


async def test_a_blocked_loop_is_started_again_and_its_stack_is_in_the_journal(boot: Boot, world: FakeDiscord) -> None:
    blocking = "ExecStart=\nExecStart=/opt/pi-connector/bin/python -P -m fakes.blocking run --instance %i\n"
    async with Service(boot, "blocked", world, dropin=WATCHED + blocking) as service:
        await service.start()
        await service.signal("USR1", await service.main_pid())
        await service.journal.until(lambda entry: "in block_the_loop" in text(entry), "the blocking line")
        assert [entry for entry in service.journal.entries if "Fatal Python error: Aborted" in text(entry)]
        assert (await service.journal.told(FAILED))["UNIT_RESULT"] == "watchdog"
        await service.journal.told(STARTED, count=2)
        asked = await say(world, "echo on")
        assert await told(world, 1) == [("echo: on", asked)]


async def test_without_discord_at_the_start_one_process_waits(boot: Boot, world: FakeDiscord) -> None:
    """Ten watchdog periods and more; systemd is told in words what is waited for, and READY only then."""
    async with Service(boot, "away", world, dropin=WATCHED) as service:
        await world.faults.server_down()
        await service.begin()
        pid = await periods(service, "gateway.login_failed")
        seen = await service.shown("MainPID", "NRestarts", "ActiveState", "StatusText")
        assert seen.pop("StatusText").startswith("Starting: gateway fails since ")
        assert seen == {"MainPID": pid, "NRestarts": "0", "ActiveState": "activating"}
        await service.journal.logged("connector.started")  # though the start is not over
        await world.faults.server_up()
        await service.journal.told(STARTED)
        assert (await service.shown("StatusText"))["StatusText"].startswith("Running: connected to Discord")
        asked = await say(world, "echo here")
        assert await told(world, 1) == [("echo: here", asked)]
        assert await service.main_pid() == pid


async def test_without_discord_in_mid_run_one_process_waits(boot: Boot, world: FakeDiscord) -> None:
    async with Service(boot, "lost", world, dropin=WATCHED) as service:
        await service.start()
        before = await service.main_pid()
        await world.faults.server_down()
        pid = await periods(service, "gateway.down")
        seen = await service.shown("MainPID", "NRestarts", "ActiveState", "StatusText")
        assert seen.pop("StatusText").startswith("Running: gateway fails since ")
        assert seen == {"MainPID": before, "NRestarts": "0", "ActiveState": "active"}
        await world.faults.server_up()
        await service.journal.logged("gateway.ready", count=2)
        asked = await say(world, "echo back")
        assert await told(world, 1) == [("echo: back", asked)]
        assert await service.main_pid() == pid == before


async def test_a_full_disk_is_shown_and_nobody_is_killed_for_it(boot: Boot, world: FakeDiscord) -> None:
    async with Service(boot, "full", world, dropin=WATCHED) as service:
        await service.small_disk()
        ballast = service.fill_disk()
        await service.begin()
        await service.journal.logged("ledger.broken")
        seen = await service.shown("ActiveState", "StatusText")
        assert (seen["ActiveState"], seen["StatusText"].partition(": /")[0]) == (
            "activating",
            "Starting: waiting for the disk",
        )
        pid = await service.main_pid()
        ballast.unlink()
        await service.journal.told(STARTED)
        warm = await say(world, "echo warm")
        assert await told(world, 1) == [("echo: warm", warm)]
        ballast = service.fill_disk()
        full = await say(world, f"echo {'full ' * 300}")
        assert (await told(world, 2))[1:] == [(notices.disk_trouble(), full)]
        await periods(service, "service_manager.told")
        assert "ledger fails since " in (await service.shown("StatusText"))["StatusText"]
        ballast.unlink()
        await service.journal.logged("ledger.mended")
        assert len(await told(world, 3)) == 3
        assert await service.main_pid() == pid
        assert service.journal.counted(EXITED) == 0


def text(entry: Entry) -> str:
    return str(entry.get("MESSAGE"))


async def down(service: Service) -> tuple[str, str, str]:
    """How it is down: state, result, exit status."""
    shown = await service.shown("ActiveState", "Result", "ExecMainStatus")
    return shown["ActiveState"], shown["Result"], shown["ExecMainStatus"]


async def periods(service: Service, event: str) -> str:
    """Wait until this event has been logged over ten watchdog periods by one process: its id, in there."""
    first = await service.journal.until(lambda entry: event_of(entry) == event, event)
    enough = int(first["__MONOTONIC_TIMESTAMP"]) + PERIODS
    last = await service.journal.until(
        lambda entry: event_of(entry) == event and int(entry["__MONOTONIC_TIMESTAMP"]) >= enough, f"{event} for long"
    )
    assert last["_PID"] == first["_PID"]
    return str(last["_PID"])
