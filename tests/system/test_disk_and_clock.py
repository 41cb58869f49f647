"""A disk that refuses in mid-run, and a wall clock that steps: nothing is lost, nothing unrecorded is done."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from connector import notices
from fakes.discord import FakeDiscord, Person, Place
from fakes.program import Home
from tests.system.disks import refusing

DAY = 86_400


def home(folder: Path, world: FakeDiscord, **sections: dict[str, object]) -> Home:
    """One in which Ann is allowed; no cards, no steering."""
    given: dict[str, dict[str, object]] = {
        "access": {"users": [world.person("ann").id]},
        "discord": {"progress": "off"},
        "lanes": {"busy": "queue"},
    }
    return Home(folder, world, **{**given, **sections})  # type: ignore[arg-type]  # sections by name


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A disk of a megabyte as this folder; the test is skipped where none can be mounted."""
    folder.mkdir(mode=0o700)
    command = ["mount", "-t", "tmpfs", "-o", "size=1m,mode=700", "tmpfs", str(folder)]
    mounted = subprocess.run(command, check=False, capture_output=True, text=True)
    if mounted.returncode:
        pytest.skip(f"no small disk can be mounted here: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


async def told(world: FakeDiscord, place: Place, count: int) -> list[tuple[str, int | None]]:
    """Content and reference of the bot's first `count` posts in a place, once they stand there."""
    await world.wait_for(lambda: len(world.posts(place)) >= count, 30.0, f"post {count}")
    return [(post.content, post.reference) for post in world.posts(place)[:count]]


async def ask(world: FakeDiscord, person: Person, *texts: str) -> list[int]:
    """Say these privately; the messages' ids."""
    return [await world.say(person, world.dm(person), text) for text in texts]


@pytest.mark.anyio
async def test_what_cannot_be_recorded_is_not_asked_until_it_can(world: FakeDiscord, tmp_path: Path) -> None:
    """ "No prompt is written that could not be recorded; a visible notice; recovers when the disk does"."""
    ann = world.person("ann")
    place = world.dm(ann)
    here = home(tmp_path, world)
    async with here.running() as run:
        await run.ready()
        [warm] = await ask(world, ann, "echo warm")
        await run.ended(warm)
        with refusing(run):
            [full] = await ask(world, ann, "echo full")
            await run.logged("ledger.broken")
            assert await told(world, place, 2) == [("echo: warm", warm), (notices.disk_trouble(), full)]
            [later] = await ask(world, ann, "echo later")
            assert (await told(world, place, 3))[2:] == [(notices.disk_trouble(), later)]
            assert here.asked() == ["echo warm"]
        await run.logged("ledger.mended")
        await run.ended(full, later)
        assert (await told(world, place, 5))[3:] == [("echo: full", full), ("echo: later", later)]
        assert here.asked() == ["echo warm", "echo full", "echo later"]
        assert await run.stop() == 0


@pytest.mark.anyio
async def test_a_disk_that_refuses_in_a_turn_delays_its_answer_and_no_stop(world: FakeDiscord, tmp_path: Path) -> None:
    """The answer is posted once it is recorded, here after the next start; SIGTERM is exit 0 whatever was cut."""
    ann = world.person("ann")
    place = world.dm(ann)
    here = home(tmp_path, world)
    async with here.running() as run:
        await run.ready()
        [cut] = await ask(world, ann, "slow 1000")
        await run.logged("turn.started")
        with refusing(run):
            [later] = await ask(world, ann, "echo later")
            assert await told(world, place, 1) == [(notices.disk_trouble(), later)]
            assert await run.stop() == 0
            assert run.of("connector.stopped")[0]["reason"] == "asked to stop while the ledger could not be written"
    async with here.running() as run:
        await run.ended(cut, later)
        assert (await told(world, place, 3))[1:] == [("echo: slow 1000", cut), ("echo: later", later)]
        assert await run.stop() == 0


@pytest.mark.anyio
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
async def test_a_full_disk_recovers(world: FakeDiscord, tmp_path: Path) -> None:
    """ENOSPC itself, on a disk of a megabyte that something else fills."""
    ann = world.person("ann")
    place = world.dm(ann)
    here = home(tmp_path, world)
    with small_disk(here.state) as disk:
        async with here.running() as run:
            await run.ready()
            [warm] = await ask(world, ann, "echo warm")
            await run.ended(warm)
            with (disk / "ballast").open("wb", buffering=0) as file, contextlib.suppress(OSError):
                while file.write(b"\0" * 4096):
                    pass
            [full] = await ask(world, ann, f"echo {'full ' * 300}")
            assert (await told(world, place, 2))[1:] == [(notices.disk_trouble(), full)]
            assert here.asked() == ["echo warm"]
            (disk / "ballast").unlink()
            await run.ended(full)
            assert len(await told(world, place, 3)) == 3
            assert await run.stop() == 0


@pytest.mark.anyio
@pytest.mark.parametrize("seconds", [-DAY, DAY])
async def test_a_step_in_mid_run_changes_nothing(world: FakeDiscord, tmp_path: Path, seconds: int) -> None:
    """A round in backoff is asked when its own wait is over, and what comes after it is no older and no younger."""
    ann = world.person("ann")
    here = home(tmp_path, world, retry={"backoff": [0.5]}, agent={"env": {"FAKE_PI_SCALE": "1000"}})
    async with here.running(module=("fakes.crashing", f"clock:{seconds}:later")) as run:
        await run.ready()
        [limited] = await ask(world, ann, "err429 5")
        await run.logged("turn.retry_scheduled")
        os.kill(run.pid, signal.SIGUSR1)
        await run.logged("clock.stepped")
        [after] = await ask(world, ann, "echo after")
        await run.ended(limited, after)
        assert await told(world, world.dm(ann), 2) == [("echo: err429 5", limited), ("echo: after", after)]
        assert await run.stop() == 0


@pytest.mark.anyio
@pytest.mark.parametrize("seconds", [-DAY, DAY])
async def test_a_step_between_two_runs_loses_and_delays_nothing(
    world: FakeDiscord, tmp_path: Path, seconds: int
) -> None:
    """What waited, what was in backoff and what was missed are served in order, whatever the recorded instants say."""
    ann = world.person("ann")
    here = home(tmp_path, world, retry={"backoff": [0.5]}, agent={"env": {"FAKE_PI_SCALE": "1000"}})
    async with here.running() as run:
        await run.ready()
        asked = await ask(world, ann, "err429 4", "echo two")
        await run.logged("turn.retry_scheduled")
        await run.kill()
    asked += await ask(world, ann, "echo three")
    async with here.running(module=("fakes.crashing", f"clock:{seconds}")) as run:
        await run.ready()
        asked += await ask(world, ann, "echo four")
        posts = await told(world, world.dm(ann), 4)
        assert [reference for _, reference in posts] == asked
        assert [content for content, _ in posts][1:] == ["echo: two", "echo: three", "echo: four"]
        assert [text for text in here.asked() if text.startswith("echo")] == ["echo two", "echo three", "echo four"]
        assert await run.stop() == 0
