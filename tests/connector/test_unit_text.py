"""systemd's unit files read as values, and an installed unit held against the shipped one."""

from pathlib import Path

import pytest

from connector.check_unit import stop_findings, unit_findings
from connector.findings import Finding
from connector.settings import Settings
from connector.unit_files import TEMPLATE, installed, shipped_file
from connector.unit_text import Drift, drifts, expand, read, seconds, variables, with_lines, words

SHIPPED = shipped_file().read_text()


def test_later_files_win_and_an_empty_value_resets() -> None:
    unit = read(
        [
            ("a", "# c\n[Service]\nUser=pi\nEnvironment=A=1\nEnvironment=B=2\nRestart=no\nX=1 \\\n; c\n  2\n"),
            ("b", "[Service]\nUser=ann\nEnvironment=\nEnvironment=C=3\n[Unit]\nRestart=yes\n"),
        ]
    )
    assert (unit.last("User"), unit.last("Restart"), unit.last("Nothing")) == ("ann", "no", "")
    assert unit.all("Nothing") == ()
    assert (unit.all("Environment"), unit.last("Restart", "Unit"), unit.last("X")) == (("C=3",), "yes", "1  2")
    assert unit.directives["Service", "User"][-1].file == "b"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("45", 45.0),
        ("1min 30s", 90.0),
        ("500ms", 0.5),
        ("2h", 7200.0),
        ("infinity", float("inf")),
        ("no", None),
        ("", None),
        ("5 parrots", None),
    ],
)
def test_time_spans(text: str, value: float | None) -> None:
    assert seconds(text) == value


def test_words_and_variables_as_systemd_reads_them() -> None:
    assert words("""A=1 "B=two words" 'C=\\n' D=x\\ y """) == ["A=1", "B=two words", "C=\\n", "D=x y"]
    assert words('""') == [""]
    assert variables(["A=1", "A=2=3", "no", "9=x"]) == {"A": "2=3"}
    assert expand("%i at %h, 100%%, %q", {"i": "home", "h": "/root"}) == "home at /root, 100%, %q"


def test_the_shipped_unit_is_as_shipped() -> None:
    unit = read([("shipped", SHIPPED)])
    assert drifts(unit, unit) == ()
    assert unit.last("ExecStart").endswith("run --instance %i")


@pytest.mark.parametrize(
    ("line", "installed"),
    [
        ("Restart=no", "no"),
        ("RestartPreventExitStatus=", ""),
        ("LimitCORE=infinity", "infinity"),
        ("StandardInput=null", "null"),
        ("TimeoutStopSec=5", "5"),
        ("UMask=0022", "0022"),
    ],
)
def test_what_matters_is_seen(line: str, installed: str) -> None:
    shipped = read([("shipped", SHIPPED)])
    name = line.partition("=")[0]
    expected = (Drift(name, shipped.last(name), installed, "drop-in"),)
    assert drifts(shipped, read([("shipped", SHIPPED), ("drop-in", f"[Service]\n{line}\n")])) == expected


def test_of_what_is_given_more_than_once_each_shipped_value_must_be_there() -> None:
    shipped = read([("shipped", "[Service]\nEnvironment=A=1\nX=1\nX=2\nCapabilityBoundingSet=\n")])
    other = read([("other", "[Service]\nEnvironment=B=1\nX=2\nX=3\nCapabilityBoundingSet=CAP_KILL\n")])
    found = drifts(shipped, other)
    assert found == (
        Drift("Environment", "A=1", None, ""),
        Drift("X", "1", None, ""),
        Drift("CapabilityBoundingSet", "", "CAP_KILL", "other"),
    )
    assert [drift.words() for drift in found] == [
        "Environment=A=1 is missing",
        "X=1 is missing",
        "CapabilityBoundingSet= is CAP_KILL",
    ]
    assert drifts(shipped, read([]))[-1] == Drift("CapabilityBoundingSet", "", None, "")


@pytest.mark.parametrize(
    "line",
    [
        "User=ann",
        "ExecStart=\nExecStart=/home/ann/venv/bin/pi-connector run --instance %i",
        "Environment=PATH=/opt/node/bin:/usr/bin",
        "MemoryMax=2G",
        "TimeoutStopSec=5min",
        "RestartSec=15s",
        "NoSuchThing=1",
    ],
)
def test_what_an_operator_sets_is_his_own(line: str) -> None:
    shipped = read([("shipped", SHIPPED)])
    assert drifts(shipped, read([("shipped", SHIPPED), ("drop-in", f"[Service]\n{line}\n")])) == ()


