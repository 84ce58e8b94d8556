"""The port of the committers, in terms of batches: all write the same mark into the same Delta log.

That mark is Delta's `txn` action: (application, version) with the pipeline, its generation and the table as the
application and Spark's batch id as the version. A batch that is repeated after a crash finds its mark and is skipped,
whichever committer wrote it. Exactly-once depends on this mark alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from pyspark.sql import DataFrame

from signalbox.pipeline.object_store.location import TableLocation


@dataclass(frozen=True, slots=True)
class TableTarget:
    """A table that a pipeline appends to, and the application name that its batches carry in the table's log."""

    path: TableLocation
    transaction_app: str

    @property
    def name(self) -> str:
        return self.path.name


@dataclass(frozen=True, slots=True)
class BatchStamp:
    """Data of a commit about its batch: the id that makes it repeatable, and the source of its records."""

    batch_id: int
    lineage: Mapping[str, Any] = field(default_factory=dict)

    def metadata(self) -> str:
        """The lineage as the commit's user metadata."""
        return json.dumps({"batch_id": self.batch_id, **self.lineage}, sort_keys=True)


def transaction_app(pipeline: str, generation: int, table: str) -> str:
    """The application name of a table's transactions. Only a new generation may use batch ids again."""
    return f"signalbox/{pipeline}/{generation}/{table}"


class TableSink(Protocol):
    """Commits frames to Delta tables."""

    def last_batch(self, target: TableTarget) -> int | None:
        """The newest batch of this application that the table holds; None = none, or no table."""

    def append(self, frame: DataFrame, target: TableTarget, stamp: BatchStamp) -> int | None:
        """Commits the frame as the batch's rows, returns their number; None = the table held the batch already."""
