"""The ledger's tables and the named migrations that make them; it opens nothing."""

VERSION = 3

MIGRATIONS: tuple[tuple[str, str], ...] = (
    (
        "facts-rounds-lanes",
        """
        CREATE TABLE facts (
            seq INTEGER PRIMARY KEY,
            at INTEGER NOT NULL,
            round TEXT,
            body TEXT NOT NULL
        ) STRICT;
        CREATE INDEX facts_by_round ON facts (round) WHERE round IS NOT NULL;
        CREATE TABLE rounds (
            round TEXT PRIMARY KEY,
            message INTEGER NOT NULL,
            lane TEXT NOT NULL,
            open INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX rounds_by_message ON rounds (message);
        CREATE INDEX rounds_open ON rounds (round) WHERE open = 1;
        CREATE TABLE latest (
            topic TEXT NOT NULL,
            key TEXT NOT NULL,
            body TEXT NOT NULL,
            PRIMARY KEY (topic, key)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE lanes (
            lane TEXT PRIMARY KEY,
            channel INTEGER NOT NULL,
            bots_in_row INTEGER NOT NULL,
            thread_of INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE speakers (
            lane TEXT NOT NULL,
            author INTEGER NOT NULL,
            PRIMARY KEY (lane, author)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE dead (
            round TEXT PRIMARY KEY
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE chain (
            seq INTEGER PRIMARY KEY,
            body TEXT NOT NULL
        ) STRICT;
        """,
    ),
    (
        "kept",
        """
        CREATE TABLE kept (
            name TEXT PRIMARY KEY,
            value TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;
        """,
    ),
    (
        "spent",
        """
        CREATE TABLE spent (
            day INTEGER NOT NULL,
            lane TEXT NOT NULL,
            person INTEGER NOT NULL,
            provider TEXT NOT NULL,
            model TEXT NOT NULL,
            input INTEGER NOT NULL,
            output INTEGER NOT NULL,
            cache INTEGER NOT NULL,
            cost REAL NOT NULL,
            PRIMARY KEY (day, lane, person, provider, model)
        ) STRICT, WITHOUT ROWID;
        """,
    ),
)
"""Name and statements of each step from version N to N + 1; a name is never reused, a step never changed."""
