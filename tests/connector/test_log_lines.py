"""Log lines (CONTRACT, What is logged): form, fields, redaction, levels, and that nothing global stays behind."""

import io
import json
import logging
import warnings
from datetime import UTC, datetime
from typing import Any, Literal

import pytest
import structlog

from connector.logs import Log, Logs, bound
from connector.settings import LogSettings

TOKEN = "odd-shaped-token"
Level = Literal["debug", "info", "warning", "error"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def make(
    level: Level = "info", form: Literal["json", "console", "auto"] = "json", stream: io.StringIO | None = None
) -> tuple[Logs, io.StringIO]:
    stream = stream or io.StringIO()
    logs = Logs(LogSettings(level=level, format=form), stream)
    logs.redactor.add(TOKEN)
    return logs, stream


def records(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def one(stream: io.StringIO) -> dict[str, Any]:
    (record,) = records(stream)
    when = datetime.fromisoformat(record.pop("timestamp"))
    assert when.tzinfo == UTC
    return record


def test_one_object_a_line() -> None:
    logs, stream = make()
    logs.log.info("turn.ended", outcome="answered", seconds=1.5, text="what somebody wrote", content="the same")
    assert stream.getvalue().endswith("}\n")
    assert one(stream) == {"event": "turn.ended", "level": "info", "outcome": "answered", "seconds": 1.5}


def test_message_text_at_debug_only() -> None:
    logs, stream = make("debug")
    logs.log.debug("message.accepted", text="hello")
    assert one(stream) == {"event": "message.accepted", "level": "debug", "text": "hello"}


@pytest.mark.parametrize(("level", "count"), [("debug", 5), ("info", 4), ("warning", 3), ("error", 2)])
def test_level(level: Level, count: int) -> None:
    logs, stream = make(level)
    for write in (logs.log.debug, logs.log.info, logs.log.warning, logs.log.error, logs.log.critical):
        write("x.y")
    assert [record["level"] for record in records(stream)] == ["debug", "info", "warning", "error", "critical"][-count:]


def test_bound_fields() -> None:
    logs, stream = make()
    lane = bound(logs.log, lane="guild:1", message_id=1234567890123456789)
    bound(lane, child=3, attempt=0).info("turn.sent")
    logs.log.info("connector.ready")
    first, second = records(stream)
    assert first.items() >= {"lane": "guild:1", "message_id": "1234567890123456789", "child": 3, "attempt": 0}.items()
    assert set(second) == {"event", "level", "timestamp"}


def throw() -> None:
    raise RuntimeError(f"no login with {TOKEN}")


def log_error(log: Log) -> None:
    try:
        throw()
    except RuntimeError:
        log.exception("connector.fault", args={"token": "x", "url": f"/{TOKEN}"})


@pytest.mark.parametrize("form", ["json", "console"])
def test_no_field_key_event_or_traceback_shows_the_token(form: Literal["json", "console"]) -> None:
    logs, stream = make(form=form)
    log_error(logs.log)
    event = f"x.{TOKEN}"
    logs.log.warning(event, **{TOKEN: [TOKEN], "b": TOKEN.encode()})
    bound(logs.log, lane=TOKEN).info("x.y")
    with logs:
        logging.getLogger("discord.http").warning("header %s", {"Authorization": f"Bot {TOKEN}"})
        logging.getLogger("discord").error("bad", exc_info=RuntimeError(TOKEN))
    assert "RuntimeError" in stream.getvalue()
    assert TOKEN not in stream.getvalue()


def test_mentions_stay_whole() -> None:
    logs, stream = make()
    logs.log.info("x.y", names="<@1> <@!2> <@&3>")
    assert one(stream)["names"] == "<@1> <@!2> <@&3>"


def test_any_character_makes_one_line_and_comes_back() -> None:
    logs, stream = make()
    logs.log.info("x.y", odd="a\nb\u2028\x85\x00\ud800é")
    assert len(stream.getvalue().splitlines()) == 1
    assert one(stream)["odd"] == "a\nb\u2028\x85\x00\ud800é"


def test_console_escapes_control_characters() -> None:
    logs, stream = make(form="console")
    logs.log.info("x.y\x1b[2J", name="a\n2026 error forged", plain="ä", number=5, odd="\x1b]0;x\x07\u202e\u2028", z=[1])
    (line,) = stream.getvalue().split("\n")[:-1]
    assert line.split(" ", 1)[1] == (
        r'info    x.y\x1b[2J name="a\n2026 error forged" plain=ä number=5 odd="\u001b]0;x\u0007\u202e\u2028" z=[1]'
    )


def test_console_shows_a_traceback_below_and_indented() -> None:
    logs, stream = make(form="console")
    log_error(logs.log)
    head, *trace = stream.getvalue().splitlines()
    assert " error   connector.fault " in head
    assert trace[0] == "    Traceback (most recent call last):"
    assert trace[-1] == "    RuntimeError: no login with [redacted]"
    assert all(line.startswith("    ") for line in trace)


def test_auto_is_console_on_a_terminal_and_json_elsewhere() -> None:
    for stream, is_json in ((io.StringIO(), True), (Terminal(), False)):
        logs, written = make(form="auto", stream=stream)
        logs.log.info("x.y")
        assert written.getvalue().startswith("{") == is_json


def test_libraries_and_warnings_come_through_the_same() -> None:
    logs, stream = make()
    with logs, warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.getLogger("discord.gateway").warning("Can't keep up, %s behind", "9s")
        logging.getLogger("discord.gateway").info("not ours to show")
        # Handed over directly: the test runner's own handlers raise at such a record.
        ours = next(handler for handler in logging.getLogger().handlers if type(handler).__module__ == "connector.logs")
        ours.handle(logging.LogRecord("odd", 35, "", 0, "%d", ("no number",), None))
        warnings.warn("old", DeprecationWarning, stacklevel=1)
        logging.getLogger("asyncio").error("lost", exc_info=(RuntimeError, RuntimeError("x"), None))
    first, second, third, fourth = records(stream)
    for record in (first, second, third, fourth):
        del record["timestamp"]
    library = {"event": "library.log", "level": "warning"}
    assert first == library | {"logger": "discord.gateway", "message": "Can't keep up, 9s behind"}
    assert second == library | {"logger": "odd", "message": "%d"}
    assert third.items() >= {"event": "library.warning", "kind": "DeprecationWarning", "message": "old"}.items()
    assert fourth["exception"].endswith("RuntimeError: x")


@pytest.mark.parametrize(("level", "seen"), [("debug", ["info", "warning"]), ("info", ["warning"]), ("error", [])])
def test_libraries_never_flood_the_log(level: Level, seen: list[str]) -> None:
    logs, stream = make(level)
    with logs:
        for number in (logging.DEBUG, logging.INFO, logging.WARNING):
            logging.getLogger("discord").log(number, "x")
    assert [record["level"] for record in records(stream)] == seen


def test_nothing_global_stays_behind() -> None:
    root = logging.getLogger()
    before = (root.level, list(root.handlers), warnings.showwarning, structlog.get_config(), structlog.is_configured())
    logs, _ = make("debug")
    with logs:
        assert root.handlers != before[1]
    assert (
        root.level,
        list(root.handlers),
        warnings.showwarning,
        structlog.get_config(),
        structlog.is_configured(),
    ) == before


def test_two_logs_do_not_share_a_thing() -> None:
    (first, one_stream), (second, other_stream) = make(), make(form="console")
    bound(first.log, lane="a").info("x.one")
    second.log.info("x.two")
    assert [record["event"] for record in records(one_stream)] == ["x.one"]
    assert "x.two" in other_stream.getvalue()
    assert "lane" not in other_stream.getvalue()


def test_a_closed_stream_is_no_fault() -> None:
    logs, stream = make()
    stream.close()
    logs.log.info("x.y")


def test_a_stream_without_the_character_gets_it_escaped() -> None:
    raw = io.BytesIO()
    logs = Logs(LogSettings(format="console"), io.TextIOWrapper(raw, encoding="ascii"))
    logs.log.info("x.y", name="é")
    assert raw.getvalue().endswith(b"x.y name=\\xe9\n")
