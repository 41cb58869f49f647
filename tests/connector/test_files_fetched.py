"""Files of messages on a real socket: saved and named, shown as pictures, or said; never twice, never too much."""

import base64
import contextlib
import io
import stat
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace
from PIL import Image

from connector import facts, notices, notices_files
from connector.access import Rules
from connector.inbox import PART
from connector.lane_events import Missed
from connector.notices_files import Why, reason
from engine import commands
from engine import events as told
from fakes.discord import FakeDiscord, Place, Upload
from fakes.house import House, house

pytestmark = pytest.mark.anyio
Open = Callable[..., AbstractAsyncContextManager[House]]
FILES = "/attachments/"


@pytest.fixture
def open_house(world: FakeDiscord, tmp_path: Path) -> Open:
    """Ann has access, no line needs a mention. Opened twice: a restart."""
    rules = Rules(users=frozenset({world.person("ann").id}), respond="all")
    return partial(house, world, tmp_path, rules, cards=False)


def png(size: tuple[int, int] = (30, 20)) -> bytes:
    made = io.BytesIO()
    Image.new("RGB", size, "red").save(made, "PNG")
    return made.getvalue()


def general(home: House) -> Place:
    return home.world.channel("general")


async def says(home: House, *files: Upload, text: str = "look") -> int:
    return await home.world.say(home.world.person("ann"), general(home), text, attachments=files)


async def asked(home: House, *files: Upload, text: str = "look") -> int:
    """Such a message, once its turn runs."""
    message = await says(home, *files, text=text)
    await home.comes(message, "RUNNING")
    return message


def given(home: House, message: int) -> told.Text:
    """What the child was given of a message last."""
    submits = [one for _, one in home.puppets.heard if isinstance(one, told.Submit)]
    works = [one.work for one in submits if one.turn.startswith(f"{message}") and isinstance(one.work, told.Text)]
    return works[-1]


def lines(home: House, message: int) -> list[str]:
    """The bracketed lines that the child was given, and the person's own text."""
    above, _, below = given(home, message).message.partition("\n\n")
    return [*above.split("\n")[1:], below]


def folder(home: House) -> Path:
    return home.ledger.path.parent / "inbox" / str(general(home).id)


def kept(home: House) -> dict[str, bytes]:
    """What lies in the lane's inbox; what goes while it is looked at is gone."""
    found = {}
    for path in folder(home).glob("*"):
        with contextlib.suppress(FileNotFoundError):
            if path.suffix != PART:
                found[path.name] = path.read_bytes()
    return found


def downloads(home: House) -> int:
    return sum(request.path.startswith(FILES) for request in home.world.requests)


async def told_missing(home: House, name: str, why: str) -> None:
    """The person is told that this is missing, in a line that refers to his message."""
    assert await home.post(general(home)) == notices_files.missed([Missed(name, why)])


# -- saved, and shown --------------------------------------------------------------------------------------------------


async def test_a_file_is_saved_for_its_owner_alone_and_named_by_its_path(open_house: Open) -> None:
    """CONTRACT: saved and named by its path, 0700 and 0600; the text stays the last part, unchanged."""
    async with open_house() as home:
        message = await asked(home, Upload("notes [1].TXT", b"hello", "text/plain"))
        path = folder(home) / f"{message}-1.txt"
        assert lines(home, message) == [f"[file: notes  1 .TXT, 5 bytes, text/plain, saved as {path}]", "look"]
        assert kept(home) == {path.name: b"hello"}
        modes = [stat.S_IMODE(one.stat().st_mode) for one in (path, path.parent, path.parent.parent)]
        assert modes == [0o600, 0o700, 0o700]
        assert home.world.posts(general(home)) == []


