"""Hides this process's memory and environment from other processes of its user; it touches no other process."""

import ctypes
import sys

_PR_SET_DUMPABLE = 4


def hide_process() -> bool:
    """Take `/proc/PID/environ`, `mem`, `maps` and `fd` from the user's other processes, and write no core dump (Linux).

    To be called before the Discord token is read. A program started from here is an ordinary one again. False, and no
    effect, elsewhere.
    """
    if sys.platform != "linux":
        return False
    return bool(ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) == 0)
