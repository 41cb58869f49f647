"""Where the real pi is and how to start it in a scratch home against the scripted provider; starts nothing.

A `Launch` says all that a spawner needs; who spawns (raw client, engine, connector) is the caller's affair.
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MODEL = "scripted"
QUICK_RETRY = {"retry": {"baseDelayMs": 10}}
"""pi's settings for tests: its own re-asks after 10, 20 and 40 ms instead of 2, 4 and 8 s (PROTOCOL §7)."""
WINDOW = 10_000_000
"""Tokens: a prompt of 5 MB must not set off a compaction."""


@dataclass(frozen=True, slots=True)
class Installation:
    """What `.ci/pi-install` left: Node, pi's entry script, and the folder of `pi` and `node` for a PATH."""

    node: Path
    cli: Path
    bin: Path


@dataclass(frozen=True, slots=True)
class Launch:
    """The command, the whole environment and the working folder of one child."""

    command: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path


def installed(root: Path, version: str) -> Installation | None:
    """Return the installation of that version under the repository `root`, None where it is not finished."""
    folder = root / ".cache" / f"pi-{version}"
    modules = folder / "node_modules"
    if not (folder / ".done").is_file():
        return None
    return Installation(
        node=modules / "node" / "bin" / "node",
        cli=modules / "@earendil-works" / "pi-coding-agent" / "dist" / "bundle" / "cli.js",
        bin=modules / ".bin",
    )


@dataclass(frozen=True, slots=True)
class RealPi:
    """An installed pi, a scratch folder for its home, and the address of its only provider."""

    installation: Installation
    folder: Path
    base_url: str

    def launch(
        self,
        *,
        settings: Mapping[str, Any] = QUICK_RETRY,
        extension: str = "",
        arguments: Sequence[str] = ("--no-session",),
        window: int = WINDOW,
    ) -> Launch:
        """Write the home and return how to start pi in it.

        `settings` is pi's settings.json, `extension` the source of a TypeScript extension, `arguments` what
        follows `--mode rpc`, `window` how many tokens the models take. Nothing of the caller's environment but PATH
        reaches the child.
        """
        env = write_home(self.folder, settings, self.base_url, window)
        command = [str(self.installation.node), str(self.installation.cli), "--mode", "rpc", *arguments]
        command += ["--provider", "fake", "--model", MODEL]
        if extension:
            source = self.folder / "extension.ts"
            source.write_text(extension)
            command += ["-e", str(source)]
        env["PATH"] = f"{self.installation.bin}{os.pathsep}{os.environ['PATH']}"
        return Launch(tuple(command), env, self.folder / "workspace")


def write_home(folder: Path, settings: Mapping[str, Any], base_url: str, window: int = WINDOW) -> dict[str, str]:
    """Write pi's settings and models, and an empty `workspace`; returns the environment that leads pi there."""
    agent = folder / "agent"
    agent.mkdir(parents=True, exist_ok=True)
    (folder / "workspace").mkdir(exist_ok=True)
    (agent / "models.json").write_text(json.dumps(_models(base_url, window)))
    (agent / "settings.json").write_text(json.dumps(settings))
    return {
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "PI_CODING_AGENT_DIR": str(agent),
        "PI_OFFLINE": "1",
        "PI_SKIP_VERSION_CHECK": "1",
        "PI_TELEMETRY": "0",
    }


def _models(base_url: str, window: int) -> dict[str, Any]:
    model = {
        "id": MODEL,
        "name": "Scripted",
        "reasoning": True,
        "input": ["text", "image"],
        "contextWindow": window,
        "maxTokens": 4096,
        "cost": {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0},
    }
    provider = {
        "baseUrl": base_url,
        "api": "openai-completions",
        "apiKey": "not-a-real-key",
        "models": [model, {**model, "id": f"{MODEL}-2", "name": "Scripted 2", "reasoning": False}],
    }
    return {"providers": {"fake": provider}}
