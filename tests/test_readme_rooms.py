"""What the README says of this repository, held against it: its rooms, its libraries, its pictures."""

import re
import tomllib
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def rows(title: str) -> list[str]:
    """The first cells of the table below this title."""
    section = README.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    return re.findall(r"^\| (.*?) \|", section, re.MULTILINE)[1:]


def test_every_module_has_one_room_and_every_room_has_modules() -> None:
    """Whoever looks for a module finds its room; a new one is added to the table."""
    patterns = re.findall(r"`([^`/]+\.py)`", " ".join(rows("Where things are")))
    modules = {path.name for path in (ROOT / "connector").glob("*.py")} - {"__init__.py"}
    rooms = {module: [one for one in patterns if fnmatch(module, one)] for module in modules}
    assert {module: found for module, found in rooms.items() if len(found) != 1} == {}
    assert [one for one in patterns if not any(fnmatch(module, one) for module in modules)] == []


def test_every_library_has_its_reason() -> None:
    told = {name.strip() for row in rows("What it stands on") for name in row.split(",")}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    lists = [
        project["build-system"]["requires"],
        project["project"]["dependencies"],
        *project["project"]["optional-dependencies"].values(),
        *project["dependency-groups"].values(),
    ]
    used = {re.split(r"[<>=~!\[ ]", name, maxsplit=1)[0] for one in lists for name in one}
    assert told - used == {"discord.js"}  # npm's
    assert used - told == set()


def test_every_picture_and_link_is_there() -> None:
    links = re.findall(r"\]\(((?!https?:|#)[^)]+)\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).is_file()] == []
