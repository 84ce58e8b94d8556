"""A run that cannot reach its cluster ends before Spark is loaded, with the key that is likely wrong."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from signalbox.cli.main import app
from signalbox.testing.cluster import Cluster

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
