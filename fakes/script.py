"""The script language: what a person's text makes the fake child do. Pure: text in, plan out.

Script words are the first words of the text, behind the header `[discord] …` and its empty line where there is one;
whatever comes after a word and its numbers changes nothing. A text that begins with none of them is answered
`echo: TEXT`, and so is, in the end, every word that answers at all (`slow 300` ends in `echo: slow 300`).

=====================  ==============================================================================================
`echo TEXT`            answers `echo: TEXT`
`slow MS`              the answer streams over MS
`long N`               an answer of about N characters, in paragraphs
`pages N TEXT`         an answer of N long paragraphs, each with this text, as N posts show it
`fence N`              a sentence and a fence of about N characters of code
`huge BYTES`           an answer of that size, in 4 KiB pieces
`empty`                an answer without text
`length`               an answer cut by the length limit
`md`                   a Markdown showcase: headings, table, lists, fences, quote, links
`think`                thinks before it answers
`usage TOKENS`         the answer costs that many tokens in
`attach PATH...`       makes small files there (inside the working folder) and answers with lines `attach: PATH`
`seen`                 answers with the bracketed lines and the pictures that came with the text
`recall`               answers with all user texts of the session
`tool MS [NAME]`       one tool call (bash unless named), then the answer
`tools N MS`           N at once, the last one finishing first
`bash COMMAND`         a bash call with the output of its `echo`, `sleep`, `seq`, `exit` (nothing is run)
`tooldialog`           a tool that asks before it runs
`dialog [METHOD] [N]`  a dialog in the run: confirm, select, input or editor; the answer tells what was chosen. A
                       select has N choices, any other one a timeout of N ms
`dialog2`              a tool that opens a second dialog 1 ms after the first is answered [x_B]
`hookdialog`           a dialog before the response; refused or cancelled, the text is swallowed: `handled` [x_H]
`notify`               the one-way extension requests, then the answer
`hang`                 a run that never ends by itself; abort works
`stallmid`             text, then nothing, for ever; abort works
`drop`                 the stream is cut after some text, then a retry answers
`err429 [N]`           429 for ever, or N times and then the answer (counted over the process, over re-asks)
`err500 [N]`           the same with 500, 502, 503, 529 (`overloaded` is 529)
`err400`               400; the same with 401, 402, 403, 404: not retried
`overflow [N]`         the context is too long, for ever, or N times and then the answer
`quota [SECONDS]`      429 `insufficient_quota`; with SECONDS it names its reset, and answers from then on
`refuse [WHY]`         the prompt (or steer) is refused: no key; WHY `busy` or `compacting` gives pi's own words
`handled`              an extension swallows the prompt: `handled`, no run
`lateresponse MS`      the response comes after MS
`compacting MS`        a compaction of MS comes before the response
`orphanbefore MS`      an extension's run of MS starts between our prompt and its response [x_N_slow]
`orphan [MS]`          an extension's run starts MS after this one has settled
`residue [MS]`         streams for MS (300) and takes no steer: what was steered stays in the queue
`lost [MS]`            a false `agent_settled` while the answer streams [f_prompts_one_write]
`doubled`              `agent_end` and `agent_settled` twice
`lateend [after]`      both again when the next prompt arrives, before (after) its response
`mute`                 takes the prompt and answers nothing to anything any more, not even to an abort; reads on
`stall MS`             response, then reads nothing for MS, runs, and reads on when the run has settled
`late MS`              run starts, is deaf to abort, answers after MS
`ignoreabort`          a run that never ends and is deaf to abort
`ignoreterm [SCRIPT]`  end of input and SIGTERM change nothing from now on; then the rest as a script
`noread`               answers, and never reads standard input again
`exit [N]`             exits with N (0) after the echo
`exitnow [N]`          exits with N (0) before the response
`exitmid [N]`          exits with N (1) in the middle of a tool that lives on
`die [SIG]`            dies by that signal (KILL)
`setsid [MS]`          a tool that leaves a grandchild in a session of its own behind
`holdstdout [N]`       a grandchild keeps our standard output open, then pi exits with N (1)
`stderr BYTES`         so many bytes on standard error, then the answer
`line BYTES`           one record of that size (a tool's whole output), then the answer
`u2028`                line separators and a NEL, raw, in the answer
`surrogate`            a lone surrogate in the answer
`badutf8`              bytes that are no UTF-8 in the answer
`half`                 every line cut between two writes
`two`                  two lines in every write
`unknown`              records of unknown types and with odd fields, then the answer
`notjson`              lines that are no JSON or no object, then the answer
=====================  ==============================================================================================
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from fakes import behaviour as b
from fakes.script_texts import BUSY, COMPACTING, HELP, MARKDOWN, NO_KEY, ODD_LINES, UNKNOWN_LINES
from fakes.shell import bash

__all__ = ["WORDS", "ScriptSource", "message_key", "person_text", "plan"]

WORDS = HELP
"""Script word → one line of help."""

_HEADER = "[discord] "
PAGE = 1400
"""Characters of one page at the least: two of them are more than one post takes."""
_LEFTOVER_MS = 60_000  # how long what a script leaves behind lives at most


def person_text(text: str) -> str:
    """What the person wrote: behind the header and its empty line (CONTRACT), or all of it."""
    return text.partition("\n\n")[2] if text.startswith(_HEADER) else text


def message_key(text: str) -> str:
    """What a message and its repeats share: its mark and the person's text."""
    mark = re.search(r"\d+$", text.partition("\n")[0]) if text.startswith(_HEADER) else None
    return f"{mark[0] if mark else ''} {person_text(text)}"


def plan(text: str) -> b.Plan:
    """The plan of one text as pi got it, header included."""
    return _plan(person_text(text))


def _plan(said: str) -> b.Plan:
    word, *rest = said.split() or [""]
    answer = b.Text(f"echo: {said.removeprefix('echo ')}")
    if word == "ignoreterm":
        inner = _plan(said.partition("ignoreterm")[2].strip()) if rest else b.Plan((answer,))
        return replace(inner, acts=(b.Unkillable(), *inner.acts))
    if (error := re.fullmatch(r"err([45]\d\d)", word)) or word == "overloaded":
        return b.Plan((_failing(int(error[1]) if error else 529, rest, answer.text),))
    for table in (_ANSWERS, _ENDS, _LINES):
        if made := table.get(word):
            return made(rest, answer) or b.Plan((answer,))
    return b.Plan((answer,))


class ScriptSource:
    """The provider that the script words describe."""

    def plan(self, text: str) -> b.Plan:
        """See `Source`."""
        return plan(text)

    def call(self, plan: b.Plan, index: int) -> b.Call:
        """The plan's calls in order; the last one again and again."""
        return plan.calls[min(index, len(plan.calls) - 1)] if plan.calls else b.Text("default answer")

    def summary(self) -> b.Call:
        """Always a short one."""
        return b.Text("a scripted summary")


# ---- the words
_Made = Callable[[list[str], b.Text], b.Plan | None]


def _number(rest: list[str], default: float | None = None, at: int = 0) -> float | None:
    if len(rest) > at and re.fullmatch(r"\d+(\.\d+)?", rest[at]):
        return float(rest[at])
    return default


def _need(make: Callable[[float, b.Text], b.Plan], default: float | None = None) -> _Made:
    """A word whose number is needed (or has a default); without it the text is no script."""

    def made(rest: list[str], answer: b.Text) -> b.Plan | None:
        number = _number(rest, default)
        return None if number is None else make(number, answer)

    return made


def _just(make: Callable[[b.Text], b.Plan]) -> _Made:
    return lambda _rest, answer: make(answer)


def _streamed(answer: b.Text, ms: float) -> b.Text:
    """The same text in pieces of one size, about every 20 ms."""
    size = -(-len(answer.text) // max(2, min(50, int(ms) // 20)))
    pieces = -(-len(answer.text) // size)
    return replace(answer, chunks=pieces, chunk_ms=ms / pieces)


def _failing(status: int, rest: list[str], then: str) -> b.Http:
    times = _number(rest)
    kind, code = ("rate_limit_error", "rate_limit_exceeded") if status == 429 else ("", "")
    message = {429: "Rate limit reached", 529: "Overloaded", 400: "bad request"}.get(status, "scripted failure")
    return b.Http(status, message, kind, code, times=None if times is None else int(times), then=then)


def _quota(rest: list[str], answer: b.Text) -> b.Plan:
    kind = "insufficient_quota"
    message = "You exceeded your current quota"
    return b.Plan((b.Http(429, message, kind, kind, reset_s=_number(rest), then=answer.text),))


def _overflow(rest: list[str], answer: b.Text) -> b.Plan:
    times = _number(rest)
    message = "This model's maximum context length is 32000 tokens. However, your messages resulted in 40000 tokens."
    kind, code = "invalid_request_error", "context_length_exceeded"
    return b.Plan((b.Http(400, message, kind, code, times=None if times is None else int(times), then=answer.text),))


def _tool(rest: list[str], answer: b.Text) -> b.Plan | None:
    ms = _number(rest)
    if ms is None:
        return None
    name = rest[1] if len(rest) > 1 else "bash"
    args = {"command": f"sleep {ms / 1000:.3f}; echo tool done"} if name == "bash" else {"path": "notes.txt"}
    tool = b.Tool(ms=ms, name=name, args=args, steps=((ms, "tool done\n"),))
    return b.Plan((b.Tools((tool,)), answer))


def _tools(rest: list[str], answer: b.Text) -> b.Plan | None:
    count, ms = _number(rest), _number(rest, at=1)
    if count is None or ms is None:
        return None
    each = [bash(f"sleep {ms * (count - n) / count / 1000:.3f}; echo tool {n}") for n in range(int(count))]
    return b.Plan((b.Tools(tuple(each)), answer))


def _one(answer: b.Text, **fields: object) -> b.Plan:
    tool = replace(bash("echo tool done"), **fields)  # type: ignore[arg-type]  # fields of Tool, by name
    return b.Plan((b.Tools((tool,)), answer))


def _dialog(rest: list[str], _answer: b.Text) -> b.Plan:
    method = rest[0] if rest and rest[0] in {"confirm", "select", "input", "editor"} else "confirm"
    number = _number(rest, at=1)
    choices = int(number or 0) if method == "select" else 0
    asks = b.Dialog(method, choices, None if method == "select" else number)
    return b.Plan((b.Recount("dialog"),), acts=(asks,))


def _refuse(rest: list[str], _answer: b.Text) -> b.Plan:
    why = {"busy": BUSY, "compacting": COMPACTING}
    return b.Plan(refuse=why.get(rest[0] if rest else "", NO_KEY))


def _long(size: float, _answer: b.Text) -> b.Plan:
    sentence = "This sentence is here to be long, and the next one is too. "
    paragraph = (sentence * 6).strip()
    text = "\n\n".join(f"({n}) {paragraph}" for n in range(1, int(size) // len(paragraph) + 2))
    return b.Plan((b.Text(text[: int(size)], chunks=max(3, int(size) // 200)),))


def _pages(count: float, answer: b.Text) -> b.Plan:
    filler = " and so on" * (PAGE // len(" and so on"))
    pages = [f"{answer.text} page {number}{filler}" for number in range(1, int(count) + 1)]
    return b.Plan((b.Text("\n\n".join(pages), chunks=max(3, 2 * int(count))),))


def _fence(size: float, _answer: b.Text) -> b.Plan:
    row = "    print({:3}, 'a line of a function that is longer than one message')\n"
    lines = "".join(row.format(number) for number in range(int(size) // len(row) + 1))
    return b.Plan((b.Text(f"Here it is:\n\n```python\ndef lines():\n{lines}```", chunks=20),))


def _attach(rest: list[str], _answer: b.Text) -> b.Plan | None:
    if not rest:
        return None
    lines = "\n".join(f"attach: {path}" for path in rest)
    return b.Plan((b.Text(f"Here it is.\n\n{lines}"),), acts=tuple(b.MakeFile(path) for path in rest))


def _bash(rest: list[str], answer: b.Text) -> b.Plan | None:
    command = answer.text.removeprefix("echo: bash ")
    return b.Plan((b.Tools((bash(command),)), answer)) if rest else None


_ANSWERS: dict[str, _Made] = {
    "slow": _need(lambda ms, a: b.Plan((_streamed(a, ms),))),
    "long": _need(_long),
    "pages": _need(_pages),
    "fence": _need(_fence),
    "huge": _need(lambda n, _: b.Plan((b.Text("y" * int(n), chunks=max(3, int(n) // 4096)),))),
    "empty": _just(lambda _: b.Plan((b.Text("", chunks=1),))),
    "length": _just(lambda a: b.Plan((replace(a, finish="length"),))),
    "md": _just(lambda _: b.Plan((b.Text(MARKDOWN, chunks=20),))),
    "think": _just(lambda a: b.Plan((replace(a, think="Let me think about that."),))),
    "usage": _need(lambda n, a: b.Plan((replace(a, usage=(int(n), 10)),))),
    "attach": _attach,
    "seen": _just(lambda _: b.Plan((b.Recount("seen"),))),
    "recall": _just(lambda _: b.Plan((b.Recount("session"),))),
    "tool": _tool,
    "tools": _tools,
    "bash": _bash,
    "tooldialog": _just(lambda a: _one(a, ask=1)),
    "dialog": _dialog,
    "dialog2": _just(lambda a: _one(a, ask=2)),
    "hookdialog": _just(lambda a: b.Plan((a,), hook=b.AskFirst())),
    "notify": _just(lambda a: b.Plan((a,), acts=(b.Notify(),))),
}

_ENDS: dict[str, _Made] = {
    "hang": _just(lambda _: b.Plan((b.Hang(),))),
    "stallmid": _just(lambda a: b.Plan((b.Stall(a.text),))),
    "drop": _just(lambda a: b.Plan((b.Drop("this text is cut off"), a))),
    "overflow": _overflow,
    "quota": _quota,
    "refuse": _refuse,
    "handled": _just(lambda a: b.Plan((a,), handled=True)),
    "lateresponse": _need(lambda ms, a: b.Plan((a,), hook=b.WaitFirst(ms))),
    "compacting": _need(lambda ms, a: b.Plan((a,), hook=b.CompactFirst(ms))),
    "orphanbefore": _need(lambda ms, a: b.Plan((a,), hook=b.OrphanFirst(ms))),
    "orphan": _need(lambda ms, a: b.Plan((a,), orphan_ms=ms), 0),
    "residue": _need(lambda ms, a: b.Plan((_streamed(a, ms),), keep_steers=True), 300),
    "lost": _need(lambda ms, a: b.Plan((_streamed(a, ms),), lies=b.Lies(lost=True)), 300),
    "doubled": _just(lambda a: b.Plan((a,), lies=b.Lies(doubled=True))),
    "lateend": lambda rest, a: b.Plan((a,), lies=b.Lies(late="after" if rest[:1] == ["after"] else "before")),
    "mute": _just(lambda a: b.Plan((a,), mute=True)),
    "stall": _need(lambda ms, a: b.Plan((a,), stall_ms=ms)),
    "late": _need(lambda ms, a: b.Plan((replace(a, wait_ms=ms, deaf=True),))),
    "ignoreabort": _just(lambda _: b.Plan((b.Hang(deaf=True),))),
}

_LINES: dict[str, _Made] = {
    "noread": _just(lambda a: b.Plan((a,), acts=(b.StopReads(),))),
    "exit": _need(lambda n, _: b.Plan(acts=(b.Quit(int(n)),)), 0),
    "exitnow": _need(lambda n, _: b.Plan(hook=b.QuitFirst(int(n))), 0),
    "exitmid": _need(lambda n, a: _one(a, ms=200, quit=int(n)), 1),
    "die": lambda rest, _: b.Plan(acts=(b.Kill((rest[0] if rest else "KILL").upper().removeprefix("SIG")),)),
    "setsid": _need(lambda ms, a: _one(a, ms=ms, grandchild=True), 200),
    "holdstdout": _need(lambda n, _: b.Plan(acts=(b.Grandchild(_LEFTOVER_MS), b.Quit(int(n)))), 1),
    "stderr": _need(lambda n, a: b.Plan((a,), acts=(b.Flood(int(n)),))),
    "line": _need(lambda n, a: _one(a, structured=int(n)), 10 * 1024 * 1024),
    "u2028": _just(lambda a: b.Plan((replace(a, text=f"{a.text} one\u2028two\u2029three\x85four"),))),
    "surrogate": _just(lambda a: b.Plan((replace(a, text=f"{a.text} lone \ud83d surrogate", chunks=1),))),
    "badutf8": _just(lambda a: b.Plan((replace(a, text=f"{a.text} bad \uf8ff bytes"),), lies=b.Lies(wire="badutf8"))),
    "half": _just(lambda a: b.Plan((replace(a, text=f"{a.text} ½ äöü"),), lies=b.Lies(wire="half"))),
    "two": _just(lambda a: b.Plan((a,), lies=b.Lies(wire="two"))),
    "unknown": _just(lambda a: b.Plan((a,), acts=(b.Raw(UNKNOWN_LINES),))),
    "notjson": _just(lambda a: b.Plan((a,), acts=(b.Raw(ODD_LINES),))),
}
