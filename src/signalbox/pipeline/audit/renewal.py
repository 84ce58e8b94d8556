"""Renews what the figures are read from: the roll-up tables, and the counts of the same moment in the state folder."""

from __future__ import annotations

import json
import time
from typing import Any

from signalbox.pipeline.audit.figures import COUNTED_ROLLUPS, LAST_RUN
from signalbox.pipeline.audit.rollup_table import rollup_path
from signalbox.pipeline.audit.rollups import renew_rollups
from signalbox.pipeline.sinks.delta_log import TableFiles, newest_version, rows_up_to
from signalbox.pipeline.table_run import TableRun

_NO_BATCH = -1  # before the first batch


def renew(run: TableRun) -> None:
    """Roll-ups of the table's events, and the counts of the same moment: the end of the newest batch that the table
    holds. The next batch may be in progress meanwhile, and has perhaps written its dead records."""
    events_table, dead_table = run.good_target, run.dead_target
    files = TableFiles(events_table.path)
    held = files.last_transaction(events_table.transaction_app)
    last = _NO_BATCH if held is None else held
    counted: dict[str, Any] = {
        "topic_records": run.consumed(last),
        "unread_records": run.unread(last),
        "table_rows": files.rows,
        "dead_rows": rows_up_to(dead_table.path, dead_table.transaction_app, held),
        "at_ms": int(time.time() * 1000),
    }
    renew_rollups(events_table.path, run.job.folder.path / "rollups", run.rows_of, files)
    # The roll-up tables are replaced one by one, and this file after them: a report reads those of the file.
    counted["versions"] = {name: newest_version(rollup_path(events_table.path, name)) for name in COUNTED_ROLLUPS}
    path = run.job.folder.path / LAST_RUN
    fresh = path.with_suffix(".fresh")
    fresh.write_text(json.dumps(counted) + "\n")
    fresh.replace(path)
