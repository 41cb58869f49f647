"""One mutant against the tests, in a fork of a process that holds none of our own modules: they are read anew there."""

import json
import os
import resource
import select
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from types import CodeType

import pytest

from tests.mutation.mutants import ROOT, Mutant

OWN = ("connector", "engine", "fakes", "tests")
QUIET = (
    "-x", "-q", "--no-header", "--tb=no", "--assert=plain", "-p", "no:randomly", "-p", "no:cacheprovider",
    "-p", "no:xdist", "-o", "timeout=0",
)  # fmt: skip
MEMORY = 4 << 30
"""A mutant that gathers without end is stopped here, bytes of address space."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """`end`: killed, survived, timeout or no tests. `by`: the first test that failed. `cpu` in seconds."""

    end: str
    by: str
    cpu: float


class _Planted:
    """Finds one module before everybody else does, with the mutant's text."""

    def __init__(self, mutant: Mutant) -> None:
        self.name = mutant.file.removesuffix(".py").replace("/", ".")
        self.mutant = mutant

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name != self.name:
            return None
        file = str(ROOT / self.mutant.file)
        return spec_from_file_location(name, file, loader=_Loader(name, file, self.mutant.text))


class _Loader(SourceFileLoader):
    def __init__(self, name: str, path: str, text: str) -> None:
        super().__init__(name, path)
        self.text = text

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.text, self.path, "exec")


class _Witness:
    """Remembers the first test that failed, and what else was loaded."""

    by = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.by:
            self.by = report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and not self.by:
            self.by = f"{report.nodeid} (import)"


@dataclass(slots=True)
class Trial:
    """A mutant (None: the original) that is being tried; `told` is read when `process` has ended."""

    mutant: Mutant | None
    process: int
    pidfd: int
    told: int
    until: float

    @classmethod
    def begin(cls, mutant: Mutant | None, tests: Sequence[str], seconds: float) -> "Trial":
        """In a child; it may take so many seconds of CPU, and five times as long by the clock."""
        told, tell = os.pipe()
        sys.stdout.flush()
        process = os.fork()
        if process == 0:
            os.close(told)
            _try(mutant, tests, seconds, tell)
        os.close(tell)
        return cls(mutant, process, os.pidfd_open(process), told, time.monotonic() + 5 * seconds)

    def end(self) -> tuple[Verdict, list[str]]:
        """After its end, or when its time is over; of an original also which modules of others it has loaded."""
        late = time.monotonic() >= self.until
        if late and not select.select([self.pidfd], [], [], 0)[0]:
            os.kill(self.process, 9)
        _, status, usage = os.wait4(self.process, 0)
        with os.fdopen(self.told) as pipe:
            told = pipe.read()
        os.close(self.pidfd)
        cpu = usage.ru_utime + usage.ru_stime
        if not told:  # killed by its bounds, or by what the mutant did to the interpreter
            return Verdict("timeout" if os.WIFSIGNALED(status) else "killed", "", cpu), []
        found = json.loads(told)
        ends = {pytest.ExitCode.OK: "survived", pytest.ExitCode.NO_TESTS_COLLECTED: "no tests"}
        return Verdict(ends.get(found["exit"], "killed"), found["by"], cpu), found["foreign"]


def _try(mutant: Mutant | None, tests: Sequence[str], seconds: float, tell: int) -> None:
    """Never returns."""
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2) if mutant is not None else (0,):
        os.dup2(nowhere, stream)
    if mutant is not None:
        sys.meta_path.insert(0, _Planted(mutant))
    witness = _Witness()
    code = pytest.main([*QUIET, *tests], plugins=[witness])
    foreign = [name for name in sys.modules if name.partition(".")[0] not in OWN] if mutant is None else []
    with os.fdopen(tell, "w") as pipe:
        json.dump({"exit": int(code), "by": witness.by, "foreign": foreign}, pipe)
    os._exit(0)


def next_of(trials: Sequence[Trial]) -> Trial:
    """The first of these that ends or is over its time."""
    by_fd = {trial.pidfd: trial for trial in trials}
    wait = max(0.0, min(trial.until for trial in trials) - time.monotonic())
    ready = select.select(list(by_fd), [], [], wait)[0]
    return by_fd[ready[0]] if ready else min(trials, key=lambda trial: trial.until)
