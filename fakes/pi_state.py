"""What the parts of the fake pi share: its options, its queues, the run at work. Pure, like everything it holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from fakes.behaviour import Extension, Plan, Source, Tool
from fakes.effects import Append, Effect, EndTool, Exit, ResumeReading, StopReading
from fakes.loop import Flow, Gate, Loop
from fakes.pi_records import LEVELS, MODELS, Record
from fakes.pi_session import Session, load_session, session_path
from fakes.pi_wire import Wire
from fakes.script import ScriptSource

__all__ = ["MS", "Options", "Pi", "Queued", "Run"]

MS = 1_000_000

COMMANDS = (
    ("ask", "asks things"),
    ("boom", "throws"),
    ("say", "starts a run by itself"),
    ("later", "starts a run a little later"),
    ("do", "starts a run of these words"),
    ("log", "prints"),
    ("nothing", "does nothing"),
)


@dataclass(frozen=True, slots=True)
class Options:
    """What a child is started with. `wall` is the epoch in ns at the loop's time 0; `seed` tells processes apart.

    `session_dir` None is `--no-session`; `session_file` continues that one; `read` gives a file's text or None.
    """

    source: Source = field(default_factory=ScriptSource)
    extension: Extension = field(default_factory=lambda: Extension(COMMANDS))
    session_dir: str | None = None
    session_file: str | None = None
    read: Callable[[str], str | None] = lambda _path: None
    cwd: str = "/workspace"
    wall: int = 1_796_050_000_000_000_000
    seed: str = "0000"
    retry_base_ms: float = 2000
    retry_max: int = 3
    latency_ms: float = 2
    first_latency_ms: float = 2
    idle_timeout_ms: float | None = None
    context_window: int = 128_000
    reserve: int = 16_384
    keep_recent: int = 20_000
    model: str | None = "scripted"
    auth: bool = True


@dataclass(slots=True)
class Queued:
    """A steer or follow-up that waits."""

    text: str
    content: list[Record]


@dataclass(slots=True, eq=False)
class Run:
    """One run, from its prompt to its settling. `said` is the plan of the newest text, `calls` counts its calls."""

    plan: Plan
    content: list[Record]
    said: Plan = field(default_factory=Plan)
    key: str = ""
    calls: int = 0
    abort: Gate = field(default_factory=Gate)
    aborted: bool = False
    cancel_retry: Gate = field(default_factory=Gate)
    attempt: int = 0
    messages: list[Record] = field(default_factory=list)
    value: str = ""
    tools: tuple[Tool, ...] = ()


class Pi:
    """The state of one fake pi."""

    def __init__(self, options: Options, now: int) -> None:
        self.options = options
        self.start = now
        self.loop = Loop(now)
        self.effects: list[Effect] = []
        self.wire = Wire(self.loop, self.effects)
        self.reading = True
        self.muted = False
        self.ended = False
        self.unkillable = False
        self.terms = 0
        known = [m for m in MODELS if m["id"] == options.model]
        self.model: Record | None = None
        if options.model is not None:
            self.model = dict(known[0] if known else {**MODELS[0], "id": options.model, "name": options.model})
            self.model["contextWindow"] = options.context_window
        self.thinking = self.default_thinking()
        self.auto_retry = True
        self.auto_compaction = True
        self.overflowed = False  # compacted for an overflow since the last echo or good answer
        self.modes = {"steering": "one-at-a-time", "followUp": "one-at-a-time"}
        self.steering: list[Queued] = []
        self.follow_ups: list[Queued] = []
        self.streaming = False
        self.active: Run | None = None
        self.preflight: Run | None = None
        self.compacting: Gate | None = None  # opened to cancel the compaction at work
        self.idle = Gate()
        self.dialogs: dict[str, Gate] = {}
        self.late: list[tuple[str, Record]] = []
        self.failed: dict[str, int] = {}
        self.resets: dict[str, int] = {}
        self.tools: set[str] = set()
        self.bashes: list[Gate] = []
        self.provider_calls = 0
        self._serial = 0
        self.session = self.new_session()
        if options.session_file is not None:
            self.open_session(options.session_file)

    # ---- time and names
    def wall_ms(self) -> int:
        """The epoch in ms."""
        return (self.options.wall + self.loop.now - self.start) // MS

    def pause(self, ms: float, *signals: Gate) -> Flow:
        """Waits; returns whether it was to the end, and not cut by one of the signals."""
        if ms <= 0 and not any(s.is_open for s in signals):
            return True
        timer = self.loop.after(round(ms * MS))
        yield self.loop.first(timer, *signals)
        whole = timer.is_open
        timer.open()  # else it would stay a deadline
        return whole

    def next_id(self, prefix: str) -> str:
        """A name that no other thing of this process has."""
        self._serial += 1
        return f"{prefix}{self.options.seed}-{self._serial:06x}"

    def default_thinking(self) -> str:
        """The level of a fresh session."""
        return "medium" if self.model is not None and self.model["reasoning"] else "off"

    # ---- saying
    def emit(self, kind: str, **fields: object) -> None:
        """Writes an event."""
        self.wire.send({"type": kind, **fields})

    def queue_update(self) -> None:
        """Writes the whole queues."""
        steering, follow_ups = [q.text for q in self.steering], [q.text for q in self.follow_ups]
        self.emit("queue_update", steering=steering, followUp=follow_ups)

    def say_message(self, message: Record) -> None:
        """A whole message: start, end, and into the session (but for a failed try that is taken out again)."""
        self.emit("message_start", message=message)
        self.keep(message)
        self.emit("message_end", message=message)

    def keep(self, message: Record) -> None:
        """Puts a message into the session and the run's list; before its end is said, so that a kill finds it there."""
        if message["role"] == "user" or message.get("stopReason", "error") not in ("error", "length"):
            self.overflowed = False
        self.session.add_message(message, self.wall_ms())
        self.save()
        if self.active is not None:
            self.active.messages.append(message)

    # ---- sessions
    def new_session(self) -> Session:
        """An empty session with the file it will have."""
        at = self.wall_ms()
        self._serial += 1
        stamp = f"{at:012x}"
        session_id = f"{stamp[:8]}-{stamp[8:]}-7{self._serial:03x}-8000-{self.options.seed:>012}"
        folder = self.options.session_dir
        path = None if folder is None else session_path(folder, session_id, at)
        session = Session(session_id, path, self.options.cwd)
        if self.model is not None:
            session.add("model_change", at, provider=self.model["provider"], modelId=self.model["id"])
        session.add("thinking_level_change", at, thinkingLevel=self.thinking)
        return session

    def open_session(self, path: str) -> None:
        """Switches to a session file; a missing one is an empty session that will be written there."""
        content = self.options.read(path)
        fresh = self.new_session()
        fresh.path = path
        self.session = fresh if content is None else load_session(path, content, fresh.id)

    def save(self) -> None:
        """Appends what the session's file lacks."""
        data = self.session.take_unsaved(self.wall_ms())
        if data and self.session.path is not None:
            self.effects.append(Append(self.session.path, data))

    # ---- hearing
    def stop_reading(self) -> None:
        """Leaves standard input alone."""
        self.reading = False
        self.effects.append(StopReading())

    def resume_reading(self) -> None:
        """Reads standard input again."""
        self.reading = True
        self.effects.append(ResumeReading())

    def be_idle(self) -> None:
        """Tells everybody who waits for the run, or the compaction, to be over."""
        idle, self.idle = self.idle, Gate()
        idle.open()

    # ---- ending
    def end_tools(self) -> None:
        """Kills every tool at work."""
        for key in sorted(self.tools):
            self.effects.append(EndTool(key))
        self.tools.clear()

    def exit(self, code: int, *, clean: bool = True) -> None:
        """Ends the process: with its tools killed when `clean`, or leaving them (a crash)."""
        if self.ended:
            return
        self.wire.flush()
        if clean:
            self.end_tools()
        self.effects.append(Exit(code, clean))
        self.quiet()

    def quiet(self) -> None:
        """Nothing is said or heard from now on."""
        self.ended = True
        self.wire.closed = True

    def clamp(self, level: object) -> str:
        """The thinking level that the model can do; nonsense is `off` (k_malformed)."""
        can = self.model is not None and self.model["reasoning"] and level in LEVELS
        return str(level) if can else "off"
