"""A lane's session, model and thinking level in its child, and the errands people have there; pure.

Facts say what a lane wants. Whenever its child is free, and before anything else is given to it, the child is put
into that, one command at a time: so no change ever races a run, and a new child restores what an old one had
(CONTRACT, "What the child sees"). Errands (lists, `/compact`, names) wait for the same moment.
"""

from typing import assert_never

from connector import facts, notices, notices_session
from connector.lane_base import Base, Kid, Stand
from connector.lane_effects import ErrandDone, Post
from connector.lane_events import ChooseModel, ChooseThinking, Errand, Forget, Resume
from connector.world import Lane
from engine import commands, pi
from engine import events as engine
from engine.events import Code

SWITCH, NEW, STATE = "session/switch", "session/new", "session/state"
MODEL, THINKING, ERRAND = "session/model", "session/thinking", "session/errand/"

LOST = frozenset({Code.STOPPED, Code.DOWN, Code.WEDGED, Code.EXIT, Code.RESTART})
"""Ends of a command that got no answer and will get none."""


class Sessions(Base):
    """What lanes want of their children beside turns."""

    __slots__ = ()

    # -- what people want ------------------------------------------------------------------------------------------

    def wished(self, given: Forget | Resume | ChooseModel | ChooseThinking | Errand) -> None:
        """Remembered over restarts, an errand apart; the child follows when it is free, before the lane's next turn."""
        match given:
            case Forget(lane):
                self.want_session(lane, "")
            case Resume(lane, path):
                self.want_session(lane, path)
            case ChooseModel(lane, provider, model):
                self.record(facts.ModelSet(lane, provider, model))
            case ChooseThinking(lane, level):
                self.record(facts.ThinkingSet(lane, level))
            case Errand(lane):
                self.errand(given)
            case _:
                assert_never(given)
        self.touched[lane] = None

    def want_session(self, lane: str, path: str) -> None:
        """Another session, "" for a new one; a run that is under way does not bring the old one back."""
        self.record(facts.SessionSet(lane, path))
        if (kid := self.kids.get(lane)) is not None:
            kid.outdated = True

    def errand(self, given: Errand) -> None:
        """Something to ask of the lane's child when it is free; it may take a child to do so."""
        if self.draining or self.stopping:
            self.out.append(ErrandDone(given.name, None))
            return
        self.errands.setdefault(given.lane, []).append(given)

    def errand_since(self, lane: str) -> int | None:
        """Since when the lane's first errand waits."""
        waiting = self.errands.get(lane)
        return waiting[0].at if waiting else None

    def run_errand(self, kid: Kid) -> bool:
        """Begin the first errand of a free child; whether there was one."""
        waiting = self.errands.get(kid.lane)
        if not waiting:
            return False
        self.ask_session(kid, ERRAND + waiting[0].name)
        return True

    def stop_errands(self, lane: str) -> bool:
        """`/stop lane`: none of them is done any more, the one under way (a compaction) is aborted."""
        kid, waiting = self.kids.get(lane), self.errands.pop(lane, [])
        under_way = kid is not None and kid.asked.startswith(ERRAND)
        if kid is not None and under_way:
            self.tell(kid, engine.Fail(kid.asked, Code.STOPPED))
        for errand in waiting:
            self.out.append(ErrandDone(errand.name, None))
        return bool(waiting)

    def give_up_errands(self) -> None:
        """Going down: what is not under way will not be done any more, and who asked is told."""
        for lane, waiting in list(self.errands.items()):
            kid = self.kids.get(lane)
            for errand in waiting:
                if kid is None or kid.asked != ERRAND + errand.name:
                    self.end_errand(lane, errand.name, None)

    # -- putting a child into it -----------------------------------------------------------------------------------

    def ready(self, kid: Kid, state: object) -> None:
        """The child answers for the first time: from here on it is put into what its lane wants."""
        if kid.stand is not Stand.SPAWNING:
            return
        self.learn_model(kid, pi.plain(state, "model"))
        self.learn_session(kid, state)
        kid.fresh = not pi.plain(state, "messageCount", 0)
        kid.outdated = not kid.fresh  # whatever it brought along is no lane's (CONTRACT: not by arguments)
        self.dress(kid)

    def dress(self, kid: Kid) -> bool:
        """Ask for the next thing in which the child is not yet as its lane wants it; whether there is such a thing."""
        if kid.asked:
            return True
        turn = undressed(kid, self.world.lane(kid.lane))
        if not turn:
            kid.outdated = False
            kid.stand = Stand.READY
            return False
        kid.stand = Stand.SESSION
        self.ask_session(kid, turn)
        return True

    def ask_session(self, kid: Kid, turn: str) -> None:
        """Give the child the command that `turn` stands for, as the lane wants it now."""
        lane = self.world.lane(kid.lane)
        ask: commands.Ask
        if turn == SWITCH:
            ask = commands.SwitchSession("", lane.session)
        elif turn == NEW:
            ask = commands.NewSession("")
        elif turn == STATE:
            ask = commands.GetState("")
        elif turn == MODEL and lane.model is not None:
            ask = commands.SetModel("", *lane.model)
        elif turn == THINKING:
            ask = commands.SetThinking("", lane.thinking)
        else:
            ask = self.errands[kid.lane][0].ask
        kid.asked, kid.asking, kid.busy = turn, ask, True
        self.tell(kid, engine.Submit(turn, engine.Request(ask)))

    def session_answered(self, kid: Kid, turn: str, response: pi.Response) -> None:
        """One of these commands was answered; a late or doubled answer changes nothing (BEHAVIOUR §7.32)."""
        if turn != kid.asked:
            return
        ask, kid.asked, kid.asking = kid.asking, "", None
        good = response.success and not pi.plain(response.data, "cancelled", default=False)
        match ask:
            case _ if turn.startswith(ERRAND):
                self.errand_answered(kid, turn.removeprefix(ERRAND), ask, response)
            case commands.SwitchSession(sessionPath=path):
                self.switched(kid, path, good=good)
            case commands.NewSession() if good:
                kid.session, kid.fresh, kid.chosen, kid.level = None, True, None, ""
                kid.introduced = False
            case commands.NewSession():
                self.retire(kid)  # it does not let go of the old session; a new child begins a new one
                return
            case commands.SetModel(provider=provider, modelId=model):
                kid.level = ""  # it may have been clamped to what the model can do
                if good:
                    kid.chosen = (provider, model)
                    self.learn_model(kid, response.data)
                else:
                    self.model_gone(kid, (provider, model))
            case commands.SetThinking(level=level):
                kid.level = level
            case _:
                self.learn_session(kid, response.data)
        if kid.stand is Stand.SESSION:
            self.dress(kid)

    def session_unanswered(self, kid: Kid, turn: str, code: Code) -> None:
        """A command ended without an answer: one that was held behind a run of the child's own is asked again."""
        if turn != kid.asked:
            return
        if code is not Code.TIMEOUT and code not in LOST:
            return
        kid.asked, kid.asking = "", None
        if code is Code.TIMEOUT and kid.stand is Stand.SESSION:  # an errand is asked again as any that waits
            self.dress(kid)

    def switched(self, kid: Kid, path: str, *, good: bool) -> None:
        """A refused or cancelled switch is no session at all: begin a new one, with a notice (CONTRACT)."""
        kid.chosen, kid.level = None, ""
        kid.fresh = False
        kid.outdated = kid.outdated or not good
        if good:
            kid.session, kid.introduced = path, True
        elif self.world.lane(kid.lane).session == path:
            self.session_lost(kid.lane)

    def session_lost(self, lane: str, path: str = "") -> None:
        """Forget a session that cannot be had any more, and say so in the lane where it is the present one."""
        present = self.world.lane(lane).session
        if path or present:
            self.record(facts.SessionKnown(lane, path or present, 0))
        if path not in {"", present}:
            return
        self.record(facts.SessionSet(lane, ""))
        self.tell_lane(lane, "session", notices.session_lost())

    def model_gone(self, kid: Kid, model: tuple[str, str]) -> None:
        """The lane's model cannot be had any more: the default stays, and the lane is told."""
        kid.chosen = None
        if self.world.lane(kid.lane).model == model:
            self.record(facts.ModelSet(kid.lane, "", ""))
            self.tell_lane(kid.lane, "model", notices_session.model_gone(model[1]))

    def tell_lane(self, lane: str, kind: str, text: str) -> None:
        """A notice that belongs to no round."""
        channel = self.world.lane(lane).channel or int(lane)
        owed = facts.Owed(f"{lane}/{kind}/{self.now}", "", channel, "notice", text, 0)
        self.record(owed)
        self.out.append(Post(owed))

    # -- what is learnt --------------------------------------------------------------------------------------------

    def learn_session(self, kid: Kid, state: object) -> None:
        """Which file the child would write its session to; it does so with the first run."""
        path = pi.plain(state, "sessionFile")
        kid.session = path if isinstance(path, str) else ""

    def keep_session(self, kid: Kid) -> None:
        """Remember the session now that something of it is on the disk; the lane's, unless that was given up since."""
        if kid.fresh and kid.session:
            self.record(facts.SessionKnown(kid.lane, kid.session, self.now))
            if not kid.outdated:
                self.record(facts.SessionSet(kid.lane, kid.session))
        kid.fresh = False

    def learn_model(self, kid: Kid, model: object) -> None:
        """The provider and model a gate would be about."""
        provider, name = pi.plain(model, "provider"), pi.plain(model, "id")
        if isinstance(provider, str) and isinstance(name, str):
            kid.model = (provider, name)

    def errand_answered(self, kid: Kid, name: str, ask: commands.Ask | None, response: pi.Response) -> None:
        """Tell who asked; a name is remembered with the session it was given to."""
        known = next((one for one in self.world.lane(kid.lane).sessions if one.path == kid.session), None)
        if response.success and known is not None and isinstance(ask, commands.SetSessionName):
            self.record(facts.SessionKnown(kid.lane, known.path, known.at, ask.name))
        self.end_errand(kid.lane, name, response)

    def end_errand(self, lane: str, name: str, response: pi.Response | None) -> None:
        """It is over, answered or not."""
        waiting = self.errands.get(lane, [])
        if any(errand.name == name for errand in waiting):
            self.errands[lane] = [errand for errand in waiting if errand.name != name]
            self.out.append(ErrandDone(name, response))
        if not self.errands.get(lane):
            self.errands.pop(lane, None)


def undressed(kid: Kid, lane: Lane) -> str:
    """The first thing in which a child is not as its lane wants it, "" if there is none."""
    if lane.session:
        if kid.session != lane.session:
            return SWITCH
    elif kid.outdated and not kid.fresh:
        return NEW
    elif kid.session is None:
        return STATE
    if lane.model is not None and kid.chosen != lane.model:
        return MODEL
    return THINKING if lane.thinking and kid.level != lane.thinking else ""
