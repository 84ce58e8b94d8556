-- A commit is ONE statement: an INSERT of its steps, in order, into the view `step`, whose triggers do the work.
-- So a transaction lasts as long as one call into SQLite. It contains no Python code and no wait for the GIL, and it is
-- atomic: RAISE(ABORT) reverts the whole statement. The raised word is the reason of the rejection.
-- Everything here is temporary and belongs to one connection; only `entry`, `session` and `ledger` are in the file.
CREATE TEMP TABLE result (
    number INTEGER PRIMARY KEY,
    path TEXT NOT NULL,
    version INTEGER NOT NULL,
    creation_id INTEGER NOT NULL
);
CREATE TEMP VIEW step AS
SELECT 0 AS number, '' AS kind, '' AS path, '' AS parent, NULL AS data, NULL AS expected_version,
       0 AS of_session, 0 AS numbered, 0 AS session_id, 0 AS now_ms
WHERE 0;

-- First step of a commit: the writer's session (if any) must exist, and the fence (`path`, if any) must still have the
-- expected version. `numbered` is 1 if more steps follow; otherwise nothing is written.
CREATE TEMP TRIGGER step_begin INSTEAD OF INSERT ON step WHEN NEW.kind = 'begin' BEGIN
    DELETE FROM result;
    SELECT RAISE(ABORT, 'session_lost')
    WHERE NEW.session_id <> 0 AND NOT EXISTS (SELECT 1 FROM session WHERE session_id = NEW.session_id);
    SELECT RAISE(ABORT, 'fenced')
    WHERE NEW.path IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM entry WHERE path = NEW.path AND version = NEW.expected_version);
    UPDATE ledger SET commit_id = commit_id + 1 WHERE NEW.numbered;
END;

CREATE TEMP TRIGGER step_create INSTEAD OF INSERT ON step WHEN NEW.kind = 'create' BEGIN
    SELECT RAISE(ABORT, 'parent_missing') WHERE NOT EXISTS (SELECT 1 FROM entry WHERE path = NEW.parent);
    SELECT RAISE(ABORT, 'parent_of_session')
    WHERE EXISTS (SELECT 1 FROM entry WHERE path = NEW.parent AND session_id <> 0);
    SELECT RAISE(ABORT, 'session_lost') WHERE NEW.of_session AND NEW.session_id = 0;
    INSERT INTO result
    SELECT NEW.number,
           CASE WHEN NEW.numbered THEN NEW.path || printf('%010d', entry.next_number) ELSE NEW.path END,
           0,
           ledger.commit_id
    FROM entry, ledger WHERE entry.path = NEW.parent;
    SELECT RAISE(ABORT, 'key_exists')
    WHERE EXISTS (SELECT 1 FROM result JOIN entry ON entry.path = result.path WHERE result.number = NEW.number);
    INSERT INTO entry
    SELECT result.path, NEW.parent, NEW.data, 0, 0, 0, result.creation_id, NEW.now_ms,
           CASE WHEN NEW.of_session THEN NEW.session_id ELSE 0 END
    FROM result WHERE result.number = NEW.number;
    UPDATE entry SET child_version = child_version + 1, next_number = next_number + NEW.numbered
    WHERE path = NEW.parent;
END;

CREATE TEMP TRIGGER step_write INSTEAD OF INSERT ON step WHEN NEW.kind = 'write' BEGIN
    SELECT RAISE(ABORT, 'key_missing') WHERE NOT EXISTS (SELECT 1 FROM entry WHERE path = NEW.path);
    SELECT RAISE(ABORT, 'version_conflict')
    WHERE EXISTS (SELECT 1 FROM entry WHERE path = NEW.path AND version <> NEW.expected_version);
    UPDATE entry SET data = NEW.data, version = version + 1 WHERE path = NEW.path;
    INSERT INTO result SELECT NEW.number, path, version, creation_id FROM entry WHERE path = NEW.path;
END;

CREATE TEMP TRIGGER step_delete INSTEAD OF INSERT ON step WHEN NEW.kind = 'delete' BEGIN
    SELECT RAISE(ABORT, 'key_missing') WHERE NOT EXISTS (SELECT 1 FROM entry WHERE path = NEW.path);
    SELECT RAISE(ABORT, 'version_conflict')
    WHERE EXISTS (SELECT 1 FROM entry WHERE path = NEW.path AND version <> NEW.expected_version);
    SELECT RAISE(ABORT, 'key_has_children') WHERE EXISTS (SELECT 1 FROM entry WHERE parent = NEW.path);
    INSERT INTO result SELECT NEW.number, path, version, creation_id FROM entry WHERE path = NEW.path;
    DELETE FROM entry WHERE path = NEW.path;
    UPDATE entry SET child_version = child_version + 1 WHERE path = NEW.parent;
END;

CREATE TEMP TRIGGER step_check INSTEAD OF INSERT ON step WHEN NEW.kind = 'check' BEGIN
    SELECT RAISE(ABORT, 'key_missing') WHERE NOT EXISTS (SELECT 1 FROM entry WHERE path = NEW.path);
    SELECT RAISE(ABORT, 'version_conflict')
    WHERE EXISTS (SELECT 1 FROM entry WHERE path = NEW.path AND version <> NEW.expected_version);
    INSERT INTO result SELECT NEW.number, path, version, creation_id FROM entry WHERE path = NEW.path;
END;

-- A new session; `path` is the name of its file. The result's creation_id is the session id.
CREATE TEMP TRIGGER step_join INSTEAD OF INSERT ON step WHEN NEW.kind = 'join' BEGIN
    INSERT INTO session (file_name) VALUES (NEW.path);
    INSERT INTO result SELECT NEW.number, file_name, 0, session_id FROM session WHERE file_name = NEW.path;
END;

-- A session (`expected_version` is its id) ends: its entries are deleted. Each deleted entry is a result; there may
-- be several, so their numbers are negative: no step has a negative number.
CREATE TEMP TRIGGER step_leave INSTEAD OF INSERT ON step WHEN NEW.kind = 'leave' BEGIN
    INSERT INTO result (number, path, version, creation_id)
    SELECT (SELECT min(0, coalesce(min(number), 0)) FROM result) - row_number() OVER (), path, version, creation_id
    FROM entry WHERE session_id = NEW.expected_version AND session_id <> 0;
    UPDATE entry SET child_version = child_version + 1
    WHERE path IN (SELECT parent FROM entry WHERE session_id = NEW.expected_version AND session_id <> 0);
    DELETE FROM entry WHERE session_id = NEW.expected_version AND session_id <> 0;
    DELETE FROM session WHERE session_id = NEW.expected_version;
END;
