"""`check` and the real pi: fit for use, and without a key for its model, which nothing but its list of models shows."""

import json
from pathlib import Path

import pytest

from connector.check_child import child_findings
from connector.findings import Finding
from engine.child import ChildSpec
from fakes.provider import Provider
from fakes.real_pi import Launch, RealPi

pytestmark = pytest.mark.anyio

MAX_LINE = 1 << 26
BOUND = 30.0


def spec(launch: Launch) -> ChildSpec:
    return ChildSpec(launch.command, str(launch.cwd), dict(launch.env), kill_after=2.0)


async def test_pi_with_a_key_is_no_finding_and_asks_its_provider_nothing(real_pi: RealPi, provider: Provider) -> None:
    assert await child_findings(spec(real_pi.launch()), bound=BOUND, max_line=MAX_LINE) == []
    assert provider.calls == []


async def test_pi_without_a_key_for_its_model_is_found(real_pi: RealPi, provider: Provider) -> None:
    """[r_no_key]: it names the model as its own, and refuses every prompt with it."""
    launch = real_pi.launch()
    models = Path(launch.env["PI_CODING_AGENT_DIR"]) / "models.json"
    told = json.loads(models.read_text())
    told["providers"]["fake"]["apiKey"] = "$A_KEY_THAT_IS_NOT_SET"
    models.write_text(json.dumps(told))
    mend = "start pi by hand as this user and /login there, or name the key's variable in agent.env_pass"
    expected = Finding("error", "agent.command", "has no key for fake, so it would refuse every message", mend)
    assert await child_findings(spec(launch), bound=BOUND, max_line=MAX_LINE) == [expected]
    assert provider.calls == []
