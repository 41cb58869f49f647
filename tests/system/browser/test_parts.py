"""What a bot may put into a conversation, in a browser: buttons, menus, forms, commands, each with mouse or keys."""

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from fakes.discord import FakeDiscord
from fakes.discord_client import running
from fakes.page.server import Page
from tests.fakes.page_bot import Panel, bot
from tests.system.browser.windows import BOUND, Open, of_bot


@pytest.fixture
def url() -> Iterator[str]:
    """The page over a Discord with an unmodified bot, which has posted its panel in #general; on a thread."""
    found: list[str] = []
    ready = threading.Event()
    loop = asyncio.new_event_loop()
    done = asyncio.Event()

    async def main() -> None:
        async with FakeDiscord() as world:
            ada, general, client = world.person("ada"), world.channel("general"), bot()
            async with running(world, client), Page(world, [ada, world.person("ben")]) as page:
                await client.tree.sync()
                channel: Any = client.get_channel(general.id)
                await channel.send("a panel", view=Panel(timeout=None))
                found.append(page.url)
                ready.set()
                await done.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(main()), name="bot")
    thread.start()
    try:
        assert ready.wait(BOUND / 1000)
        yield found[0]
    finally:
        loop.call_soon_threadsafe(done.set)
        thread.join()
        loop.close()


def test_a_button_a_form_and_a_menu(open_page: Open, url: str) -> None:
    page = open_page(url)
    page.locator("#places").get_by_role("button", name="# general").click()
    panel = of_bot(page, "a panel")
    panel.get_by_role("button", name="Open").click()
    form = page.get_by_role("dialog", name="A form")
    field = form.get_by_label("A word")
    expect(field).to_be_focused()
    page.keyboard.press("Escape")
    expect(form).to_be_hidden()
    expect(panel.get_by_role("button", name="Open")).to_be_focused()
    page.keyboard.press("Enter")
    expect(field).to_be_focused()
    page.keyboard.type("pear")
    page.keyboard.press("Enter")
    expect(of_bot(page, "you wrote pear")).to_contain_text("Only you can see this")
    expect(form).to_be_hidden()

    page.get_by_label("Make a selection").select_option("Blue")
    expect(of_bot(page, "picked Blue")).to_contain_text("(edited)")


def test_a_command_with_an_option_that_is_completed(open_page: Open, url: str) -> None:
    page = open_page(url)
    keys = page.keyboard
    expect(page.get_by_label("Message", exact=True)).to_be_focused()
    keys.type("/gr")
    expect(page.get_by_role("option", name="/greet Greets")).to_be_visible()
    keys.press("Tab")
    option = page.get_by_role("combobox", name="name")
    expect(option).to_be_focused()
    keys.type("be")
    offer = page.get_by_role("option", name="be!")
    expect(offer).to_be_visible()
    keys.press("ArrowDown")
    keys.press("Enter")
    expect(option).to_have_value("be!")
    keys.press("Enter")
    expect(of_bot(page, "hello be")).to_contain_text("ada used /greet")
    expect(page.get_by_label("Message", exact=True)).to_be_focused()


def test_an_entry_in_a_messages_menu(open_page: Open, url: str) -> None:
    page = open_page(url)
    page.locator("#places").get_by_role("button", name="# general").click()
    of_bot(page, "a panel").click(button="right", position={"x": 300, "y": 8})
    page.get_by_role("menuitem", name="Apps: Count").click()
    expect(of_bot(page, "7 characters")).to_be_visible()
