"""The port of the two committers, in the words of a batch: both leave the same mark in the same Delta log.

That mark is Delta's `txn` action: (application, version) with the pipeline, its generation and the table as the
application and Spark's batch id as the version. A batch that is repeated after a crash finds its mark and is skipped,
whichever committer wrote it: that is the whole of exactly-once here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class TableTarget:
    """A table that a pipeline appends to, and the application name that its batches carry in the table's log."""

    path: Path
    transaction_app: str

    @property
    def name(self) -> str:
        return self.path.name


@dataclass(frozen=True, slots=True)
class BatchStamp:
    """What a commit says about its batch: the id that makes it repeatable, and where its records came from."""

    batch_id: int
    lineage: Mapping[str, Any] = field(default_factory=dict)

    def metadata(self) -> str:
        """The lineage as the commit's user metadata."""
        return json.dumps({"batch_id": self.batch_id, **self.lineage}, sort_keys=True)


def transaction_app(pipeline: str, generation: int, table: str) -> str:
    """The application name of a table's transactions. A new generation may repeat batch ids, the same may not."""
    return f"signalbox/{pipeline}/{generation}/{table}"


class TableSink(Protocol):
    """Commits frames to Delta tables."""

    def last_batch(self, target: TableTarget) -> int | None:
        """The newest batch that the table holds of this application; None = none, or no table."""

    def append(self, frame: DataFrame, target: TableTarget, stamp: BatchStamp) -> int | None:
        """Commits the frame as the batch's rows and returns how many; None = the table held the batch already."""
