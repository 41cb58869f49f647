"""What `init` finds on this machine: pi, its Node, a PATH for the two, and the names of providers' keys."""

import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct

KEYS = (
    *("ANTHROPIC_API_KEY", "ANTHROPIC_OAUTH_TOKEN", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "AZURE_OPENAI_API_KEY"),
    *("GEMINI_API_KEY", "OPENROUTER_API_KEY", "AI_GATEWAY_API_KEY", "OPENCODE_API_KEY", "COPILOT_GITHUB_TOKEN"),
    *("DEEPSEEK_API_KEY", "MISTRAL_API_KEY", "GROQ_API_KEY", "CEREBRAS_API_KEY", "XAI_API_KEY", "HF_TOKEN"),
    *("TOGETHER_API_KEY", "FIREWORKS_API_KEY", "BASETEN_API_KEY", "NVIDIA_API_KEY", "CLOUDFLARE_API_KEY"),
    *("ZAI_API_KEY", "ZAI_CODING_CN_API_KEY", "KIMI_API_KEY", "MOONSHOT_API_KEY", "META_API_KEY", "RADIUS_API_KEY"),
    *("MINIMAX_API_KEY", "MINIMAX_CN_API_KEY", "XIAOMI_API_KEY", "ANT_LING_API_KEY", "GOOGLE_CLOUD_API_KEY"),
    *("QWEN_TOKEN_PLAN_TEAM_API_KEY", "QWEN_TOKEN_PLAN_INDIVIDUAL_API_KEY", "AWS_ACCESS_KEY_ID", "AWS_PROFILE"),
    *("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_BEARER_TOKEN_BEDROCK"),
)
"""Variables by which pi takes a provider's key (pi 1.6.0)."""

_SYSTEM = ("/usr/local/bin", "/usr/bin", "/bin")


class Found(Struct, frozen=True):
    """pi's program and Node's folder, as far as they were found, and the PATH with which pi runs."""

    pi: Path | None
    node: Path | None
    path: str


def find(environ: Mapping[str, str], own: Path) -> Found:
    """Look for pi on PATH and where npm puts programs. `own`: the folder of our program, which the agent needs not."""
    given = [Path(entry) for entry in environ.get("PATH", "").split(os.pathsep) if entry.startswith("/")]
    pi = _program("pi", [*given, *npm_folders(environ)])
    return Found(pi, node := _node(pi, given), agent_path(pi, node, [entry for entry in given if entry != own]))


def agent_path(pi: Path | None, node: Path | None, given: Iterable[Path]) -> str:
    """Return the PATH for the agent: what this shell has and what every system has, in that order.

    In front of it Node's folder, where another Node or none would be found there, and pi's, where it is not there.
    """
    folders = [*(entry for entry in given if _is_folder(entry)), *map(Path, _SYSTEM)]
    if pi and pi.parent not in folders:
        folders.insert(0, pi.parent)
    if node and _program("node", folders) != node:
        folders.insert(0, node.parent)
    return os.pathsep.join(dict.fromkeys(map(str, folders)))


def npm_folders(environ: Mapping[str, str]) -> list[Path]:
    """Return the usual folders of globally installed npm programs, those that are named outright first."""
    found = [
        Path(prefix) / "bin" for name in ("NPM_CONFIG_PREFIX", "npm_config_prefix") if (prefix := environ.get(name))
    ]
    if environ.get("HOME", "").startswith("/"):
        home = Path(environ["HOME"])
        found += _prefix_of(home)
        names = (".npm-global/bin", ".local/bin", ".volta/bin", ".local/share/mise/shims", ".asdf/shims", ".bun/bin")
        found += [home / name for name in (*names, ".local/share/pnpm", "n/bin")]
        for versions in (".nvm/versions/node/*/bin", ".local/share/fnm/node-versions/*/installation/bin"):
            found += sorted(home.glob(versions), key=_version, reverse=True)
    return [*found, Path("/usr/local/bin"), Path("/opt/homebrew/bin")]


def keys_seen(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names of providers' variables that are set here."""
    return tuple(name for name in KEYS if environ.get(name))


def _prefix_of(home: Path) -> list[Path]:
    try:
        lines = (home / ".npmrc").read_text(errors="replace").split("\n")
    except OSError:
        return []
    pairs = (line.partition("=") for line in lines)
    prefixes = [value.strip().strip("\"'") for key, _, value in pairs if key.strip() == "prefix"]
    return [Path(one.replace("${HOME}", str(home)).replace("~", str(home), 1)) / "bin" for one in prefixes]


def _version(folder: Path) -> tuple[int, ...]:
    """Of `…/node/v22.19.0/bin`: (22, 19, 0)."""
    name = next((part for part in reversed(folder.parts) if part.startswith("v") and part[1:2].isdigit()), "v0")
    return tuple(int(part) for part in name[1:].split(".") if part.isdigit())


def _node(pi: Path | None, given: Iterable[Path]) -> Path | None:
    return _program("node", [*([pi.parent] if pi else []), *given])


def _program(name: str, folders: Iterable[Path]) -> Path | None:
    found = shutil.which(name, path=os.pathsep.join(map(str, folders)))
    return Path(found).absolute() if found else None


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False
