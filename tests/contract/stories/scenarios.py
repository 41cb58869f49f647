"""The scenarios that the fake and the real pi must tell the same story of: runs, tools, queues, aborts, failures.

A text's script words tell the fake's own provider and the scripted one of the real pi the same (`fakes.script`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.contract.stories.stage import Home, Scene, Stage


@dataclass(frozen=True)
class Scenario:
    """What is done to a child, and how that child is set up."""

    scene: Scene
    home: Home


BUSY_TOOL = "tool 1500"
BUSY_TEXT = "slow 1500 answer"
"""Busy for longer than a slow machine takes to hear what is said meanwhile."""

SCENARIOS: dict[str, Scenario] = {}


def scenario(name: str, home: Home | None = None) -> Callable[[Scene], Scene]:
    """Enter a scene into the table."""

    def enter(scene: Scene) -> Scene:
        assert name not in SCENARIOS
        SCENARIOS[name] = Scenario(scene, home or Home())
        return scene

    return enter


# -- answers -------------------------------------------------------------------------------------------------------


@scenario("plain texts, one after the other")
async def _(stage: Stage) -> None:
    await stage.run("hello")
    await stage.run("[discord] #general · Ada (1001) · 2001\n\nhello again", "p2")


@scenario("an empty answer and one cut by length")
async def _(stage: Stage) -> None:
    await stage.run("empty")
    await stage.run("length", "p2")


@scenario("thinking before the text")
async def _(stage: Stage) -> None:
    await stage.run("think about it")


@scenario("an answer that streams slowly")
async def _(stage: Stage) -> None:
    await stage.run("slow 200 and steady")


@scenario("a long answer in many pieces")
async def _(stage: Stage) -> None:
    await stage.run("huge 400000")


@scenario("Markdown")
async def _(stage: Stage) -> None:
    await stage.run("md")


# -- tools ---------------------------------------------------------------------------------------------------------


@scenario("a tool's turn")
async def _(stage: Stage) -> None:
    await stage.run("tool 50")


@scenario("a tool that fails")
async def _(stage: Stage) -> None:
    await stage.run("bash echo hello; exit 3")


@scenario("parallel tools that end the other way round")
async def _(stage: Stage) -> None:
    await stage.run("tools 3 1200")


@scenario("a tool with a long output")
async def _(stage: Stage) -> None:
    await stage.run("bash seq 1 4000")


# -- queues --------------------------------------------------------------------------------------------------------


@scenario("a prompt while busy is refused")
async def _(stage: Stage) -> None:
    await stage.prompt(BUSY_TEXT)
    await stage.streams()
    await stage.ask("prompt", message="second")
    await stage.until("agent_settled")


@scenario("a steer in a tool")
async def _(stage: Stage) -> None:
    await stage.prompt(BUSY_TOOL)
    await stage.until("tool_execution_start")
    await stage.ask("steer", message="by the way")
    await stage.until("agent_settled")


@scenario("a steer in the final answer")
async def _(stage: Stage) -> None:
    await stage.prompt(BUSY_TEXT)
    await stage.streams()
    await stage.ask("steer", message="by the way")
    await stage.until("agent_settled")


@scenario("a follow-up in a tool")
async def _(stage: Stage) -> None:
    await stage.prompt(BUSY_TOOL)
    await stage.until("tool_execution_start")
    await stage.ask("follow_up", message="and then")
    await stage.until("agent_settled")


@scenario("steers go before follow-ups")
async def _(stage: Stage) -> None:
    await stage.prompt(BUSY_TOOL)
    await stage.until("tool_execution_start")
    await stage.ask("follow_up", message="F1")
    await stage.ask("steer", message="S1")
    await stage.ask("follow_up", message="F2")
    await stage.ask("steer", message="S2")
    await stage.until("agent_settled")


@scenario("prompts with a streamingBehavior")
async def _(stage: Stage) -> None:
    await stage.prompt(BUSY_TOOL)
    await stage.until("tool_execution_start")
    await stage.ask("prompt", message="first", streamingBehavior="steer")
    await stage.ask("prompt", message="second", streamingBehavior="followUp")
    await stage.ask("prompt", message="third", streamingBehavior="nonsense")
    await stage.until("agent_settled")


@scenario("mode all: every follow-up in one turn")
async def _(stage: Stage) -> None:
    await stage.ask("set_follow_up_mode", mode="all")
    await stage.prompt(BUSY_TOOL)
    await stage.until("tool_execution_start")
    await stage.ask("follow_up", message="F1")
    await stage.ask("follow_up", message="F2")
    await stage.until("agent_settled")


@scenario("what is queued while idle waits for the next prompt")
async def _(stage: Stage) -> None:
    await stage.ask("steer", message="a steer")
    await stage.ask("follow_up", message="a follow-up")
    await stage.ask("get_state")
    await stage.run("now")


@scenario("clear_queue and abort in one write")
async def _(stage: Stage) -> None:
    await stage.prompt("tool 600000")
    await stage.until("tool_execution_start")
    await stage.ask("steer", message="by the way")
    await stage.ask("follow_up", message="and then")
    await stage.send({"id": "c1", "type": "clear_queue"}, {"id": "a1", "type": "abort"})
    await stage.until("response", id="a1")
    await stage.run("next", "p2")


@scenario("the queue survives an abort")
async def _(stage: Stage) -> None:
    await stage.prompt("stallmid some text")
    await stage.streams()
    await stage.ask("steer", message="by the way")
    await stage.ask("abort")
    await stage.ask("get_state")
    await stage.run("next", "p2")


@scenario("two prompts in one write: the second is lost")
async def _(stage: Stage) -> None:
    await stage.send(
        {"id": "p1", "type": "prompt", "message": "slow 300 first"},
        {"id": "p2", "type": "prompt", "message": "second"},
    )
    await stage.until("agent_end")
    await stage.until("agent_settled")


# -- aborts --------------------------------------------------------------------------------------------------------


@scenario("abort in the text")
async def _(stage: Stage) -> None:
    await stage.prompt("stallmid some text")
    await stage.streams()
    await stage.ask("abort")
    await stage.run("next", "p2")


@scenario("abort in a tool that hangs")
async def _(stage: Stage) -> None:
    await stage.prompt("tool 600000")
    await stage.until("tool_execution_start")
    await stage.until("tool_execution_update")
    await stage.ask("abort")
    await stage.run("next", "p2")


@scenario("abort in parallel tools that hang")
async def _(stage: Stage) -> None:
    await stage.prompt("tools 2 600000")
    await stage.until("tool_execution_start", toolCallId="call_1_1")
    await stage.ask("abort")


@scenario("abort while the provider says nothing")
async def _(stage: Stage) -> None:
    await stage.prompt("hang")
    await stage.echoed()
    await stage.called(1)
    await stage.ask("abort")
    await stage.run("next", "p2")


@scenario("abort while idle")
async def _(stage: Stage) -> None:
    await stage.ask("abort")
    await stage.ask("abort_retry")
    await stage.ask("abort_bash")
    await stage.run("does it still work")


@scenario("several aborts at once")
async def _(stage: Stage) -> None:
    await stage.prompt("stallmid some text")
    await stage.streams()
    await stage.send(*({"id": f"a{n}", "type": "abort"} for n in range(3)))
    await stage.until("response", id="a2")


@scenario("prompt and abort in one write")
async def _(stage: Stage) -> None:
    await stage.send({"id": "p1", "type": "prompt", "message": "hello"}, {"id": "a1", "type": "abort"})
    await stage.until("agent_settled")


@scenario("abort and prompt in one write")
async def _(stage: Stage) -> None:
    await stage.prompt("stallmid some text")
    await stage.streams()
    await stage.send({"id": "a1", "type": "abort"}, {"id": "p2", "type": "prompt", "message": "new"})
    await stage.until("response", id="a1")


# -- the provider fails --------------------------------------------------------------------------------------------

SLOW_RETRY = Home(settings={"retry": {"baseDelayMs": 600_000}})


@scenario("429, then an answer")
async def _(stage: Stage) -> None:
    await stage.run("err429 2")


@scenario("429 to the end of pi's retries")
async def _(stage: Stage) -> None:
    await stage.run("err429")
    await stage.run("next", "p2")


@scenario("529, then an answer")
async def _(stage: Stage) -> None:
    await stage.run("overloaded 1")


@scenario("400 is not asked again")
async def _(stage: Stage) -> None:
    await stage.run("err400")
    await stage.run("next", "p2")


@scenario("a spent quota is not asked again")
async def _(stage: Stage) -> None:
    await stage.run("quota")


@scenario("a stream that is cut, and asked again")
async def _(stage: Stage) -> None:
    await stage.run("drop")


@scenario("abort in pi's backoff", SLOW_RETRY)
async def _(stage: Stage) -> None:
    await stage.prompt("err429 1")
    await stage.until("auto_retry_start")
    await stage.ask("get_state")
    await stage.ask("abort")
    await stage.run("next", "p2")


@scenario("abort_retry in pi's backoff", SLOW_RETRY)
async def _(stage: Stage) -> None:
    await stage.prompt("err429 1")
    await stage.until("auto_retry_start")
    await stage.ask("abort_retry")
    await stage.until("agent_settled")
    await stage.run("next", "p2")


@scenario("a prompt and a steer in pi's backoff", SLOW_RETRY)
async def _(stage: Stage) -> None:
    await stage.prompt("err429 1")
    await stage.until("auto_retry_start")
    await stage.ask("prompt", message="not now")
    await stage.ask("steer", message="by the way")
    await stage.send({"id": "c1", "type": "clear_queue"}, {"id": "a1", "type": "abort"})
    await stage.until("response", id="a1")


@scenario("a 400 with a follow-up queued")
async def _(stage: Stage) -> None:
    await stage.ask("follow_up", message="and then")
    await stage.run("err400")


@scenario("without auto retry a 429 is final")
async def _(stage: Stage) -> None:
    await stage.ask("set_auto_retry", enabled=False)
    await stage.run("err429 1")
