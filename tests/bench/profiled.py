"""The connector under Python's own profiler, from the first SIGUSR1 on: `python -m tests.bench.profiled FILE run …`."""

import cProfile
import os
import runpy
import signal
import sys
import time


def main() -> None:
    target = sys.argv.pop(1)
    profiler = cProfile.Profile(time.thread_time)
    signal.signal(signal.SIGUSR1, lambda _number, _frame: profiler.enable())
    try:
        runpy.run_module("connector", run_name="__main__", alter_sys=True)
    finally:
        profiler.disable()
        profiler.dump_stats(target)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONFAULTHANDLER", "1")
    main()
