"""The pi that the benches measure against: the pinned one, as `.ci/pi-install` leaves it; starts nothing."""

import re
from pathlib import Path

from fakes.real_pi import Installation, installed
from tests.bench.asked import RefusedError

ROOT = Path(__file__).parents[2]
_PINS = re.findall(r"^PI_PINNED=(\S+)$", (ROOT / ".ci" / "pins.sh").read_text(), re.MULTILINE)
PINNED = str(_PINS[0])


def pinned(root: Path = ROOT) -> Installation:
    """Where it is under the repository `root`. Raises RefusedError where it is missing."""
    if (found := installed(root, PINNED)) is None:
        raise RefusedError(f"pi {PINNED} is missing: run make contract (or .ci/pi-install) first")
    return found
