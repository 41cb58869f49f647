"""pi's vocabulary, the half that is read; it holds no state and decides nothing.

Every field of a record has a default, so that a record which lacks one (an older pi, an odd extension) is still a
record: what matters for attribution is its name. Fields nobody reads are not declared; msgspec skips them unread.
"""

from typing import Any

from msgspec import Struct, ValidationError, convert


class Record(Struct, frozen=True, tag_field="type"):
    """One line of the child's standard output that pi is known to write."""


# -- what pi says of itself ----------------------------------------------------------------------------------------


class Response(Record, frozen=True, tag="response"):
    """Answer to a command; ``success`` to a prompt means accepted, never worked (PROTOCOL §0.6)."""

    id: Any = None
    command: str | None = None
    success: bool = False
    data: Any = None
    error: str | None = None


class AgentStart(Record, frozen=True, tag="agent_start"):
    """A low-level run opens."""


class AgentEnd(Record, frozen=True, tag="agent_end"):
    """A low-level run closes; ``willRetry`` false is not final either (PROTOCOL §8)."""

    willRetry: bool = False  # noqa: N815 - pi's own name


class AgentSettled(Record, frozen=True, tag="agent_settled"):
    """The only record after which pi is idle; it does not say whether the run failed."""

    aborted: bool = False


class TurnStart(Record, frozen=True, tag="turn_start"):
    """Life, nothing more."""


class TurnEnd(Record, frozen=True, tag="turn_end"):
    """Life, nothing more."""


class Block(Struct, frozen=True):
    """One block of a message's content."""

    type: str = ""
    text: str = ""


class Origin(Struct, frozen=True):
    """Where a tool's result came from, in the shape ``message.source``."""

    callId: str | None = None  # noqa: N815 - pi's own name


class Cost(Struct, frozen=True):
    """Cost of one assistant message in pi's currency unit."""

    total: float = 0.0


class Usage(Struct, frozen=True):
    """Tokens of one assistant message."""

    input: int = 0
    output: int = 0
    totalTokens: int = 0  # noqa: N815 - pi's own name
    cost: Cost | None = None


class Message(Struct, frozen=True):
    """A message of pi's session; assistant messages carry ``stopReason``, results name their call."""

    role: str = ""
    content: str | list[Block] = ""
    stopReason: str | None = None  # noqa: N815 - pi's own name
    errorMessage: str | None = None  # noqa: N815 - pi's own name
    provider: str | None = None
    model: str | None = None
    usage: Usage | None = None
    toolCallId: str | None = None  # noqa: N815 - pi's own name
    source: Origin | None = None

    @property
    def text(self) -> str:
        """All text blocks in order; thinking and tool calls are no text."""
        if isinstance(self.content, str):
            return self.content
        return "".join(block.text for block in self.content if block.type == "text")


class MessageStart(Record, frozen=True, tag="message_start"):
    """A message begins; with role user it is the echo of what was sent, or an extension's text."""

    message: Message = Message()


class MessageEnd(Record, frozen=True, tag="message_end"):
    """A message is complete."""

    message: Message = Message()


class Piece(Struct, frozen=True, gc=False):
    """The changed part of a streaming assistant message; of these there are many, and no circle can be made of them."""

    type: str = ""
    delta: str = ""


class MessageUpdate(Record, frozen=True, gc=False, tag="message_update"):
    """A streaming assistant message grows by one piece."""

    assistantMessageEvent: Piece = Piece()  # noqa: N815 - pi's own name


class ToolStart(Record, frozen=True, tag="tool_execution_start"):
    """A tool call opens a wait."""

    toolCallId: str = ""  # noqa: N815 - pi's own name
    toolName: str = ""  # noqa: N815 - pi's own name
    args: Any = None


class ToolUpdate(Record, frozen=True, tag="tool_execution_update"):
    """Life of an open tool; ``partialResult`` is cumulative and not read."""


class ToolEnd(Record, frozen=True, tag="tool_execution_end"):
    """A tool call has returned; some shapes name the call ``callId``."""

    toolCallId: str | None = None  # noqa: N815 - pi's own name
    callId: str | None = None  # noqa: N815 - pi's own name
    isError: bool = False  # noqa: N815 - pi's own name


class QueueUpdate(Record, frozen=True, tag="queue_update"):
    """pi's whole queues after a change; never life (BEHAVIOUR §1.11)."""


