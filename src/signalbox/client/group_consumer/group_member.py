"""What an application may know of a member of a group: its id, its generation, and both for a transaction (KIP-447)."""

from __future__ import annotations

import logging

from signalbox.client.group_consumer.group_settings import GroupConsumerSettings
from signalbox.client.group_consumer.membership import Membership
from signalbox.client.transactions.transaction_request import ConsumerGroupMetadata

log = logging.getLogger("signalbox.client")


class GroupMember:
    """Base class of GroupConsumer, whose `poll` calls `_note_joined` after each rebalance."""

    def __init__(self, settings: GroupConsumerSettings) -> None:
        self._settings = settings
        self._membership = Membership(settings.group_instance_id)
        self._group_metadata = ConsumerGroupMetadata(settings.group_id, group_instance_id=settings.group_instance_id)

    @property
    def member_id(self) -> str:
        """The id that the coordinator gave this member; empty while it is no member."""
        return self._membership.member_id

    @property
    def generation(self) -> int:
        """The group's generation that this member is in, -1 while it is no member."""
        return self._membership.generation

    def group_metadata(self) -> ConsumerGroupMetadata:
        """This member as the last `poll` left it, for `Producer.send_offsets_to_transaction`: if a rebalance has ended
        since, or the membership was lost, the coordinator rejects the offsets."""
        return self._group_metadata

    def _note_joined(self, partition_count: int) -> None:
        """`poll` returns records of the assignment in this generation from now on, of so many partitions."""
        settings = self._settings
        self._group_metadata = ConsumerGroupMetadata(
            settings.group_id, self.generation, self.member_id, settings.group_instance_id
        )
        details = settings.group_id, self.generation, partition_count
        log.info("Member joined group %s (generation=%d, partitions=%d)", *details)
