"""The audit tables in an S3 store: events, roll-ups, the check for missing events and the figures of the report."""

from __future__ import annotations

from pathlib import Path

import pytest

from signalbox.pipeline import commands
from signalbox.pipeline.engine import Engine
from signalbox.pipeline.object_store.location import S3Location
from signalbox.pipeline.options import AuditOptions, OptionError
from signalbox.pipeline.report.page import report_page
from signalbox.pipeline.sinks.delta_log import TableFiles
from tests.pipeline.audit.test_run import FIRST_BROKER, SECOND_BROKER, audit_records
from tests.pipeline.object_store.store_server import compiled_server
from tests.pipeline.topics import Topics

NEEDS = (compiled_server,)
pytestmark = pytest.mark.spec("P1", "P2", "P10")


def test_the_audit_trail_lives_in_a_store(
    engine: Engine, topics: Topics, store_warehouse: S3Location, tmp_path: Path
) -> None:
    topic = topics.create("stored-audit")
    topics.fill(topic, audit_records(1, FIRST_BROKER))
    state = tmp_path / "state"
    options = AuditOptions(
        bootstrap_servers=topics.bootstrap,
        warehouse=store_warehouse,
        checkpoint_location=state,
        topic=topic,
        alerts_topic=f"stored-alerts-{engine.profile}",
    )
    first = commands.run_audit(options, engine=engine, say=lambda _: None)
    assert (first.rows, first.complete, first.events_table) == (6, True, store_warehouse / "audit_events")

    files = TableFiles(first.events_table)
    # The second run reads the events of the first one for its alerts, and rolls up only those that were added.
    topics.fill(topic, audit_records(2, SECOND_BROKER, skipped=(1,)))
    second = commands.run_audit(options, engine=engine, say=lambda _: None)
    assert (second.rows, second.complete, second.figures["totals"]["requests"]) == (2, False, 101)
    assert TableFiles(second.events_table).added_since(files.version) == sorted(
        set(TableFiles(second.events_table).all()) - set(files.all())
    ), "what the second renewal has read"
    assert [broker["missing"] for broker in second.figures["completeness"]["brokers"]] == [0, 1]

    figures = commands.read_figures(store_warehouse, checkpoint_location=state)
    assert figures == second.figures
    assert str(store_warehouse) in report_page(figures, str(store_warehouse))
    with pytest.raises(OptionError, match="set --checkpoint-location to that of `pipeline audit`"):
        commands.read_figures(store_warehouse)
