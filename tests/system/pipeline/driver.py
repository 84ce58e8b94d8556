"""A driver process for tests: `python -m tests.system.pipeline.driver '<json>'`.

`options` are those of TablesOptions. With `kill_at` = {"step", "table", "batch_id"} the whole process group (with the
JVM) is killed with SIGKILL when that step is reported: a real kill at a chosen time. With `replay` = a file of mended
values the rejected records are replayed instead, with `backfill` earlier records are added; with `audit` the options
are those of AuditOptions. Prints the result as its last line.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from signalbox.pipeline.audit.run import run_audit
from signalbox.pipeline.commands import TablesOptions, run_tables
from signalbox.pipeline.events import PipelineEvent
from signalbox.pipeline.object_store.location import location_of
from signalbox.pipeline.options import AuditOptions
from signalbox.pipeline.positions.backfill import BackfillResult, run_backfill
from signalbox.pipeline.rejected.replay import ReplayResult, replay_rejected
from signalbox.pipeline.tables.run import TablesResult


def main(asked: dict[str, Any]) -> None:
    """One run of a table."""
    of_options = AuditOptions if asked.get("audit") else TablesOptions
    given = {**asked["options"], "warehouse": location_of(asked["options"]["warehouse"])}
    if "checkpoint_location" in given:
        given["checkpoint_location"] = Path(given["checkpoint_location"])
    options = of_options(**given)
    kill_at = asked.get("kill_at") or {}

    def killer(event: PipelineEvent) -> None:
        if kill_at and all(getattr(event, key) == value for key, value in kill_at.items()):
            print("KILLED", flush=True)
            os.killpg(os.getpgid(0), signal.SIGKILL)

    def say(line: str) -> None:
        print(line, flush=True)

    if isinstance(options, AuditOptions):
        audit = run_audit(options, listener=killer, say=say)
        print(json.dumps({"rows": audit.rows, "complete": audit.complete}), flush=True)
        return
    result: TablesResult | ReplayResult | BackfillResult
    if "replay" in asked:
        result = replay_rejected(options, Path(asked["replay"]), listener=killer, say=say)
    elif asked.get("backfill"):
        result = run_backfill(options, listener=killer, say=say)
    else:
        result = run_tables(options, listener=killer, say=say)
    print(json.dumps(result.as_json()), flush=True)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
