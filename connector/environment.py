"""What a process we start may inherit: the allow-list of CONTRACT `agent.env_pass`, and never the Discord token."""

from collections.abc import Mapping

from connector.settings import Settings
from engine.child import ChildSpec

NAMES = frozenset(
    {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TERM", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR"}
    | {name for upper in ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY") for name in (upper, upper.lower())}
)
PREFIXES = ("LC_", "XDG_", "NODE_", "PI_")
KEPT_BACK = "PI_CONNECTOR_"


def plain_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the allow-listed part of `environ`: what `git` and every other helper gets."""
    return {name: value for name, value in environ.items() if _allowed(name)}


def child_environment(settings: Settings, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the whole environment of the child: the allow-list, then `agent.env_pass`, then `agent.env`."""
    passed = {name: environ[name] for name in settings.agent.env_pass if name in environ}
    return plain_environment(environ) | passed | settings.agent.env


def _allowed(name: str) -> bool:
    return name in NAMES or (name.startswith(PREFIXES) and not name.startswith(KEPT_BACK))


def child_spec(settings: Settings, environ: Mapping[str, str]) -> ChildSpec:
    """How the child is started."""
    return ChildSpec(
        command=tuple(settings.agent.command),
        cwd=str(settings.cwd),
        env=child_environment(settings, environ),
        kill_after=settings.engine.kill_after,
        remote=settings.agent.remote,
    )
