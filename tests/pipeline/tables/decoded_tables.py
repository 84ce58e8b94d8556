"""Tables of decoded records for tests: a run, its rows, and values as serializers frame them."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro

from signalbox.pipeline.engine import Engine
from signalbox.pipeline.formats.format_options import FormatOptions
from signalbox.pipeline.options import TablesOptions
from signalbox.pipeline.sinks.delta_log import read_table
from signalbox.pipeline.tables.run import TablesResult, run_tables
from tests.pipeline.topics import Topics


def quiet(_: str) -> None:
    """Discards the lines of a run."""


def tables_options(topics: Topics, warehouse: Path, topic: str, **asked: Any) -> TablesOptions:
    """Options with at most two records a batch; those that `TablesOptions` does not have are options of formats."""
    own = {name: asked.pop(name) for name in tuple(asked) if name in TablesOptions.__dataclass_fields__}
    return TablesOptions(
        bootstrap_servers=topics.bootstrap,
        warehouse=warehouse,
        topic=topic,
        formats=FormatOptions(**asked),
        **{"max_records_per_batch": 2, **own},
    )


def run(
    engine: Engine,
    warehouse: Path,
    topics: Topics,
    topic: str,
    listener: Any = None,
    say: Callable[[str], None] = quiet,
    **asked: Any,
) -> TablesResult:
    """One run of a topic into its table."""
    options = tables_options(topics, warehouse, topic, **asked)
    return run_tables(options, engine=engine, listener=listener, say=say)


def rows(result: TablesResult, *columns: str) -> list[tuple[Any, ...]]:
    """Some columns of the table, in the order of the records."""
    table = read_table(result.table).to_pylist()
    return [tuple(row[name] for name in columns) for row in sorted(table, key=lambda row: row["offset"])]


def record(*fields: tuple[str, Any]) -> dict[str, Any]:
    """An Avro schema."""
    return {"type": "record", "name": "Flight", "fields": [{"name": name, "type": kind} for name, kind in fields]}


def framed(schema_id: int, content: bytes) -> bytes:
    """A value as Confluent's serializers frame it."""
    return struct.pack(">bI", 0, schema_id) + content


def framed_avro(schema_id: int, schema: Any, value: Any) -> bytes:
    """A framed Avro value."""
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(schema), value)
    return framed(schema_id, stream.getvalue())
