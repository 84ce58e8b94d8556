"""`signalbox up --drill` with clients that log in over TLS: faults of requests by command line reach them, too."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from signalbox.client.sync.sync_client import SyncClient
from signalbox.protocol.error_table import KafkaError
from signalbox.testing.kafka_cluster.certificate_files import CertificateFiles, write_certificates
from signalbox.testing.kafka_cluster.client_config import ClientConfig

pytestmark = [pytest.mark.spec("R7"), pytest.mark.timeout(180)]

_SIGNALBOX = Path(sys.executable).with_name("signalbox")
_LOGIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="secret";'


def signalbox(*arguments: str) -> str:
    run = subprocess.run([_SIGNALBOX, *arguments], capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


@pytest.fixture
def files(tmp_path: Path) -> CertificateFiles:
    return write_certificates(tmp_path)


@pytest.fixture
def config(tmp_path: Path, files: CertificateFiles) -> Iterator[ClientConfig]:
    """How clients connect to one broker behind a relay, with a topic `orders`."""
    keys = {
        "listener.security.protocol.map": "CLIENT:SASL_SSL,REPLICATION:PLAINTEXT,CONTROL:PLAINTEXT",
        "listener.name.client.ssl.keystore.location": str(files.broker),
        "listener.name.client.ssl.keystore.type": "PEM",
        "listener.name.client.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.client.plain.sasl.jaas.config": _LOGIN,
    }
    overrides = [text for key, value in keys.items() for text in ("--override", f"{key}={value}")]
    data = ["--data", str(tmp_path / "data")]
    up = signalbox(
        "up", "--drill", "--brokers", "1", "--port", "0", "--topic", "orders:1", "--detach", *data, *overrides
    )
    [ready] = [line for line in up.splitlines() if line.startswith("bootstrap.servers=")]
    servers = ready.removeprefix("bootstrap.servers=").split()[0]
    yield ClientConfig(
        bootstrap_servers=servers, security="SASL_SSL", mechanism="PLAIN", user="alice", password="secret",
        authority=files.authority,
    )  # fmt: skip
    signalbox("down", *data)


def test_faults_of_requests_reach_clients_with_tls_and_sasl(config: ClientConfig, tmp_path: Path) -> None:
    data = ["--data", str(tmp_path / "data")]
    with SyncClient(config.settings()) as client, client.producer() as producer:
        assert producer.send("orders", b"one").result(60).offset == 0
        signalbox("drill", "answer", "Produce", "TOPIC_AUTHORIZATION_FAILED", "--topic", "orders", *data)
        with pytest.raises(KafkaError, match="TOPIC_AUTHORIZATION_FAILED"):
            producer.send("orders", b"two").result(60)
        signalbox("drill", "clear", *data)
        signalbox("drill", "answer", "Produce", "NOT_ENOUGH_REPLICAS", "--times", "2", *data)
        assert producer.send("orders", b"three").result(60).offset == 1


def test_a_fault_of_one_listener_leaves_the_other_one_alone(tmp_path: Path) -> None:
    data = ["--data", str(tmp_path / "data")]
    options = ["--brokers", "1", "--port", "0", "--topic", "orders:1", "--listener", "EXTERNAL=PLAINTEXT"]
    signalbox("up", "--drill", "--detach", *options, *data)
    rows = json.loads(signalbox("drill", "list", "--json", *data))["addresses"]
    address = {row["listener"]: row["address"] for row in rows}
    fault = ("answer", "Produce", "TOPIC_AUTHORIZATION_FAILED", "--times", "all", "--listener", "EXTERNAL")
    signalbox("drill", *fault, *data)
    results = {}
    for name in ("CLIENT", "EXTERNAL"):
        with SyncClient.of(address[name]) as client, client.producer() as producer:
            try:
                results[name] = str(producer.send("orders", b"x").result(60).offset)
            except KafkaError as error:
                results[name] = error.error.name
    signalbox("down", *data)
    assert results == {"CLIENT": "0", "EXTERNAL": "TOPIC_AUTHORIZATION_FAILED"}
