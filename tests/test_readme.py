"""README's "Operating" against the code: exit codes, notices, events, metrics and the unit's measured exposure."""

import re
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

from connector import (
    metrics_served,
    notices,
    notices_dialogs,
    notices_files,
    notices_outgoing,
    notices_places,
    notices_session,
    notices_spend,
)
from connector.exits import ExitCode

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
UNIT = ROOT / "systemd" / "pi-connector@.service"
MODULES = (notices, notices_dialogs, notices_files, notices_outgoing, notices_places, notices_session, notices_spend)


def table(heading: str) -> list[str]:
    """The first cell of each row of the table with this heading."""
    rows = README.partition(f"| {heading} |")[2].split("\n\n")[0].splitlines()[2:]
    assert rows
    return [row.split("|")[1].strip() for row in rows]


def sentences(module: ModuleType) -> str:
    """What a module of sentences says: its source without the quotes between two parts, a count being N."""
    source = re.sub(r'"\s+f?"', "", Path(str(module.__file__)).read_text())
    return re.sub(r"\{_count\(\w+, '(\w+)'\)\}", r"N \1s", source)


def phrases() -> list[str]:
    """The beginnings of notices that the README's table explains."""
    parts = [part.strip("… ") for cell in table("notice") for part in re.split("[;…]", cell)]
    return [part for part in parts if part]


def test_every_exit_code_has_a_row() -> None:
    """CONTRACT's four, and the ends that are no exit."""
    codes = [str(int(code)) for code in ExitCode]
    assert table("exit code of `run`") == [*codes, "killed by a signal"]


def test_every_notice_of_the_table_is_one_that_is_posted() -> None:
    said = "\n".join(map(sentences, MODULES))
    assert [phrase for phrase in phrases() if phrase not in said] == []


@pytest.mark.parametrize("code", [code for code in notices.Code if code is not notices.Code.STOPPED])
def test_every_code_of_a_failed_turn_is_explained(code: notices.Code) -> None:
    """CONTRACT, Codes of a failed turn: an operator finds what his people were told."""
    told = notices.failed(code)
    assert [phrase for phrase in phrases() if told.startswith(phrase)]


def test_every_event_of_the_table_is_logged() -> None:
    sources = "\n".join(path.read_text() for path in (ROOT / "connector").glob("*.py"))
    events = [event for cell in table("event") for event in re.findall(r"`([a-z_.]+)`", cell)]
    assert len(events) > 10
    assert [event for event in events if f'"{event}"' not in sources] == []


def test_every_metric_is_named() -> None:
    source = Path(metrics_served.__file__).read_text()
    names = re.findall(r'_(?:gauge|counter|histogram)\("(\w+)"|f"\{PREFIX\}(\w+)"', source)
    assert len(names) == 13
    section = README.partition("## Metrics")[2].partition("\n## ")[0]
    assert [name for pair in names for name in pair if name and f"_{name}" not in section] == []


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze here")
def test_the_unit_is_clean_and_as_exposed_as_the_readme_says(tmp_path: Path) -> None:
    """It is judged as a file: no systemd need run."""
    unit = tmp_path / "pi-connector@home.service"
    unit.write_text(re.sub("(?m)^ExecStart=.*", "ExecStart=/bin/true", UNIT.read_text()))
    assert analyze("verify", str(unit)) == ""
    version = analyze("--version").split()[1]
    measured = README.partition("gives it an exposure of ")[2]
    score, stated = measured.split()[0], measured.partition("systemd ")[2].partition(")")[0]
    if version != stated:
        pytest.skip(f"the README's figure is of systemd {stated}, here is {version}")
    told = analyze("security", "--offline=true", "--no-pager", str(unit))
    assert re.findall(r"Overall exposure level for \S+: (\S+)", told) == [score]


def analyze(*words: str) -> str:
    done = subprocess.run(["systemd-analyze", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr
