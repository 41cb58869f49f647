"""The folder of a demo: gone at its end, or with the next one; in use it stays. What a missing extra is told as."""

import sys
import tempfile
from pathlib import Path

import pytest

from connector import demo
from connector.demo_folder import HELD, PREFIX, STATE, demo_folder
from connector.exits import Refusal
from connector.lock import StateLock


@pytest.fixture
def above(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def left(above: Path, name: str = "killed") -> Path:
    """What a demo leaves that was killed."""
    folder = above / f"{PREFIX}{name}"
    (folder / STATE).mkdir(parents=True)
    (folder / HELD).touch()
    (folder / STATE / "ledger.sqlite").touch()
    return folder


def test_it_is_gone_at_its_end(above: Path) -> None:
    with demo_folder() as folder:
        (folder / "anything").touch()
        assert list(above.iterdir()) == [folder]
    assert list(above.iterdir()) == []


def test_what_a_killed_demo_left_is_cleared(above: Path) -> None:
    left(above)
    left(above, "another")
    with demo_folder() as folder:
        assert list(above.iterdir()) == [folder]


def test_a_demo_that_is_up_keeps_its_folder(above: Path) -> None:
    with demo_folder() as first, demo_folder() as second:
        assert set(above.iterdir()) == {first, second}


def test_a_connector_that_still_drains_keeps_the_folder_of_its_killed_demo(above: Path) -> None:
    folder = left(above)
    with StateLock(folder / STATE), demo_folder() as own:
        assert set(above.iterdir()) == {folder, own}


def test_what_no_demo_of_ours_made_stays(above: Path) -> None:
    strange = above / f"{PREFIX}strange"
    strange.mkdir()
    elsewhere = left(above, "x").rename(above / "elsewhere")
    link = above / f"{PREFIX}link"
    link.symlink_to(elsewhere)
    with demo_folder() as own:
        assert set(above.iterdir()) == {strange, elsewhere, link, own}
    assert (elsewhere / HELD).exists()


def test_without_its_extra_the_demo_says_what_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a way that needs nothing but the clone: the name on a package index is nobody's."""
    monkeypatch.setitem(sys.modules, "fakes.discord", None)
    with pytest.raises(Refusal) as refused:
        demo.run(child="fake", port=0, says=())
    assert (refused.value.reason, refused.value.mend) == (
        "the demo needs fakes.discord",
        "make demo in the clone, or pip install '.[demo]' there",
    )
