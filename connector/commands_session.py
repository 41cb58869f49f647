"""The slash commands about a conversation's session and model, and the agent's own commands; data only."""

from connector.interactions import CommandSpec, OptionSpec

SESSION_COMMANDS = (
    CommandSpec("new", "Begin a new session here; the old one is kept"),
    CommandSpec(
        "sessions",
        "The sessions of this conversation: list them, go on in one, name the present one",
        (
            OptionSpec("resume", "The session to go on in", autocomplete=True),
            OptionSpec("name", "A name for the present session"),
        ),
    ),
    CommandSpec(
        "model",
        "The model that answers here: list them, choose one",
        (OptionSpec("name", "Which one", autocomplete=True),),
    ),
    CommandSpec(
        "thinking",
        "How much the model thinks here: list the levels, choose one",
        (OptionSpec("level", "How much", autocomplete=True),),
    ),
    CommandSpec(
        "compact",
        "Let the agent go on from a summary of this session",
        (OptionSpec("instructions", "What the summary must keep"),),
    ),
    CommandSpec(
        "command",
        "Run a command of the agent or of one of its extensions",
        (
            OptionSpec("name", "Which one", required=True, autocomplete=True),
            OptionSpec("args", "What follows the command's name"),
        ),
        private=False,
    ),
)
