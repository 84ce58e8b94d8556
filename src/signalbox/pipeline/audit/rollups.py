"""Renews the roll-up tables beside an events table: only events that no earlier renewal has read are read.

Everything is read again if the states of the last renewal are missing, or do not belong to the table or to this
program's statements, or if events were removed from the table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from signalbox.pipeline.audit.rollup_state import RollupStates
from signalbox.pipeline.audit.rollup_table import ROLLUPS, STATES, rollup_path
from signalbox.pipeline.object_store.location import TableLocation
from signalbox.pipeline.object_store.open_table import store_faults
from signalbox.pipeline.sinks.delta_log import TableFiles, is_table, replace_table


def renew_rollups(
    events_table: TableLocation,
    state_folder: Path,
    read: Callable[[Sequence[str]], DataFrame],
    files: TableFiles | None = None,
) -> int:
    """Renews every roll-up table beside the events table and returns the number of files read. `read` returns the
    events of some of the table's files. `files`: the version of the table that is rolled up, by default the newest."""
    files = files or TableFiles(events_table)
    states = RollupStates(state_folder, files.table_id)
    covered = states.covered_version()
    added = None if covered is None else files.added_since(covered)
    if added is None:
        covered, added = None, files.all()
    elif not added and all(is_table(rollup_path(events_table, name)) for name in ROLLUPS):
        return 0
    events = read(added).persist()
    events.createOrReplaceTempView("events")
    try:
        with store_faults(events_table, PySparkException):
            for name, state in STATES.items():
                _renew(events.sparkSession.sql(state.of_events), name, states, covered, files.version)
                for table in state.tables:
                    content = events.sparkSession.sql(state.tables[table]).toArrow()
                    replace_table(rollup_path(events_table, table), content)
    finally:
        events.unpersist()
    states.commit(files.version)
    return len(added)


def _renew(parts: DataFrame, name: str, states: RollupStates, covered: int | None, version: int) -> None:
    """Combines a state with that of new events, stores it, and makes it the view `state`."""
    spark = parts.sparkSession
    if covered is not None:
        parts = parts.unionByName(spark.read.schema(parts.schema).parquet(str(states.path(name, covered))))
    parts.createOrReplaceTempView("parts")
    combined = spark.sql(STATES[name].combined).toArrow()
    states.write(name, version, combined)
    spark.createDataFrame(combined).createOrReplaceTempView("state")
