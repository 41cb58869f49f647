"""Settings of any kind: taken, or refused by errors that name key and mend; never a traceback."""

import contextlib
import io
import json
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from connector import cli_commands, run_process
from connector.exits import ExitCode, Refusal
from connector.service_manager import ServiceManager
from connector.settings import Settings, sections
from connector.settings_load import keys, load, problems, variable
from connector.state_folder import state_folder
from connector.toml_text import document, value
from tests.fuzz.hostile import NUMBERS, TEXTS, tried

KEYS = sorted(keys())
PLAIN = st.text(st.characters(codec="utf-8"), max_size=20)
TOML_LEAVES = st.one_of(
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    PLAIN,
    st.sampled_from(
        ["", " ", "~x", "~", "a\0b", "127.0.0.1:99999", "[::1]:80", "http://x", "wss://u:p@h/", "-", "1e999"]
    ),
)
VALUES = st.recursive(
    TOML_LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(PLAIN, inner, max_size=3),
    max_leaves=6,
)
"""What TOML can hold."""

HUGE = f"0x{'f' * 5_000}"


def refusal_of(path: Path, environ: dict[str, str]) -> Refusal | None:
    """Why these settings are not taken; what is taken can be used."""
    try:
        settings = load(path, None, environ)
    except Refusal as refusal:
        return refusal
    problems(settings)
    with contextlib.suppress(Refusal):
        state_folder(settings, environ)
    repr(settings).encode("utf-8", "surrogatepass")
    return None


def assert_clear(refusal: Refusal, *, key: str = "") -> None:
    assert refusal.code is ExitCode.REFUSED
    assert refusal.findings
    for line in refusal.lines():
        assert line.startswith("error: ")
        assert line.isprintable()
        assert "; " in line
        assert len(line) < 1_000
    if key:
        assert any(line.startswith(f"error: {key}: ") for line in refusal.lines())


def checked(content: bytes, environ: dict[str, str], *, key: str = "") -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "c.toml"
        path.write_bytes(content)
        refusal = refusal_of(path, environ)
        if refusal is not None:
            assert_clear(refusal, key=key)
            assert_refused_by_commands(path, environ)


def assert_refused_by_commands(path: Path, environ: dict[str, str]) -> None:
    """`check` prints what is wrong and `run` logs it; both end with 3."""
    if environ:
        return  # they read the process's own
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as log:
        assert cli_commands._check(path, None, online=False) is ExitCode.REFUSED
        assert run_process._settled(path, None, ServiceManager()) == ExitCode.REFUSED
    assert all(line.startswith("error: ") for line in out.getvalue().splitlines())
    (line,) = log.getvalue().splitlines()
    assert json.loads(line)["event"] == "connector.refused"


@given(
    st.one_of(st.binary(max_size=120), st.text(max_size=120).map(lambda text: text.encode("utf-8", "surrogatepass")))
)
@example(b"x = " + b"[" * 3_000)
@example(b"[lanes]\ncapacity = [" + HUGE.encode() + b"]")
@example(b"[agent]\nenv = { a = { b = " + HUGE.encode() + b" } }")
@tried(40)
def test_any_bytes_are_settings_or_refused(content: bytes) -> None:
    checked(content, {})


@given(st.sampled_from(KEYS), VALUES)
@tried(30)
def test_any_value_of_any_key_is_taken_or_refused_by_its_key(key: tuple[str, str], given_value: Any) -> None:
    section, name = key
    checked(document({section: {name: given_value}}).encode(), {}, key=f"{section}.{name}" if given_value != {} else "")


@given(st.sampled_from(KEYS), st.one_of(TEXTS, NUMBERS.map(repr), VALUES.map(value)))
@example(("lanes", "capacity"), "[" * 5_000)
@example(("access", "bots"), "\ud800")
@example(("agent", "cwd"), "/tmp/\udcff")
@example(("access", "users"), f"[{'9' * 5_000}]")
@tried(30)
def test_any_text_of_any_variable_is_taken_or_refused_by_its_key(key: tuple[str, str], text: str) -> None:
    if "\0" in text:
        text = text.replace("\0", "")  # no environment can hold it
    checked(b"", {variable(*key): text}, key=".".join(key))


@given(
    st.dictionaries(PLAIN | st.sampled_from(sorted(sections())), st.dictionaries(PLAIN, VALUES, max_size=2), max_size=3)
)
@tried(40)
def test_unknown_names_are_refused(tables: dict[str, dict[str, Any]]) -> None:
    checked(document(tables).encode(), {})


TABLES = st.dictionaries(st.sampled_from(["a", "b-c", "d_1"]), st.dictionaries(PLAIN, VALUES, min_size=1), max_size=3)


@given(TABLES)
@tried(30)
def test_what_is_written_as_toml_reads_back_the_same(tables: dict[str, dict[str, Any]]) -> None:
    assert repr(tomllib.loads(document(tables))) == repr(tables)


def test_nothing_is_refused_of_the_defaults() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "c.toml"
        path.write_text("")
        assert load(path, None, {}) == Settings(source=path)
