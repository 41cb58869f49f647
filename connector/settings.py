"""Every setting of CONTRACT with default, type and range; it reads no file and no environment of its own accord."""

import math
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from connector.settings_values import (
    Give,
    check_api_base,
    check_argument,
    check_gateway_url,
    check_listen,
    check_passed_name,
    check_path,
    check_program,
    check_variables,
    ids,
    listed,
)
from engine.events import LONGEST, SECOND

DISCORD_API = "https://discord.com/api/v10"

Seconds = Annotated[float, Field(ge=0, le=LONGEST, allow_inf_nan=False), Give("seconds, 0 or more")]
Bound = Annotated[float, Field(gt=0, le=LONGEST, allow_inf_nan=False), Give("seconds, more than 0")]
Days = Annotated[float, Field(ge=0, le=LONGEST, allow_inf_nan=False), Give("days, 0 (for ever) or more")]
Money = Annotated[float, Field(ge=0, allow_inf_nan=False), Give("an amount, 0 (no cap) or more")]
Count = Annotated[int, Field(ge=0), Give("a whole number, 0 or more")]
AtLeastOne = Annotated[int, Field(ge=1), Give("a whole number, 1 or more")]
Switch = Annotated[bool, Give("true or false")]
Ids = Annotated[frozenset[int], BeforeValidator(ids), Give('a list of Discord ids, such as [123, "456"]')]
PathText = Annotated[str, AfterValidator(check_path), Give("a path")]


class Section(BaseModel):
    """One table of the file: frozen, nothing coerced, nothing unknown let in."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)


class DiscordSettings(Section):
    """`[discord]`: the way to Discord, and how much is shown there."""

    token_file: Annotated[str | None, AfterValidator(check_path), Give('a path, or "-" for standard input')] = None
    reactions: Switch = True
    api_base: Annotated[
        str,
        AfterValidator(check_api_base),
        Give("an https address that ends in /api/v10 (plain http only for loopback)"),
    ] = DISCORD_API
    gateway_url: Annotated[
        str | None, Field(validate_default=True), Give("a wss address (plain ws only for loopback)")
    ] = None
    progress: Annotated[Literal["live", "off"], Give('"live" or "off"')] = "live"
    reply_in: Annotated[Literal["thread", "channel"], Give('"thread" or "channel"')] = "thread"
    stop_timeout: Seconds = 10.0

    @field_validator("gateway_url")
    @classmethod
    def _belongs_to_the_api(cls, url: str | None, info: ValidationInfo) -> str | None:
        # A wrong api_base is reported by itself; then there is nothing to hold the gateway against.
        if "api_base" not in info.data:
            return url
        return check_gateway_url(url, custom_api=info.data["api_base"] != DISCORD_API)

    @property
    def custom_api(self) -> bool:
        """Whether this is another Discord than the real one: its token never is a systemd credential."""
        return self.api_base != DISCORD_API


class AccessSettings(Section):
    """`[access]`: who may speak, and where."""

    guilds: Ids = frozenset()
    channels: Ids = frozenset()
    users: Ids = frozenset()
    roles: Ids = frozenset()
    operators: Ids = frozenset()
    dms: Switch = True
    bots: Ids = frozenset()
    bot_turns: Count = 5

    @property
    def nobody(self) -> bool:
        """Whether no person could ever be served (CONTRACT `access.users`)."""
        return not (self.users or self.roles or self.operators)


class LanesSettings(Section):
    """`[lanes]`: what is a prompt, and how many may wait."""

    respond: Annotated[Literal["mention", "all"], Give('"mention" or "all"')] = "mention"
    busy: Annotated[Literal["steer", "queue", "auto"], Give('"steer", "queue" or "auto"')] = "auto"
    capacity: AtLeastOne = 500
    per_person: AtLeastOne = 20


class AgentSettings(Section):
    """`[agent]`: the child, its folder and its environment."""

    command: Annotated[
        tuple[Annotated[str, AfterValidator(check_argument)], ...],
        BeforeValidator(listed),
        Field(min_length=1),
        AfterValidator(check_program),
        Give('a list of words, the program first, such as ["pi", "--mode", "rpc"]'),
    ] = ("pi", "--mode", "rpc")
    cwd: PathText = "."
    env: Annotated[
        dict[str, str],
        AfterValidator(check_variables),
        Give('a table of texts, such as { PI_OFFLINE = "1" }; the Discord token is never given to the child'),
    ] = Field(default_factory=dict)
    env_pass: Annotated[
        tuple[Annotated[str, AfterValidator(check_passed_name)], ...],
        BeforeValidator(listed),
        Give("a list of names of variables; the Discord token is never given to the child"),
    ] = ()
    remote: Switch = False
    max_children: AtLeastOne = 4
    idle_timeout: Seconds = 900.0
    dialog_timeout: Seconds = 300.0


class EngineSettings(Section):
    """`[engine]`: the bounds of one turn and of one child's end."""

    # A silence bound of 0 would end every turn at once; only turn_limit knows 0 as "none".
    turn_timeout: Bound = 180.0
    tool_timeout: Bound = 1800.0
    turn_limit: Annotated[
        float, Field(ge=0, le=LONGEST, allow_inf_nan=False), Give("seconds, 0 (no limit) or more")
    ] = 7200.0
    abort_grace: Seconds = 30.0
    run_grace: Seconds = 60.0
    kill_after: Seconds = 5.0
    max_line: Annotated[int, Field(ge=1), Give("bytes, a whole number, 1 or more")] = 67_108_864