async def test_a_picture_goes_as_a_picture_and_a_copy_of_it_is_named(open_house: Open) -> None:
    async with open_house() as home:
        message = await asked(home, Upload("red.bmp", png(), "image/bmp"), Upload("a.txt", b"1"))
        (name, data), (other, _) = sorted(kept(home).items())
        assert (name, other) == (f"{message}-1.png", f"{message}-2.txt")
        assert given(home, message).images == (commands.Image(base64.b64encode(data).decode(), "image/png"),)
        assert Image.open(io.BytesIO(data)).getpixel((0, 0)) == (255, 0, 0)
        assert (
            lines(home, message)[0] == f"[picture: red.bmp, image 1 of this message, a copy at {folder(home) / name}]"
        )


async def test_a_picture_that_cannot_be_read_goes_as_a_file_and_both_are_told(open_house: Open) -> None:
    async with open_house() as home:
        message = await asked(home, Upload("broken.png", b"no picture", "image/png"))
        path = folder(home) / f"{message}-1.bin"
        unreadable = reason(Why.UNREADABLE, 0)
        assert lines(home, message)[0] == (f"[file: broken.png, 10 bytes, image/png, {unreadable}, saved as {path}]")
        assert (kept(home), given(home, message).images) == ({path.name: b"no picture"}, ())
        await told_missing(home, "broken.png", f"{unreadable}, so it goes as a file")
        assert home.world.posts(general(home))[0].reference == message


async def test_files_of_a_forwarded_message_come_too(open_house: Open) -> None:
    async with open_house() as home:
        dora, ann = home.world.person("dora"), home.world.person("ann")
        far = await home.world.say(dora, home.world.channel("far"), "there", attachments=[Upload("b.txt", b"12")])
        message = await home.world.forward(ann, general(home), far)
        await home.comes(message, "RUNNING")
        path = folder(home) / f"{message}-1.txt"
        forwarded = ["[forwarded: there]", f"[forwarded file: b.txt, 2 bytes, text/plain, saved as {path}]", ""]
        assert (lines(home, message), kept(home)) == (forwarded, {path.name: b"12"})


async def test_a_remote_agent_gets_pictures_alone(open_house: Open) -> None:
    """CONTRACT `agent.remote`: pictures go inline, other files are refused with a notice."""
    async with open_house(files=lambda bounds: replace(bounds, remote=True)) as home:
        message = await asked(home, Upload("red.png", png(), "image/png"), Upload("a.txt", b"1", "text/plain"))
        elsewhere = reason(Why.REMOTE, 0)
        assert lines(home, message) == [
            "[picture: red.png, image 1 of this message]",
            f"[file: a.txt, 1 bytes, text/plain, not given: {elsewhere}]",
            "look",
        ]
        assert (len(given(home, message).images), list(kept(home))) == (1, [f"{message}-1.png"])
        await told_missing(home, "a.txt", elsewhere)
        assert downloads(home) == 1


# -- bounds ------------------------------------------------------------------------------------------------------------


async def test_what_is_too_large_by_its_own_word_is_not_even_asked_for(open_house: Open) -> None:
    async with open_house(files=lambda bounds: replace(bounds, max_bytes=4)) as home:
        message = await asked(home, Upload("big.txt", b"12345", "text/plain"))
        assert downloads(home) == 0
        assert lines(home, message) == ["[file: big.txt, 5 bytes, text/plain, not given: larger than 4 bytes]", "look"]
        await told_missing(home, "big.txt", "larger than 4 bytes")


async def test_what_is_larger_than_its_word_is_cut_off_while_it_comes(open_house: Open) -> None:
    async with open_house(files=lambda bounds: replace(bounds, max_bytes=400_000)) as home:
        message = await asked(home, Upload("liar.txt", b"x" * 2_000_000, "text/plain", size=3))
        assert lines(home, message)[0].endswith("not given: larger than 390.6 KiB]")
        assert kept(home) == {}


async def test_the_files_beyond_those_of_one_message_are_said(open_house: Open) -> None:
    async with open_house(files=lambda bounds: replace(bounds, max_message=1)) as home:
        message = await asked(home, Upload("a.txt", b"1"), Upload("b.txt", b"2"))
        assert list(kept(home)) == [f"{message}-1.txt"]
        await told_missing(home, "b.txt", reason(Why.TOO_MANY, 1))


