"""What the settings refuse: the unknown with the nearest known, the half-written with its line, half a pair, nobody."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connector.exits import ExitCode, Refusal
from connector.findings import Finding
from connector.settings import Settings, nanoseconds
from connector.settings_load import load, nearest, problems, refuse


def refused(text: str, tmp_path: Path, environ: dict[str, str] | None = None) -> tuple[str, ...]:
    path = tmp_path / "c.toml"
    path.write_text(text)
    with pytest.raises(Refusal) as refusal:
        load(path, None, environ or {})
    assert refusal.value.code is ExitCode.REFUSED
    assert "\n" not in refusal.value.reason
    return tuple(line.replace(str(path), "FILE") for line in refusal.value.lines())


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[lanes]\ncapactiy = 5", "error: lanes.capactiy: unknown key; the nearest known one is lanes.capacity (FILE)"),
        (
            "[discord]\ntoken = 'x'",
            "error: discord.token: unknown key; the nearest known one is discord.token_file (FILE)",
        ),
        (
            "[lanes]\nmax_children = 5",
            "error: lanes.max_children: unknown key; the nearest known one is agent.max_children (FILE)",
        ),
        ("[access]\nenv = 5", "error: access.env: unknown key; the nearest known one is agent.env (FILE)"),
        ("turn_timeout = 5", "error: turn_timeout: unknown key; the nearest known one is engine.turn_timeout (FILE)"),
        ("[engin]\nturn_timeout = 5", "error: engin: unknown section; the nearest known one is engine (FILE)"),
        ("[source]\n", "error: source: unknown section; the nearest known one is discord (FILE)"),
        ("engine = 5", "error: engine: 5 is no section; begin it with a line [engine] (FILE)"),
        ("[[engine]]\n", "error: engine: [{}] is no section; begin it with a line [engine] (FILE)"),
    ],
)
def test_unknown_names_are_refused_with_the_nearest_known(text: str, line: str, tmp_path: Path) -> None:
    assert refused(text, tmp_path) == (line,)


@pytest.mark.parametrize(
    ("name", "best"),
    [
        ("PI_CONNECTOR_LANES__CAPACTIY", "PI_CONNECTOR_LANES__CAPACITY"),
        ("PI_CONNECTOR_LANES_CAPACITY", "PI_CONNECTOR_LANES__CAPACITY"),
        ("PI_CONNECTOR_CONFIGS", "PI_CONNECTOR_CONFIG"),
        ("PI_CONNECTOR_AGENT__ENV__A", "PI_CONNECTOR_AGENT__ENV"),
    ],
)
def test_unknown_variables_are_refused_with_the_nearest_known(name: str, best: str, tmp_path: Path) -> None:
    line = f"error: {name}: unknown variable; the nearest known one is {best} (environment)"
    assert refused("", tmp_path, {name: "5"}) == (line,)


@pytest.mark.parametrize(
    "name", ["PI_CONNECTOR_lanes__capacity", "PI_CONNECTOR_SOURCE", "PI_CONNECTOR_LANES", "PI_CONNECTOR_"]
)
def test_whatever_begins_like_a_variable_of_ours_must_be_one(name: str, tmp_path: Path) -> None:
    (line,) = refused("", tmp_path, {name: "5"})
    assert line.startswith(f"error: {name}: unknown variable; the nearest known one is PI_CONNECTOR_")


def test_all_errors_are_reported_together_each_with_its_place(tmp_path: Path) -> None:
    text = "[engine]\nturn_timeot = 5\ntool_timeout = -1\n[access]\nusers = ['x']\n[retry]\nbackoff = [1, -2]\n"
    environ = {"PI_CONNECTOR_LANES__CAPACITY": "0", "PI_CONNECTOR_X": "1"}
    assert refused(text, tmp_path, environ) == (
        "error: engine.turn_timeot: unknown key; the nearest known one is engine.turn_timeout (FILE)",
        "error: PI_CONNECTOR_X: unknown variable; the nearest known one is PI_CONNECTOR_CONFIG (environment)",
        'error: access.users: "x" is no Discord id; give a list of Discord ids, such as [123, "456"] (FILE)',
        "error: lanes.capacity: 0 is not allowed; give a whole number, 1 or more ($PI_CONNECTOR_LANES__CAPACITY)",
        "error: engine.tool_timeout: -1 is not allowed; give seconds, more than 0 (FILE)",
        "error: retry.backoff: -2 is not allowed; give a list of seconds, each 0 or more, such as [5, 15, 45] (FILE)",
    )


def test_a_variable_mends_a_wrong_value_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text("[lanes]\ncapacity = -1\n")
    assert load(path, None, {"PI_CONNECTOR_LANES__CAPACITY": "7"}).lanes.capacity == 7


@pytest.mark.parametrize("text", ["yes", "on", "True", "1", "", "null", '"true"'])
def test_a_switch_is_not_guessed_from_a_variable(text: str, tmp_path: Path) -> None:
    (line,) = refused("", tmp_path, {"PI_CONNECTOR_DISCORD__REACTIONS": text})
    assert line.endswith("; give true or false ($PI_CONNECTOR_DISCORD__REACTIONS)")


@pytest.mark.parametrize("text", ["5.0", "1_0", "", "five", "null", '"5"', "9" * 5000, "[" * 100_000])
def test_a_number_is_not_guessed_from_a_variable(text: str, tmp_path: Path) -> None:
    (line,) = refused("", tmp_path, {"PI_CONNECTOR_LANES__CAPACITY": text})
    assert line.endswith("; give a whole number, 1 or more ($PI_CONNECTOR_LANES__CAPACITY)")


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b"[lanes]\ncapacity = \n", "line 2, column 12: "),
        (b"[lanes]\ncapacity = 1\n[age", "line 3: "),
        (b'[lanes]\n\nrespond = """all\n', "line 3: "),
        (b"[lanes]\ncapacity = 1\ncapacity = 2\n", "line 3, column 13: "),
        (b"[lanes]\n# \xff\n", "line 2: is not UTF-8"),
        (b"[lanes]\ncapacity = " + b"9" * 5000, ""),
        (b"x = " + b"[" * 5000, ""),
    ],
)
def test_half_written_file_is_refused_with_its_line(data: bytes, place: str, tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_bytes(data)
    with pytest.raises(Refusal) as refusal:
        load(path, None, {})
    (line,) = refusal.value.lines()
    assert line.startswith(f"error: config: {place}")
    assert line.endswith(f"({path})")


def test_a_huge_number_is_refused_and_not_written_out(tmp_path: Path) -> None:
    (line,) = refused(f"[supervision]\ndrain = 0x{'f' * 5000}", tmp_path)
    assert line.startswith("error: supervision.drain: a huge number is not allowed")
    (line,) = refused(f"[access]\nusers = [0x{'f' * 5000}]", tmp_path)
    assert "a huge number is no Discord id" in line


def test_byte_order_mark_is_no_error(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_bytes(b"\xef\xbb\xbf[lanes]\ncapacity = 3\n")
    assert load(path, None, {}).lanes.capacity == 3


@pytest.mark.parametrize("kind", ["absent", "folder"])
def test_unreadable_file_is_refused_by_name(kind: str, tmp_path: Path) -> None:
    path = tmp_path if kind == "folder" else tmp_path / "absent.toml"
    with pytest.raises(Refusal) as refusal:
        load(path, None, {})
    (line,) = refusal.value.lines()
    assert line.startswith("error: config: cannot be read: ")
    assert str(path) in line


API = "discord.api_base"
GATEWAY = "discord.gateway_url"


@pytest.mark.parametrize(
    ("api", "gateway", "wrong"),
    [
        ("https://example.org/api/v10", "wss://example.org/gw", None),
        ("http://localhost:1/api/v10", "ws://[::1]:1/", None),
        ("http://127.9.9.9/api/v10", "wss://example.org", None),
        ("https://discord.com/api/v10", None, None),
        ("https://example.org/api/v10", None, GATEWAY),  # half a pair sends the token to the real gateway
        (None, "wss://example.org/gw", GATEWAY),
        ("http://example.org/api/v10", "wss://example.org/", API),
        ("http://localhost.example.org/api/v10", "wss://example.org/", API),
        ("https://example.org/api/v10/", "wss://example.org/", API),
        ("https://example.org/x?/api/v10", "wss://example.org/", API),
        ("http://user:hush@example.org/api/v10", "wss://example.org/", API),
        ("ftp://example.org/api/v10", "wss://example.org/", API),
        ("https:///api/v10", "wss://example.org/", API),
        ("https://[::1/api/v10", "wss://example.org/", API),
        ("https://example.org:99999/api/v10", "wss://example.org/", API),
        ("https://example.org/a b/api/v10", "wss://example.org/", API),
        ("https://example.org/api/v10", "ws://example.org/", GATEWAY),
        ("https://example.org/api/v10", "https://example.org/", GATEWAY),
    ],
)
def test_addresses(api: str | None, gateway: str | None, wrong: str | None, tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    pairs = {"api_base": api, "gateway_url": gateway}
    path.write_text("[discord]\n" + "".join(f'{key} = "{value}"\n' for key, value in pairs.items() if value))
    if wrong is None:
        discord = load(path, None, {}).discord
        assert (discord.api_base, discord.gateway_url) == (api, gateway)
        assert discord.custom_api == (gateway is not None)
        return
    with pytest.raises(Refusal) as refusal:
        load(path, None, {})
    (line,) = refusal.value.lines()
    assert line.startswith(f"error: {wrong}: ")
    assert "hush" not in line


def test_missing_gateway_beside_a_variable_is_placed(tmp_path: Path) -> None:
    with pytest.raises(Refusal) as refusal:
        load(None, None, {"PI_CONNECTOR_DISCORD__API_BASE": "https://example.org/api/v10"}, etc=tmp_path)
    (line,) = refusal.value.lines()
    assert line.endswith("(environment)")


def test_nobody_allowed_is_an_error() -> None:
    nobody = Settings()
    (finding,) = problems(nobody)
    assert finding == Finding(
        "error",
        "access.users",
        "with users, roles and operators empty nobody is served",
        "name at least one user, role or operator who may speak",
    )
    with pytest.raises(Refusal) as refusal:
        refuse(problems(nobody))
    assert refusal.value.code == 3
    assert refusal.value.lines() == (finding.line(),)


@pytest.mark.parametrize("key", ["users", "roles", "operators"])
def test_one_of_the_three_is_enough(key: str) -> None:
    settings = Settings.model_validate({"access": {key: ["1"]}})
    assert problems(settings) == ()
    refuse(problems(settings))


@pytest.mark.parametrize("key", ["guilds", "channels", "bots"])
def test_the_other_lists_let_nobody_in(key: str) -> None:
    assert Settings.model_validate({"access": {key: ["1"]}}).access.nobody


def test_missing_working_folder_is_an_error_unless_it_is_elsewhere(tmp_path: Path) -> None:
    access = {"access": {"users": [1]}}
    here = Settings.model_validate(access | {"agent": {"cwd": str(tmp_path / "absent")}})
    (finding,) = problems(here)
    assert (finding.level, finding.key) == ("error", "agent.cwd")
    there = Settings.model_validate(access | {"agent": {"cwd": str(tmp_path / "absent"), "remote": True}})
    assert problems(there) == ()


def test_warnings_alone_refuse_nothing() -> None:
    refuse((Finding("warning", "user", "x", "y"),))


def test_a_line_cannot_be_forged_by_what_a_person_wrote(tmp_path: Path) -> None:
    (line,) = refused('[log]\nlevel = "x\\nerror: \\u001b[31m\\u202e"', tmp_path)
    assert "\n" not in line
    assert "\x1b" not in line
    assert "\u202e" not in line


@given(st.integers(1, 2**63 - 1))
def test_ids_are_the_same_as_number_and_as_text(number: int) -> None:
    as_number = Settings.model_validate({"access": {"users": [number]}})
    as_text = Settings.model_validate({"access": {"users": [str(number), f" {number}\n"]}})
    assert as_number == as_text
    assert as_number.access.users == {number}


@given(
    st.one_of(st.integers(max_value=0), st.integers(min_value=2**63), st.booleans(), st.floats(), st.none())
    | st.text().filter(lambda text: not text.strip().isascii() or not text.strip().isdigit())
)
def test_everything_else_is_no_id(value: object) -> None:
    with pytest.raises(ValueError, match="is no Discord id"):
        Settings.model_validate({"access": {"users": [value]}})


@given(st.floats(0, 1e9) | st.integers(0, 10**9))
def test_durations_are_finite_seconds_from_zero(seconds: float) -> None:
    held = Settings.model_validate({"supervision": {"drain": seconds}}).supervision.drain
    assert (held, type(held)) == (seconds, float)
    assert abs(nanoseconds(held) - held * 10**9) <= 128  # a double's own step at 10**18


@given(st.floats(max_value=0, exclude_max=True) | st.floats(min_value=1e9, exclude_min=True) | st.just(float("nan")))
def test_other_numbers_are_no_durations(seconds: float) -> None:
    with pytest.raises(ValueError, match="drain"):
        Settings.model_validate({"supervision": {"drain": seconds}})


def test_settings_are_frozen() -> None:
    settings = Settings()
    with pytest.raises(ValueError, match="frozen"):
        settings.lanes.capacity = 1
    with pytest.raises(ValueError, match="frozen"):
        settings.lanes = settings.lanes


@given(st.sampled_from(["a.x", "b.x", "b.y", "c.long_name"]))
def test_a_known_name_is_nearest_to_itself(name: str) -> None:
    assert nearest(name, ["a.x", "b.x", "b.y", "c.long_name"]) == name
