"""The commands of `signalbox` against Apache Kafka 4.4: records, groups, quotas, log directories, features, health, and
the errors of wrong listeners."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer
from typer.testing import CliRunner, Result

from signalbox.cli.main import app
from tests.system.doctor.apache_cluster import ApacheCluster
from tests.system.provision import command, jars
from tests.waiting import until

NEEDS = (partial(command, "mvn"), partial(jars, "kafka44"))
pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]
Run = Callable[..., Result]


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheCluster]:
    with ApacheCluster("kafka44", tmp_path_factory.mktemp("kafka")) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def run(kafka: ApacheCluster) -> Run:
    def execute(*arguments: str, lines: str | None = None, code: int = 0) -> Result:
        result = CliRunner(env={"SIGNALBOX_BOOTSTRAP": kafka.entry("CLIENT")}).invoke(app, arguments, input=lines)
        assert result.exit_code == code, result.output
        return result

    return execute


def document(result: Result) -> Any:
    return json.loads(result.stdout)


@pytest.fixture(scope="module")
def topic(run: Run) -> str:
    """A topic with five records in each of two partitions, which the group `readers` has read."""
    run("topic", "create", "flights", "--partitions", "2", "--replication-factor", "3")
    until(lambda: len(document(run("topic", "describe", "flights", "--json"))["partitions"]) == 2)
    for partition in "01":
        lines = "".join(f"key:{number}\n" for number in range(5))
        run("produce", "-t", "flights", "-p", partition, "-K", ":", "-z", "zstd", "-H", "a=b", lines=lines)
    run("consume", "-t", "flights", "-G", "readers", "-e")
    return "flights"


def test_records(run: Run, topic: str) -> None:
    printed = run("consume", "-t", topic, "-e", "-o", "-1", "-f", r"%t %p %o %k=%s %h\n").stdout
    assert sorted(printed.splitlines()) == [f"{topic} {partition} 4 key=4 a=b" for partition in "01"]
    assert run("consume", "-t", topic, "-p", "1", "-o", "3", "-c", "1").stdout == "3\n"
    assert run("consume", "-t", topic, "-e", "-o", "@2030-01-01").stdout == ""


def test_lag_and_new_offsets(run: Run, topic: str) -> None:
    rows = document(run("group", "lag", "readers", "--json"))
    assert [(row["committed"], row["end"], row["lag"]) for row in rows] == [(5, 5, 0)] * 2
    assert "repeat the command" in run("group", "reset-offsets", "readers", "--shift-by", "-2").stdout
    run("group", "reset-offsets", "readers", "--shift-by", "-2", "-t", f"{topic}:0", "--execute")
    assert [row["lag"] for row in document(run("group", "lag", "readers", "--json"))] == [2, 0]
    run("group", "reset-offsets", "others", "--to-earliest", "-t", topic, "--execute")
    assert {row["lag"] for row in document(run("group", "lag", "others", "--json"))} == {5}
    assert "group never-seen does not exist" in run("group", "lag", "never-seen", code=1).stderr
    assert {"readers", "others"} <= {row["group"] for row in document(run("group", "list", "--json"))}


def test_a_group_of_another_protocol_is_shown_without_its_members(kafka: ApacheCluster, run: Run, topic: str) -> None:
    """KIP-848, which DescribeGroups does not know."""
    settings = {"bootstrap.servers": kafka.entry("CLIENT"), "group.id": "newer", "group.protocol": "consumer"}
    consumer = Consumer(settings)
    consumer.subscribe([topic])
    until(lambda: consumer.poll(0.1) is None and bool(consumer.assignment()), "an assignment")
    described = run("group", "describe", "newer")
    assert "newer has the protocol `consumer`: its members are not shown" in described.stderr
    assert document(run("group", "lag", "newer", "--json")) == []
    assert "readers" in run("group", "lag").stdout
    assert (
        "offsets can be reset when it has no members"
        in run("group", "reset-offsets", "newer", "-t", topic, "--to-earliest", code=1).output
    )
    consumer.close()


def test_quotas(run: Run) -> None:
    assert run("quota", "alter", "--user", "alice", "producer_byte_rate=1000000").stdout == "user=alice: changed\n"
    until(lambda: document(run("quota", "describe", "--user", "alice", "--json")))
    assert "producer_byte_rate" in run("quota", "describe").stdout
    run("quota", "alter", "--user", "alice", "producer_byte_rate=")
    until(lambda: not document(run("quota", "describe", "--json")))


def test_log_directories_and_deleted_records(run: Run, topic: str) -> None:
    directories = document(run("log-dirs", "-t", topic, "--json"))
    assert [row["broker"] for row in directories["log_dirs"]] == [1, 2, 3]
    assert all(row["usable_bytes"] > 0 for row in directories["log_dirs"])
    assert len(directories["replicas"]) == 6
    run("topic", "create", "trimmed", "--partitions", "1")
    until(lambda: document(run("topic", "describe", "trimmed", "--json"))["partitions"])
    run("produce", "-t", "trimmed", lines="a\nb\nc\n")
    assert document(run("delete-records", "trimmed", "0:2", "--json"))[0]["first_offset"] == 2
    assert run("consume", "-t", "trimmed", "-e").stdout == "c\n"


def test_features(run: Run) -> None:
    rows = {row["feature"]: row for row in document(run("features", "describe", "--json"))["rows"]}
    assert rows["metadata.version"]["finalized"] > 0
    level = rows["transaction.version"]["finalized"]
    assert level == 2
    assert "would be changed" in run("features", "downgrade", "transaction.version=1", "--dry-run").stdout
    assert run("features", "upgrade", "transaction.version=99", "--dry-run", code=1).stderr
    run("features", "downgrade", "transaction.version=1")
    run("features", "upgrade", f"transaction.version={level}")


def test_health(run: Run, topic: str) -> None:
    def described() -> dict[str, Any]:
        health: dict[str, Any] = document(run("cluster", "describe", "--json"))
        return health

    until(lambda: described()["health"] == "healthy")
    assert [row["broker"] for row in described()["brokers"]] == [1, 2, 3]
    assert described()["troubled_partitions"] == []
    assert run("cluster", "id").stdout.strip() == described()["cluster_id"]
    printed = run("config", "describe", f"topic:{topic}", "--all").stdout
    assert "retention.ms" in printed


@pytest.mark.parametrize(
    ("listener", "keys", "hint"),
    [
        ("TLS", {}, "set security.protocol to SSL or SASL_SSL"),
        ("TLS", {"security.protocol": "SSL"}, "set ssl.truststore.location"),
        ("SASL", {}, "another security.protocol than PLAINTEXT"),
        ("CLIENT", {"security.protocol": "SSL"}, "may not speak TLS"),
    ],
)
def test_a_wrong_listener_is_named_quickly(
    kafka: ApacheCluster, tmp_path: Path, listener: str, keys: dict[str, str], hint: str
) -> None:
    file = tmp_path / "client.properties"
    patient = dict.fromkeys(("default.api.timeout.ms", "socket.connection.setup.timeout.ms"), "60000")
    file.write_text("".join(f"{key}={value}\n" for key, value in {**patient, **keys}.items()))
    began = time.monotonic()
    arguments = ["topic", "list", "-b", kafka.entry(listener), "--command-config", str(file)]
    result = CliRunner().invoke(app, arguments)
    assert (result.exit_code, result.stdout) == (1, "")
    assert hint in result.stderr, result.stderr
    assert time.monotonic() - began < 30, "the error ends the command, and no deadline"


def test_a_login_and_a_rejected_login(kafka: ApacheCluster, tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    text = "".join(f"{key}={value}\n" for key, value in kafka.properties("SCRAM").items())
    file.write_text(text)
    arguments = ["topic", "list", "-b", kafka.entry("SCRAM"), "--command-config", str(file)]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    file.write_text(text.replace("alice-has", "mallory-has"))
    rejected = CliRunner().invoke(app, arguments)
    assert rejected.exit_code == 1
    assert "Check sasl.mechanism and the user and password" in rejected.stderr
