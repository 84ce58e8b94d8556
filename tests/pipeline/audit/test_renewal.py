"""The counts of a renewal are of one moment, also while a batch is in progress."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from signalbox.pipeline.audit.event_table import event_ddl
from signalbox.pipeline.audit.figures import read_figures
from signalbox.pipeline.audit.renewal import renew
from signalbox.pipeline.audit.run import audit_shape
from signalbox.pipeline.engine import Engine
from signalbox.pipeline.events import PipelineEvent, Reporting, Step
from signalbox.pipeline.open_run import TablePlan, open_run
from signalbox.pipeline.options import AuditOptions, Profile
from signalbox.pipeline.table_run import TableRun
from tests.pipeline.audit.test_run import FIRST_BROKER, audit_records
from tests.pipeline.topics import Topics

pytestmark = pytest.mark.spec("P1")


@pytest.mark.parametrize("engine", [Profile.PYPI], indirect=True)
def test_a_renewal_during_a_batch_is_of_the_batch_before(engine: Engine, warehouse: Path, topics: Topics) -> None:
    topic = topics.create("renewed", partitions=1)
    options = AuditOptions(bootstrap_servers=topics.bootstrap, warehouse=warehouse, topic=topic, profile=engine.profile)
    plan = TablePlan(options.name, topic, None, lambda _: event_ddl(), audit_shape)
    runs: list[TableRun] = []
    meanwhile: list[dict[str, Any]] = []

    def completeness() -> dict[str, Any]:
        found: dict[str, Any] = read_figures(warehouse, options.name, options.state_folder)["completeness"]
        return found

    def listener(event: PipelineEvent) -> None:
        if event.step == Step.TABLE_COMMITTED and event.table.endswith("_dead"):
            renew(runs[-1])
            meanwhile.append(completeness())

    def ran() -> dict[str, Any]:
        with open_run(options, plan, engine, Reporting(lambda _: None, listener)) as run:
            runs.append(run)
            run.run()
            if meanwhile:
                assert completeness() == meanwhile[0], "rows since the renewal change nothing"
            renew(run)
        return completeness()

    records = audit_records(1, FIRST_BROKER)
    topics.fill(topic, records[:2])
    first = ran()
    assert (first["topic_records"], first["table_rows"], first["dead_rows"], first["findings"]) == (2, 2, 0, [])
    topics.fill(topic, [records[2], b"no event"])
    last = ran()
    assert (last["topic_records"], last["table_rows"], last["dead_rows"], last["findings"]) == (4, 3, 1, [])
    (during,) = meanwhile
    assert (during["topic_records"], during["table_rows"], during["dead_rows"]) == (2, 2, 0)
    assert during["findings"] == ["2 records of the topic are unread"]
