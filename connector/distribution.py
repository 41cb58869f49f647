"""What this program is called where it is installed, and its version there; nothing else."""

from importlib import metadata

DISTRIBUTION = "pi-discord-connector"
UNKNOWN = "unknown"


def installed() -> str:
    """The version, or "unknown" where it was not installed."""
    try:
        return metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return UNKNOWN
