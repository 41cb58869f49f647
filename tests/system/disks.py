"""A disk that takes nothing, for one process that runs; others are not touched."""

import contextlib
import resource
from collections.abc import Iterator

from fakes.program import Running


@contextlib.contextmanager
def refusing(run: Running) -> Iterator[None]:
    """The system lets this process write no byte into any file: as a full disk, told by EFBIG."""
    _, hard = resource.prlimit(run.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(run.pid, resource.RLIMIT_FSIZE, (0, hard))
    yield
    with contextlib.suppress(ProcessLookupError):  # it may have ended so
        resource.prlimit(run.pid, resource.RLIMIT_FSIZE, (hard, hard))