async def test_the_oldest_files_of_a_lane_go_first(open_house: Open) -> None:
    async with open_house(max_lane=10) as home:
        first = await asked(home, Upload("a.txt", b"1234"))
        await home.answers(first)
        second = await asked(home, Upload("b.txt", b"1234"), Upload("c.txt", b"12"))
        assert kept(home) == {f"{first}-1.txt": b"1234", f"{second}-1.txt": b"1234", f"{second}-2.txt": b"12"}
        await home.answers(second)
        third = await asked(home, Upload("d.txt", b"1"))
        assert sorted(kept(home)) == [f"{second}-1.txt", f"{second}-2.txt", f"{third}-1.txt"]


async def test_what_no_inbox_could_hold_is_not_given(open_house: Open) -> None:
    async with open_house(max_lane=3) as home:
        message = await asked(home, Upload("a.txt", b"1234"))
        assert lines(home, message)[0].endswith(f"not given: {reason(Why.NO_ROOM, 0)}]")
        assert kept(home) == {}


# -- what goes wrong ---------------------------------------------------------------------------------------------------


async def test_a_download_that_is_cut_is_tried_again_and_then_said(open_house: Open) -> None:
    async with open_house() as home:
        message = await asked(home, Upload("cut.txt", b"1234567", "text/plain", sent=3))
        assert downloads(home) == 3
        assert lines(home, message)[0].endswith(f"not given: {reason(Why.FAILED, 0)}]")
        await told_missing(home, "cut.txt", reason(Why.FAILED, 0))
        assert kept(home) == {}


async def test_trouble_that_passes_is_not_noticed(open_house: Open) -> None:
    async with open_house() as home:
        home.world.faults.status("GET", FILES, 502)
        home.world.faults.reset("GET", FILES)
        message = await asked(home, Upload("a.txt", b"12"))
        assert (list(kept(home).values()), downloads(home)) == ([b"12"], 3)
        assert lines(home, message)[0].startswith("[file: a.txt, 2 bytes")
        assert home.world.posts(general(home)) == []


async def test_an_address_that_has_expired_is_asked_for_anew(open_house: Open) -> None:
    """Discord signs them for about a day: a message may wait longer, or the connector be away."""
    async with open_house() as home:
        first = await asked(home)
        message = await says(home, Upload("a.txt", b"1"), Upload("b.txt", b"2"))
        slow = home.world.faults.hang("GET", FILES, times=None)
        await home.until(lambda: downloads(home) == 2, "the downloads to begin")
        home.world.expire_files()
        slow.release()
        await home.answers(first)
        await home.comes(message, "RUNNING")
        assert sorted(kept(home).values()) == [b"1", b"2"]
        again = home.world.sent("GET", "/channels/{channel_id}/messages/{message_id}")
        assert [request.path for request in again] == [f"/channels/{general(home).id}/messages/{message}"]


async def test_a_file_that_discord_has_no_longer_is_said(open_house: Open) -> None:
    async with open_house() as home:
        await asked(home, Upload("gone.txt", b"1", status=404))
        await told_missing(home, "gone.txt", reason(Why.GONE, 0))


async def test_nothing_but_a_lost_file_is_not_asked(open_house: Open) -> None:
    async with open_house() as home:
        message = await says(home, Upload("gone.txt", b"1", status=404), text="")
        why = reason(Why.GONE, 0)
        assert await home.post(general(home)) == notices_files.nothing_left([Missed("gone.txt", why)])
        await home.comes(message, "")
        assert home.puppets.prompts() == []


async def test_a_disk_that_refuses_is_said(open_house: Open) -> None:
    async with open_house() as home:
        (home.ledger.path.parent / "inbox").write_text("in the way")
        message = await asked(home, Upload("a.txt", b"1", "text/plain"))
        assert lines(home, message)[0].endswith(f"not given: {reason(Why.DISK, 0)}]")
        await told_missing(home, "a.txt", reason(Why.DISK, 0))


