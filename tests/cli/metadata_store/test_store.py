"""`signalbox store`: the metadata of a stopped cluster is copied, backed up and restored, and the cluster runs
again."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from typer.testing import CliRunner, Result

from signalbox.cli.main import app
from signalbox.common.config.start_error import StartError
from signalbox.metadata.layout import UNFINISHED_COPY
from signalbox.metadata.store.port import Create
from signalbox.metadata.store.sqlite import SqliteMetadataStore
from signalbox.testing.cluster import Cluster


def store(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["store", *map(str, arguments)])


def produced(cluster: Cluster, topic: str) -> str:
    """The error of one record that is produced with acks=all."""
    answers: list[str] = []
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "acks": "all", "log_level": 2})
    producer.produce(topic, b"x", on_delivery=lambda error, _: answers.append(str(error)))
    assert producer.flush(20) == 0
    return answers[0]


def test_a_cluster_continues_from_its_copy_and_from_its_backup(tmp_path: Path) -> None:
    folder = tmp_path / "cluster"
    first = f"sqlite:{folder / 'metadata.db'}"
    with Cluster(brokers=2, folder=folder) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 2})
        admin.create_topics([NewTopic("kept", 2, 2)])["kept"].result(20)
        cluster_id = cluster.nodes[1].components.cluster_id
        running = store("copy", "--from", first, "--to", f"sqlite:{tmp_path / 'too-early.db'}")
        assert running.exit_code == 1
        assert "live brokers (1, 2)" in running.stderr
        backed_up = store("backup", "--from", first, tmp_path / "backup.jsonl", "--json")
        assert backed_up.exit_code == 0, backed_up.stderr
        assert json.loads(backed_up.stdout)["file"] == str(tmp_path / "backup.jsonl")
        again = store("backup", "--from", first, tmp_path / "backup.jsonl")
        assert (again.exit_code, "backup.jsonl exists already" in again.stderr) == (1, True)
    for second, arguments in (
        ("copied.db", ("copy", "--from", first)),
        ("restored.db", ("restore", tmp_path / "backup.jsonl")),
    ):
        target = f"sqlite:{tmp_path / second}"
        tried = store(*arguments, "--to", target, "--dry-run")
        assert "would be written" in tried.stdout, tried.stderr
        counted = json.loads(store(*arguments, "--to", target, "--dry-run", "--json").stdout)
        assert (counted["cluster_id"], counted["dry_run"]) == (cluster_id, True)
        done = store(*arguments, "--to", target)
        assert done.exit_code == 0, done.stderr
        assert f"cluster {cluster_id}:" in done.stdout
        with Cluster(brokers=2, folder=folder, overrides={"signalbox.metadata.store": target}) as cluster:
            assert cluster.nodes[1].components.cluster_id == cluster_id
            assert produced(cluster, "kept") == "None"


def test_what_is_wrong_is_one_line(tmp_path: Path) -> None:
    missing = store("copy", "--from", f"sqlite:{tmp_path / 'no.db'}", "--to", f"sqlite:{tmp_path / 'new.db'}")
    assert (missing.exit_code, missing.stderr) == (1, f"{tmp_path / 'no.db'} is not there\n")
    assert not (tmp_path / "no.db").exists()
    unknown = store("copy", "--from", "etcd:x", "--to", "sqlite:y")
    assert "signalbox.metadata.store" in unknown.stderr
    (tmp_path / "garbage").write_text("x")
    assert "no backup" in store("restore", tmp_path / "garbage", "--to", f"sqlite:{tmp_path / 'new.db'}").stderr


def test_no_broker_starts_on_half_a_copy(tmp_path: Path) -> None:
    async def mark() -> None:
        half = SqliteMetadataStore(tmp_path / "half.db")
        await half.commit([Create(UNFINISHED_COPY, b'{"version":1,"cluster_id":"x"}')])
        await half.close()

    asyncio.run(mark())
    overrides = {"signalbox.metadata.store": f"sqlite:{tmp_path / 'half.db'}"}
    with pytest.raises(StartError, match=r"metadata\.store.*not finished"):
        Cluster(brokers=1, folder=tmp_path, overrides=overrides).start()
