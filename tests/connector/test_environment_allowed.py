"""What the child inherits (CONTRACT `agent.env_pass`): the list, what is passed, what is set, and never the token."""

from hypothesis import given
from hypothesis import strategies as st

from connector.environment import child_environment, plain_environment
from connector.settings import Settings

ALLOWED = {
    name: name.lower()
    for name in (
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TERM", "TMPDIR"),
        *("XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "NODE_OPTIONS", "NODE_EXTRA_CA_CERTS", "PI_OFFLINE", "PI_AGENT_DIR"),
        *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR"),
    )
}
KEPT = dict.fromkeys(
    (
        *("DISCORD_TOKEN", "CREDENTIALS_DIRECTORY", "STATE_DIRECTORY", "NOTIFY_SOCKET", "OPENAI_API_KEY"),
        *("PI_CONNECTOR_CONFIG", "PI_CONNECTOR_AGENT__ENV", "LD_PRELOAD", "PYTHONPATH", "GIT_DIR", "SSH_AUTH_SOCK"),
        *("LANGUAGE", "Path", "HOMEX", "NODE", "PI", "XDG", "Http_Proxy", "ALL_PROXY"),
    ),
    "x",
)


def test_the_list() -> None:
    assert plain_environment(ALLOWED | KEPT) == ALLOWED
    assert child_environment(Settings(), ALLOWED | KEPT) == ALLOWED


def test_passed_names_and_set_values() -> None:
    variables = {"LANG": "C", "LANGUAGE": "de", "NEW": "1"}
    passed = ["OPENAI_API_KEY", "ABSENT", "LANGUAGE"]
    settings = Settings.model_validate({"agent": {"env_pass": passed, "env": variables}})
    expected = ALLOWED | {"OPENAI_API_KEY": "x"} | variables
    assert child_environment(settings, ALLOWED | KEPT) == expected


def test_a_helper_gets_nothing_that_is_meant_for_the_child() -> None:
    assert plain_environment({"OPENAI_API_KEY": "x", "PATH": "/bin"}) == {"PATH": "/bin"}


@given(st.dictionaries(st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,20}", fullmatch=True), st.text(), max_size=20))
def test_nothing_is_invented(environ: dict[str, str]) -> None:
    assert child_environment(Settings(), environ).items() <= environ.items()
