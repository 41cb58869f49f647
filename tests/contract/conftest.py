"""What the tests against the real pi share: provider, installed pi, a tool's tether, Discord, a connector's home."""

import os
import re
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from fakes.discord import FakeDiscord
from fakes.program import Home
from fakes.provider import Provider
from fakes.raw_child import RawChild
from fakes.real_pi import QUICK_RETRY, Installation, RealPi, installed
from fakes.tether import Tether

ROOT = Path(__file__).parents[2]
_PINS = re.findall(r"^PI_PINNED=(\S+)$", (ROOT / ".ci" / "pins.sh").read_text(), re.MULTILINE)
PINNED = str(_PINS[0])
VERSION = os.environ.get("PI_VERSION") or PINNED
"""The pi that is asked for: another than the pinned one is looked at, and judged by nothing."""
DIFFERENCES = "differences"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the tests of another pi than the pinned one differ: they are facts of the pinned one."""
    for item in items:
        if VERSION != PINNED and "installation" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xfail(reason=f"pi {VERSION} is not the pinned {PINNED}", strict=False))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how another pi than the pinned one differs."""
    if VERSION == PINNED:
        return
    terminalreporter.section(f"pi {VERSION} beside {PINNED}")
    reports = [each for outcome in ("passed", "xpassed", "xfailed") for each in terminalreporter.getreports(outcome)]
    for report in sorted(reports, key=lambda each: each.nodeid):
        if report.when == "teardown":
            continue
        told = [str(value) for name, value in report.user_properties if name == DIFFERENCES]
        if report.outcome == "skipped":
            told.append(str(getattr(report.longrepr, "reprcrash", "") or report.longreprtext[-400:]))
        if told:
            terminalreporter.write_line(f"\n== {report.nodeid}")
            terminalreporter.write_line("\n".join(told))
    terminalreporter.write_line("Differences are told here and fail nothing.")


class PinnedOrNot:
    """What is done about differences from the fake: with the pinned pi they fail, with any other they are told."""

    def __init__(self, tell: Callable[[str, object], None]) -> None:
        self._tell = tell

    def differ(self, found: list[str]) -> None:
        """Differences as lines of text; none is good."""
        if not found:
            return
        text = "\n".join(found)
        if VERSION == PINNED:
            pytest.fail(f"the fake is not the real pi:\n{text}", pytrace=False)
        self._tell(DIFFERENCES, text)


@pytest.fixture
def pinned(record_property: Callable[[str, object], None]) -> PinnedOrNot:
    return PinnedOrNot(record_property)


@pytest.fixture(scope="session")
def installation() -> Installation:
    found = installed(ROOT, VERSION)
    if found is None:
        reason = f"pi {VERSION} is not installed here: run .ci/pi-install"
        if os.environ.get("REQUIRE_PI") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    return found


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    async with Provider() as provider:
        yield provider


@pytest.fixture
def real_pi(installation: Installation, provider: Provider, tmp_path: Path) -> RealPi:
    return RealPi(installation, tmp_path, provider.base_url)


@pytest.fixture
async def pi(real_pi: RealPi) -> AsyncIterator[RawChild]:
    async with RawChild.started(real_pi.launch()) as pi:
        yield pi


@pytest.fixture
async def tether() -> AsyncIterator[Tether]:
    async with Tether() as tether:
        yield tether


@pytest.fixture
def relay(real_pi: RealPi, world: FakeDiscord) -> Callable[..., Home]:
    """Makes the home of a connector whose children are the real pi, with sessions on disk; Ann and Bob are allowed.

    `pi` is pi's settings.json; the other arguments are sections of the connector's settings.
    """

    def make(*, pi: Mapping[str, Any] = QUICK_RETRY, extension: str = "", **sections: Any) -> Home:
        launch = real_pi.launch(settings=pi, extension=extension, arguments=())
        people = [world.person(name).id for name in ("ann", "bob")]
        base: dict[str, dict[str, Any]] = {
            "access": {"users": people},
            "discord": {"progress": "off", "reply_in": "channel"},
            "agent": {"env": {name: value for name, value in launch.env.items() if name != "HOME"}},
        }
        for section, keys in base.items():
            sections[section] = {**keys, **sections.get(section, {})}
        return Home(real_pi.folder, world, child=launch.command, **sections)

    return make
