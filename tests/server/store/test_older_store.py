"""An older store is accepted: epochs rise above all that logs and store contain, topics without an entry are listed,
their folders are kept."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from typer.testing import CliRunner, Result

from signalbox.cli.main import app
from signalbox.common.config.start_error import StartError
from signalbox.common.ids import uuid_text
from signalbox.metadata.entries.producer_id_block import IDS_SKIPPED, decode_producer_id_block
from signalbox.metadata.layout import PRODUCER_ID_BLOCK
from signalbox.testing.cluster import Cluster
from tests.server.store.older_copy import put_back

BROKERS = (1, 2)


def accept_older(folder: Path, *broker_ids: int, dry_run: bool = False) -> Result:
    files = [argument for broker_id in broker_ids for argument in ("--config", str(properties(folder, broker_id)))]
    return CliRunner().invoke(app, ["store", "accept-older", *files, *(["--dry-run"] if dry_run else [])])


def properties(folder: Path, broker_id: int) -> Path:
    """The server.properties of one of the cluster's brokers."""
    file = folder / f"broker-{broker_id}.properties"
    file.write_text(
        f"node.id={broker_id}\nlisteners=PLAINTEXT://127.0.0.1:0\n"
        f"signalbox.metadata.store=sqlite:{folder / 'metadata.db'}\nlog.dirs={data_of(folder, broker_id)}\n"
    )
    return file


def data_of(folder: Path, broker_id: int) -> Path:
    return folder / f"broker-{broker_id}"


def produce(cluster: Cluster, topic: str, values: range) -> None:
    answers: list[str] = []
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "acks": "all", "log_level": 2})
    for value in values:
        producer.produce(
            topic, str(value).encode(), partition=0, on_delivery=lambda error, _: answers.append(str(error))
        )
    assert producer.flush(30) == 0
    assert set(answers) == {"None"}


def create(cluster: Cluster, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 2})
    admin.create_topics([NewTopic(topic, 1, len(BROKERS))])[topic].result(20)


def running(folder: Path) -> Cluster:
    return Cluster(brokers=len(BROKERS), folder=folder)


@pytest.mark.spec("M3")
def test_a_cluster_continues_from_an_older_store(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = tmp_path / "metadata.db"
    with running(tmp_path) as cluster:
        create(cluster, "kept")
        produce(cluster, "kept", range(5))
    shutil.copy(store, tmp_path / "older")
    for last in (10, 15):  # leader epochs rise with each start
        with running(tmp_path) as cluster:
            produce(cluster, "kept", range(last - 5, last))
            if last == 15:
                create(cluster, "young")
                produce(cluster, "young", range(3))
                young_id = uuid_text(cluster.nodes[1].components.cache.image.topic_id("young"))
                too_early = accept_older(tmp_path, 1)
                assert too_early.exit_code == 1
                assert "is in use by another broker" in too_early.stderr
    put_back(tmp_path / "older", store)
    with pytest.raises(StartError, match="is an older copy"), running(tmp_path):
        pass

    tried = accept_older(tmp_path, *BROKERS, dry_run=True)
    assert tried.exit_code == 0, tried.stderr
    assert tried.stdout.count("would be accepted") == 2
    one = accept_older(tmp_path, 1)
    assert one.exit_code == 0, one.stderr
    assert f"topic young (topic id {young_id}) has no entry in the store, its folders are kept" in one.stdout
    assert str(data_of(tmp_path, 1) / "young-0") in one.stdout
    with pytest.raises(StartError, match="signalbox store accept-older"), running(tmp_path):
        pass  # accepting on broker 1 did not accept for broker 2
    two = accept_older(tmp_path, *BROKERS)
    assert two.exit_code == 0, two.stderr
    assert "broker 1: the store is not older than its logs" in two.stdout
    assert "broker 2: the store at incarnation=" in two.stdout

    caplog.clear()
    with running(tmp_path) as cluster:
        produce(cluster, "kept", range(15, 20))
        store_of_one = cluster.nodes[1].components.context.store
        entry = cluster.run(store_of_one.read(PRODUCER_ID_BLOCK))
        assert entry is not None
        block = decode_producer_id_block(entry.data)
        assert block is not None
        assert block.first >= IDS_SKIPPED
        assert read_values_from(cluster.bootstrap_servers, "kept", 20) == list(range(20))
        assert all((data_of(tmp_path, broker) / "young-0").is_dir() for broker in BROKERS)
        assert caplog.text.count(f"(topic=young, topic id={young_id}, partitions=young-0)") == len(BROKERS)
    assert "nothing to accept" in accept_older(tmp_path, 1).stdout


def read_values_from(bootstrap_servers: str, topic: str, count: int) -> list[int]:
    """The values of partition 0 from its start."""
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": "g", "log_level": 2})
    consumer.assign([TopicPartition(topic, 0, 0)])
    messages = consumer.consume(count, 30)
    consumer.close()
    return [int(message.value() or b"") for message in messages]


@pytest.mark.spec("M3")
def test_a_store_of_another_cluster_is_never_accepted(tmp_path: Path) -> None:
    with running(tmp_path / "one"):
        pass
    with running(tmp_path / "other"):
        pass
    put_back(tmp_path / "other" / "metadata.db", tmp_path / "one" / "metadata.db")
    result = accept_older(tmp_path / "one", 1)
    assert result.exit_code == 1
    assert "cluster.id" in result.stderr
