"""Every command with its options, its help and what it refuses, by typer; how `run` runs is another module's."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from connector import loop, run_process
from connector.exits import ExitCode, Refusal
from connector.findings import Finding

if TYPE_CHECKING:  # pydantic costs more than all of `--version` and `--help`
    from connector.settings import Settings

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="pi, the coding agent, in Discord.",
)

Config = Annotated[
    Path | None,
    typer.Option("--config", metavar="F", help="The configuration file; `check` says where it is looked for without."),
]
Instance = Annotated[
    str | None,
    typer.Option("--instance", metavar="NAME", help="The configuration /etc/pi-connector/NAME.toml."),
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object.")]


def _version(*, asked: bool) -> None:
    if asked:
        from importlib import metadata  # noqa: PLC0415 - costs more than all of the rest of --version

        from connector.distribution import DISTRIBUTION  # noqa: PLC0415 - as above

        typer.echo(metadata.version(DISTRIBUTION))
        raise typer.Exit


@app.callback()
def _root(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=lambda asked: _version(asked=asked), is_eager=True, help="Print it.")
    ] = False,
) -> None:
    del version  # its callback has done all there is to do


@app.command()
def run(config: Config = None, instance: Instance = None) -> None:
    """Connect to Discord and relay until stopped."""
    _one_of(config, instance)
    raise typer.Exit(run_process.run(config, instance))


@app.command()
def check(
    config: Config = None,
    instance: Instance = None,
    *,
    online: Annotated[
        bool, typer.Option("--online", help="Ask Discord, too: token, intent, permissions, clock.")
    ] = False,
) -> None:
    """Look for what would stop a run; change nothing."""
    _one_of(config, instance)
    raise typer.Exit(_check(config, instance, online=online))


@app.command()
def init(
    config: Config = None,
    instance: Instance = None,
    *,
    offline: Annotated[bool, typer.Option("--offline", help="Ask Discord about nothing.")] = False,
) -> None:
    """Ask, explain each step at Discord, write configuration, token file and unit."""
    from connector import init as wizard  # noqa: PLC0415 - brings the engine and an HTTP client

    _one_of(config, instance)
    wizard.run(config, instance, os.environ, offline=offline)


@app.command()
def demo(
    child: Annotated[
        Literal["fake", "pi"], typer.Option("--child", help="A scripted child, or pi with your own models.")
    ] = "fake",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Of the page, on 127.0.0.1; 0: any free one.")
    ] = 0,
    say: Annotated[
        list[str] | None, typer.Option("--say", metavar="TEXT", help="Send it, print the answer, exit; repeatable.")
    ] = None,
) -> None:
    """Try the connector in a browser against an embedded Discord, without a token."""
    from connector import demo as demonstration  # noqa: PLC0415 - brings its own Discord

    raise typer.Exit(demonstration.run(child=child, port=port, says=tuple(say or ())))


@app.command()
def status(config: Config = None, instance: Instance = None, *, as_json: AsJson = False) -> None:
    """Show lanes, queues, waits, dead letters and failed starts."""
    from connector import admin  # noqa: PLC0415 - brings the ledger

    seen = admin.overview(_settings(config, instance), os.environ)
    _show(seen.as_json() if as_json else seen.lines())


@app.command()
def trace(
    message_id: Annotated[int, typer.Argument(metavar="MESSAGE_ID", min=1)],
    config: Config = None,
    instance: Instance = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Show every recorded step of one message."""
    from connector import admin  # noqa: PLC0415 - brings the ledger

    found = admin.trace(_settings(config, instance), os.environ, message_id)
    if found is None:
        typer.echo(f"error: nothing is known of the message {message_id}", err=True)
        raise typer.Exit(ExitCode.FAULT)
    _show(found.as_json() if as_json else found.lines())


@app.command("reset-wedges")
def reset_wedges(config: Config = None, instance: Instance = None) -> None:
    """Forget the failed starts in a row, so that a run may start again."""
    from connector import admin  # noqa: PLC0415 - brings the ledger

    typer.echo(admin.reset_wedges(_settings(config, instance), os.environ))


@app.command()
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE")], config: Config = None, instance: Instance = None
) -> None:
    """Write a consistent copy of the ledger, also while a run is up."""
    from connector import admin  # noqa: PLC0415 - brings the ledger

    typer.echo(admin.backup(_settings(config, instance), os.environ, file))


def _one_of(config: Path | None, instance: str | None) -> None:
    if config is not None and instance is not None:
        raise typer.BadParameter("--config and --instance exclude each other")


def _settings(config: Path | None, instance: str | None) -> "Settings":
    from connector.settings_load import load  # noqa: PLC0415 - brings pydantic

    _one_of(config, instance)
    return load(config, instance, os.environ)


def _show(told: Mapping[str, Any] | list[str]) -> None:
    if isinstance(told, Mapping):
        typer.echo(json.dumps(told))
    else:
        for line in told:
            typer.echo(line)


def _check(config: Path | None, instance: str | None, *, online: bool) -> ExitCode:
    """Print every finding; with an instance as its unit's user and in its environment, as far as this user may."""
    from connector import check as checking  # noqa: PLC0415 - brings the engine
    from connector import check_as, check_online  # noqa: F401, PLC0415 - another user may not be able to read it later
    from connector.hidden import hide_process  # noqa: PLC0415 - as in _run

    hide_process()
    findings: tuple[Finding, ...] = ()
    handed = None
    try:
        if instance is not None:
            shoes = check_as.step_in(instance, os.environ)
            findings, handed = shoes.findings, shoes.token
        settings = _settings(config, instance)
        if instance is not None:
            findings += tuple(shoes.of_settings(settings))
        findings += loop.run(checking.check(settings, os.environ, online=online, handed=handed))
    except Refusal as refusal:
        findings += refusal.findings
    for finding in findings:
        typer.echo(finding.line())
    if not findings:
        typer.echo("ok")
    bad = any(finding.level == "error" for finding in findings)
    return ExitCode.REFUSED if bad else ExitCode.STOPPED
