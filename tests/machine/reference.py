"""A second, plain reading of BEHAVIOUR §1, §4 and §5 for the model tests: it says what must happen; it imports no core.

One mutable object, told one input or one record at a time; ``must`` collects what has to come out of that step. It is
written from the page and kept apart from the core on purpose: only values of ``engine.events`` are shared.
"""

from engine.events import Code
from tests.machine.reference_verbs import Asking, Entry, Line, Verbs, Wire


class Reference(Verbs):
    """What the engine of one child must do, input by input and record by record."""

    # -- the clock -------------------------------------------------------------------------------------------------

    def tick(self) -> None:
        now = self.now
        for entry in [*self.queue]:
            if self.alive and not entry.sent and now >= entry.since + self.limits.turn_timeout:
                self.leave(entry, Code.TIMEOUT)
        if self.phase == "starting" and now >= max(self.born, self.life) + self.limits.turn_timeout:
            self.wedge()
        if self.phase != "live":
            return
        for name, (due, ours, _, _) in [*self.dialogs.items()]:
            if now >= due:
                self.shut(name)
                self.life = now
                if ours:
                    self.must.append(("write", "cancel", name))
        residue = self.residue_due()
        if residue is not None and now >= residue:
            self.wedge()
        if self.phase == "live" and self.run is not None and not self.run.own and now >= self.orphan_due(self.run):
            if self.run.aborted_at is None:
                self.abort_orphan()
            else:
                self.wedge()
        head = self.head
        if self.phase == "live" and head is not None and now >= self.head_due(head):
            if head.code is not None or head.kind == "request":
                self.wedge()
            else:
                self.fail_head(Code.TIMEOUT)

    # -- what people ask -------------------------------------------------------------------------------------------

    def submit(self, name: str, kind: str, text: str, mark: str | None) -> None:
        if not self.alive:
            self.must += [("end", name, Code.DOWN, None), ("release", name)]
            return
        self.queue.append(Entry(name, kind, text, mark, self.now))

    def steer(self, name: str, text: str, mark: str) -> None:
        if not self.steerable:
            self.must.append(("returned", name, False, False))
            return
        self.steers.append(Line(name, text, mark))
        self.over, self.tried, self.steered_into = None, False, self.queue[0].name
        self.remember(mark)
        self.must.append(("write", "steer", text))

    def fail(self, name: str, code: Code) -> None:
        for entry in self.queue:
            if entry.name == name and not entry.sent:
                self.leave(entry, code)
                return
        head, run = self.head, self.run
        inside = run is not None and any(owner == name for owner, _ in run.parts)
        if head is not None and head.code is None and (head.name == name or (inside and run is not None and run.own)):
            self.fail_head(code)
        elif inside and run is not None and not run.own:
            self.fail_orphan(code)
        else:
            for line in self.steers:
                if line.name == name and line.code is None:
                    line.code = code
                    self.ask_back()

    def answer(self, dialog: str, how: str) -> None:
        if dialog in self.dialogs:
            self.shut(dialog)
            self.life = self.now
            if self.alive:
                self.must.append(("write", how, dialog))

    def stop(self) -> None:
        if self.alive:
            self.phase = "stopping"
            self.fail_held(Code.DOWN)
            self.must.append(("kill",))

    # -- what the child says ---------------------------------------------------------------------------------------

    def responded(self, request: str, *, good: bool, how: str, texts: list[str]) -> None:
        head = self.head
        if self.phase == "starting" and request.startswith("hello"):
            self.phase = "live"
            self.must.append(("ready",))
        elif request in self.aborts:
            self.aborts.remove(request)
        elif any(line.id == request for line in self.steers):
            line = next(line for line in self.steers if line.id == request)
            if good:
                line.answered = True
            else:
                self.steers.remove(line)
                self.give_back(line, refused=True)
        elif any(asking.id == request for asking in self.clears):
            if good:
                self.cleared(next(asking for asking in self.clears if asking.id == request), texts)
        elif head is not None and head.id == request and not head.read:
            head.read = True
            self.head_responded(head, good=good, how=how)

    def head_responded(self, head: Entry, *, good: bool, how: str) -> None:
        if head.kind == "request":
            if head.code is None:
                self.must += [
                    ("replied", head.name),
                    ("end", head.name, Code.HANDLED if good else Code.REFUSED, None),
                ]
            self.release()
            return
        gone = not good or how == "handled"
        if gone and not (self.settling and head.code is None):
            if head.code is None:
                self.end_head(Code.HANDLED if good else Code.REFUSED)
                if good and head.kind == "slash":
                    self.tail = head.name
            self.release(disown=True)
            head_left = True
        else:
            head_left = False
            if good and head.code is not None and not head.begun:
                self.abort_head()
        if not good and how in {"busy", "compacting"} and self.run is None:
            self.run = Wire(own=False, since=self.now, parts=[(None, [])], open=False, summary=how == "compacting")
        if head.early and not head_left:
            self.settle_head()

    def give_back(self, line: Line, *, refused: bool = False) -> None:
        if line.code is not None:
            self.must.append(("end", line.name, line.code, None))
        else:
            self.must.append(("returned", line.name, refused, True))

    def cleared(self, asking: Asking, texts: list[str]) -> None:
        self.clears.remove(asking)
        named = [line for text in texts for line in self.steers if line.text == text]
        covered = [line for line in self.steers if line.name in asking.covers and line not in named]
        strange = len([text for text in texts if all(line.text != text for line in self.steers)])
        back = named + covered[:strange]
        consumed = covered[strange:]
        self.steers = [line for line in self.steers if line not in back and line not in consumed]
        for line in back:
            self.give_back(line)
        for line in consumed:
            if self.run is not None and self.run.own and self.queue[0].name == self.steered_into:
                self.hear(line)
            elif line.code is not None:
                self.must.append(("end", line.name, line.code, None))
            else:
                self.must.append(("end", line.name, Code.JOINED, self.steered_into))

    def agent_start(self) -> None:
        self.close_all()
        self.retrying = False
        head, run = self.head, self.run
        if run is not None:
            run.open, run.final, run.summary = True, False, False
            if run.own and head is not None:
                head.early = False
        elif head is not None and head.kind != "request" and head.read:
            self.run = Wire(own=True, since=self.now, parts=[(head.name, [])])
            self.begin(head)
        else:
            self.run = Wire(own=False, since=self.now, parts=[(self.tail, [])])
            if self.tail is not None:
                self.run.ended.add(self.tail)

    def begin(self, head: Entry) -> None:
        head.begun = True
        assert self.run is not None
        if head.code is None:
            self.must.append(("started", head.name))
        else:
            self.run.ended.add(head.name)

    def agent_end(self, *, retry: bool) -> None:
        run, head = self.run, self.head
        if run is None or not run.open:
            return
        self.close_all()
        run.open, run.final = False, not retry
        if run.own and head is not None and not retry and head.code is None and not self.steers:
            self.give_out(settled=False)

    def settled(self) -> None:
        run, head = self.run, self.head
        if run is not None and run.open:
            self.lost()
        elif run is not None and not run.own:
            self.give_out(settled=True)
            self.run_over()
        elif head is None or head.kind == "request" or not (head.read or head.begun):
            pass
        elif not head.read:
            head.early = True
        else:
            self.settle_head()

    def said(self, reason: str, word: str) -> None:
        run = self.run
        if run is None or not run.open:
            return
        run.last = reason
        if word and reason in {"stop", "length"}:
            run.parts[-1][1].append(word)

    def echoed(self, mark: str | None) -> None:
        head, run = self.head, self.run
        if mark is None or run is None or not run.open:
            return
        line = next((line for line in self.steers if line.mark == mark), None)
        mine = head is not None and head.mark == mark
        if line is not None:
            self.steers.remove(line)
            self.hear(line)
        elif mine and head is not None and not run.own and not head.begun:
            run.own, run.parts, run.last, run.final, run.aborted_at = True, [(head.name, [])], "", False, None
            if head.code is not None:
                run.since, run.heard = self.now, set()
            self.begin(head)
            if head.code is not None and not head.read:
                self.abort_head()
        elif not mine and run.own and mark in self.marks and mark not in run.heard:
            self.lost()

    def hear(self, line: Line) -> None:
        run, head = self.run, self.head
        assert run is not None
        self.must.append(("heard", line.name, head.name if run.own and head is not None else None))
        run.parts.append((line.name, []))
        run.heard.add(line.mark)
        code = line.code
        if run.own and head is not None and head.code is not None:
            code = code or head.code
        if code is None:
            return
        if not run.own:
            self.fail_orphan(code)
        elif head is not None and head.code is None:
            self.fail_head(code)
        else:
            self.end_run(code)

    def tool_started(self, call: str) -> None:
        run = self.run
        if run is None or not run.open or not call or call in self.waits:
            return
        self.waits[call] = self.now
        self.tell_tool("opened", call)

    def tool_ended(self, call: str) -> None:
        if call in self.waits:
            del self.waits[call]
            self.tell_tool("closed", call)

    def tell_tool(self, what: str, call: str) -> None:
        owner, head = self.seen_by(), self.head
        if owner is not None and self.run is not None:
            turn = head.name if self.run.own and head is not None else owner
            self.must.append((what, turn, call))

    def close_all(self) -> None:
        for call in [*self.waits]:
            self.tool_ended(call)

    def compaction(self, *, begins: bool) -> None:
        self.compacting = begins
        if not begins and self.run is not None and self.run.summary:
            self.run_over()

    def asked(self, dialog: str, timeout: int) -> None:
        owner, head = self.seen_by(), self.head
        if not dialog or dialog in self.dialogs:
            return
        failed = head is not None and head.code is not None
        if owner is None or self.aborts or failed or not self.limits.dialog:
            self.must.append(("write", "cancel", dialog))
            return
        ours = not 0 < timeout <= self.limits.dialog
        self.dialogs[dialog] = (self.now + (self.limits.dialog if ours else timeout), ours, owner, self.now)
        self.must.append(("asked", owner, dialog))

    def exited(self) -> None:
        if self.phase == "gone":
            return
        code = Code.WEDGED if self.phase == "wedged" else Code.EXIT
        self.phase = "gone"
        head = self.head
        if head is not None and head.code is None:
            if self.settling:
                self.give_out(settled=False)
            self.end_head(code)
        elif self.run is not None and not self.run.own:
            self.end_run(code)
        for line in self.steers:
            self.must.append(("end", line.name, line.code or code, None))
        for entry in self.queue:
            if not entry.sent:
                self.must.append(("end", entry.name, Code.DOWN, None))
            self.must.append(("release", entry.name))
        self.queue, self.run, self.waits, self.dialogs, self.steers, self.clears = [], None, {}, {}, [], []
        self.over, self.retrying = None, False

    # -- what is due next ------------------------------------------------------------------------------------------

    def proceed(self) -> None:
        busy = bool(self.steers or self.clears)
        if self.phase == "live" and self.steers and not self.clears:
            answered = any(line.answered for line in self.steers)
            stopped = any(line.answered and line.code is not None for line in self.steers)
            if stopped if self.over is None else not self.tried or answered:
                self.ask_back()
        if not busy and self.over is not None:
            self.over, self.tried, self.steered_into = None, False, None
        if self.phase != "live" or self.run is not None or self.steers or self.clears or not self.queue:
            return
        entry = self.queue[0]
        if entry.sent:
            return
        entry.sent, entry.since, self.life = True, self.now, self.now
        if entry.kind != "request":
            self.tail = None
        self.remember(entry.mark)
        self.must += [("sent", entry.name), ("write", "prompt" if entry.kind != "request" else "ask", entry.text)]
