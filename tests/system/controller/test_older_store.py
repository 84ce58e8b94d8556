"""A metadata store that is restored from an older copy beside newer logs: SQLite between two runs of a cluster, a real
ZooKeeper under running brokers. Brokers do not use it before an operator accepts it; then no acknowledged record is
lost."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from typer.testing import CliRunner, Result

from signalbox.cli.main import app
from signalbox.testing.process_cluster import ClusterFailed, ProcessCluster
from signalbox.testing.zookeeper import ZooKeeperServer, ensemble
from tests.server.store.older_copy import put_back
from tests.server.store.test_older_store import read_values_from
from tests.system import provision
from tests.system.clusters import QUICK
from tests.waiting import until

pytestmark = [pytest.mark.timeout(240), pytest.mark.spec("M3")]
BROKERS = (1, 2)


def produce(cluster: ProcessCluster, values: range) -> None:
    answers: list[str] = []
    producer = Producer({"bootstrap.servers": cluster.bootstrap(), "acks": "all", "log_level": 2})
    for value in values:
        producer.produce(
            "kept", str(value).encode(), partition=0, on_delivery=lambda error, _: answers.append(str(error))
        )
    assert producer.flush(60) == 0
    assert set(answers) == {"None"}


def create(cluster: ProcessCluster, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap(), "log_level": 2})
    admin.create_topics([NewTopic(topic, 1, len(BROKERS))])[topic].result(60)
    for broker in cluster.brokers.values():
        until((broker.folder / "data" / f"{topic}-0").is_dir, f"the log of {topic}-0 on {broker.name}")


def accept_older(cluster: ProcessCluster) -> Result:
    files = [part for each in cluster.brokers.values() for part in ("--config", str(each.properties_file))]
    return CliRunner().invoke(app, ["store", "accept-older", *files])


def has_ended(cluster: ProcessCluster, broker_id: int) -> bool:
    process = cluster.brokers[broker_id].process
    return process is not None and process.poll() is not None


def goes_on(cluster: ProcessCluster) -> None:
    """The cluster on the older store: rejected, accepted, and in sync again."""
    with pytest.raises(ClusterFailed, match="is an older copy"):
        cluster.start_broker(1)
    accepted = until(partial(successful, cluster), "the sessions of the stopped brokers have ended")
    assert "topic young (topic id " in accepted.stdout
    cluster.start()
    produce(cluster, range(10, 15))
    assert read_values_from(cluster.bootstrap(), "kept", 15) == list(range(15))
    for broker in cluster.brokers.values():
        assert (broker.folder / "data" / "young-0").is_dir()
        assert "Topic has logs but no entry in the metadata store (topic=young" in broker.log_file.read_text()


def successful(cluster: ProcessCluster) -> Result | None:
    result = accept_older(cluster)
    assert result.exit_code == 0 or "live brokers" in result.stderr, result.stderr
    return result if result.exit_code == 0 else None


def test_sqlite_put_back_between_two_lives(tmp_path: Path) -> None:
    store, older = tmp_path / "metadata.db", tmp_path / "older"
    cluster = ProcessCluster(tmp_path, len(BROKERS), overrides=QUICK)
    with cluster:
        create(cluster, "kept")
        produce(cluster, range(5))
    shutil.copy(store, older)
    with cluster:
        produce(cluster, range(5, 10))
        create(cluster, "young")
    put_back(older, store)
    try:
        goes_on(cluster)
    finally:
        cluster.stop()


def test_zookeeper_restored_under_running_brokers(tmp_path: Path) -> None:
    """No controller is elected between the copy and the restore: the controller epoch alone would not show the
    difference."""
    provision.zookeeper()
    with ensemble(tmp_path / "ensemble") as (server,):
        overrides = {
            **QUICK,
            "signalbox.metadata.store": f"zookeeper:{server.address}/signalbox",
            "zookeeper.session.timeout.ms": "2000",
        }
        cluster = ProcessCluster(tmp_path / "cluster", len(BROKERS), overrides=overrides)
        with cluster:
            create(cluster, "kept")
            produce(cluster, range(5))
        copied = tmp_path / "copied"
        copy_data(server, copied)
        with cluster:
            produce(cluster, range(5, 10))
            create(cluster, "young")
            server.kill()
            shutil.rmtree(server.data_folder / "version-2")
            shutil.copytree(copied, server.data_folder / "version-2")
            server.start()
            server.wait()
            for broker_id in BROKERS:
                until(partial(has_ended, cluster, broker_id), f"broker {broker_id} stops")
                text = cluster.brokers[broker_id].log_file.read_text()
                assert "Node cannot continue and stops: signalbox.metadata.store=zookeeper:" in text
                assert "is an older copy" in text
        try:
            goes_on(cluster)
        finally:
            cluster.stop()


def copy_data(server: ZooKeeperServer, to: Path) -> None:
    """Copies the data directory of a server, which is stopped meanwhile."""
    server.kill()
    shutil.copytree(server.data_folder / "version-2", to)
    server.start()
    server.wait()
