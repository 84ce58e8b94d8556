"""One call that waits for a topic, a leader or a node in the client's view of the cluster.

The wait ends at the call's deadline (DeadlinePassed), or at once when waiting cannot help: a Metadata response that is
newer than the call has a final error for the topic, or every bootstrap server rejected the client (its credentials, its
versions). UNKNOWN_TOPIC_OR_PARTITION is final only after `topic.metadata.propagation.max.ms`, since a broker may not
know a new topic yet, and never while the client may create topics.
"""

from __future__ import annotations

import asyncio

from signalbox.client.client_settings import ClientSettings
from signalbox.client.cluster.metadata_updater import MetadataUpdater
from signalbox.client.cluster.metadata_view import TopicView
from signalbox.client.connection.node import Node
from signalbox.client.failures import ClientFailure, DeadlinePassed, WrongCluster
from signalbox.client.rejections import topic_rejection
from signalbox.common.ids import TopicPartition
from signalbox.protocol.error_table import Error


class ViewWait:
    """`deadline` is a loop time."""

    def __init__(self, metadata_updater: MetadataUpdater, settings: ClientSettings, deadline: float) -> None:
        self._metadata_updater = metadata_updater
        self._settings = settings
        self._deadline = deadline
        self._began = asyncio.get_running_loop().time()
        self._old_failure = metadata_updater.final_failure

    async def for_change(self) -> bool:
        """Wait until the view changes or a backoff is over; False when the deadline has passed. ClientFailure when no
        bootstrap server accepts this client."""
        loop = asyncio.get_running_loop()
        backoff_s = self._settings.retry_backoff_ms / 1000
        await self._metadata_updater.view_changed(min(self._deadline, loop.time() + backoff_s))
        failure = self._metadata_updater.final_failure
        if failure is not None and failure is not self._old_failure:
            raise failure
        return loop.time() < self._deadline

    async def for_topic(self, name: str) -> TopicView:
        """The topic, when it exists and its partitions are known."""
        old = self._metadata_updater.view.topics.get(name)
        while True:
            topic_view = self._metadata_updater.view.topics.get(name)
            error = Error.of(topic_view.error_code) if topic_view is not None else Error.NONE
            if topic_view is not None and error == Error.NONE and topic_view.partitions:
                return topic_view
            if topic_view is not old:
                self._raise_if_final(name, error, f"topic {name}")
            self._metadata_updater.refresh_soon([name])
            if not await self.for_change():
                reason = error.name if topic_view is not None else "no metadata"
                raise self.out_of_time(f"topic {name} is not available ({reason})")

    async def for_leader(self, partition: TopicPartition) -> Node:
        """The leader of a partition, when it is usable."""
        metadata_updater = self._metadata_updater
        old = metadata_updater.view.topics.get(partition.topic)
        while True:
            leader_id = metadata_updater.view.leader_of(partition)
            node = metadata_updater.view.nodes.get(leader_id) if leader_id is not None else None
            if node is not None and metadata_updater.is_usable(node):
                return node
            topic_view = metadata_updater.view.topics.get(partition.topic)
            if topic_view is not None and topic_view is not old:
                error = Error.of(topic_view.error_code)
                if error == Error.NONE and partition.partition not in topic_view.partitions:
                    error = Error.UNKNOWN_TOPIC_OR_PARTITION
                self._raise_if_final(partition.topic, error, f"partition {partition}")
            metadata_updater.refresh_soon([partition.topic])
            if not await self.for_change():
                raise self.out_of_time(f"partition {partition} has no available leader")

    def _raise_if_final(self, topic: str, error: Error, subject: str) -> None:
        if not self._is_final(error):
            return
        self._metadata_updater.topics.discard(topic)
        raise topic_rejection(error, subject)

    def _is_final(self, error: Error) -> bool:
        if error == Error.UNKNOWN_TOPIC_OR_PARTITION:
            waited_ms = (asyncio.get_running_loop().time() - self._began) * 1000
            may_appear = self._settings.allow_auto_create_topics
            return not may_appear and waited_ms >= self._settings.topic_propagation_max_ms
        return error not in (Error.NONE, Error.UNKNOWN_SERVER_ERROR) and not error.retriable

    def out_of_time(self, operation: str, last: ClientFailure | None = None) -> DeadlinePassed:
        """The error for a deadline that passed, with the failure that caused it."""
        metadata_updater = self._metadata_updater
        cause = last or metadata_updater.last_failure
        foreign = metadata_updater.rebootstrap.foreign_cluster_id
        if metadata_updater.view.cluster_id is None and foreign is not None:
            pinned = metadata_updater.rebootstrap.cluster_policy.pinned
            cause = WrongCluster(f"the seeds lead to cluster {foreign}, pinned is {pinned}")
        failure = DeadlinePassed(f"{operation}: {cause}" if cause is not None else operation)
        failure.__cause__ = cause
        return failure
