"""Where the ledger, inboxes and outboxes lie: finds and makes that folder; it knows no file in it."""

from collections.abc import Mapping
from pathlib import Path

from connector.exits import Refusal
from connector.findings import Finding
from connector.settings import Settings
from connector.settings_load import xdg_folder

PRIVATE = 0o700


def state_folder(settings: Settings, environ: Mapping[str, str]) -> Path:
    """Return `state.dir`, else `$STATE_DIRECTORY`, else `pi-connector[/NAME]` in the XDG state folder; made or not.

    Raises Refusal where there is none of them and no home folder either.
    """
    if settings.state.dir is not None:
        return settings.beside(settings.state.dir)
    # systemd separates several folders by colons; ours is the first.
    if (given := environ.get("STATE_DIRECTORY", "").split(":")[0]).startswith("/"):
        return Path(given)
    base = xdg_folder(environ, "XDG_STATE_HOME", ".local/state")
    if base is None:
        raise _refusal("there is no home folder to keep state in", "name a folder")
    return base / "pi-connector" / (settings.instance or "")


def prepare_state_folder(folder: Path) -> tuple[Finding, ...]:
    """Make the folder with mode 0700 where it is missing; return what others may do with one that was there.

    An empty folder is tightened; one that holds something may be somebody's, so that it is only reported.
    Raises Refusal where it cannot be made or used.
    """
    try:
        _make(folder)
        mode = folder.stat().st_mode & 0o777
        empty = next(folder.iterdir(), None) is None
        if mode & 0o077 and empty:
            folder.chmod(PRIVATE)
            mode = PRIVATE
    except OSError as error:
        raise _refusal(
            f"{folder} cannot be used: {error.strerror or error}", "name a folder this user may write"
        ) from None
    if not mode & 0o077:
        return ()
    return (Finding("warning", "state.dir", f"{folder} is open to others", f"run chmod 700 {folder}"),)


def _make(folder: Path) -> None:
    if not folder.parent.exists():
        _make(folder.parent)
    if not folder.is_dir():
        folder.mkdir(mode=PRIVATE, exist_ok=True)


def _refusal(text: str, mend: str) -> Refusal:
    return Refusal.of((Finding("error", "state.dir", text, mend),))
