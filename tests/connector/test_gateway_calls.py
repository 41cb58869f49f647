"""What is asked of Discord, through every fault on the way: one message where one was meant, two kinds of errors."""

import asyncio
from collections.abc import AsyncIterator

import aiohttp
import discord
import pytest

from connector.attach_lines import sent_name
from connector.gateway_calls import rows, same, translated
from connector.ports import Attached, Button, Menu, Part, PostLater, PostNever, PostOther
from fakes.discord import FakeDiscord
from fakes.living_gateway import Living, running

pytestmark = pytest.mark.anyio
MESSAGES = "/channels/{channel_id}/messages"
MESSAGE = MESSAGES + "/{message_id}"
STOP = (Button("stop:r1", "Stop", "danger"),)


@pytest.fixture
async def living(world: FakeDiscord) -> AsyncIterator[Living]:
    async with running(world, commands=()) as living:
        yield living


# -- posting -------------------------------------------------------------------------------------------------------


async def test_a_post_pings_nobody_but_whom_it_answers(world: FakeDiscord, living: Living) -> None:
    """CONTRACT, What Discord sees: nonce, `enforce_nonce`, the reference, `allowed_mentions`."""
    ann, general = world.person("ann"), world.channel("general")
    asked = await world.say(ann, general, "a question")
    number = await living.gateway.post(Part(general.id, "@everyone hello", "n1", asked, STOP))
    (post,) = world.posts(general)
    assert (post.id, post.content, post.nonce, post.reference) == (number, "@everyone hello", "n1", asked)
    assert post.allowed_mentions == {"parse": [], "replied_user": True}
    assert post.custom_ids() == ["stop:r1"]
    (request,) = world.sent("POST", MESSAGES)
    assert request.body["enforce_nonce"] is True
    assert request.body["message_reference"]["fail_if_not_exists"] is False


async def test_a_file_goes_with_its_post(world: FakeDiscord, living: Living) -> None:
    general = world.channel("general")
    number = await living.gateway.post(
        Part(general.id, "beginning", "n1", buttons=STOP, files=(Attached("answer.md", b"# all"),))
    )
    (post,) = world.posts(general)
    assert (post.files, post.content, post.nonce, post.custom_ids()) == (("answer.md",), "beginning", "n1", ["stop:r1"])
    assert world.file(number, "answer.md") == b"# all"


async def test_several_files_go_with_one_post_and_without_a_text(world: FakeDiscord, living: Living) -> None:
    general = world.channel("general")
    files = (Attached("a.txt", b"one"), Attached("b.png", b"two"), Attached("a.txt", b"three"))
    await living.gateway.post(Part(general.id, "", "n1", files=files))
    (post,) = world.posts(general)
    assert (post.content, post.files, post.nonce) == ("", ("a.txt", "b.png", "a.txt"), "n1")
    (request,) = world.sent("POST", MESSAGES)
    assert request.body["attachments"] == [{"id": n, "filename": one.name} for n, one in enumerate(files)]
    kept = [upload.data for upload in world.mind.cdn.files.values()]
    assert kept == [b"one", b"two", b"three"]


ODD = ("hello (world).png", "_bug.png", "отчёт.pdf", "résumé.txt", "'quoted'; x=\"y\".txt", "....", "日本")


@pytest.mark.parametrize("name", ODD)
async def test_a_post_is_found_under_the_name_that_discord_gave_its_file(
    world: FakeDiscord, living: Living, name: str
) -> None:
    """Blanks become underscores, signs go, and letters that are not Latin may become any name."""
    general = world.channel("general")
    sent = sent_name(name)
    post = await living.gateway.post(Part(general.id, "", "n1", files=(Attached(sent, b"x"),)))
    assert world.posts(general)[0].files != (name,)
    found = living.gateway.posted_with
    assert await found(general.id, Part(general.id, "", "n1", files=(Attached(sent, kept="/x", size=1),)), 0) == post
    assert await found(general.id, Part(general.id, "", "n1"), 0) is None
    if name.isascii() and name != "....":
        other = Part(general.id, "", "n1", files=(Attached("other.txt", b"x"),))
        assert await found(general.id, other, 0) is None