# -- meanwhile, and later ----------------------------------------------------------------------------------------------


async def test_stop_while_it_is_fetched_ends_the_download(open_house: Open) -> None:
    async with open_house() as home:
        slow = home.world.faults.hang("GET", FILES)
        message = await says(home, Upload("a.txt", b"1"))
        await home.until(lambda: downloads(home) == 1, "the download to begin")
        await home.world.say(home.world.person("ann"), general(home), "stop")
        assert (await home.post(general(home))).startswith("Stopped")
        await home.comes(message, "")
        await home.until(lambda: not any(folder(home).iterdir()), "nothing to be left of the download")
        slow.release()
        await home.settle()
        assert home.puppets.prompts() == []
        assert home.of(facts.Fetched) == []


async def test_a_restart_fetches_what_was_on_its_way_and_nothing_twice(open_house: Open, world: FakeDiscord) -> None:
    async with open_house() as home:
        first = await asked(home)
        slow = world.faults.hang("GET", "/b.txt")
        message = await says(home, Upload("a.txt", b"1"), Upload("b.txt", b"2"))
        await home.until(lambda: list(kept(home)) == [f"{message}-1.txt"], "one of them to be there")
        await home.answers(first)
    slow.release()
    world.expire_files()
    begun = downloads(home)
    async with open_house() as home:
        await home.comes(message, "RUNNING")
        assert kept(home) == {f"{message}-1.txt": b"1", f"{message}-2.txt": b"2"}
        paths = [request.path for request in world.requests if request.path.startswith(FILES)][begun:]
        assert {path.rpartition("/")[2] for path in paths} == {"b.txt"}


async def test_retry_and_ask_pi_bring_the_files_from_where_they_are(open_house: Open) -> None:
    async with open_house() as home:
        message = await asked(home, Upload("red.png", png(), "image/png"))
        await home.fails(message)
        await home.post(general(home))
        post = home.world.posts(general(home))[0]
        await home.world.click(home.world.person("ann"), post.id, f"retry:{message}")
        await home.comes(f"{message}.1", "RUNNING")
        assert (len(given(home, message).images), downloads(home)) == (1, 1)
        await home.answers(f"{message}.1")
        act = await home.world.context_menu(home.world.person("ann"), general(home), "Ask pi", message)
        assert await home.told(act) == notices.asked()
        claim = home.of(facts.Claimed)[-1]
        assert isinstance(claim, facts.Claimed)
        await home.comes(claim.round, "RUNNING")
        assert (len(given(home, message).images), downloads(home)) == (1, 1)


async def test_deleting_a_message_deletes_its_files_but_not_under_its_turn(open_house: Open) -> None:
    """CONTRACT, Trust; edits and deletes leave a running turn alone."""
    async with open_house() as home:
        first, second = await asked(home, Upload("a.txt", b"1")), await says(home, Upload("b.txt", b"2"))
        await home.until(lambda: len(home.of(facts.Fetched)) == 2, "both to be there")
        await home.world.delete(first)
        await home.world.delete(second)
        await home.until(lambda: f"{second}-1.txt" not in kept(home), "the second one's file to be gone")
        assert list(kept(home)) == [f"{first}-1.txt"]


async def test_an_edit_while_it_is_fetched_keeps_the_files(open_house: Open) -> None:
    async with open_house() as home:
        slow = home.world.faults.hang("GET", FILES)
        message = await says(home, Upload("a.txt", b"1"))
        await home.until(lambda: downloads(home) == 1, "the download to begin")
        await home.world.edit(message, "look again")
        await home.until(lambda: home.of(facts.Edited), "the edit")
        slow.release()
        await home.comes(message, "RUNNING")
        path = folder(home) / f"{message}-1.txt"
        assert lines(home, message) == [f"[file: a.txt, 1 bytes, text/plain, saved as {path}]", "look again"]
