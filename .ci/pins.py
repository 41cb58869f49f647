"""Whether the pins are whole for one Python: a wheel for each, and each wheel's own requirements met by them.

It installs and runs nothing. pip judges markers by the Python it runs under, so they are judged here, for the other:

    pins.py VERSION FOLDER    # 3.14, and where the wheels go; prints what is wrong, exit code 1 if anything is
"""

import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from email.parser import HeaderParser
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename
from packaging.version import Version

ROOT = Path(__file__).parents[1]
PINS = Path(__file__).with_name("constraints.txt")


def main(version: str, folder: Path) -> int:
    """Download the wheels, hold their requirements against the pins; the exit code."""
    pins = [one for one in map(Requirement, PINS.read_text().splitlines()) if applies(one, version)]
    wheels = download([f"{pin.name}{pin.specifier}" for pin in pins], version, folder)
    if wheels is None:
        return 1
    held = dict(map(named, wheels))
    wrong = [line for who, needed in needs(wheels, version) for line in judged(who, needed, held)]
    print(f"Python {version}: {len(wheels)} wheels for {len(pins)} pins", *wrong, sep="\n")  # noqa: T201 - its answer
    return bool(wrong)


def applies(requirement: Requirement, version: str, extra: str = "") -> bool:
    """Whether it is one on that Python, for this extra."""
    target = {"python_version": version, "python_full_version": f"{version}.0", "extra": extra}
    return requirement.marker is None or requirement.marker.evaluate(target)


def download(pins: list[str], version: str, folder: Path) -> list[Path] | None:
    """The wheels of all pins, or None where there is none for one of them, which pip has said."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--only-binary", ":all:", "--python-version", version, "--dest", str(folder), *pins]
    done = subprocess.run(command, check=False)  # noqa: S603 - our own pip, our own pins
    return sorted(folder.iterdir()) if done.returncode == 0 else None


def named(wheel: Path) -> tuple[str, Version]:
    """What a wheel's file is called after."""
    name, version, _, _ = parse_wheel_filename(wheel.name)
    return name, version


def needs(wheels: list[Path], version: str) -> Iterator[tuple[str, Requirement]]:
    """Who requires what: the project with all its groups and extras, and each wheel, with the extras asked of it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    lists = [project["build-system"]["requires"], project["project"]["dependencies"]]
    lists += [*project["project"]["optional-dependencies"].values(), *project["dependency-groups"].values()]
    asked = [("the project", Requirement(text)) for texts in lists for text in texts]
    files = {named(wheel)[0]: wheel for wheel in wheels}
    seen = set[tuple[str, str]]()
    while asked:
        who, needed = asked.pop()
        yield who, needed
        name = canonicalize_name(needed.name)
        for extra in {"", *needed.extras} if name in files else ():
            if (name, extra) not in seen:
                seen.add((name, extra))
                asked += [(name, one) for one in required(files[name]) if applies(one, version, extra)]


def required(wheel: Path) -> list[Requirement]:
    """A wheel's own requirements."""
    with zipfile.ZipFile(wheel) as files:
        [name] = [name for name in files.namelist() if name.endswith(".dist-info/METADATA") and name.count("/") == 1]
        told = HeaderParser().parsestr(files.read(name).decode())
    return [Requirement(text) for text in told.get_all("Requires-Dist", [])]


def judged(who: str, needed: Requirement, held: dict[str, Version]) -> Iterator[str]:
    """What is wrong with one requirement."""
    found = held.get(canonicalize_name(needed.name))
    if found is None:
        yield f"{who} needs {needed.name}, which has no pin"
    elif not needed.specifier.contains(found, prereleases=True):
        yield f"{who} needs {needed.name}{needed.specifier}, the pin is {found}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
