"""Where systemd's units lie: finds and reads the shipped one and an installed one with its drop-ins."""

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

import connector
from connector.unit_text import Unit, read

TEMPLATE = "pi-connector@.service"
SYSTEM_UNITS = tuple(
    map(
        Path,
        ("/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system"),
    )
)
"""Where systemd looks, the first first."""


class Installed(Struct, frozen=True):
    """The unit of one instance as systemd reads it, and the file that is not a drop-in."""

    unit: Unit
    file: Path


def shipped_file() -> Path:
    """Return the unit that came with the program: in the wheel beside the modules, in a checkout in `systemd/`."""
    beside = Path(connector.__file__).resolve().parent
    here = beside / TEMPLATE
    return here if here.is_file() else beside.parent / "systemd" / TEMPLATE


def unit_of(instance: str) -> str:
    """Return the name of the instance's unit."""
    return TEMPLATE.replace("@", f"@{instance}")


def installed(instance: str, folders: tuple[Path, ...] = SYSTEM_UNITS) -> Installed | None:
    """Return the installed unit of an instance, None where there is none. Raises OSError where one is not readable."""
    names = (unit_of(instance), TEMPLATE)
    whole = next((path for name in names for folder in folders if (path := folder / name).is_file()), None)
    if whole is None:
        return None
    return Installed(
        read([(str(path), path.read_text(errors="replace")) for path in (whole, *_drop_ins(names, folders))]), whole
    )


def _drop_ins(names: tuple[str, ...], folders: tuple[Path, ...]) -> Iterator[Path]:
    """The drop-ins in the order in which systemd reads them: by file name; of two of one name the first folder's."""
    found: dict[str, Path] = {}
    for name in (*names, "service"):
        for folder in folders:
            for path in (folder / f"{name}.d").glob("*.conf"):
                found.setdefault(path.name, path)
    return (path for _, path in sorted(found.items()))
