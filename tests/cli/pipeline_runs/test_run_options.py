"""Options of the commands with a Spark run."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest
import typer
from typer.testing import CliRunner, Result

from signalbox.cli.main import app
from signalbox.cli.pipeline_runs.run_options import position_of, reported_run, seconds_of, spark_options
from signalbox.pipeline.events import PipelineEvent, Step
from signalbox.testing.cluster import Cluster


@pytest.mark.spec("P9")
@pytest.mark.parametrize(
    ("text", "seconds"), [(None, None), ("10s", 10), ("500ms", 0.5), ("2m", 120), ("1h", 3600), ("1.5", 1.5)]
)
def test_intervals(text: str | None, seconds: float | None) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["soon", "10 s", "-1s", "s"])
def test_other_intervals_end_the_command(text: str) -> None:
    with pytest.raises(typer.Exit):
        seconds_of(text)


@pytest.mark.spec("P7")
def test_a_position_comes_from_offsets_or_a_time() -> None:
    assert position_of("starting", None, None) is None
    assert position_of("starting", "latest", None) == "latest"
    assert position_of("ending", None, "1795719600000") == "@1795719600000"


@pytest.mark.spec("P9")
def test_settings_of_spark_are_passed_through_and_win() -> None:
    assert spark_options(None, False) == {}
    assert spark_options(["spark.a=b=c"], True) == {"spark.ui.enabled": "true", "spark.a": "b=c"}
    assert spark_options(["spark.ui.enabled=false"], True) == {"spark.ui.enabled": "false"}


@pytest.mark.spec("P9")
def test_a_run_reports_lines_and_metrics(capsys: pytest.CaptureFixture[str]) -> None:
    with reported_run(as_json=True, metrics_port=0) as report:
        done = PipelineEvent(
            step=Step.BATCH_DONE, pipeline="t", batch_id=0, rows=4, dead_rows=0, consumed_records=4, known_records=4
        )
        report.listener(done)
        captured = capsys.readouterr()
        assert captured.out == ""
        address = re.search(r"metrics: (http://127.0.0.1:\d+/metrics)", captured.err)
        assert address is not None
        assert b'signalbox_pipeline_rows_total{table="t"} 4.0' in urlopen(address[1], timeout=60).read()


TLS = "security.protocol=SSL\n"
LOGIN = (
    "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
    'sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="b";\n'
)


@pytest.fixture(scope="module")
def addresses() -> Iterator[dict[str, str]]:
    """An address of each listener of a broker, of its metrics page, and of nothing."""
    with Cluster(brokers=1, overrides={"signalbox.metrics.http.port": "0"}) as cluster:
        described = cluster.nodes[1].describe()
        page = str(described["metrics"]).split("/")[2]
        yield {**described["listeners"], "metrics": page, "nothing": "127.0.0.1:1"}


def tables(folder: Path, bootstrap: str, properties: str = "", *options: str) -> Result:
    file = folder / "client.properties"
    file.write_text(properties)
    arguments = ("pipeline", "tables", "t", "--warehouse", str(folder / "lake"), "-b", bootstrap)
    return CliRunner().invoke(app, [*arguments, "--command-config", str(file), *options])


@pytest.mark.spec("P9")
@pytest.mark.parametrize(
    ("listener", "properties", "hint"),
    [
        ("CLIENT", TLS, "The listener may not speak TLS"),
        ("CLIENT", LOGIN, "set security.protocol to PLAINTEXT"),
        ("CONTROL", "", "The listener does not serve clients"),
        ("metrics", "", "take the port of a broker's listener"),
        ("nothing", "", "Nothing listens at this port"),
    ],
)
def test_a_permanent_error_has_a_hint(
    addresses: dict[str, str], tmp_path: Path, listener: str, properties: str, hint: str
) -> None:
    result = tables(tmp_path, addresses[listener], properties)
    assert result.exit_code == 1
    assert hint in result.stderr
    assert not (tmp_path / "lake").exists()


@pytest.mark.spec("P9")
def test_it_loads_neither_spark_nor_librdkafka(tmp_path: Path) -> None:
    code = (
        "import atexit, sys; atexit.register(lambda: print({'pyspark', 'confluent_kafka'} & set(sys.modules)));"
        "from signalbox.cli.main import run; run()"
    )
    command = ["pipeline", "tables", "t", "--warehouse", str(tmp_path / "lake"), "-b", "127.0.0.1:1"]
    done = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "set()\n"), done.stderr


@pytest.mark.spec("P9")
@pytest.mark.parametrize(
    ("properties", "options", "fault"),
    [("security.protocol=SLL\n", (), "security.protocol is 'SLL'"), ("", ("--starting-offsets", "x"), "'x'")],
)
def test_faults_of_the_options_come_first(
    tmp_path: Path, properties: str, options: tuple[str, ...], fault: str
) -> None:
    result = tables(tmp_path, "127.0.0.1:1", properties, *options)
    assert result.exit_code != 0
    assert fault in result.stderr
    assert "could not connect" not in result.stderr
