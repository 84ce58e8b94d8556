"""Spark turns the flights and the audit trail into Delta tables; both are compared with what they came from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from signalbox.cli.demo.flights import COLUMNS, FLIGHTS, SCHEMA, TOPIC, Flights
from signalbox.cli.demo.stage import Stage
from signalbox.pipeline import commands


def make_tables(stage: Stage, flights: Flights) -> dict[str, Any]:
    """Both tables through one Spark session; the figures of the audit trail."""
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
        audit = commands.run_audit(commands.AuditOptions(**common), engine=engine, say=stage.say)
    stage.facts["profile"] = table.profile
    stage.check("rows in the flights table", table.table_rows == FLIGHTS, f"{table.table_rows:,}")
    stage.check("bad records", table.dead_table_rows == 0, table.dead_table_rows)
    compare_rows(stage, table.table, flights)
    completeness = audit.figures["completeness"]
    stage.check(
        "audit table rows = records of the audit topic",
        completeness["table_rows"] + completeness["dead_rows"] == completeness["topic_records"],
        f"{completeness['table_rows']:,}",
    )
    stage.check(
        "seq without a gap for every broker",
        completeness["missing_events"] == 0,
        f"{len(completeness['brokers'])} lives",
    )
    return dict(audit.figures)


def compare_rows(stage: Stage, path: Path, flights: Flights) -> None:
    """Every column of every row against the data set, by the row's number."""
    table = commands.read_table(path, list(COLUMNS)).sort_by("id")
    wrong = []
    for position, name in enumerate(COLUMNS):
        stored = table.column(name).to_pylist()
        if stored != [row[position] for row in flights.rows]:
            wrong.append(name)
    stage.check(f"all {len(COLUMNS)} columns equal what was sent, row by row", not wrong, wrong or f"{FLIGHTS:,} rows")
    carriers = table.column("carrier").value_counts().to_pylist()
    stage.facts["carriers"] = sorted(
        ((entry["values"], entry["counts"]) for entry in carriers), key=lambda pair: -pair[1]
    )