async def test_a_post_is_found_by_all_its_files_in_their_order(world: FakeDiscord, living: Living) -> None:
    general = world.channel("general")
    a, b = Attached("a.txt", b"x"), Attached("b.txt", b"y")
    post = await living.gateway.post(Part(general.id, "hello", "n1", files=(a, b)))
    expected = {(a, b): post, (b, a): None, (a,): None, (a, b, a): None, (): None}
    for files, number in expected.items():
        part = Part(general.id, "hello", "n1", files=files)
        assert await living.gateway.posted_with(general.id, part, 0) == number


async def test_an_upload_may_take_longer_than_another_request(world: FakeDiscord) -> None:
    """A second more for each 100,000 bytes: one that a slow line can carry is not given up, and tried for ever."""
    general = world.channel("general")
    async with running(world, commands=(), request_limit=0.2) as living:
        hung = world.faults.hang("POST", MESSAGES)
        part = Part(general.id, "", "n1", files=(Attached("a.bin", b"x" * 6_000_000),))
        posting = asyncio.create_task(living.gateway.post(part))
        await world.wait_for(lambda: hung.hits)
        other = world.faults.hang("GET", MESSAGES)
        with pytest.raises(PostLater, match="no reply in time"):
            await living.gateway.newest(general.id)
        other.release()
        hung.release()
        assert await posting == world.posts(general)[0].id


async def test_the_starter_of_a_thread_is_not_referred_to_inside_it(world: FakeDiscord, living: Living) -> None:
    ann, general = world.person("ann"), world.channel("general")
    asked = await world.say(ann, general, "a question")
    thread = await living.gateway.open_thread(general.id, asked, "a question")
    assert thread == asked
    await living.gateway.post(Part(thread, "hello", "n1", reply_to=asked))
    assert [(p.content, p.reference) for p in world.posts(world.place(thread))] == [("hello", None)]
    assert "message_reference" not in world.sent("POST", MESSAGES)[0].body


@pytest.mark.parametrize("code", [10008, 160002])
async def test_a_reply_that_cannot_refer_is_posted_without(world: FakeDiscord, living: Living, code: int) -> None:
    ann, general = world.person("ann"), world.channel("general")
    asked = await world.say(ann, general, "a question")
    world.faults.refuse("POST", MESSAGES, code)
    await living.gateway.post(Part(general.id, "hello", "n1", reply_to=asked))
    assert [(p.content, p.nonce, p.reference) for p in world.posts(general)] == [("hello", "n1", None)]


async def test_a_reply_to_a_system_line_is_posted_without(world: FakeDiscord, living: Living) -> None:
    """50035 that names `message_reference`; one that names something else is a refusal."""
    general = world.channel("general")
    world.faults.refuse("POST", MESSAGES, 50035)
    with pytest.raises(PostNever):
        await living.gateway.post(Part(general.id, "hello", "n1", reply_to=5))
    assert len(world.sent("POST", MESSAGES)) == 1


async def test_a_reply_to_a_deleted_message_is_posted(world: FakeDiscord, living: Living) -> None:
    ann, general = world.person("ann"), world.channel("general")
    asked = await world.say(ann, general, "a question")
    await world.delete(asked)
    await living.gateway.post(Part(general.id, "hello", "n1", reply_to=asked))
    assert [(p.content, p.reference) for p in world.posts(general)] == [("hello", None)]


async def again(living: Living, part: Part) -> int:
    """Try until it stands, as the outbox does."""
    while True:
        try:
            return await living.gateway.post(part)
        except PostLater:
            continue


