"""The functions behind the commands: light to import, and the whole run from a topic to figures on one engine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from signalbox.common.audit_event import AuditEvent, AuditKind, encode_audit_event
from signalbox.pipeline import commands
from signalbox.pipeline.engine import Engine
from signalbox.pipeline.options import Profile
from signalbox.pipeline.table_state import StateError
from tests.pipeline.topics import Topics, json_values


def test_importing_the_commands_loads_neither_spark_nor_arrow() -> None:
    code = (
        "import sys; from signalbox.pipeline import commands; "
        "print(sorted({'pyspark', 'pyarrow', 'deltalake', 'confluent_kafka'} & set(sys.modules)))"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout == "[]\n"


def test_a_missing_package_is_named_with_what_to_install(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['pyspark'] = None; from pathlib import Path\n"
        "from signalbox.pipeline.commands import TablesOptions, run_tables\n"
        "run_tables(TablesOptions(bootstrap_servers='b:1', warehouse=Path('w'), topic='t'))"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (
        "PipelineNotInstalledError: the Python package pyspark is missing: install the wheel with its extra [pipeline]"
        in answer.stderr
    )


@pytest.mark.parametrize("engine", [Profile.PYPI], indirect=True)
def test_tables_and_audit_run_on_one_engine(engine: Engine, warehouse: Path, topics: Topics) -> None:
    topic, audit_topic = topics.create("both"), topics.create("audit")
    topics.fill(topic, json_values(0, 5))
    entry = AuditEvent(kind=AuditKind.ADMIN, timestamp_ms=1, api="CREATE_TOPICS")
    topics.fill(audit_topic, [encode_audit_event(entry, broker_id=1, broker_epoch=1, seq=0)])
    lines: list[str] = []
    asked: dict[str, Any] = {"bootstrap_servers": topics.bootstrap, "warehouse": warehouse}
    table = commands.run_tables(commands.TablesOptions(**asked, topic=topic), engine=engine, say=lines.append)
    audit = commands.run_audit(commands.AuditOptions(**asked, topic=audit_topic), engine=engine, say=lines.append)
    assert table.table_rows == 5
    assert audit.complete
    assert commands.read_figures(warehouse) == audit.figures
    summary = (
        "audit_events: 1 events added; complete: 1 events = 1 records, seq of 1 writers from 0 without gap or repeat"
    )
    assert lines[-1] == summary


def test_figures_of_a_warehouse_without_an_audit_are_missed_by_name(warehouse: Path) -> None:
    with pytest.raises(FileNotFoundError, match="audit_events"):
        commands.read_figures(warehouse)


def test_jars_are_fetched_and_verified(tmp_path: Path) -> None:
    paths = commands.fetch_jars(tmp_path, class_archive=False, say=lambda _: None)
    assert len(paths) == 6
    assert all(path.parent == tmp_path for path in paths)


@pytest.mark.spec("P6")
def test_rejected_records_of_a_table_that_is_not_there_are_an_error_of_each_command(warehouse: Path) -> None:
    options = commands.TablesOptions(bootstrap_servers="h:1", warehouse=warehouse, topic="t")
    with pytest.raises(StateError, match="no table t"):
        commands.list_rejected(warehouse, "t")
    with pytest.raises(StateError, match="no table t"):
        commands.show_rejected(warehouse, "t", 1, None, None)
    with pytest.raises(StateError, match="no table t"):
        commands.replay_rejected(options, None, print)


@pytest.mark.spec("P8")
def test_a_table_is_maintained(tmp_path: Path) -> None:
    for number in range(2):
        write_deltalake(str(tmp_path / "t"), pa.table({"n": [number]}), mode="append")
    (result,) = commands.maintain_table(tmp_path, "t", 128, 168, lambda _: None)
    assert (result.as_json()["files_before"], result.as_json()["files_after"]) == (2, 1)