class RetryStart(Record, frozen=True, tag="auto_retry_start"):
    """pi will ask its provider again after ``delayMs``."""

    attempt: int = 0
    maxAttempts: int = 0  # noqa: N815 - pi's own name
    delayMs: float = 0  # noqa: N815 - pi's own name


class RetryEnd(Record, frozen=True, tag="auto_retry_end"):
    """pi's own retrying is over, one way or the other."""

    success: bool = False


class CompactionStart(Record, frozen=True, tag="compaction_start"):
    """pi summarises its session."""

    reason: str = ""


class CompactionEnd(Record, frozen=True, tag="compaction_end"):
    """The summary is done, failed or was aborted; ``result`` says what it cost."""

    reason: str = ""
    result: Any = None


class Dialog(Record, frozen=True, tag="extension_ui_request"):
    """An extension asks (select, confirm, input, editor) or tells (all other methods)."""

    id: str = ""
    method: str = ""
    title: str = ""
    message: str = ""
    options: list[str] = []
    placeholder: str = ""
    prefill: str = ""
    timeout: float | None = None
    statusKey: str = ""  # noqa: N815 - pi's own name
    statusText: str = ""  # noqa: N815 - pi's own name
    text: str = ""

    @property
    def asks(self) -> bool:
        """Whether the run waits until this is answered."""
        return self.method in ASKING


ASKING = frozenset({"select", "confirm", "input", "editor"})


class Entry(Struct, frozen=True):
    """Session bookkeeping of pi's own; one of type "usage" is a call to a model that is no message."""

    type: Any = None
    provider: Any = None
    model: Any = None
    usage: Any = None


class Passing(Record, frozen=True, tag="entry_appended"):
    """A known record that changes nothing here, what it cost apart."""

    entry: Entry | None = None


class ThinkingLevelChanged(Record, frozen=True, tag="thinking_level_changed"):
    """Changes nothing here."""


class SessionInfoChanged(Record, frozen=True, tag="session_info_changed"):
    """Changes nothing here."""


class BashUpdate(Record, frozen=True, tag="bash_execution_update"):
    """Output of an RPC ``bash``, which the connector never sends."""


class ExtensionError(Record, frozen=True, tag="extension_error"):
    """An extension threw; pi goes on."""

    event: str = ""
    error: str = ""


class SummaryScheduled(Record, frozen=True, tag="summarization_retry_scheduled"):
    """Changes nothing here: the compaction is still open."""


class SummaryStarted(Record, frozen=True, tag="summarization_retry_attempt_start"):
    """Changes nothing here: the compaction is still open."""


class SummaryFinished(Record, frozen=True, tag="summarization_retry_finished"):
    """Changes nothing here: the compaction is still open."""


Known = (
    Response
    | AgentStart
    | AgentEnd
    | AgentSettled
    | TurnStart
    | TurnEnd
    | MessageStart
    | MessageEnd
    | MessageUpdate
    | ToolStart
    | ToolUpdate
    | ToolEnd
    | QueueUpdate
    | RetryStart
    | RetryEnd
    | CompactionStart
    | CompactionEnd
    | Dialog
    | Passing
    | ThinkingLevelChanged
    | SessionInfoChanged
    | BashUpdate
    | ExtensionError
    | SummaryScheduled
    | SummaryStarted
    | SummaryFinished
)

LIFE = (
    AgentStart,
    AgentEnd,
    AgentSettled,
    TurnStart,
    TurnEnd,
    MessageStart,
    MessageEnd,
    MessageUpdate,
    ToolStart,
    ToolUpdate,
    ToolEnd,
    RetryStart,
    RetryEnd,
    CompactionStart,
    CompactionEnd,
)
"""What counts as a sign of life (BEHAVIOUR §1.11); responses, queue updates and one-way requests never do."""

BUSY = ("Agent is already processing", "Cannot submit a prompt while compaction is in progress")
"""How pi begins a refusal that means "later" (PROTOCOL §5)."""


def plain(value: Any, name: str, default: Any = None) -> Any:
    """Field ``name`` of a response's data, which may be anything at all."""
    return value.get(name, default) if isinstance(value, dict) else default


def usage_in(value: Any) -> Usage | None:
    """What a part of a record that may be anything at all says of usage, None where that is none."""
    try:
        return convert(value, Usage)
    except ValidationError:
        return None


def without_surrogates(value: Any) -> Any:
    """The same value of JSON with every lone surrogate replaced by U+FFFD."""
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case list() | tuple():
            return [without_surrogates(item) for item in value]
        case dict():
            return {without_surrogates(key): without_surrogates(item) for key, item in value.items()}
        case _:
            return value