@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("how", ["502", "503", "reset", "429"])
async def test_a_lost_reply_leaves_one_message(world: FakeDiscord, living: Living, how: str, stored: bool) -> None:
    """Issue 3: stored-then-502, stored-then-reset: exactly one answer each, by the same nonce."""
    general = world.channel("general")
    match how, stored:
        case "429", _:
            world.faults.rate_limit("POST", MESSAGES, retry_after=0.01, via=stored)
        case "reset", True:
            world.faults.stored_then_reset("POST", MESSAGES)
        case "reset", False:
            world.faults.reset("POST", MESSAGES)
        case _, True:
            world.faults.stored_then("POST", MESSAGES, int(how))
        case _:
            world.faults.status("POST", MESSAGES, int(how))
    number = await again(living, Part(general.id, "hello", "n1"))
    assert [(p.id, p.content) for p in world.posts(general)] == [(number, "hello")]
    assert len(world.sent("POST", MESSAGES)) == 2
    assert {r.body["nonce"] for r in world.sent("POST", MESSAGES)} == {"n1"}


@pytest.mark.parametrize("stored", [True, False])
async def test_a_request_that_hangs_is_bounded_and_keeps_its_nonce(world: FakeDiscord, stored: bool) -> None:
    """NOTES: a hung request waits 300 s in discord.py."""
    general = world.channel("general")
    async with running(world, commands=(), request_limit=0.2) as living:
        world.faults.hang("POST", MESSAGES, stored=stored)
        with pytest.raises(PostLater, match="no reply in time"):
            await living.gateway.post(Part(general.id, "hello", "n1"))
        number = await again(living, Part(general.id, "hello", "n1"))
        assert [p.id for p in world.posts(general)] == [number]


async def test_a_reply_that_is_another_message_counts_as_not_posted(world: FakeDiscord, living: Living) -> None:
    """CONTRACT: a reply that comes back with other content counts as not posted."""
    general = world.channel("general")
    first = await living.gateway.post(Part(general.id, "one", "same"))
    with pytest.raises(PostOther) as raised:
        await living.gateway.post(Part(general.id, "two", "same"))
    assert raised.value.message == first


async def test_blanks_that_discord_takes_away_are_the_same_content(world: FakeDiscord, living: Living) -> None:
    general = world.channel("general")
    assert await living.gateway.post(Part(general.id, "  one \r\n two  \n\n", "n1"))
    assert same("a  \nb\n", "a\nb")
    assert not same("a b", "ab")


@pytest.mark.parametrize("code", [10003, 50001, 50013, 50007])
async def test_what_discord_refuses_for_good_says_so(world: FakeDiscord, living: Living, code: int) -> None:
    general = world.channel("general")
    world.faults.refuse("POST", MESSAGES, code)
    with pytest.raises(PostNever) as raised:
        await living.gateway.post(Part(general.id, "hello", "n1"))
    assert raised.value.code == code


async def test_a_locked_thread_is_opened_again_before_the_next_try(world: FakeDiscord, living: Living) -> None:
    ann, general = world.person("ann"), world.channel("general")
    thread = world.open_thread(ann, general, "old")
    world.archive(thread, locked=True)
    with pytest.raises(PostLater, match="archived"):
        await living.gateway.post(Part(thread.id, "hello", "n1"))
    await living.gateway.post(Part(thread.id, "hello", "n1"))
    assert [p.content for p in world.posts(thread)] == ["hello"]


async def test_before_login_everything_is_later(world: FakeDiscord) -> None:
    living = Living(world)
    with pytest.raises(PostLater, match="not logged in"):
        await living.gateway.typing(1)


async def test_after_close_everything_is_later(world: FakeDiscord) -> None:
    async with running(world) as living:
        pass
    with pytest.raises(PostLater):
        await living.gateway.typing(1)


# -- the rest ------------------------------------------------------------------------------------------------------