def test_lines_are_replaced_and_everything_else_is_kept() -> None:
    changed = with_lines(SHIPPED, {"User": "ann"})
    assert changed.replace("\nUser=ann\n", "\nUser=pi\n") == SHIPPED
    with pytest.raises(ValueError, match=r"Nothing= stands 0 times"):
        with_lines(SHIPPED, {"Nothing": "x"})


# -- files


def machine(tmp_path: Path, **drop_ins: str) -> tuple[Path, ...]:
    """Two unit folders, the shipped unit in the second, drop-ins (`folder__name`) where they say."""
    folders = (tmp_path / "etc", tmp_path / "lib")
    for folder in folders:
        folder.mkdir()
    (folders[1] / TEMPLATE).write_text(SHIPPED)
    for place, text in drop_ins.items():
        whose, _, name = place.partition("__")
        path = folders[0] / {"all": f"{TEMPLATE}.d", "one": "pi-connector@home.service.d"}[whose] / f"{name}.conf"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"[Service]\n{text}\n")
    return folders


def test_drop_ins_of_template_and_instance_are_read_in_the_order_of_their_names(tmp_path: Path) -> None:
    folders = machine(tmp_path, one__10="User=ann", all__20="User=bob", all__10="User=lost")
    found = installed("home", folders)
    assert found is not None
    assert (found.file, found.unit.last("User")) == (folders[1] / TEMPLATE, "bob")
    assert installed("home", (tmp_path / "nothing",)) is None


def test_an_instances_own_file_comes_before_the_template(tmp_path: Path) -> None:
    folders = machine(tmp_path)
    own = folders[1] / "pi-connector@home.service"
    own.write_text(SHIPPED.replace("User=pi", "User=own"))
    found = installed("home", folders)
    assert found is not None
    assert (found.file, found.unit.last("User")) == (own, "own")


def test_drift_is_told_by_the_file_it_stands_in(tmp_path: Path) -> None:
    folders = machine(tmp_path, one__10="Restart=no")
    (folders[1] / TEMPLATE).write_text(SHIPPED.replace("UMask=0077\n", "").replace("LimitCORE=0", "LimitCORE=1"))
    found = installed("home", folders)
    assert found is not None
    file, drop_in = folders[1] / TEMPLATE, folders[0] / "pi-connector@home.service.d" / "10.conf"
    mend = f"write it anew with pi-connector init, or install {shipped_file()} and set User= by systemctl edit"
    assert unit_findings(found) == [
        Finding("warning", "unit", f"in {file} LimitCORE=0 is 1, UMask=0077 is missing", mend),
        Finding("warning", "unit", f"in {drop_in} Restart=on-failure is no", "take that line out by systemctl edit"),
    ]


@pytest.mark.parametrize(
    "line", ["Environment=DISCORD_TOKEN=x", "LoadCredential=discord-token:/etc/x", "SetCredential=discord-token:x"]
)
def test_a_token_where_the_agent_can_read_it(tmp_path: Path, line: str) -> None:
    """CONTRACT, What the child sees: neither variable nor credential."""
    found = installed("home", machine(tmp_path, one__10=line))
    assert found is not None
    [told] = unit_findings(found)
    assert (told.level, told.key, told.text.endswith("which the agent can read")) == (
        "warning",
        "discord.token_file",
        True,
    )


def test_another_command_is_no_instance(tmp_path: Path) -> None:
    found = installed("home", machine(tmp_path, one__10="ExecStart=\nExecStart=/opt/x/pi-connector run"))
    assert found is not None
    assert [(told.level, told.key) for told in unit_findings(found)] == [("error", "unit")]


def test_a_stop_must_fit_into_the_units_bound(tmp_path: Path) -> None:
    """FIELD, Loops: a drain longer than systemd's stop timeout."""
    found = installed("home", machine(tmp_path))
    assert found is not None
    assert stop_findings(found, Settings()) == []
    longer = Settings.model_validate({"discord": {"stop_timeout": 600}})
    given = found.unit.last("TimeoutStopSec")
    text = f"a stop may take 620 seconds with these settings, and TimeoutStopSec= allows {given}"
    mend = "set TimeoutStopSec=620 by systemctl edit"
    assert stop_findings(found, longer) == [Finding("warning", "unit", text, mend)]
