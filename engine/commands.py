"""pi's vocabulary, the half that is written: commands and their encoding; it holds no state and decides nothing."""

import msgspec
from msgspec import UNSET, Struct, UnsetType

from engine.pi import without_surrogates


class Image(Struct, frozen=True, tag_field="type", tag="image"):
    """One picture; ``data`` is base64."""

    data: str
    mimeType: str  # noqa: N815 - pi's own name


class Command(Struct, frozen=True, tag_field="type", omit_defaults=True):
    """One line of the child's standard input."""


class Prompt(Command, frozen=True, tag="prompt"):
    """Ask; ``message`` starts with ``/`` only for a person's ``/command``."""

    id: str
    message: str
    images: tuple[Image, ...] = ()


class Steer(Command, frozen=True, tag="steer"):
    """Add a line to the running run (BEHAVIOUR §4)."""

    id: str
    message: str
    images: tuple[Image, ...] = ()


class Abort(Command, frozen=True, tag="abort"):
    """End the running run; answered after it has settled."""

    id: str


class ClearQueue(Command, frozen=True, tag="clear_queue"):
    """Take back what was steered and not consumed."""

    id: str


class GetState(Command, frozen=True, tag="get_state"):
    """The first command of every child: its answer is "ready"."""

    id: str


class DialogAnswer(Command, frozen=True, tag="extension_ui_response"):
    """Answer to an asking dialog; gets no response."""

    id: str
    value: str | UnsetType = UNSET
    confirmed: bool | UnsetType = UNSET
    cancelled: bool | UnsetType = UNSET


class NewSession(Command, frozen=True, tag="new_session"):
    """Begin a session; drops pi's queue."""

    id: str


class SwitchSession(Command, frozen=True, tag="switch_session"):
    """Resume a session file; a missing file succeeds too (PROTOCOL §3)."""

    id: str
    sessionPath: str  # noqa: N815 - pi's own name


class Fork(Command, frozen=True, tag="fork"):
    """Branch the session before an entry."""

    id: str
    entryId: str  # noqa: N815 - pi's own name


class Compact(Command, frozen=True, tag="compact"):
    """Summarise the session."""

    id: str
    customInstructions: str | UnsetType = UNSET  # noqa: N815 - pi's own name


class SetModel(Command, frozen=True, tag="set_model"):
    """Choose the model."""

    id: str
    provider: str
    modelId: str  # noqa: N815 - pi's own name


class SetThinking(Command, frozen=True, tag="set_thinking_level"):
    """Choose the thinking level; a nonsense level silently means off (PROTOCOL §2)."""

    id: str
    level: str


class SetSessionName(Command, frozen=True, tag="set_session_name"):
    """Name the session."""

    id: str
    name: str


class GetStats(Command, frozen=True, tag="get_session_stats"):
    """Ask tokens and cost of the session."""

    id: str


class GetCommands(Command, frozen=True, tag="get_commands"):
    """Ask what ``/command`` may run."""

    id: str


class GetModels(Command, frozen=True, tag="get_available_models"):
    """Ask which models are configured."""

    id: str


class GetThinkingLevels(Command, frozen=True, tag="get_available_thinking_levels"):
    """Ask which thinking levels the model has."""

    id: str


Ask = (
    GetState
    | NewSession
    | SwitchSession
    | Fork
    | Compact
    | SetModel
    | SetThinking
    | SetSessionName
    | GetStats
    | GetCommands
    | GetModels
    | GetThinkingLevels
)
"""Commands that take their turn in the queue like prompts and are released by their response (BEHAVIOUR §1.1)."""


_encoder = msgspec.json.Encoder()


def encode(command: Command) -> bytes:
    """One line, LF included; lone surrogates, which no UTF-8 can carry, become U+FFFD."""
    try:
        return _encoder.encode(command) + b"\n"
    except UnicodeEncodeError:
        return _encoder.encode(without_surrogates(msgspec.to_builtins(command))) + b"\n"
