"""A child's streams: bytes up and down, stderr, and commands that cannot be started; all with real processes."""

import hashlib
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from engine.child import TAIL_BYTES, TAIL_LINE, TAIL_LINES, Child, ChildSpec, ChildUnusable, Exit

pytestmark = pytest.mark.anyio
PATIENT = 60.0  # never reached: every child here ends at SIGTERM or by itself


@pytest.fixture(autouse=True)
async def bound() -> AsyncIterator[None]:
    with anyio.fail_after(5):
        yield


def python(code: str) -> ChildSpec:
    command = (sys.executable, "-I", "-S", "-c", code)
    return ChildSpec(command, cwd=".", env={"PATH": os.defpath}, kill_after=PATIENT)


def descriptors() -> set[str]:
    return {entry.name for entry in Path("/proc/self/fd").iterdir()}


async def whole(child: Child) -> tuple[bytes, Exit]:
    """Everything it writes, and its exit, without stopping it."""
    chunks: list[bytes] = []
    await child.pump(chunks.append)
    return b"".join(chunks), await child.wait()


async def test_the_last_words_before_an_exit_are_delivered_cut_line_included() -> None:
    child = await Child.spawn(python("import sys; sys.stdout.write('one\\nhal'); sys.exit(3)"), 7)
    assert await whole(child) == (b"one\nhal", Exit(3, expected=False, swept=0))
    assert child.generation == 7


async def test_last_words_wait_for_a_pump_that_starts_after_the_exit() -> None:
    child = await Child.spawn(python("print('late')"), 1)
    ended = await child.wait()
    assert await whole(child) == (b"late\n", ended)


async def test_ten_megabytes_each_way_arrive_whole_and_in_order() -> None:
    child = await Child.spawn(python("import sys; sys.stdout.buffer.write(sys.stdin.buffer.read(10_000_000))"), 1)
    sent = os.urandom(10_000_000)
    for start in range(0, len(sent), 3_000_000):
        assert child.write(sent[start : start + 3_000_000]) == "queued"
    heard, ended = await whole(child)
    assert (hashlib.sha256(heard).digest(), ended) == (hashlib.sha256(sent).digest(), Exit(0, expected=False, swept=0))
    assert child.unwritten == 0


async def test_a_line_far_beyond_any_stream_limit_is_handed_up_in_chunks() -> None:
    child = await Child.spawn(python("import sys; sys.stdout.write('x' * 5_000_000)"), 1)
    heard, _ = await whole(child)
    assert heard == b"x" * 5_000_000


async def test_a_child_that_reads_nothing_holds_up_nobody() -> None:
    child = await Child.spawn(python("print('up', flush=True); import signal; signal.pause()"), 1)
    assert child.write(b"x" * 10_000_000) == "queued"
    up = anyio.Event()
    async with anyio.create_task_group() as group:
        group.start_soon(child.pump, lambda _chunk: up.set())
        await up.wait()
        assert child.write(b"more") == "queued"
        assert child.unwritten > 9_000_000
        assert await child.stop() == Exit(-15, expected=True, swept=0)
    assert child.unwritten == 0


async def test_after_stop_has_begun_nothing_is_written() -> None:
    """BEHAVIOUR invariant 10."""
    child = await Child.spawn(
        python(
            "import signal, sys; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
            "print(sys.stdin.readline(), end='', flush=True); sys.stdout.write(sys.stdin.read())"
        ),
        1,
    )
    heard: list[bytes] = []
    told: list[str] = []
    first = anyio.Event()

    async def write_meanwhile() -> None:
        told.append(child.write(b"after\n"))

    def deliver(chunk: bytes) -> None:
        heard.append(chunk)
        first.set()

    async with anyio.create_task_group() as group:
        group.start_soon(child.pump, deliver)
        child.write(b"before\n")
        await first.wait()
        child.write(b"x" * (1 << 22))  # more than the pipe takes: the rest waits in the queue when the stop begins
        group.start_soon(write_meanwhile)
        await child.stop()
    said = b"".join(heard)
    assert (said[:8], await child.wait()) == (b"before\nx", Exit(0, expected=True, swept=0))
    assert len(said) < 1 << 22
    assert b"after" not in said
    assert [*told, child.write(b"later\n")] == ["closed", "closed"]


async def test_a_child_that_closes_its_input_is_a_value_not_an_exception() -> None:
    child = await Child.spawn(python("import os, signal; os.close(0); print('closed', flush=True); signal.pause()"), 1)
    closed = anyio.Event()
    async with anyio.create_task_group() as group:
        group.start_soon(child.pump, lambda _chunk: closed.set())
        await closed.wait()
        while child.write(b"anybody?") != "closed":
            await anyio.lowlevel.checkpoint()
        assert await child.stop() == Exit(-15, expected=True, swept=0)