async def test_edits_reactions_and_typing_reach_discord(world: FakeDiscord, living: Living) -> None:
    ann, general = world.person("ann"), world.channel("general")
    asked = await world.say(ann, general, "a question")
    card = await living.gateway.post(Part(general.id, "working", "n1", buttons=STOP))
    await living.gateway.edit(general.id, card, "still working", STOP)
    await living.gateway.edit(general.id, card, "done")
    await living.gateway.react(general.id, asked, "⏳")
    await living.gateway.react(general.id, asked, "✅")
    await living.gateway.unreact(general.id, asked, "⏳")
    await living.gateway.typing(general.id)
    (post,) = world.posts(general)
    assert (post.content, post.custom_ids(), world.reactions(asked)) == ("done", [], ["✅"])
    assert world.typings(general) == 1


async def test_an_edit_in_an_archived_thread_opens_it_first(world: FakeDiscord, living: Living) -> None:
    ann, general = world.person("ann"), world.channel("general")
    thread = world.open_thread(ann, general, "old")
    card = await living.gateway.post(Part(thread.id, "working", "n1"))
    world.archive(thread)
    with pytest.raises(PostLater, match="archived"):
        await living.gateway.edit(thread.id, card, "done")
    await living.gateway.edit(thread.id, card, "done")
    assert world.post(card).content == "done"


async def test_history_is_oldest_first_behind_an_id(world: FakeDiscord, living: Living) -> None:
    ann, general = world.person("ann"), world.channel("general")
    ids = [await world.say(ann, general, str(number)) for number in range(250)]
    after, found = ids[9], []
    while page := await living.gateway.history(general.id, after):
        found += page
        after = page[-1].id
    assert [message.id for message in found] == ids[10:]
    assert [message.text for message in await living.gateway.history(general.id, ids[9], 3)] == ["10", "11", "12"]
    assert await living.gateway.newest(general.id) == ids[-1]
    assert await living.gateway.newest(world.channel("empty").id) == 0


async def test_history_brings_roles_where_a_role_gives_access(world: FakeDiscord) -> None:
    """A message of the history has no member: a backfilled message would be refused without asking."""
    role = world.role("helpers")
    ann, general = world.person("ann", roles=[role]), world.channel("general")
    await world.say(ann, general, "missed")
    async with running(world, roles=frozenset({role})) as living:
        (message,) = await living.gateway.history(general.id, 0)
        assert message.author.roles == frozenset({world.guild.id, role})


async def test_history_of_a_private_channel_is_private(world: FakeDiscord, living: Living) -> None:
    ann = world.person("ann")
    where = world.dm(ann)
    await world.say(ann, where, "psst")
    (message,) = await living.gateway.history(where.id, 0)
    assert (message.place.kind, message.place.guild, message.text) == ("private", None, "psst")


async def test_a_post_is_found_in_the_history_by_content_author_and_what_it_answers(
    world: FakeDiscord, living: Living
) -> None:
    ann, general = world.person("ann"), world.channel("general")
    first, second = await world.say(ann, general, "one"), await world.say(ann, general, "two")
    await world.say(ann, general, "Stopped.")
    post = await living.gateway.post(Part(general.id, "Stopped.", "n1", reply_to=first))
    found = living.gateway.posted_with
    assert await found(general.id, Part(general.id, "Stopped.\n", "n1", reply_to=first), first) == post
    assert await found(general.id, Part(general.id, "Stopped.", "n2", reply_to=second), first) is None
    assert await found(general.id, Part(general.id, "Stopped!", "n1", reply_to=first), first) is None
    assert await found(general.id, Part(general.id, "Stopped.", "n1", reply_to=first), post) is None


async def test_a_post_is_found_behind_hundreds_of_other_messages(world: FakeDiscord, living: Living) -> None:
    ann, general = world.person("ann"), world.channel("general")
    post = await living.gateway.post(Part(general.id, "hello", "n1"))
    for number in range(250):
        await world.say(ann, general, str(number))
    assert await living.gateway.posted_with(general.id, Part(general.id, "hello", "n1"), 0) == post


async def test_a_thread_whose_reply_was_lost_is_found_by_its_message(world: FakeDiscord, living: Living) -> None:
    """NOTES: a thread opened on a message has that message's id."""
    ann, general = world.person("ann"), world.channel("general")
    asked = await world.say(ann, general, "a question")
    world.faults.stored_then_reset("POST", MESSAGE + "/threads")
    with pytest.raises(PostLater):
        await living.gateway.open_thread(general.id, asked, "a question")
    assert await living.gateway.open_thread(general.id, asked, "a question") == asked
    assert [thread.id for thread in world.threads(general)] == [asked]


