"""Finds and reads the settings, for pydantic-settings to merge; it never looks in the working folder on its own."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails
from pydantic_settings import EnvSettingsSource, InitSettingsSource

from connector.exits import Refusal
from connector.findings import Finding
from connector.settings import Settings, allowed, sections
from connector.settings_values import shown

PREFIX = Settings.model_config["env_prefix"]
CONFIG_VARIABLE = "PI_CONNECTOR_CONFIG"
ETC = Path("/etc/pi-connector")

INSTANCE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]*")
_UNSHOWN = {("discord", "token_file"), ("agent", "env")}
"""Keys whose value may be a secret, or be taken for the place of one: a wrong value is not repeated."""


class _Environment(EnvSettingsSource):
    """The variables it is given, each of them known; never those of the process."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        super().__init__(Settings)
        self.env_vars = {name.lower(): text for name, text in environ.items()}

    def field_is_complex(self, field: FieldInfo) -> bool:
        """Whether a variable's text is JSON: for every key that is no text. Nothing is guessed from a bare word."""
        return not isinstance(field.get_default(call_default_factory=True), str | None)

    def decode_complex_value(self, field_name: str, field: FieldInfo, value: Any) -> Any:
        """Return what the JSON says; a text that is none is refused by its key, in the check that follows."""
        try:
            return super().decode_complex_value(field_name, field, value)
        except (ValueError, RecursionError):
            return value


def load(config: Path | None, instance: str | None, environ: Mapping[str, str], *, etc: Path = ETC) -> Settings:
    """Return the settings of the file that `find` finds, with single keys overridden by `environ`.

    Raises Refusal with every error there is, each with its key, its mend and the file or variable it stands in.
    """
    source = find(config, instance, environ, etc=etc)
    variables = [variable(section, key) for section, key in keys()]
    given = {name: environ[name] for name in variables if name in environ}
    table, findings = _known(_read(source) if source else {}, str(source), given)
    findings += [found for name in keys() if (found := _undecodable(*name, given)) is not None]
    given = {name: text for name, text in given.items() if _is_text(text)}
    variables.append(CONFIG_VARIABLE)
    strange = sorted(name for name in environ if name.startswith(PREFIX) and name not in variables)
    findings += [_unknown("variable", name, variables, "environment") for name in strange]
    try:
        settings = Settings(_Environment(given), InitSettingsSource(Settings, table), source=source, instance=instance)
    except ValidationError as error:
        findings += [_finding(details, source, given) for details in error.errors(include_url=False)]
    else:
        if not findings:
            return settings
    raise Refusal.of(tuple(findings))


def find(config: Path | None, instance: str | None, environ: Mapping[str, str], *, etc: Path = ETC) -> Path | None:
    """Return the settings' file as an absolute path, or None where nobody named one and no usual place has one.

    In this order: `--config`, `--instance`, `$PI_CONNECTOR_CONFIG`, the user's file, the system's file (CONTRACT).
    """
    if instance is not None and not INSTANCE.fullmatch(instance):
        text = f"{shown(instance)} is no name of an instance"
        raise Refusal.of((Finding("error", "--instance", text, "use letters, digits, _ . : and -"),))
    if config is not None:
        return config.absolute()
    if instance is not None:
        return instance_file(instance, "toml", etc=etc)
    if named := environ.get(CONFIG_VARIABLE):
        return Path(named).absolute()
    return next((path for path in usual_places(environ, etc=etc) if _present(path)), None)


def usual_places(environ: Mapping[str, str], *, etc: Path = ETC) -> tuple[Path, ...]:
    """Return the files that are looked for where nobody named one, the first that is there being taken."""
    own = xdg_folder(environ, "XDG_CONFIG_HOME", ".config")
    system = etc / "connector.toml"
    return (own / "pi-connector" / "connector.toml", system) if own else (system,)


def instance_file(instance: str, suffix: str, *, etc: Path = ETC) -> Path:
    """Return the file of an instance: its settings (`toml`) or its token (`token`)."""
    return etc / f"{instance}.{suffix}"


def xdg_folder(environ: Mapping[str, str], variable: str, default: str) -> Path | None:
    """Return an XDG base folder; a relative one counts as unset, as XDG demands. None without a home."""
    for folder, below in ((environ.get(variable, ""), ""), (environ.get("HOME", ""), default)):
        if folder.startswith("/"):
            return Path(folder) / below
    return None


def problems(settings: Settings) -> tuple[Finding, ...]:
    """Return what is wrong with well-formed settings: errors of `check`, a refusal of `run` (exit 3)."""
    where = str(settings.source) if settings.source else ""
    found = []
    if settings.access.nobody:
        mend = "name at least one user, role or operator who may speak"
        found.append(
            Finding("error", "access.users", "with users, roles and operators empty nobody is served", mend, where)
        )
    if not settings.agent.remote and not _is_folder(settings.cwd):
        mend = "create it, or name the folder the agent shall work in"
        found.append(Finding("error", "agent.cwd", f"there is no folder {settings.cwd}", mend, where))
    return tuple(found)


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False