async def test_what_deliver_returns_is_awaited_before_the_next_chunk() -> None:
    child = await Child.spawn(python("import sys; sys.stdout.write('x' * 3_000_000)"), 1)
    busy: list[int] = []

    async def deliver(chunk: bytes) -> None:
        busy.append(1)
        assert sum(busy) == 1
        await anyio.lowlevel.checkpoint()
        busy.append(-1)
        heard.append(len(chunk))

    heard: list[int] = []
    await child.pump(deliver)
    await child.wait()
    assert sum(heard) == 3_000_000


async def test_a_stderr_flood_costs_no_memory_and_stops_nobody() -> None:
    child = await Child.spawn(
        python(
            "import os\n"
            "for _ in range(800): os.write(2, b'y' * 65535 + b'\\n')\n"  # 52 MB
            "os.write(2, b'the last line'); print('done')"
        ),
        1,
    )
    assert await whole(child) == (b"done\n", Exit(0, expected=False, swept=0))
    assert len(child._tail) <= TAIL_BYTES
    assert child.stderr_tail() == ("the last line",)


async def test_the_tail_is_the_last_lines_each_bounded_and_printable() -> None:
    child = await Child.spawn(
        python(
            "import os\n"
            "for n in range(100): os.write(2, b'line %d\\n' % n)\n"
            r"os.write(2, b'\x1b[31mred\x1b[0m\x1b]0;title\x07\x00bell\x07 caf\xc3\xa9 \xff \xe2\x80\xae\n\n')"
            "\nos.write(2, b'z' * 1000)"
        ),
        1,
    )
    await whole(child)
    lines = tuple(f"line {number}" for number in range(82, 100))
    assert child.stderr_tail() == (*lines, "red bell  café \ufffd", "z" * TAIL_LINE)
    assert len(child.stderr_tail()) == TAIL_LINES


async def test_one_endless_line_still_leaves_its_end_in_the_tail() -> None:
    child = await Child.spawn(python("import os; os.write(2, b'x' * 60_000 + b'\\n')"), 1)
    await whole(child)
    assert child.stderr_tail() == ("x" * TAIL_LINE,)


@pytest.mark.parametrize(
    ("command", "cwd", "reason", "mend"),
    [
        ("no-such-command", ".", "there is no command no-such-command", "install it, or give its full path"),
        ("{tmp}/absent", ".", "there is no command {tmp}/absent", "install it, or give its full path"),
        ("{tmp}/plain", ".", "{tmp}/plain may not be executed", "chmod +x it, or name another command"),
        ("{tmp}", ".", "{tmp} may not be executed", "chmod +x it, or name another command"),
        ("{tmp}/nothing", ".", "{tmp}/nothing is no program", "give it a first line like #!/bin/sh"),
        (
            "{tmp}/orphaned",
            ".",
            "{tmp}/orphaned cannot be started, the interpreter in its first line is missing",
            "install that, or correct the line",
        ),
        ("sh", "{tmp}/away", "the folder {tmp}/away does not exist", "create it, or name another"),
    ],
)
async def test_a_command_that_cannot_be_started_says_what_to_mend(
    tmp_path: Path, command: str, cwd: str, reason: str, mend: str
) -> None:
    for name, text in (("plain", "#!/bin/sh\n"), ("nothing", "\0\0"), ("orphaned", "#!/no/such/interpreter\n")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o644 if name == "plain" else 0o755)
    spec = ChildSpec(
        (command.format(tmp=tmp_path),), cwd.format(tmp=tmp_path), {"PATH": os.defpath}, kill_after=PATIENT
    )
    with pytest.raises(ChildUnusable) as caught:
        await Child.spawn(spec, 1)
    expected = (reason.format(tmp=tmp_path), mend)
    assert (caught.value.reason, caught.value.mend) == expected
    assert str(caught.value) == ": ".join(expected)


async def test_a_failed_start_leaves_no_descriptor_open() -> None:
    before = descriptors()
    with pytest.raises(ChildUnusable):
        await Child.spawn(ChildSpec(("no-such-command",), ".", {}, kill_after=PATIENT), 1)
    assert descriptors() == before


async def test_a_finished_child_leaves_no_descriptor_open() -> None:
    before = descriptors()
    child = await Child.spawn(python("import signal; signal.pause()"), 1)
    await child.stop()  # never pumped
    assert descriptors() == before


async def test_the_child_gets_its_environment_and_folder_and_a_session_of_its_own(tmp_path: Path) -> None:
    code = "import os; print(sorted(os.environ), os.environ['A'], os.getcwd(), os.getsid(0) == os.getpid())"
    spec = ChildSpec(
        (sys.executable, "-I", "-S", "-c", code), str(tmp_path), {"A": "b", "LC_ALL": "C.UTF-8"}, kill_after=PATIENT
    )
    heard, _ = await whole(await Child.spawn(spec, 1))
    assert heard.decode() == f"['A', 'LC_ALL', 'PI_GENERATION'] b {tmp_path} True\n"