async def test_a_thread_may_be_refused(world: FakeDiscord, living: Living) -> None:
    ann, general = world.person("ann"), world.channel("general")
    asked = await world.say(ann, general, "a question")
    world.forbid(general, "create_public_threads")
    with pytest.raises(PostNever):
        await living.gateway.open_thread(general.id, asked, "a question")


async def test_calls_of_one_channel_do_not_wait_behind_a_hung_one_of_another(
    world: FakeDiscord, living: Living
) -> None:
    one, two = world.channel("one"), world.channel("two")
    hang = world.faults.hang("POST", f"/channels/{one.id}/messages")
    first = asyncio.create_task(living.gateway.post(Part(one.id, "hello", "n1")))
    await world.wait_for(lambda: world.sent("POST", MESSAGES))
    await living.gateway.post(Part(two.id, "hello", "n2"))
    assert not first.done()
    hang.release()
    await first


def test_every_error_of_a_request_is_one_of_two() -> None:
    assert isinstance(translated(TimeoutError()), PostLater)
    assert isinstance(translated(ConnectionResetError()), PostLater)
    assert isinstance(translated(discord.RateLimited(40.0)), PostLater)
    assert translated(ZeroDivisionError()) is None
    assert translated(RuntimeError("another one")) is None


async def test_a_request_after_the_end_of_the_session_is_for_later_and_no_fault_of_ours() -> None:
    """At a stop what is under way meets it: aiohttp tells of it by a bare RuntimeError."""
    session = aiohttp.ClientSession()
    await session.close()
    with pytest.raises(RuntimeError) as closed:
        await session.get("http://127.0.0.1:9/")
    assert isinstance(translated(closed.value), PostLater)


def test_controls_stand_in_rows_and_a_menu_in_one_of_its_own() -> None:
    buttons = [Button(f"b{number}", "x" * 90) for number in range(7)]
    menu = Menu("m", tuple((f"label {number}" + "y" * 100, str(number)) for number in range(30)), "z" * 200)
    shown = rows([*buttons, menu, menu, buttons[0]])
    ids = [[one["custom_id"] for one in row["components"]] for row in shown]
    assert ids == [["b0", "b1", "b2", "b3", "b4"], ["b5", "b6"], ["m"], ["m"], ["b0"]]
    assert shown[1]["components"][0] == {"type": 2, "style": 2, "label": "x" * 80, "custom_id": "b5"}
    one = shown[2]["components"][0]
    assert (one["type"], len(one["options"]), len(one["placeholder"])) == (3, 25, 150)
    assert one["options"][3] == {"label": ("label 3" + "y" * 100)[:100], "value": "3"}
    assert set(one) == {"type", "custom_id", "options", "placeholder"}


async def test_a_post_is_found_in_the_history_by_its_controls_alone(world: FakeDiscord, living: Living) -> None:
    """A card has another content at each moment."""
    general = world.channel("general")
    stop, longer = (Button(name, "Stop") for name in ("stop:7", "stop:7.1"))
    before = await living.gateway.post(Part(general.id, "one", "n1", buttons=(longer,)))
    card = await living.gateway.post(Part(general.id, "two", "n2", buttons=(stop,)))
    menu = Menu("dialog:d:menu", (("a", "0"),))
    asked = await living.gateway.post(Part(general.id, "three", "n3", buttons=(menu, Button("dialog:d:cancel", "No"))))
    found = living.gateway.shown_with
    names = ("stop:7", "stop:7.1", "dialog:d:cancel", "dialog:d:menu", "dialog:d", "stop:")
    assert [await found(general.id, name, 0) for name in names] == [card, before, asked, asked, None, None]
    assert await found(general.id, "stop:7", card) is None
