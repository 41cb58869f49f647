"""What the browser tests do in a window, and the demo that they do it to."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from playwright.sync_api import Locator, Page, ViewportSize, expect

BOUND = 30_000.0
"""Milliseconds that any one wait may take; a wait ends with what it waits for, never with this."""

DESK = ViewportSize(width=1180, height=720)
PHONE = ViewportSize(width=390, height=780)

Open = Callable[..., Page]
"""Opens an address in a window of its own."""
Keep = Callable[[Page, str], None]
"""Keeps a picture of a window under a name."""


class Demo:
    """One running `pi-connector demo` and the address that it printed."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        self.process = process
        self.url = process.stdout.readline().removeprefix("Open ").strip()


def start(folder: Path) -> Iterator[Demo]:
    """A demo until the generator goes on; it must end in order and leave nothing behind."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "connector", "demo"],
        env=kept | {"TMPDIR": str(folder)},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield Demo(process)
            process.terminate()
            assert process.wait(BOUND / 1000) == 0
            assert list(folder.iterdir()) == []
        finally:
            process.kill()


def up(page: Page) -> None:
    """Wait until the connector listens."""
    expect(page.locator("#state")).to_have_text("connector up")


def say(page: Page, text: str, shown: str = "") -> Locator:
    """Say it here by keyboard; the message, once it stands there (with other words where Markdown makes others)."""
    page.get_by_label("Message", exact=True).fill(text)
    page.keyboard.press("Enter")
    own = page.locator("#messages > li:not(.bot)").filter(has_text=shown or text)
    expect(own.last).to_be_visible()
    return own.last


def in_thread(page: Page, text: str, channel: str = "general") -> None:
    """Ask it in a channel, and go to the thread that is opened for it."""
    page.locator("#places").get_by_role("button", name=f"# {channel}").click()
    expect(page.locator("#place")).to_have_text(f"# {channel}")
    message = say(page, f"@pi {text}")
    message.get_by_role("button", name="🧵").click()
    expect(page.locator("#place")).to_have_text(re.compile("^🧵 "))


def of_bot(page: Page, text: str | re.Pattern[str]) -> Locator:
    """The bot's newest message with this in it: while a turn ends its card may show what its answer says too."""
    return page.locator("#messages > li.bot").filter(has_text=text).last
