"""The Discord token: its places in CONTRACT's order, read once, never shown."""

import os
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

from connector.exits import ExitCode, Refusal
from connector.settings import Settings
from connector.token import Secret, read_token

OTHER = {"api_base": "http://127.0.0.1:1/api/v10", "gateway_url": "ws://127.0.0.1:1/"}


def settings(tmp_path: Path, **discord: str) -> Settings:
    return Settings.model_validate({"discord": discord, "source": tmp_path / "c.toml"})


def credential(tmp_path: Path, text: str = "from-credential") -> dict[str, str]:
    folder = tmp_path / "credentials"
    folder.mkdir()
    (folder / "discord-token").write_text(text)
    (folder / "discord-token").chmod(0o600)
    return {"CREDENTIALS_DIRECTORY": str(folder)}


def file(path: Path, data: bytes = b"from-file\n", mode: int = 0o600) -> Path:
    path.write_bytes(data)
    path.chmod(mode)
    return path


def test_order_is_file_then_variable_then_credential(tmp_path: Path) -> None:
    environ = {"DISCORD_TOKEN": "from-variable", "A": "1"} | credential(tmp_path)
    named = settings(tmp_path, token_file=str(file(tmp_path / "t")))
    assert read_token(named, dict(environ)).secret.reveal() == "from-file"
    token = read_token(settings(tmp_path), environ)
    assert (token.secret.reveal(), token.place) == ("from-variable", "$DISCORD_TOKEN")
    assert read_token(settings(tmp_path), environ).secret.reveal() == "from-credential"


def test_variable_is_taken_out_also_where_it_is_not_used(tmp_path: Path) -> None:
    environ = {"DISCORD_TOKEN": "from-variable", "A": "1"}
    read_token(settings(tmp_path, token_file=str(file(tmp_path / "t"))), environ)
    assert environ == {"A": "1"}


def test_relative_file_stands_beside_the_settings(tmp_path: Path) -> None:
    file(tmp_path / "bot.token")
    assert read_token(settings(tmp_path, token_file="bot.token"), {}).secret.reveal() == "from-file"


def test_another_discord_never_gets_the_credential(tmp_path: Path) -> None:
    with pytest.raises(Refusal, match=r"is not for another discord\.api_base"):
        read_token(settings(tmp_path, **OTHER), credential(tmp_path))
    assert read_token(settings(tmp_path, **OTHER), {"DISCORD_TOKEN": "fake-token"}).secret.reveal() == "fake-token"


def test_no_token_anywhere_is_refused_with_key_and_file(tmp_path: Path) -> None:
    with pytest.raises(Refusal) as refusal:
        read_token(settings(tmp_path), {"CREDENTIALS_DIRECTORY": str(tmp_path / "absent")})
    assert refusal.value.code is ExitCode.REFUSED
    (line,) = refusal.value.lines()
    text = "error: discord.token_file: there is no token; name a file that holds it, or set $DISCORD_TOKEN"
    assert line == f"{text} ({tmp_path / 'c.toml'})"


@pytest.mark.parametrize("data", [b"  abc.def-ghi \r\n\n", b"\xef\xbb\xbfabc.def-ghi", b"\n\nabc.def-ghi"])
def test_white_space_around_it_is_stripped(data: bytes, tmp_path: Path) -> None:
    named = settings(tmp_path, token_file=str(file(tmp_path / "t", data)))
    assert read_token(named, {}).secret.reveal() == "abc.def-ghi"


