"""Errors of Spark's workers become one sentence in every kind of run, with the record's position."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from signalbox.pipeline.engine import Engine
from signalbox.pipeline.formats.format_options import FormatOptions
from signalbox.pipeline.options import TablesOptions
from signalbox.pipeline.positions.backfill import run_backfill
from signalbox.pipeline.rejected.replay import replay_rejected
from signalbox.pipeline.sinks.delta_log import count_rows
from signalbox.pipeline.stream import PipelineError
from signalbox.pipeline.tables.run import run_tables
from tests.pipeline.json_server import JsonHandler, served
from tests.pipeline.topics import Topics

VALUE = b"\0\0\0\0\1\2"  # schema id 1, the long 1


class Registry(JsonHandler):
    """A schema registry with one subject; `status` is its response to ids, which is no error of its client's."""

    status = 200

    def do_GET(self) -> None:
        """Answers the requests of confluent-kafka's client."""
        content = {"subject": "s", "version": 1, "id": 1, "schema": '"long"', "schemaType": "AVRO"}
        if "/schemas/ids/" in self.path and Registry.status != 200:
            self.answer({"error_code": 40403, "message": "no such id"}, Registry.status)
        else:
            self.answer(content)


@pytest.fixture
def registry() -> Iterator[str]:
    with served(Registry) as url:
        yield url
    Registry.status = 200


@pytest.mark.spec("P3", "P6", "P7")
def test_a_record_that_cannot_be_decided_is_named_by_its_position(
    engine: Engine, warehouse: Path, topics: Topics, registry: str
) -> None:
    topic = topics.create("undecided", partitions=1)
    topics.fill(topic, [VALUE] * 2)
    options = TablesOptions(
        bootstrap_servers=topics.bootstrap,
        warehouse=warehouse,
        topic=topic,
        starting=f"{topic}:0:1",
        ending="latest",
        formats=FormatOptions(value_format="avro", schema_registry=registry, registry_options={"max.retries": "0"}),
    )

    def quiet(_: str) -> None:
        """Discards the lines."""

    runs: list[tuple[Callable[[], object], str]] = [
        (lambda: run_tables(options, engine=engine, say=quiet), "1"),
        (
            lambda: run_backfill(
                TablesOptions(bootstrap_servers=topics.bootstrap, warehouse=warehouse, topic=topic),
                engine=engine,
                say=quiet,
            ),
            "0",
        ),
        (lambda: replay_rejected(options, engine=engine, say=quiet), "[01]"),
    ]
    for number, (run, offset) in enumerate(runs):
        Registry.status = 500
        with pytest.raises(PipelineError, match=rf"value of topic {topic}, partition 0, offset {offset}\)$") as failure:
            run()
        assert "\n" not in str(failure.value)
        Registry.status = 404 if number < 2 else 200
        run()
    assert count_rows(warehouse / topic) == 2


@pytest.mark.spec("P7")
@pytest.mark.timeout(400)
def test_a_bounded_run_of_the_command_line_ends_without_a_traceback(
    warehouse: Path, topics: Topics, registry: str
) -> None:
    """Its session has ended when the error is printed: the text must be there by then."""
    topic = topics.create("undecided", partitions=1)
    topics.fill(topic, [VALUE])
    command = [str(Path(sys.executable).parent / "signalbox"), "pipeline", "tables", topic, "-b", topics.bootstrap]
    command += ["--warehouse", str(warehouse), "--profile", "pypi", "--memory", "512m", "--ending-offsets", "latest"]
    Registry.status = 500
    run = subprocess.run(
        [*command, "--value-format", "avro", "--schema-registry", registry],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (run.returncode, "Traceback" in run.stderr) == (1, False), run.stderr
    assert f"(value of topic {topic}, partition 0, offset 0)" in " ".join(run.stderr.split())