def refuse(findings: Iterable[Finding]) -> None:
    """Raise a Refusal for the errors among `findings`, if there are any."""
    if errors := tuple(finding for finding in findings if finding.level == "error"):
        raise Refusal.of(errors)


def _present(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return True  # It may be there: reading it then says what is wrong, rather than another file being taken.


def _read(source: Path) -> dict[str, Any]:
    try:
        text = source.read_bytes().decode("utf-8-sig")
    except OSError as error:
        mend = "name a readable file with --config, or write one with pi-connector init"
        raise _unreadable(source, f"cannot be read: {error.strerror or error}", mend) from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise _unreadable(source, f"line {line}: is not UTF-8", "save the file as UTF-8") from None
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _unreadable(source, _place(str(error), text), "finish or correct that line") from None
    except (ValueError, RecursionError) as error:  # a number too long, tables too deep: tomllib lets these pass
        raise _unreadable(source, str(error), "correct the file") from None


def _unreadable(source: Path, text: str, mend: str) -> Refusal:
    return Refusal.of((Finding("error", "config", text, mend, str(source)),))


def _place(message: str, text: str) -> str:
    """Return tomllib's message with the line in front, also where it says "at end of document"."""
    if match := re.fullmatch(r"(.*) \(at line (\d+), column (\d+)\)", message, re.DOTALL):
        return f"line {match[2]}, column {match[3]}: {match[1]}"
    last = len(text.rstrip("\n").split("\n"))
    return f"line {last}: {message.removesuffix(' (at end of document)')} at the end of the file"


def _known(table: dict[str, Any], where: str, given: Mapping[str, str]) -> tuple[dict[str, Any], list[Finding]]:
    """Return what of a file is known and no variable replaces, and a finding for each unknown section and key.

    What is replaced is left out here because the library would merge a table with the variable's.
    """
    raw: dict[str, Any] = {}
    findings: list[Finding] = []
    names = [f"{name}.{key}" for name, key in keys()]
    for name, content in table.items():
        section = sections().get(name)
        if section is None:
            kind, known = ("section", list(sections())) if isinstance(content, dict) else ("key", names)
            findings.append(_unknown(kind, name, known, where))
        elif isinstance(content, dict):
            fields = section.model_fields
            raw[name] = {key: content[key] for key in fields if key in content and variable(name, key) not in given}
            findings += [_unknown("key", f"{name}.{key}", names, where) for key in content if key not in fields]
        else:
            text = f"{shown(content)} is no section"
            findings.append(Finding("error", name, text, f"begin it with a line [{name}]", where))
    return raw, findings


def _undecodable(section: str, key: str, given: Mapping[str, str]) -> Finding | None:
    name = variable(section, key)
    if _is_text(given.get(name, "")):
        return None
    return Finding("error", f"{section}.{key}", "is not UTF-8", f"give {allowed(section, key)}", f"${name}")


def _is_text(text: str) -> bool:
    """Whether a variable was UTF-8: bytes that are none stand in it as surrogates, which nothing can read or write."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _unknown(kind: str, name: str, known: Iterable[str], where: str) -> Finding:
    return Finding("error", name, f"unknown {kind}", f"the nearest known one is {nearest(name, known)}", where)


def keys() -> list[tuple[str, str]]:
    """Return every (section, key) there is, in the order of CONTRACT."""
    return [(name, key) for name, section in sections().items() for key in section.model_fields]


def variable(section: str, key: str) -> str:
    """Return the name of the variable that overrides `section.key`."""
    return f"{PREFIX}{section}__{key}".upper()


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the known name most like `name`; the same last part in another section is the nearest of all."""
    leaf = name.rpartition(".")[2]
    return max(known, key=lambda one: (one.rpartition(".")[2] == leaf, SequenceMatcher(None, name, one).ratio()))


def _finding(details: ErrorDetails, source: Path | None, given: Mapping[str, str]) -> Finding:
    section, key = str(details["loc"][0]), str(details["loc"][1])
    name = variable(section, key)
    where = f"${name}" if name in given else str(source or "environment")
    mend = f"give {allowed(section, key)}"
    if details["type"] == "value_error":
        text = str(details["ctx"]["error"])
    elif (section, key) in _UNSHOWN:
        text = "holds a value of the wrong kind"
    else:
        text = f"{shown(details['input'])} is not allowed"
    return Finding("error", f"{section}.{key}", text, mend, where)
