"""Whether the Discord token is out of the agent's reach (CONTRACT, What the child sees): looks at its place alone.

Under the shipped unit it is: the token comes through standard input from a file that only root may read. Elsewhere
`check` says what does not hold.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

from connector.findings import Finding
from connector.settings import Settings
from connector.settings_load import xdg_folder
from connector.token import CREDENTIAL, KEY, STANDARD_INPUT, VARIABLE
from connector.trust import User

OWN_FILE = "token"
"""The name `init` gives the token file beside the user's own configuration."""

_SERVICE = "run it as the shipped service, which hands the token over on standard input"


def isolation_findings(
    settings: Settings, environ: Mapping[str, str], *, user: User | None = None, platform: str = sys.platform
) -> list[Finding]:
    """Return a warning for each way by which the agent could read the token.

    `user` is whom the child runs as (this process's user by default). A remote child is another machine's user.
    """
    if settings.agent.remote:
        return []
    user = user or User.current()
    found = [*_of_place(settings, environ, user)]
    if platform != "linux":
        text = "this system cannot hide the connector's memory from the agent, which runs as the same user"
        found.append(Finding("warning", KEY, text, "run it on Linux"))
    left = xdg_folder(environ, "XDG_CONFIG_HOME", ".config")
    if settings.instance is not None and left is not None:
        file = left / "pi-connector" / OWN_FILE
        if user.may_read(file):
            text = f"{file} can be read by the agent, and is not what this instance uses"
            found.append(Finding("warning", KEY, text, f"remove it: rm {file}"))
    return found


def _of_place(settings: Settings, environ: Mapping[str, str], user: User) -> list[Finding]:
    named = settings.discord.token_file
    if named == STANDARD_INPUT or (named is None and settings.instance is not None):
        return []
    if named is not None:
        file = settings.beside(named)
        if not user.may_read(file):
            return []
        return [Finding("warning", KEY, f"the token file {file} can be read by the agent", _SERVICE)]
    if VARIABLE in environ:
        text = f"the token in ${VARIABLE} can be read by the agent in the process that started this one"
        return [Finding("warning", KEY, text, _SERVICE)]
    folder = environ.get("CREDENTIALS_DIRECTORY")
    if folder and user.may_read(Path(folder) / CREDENTIAL):
        return [Finding("warning", KEY, f"the credential {CREDENTIAL} can be read by the agent", _SERVICE)]
    return []
