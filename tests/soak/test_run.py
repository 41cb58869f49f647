"""The soak's command line says what it cannot do, before anything is started."""

import pytest

from tests.soak import run


@pytest.mark.parametrize(
    "words",
    [
        "--lanes 0",
        "--lanes -1",
        "--messages 0",
        "--steps -5",
        "--jobs 0",
        "--life 0",
        "--calm nan",
        "--minutes -1",
        "--minutes inf",
    ],
)
def test_a_number_that_makes_no_sense_is_refused(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run.wanted(words.split())
    assert ended.value.code == 2
    assert f"{words.split(maxsplit=1)[0]} must" in capsys.readouterr().err


def test_what_makes_sense_is_taken() -> None:
    assert run.wanted(["--lanes", "3", "--minutes", "0"]).lanes == 3
