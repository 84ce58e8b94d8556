"""Three brokers on disk that are killed one after the other, and the topics of a program on them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from tools.chaos.bank.bank import finalize_transaction_version
from tools.chaos.state_reader import state_in_file

from signalbox.testing.process_cluster import ProcessCluster
from tests.system.clusters import QUICK
from tests.waiting import until

_PATIENCE_S = 120.0
_SETTINGS = {
    **QUICK,
    "transaction.state.log.num.partitions": "6",
    "min.insync.replicas": "2",
}


@dataclass(frozen=True, slots=True)
class Written:
    """A record for `ShakenCluster.write`; the partition is that of the key, as in Java, or any."""

    value: str
    key: str | None = None
    timestamp_ms: int = 0


class ShakenCluster:
    """Every topic has three replicas, two of which must be in sync. Transaction version 2 is finalized, as in a new
    cluster of Apache Kafka 4: clients that know it use it (KIP-890)."""

    def __init__(self, folder: Path, overrides: Mapping[str, str] | None = None) -> None:
        self._folder = folder / "cluster"
        self.processes = ProcessCluster(self._folder, overrides={**_SETTINGS, **(overrides or {})})
        self.kills = 0

    def __enter__(self) -> Self:
        self.processes.start()
        finalize_transaction_version(self.bootstrap, 2)
        return self

    def __exit__(self, *_: object) -> None:
        self.processes.stop()

    @property
    def bootstrap(self) -> str:
        """The addresses of the brokers that run."""
        return self.processes.bootstrap()

    def create(self, topics: Mapping[str, int]) -> None:
        """Creates topics with so many partitions, and waits until all replicas are in sync."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 2})
        new = [NewTopic(name, partitions, replication_factor=3) for name, partitions in topics.items()]
        for created in admin.create_topics(new, operation_timeout=30).values():
            created.result(60)
        self.wait_in_sync()

    def write(self, topic: str, records: Iterable[Written]) -> None:
        """Appends the records and waits until all are acknowledged."""
        producer = Producer(
            {
                "bootstrap.servers": self.bootstrap,
                "enable.idempotence": True,
                "partitioner": "murmur2_random",
                "log_level": 2,
            }
        )
        for record in records:
            producer.produce(topic, record.value, record.key, timestamp=record.timestamp_ms)
        assert producer.flush(_PATIENCE_S) == 0, f"records of {topic} are not acknowledged"

    @contextmanager
    def without(self, node_id: int) -> Iterator[None]:
        """Kills a broker (SIGKILL), and after the block starts it and waits until its replicas are in sync again."""
        self.processes.kill(node_id)
        self.kills += 1
        yield
        self.processes.start_broker(node_id)
        self.wait_in_sync()

    def wait_in_sync(self) -> None:
        """Returns when there is a controller, each broker is registered and each replica in sync."""
        with state_in_file(self._folder / "metadata.db") as state:
            until(lambda: not state.what_is_missing(len(self.processes.brokers)), "all replicas in sync", _PATIENCE_S)
