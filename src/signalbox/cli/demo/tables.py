"""Spark writes the flights and the audit trail into Delta tables; both are compared with their sources."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from signalbox.cli.demo.flights import COLUMNS, FLIGHTS, SCHEMA, TOPIC, Flights
from signalbox.cli.demo.stage import Stage, counted
from signalbox.common.audit_event import AUDIT_TOPIC
from signalbox.pipeline import commands
from signalbox.pipeline.object_store.location import TableLocation


def make_tables(stage: Stage, flights: Flights) -> dict[str, Any]:
    """Writes both tables in one Spark session; returns the figures of the audit trail."""
    warehouse = stage.folder / "warehouse"
    common: dict[str, Any] = {
        "bootstrap_servers": stage.cluster.bootstrap(),
        "warehouse": warehouse,
        "master": "local[2]",
        "quick": True,
    }
    options = commands.TablesOptions(topic=TOPIC, schema=SCHEMA, **common)
    with commands.open_engine(options, say=stage.say) as engine:
        table = commands.run_tables(options, engine=engine, say=stage.say)
        ends = topic_ends(stage.cluster.bootstrap(), AUDIT_TOPIC)
        audit = commands.run_audit(commands.AuditOptions(**common), engine=engine, say=stage.say)
    stage.facts["profile"] = table.profile
    stage.check("rows in the flights table", table.table_rows == FLIGHTS, f"{table.table_rows:,}")
    stage.check("no bad record in the flights topic", table.dead_table_rows == 0, f"{table.dead_table_rows:,}")
    compare_rows(stage, warehouse / TOPIC, flights)
    compare_offsets(stage, audit.events_table, ends)
    check_audit_sequences(stage, audit.figures["completeness"])
    return dict(audit.figures)


Ends = dict[int, tuple[int, int]]
"""Partition → its first offset and its end offset (behind the last record)."""


def topic_ends(bootstrap: str, topic: str) -> Ends:
    """The first and the end offset of each partition, read from its leader by librdkafka, independently of Spark and
    the pipeline."""
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "demo-ends", "client.id": "demo-ends"})
    try:
        partitions = consumer.list_topics(topic, timeout=15).topics[topic].partitions
        return {
            partition: consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=15)
            for partition in partitions
        }
    finally:
        consumer.close()


def compare_offsets(stage: Stage, events_table: TableLocation, ends: Ends) -> None:
    """Every offset that the topic had must be exactly one row of the table: none missing, none twice, none set apart as
    bad."""
    table = commands.read_table(events_table, ["partition", "offset"])
    rows = Counter(zip(table.column("partition").to_pylist(), table.column("offset").to_pylist(), strict=True))
    expected = {(partition, offset) for partition, (first, end) in ends.items() for offset in range(first, end)}
    missing, twice = len(expected - rows.keys()), sum(count > 1 for count in rows.values())
    stage.check(
        "every record of the audit topic, up to its end offset, is one row of the audit table",
        bool(expected) and not missing and not twice,
        f"{len(expected):,} records, {missing:,} missing, {twice:,} twice",
    )


def check_audit_sequences(stage: Stage, completeness: dict[str, Any]) -> None:
    """Each broker's sequence numbers, for each of its starts: from 0, each exactly once."""
    sequences = completeness["brokers"]
    absent = set(stage.cluster.brokers) - {sequence["broker_id"] for sequence in sequences}
    broken = [
        f"broker {sequence['broker_id']} epoch {sequence['broker_epoch']}"
        for sequence in sequences
        if not sequence["whole"]
    ]
    broken += [f"broker {node_id} has no events" for node_id in sorted(absent)]
    stage.check(
        "seq counts from 0 without gap or repeat in every broker's audit events",
        not broken,
        ", ".join(broken) or f"{counted(len(sequences), 'broker run')}",
    )
    records, unread = completeness["topic_records"], completeness["unread_records"]
    seen = f"{completeness['table_rows']:,} rows, {records:,} records read, {unread:,} unread"
    stage.check("the pipeline's own figures call the audit trail complete", completeness["complete"], seen)


def compare_rows(stage: Stage, path: Path, flights: Flights) -> None:
    """Compares every column of every row with the data set, by the row's number."""
    table = commands.read_table(path, list(COLUMNS)).sort_by("id")
    wrong = []
    for position, name in enumerate(COLUMNS):
        stored = table.column(name).to_pylist()
        if stored != [row[position] for row in flights.rows]:
            wrong.append(name)
    seen = f"wrong: {', '.join(wrong)}" if wrong else f"{len(flights.rows):,} rows"
    stage.check(f"all {len(COLUMNS)} columns equal what was sent, row by row", not wrong, seen)
    carriers = table.column("carrier").value_counts().to_pylist()
    stage.facts["carriers"] = sorted(
        ((entry["values"], entry["counts"]) for entry in carriers), key=lambda pair: -pair[1]
    )
