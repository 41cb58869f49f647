"""The longer texts of the script language: help, refusals as recorded, a Markdown showcase, odd lines. Data only."""

from __future__ import annotations

__all__ = ["BUSY", "COMPACTING", "HELP", "MARKDOWN", "NO_KEY", "ODD_LINES", "UNKNOWN_LINES"]

# as recorded in d_busy_refusal, m_compact and r_no_key
BUSY = "Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message."
COMPACTING = "Cannot submit a prompt while compaction is in progress. Wait for compaction to finish and retry."
NO_KEY = (
    "No API key found for fake.\n\nUse /login to log into a provider via OAuth or API key. See:\n"
    "  /opt/pi/@earendil-works/pi-coding-agent/docs/providers.md\n"
    "  /opt/pi/@earendil-works/pi-coding-agent/docs/models.md"
)

MARKDOWN = """# A showcase

Some **bold**, *italic*, ~~struck~~ and `inline code`, a [link](https://example.org/) and a bare one: https://example.org/a_b

## A table

| word | what it does | ms |
|---|---|---:|
| `slow` | streams | 300 |
| `tool` | runs a tool | 1000 |

## Lists

1. first
   - nested
   - nested too
2. second
   - [x] done
   - [ ] not yet

> A quote,
> of two lines.

```python
def answer(question: str) -> str:
    return f"echo: {question}"
```

````markdown
```js
console.log("a fence in a fence")
```
````

---

The end, with a mention that must not ping: @everyone.
"""

UNKNOWN_LINES = (
    b'{"type":"moon_phase","phase":3,"nested":{"deep":[1,2,{"x":null}]}}',
    b'{"type":"agent_mood","mood":"curious","aborted":"not a bool"}',
    b'{"no_type":true}',
    b'{"type":7}',
    b'{"type":null,"message":{"role":"user"}}',
    b'{"type":"message_update","assistantMessageEvent":{"type":"smell_delta","delta":4}}',
    b'{"type":"message_start","message":{"role":"oracle","content":"odd"}}',
    b'{"type":"message_end","message":{"role":"oracle","content":"odd"}}',
    b'{"type":"response","command":"no_such_command","success":true,"id":{"odd":[]}}',
    b'{"type":"extension_ui_request","id":"odd-1","method":"hologram","title":"?"}',
    b'{"type":"queue_update","steering":"not a list","followUp":null}',
)
ODD_LINES = (
    b"this is not json",
    b'{"type":"agent_settled","aborted":fal',
    b"42",
    b"null",
    b'["agent_end"]',
    b'"agent_settled"',
    b"",
    b"\x00\x01\x02",
)

HELP = {
    "echo": "TEXT: answers “echo: TEXT”, as it does to every text that is no script",
    "slow": "MS: the answer streams over MS milliseconds",
    "long": "N: an answer of N characters",
    "pages": "N TEXT: an answer of N posts",
    "fence": "N: a fence of about N characters of code",
    "huge": "BYTES: an answer of that size",
    "empty": "an answer without text",
    "length": "an answer cut by the length limit",
    "md": "a Markdown showcase",
    "think": "thinks before it answers",
    "usage": "TOKENS: an answer that costs that many tokens",
    "attach": "PATH...: makes files and attaches them",
    "seen": "tells what came with the text",
    "recall": "answers with all your texts of this session",
    "tool": "MS [NAME]: one tool call",
    "tools": "N MS: several tool calls at once",
    "bash": "COMMAND: a bash call of echo, sleep, seq, exit",
    "tooldialog": "a tool that asks before it runs",
    "dialog": "[confirm|select|input|editor] [N]: a dialog; N choices of a select, else a timeout in ms",
    "dialog2": "a tool that asks twice",
    "hookdialog": "a dialog before the prompt is taken",
    "notify": "an extension's notices",
    "hang": "a run that never ends (try /stop)",
    "stallmid": "some text, then silence",
    "drop": "the stream is cut, and retried",
    "err429": "[N]: rate limited, for ever or N times",
    "err500": "[N]: a server error, for ever or N times",
    "overloaded": "[N]: 529, for ever or N times",
    "err400": "a bad request",
    "overflow": "[N]: the context is too long, for ever or N times",
    "quota": "[SECONDS]: out of quota, resetting in SECONDS",
    "refuse": "[busy|compacting]: the prompt is refused",
    "handled": "an extension swallows the prompt",
    "lateresponse": "MS: the response comes late",
    "compacting": "MS: a compaction before the response",
    "orphanbefore": "MS: an extension's run before ours",
    "orphan": "[MS]: an extension's run after ours",
    "residue": "[MS]: takes no steer for MS",
    "lost": "[MS]: a false end while the answer streams",
    "doubled": "the ends come twice",
    "lateend": "[after]: the ends come again with the next prompt",
    "mute": "never says anything again",
    "stall": "MS: reads nothing for MS, then runs",
    "late": "MS: deaf to abort, answers after MS",
    "ignoreabort": "never ends and is deaf to abort",
    "ignoreterm": "[SCRIPT]: deaf to SIGTERM and end of input",
    "noread": "never reads again",
    "exit": "[N]: exits",
    "exitnow": "[N]: exits before the response",
    "exitmid": "[N]: exits in a tool",
    "die": "[SIG]: dies by a signal",
    "setsid": "[MS]: a tool that leaves a process behind",
    "holdstdout": "[N]: exits, a grandchild holds its output",
    "stderr": "BYTES: noise on standard error",
    "line": "[BYTES]: one very long record",
    "u2028": "odd line separators in the answer",
    "surrogate": "a lone surrogate in the answer",
    "badutf8": "bytes that are no UTF-8",
    "half": "lines cut between writes",
    "two": "two lines in every write",
    "unknown": "records of unknown types",
    "notjson": "lines that are no JSON",
}
"""Word → one line of help (the demo's tour)."""
