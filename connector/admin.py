"""What an operator asks of the ledger or does to it while `run` may be up; it starts nothing and talks to nobody."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec import Struct

from connector import chain, ledger_read
from connector.clock import Clock
from connector.exits import Refusal
from connector.findings import one_line
from connector.ledger import FILE, Known, load
from connector.settings import Settings, nanoseconds
from connector.state_folder import state_folder
from connector.status import as_json
from connector.tracing import Trace, folded
from connector.world import World
from engine import processes
from engine.events import SECOND
from engine.processes import Identity

SYSTEM_STATE = Path("/var/lib/pi-connector")
"""Where the shipped unit keeps the state folders of its instances (`StateDirectory=`)."""


def ledger_folder(settings: Settings, environ: Mapping[str, str], *, system: Path = SYSTEM_STATE) -> Path:
    """Return the state folder as an operator means it: with `--instance` the unit's own, where there is one.

    systemd tells only the service about that folder (`$STATE_DIRECTORY`); a person at a shell has the name alone.
    """
    told = settings.state.dir is not None or environ.get("STATE_DIRECTORY")
    if settings.instance is not None and not told and _is_there(system / settings.instance):
        return system / settings.instance
    return state_folder(settings, environ)


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return True  # there, but not for us: opening the ledger then says so


class Overview(Struct, frozen=True):
    """What `status` shows: a fold over the ledger at `now` (nanoseconds since the epoch)."""

    known: Known
    world: World
    dead: tuple[ledger_read.DeadLetter, ...]
    in_row: int
    max_wedges: int
    now: int

    def as_json(self) -> dict[str, Any]:
        """CONTRACT's `status --json`."""
        dead = [
            {"message": str(letter.message), "round": letter.round, "lane": letter.lane, "since": letter.at // SECOND}
            for letter in self.dead
        ]
        return as_json(self.world, self.in_row) | {"dead": dead}

    def lines(self) -> list[str]:
        """The same for a person at a terminal."""
        told = self.as_json()
        lines = []
        for lane, rounds in told["lanes"].items():
            lines += [f"lane {lane}: {self._round(round_)}" for round_ in rounds]
        lines = lines or ["lanes: nothing runs or waits"]
        lines += [f"agent {kid['child']} of lane {kid['lane']}: process {kid['pid']}" for kid in told["children"]]
        for gate in told["gate"]:
            if gate["until"] * SECOND > self.now:
                lines.append(
                    f"gate: nothing is sent to {gate['provider']}/{gate['model']} until {clock(gate['until'])}"
                )
        if self.dead:
            last = self.dead[-1]
            lines.append(f"dead letters: {len(self.dead)}, the last one message {last.message} in lane {last.lane}")
        else:
            lines.append("dead letters: none")
        lines.append(f"last exit: {chain.last_exit(self.known.chain)}")
        lines.append(f"failed starts in a row: {self.in_row} of {self.max_wedges}{self._refuses()}")
        return [one_line(line) for line in lines]

    def _refuses(self) -> str:
        if self.in_row < self.max_wedges:
            return ""
        return "; the next start refuses: see the log for why, mend it, then run pi-connector reset-wedges"

    def _round(self, round_: Mapping[str, Any]) -> str:
        words = f"message {round_['message']} {round_['phase']}, since {clock(round_['since'])}"
        if round_["attempts"]:
            words += f", attempt {round_['attempts']}"
        return words + (f", until {clock(round_['until'])}" if round_["until"] else "")


def overview(settings: Settings, environ: Mapping[str, str]) -> Overview:
    """Read what `status` shows. Raises Refusal where there is no usable ledger."""
    with ledger_read.opened(ledger_folder(settings, environ) / FILE) as db:
        known = load(db)
        dead = tuple(ledger_read.dead_letters(db))
    now = Clock().now()
    world = folded(known.world)
    # A killed connector leaves its children in the ledger until the next start, which looks for them.
    world.children = {
        number: child for number, child in world.children.items() if processes.alive(Identity(child.pid, child.started))
    }
    gap = nanoseconds(settings.supervision.wedge_gap)
    return Overview(known, world, dead, chain.in_a_row(known.chain, gap), settings.supervision.max_wedges, now)


def trace(settings: Settings, environ: Mapping[str, str], message: int) -> Trace | None:
    """Read every recorded step of one message, None where nothing is known of it. Raises Refusal without a ledger."""
    with ledger_read.opened(ledger_folder(settings, environ) / FILE) as db:
        steps = tuple(ledger_read.steps_of(db, message))
    return Trace(message, steps) if steps else None


def reset_wedges(settings: Settings, environ: Mapping[str, str]) -> str:
    """Forget the row of failed starts; what was done, in words. Raises Refusal where there is no usable ledger."""
    before = overview(settings, environ).in_row
    ledger_read.forgive(ledger_folder(settings, environ) / FILE, Clock().now())
    return f"forgot {before} failed starts in a row; pi-connector run may start again"


def backup(settings: Settings, environ: Mapping[str, str], to: Path) -> str:
    """Copy the ledger; what was done, in words. Raises Refusal where there is none, or where `to` exists."""
    source = ledger_folder(settings, environ) / FILE
    if to.is_dir():
        raise Refusal(f"{to} is a folder", "name a new file in it")
    ledger_read.copy(source, to)
    return f"copied {source} to {to}"


def clock(seconds: int) -> str:
    """An instant (seconds since the epoch) as a person reads it, in UTC as the log does."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}Z"
