"""An events table of a few events, for the roll-ups."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from deltalake import write_deltalake
from pyspark.sql import DataFrame, SparkSession

from signalbox.common.audit_event import AUDIT_FIELDS
from signalbox.pipeline.audit.event_table import event_ddl
from signalbox.pipeline.audit.rollup_table import rollup_path
from signalbox.pipeline.audit.rollups import renew_rollups
from signalbox.pipeline.sinks.delta_log import ensure_table, read_table


def events(spark: SparkSession, *changed: dict[str, Any]) -> DataFrame:
    known: dict[str, Any] = {column.name: "" if column.type == "string" else -1 for column in AUDIT_FIELDS}
    known.update(schema=1, broker_id=1, broker_epoch=7, kind="rollup", timestamp_ms=1000, count=1, error_count=0)
    known.update(listener="CLIENT", plane="data", client_id="shop", principal="User:alice", api="FETCH", api_version=17)
    known.update(request_bytes=10, response_bytes=100)
    ddl = event_ddl().replace(" NOT NULL", "")
    names = [column.split()[0].strip("`") for column in ddl.split(", ")]
    rows = [{**known, "seq": seq, **change} for seq, change in enumerate(changed)]
    return spark.createDataFrame([tuple(row[name] for name in names) for row in rows], ddl)


class EventTable:
    """An events table with its roll-ups. `added` appends events in one commit and renews the roll-ups."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.path = folder / "events"
        self.states = folder / "states"
        schema = events(spark).schema
        ensure_table(self.path, json.loads(schema.json()))

    def added(self, *changed: dict[str, Any]) -> int:
        self.append(*changed)
        return self.renew()

    def append(self, *changed: dict[str, Any]) -> None:
        write_deltalake(str(self.path), events(self.spark, *changed).toArrow(), mode="append")

    def renew(self) -> int:
        return renew_rollups(self.path, self.states, self._read)

    def _read(self, files: Sequence[str]) -> DataFrame:
        none = events(self.spark)
        return (
            self.spark.read.schema(none.schema).parquet(*(str(self.path / name) for name in files)) if files else none
        )

    def rows(self, rollup: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = read_table(rollup_path(self.path, rollup)).to_pylist()
        return sorted(found, key=str)


def gaps(table: EventTable) -> list[tuple[int, int, int]]:
    return sorted((row["broker_epoch"], row["from_seq"], row["to_seq"]) for row in table.rows("gaps"))
