"""What every fact of the ledger is; nothing else."""

from msgspec import Struct


class Fact(Struct, frozen=True, tag_field="fact", omit_defaults=True):
    """One thing that happened."""
