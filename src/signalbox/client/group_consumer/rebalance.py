"""One rebalance of a member: JoinGroup, the assignment if this member is the leader, SyncGroup; retried until it has
its partitions. The application's part (what is revoked and assigned) is `group_consumer`'s.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Iterable
from typing import Any

from signalbox.client.cluster_client import ClusterClient
from signalbox.client.failures import ClientFailure
from signalbox.client.group_consumer.group_requests import GroupRequests
from signalbox.client.group_consumer.group_settings import GroupConsumerSettings
from signalbox.client.group_consumer.member_subscription import (
    MemberSubscription,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from signalbox.client.group_consumer.membership import NO_MEMBER_ID, Membership, Reaction, Step, reaction_to
from signalbox.client.group_consumer.range_assignor import ASSIGNORS, assignors_of
from signalbox.client.rejections import RequestRejected, is_final, rejection_of
from signalbox.common.ids import TopicPartition
from signalbox.protocol.error_table import Error

log = logging.getLogger("signalbox.client")


class Rebalance:
    """For one member. The leader remembers the topics that it assigned: when they change, it joins again.
    `has_member_id` is set when the coordinator has given the member its id."""

    def __init__(
        self, client: ClusterClient, requests: GroupRequests, membership: Membership, settings: GroupConsumerSettings
    ) -> None:
        self._client = client
        self._requests = requests
        self._membership = membership
        self._settings = settings
        self._assignors = assignors_of(settings.partition_assignment_strategy)
        self.has_member_id = asyncio.Event()
        self._watched: frozenset[str] = frozenset()
        self._assigned_counts: dict[str, int] = {}

    async def run(
        self, topics: frozenset[str], owned: frozenset[TopicPartition], reason: str | None = None
    ) -> frozenset[TopicPartition] | None:
        """The partitions of this member; None when it has lost those that it owned, and must join again without them.

        ClientFailure when an error is final: wrong credentials, no right on the group, a fenced instance id."""
        self._watched = frozenset()
        assigned_in = self._membership.generation  # a generation that it joins and does not sync has assigned nothing
        tries = 0
        while True:
            try:
                assigned, reaction = await self._attempt(topics, owned, assigned_in, reason)
            except ClientFailure as failure:
                if is_final(failure):
                    raise
                log.info("Rebalance of group %s is retried: %s", self._settings.group_id, failure)
                assigned, reaction = None, Reaction.RETRY
            if assigned is not None:
                return assigned
            if self._membership.lost or reaction is Reaction.REJOIN_WITHOUT_GENERATION:
                return None
            tries = tries + 1 if reaction in (Reaction.RETRY, Reaction.FIND_COORDINATOR) else 0
            await self._client.pause(tries, self._client.deadline())

    async def _attempt(
        self, topics: frozenset[str], owned: frozenset[TopicPartition], assigned_in: int, reason: str | None
    ) -> tuple[frozenset[TopicPartition] | None, Reaction]:
        membership = self._membership
        if membership.member_id == NO_MEMBER_ID:
            self.has_member_id.clear()
        mine = MemberSubscription(
            member_id=membership.member_id,
            topics=topics,
            owned=owned,
            generation=assigned_in,
            rack=self._settings.client_rack,
        )
        metadata = encode_subscription(mine)
        protocols = [(assignor.name, metadata) for assignor in self._assignors]
        joined = await self._held_back(self._requests.join(protocols, reason))
        reaction = self._react(Step.JOIN, Error.of(joined.error_code), joined.member_id)
        if reaction is not Reaction.ACCEPT:
            return None, reaction
        membership.joined(joined.member_id, joined.generation_id, joined.protocol_name)
        self.has_member_id.set()
        joined_as = membership.identity
        assignments = await self._assignments(joined) if joined.leader == joined.member_id else {}
        synced = await self._held_back(self._requests.sync(assignments))
        if membership.identity != joined_as:  # a commit or heartbeat has found out that the generation is over
            return None, Reaction.REJOIN_WITHOUT_GENERATION
        reaction = self._react(Step.SYNC, Error.of(synced.error_code))
        if reaction is not Reaction.ACCEPT:
            return None, reaction
        try:
            assigned = decode_assignment(bytes(synced.assignment))
        except ValueError as error:
            raise self._inconsistent(Step.SYNC, f"the assignment is not readable: {error}") from error
        membership.synced()
        return assigned, reaction

    async def _held_back(self, response: Awaitable[Any]) -> Any:
        """A response for which the coordinator waits until other members have sent their requests."""
        self._membership.waits = True
        try:
            return await response
        finally:
            self._membership.waits = False

    def _react(self, step: Step, error: Error, member_id: str = "") -> Reaction:
        reaction = reaction_to(step, error)
        if reaction is Reaction.FAIL:
            raise rejection_of(error, f"{step.value} of group {self._settings.group_id}: {error.message}")
        if reaction is Reaction.FIND_COORDINATOR:
            self._requests.coordinator_moved()
        self._membership.react(reaction, member_id)
        if reaction is Reaction.TAKE_MEMBER_ID:
            self.has_member_id.set()
        return reaction

    async def _assignments(self, joined: Any) -> dict[str, bytes]:
        """The assignment of every member, by this one as the leader. Empty when the group keeps the current one, after
        the return of a static member (KIP-814)."""
        try:
            members = [
                decode_subscription(row.member_id, row.group_instance_id, bytes(row.metadata)) for row in joined.members
            ]
        except ValueError as error:
            raise self._inconsistent(Step.JOIN, f"the subscription of a member is not readable: {error}") from error
        topics = frozenset(topic for member in members for topic in member.topics)
        counts = await self._partition_counts(topics)
        self._watched, self._assigned_counts = topics, counts
        if joined.skip_assignment:
            return {}
        assignor = ASSIGNORS.get(joined.protocol_name or "")
        if assignor is None:
            raise self._inconsistent(Step.JOIN, f"this member has no assignor {joined.protocol_name!r}")
        assigned = assignor.assign(counts, members)
        return {member_id: encode_assignment(partitions) for member_id, partitions in assigned.items()}

    def _inconsistent(self, step: Step, problem: str) -> RequestRejected:
        """The final error for what the coordinator or another member must not send."""
        text = f"{step.value} of group {self._settings.group_id}: {problem}"
        return rejection_of(Error.INCONSISTENT_GROUP_PROTOCOL, text)

    async def _partition_counts(self, topics: Iterable[str]) -> dict[str, int]:
        """The number of partitions of each topic that exists, when Metadata of all of them has arrived."""
        wanted = sorted(topics)
        updater = self._client.metadata_updater
        deadline = self._client.deadline(self._settings.session_timeout_ms)
        updater.refresh_soon(wanted)  # a leader watches the topics of all members
        while not all(topic in updater.view.topics for topic in wanted):
            updater.refresh_soon(wanted)
            await updater.view_changed(min(deadline, asyncio.get_running_loop().time() + 0.1))
            if asyncio.get_running_loop().time() >= deadline:
                break
        return self._counts_now(wanted)

    def _counts_now(self, topics: Iterable[str]) -> dict[str, int]:
        """The number of partitions by topic in the client's view; topics that do not exist are left out."""
        view = self._client.view.topics
        return {topic: len(view[topic].partitions) for topic in topics if topic in view and view[topic].partitions}

    def counts_changed(self) -> bool:
        """Whether a topic that this member assigned as the leader has appeared, disappeared or got partitions. Topics
        with another error (it may pass, or this member may not describe them) are taken as unchanged."""
        view = self._client.view.topics
        certain = (Error.NONE, Error.UNKNOWN_TOPIC_OR_PARTITION)
        known = [topic for topic in self._watched if topic in view and view[topic].error_code in certain]
        counts = self._counts_now(known)
        return any(counts.get(topic) != self._assigned_counts.get(topic) for topic in known)
