-- The metadata store's file. One row per entry. Children are listed by `parent`; the entries of a session that ends are
-- found by `session_id`. `ledger` counts commits: an entry's creation_id is the commit that created it.
CREATE TABLE entry (
    path TEXT NOT NULL PRIMARY KEY,
    parent TEXT NOT NULL,
    data TEXT,
    version INTEGER NOT NULL,
    child_version INTEGER NOT NULL,
    next_number INTEGER NOT NULL,
    creation_id INTEGER NOT NULL,
    created_ms INTEGER NOT NULL,
    session_id INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX entry_by_parent ON entry (parent);
CREATE INDEX entry_by_session ON entry (session_id) WHERE session_id <> 0;
CREATE TABLE session (
    session_id INTEGER PRIMARY KEY AUTOINCREMENT,
    file_name TEXT NOT NULL UNIQUE
);
CREATE TABLE ledger (only_row INTEGER PRIMARY KEY CHECK (only_row = 1), commit_id INTEGER NOT NULL);
INSERT INTO ledger VALUES (1, 0);
INSERT INTO entry VALUES ('/', '', NULL, 0, 0, 0, 0, 0, 0);