class RetrySettings(Section):
    """`[retry]`: when a turn that ended with the provider's "later" is asked again."""

    backoff: Annotated[
        tuple[Annotated[float, Field(ge=0, le=LONGEST, allow_inf_nan=False)], ...],
        BeforeValidator(listed),
        Give("a list of seconds, each 0 or more, such as [5, 15, 45]"),
    ] = (5.0, 15.0, 45.0)
    max_attempts: AtLeastOne = 3
    quota_hold: Seconds = 21600.0


class SteeringSettings(Section):
    """`[steering]`: when a person's message interrupts a wait."""

    long_wait: Seconds = 60.0


class SupervisionSettings(Section):
    """`[supervision]`: how an exit is prepared, and when starting again is given up."""

    drain: Seconds = 120.0
    max_wedges: AtLeastOne = 5
    wedge_gap: Seconds = 900.0


class FilesSettings(Section):
    """`[files]`: bounds of attachments, in bytes and in number."""

    max_bytes: Annotated[int, Field(ge=0), Give("bytes, a whole number, 0 or more")] = 10_485_760
    max_message: Count = 10
    max_lane: Annotated[int, Field(ge=0), Give("bytes, a whole number, 0 or more")] = 268_435_456


class SpendSettings(Section):
    """`[spend]`: caps in pi's currency unit."""

    person_day: Money = 0.0
    lane_day: Money = 0.0
    total_day: Money = 0.0


class StateSettings(Section):
    """`[state]`: where the ledger lies, and how long it keeps texts."""

    dir: Annotated[str | None, AfterValidator(check_path), Give("a path")] = None
    keep: Days = 30.0


class LogSettings(Section):
    """`[log]`: how much is logged, and in which form."""

    level: Annotated[Literal["debug", "info", "warning", "error"], Give('"debug", "info", "warning" or "error"')] = (
        "info"
    )
    format: Annotated[Literal["json", "console", "auto"], Give('"json", "console" or "auto"')] = "auto"


class MetricsSettings(Section):
    """`[metrics]`: where `/metrics` and `/healthz` are served."""

    listen: Annotated[
        str, AfterValidator(check_listen), Give('HOST:PORT, such as "127.0.0.1:9464", or "" for none')
    ] = ""

    @property
    def address(self) -> tuple[str, int] | None:
        """Return host (brackets of IPv6 taken off) and port, or None where nothing is served."""
        if not self.listen:
            return None
        host, _, port = self.listen.rpartition(":")
        return host.removeprefix("[").removesuffix("]"), int(port)


class Settings(BaseSettings):
    """All settings of one connector, and where they came from; made by `settings_load.load`.

    Each key comes from the keyword arguments, else from the first of `sources` that has it, else it is the default.
    """

    # Strict are the sections: strict here, the library would coerce the texts of variables on its own.
    model_config = SettingsConfigDict(
        frozen=True, extra="forbid", hide_input_in_errors=True, env_prefix="PI_CONNECTOR_", env_nested_delimiter="__"
    )

    discord: DiscordSettings = DiscordSettings()
    access: AccessSettings = AccessSettings()
    lanes: LanesSettings = LanesSettings()
    agent: AgentSettings = AgentSettings()
    engine: EngineSettings = EngineSettings()
    retry: RetrySettings = RetrySettings()
    steering: SteeringSettings = SteeringSettings()
    supervision: SupervisionSettings = SupervisionSettings()
    files: FilesSettings = FilesSettings()
    spend: SpendSettings = SpendSettings()
    state: StateSettings = StateSettings()
    log: LogSettings = LogSettings()
    metrics: MetricsSettings = MetricsSettings()
    source: Annotated[Path | None, Field(exclude=True)] = None
    """The file they were read from; None where there is none. No section: it cannot be set in the file."""
    instance: Annotated[str | None, Field(exclude=True)] = None
    """NAME of `--instance NAME`. No section either."""

    def __init__(self, *sources: PydanticBaseSettingsSource, **values: Any) -> None:
        super().__init__(sources=sources, **values)

    @classmethod
    def settings_customise_sources(cls, *_: Any, **offered: Any) -> tuple[PydanticBaseSettingsSource, ...]:
        """Put the given sources in place of those offered: the process's environment, `.env` and secret files."""
        arguments = offered["init_settings"]
        return arguments, *arguments.init_kwargs.pop("sources")

    def beside(self, text: str) -> Path:
        """Return `text` as an absolute path: `~` is the home folder, a relative one stands beside the file.

        Never in the working folder (which the agent may write), unless there is no file.
        """
        path = Path(text).expanduser()
        return (self.source.parent / path if self.source else path).absolute()

    @property
    def cwd(self) -> Path:
        """The child's working folder, absolute; a relative `agent.cwd` stands in our own working folder."""
        return Path(self.agent.cwd).expanduser().absolute()


def sections() -> dict[str, type[Section]]:
    """Return the sections by name, in the order of CONTRACT."""
    named = ((name, field.annotation) for name, field in Settings.model_fields.items())
    return {name: kind for name, kind in named if isinstance(kind, type) and issubclass(kind, Section)}


def allowed(section: str, key: str) -> str:
    """Return in words what `section.key` may be. Raises KeyError for an unknown one."""
    metadata = sections()[section].model_fields[key].metadata
    return next(item.text for item in metadata if isinstance(item, Give))


def nanoseconds(seconds: float) -> int:
    """Return a duration of the settings (seconds) as the pure cores take it (nanoseconds)."""
    return math.floor(seconds * SECOND + 0.5)
