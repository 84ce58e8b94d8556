"""Builds the components of transactions: the coordinator over the replicas of `__transaction_state`, with channels to
the leaders, and the verification of this broker's partitions, with channels to the coordinators."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from signalbox.broker.producer_ids import ProducerIdBlocks
from signalbox.broker.transactions.transaction_verifier import TransactionVerifier
from signalbox.broker.transactions.transactional_produce import TransactionalProduce, VerificationSettings
from signalbox.client.inter_broker.transaction_channels import TransactionChannels
from signalbox.common.ids import TopicPartition
from signalbox.common.internal_topics import TRANSACTIONS_TOPIC
from signalbox.common.waiting.promise import Promise
from signalbox.configuration.dynamic_broker_config import DynamicBrokerConfig
from signalbox.coordinator.config_rows import TRANSACTION_RUNTIME_KEYS, RuntimeSettings, TransactionSettings
from signalbox.coordinator.group_coordinator import partition_for
from signalbox.coordinator.ports import Timer
from signalbox.coordinator.runtime import CoordinatorRuntime, ShardType
from signalbox.coordinator.transaction.markers.marker_sender import MarkerSender
from signalbox.coordinator.transaction.transaction_records import TransactionRecordSerde
from signalbox.coordinator.transaction.transaction_shard import TransactionShard, register_transaction_metrics
from signalbox.coordinator.transaction_coordinator import TransactionCoordinator
from signalbox.metadata.cache import MetadataCache
from signalbox.metadata.entries.feature_levels import TRANSACTION_VERSION
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.replication.replica_manager import ReplicaManager
from signalbox.wiring.coordinator_log import ReplicatedCoordinatorLog
from signalbox.wiring.leader_channels import LeaderConnector
from signalbox.wiring.node_context import NodeContext


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionComponents:
    """`coordinator` is that of this broker; `verifier` asks the coordinators of all brokers."""

    coordinator: TransactionCoordinator
    verifier: TransactionVerifier
    produce: TransactionalProduce
    verification_channels: TransactionChannels


def build_transactions(
    context: NodeContext, replicas: ReplicaManager, producer_ids: ProducerIdBlocks, connector: LeaderConnector
) -> TransactionComponents:
    """Returns the components; the coordinator coordinates nothing before its first election."""
    channels = TransactionChannels(connector.locate, context.cluster_id, "transaction verification")
    verifier = TransactionVerifier(channels, CoordinatorsInMetadata(context.cache), context.clock)
    verifier.register_metrics(context.metrics)
    return TransactionComponents(
        coordinator=open_transaction_coordinator(context, replicas, producer_ids, connector),
        verifier=verifier,
        produce=TransactionalProduce(replicas, verifier, verification_settings(context.dynamic)),
        verification_channels=channels,
    )


def verification_settings(dynamic: DynamicBrokerConfig) -> VerificationSettings:
    """Verification is switched on and off while the broker runs."""
    retry_backoff_ms = dynamic.values["add.partitions.to.txn.retry.backoff.ms"]
    retry_for_ms = dynamic.values["add.partitions.to.txn.retry.backoff.max.ms"]
    assert isinstance(retry_backoff_ms, int)
    assert isinstance(retry_for_ms, int)
    return VerificationSettings(
        lambda: bool(dynamic.values["transaction.partition.verification.enable"]), retry_backoff_ms, retry_for_ms
    )


def open_transaction_coordinator(
    context: NodeContext, replicas: ReplicaManager, producer_ids: ProducerIdBlocks, connector: LeaderConnector
) -> TransactionCoordinator:
    """It coordinates nothing before its first election."""
    values, cache = context.config.values, context.cache
    deadlines = replicas.scheduler.deadlines
    settings = TransactionSettings.read(values)
    runtime_settings = RuntimeSettings.read(values, TRANSACTION_RUNTIME_KEYS)

    def level() -> int:
        return cache.image.features.levels.get(TRANSACTION_VERSION, 0)

    def make_shard(partition: int, timer: Timer) -> TransactionShard:
        return TransactionShard(
            timer, deadlines.clock, settings, level, lambda entry: coordinator.send_markers(partition, entry)
        )

    # Twice the runtime's own deadline: the runtime times out first and knows that the batch may still commit.
    log = ReplicatedCoordinatorLog(replicas, TRANSACTIONS_TOPIC, 2 * runtime_settings.commit_timeout_ms)
    runtime = CoordinatorRuntime(
        log, ShardType(make_shard, TransactionRecordSerde(level)), deadlines, context.scheduler, runtime_settings
    )
    channels, slow_channels = (
        TransactionChannels(connector.locate, context.cluster_id, sender)
        for sender in ("transaction coordinator", "transaction coordinator (partitions that timed out)")
    )
    markers = MarkerSender(channels, slow_channels, LeadersInMetadata(cache), deadlines)
    register_transaction_metrics(context.metrics, runtime.active_shards, markers)
    coordinator = TransactionCoordinator(
        runtime,
        markers,
        PromisedProducerIds(producer_ids),
        replace(settings, partition_count=context.config["transaction.state.log.num.partitions"]),
        cache,
    )
    coordinator.abort_timed_out_every(settings.abort_timed_out_interval_ms, deadlines)
    return coordinator


class CoordinatorsInMetadata:
    """Implements `CoordinatorOf` of the verifier: the broker that coordinates a transactional id, if there is one."""

    def __init__(self, cache: MetadataCache) -> None:
        self._cache = cache

    def __call__(self, transactional_id: str) -> int | None:
        topic = self._cache.image.topics.get(TRANSACTIONS_TOPIC)
        if topic is None or not topic.partitions:
            return None
        partition = topic.partitions.get(partition_for(transactional_id, len(topic.partitions)))
        return partition.leader if partition is not None and self._cache.is_alive(partition.leader) else None


class LeadersInMetadata:
    """Implements `LeaderOf` of the marker sender. A broker that is not alive leads nothing: another is elected soon."""

    def __init__(self, cache: MetadataCache) -> None:
        self._cache = cache

    def __call__(self, partition: TopicPartition) -> int | None:
        leader = self._cache.leader_of(partition)
        if leader is None:
            return None
        return leader[0] if self._cache.is_alive(leader[0]) else -1


class PromisedProducerIds:
    """Implements `coordinator/ports.ProducerIds` with the broker's blocks of producer ids."""

    def __init__(self, blocks: ProducerIdBlocks) -> None:
        self._blocks = blocks
        self._tasks: set[asyncio.Task[int]] = set()

    def next(self) -> Promise[int]:
        promise: Promise[int] = Promise()

        def settle(done: asyncio.Task[int]) -> None:
            self._tasks.discard(done)
            failure = None if done.cancelled() else done.exception()
            if done.cancelled():
                promise.fail(KafkaError(Error.COORDINATOR_LOAD_IN_PROGRESS))
            elif isinstance(failure, Exception):
                promise.fail(failure)
            else:
                promise.complete(done.result())

        task = asyncio.get_running_loop().create_task(self._blocks.next(), name="a producer id")
        self._tasks.add(task)
        task.add_done_callback(settle)
        return promise
