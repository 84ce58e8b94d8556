"""Commits and reads the offsets of a group, retried until a deadline.

A commit that the coordinator rejects because the member is no longer in the group, or because a rebalance has begun, is
CommitFailed: another member may have the partitions, so the records are processed again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from signalbox.client.admin_apis.admin_call import left_ms
from signalbox.client.admin_apis.group_admin import CommittedOffset
from signalbox.client.cluster_client import ClusterClient
from signalbox.client.failures import ClientFailure
from signalbox.client.group_consumer.group_requests import GroupRequests
from signalbox.client.group_consumer.membership import Membership, Reaction, Step, reaction_to
from signalbox.client.rejections import CommitFailed, UnknownTopic, is_final, rejection_of
from signalbox.common.ids import TopicPartition
from signalbox.protocol.error_table import Error

_RETRIED = (Reaction.RETRY, Reaction.FIND_COORDINATOR)


class CommittedOffsets:
    """The committed offsets of the member's group."""

    def __init__(self, client: ClusterClient, requests: GroupRequests, membership: Membership) -> None:
        self._client = client
        self._requests = requests
        self._membership = membership

    async def commit(
        self,
        offsets: Mapping[TopicPartition, int | CommittedOffset],
        deadline: float,
        maybe_deleted: Collection[TopicPartition] = (),
    ) -> None:
        """CommitFailed, another RequestRejected for a final error, DeadlinePassed or the last failure.

        That the coordinator does not know a partition is retriable, but not for those that are `maybe_deleted`:
        UnknownTopic when the others are committed."""
        remaining = {
            partition: row if isinstance(row, CommittedOffset) else CommittedOffset(row, -1, "")
            for partition, row in offsets.items()
        }
        unknown: list[TopicPartition] = []
        tries = 0
        while remaining:
            if not self._membership.is_member:
                raise CommitFailed(Error.UNKNOWN_MEMBER_ID, "offset commit: the consumer is not a member of the group")
            failure: ClientFailure
            sender = self._membership.identity
            try:
                codes = await self._requests.commit(remaining, left_ms(deadline))
                rejected = {partition: Error.of(code) for partition, code in codes.items() if code != Error.NONE}
                for partition in rejected.keys() & set(maybe_deleted):
                    if rejected[partition] == Error.UNKNOWN_TOPIC_OR_PARTITION:
                        unknown.append(partition)
                        del rejected[partition]
                if not rejected:
                    break
                failure = self._commit_failure(rejected, sender)
                remaining = {partition: row for partition, row in remaining.items() if partition in rejected}
            except ClientFailure as error:
                failure = error
            tries += 1
            await self._before_retry(failure, tries, deadline)
        if unknown:
            text = f"offset commit of {', '.join(map(str, sorted(unknown)))}: the coordinator does not know the topic"
            raise UnknownTopic(Error.UNKNOWN_TOPIC_OR_PARTITION, text)

    def _commit_failure(self, rejected: Mapping[TopicPartition, Error], sender: tuple[str, int]) -> ClientFailure:
        """The failure of a response, the final ones first; the membership changes with it, unless the member has
        joined a newer generation since it sent the commit."""
        reactions = {partition: reaction_to(Step.COMMIT, error) for partition, error in rejected.items()}
        partition = min(rejected, key=lambda row: reactions[row] in _RETRIED)
        error, reaction = rejected[partition], reactions[partition]
        if reaction is Reaction.FIND_COORDINATOR:
            self._requests.coordinator_moved()
        if reaction in _RETRIED or reaction is Reaction.FAIL:
            return rejection_of(error, f"offset commit of {partition}: {error.message}")
        if self._membership.identity == sender:
            self._membership.react(reaction)
        return CommitFailed(error, f"offset commit of {partition}: {error.message}")

    async def committed(
        self, partitions: Iterable[TopicPartition], deadline: float
    ) -> dict[TopicPartition, CommittedOffset]:
        """The committed offset of each partition that has one."""
        remaining = sorted(set(partitions))
        tries = 0
        while remaining:
            failure: ClientFailure
            try:
                code, topics = await self._requests.committed(remaining, left_ms(deadline))
                error, found = _read(code, topics)
                if error == Error.NONE:
                    return found
                if reaction_to(Step.COMMIT, error) is Reaction.FIND_COORDINATOR:
                    self._requests.coordinator_moved()
                failure = rejection_of(error, f"committed offsets: {error.message}")
            except ClientFailure as lost:
                failure = lost
            tries += 1
            await self._before_retry(failure, tries, deadline)
        return {}

    async def _before_retry(self, failure: ClientFailure, tries: int, deadline: float) -> None:
        """The retry backoff; raises `failure` when it is final, or the deadline has passed."""
        if is_final(failure):
            raise failure
        await self._client.pause(tries, deadline)
        if asyncio.get_running_loop().time() >= deadline:
            raise failure


def _read(code: int, topics: list[Any]) -> tuple[Error, dict[TopicPartition, CommittedOffset]]:
    """(the first error, the committed offsets)."""
    found = {}
    for topic in topics:
        for row in topic.partitions:
            code = code or row.error_code
            if row.committed_offset >= 0:
                found[TopicPartition(topic.name, row.partition_index)] = CommittedOffset(
                    row.committed_offset, row.committed_leader_epoch, row.metadata
                )
    return Error.of(code), found
