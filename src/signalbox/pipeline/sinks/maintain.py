"""Maintains Delta tables by delta-rs: compaction or clustering, statistics, vacuum, checkpoints of the log, in both
profiles.

Each batch adds files and a commit; without maintenance readers open ever more of both. The steps are ordinary commits:
a pipeline may write the table meanwhile. A batch that appends conflicts with none of them. A merge of an upsert, a
widened column and a replay replace files, as a compaction does: whichever commits later is repeated
(`commit_retry.py`). The transaction marks of the pipelines are kept in checkpoints.

Vacuum deletes files that no version within the retention names, those of killed batches too. A file of a batch in
progress is named by no version yet: therefore the retention is at least an hour.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from deltalake.exceptions import CommitFailedError, DeltaError

from signalbox.pipeline.audit.rollup_table import ROLLUPS, rollup_path
from signalbox.pipeline.object_store.location import S3Location, TableLocation
from signalbox.pipeline.object_store.open_table import open_table, store_faults
from signalbox.pipeline.options import OptionError, TemporaryError, warehouse_faults
from signalbox.pipeline.sinks.commit_retry import repeated_on_conflict
from signalbox.pipeline.sinks.deleted_keys import deleted_keys_path
from signalbox.pipeline.sinks.delta_log import is_table
from signalbox.pipeline.sinks.statistics import complete_statistics
from signalbox.pipeline.table_state import StateFolder

DEFAULT_TARGET_MB = 128
DEFAULT_RETENTION_HOURS = 168
MIN_RETENTION_HOURS = 1


class MaintenanceError(RuntimeError):
    """A table that cannot be maintained."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableMaintenance:
    """What was done to a table: data files before and after, files that got statistics, files deleted by vacuum, the
    version of the checkpoint."""

    table: str
    files_before: int
    files_after: int
    completed_statistics: int
    deleted_files: int
    checkpoint_version: int

    def as_json(self) -> dict[str, Any]:
        """The same as plain JSON values."""
        return asdict(self)


@repeated_on_conflict
def _rewrite_files(path: TableLocation, target_mb: int, cluster_by: Sequence[str]) -> int:
    """Compacts or sorts the table; returns the number of its files before."""
    table = open_table(path)
    before = len(table.file_uris())
    if cluster_by:
        table.optimize.z_order(cluster_by, target_size=target_mb * 1024 * 1024)
    else:
        table.optimize.compact(target_size=target_mb * 1024 * 1024)
    return before


def _maintain(path: TableLocation, target_mb: int, retention_hours: int, cluster_by: Sequence[str]) -> TableMaintenance:
    before = _rewrite_files(path, target_mb, cluster_by)
    # Files in a store come with all ranges that there are.
    completed = 0 if isinstance(path, S3Location) else complete_statistics(path)
    table = open_table(path)
    # Shorter retentions than the table's own (a week by default) are the caller's decision.
    deleted = table.vacuum(retention_hours, dry_run=False, enforce_retention_duration=False, full=True)
    table.update_incremental()
    table.create_checkpoint()
    table.cleanup_metadata()
    return TableMaintenance(
        table=path.name,
        files_before=before,
        files_after=len(table.file_uris()),
        completed_statistics=completed,
        deleted_files=len(deleted),
        checkpoint_version=table.version(),
    )


def _cluster_faults(path: TableLocation, cluster_by: Sequence[str]) -> list[str]:
    table = open_table(path)
    columns = [field.name for field in table.schema().fields]
    partitions = table.metadata().partition_columns
    if len(set(cluster_by)) < len(cluster_by):
        return [f"cluster by is {', '.join(cluster_by)!r}: name each column once"]
    faults = [f"cluster by {column}: the table is partitioned by it" for column in cluster_by if column in partitions]
    unknown = [column for column in cluster_by if column not in columns]
    return faults + [
        f"cluster by {column}: the table has no such column, but {', '.join(columns)}" for column in unknown
    ]


def _tables_beside(warehouse: TableLocation, name: str, state: TableLocation) -> list[TableLocation]:
    """The paths of the tables that the pipeline of a table may have written too; `state`: where its state is. The
    roll-ups are those of an audit only: a table of another pipeline can have such a name."""
    paths: list[TableLocation] = [warehouse / f"{name}_dead"]
    if isinstance(state, Path):
        folder = StateFolder(state, name).path
        paths.append(deleted_keys_path(folder))
        if (folder / "rollups").is_dir():
            paths += [rollup_path(warehouse / name, rollup) for rollup in ROLLUPS]
    return paths


def maintain_table(
    warehouse: TableLocation,
    name: str,
    *,
    target_mb: int = DEFAULT_TARGET_MB,
    retention_hours: int = DEFAULT_RETENTION_HOURS,
    cluster_by: Sequence[str] = (),
    checkpoint_location: Path | None = None,
    say: Callable[[str], None] = print,
) -> list[TableMaintenance]:
    """Maintains a table, the table of its rejected records, that of its deleted keys and the roll-ups of an audit.
    Raises OptionError, MaintenanceError, and TemporaryError if a later attempt may succeed.

    `target_mb`: the size of files to aim at. `retention_hours`: how long versions of the table can still be read.
    `cluster_by`: rewrites the table with rows that are close in these columns close in its files (Z-order), so that
    readers skip files by ranges of any of them; not the tables beside it. `checkpoint_location`: as of the runs; None =
    the warehouse. Without one in a folder the deleted keys and the roll-ups are not known.
    """
    faults = warehouse_faults(warehouse)
    if faults:
        raise OptionError(faults)
    problems = []
    if target_mb < 1:
        problems.append(f"target size is {target_mb} MB: give at least 1")
    if retention_hours < MIN_RETENTION_HOURS:
        problems.append(
            f"retention is {retention_hours} hours: give at least {MIN_RETENTION_HOURS}, a batch in progress needs its "
            "files"
        )
    is_there = is_table(warehouse / name)
    if is_there and cluster_by:
        problems += _cluster_faults(warehouse / name, cluster_by)
    if problems:
        raise OptionError(problems)
    if not is_there:  # a table that a pipeline may begin later
        raise MaintenanceError(f"there is no table {name} in {warehouse}")
    done = []
    for path in [warehouse / name, *_tables_beside(warehouse, name, checkpoint_location or warehouse)]:
        if not is_table(path):
            continue
        try:
            with store_faults(path):
                result = _maintain(path, target_mb, retention_hours, cluster_by if path.name == name else ())
        except CommitFailedError as error:
            raise TemporaryError(f"table {path} was not maintained, other commits came first: {error}") from error
        except (DeltaError, OSError) as error:
            passes = isinstance(error, OSError) and not isinstance(error, FileNotFoundError)
            fault = TemporaryError if passes else MaintenanceError
            raise fault(f"table {path} cannot be maintained: {error}") from error
        say(
            f"{result.table}: {result.files_before:,} files became {result.files_after:,}, "
            + (f"statistics of {result.completed_statistics:,} completed, " if result.completed_statistics else "")
            + f"{result.deleted_files:,} old files deleted, checkpoint of version {result.checkpoint_version:,}"
        )
        done.append(result)
    return done