@pytest.mark.parametrize(
    "data",
    [b"", b" \n", b"Bot hush-hush", b"hush-hush\nhush", "hush-hüsh".encode(), b"hush\xff", b"hush\0", b"hush" * 2000],
)
@pytest.mark.parametrize("place", ["file", "variable", "input"])
def test_anything_else_is_refused_and_not_repeated(
    data: bytes, place: str, tmp_path: Path, pipe: Callable[[bytes], int]
) -> None:
    environ: dict[str, str] = {}
    fd = 0
    match place:
        case "file":
            chosen = settings(tmp_path, token_file=str(file(tmp_path / "t", data)))
        case "input":
            chosen, fd = settings(tmp_path, token_file="-"), pipe(data)
        case _:
            chosen = settings(tmp_path)
            environ["DISCORD_TOKEN"] = os.fsdecode(data)
    with pytest.raises(Refusal) as refusal:
        read_token(chosen, environ, input_fd=fd)
    assert "hush" not in str(refusal.value)


@pytest.mark.parametrize(("kind", "mend"), [("absent", "write the bot's token there"), ("folder", "let this user")])
def test_unreadable_file_is_refused(kind: str, mend: str, tmp_path: Path) -> None:
    path = tmp_path if kind == "folder" else tmp_path / "absent"
    with pytest.raises(Refusal, match=rf"error: discord\.token_file: .* cannot be read: .*; {mend}"):
        read_token(settings(tmp_path, token_file=str(path)), {})


def test_token_written_where_its_file_belongs_is_not_repeated(tmp_path: Path) -> None:
    shaped = "M" + "T" * 25 + ".GabcdE." + "x" * 30
    with pytest.raises(Refusal) as refusal:
        read_token(settings(tmp_path, token_file=shaped), {})
    assert shaped not in str(refusal.value)


@pytest.mark.parametrize(
    ("mode", "warned"), [(0o600, False), (0o400, False), (0o640, True), (0o604, True), (0o620, True)]
)
def test_file_open_to_others_is_a_warning(mode: int, warned: bool, tmp_path: Path) -> None:
    path = file(tmp_path / "t", mode=mode)
    token = read_token(settings(tmp_path, token_file=str(path)), {})
    lines = [finding.line() for finding in token.findings]
    expected = f"warning: discord.token_file: {path} is open to others (mode {mode:04o}); run chmod 600 {path}"
    assert lines == ([expected] if warned else [])


@pytest.fixture
def pipe() -> Callable[[bytes], int]:
    def make(data: bytes) -> int:
        reader, writer = os.pipe()
        os.write(writer, data)
        os.close(writer)
        return reader

    return make


def test_standard_input_is_read_once_and_then_empty(tmp_path: Path, pipe: Callable[[bytes], int]) -> None:
    fd = pipe(b"from-input\n")
    token = read_token(settings(tmp_path, token_file="-"), {}, input_fd=fd)
    assert (token.secret.reveal(), token.place) == ("from-input", "standard input")
    assert os.fstat(fd).st_rdev == Path(os.devnull).stat().st_rdev
    with pytest.raises(Refusal, match="standard input is empty"):
        read_token(settings(tmp_path, token_file="-"), {}, input_fd=fd)
    os.close(fd)


def test_standard_input_need_not_end(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.write(writer, b"\nfrom-input\n")
    assert read_token(settings(tmp_path, token_file="-"), {}, input_fd=reader).secret.reveal() == "from-input"
    os.close(writer)
    os.close(reader)


def test_closed_standard_input_is_refused(tmp_path: Path, pipe: Callable[[bytes], int]) -> None:
    fd = pipe(b"x")
    os.close(fd)
    with pytest.raises(Refusal, match="standard input cannot be read"):
        read_token(settings(tmp_path, token_file="-"), {}, input_fd=fd)


def test_check_of_an_instance_reads_its_file_instead(tmp_path: Path) -> None:
    path = file(tmp_path / "team.token")
    token = read_token(settings(tmp_path, token_file="-"), {}, instead_of_input=path)
    assert (token.secret.reveal(), token.place) == ("from-file", str(path))


def test_secret_is_not_shown() -> None:
    secret = Secret("hush-hush")
    for text in (repr(secret), str(secret), f"{secret}", repr([secret]), f"{secret!r:>20}"):
        assert "hush" not in text
    with pytest.raises(TypeError, match="not to be pickled"):
        pickle.dumps(secret)
