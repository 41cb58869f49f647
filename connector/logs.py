"""Logging: JSON or console lines on one stream, without secrets; it keeps no logger but those it lends out."""

import json
import logging
import re
import threading
import warnings
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, TextIO, cast

import structlog
from structlog.typing import EventDict, FilteringBoundLogger, Processor, WrappedLogger

from connector.findings import one_line
from connector.redact import Redactor
from connector.settings import LogSettings

Log = FilteringBoundLogger

_TEXT_KEYS = ("text", "content")
"""Fields that hold what people wrote: they reach the log at debug alone (CONTRACT, What is logged)."""

_DOUBLE = 1 << 53
"""Beyond this not every whole number is a double."""


class Logs:
    """Where log lines go, and the log that writes them.

    As a context manager it also takes in what libraries log and Python's warnings, and gives both back at its end.
    `redactor.add(value)` takes a secret out of every later line.
    """

    def __init__(self, settings: LogSettings, stream: TextIO, redactor: Redactor | None = None) -> None:
        self.redactor = redactor or Redactor()
        self._level = logging.getLevelNamesMapping()[settings.level.upper()]
        as_json = settings.format == "json" or (settings.format == "auto" and not stream.isatty())
        processors: list[Processor] = [
            structlog.processors.add_log_level,
            _texts_at_debug_only,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            _ids_as_text,
            self._redact,
            render_json if as_json else render_console,
        ]
        lazy = structlog.wrap_logger(
            _Sink(stream),
            processors=processors,
            wrapper_class=structlog.make_filtering_bound_logger(self._level),
            context_class=dict,
            cache_logger_on_first_use=False,
        )
        # bind() makes the real logger of the lazy one, so that structlog's global defaults are never asked.
        self.log: Log = cast("Log", lazy.bind())
        self._handler = _Library(self.log)
        self._before: tuple[int, Callable[..., None]] | None = None

    def _redact(self, _logger: WrappedLogger, _name: str, event: EventDict) -> EventDict:
        return cast("EventDict", self.redactor.value(event))

    def __enter__(self) -> Self:
        root = logging.getLogger()
        self._before = (root.level, warnings.showwarning)
        root.addHandler(self._handler)
        # Libraries tell their troubles; their own debug lines are a flood that hides ours.
        root.setLevel(max(self._level, logging.INFO if self._level == logging.DEBUG else logging.WARNING))
        warnings.showwarning = self._show_warning
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        root = logging.getLogger()
        root.removeHandler(self._handler)
        if self._before:
            level, show = self._before
            root.setLevel(level)
            warnings.showwarning = show
            self._before = None

    def _show_warning(
        self, message: Warning | str, category: type[Warning], filename: str, lineno: int, *_: object, **__: object
    ) -> None:
        self.log.warning("library.warning", kind=category.__name__, message=str(message), file=filename, line=lineno)


def bound(
    log: Log,
    *,
    lane: str | None = None,
    message_id: int | None = None,
    child: int | None = None,
    attempt: int | None = None,
) -> Log:
    """Return `log` with what is known bound to it, under the names of CONTRACT.

    A message's id is written as text: as a number it would lose its last digits in what reads JSON with doubles.
    """
    message = None if message_id is None else str(message_id)
    fields = {"lane": lane, "message_id": message, "child": child, "attempt": attempt}
    return log.bind(**{name: value for name, value in fields.items() if value is not None})


def render_json(_logger: WrappedLogger, _name: str, event: EventDict) -> str:
    """Return one line of JSON, in ASCII so that no stream and no lone surrogate can refuse it."""
    return json.dumps(event, ensure_ascii=True, allow_nan=False)


def render_console(_logger: WrappedLogger, _name: str, event: EventDict) -> str:
    """Return `time level event key=value …`; control characters are escaped, a traceback stands indented below."""
    fields = dict(event)
    head = f"{fields.pop('timestamp', '')} {fields.pop('level', ''):<7} {fields.pop('event', '')}"
    trace = str(fields.pop("exception", ""))
    pairs = (f"{key}={_console_value(value)}" for key, value in fields.items())
    lines = [" ".join([head, *pairs]), *(f"    {line}" for line in trace.split("\n") if trace)]
    return "\n".join(map(one_line, lines))


def _console_value(value: object) -> str:
    if isinstance(value, str) and re.fullmatch(r'[^\s"=]+', value):
        return value
    return json.dumps(value, ensure_ascii=False)


def _texts_at_debug_only(_logger: WrappedLogger, _name: str, event: EventDict) -> EventDict:
    if event["level"] != "debug":
        for key in _TEXT_KEYS:
            event.pop(key, None)
    return event


def _ids_as_text(_logger: WrappedLogger, _name: str, event: EventDict) -> EventDict:
    """Write a number that a double cannot hold as text, as `bound` does: readers of JSON would change its end."""
    for key, value in event.items():
        if isinstance(value, list | tuple):
            event[key] = [_exact(item) for item in value]
        else:
            event[key] = _exact(value)
    return event


def _exact(value: object) -> object:
    return str(value) if isinstance(value, int) and abs(value) > _DOUBLE else value


class _Sink:
    """The last logger of the chain: one line, whole, to the stream."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def msg(self, line: str) -> None:
        try:
            with self._lock:
                self._stream.write(self._writable(line) + "\n")
                self._stream.flush()
        except (OSError, ValueError):
            # A closed or full standard error is no reason to stop serving people, and there is nowhere to say it.
            return

    def _writable(self, line: str) -> str:
        encoding = self._stream.encoding or "utf-8"
        return line.encode(encoding, errors="backslashreplace").decode(encoding)

    debug = info = warning = error = critical = msg


class _Library(logging.Handler):
    """Hands what libraries log to our own log."""

    def __init__(self, log: Log) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        try:
            message = record.getMessage()
        except (TypeError, ValueError):
            message = str(record.msg)  # its arguments do not fit its format: a library's slip, not ours
        fields: dict[str, Any] = {"logger": record.name, "message": message}
        if record.exc_info:
            fields["exc_info"] = record.exc_info
        self._log.log(_known_level(record.levelno), "library.log", **fields)


def _known_level(level: int) -> int:
    """Return the nearest level at or below a library's own one: structlog knows no others."""
    known = (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR, logging.CRITICAL)
    return max((one for one in known if one <= level), default=logging.DEBUG)
