"""Every copy of acknowledged records destroyed: all brokers killed, all logs truncated or removed, all started.

It uses a topic of its own with two partitions, on all brokers. One partition loses the end of its log on every broker:
when all have registered, the longest log leads. The other loses the whole log: it stays offline until the operator
accepts the loss (`elect --unclean`), as happens here. Then both accept records again. Before that every broker
has saved the high watermarks, from which it can detect the loss.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from signalbox.common.ids import TopicPartition
from signalbox.storage.files.checkpoint_file import read_offsets
from signalbox.storage.files.file_names import HIGH_WATERMARK_FILE
from tools.chaos.clients import SETTINGS
from tools.chaos.destroyed_topics import TOPIC_PREFIX, DestroyedTopic
from tools.chaos.faults.directory_faults import truncate
from tools.chaos.faults.injector import Act, ClusterUnhealthy
from tools.chaos.faults.power import Power
from tools.chaos.ledger import RecordId
from tools.chaos.plan import Kind
from tools.chaos.still_topics import StillTopics

TRUNCATED, REMOVED = 0, 1
PARTITIONS = 2
RECORDS = 100  # of each partition, before the fault and once more after it
_BATCH = 10
_BEFORE, _AFTER = 0, 1  # producer ids in RecordId
_POLL_INTERVAL_S = 0.05
_TIMEOUT_S = 60.0
_ANSWER_TIMEOUT_MS = 20_000


class DestroyedCopies:
    """`topics` has a row for each time the fault was injected."""

    def __init__(self, power: Power, still_topics: StillTopics, random: Random) -> None:
        self.topics: list[DestroyedTopic] = []
        self._power = power
        self._still_topics = still_topics
        self._random = random

    def acts(self) -> Mapping[Kind, Act]:
        return {Kind.COPIES_DESTROYED: self._act}

    def _act(self, broker_id: int, hold_s: float) -> bool:
        power, topic = self._power, DestroyedTopic(f"{TOPIC_PREFIX}{len(self.topics) + 1}")
        self._create(topic.name)
        self.topics.append(topic)
        self._produce(topic, _BEFORE)
        _wait(lambda: self._high_watermarks_saved(topic.name), f"high watermarks of {topic.name} are not saved")
        with self._still_topics.held():
            power.off(power.broker_ids)
            topic.before = frozenset(topic.ledger.acknowledged)
            for each in power.broker_ids:
                truncate(TopicPartition(topic.name, TRUNCATED), self._random, power.directory(each))
                shutil.rmtree(power.directory(each) / str(TopicPartition(topic.name, REMOVED)))
            time.sleep(hold_s)
            power.on(power.broker_ids)
        _wait(lambda: self._loss_accepted(topic.name), f"no unclean election of {topic.name}-{REMOVED}")
        self._produce(topic, _AFTER)
        return False

    def _admin(self) -> Any:
        from confluent_kafka.admin import AdminClient

        bootstrap = self._power.cluster.bootstrap()
        return AdminClient({"bootstrap.servers": bootstrap, "socket.timeout.ms": _ANSWER_TIMEOUT_MS, "log_level": 2})

    def _create(self, name: str) -> None:
        """ClusterUnhealthy if a healthy cluster cannot create it."""
        from confluent_kafka import KafkaException
        from confluent_kafka.cimpl import NewTopic

        new = NewTopic(name, PARTITIONS, len(self._power.broker_ids), config={"min.insync.replicas": "2"})
        admin = self._admin()
        try:
            admin.create_topics([new])[name].result(_TIMEOUT_S)
        except KafkaException as error:
            raise ClusterUnhealthy(f"topic {name} is not created: {error}") from error

    def _produce(self, topic: DestroyedTopic, producer_id: int) -> None:
        """Several batches to each partition, so that a truncation leaves some of them. ClusterUnhealthy if one is not
        acknowledged."""
        from confluent_kafka import Producer

        producer = Producer({**SETTINGS, "bootstrap.servers": self._power.cluster.bootstrap()})
        for number in range(PARTITIONS * RECORDS):
            record = RecordId(producer_id, number)
            partition, reported = number % PARTITIONS, topic.ledger.reported(record)
            producer.produce(topic.name, record.encode(), partition=partition, on_delivery=reported)
            if number % (PARTITIONS * _BATCH) == PARTITIONS * _BATCH - 1 and producer.flush(_TIMEOUT_S):
                raise ClusterUnhealthy(f"a record of {topic.name} had no answer in {_TIMEOUT_S:.0f} s")
        if topic.ledger.rejected:
            raise ClusterUnhealthy(f"a record of {topic.name} was given up by its producer: {topic.ledger.rejected[0]}")

    def _high_watermarks_saved(self, name: str) -> bool:
        files = [str(self._power.directory(each) / HIGH_WATERMARK_FILE) for each in self._power.broker_ids]
        saved = [read_offsets(file).get(TopicPartition(name, each)) for file in files for each in range(PARTITIONS)]
        return all(high_watermark == RECORDS for high_watermark in saved)

    def _loss_accepted(self, name: str) -> bool:
        """True if an unclean election gave the partition without a log its leader."""
        from confluent_kafka import ElectionType, KafkaException
        from confluent_kafka import TopicPartition as ConfluentPartition

        admin, partition = self._admin(), ConfluentPartition(name, REMOVED)
        elected = admin.elect_leaders(ElectionType.UNCLEAN, [partition])
        try:
            return elected.result(_TIMEOUT_S)[partition] is None
        except (KafkaException, TimeoutError):  # no controller yet
            return False


def _wait(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _TIMEOUT_S
    while not holds():
        if time.monotonic() > deadline:
            raise ClusterUnhealthy(f"{what} in {_TIMEOUT_S:.0f} s")
        time.sleep(_POLL_INTERVAL_S)
