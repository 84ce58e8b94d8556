"""Changes of leaders and replicas: ElectLeaders, Alter- and ListPartitionReassignments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from signalbox.client.admin_apis.admin_call import AdminCall, AdminResult, result_of
from signalbox.client.rejections import rejection_of
from signalbox.common.ids import TopicPartition, numbers_by_topic
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from signalbox.protocol.messages.elect_leaders import ElectLeadersRequest
from signalbox.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest

_PREFERRED, _UNCLEAN = 0, 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Reassignment:
    """A reassignment in progress; `replicas` are the present ones, including those in `adding` and `removing`."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


class PartitionAdmin(AdminCall):
    async def elect_leaders(
        self,
        partitions: Sequence[TopicPartition] | None = None,
        *,
        unclean: bool = False,
        timeout_ms: float | None = None,
    ) -> dict[str, AdminResult]:
        """Elect preferred leaders, or with `unclean` any replica for partitions without a leader. With None (all
        partitions) there are results only for partitions that needed an election."""
        if partitions is None:
            return await self._elect(None, unclean, timeout_ms)

        async def attempt(remaining: list[TopicPartition], left_ms: float) -> Iterable[AdminResult]:
            return (await self._elect(remaining, unclean, left_ms)).values()

        return await self._each(partitions, attempt, str, timeout_ms)

    async def _elect(
        self, partitions: Sequence[TopicPartition] | None, unclean: bool, timeout_ms: float | None
    ) -> dict[str, AdminResult]:
        message_type = ElectLeadersRequest.TopicPartitions
        topics = [
            message_type(topic=name, partitions=numbers) for name, numbers in numbers_by_topic(partitions or ()).items()
        ]
        request = ElectLeadersRequest(
            election_type=_UNCLEAN if unclean else _PREFERRED,
            topic_partitions=None if partitions is None else topics,
            timeout_ms=self._wire_timeout_ms(self.client.settings.api_timeout_ms if timeout_ms is None else timeout_ms),
        )
        response = await self._ask(request, timeout_ms)
        return {
            name: result_of(name, partition_result.error_code, partition_result.error_message)
            for topic in response.replica_election_results
            for partition_result in topic.partition_result
            for name in [str(TopicPartition(topic.topic, partition_result.partition_id))]
        }

    async def reassign_partitions(
        self,
        replicas_by_partition: Mapping[TopicPartition, Sequence[int] | None],
        *,
        allow_replication_factor_change: bool = True,
        timeout_ms: float | None = None,
    ) -> dict[str, AdminResult]:
        """Begin to move partitions to these brokers, the preferred leader first; None cancels a reassignment. Success
        means that the reassignment has begun: `list_reassignments` shows when it has ended."""
        message_type = AlterPartitionReassignmentsRequest

        async def attempt(remaining: list[TopicPartition], left_ms: float) -> list[AdminResult]:
            def topic(name: str, numbers: Iterable[int]) -> AlterPartitionReassignmentsRequest.ReassignableTopic:
                targets = {number: replicas_by_partition[TopicPartition(name, number)] for number in numbers}
                return message_type.ReassignableTopic(
                    name=name,
                    partitions=[
                        message_type.ReassignablePartition(
                            partition_index=number, replicas=None if brokers is None else list(brokers)
                        )
                        for number, brokers in targets.items()
                    ],
                )

            request = message_type(
                timeout_ms=self._wire_timeout_ms(left_ms),
                allow_replication_factor_change=allow_replication_factor_change,
                topics=[topic(name, numbers) for name, numbers in numbers_by_topic(remaining).items()],
            )
            response = await self.client.request_any(request, timeout_ms=left_ms)
            if response.error_code and not response.responses:
                raise rejection_of(Error.of(response.error_code), response.error_message)
            return [
                result_of(
                    str(TopicPartition(topic.name, partition_result.partition_index)),
                    partition_result.error_code,
                    partition_result.error_message,
                )
                for topic in response.responses
                for partition_result in topic.partitions
            ]

        return await self._each(list(replicas_by_partition), attempt, str, timeout_ms)

    async def list_reassignments(
        self, partitions: Sequence[TopicPartition] | None = None, *, timeout_ms: float | None = None
    ) -> dict[TopicPartition, Reassignment]:
        """Reassignments in progress, all or those of `partitions`."""
        message_type = ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics
        topics = [
            message_type(name=name, partition_indexes=numbers)
            for name, numbers in numbers_by_topic(partitions or ()).items()
        ]
        request = ListPartitionReassignmentsRequest(topics=None if partitions is None else topics)
        response = await self._ask(request, timeout_ms)
        return {
            TopicPartition(topic.name, partition_result.partition_index): Reassignment(
                replicas=tuple(partition_result.replicas),
                adding=tuple(partition_result.adding_replicas),
                removing=tuple(partition_result.removing_replicas),
            )
            for topic in response.topics
            for partition_result in topic.partitions
        }
