"""A browser in which nothing but this machine can be reached, and the demo as a person starts it."""

import io
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, ViewportSize, expect, sync_playwright

from tests.system.browser.windows import BOUND, DESK, Demo, Keep, Open, start, up

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
ALONE = (
    # Every other address is refused: by name, and by a proxy that nothing listens at.
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--proxy-server=http://127.0.0.1:9",
    "--proxy-bypass-list=<-loopback>;127.0.0.1",
    "--disable-background-networking",
    "--disable-component-update",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Gone with its room: while Playwright runs, its thread has an event loop, and no other test can have one."""
    expect.set_options(timeout=BOUND)
    found = next((path for name in PROGRAMS if (path := shutil.which(name)) is not None), None)
    if found is None:
        reason = "there is no Chromium here: run .ci/browser-install"
        if os.environ.get("REQUIRE_BROWSER") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=[*ALONE, "--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    """One demo for all tests that leave it as it was; each talks in a thread of its own."""
    yield from start(tmp_path_factory.mktemp("demo"))


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Demo]:
    """A demo of this test alone, for what takes the connector down."""
    yield from start(tmp_path)


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Open]:
    """Opens an address in a window of its own; at the end nothing was asked of anybody else, and nothing failed."""
    asked: list[str] = []
    wrong: list[str] = []
    contexts = []

    def opened(url: str, window: ViewportSize = DESK) -> Page:
        context = browser.new_context(viewport=window, accept_downloads=True)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(BOUND)
        context.on("request", lambda request: asked.append(request.url))
        page.on("websocket", lambda socket: asked.append(socket.url))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda line: wrong.append(line.text) if "Content Security Policy" in line.text else None)
        page.goto(url)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert {urlsplit(url).hostname for url in asked} <= {"127.0.0.1"}
    assert wrong == []


@pytest.fixture
def page(open_page: Open, shared: Demo) -> Page:
    """The shared demo in a window of its own, its connector up."""
    page = open_page(shared.url)
    up(page)
    return page


@pytest.fixture
def picture() -> Keep:
    """Keeps what a window shows, where $PICTURES names a folder for it (`make pictures`)."""
    folder = os.environ.get("PICTURES")

    def keep(page: Page, name: str) -> None:
        if folder is not None:
            shown = Image.open(io.BytesIO(page.screenshot()))
            # 160 colours are enough for a page, and keep the repository small.
            few = shown.convert("RGB").quantize(160, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
            few.save(Path(folder) / f"{name}.png", optimize=True)

    return keep
