"""What a person is told about sessions, models and commands, one line each; pure, as `connector.notices` is."""

from connector.header import clean


def model_gone(model: str) -> str:
    """The lane's model is not there any more."""
    return f"The model {_code(model)} is not there any more, so the default one answers here. Choose one with `/model`."


def not_while_asked_again() -> str:
    """A session cannot be changed under a message that is asked again in it."""
    return "A message here waits to be asked again in this session, so nothing was changed. Stop it, or try later."


def new_session(waiting: int, *, busy: bool) -> str:
    """`/new` was done."""
    when = "as soon as this turn is over" if busy else "with the next message"
    kept = f"; {waiting} waiting will be asked in it" if waiting else ""
    return f"A new session begins {when}{kept}. The old one is kept: `/sessions` brings it back."


def resumed(name: str, *, busy: bool) -> str:
    """`/sessions resume` was done."""
    return f"{clean(name).strip()} goes on {'as soon as this turn is over' if busy else 'with the next message'}."


def session_unknown() -> str:
    """No such session in this lane."""
    return "There is no such session here, so nothing was changed. `/sessions` lists those of this conversation."


def session_unreadable() -> str:
    """The session's file is missing or damaged."""
    return "That session's file cannot be read any more, so nothing was changed; a damaged one is kept aside."


def no_session() -> str:
    """Nothing was said yet."""
    return "There is no session here yet. It begins with the first message."


def session_named(name: str) -> str:
    """`/sessions name` was done."""
    return f"This session is called {clean(name).strip()} now."


def waits() -> str:
    """An errand waits for the child to be free."""
    return "It waits for its turn: the agent is at work, or is being started. The answer follows here."


def not_done() -> str:
    """An errand that nobody answers any more."""
    return "The agent ended or was stopped before this was done. Try it once more."


def refused() -> str:
    """pi refused an errand."""
    return "The agent did not take this, so nothing was changed."


def compacted() -> str:
    """`/compact` was done."""
    return "The session was compacted: the agent goes on from a summary of it."


def nothing_to_compact() -> str:
    """pi had nothing to compact."""
    return "There was nothing to compact: the session is too short."


def model_set(model: str, *, busy: bool) -> str:
    """`/model` was done."""
    return f"{_code(model)} answers here {'after this turn' if busy else 'from now on'}, also after a restart."


def model_unknown(model: str) -> str:
    """No such model."""
    return f"There is no model {_code(model)}, so nothing was changed. `/model` lists them."


def thinking_set(level: str, *, busy: bool) -> str:
    """`/thinking` was done."""
    return f"The thinking level here is {_code(level)} {'after this turn' if busy else 'from now on'}."


def thinking_unknown(levels: tuple[str, ...]) -> str:
    """No such level."""
    return f"The model here knows {', '.join(map(_code, levels)) or 'no thinking levels'}; nothing was changed."


def command_unknown(name: str) -> str:
    """pi lists no such command."""
    return f"The agent has no command {_code(name)}, so nothing was run. `/command` offers those it has."


def command_taken(text: str) -> str:
    """`/command` waits its turn as any message does."""
    return f"{_code(text)} is given to the agent; what comes of it follows here."


def command_handled() -> str:
    """A command of pi or of an extension is through."""
    return "The command is done. What the agent writes because of it follows here."


def no_agent() -> str:
    """The child could not tell."""
    return "The agent could not be asked just now. Try it once more."


def _code(name: str) -> str:
    """A name as code that can neither mention anybody nor end its code."""
    return f"`{clean(name).replace('`', ' ').strip() or '?'}`"
