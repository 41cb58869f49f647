"""What to type in the demo and what to watch then; words, which do nothing."""

TOUR: tuple[tuple[str, str], ...] = (
    ("hello", "👀 once it is recorded, the answer, then ✅; Inside shows each step as it is written down"),
    ("slow 5000", "a card that grows while the answer is being written, with Stop"),
    ("tool 5000", "a card with an open tool; say something more meanwhile, and the running turn is given it"),
    ("md", "a table as aligned text, lists, fences that stay whole"),
    ("long 5000", "one answer in parts, none of them cut inside a word"),
    ("dialog", "a question of the agent, with buttons to answer it"),
    ("err429 4", "the provider's limit: pi tries again, then the connector counts down; or press Retry now"),
    ("err429", "press Stop inside the countdown: nothing is asked again"),
    ("hang", "a turn that never ends: Stop ends it, and says what it stopped"),
    ("mute", "press Stop: a child deaf to it is killed, and the connector starts again from its ledger"),
    (
        "exit 3",
        "a child that ends in its turns: all starts again, twice more, then Retry is left; 5 such ends in a row end it",
    ),
)
"""What shows most in the shortest time, in an order in which nothing is in the way of what follows."""
