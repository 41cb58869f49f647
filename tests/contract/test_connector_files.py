"""Pictures and files on the real pi: what a person attaches is in the request to the model, or within reach."""

import base64
import io
from collections.abc import Callable
from typing import Any

import pytest
from PIL import Image

from fakes.behaviour import Text
from fakes.discord import FakeDiscord, Upload
from fakes.program import Home, posts
from fakes.provider import Provider
from fakes.provider_words import bash
from fakes.tether import Tether

pytestmark = pytest.mark.anyio

Relay = Callable[..., Home]


def png() -> bytes:
    made = io.BytesIO()
    Image.new("RGB", (30, 20), "red").save(made, "PNG")
    return made.getvalue()


def pictures(message: dict[str, Any]) -> list[str]:
    """The pictures of one message to the model, as its API takes them."""
    return [part["image_url"]["url"] for part in message["content"] if part["type"] == "image_url"]


async def test_a_picture_is_in_the_request_to_the_model_and_a_file_is_named(
    world: FakeDiscord, relay: Relay, provider: Provider
) -> None:
    """PROTOCOL §11: `images` of a prompt, decoded by pi; none of ours is one that it omits."""
    home = relay()
    ann, general = world.person("ann"), world.channel("general")
    files = [Upload("red.bmp.png", png(), "image/png"), Upload("a.txt", b"hello")]
    async with home.running() as run:
        await run.ready()
        asked = await world.say(ann, general, "echo look", mention=True, attachments=files)
        (answer,) = await posts(world, general, 1)
        assert await run.stop() == 0
    assert answer.content == "echo: look"
    inbox = home.state / "inbox" / str(general.id)
    picture, text = inbox / f"{asked}-1.png", inbox / f"{asked}-2.txt"
    (call,) = provider.calls
    assert call.user_text == (
        f"[discord] #general · ann ({ann.id}) · {asked}\n"
        f"[picture: red.bmp.png, image 1 of this message, a copy at {picture}]\n"
        f"[file: a.txt, 5 bytes, text/plain, saved as {text}]\n\necho look"
    )
    (url,) = pictures(call.messages[-1])
    assert url == f"data:image/png;base64,{base64.b64encode(picture.read_bytes()).decode()}"
    assert text.read_bytes() == b"hello"


async def test_a_picture_sent_during_a_tool_joins_the_run_as_a_picture(
    world: FakeDiscord, relay: Relay, provider: Provider, tether: Tether
) -> None:
    """BEHAVIOUR §4, PROTOCOL §11: `images` of a steer, known by its echo like any other."""
    ann = world.person("ann")
    private = world.dm(ann)
    provider.push(bash(tether.command()), Text("For both."))
    async with relay().running() as run:
        await run.ready()
        asked = await world.say(ann, private, "work")
        await tether.attached()
        line = await world.say(ann, private, "like this", attachments=[Upload("red.png", png(), "image/png")])
        await run.logged("steer.sent")
        await tether.release()
        await run.ended(asked, line)
        assert await run.stop() == 0
        outcomes = {line["message_id"]: line["outcome"] for line in run.of("turn.ended")}
        assert outcomes == {str(asked): "joined", str(line): "answered"}
    assert [(post.content, post.reference) for post in world.posts(private)] == [("For both.", line)]
    assert provider.calls[-1].user_text.endswith("\n\nlike this")
    assert len(pictures(provider.calls[-1].messages[-1])) == 1
