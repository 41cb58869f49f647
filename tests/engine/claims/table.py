"""The whole table: every claim of PROTOCOL with the recordings that pin it, or why none does; values only."""

from fakes.recordings import names
from tests.engine.claims import claims_0_2, claims_3_4, claims_5_6, claims_7_8, claims_9_10, claims_11_13
from tests.engine.claims.claim import OLD, Claim, Unpinned
from tests.engine.claims.fields import as_listed, pieces_as_listed, stops_as_listed
from tests.engine.claims.seen import records

PARTS = (claims_0_2, claims_3_4, claims_5_6, claims_7_8, claims_9_10, claims_11_13)
NEWER = tuple(names("1.6.0"))
OLDER = tuple(f"{name}{OLD}" for name in names("0.73.1"))

ABSENT_IN_OLD = ("agent_settled", "entry_appended", "bash_execution_update")
NAMES_OF_RUNS = {"runId", "promptId", "turnId", "requestId"}
OF_A_RUN = (
    *("agent_start", "agent_end", "agent_settled", "turn_start", "turn_end", "message_start", "message_end"),
    *("message_update", "queue_update", "auto_retry_start", "auto_retry_end", "compaction_start", "compaction_end"),
)

GENERAL: list[Claim] = [
    Claim(
        "§0.2",
        "1.6.0: where a run ended there is a settle",
        tuple(name for name in NEWER if not name.startswith(("j_", "l_confirm_pending", "x_B", "x_E"))),
        also=lambda r: not records(r, "agent_end") or len(records(r, "agent_settled")) > 0,
        general=True,
    ),
    Claim(
        "§0.3",
        "no event carries the name of a prompt, a run or a turn",
        NEWER + OLDER,
        also=lambda r: not any({"id", *NAMES_OF_RUNS} & each.keys() for each in records(r, *OF_A_RUN)),
        general=True,
    ),
    Claim(
        "§1",
        "standard output holds nothing but JSON objects",
        NEWER + OLDER,
        never=("no record",),
        general=True,
    ),
    Claim("§4", "each event has the fields of the list", NEWER, also=as_listed, general=True),
    Claim("§4", "a streaming message grows by nine kinds of pieces", NEWER, also=pieces_as_listed, general=True),
    Claim(
        "§4",
        "a message begins pending (one that fails before its first piece: whole) and ends for one of five reasons",
        NEWER,
        also=stops_as_listed,
        general=True,
    ),
    Claim(
        "§4",
        "0.73.1 never settles, has no willRetry, no disposition, no system message, no entries",
        OLDER,
        never=("message_start system", "prompt started", "prompt queued", "prompt handled", "steer queued"),
        also=lambda r: (
            not records(r, *ABSENT_IN_OLD) and not any("willRetry" in each for each in records(r, "agent_end"))
        ),
        general=True,
    ),
    Claim(
        "§4",
        "1.6.0 says `pending` where an answer begins to stream, 0.73.1 `stop`",
        ("a_plain", "b_bash_tool", "m_overflow", f"a_plain{OLD}", f"b_bash_tool{OLD}", f"m_overflow{OLD}"),
        order=("message_start assistant pending", "message_end assistant stop"),
        general=True,
    ),
]
"""Said of whole versions: they hold everywhere, and pin no recording by that."""

CLAIMS: list[Claim] = [*GENERAL, *(claim for part in PARTS for claim in part.CLAIMS)]
UNPINNED: list[Unpinned] = [each for part in PARTS for each in part.UNPINNED]
