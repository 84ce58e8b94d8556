"""Values between the manager of transactions and its sender: what to send next, and what the response has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from signalbox.client.admin_apis.group_admin import CommittedOffset
from signalbox.client.sender.producer_batch import ProducerIdentity
from signalbox.client.transactions.transaction_reactions import Step
from signalbox.common.ids import TopicPartition
from signalbox.protocol.error_table import Error


class ConsumerGroupMetadata(NamedTuple):
    """The member of a consumer group whose offsets join a transaction (KIP-447): the coordinator rejects them once the
    member has lost its partitions. `generation_id` is -1 and `member_id` empty for a consumer that is no member."""

    group_id: str
    generation_id: int = -1
    member_id: str = ""
    group_instance_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionRequest:
    """`node_id`: the coordinator, None for any node. `identity`: producer id and epoch, None before there is one.
    `partitions` of ADD_PARTITIONS, `group` of the steps with a group, `offsets` of COMMIT_OFFSETS."""

    step: Step
    node_id: int | None
    identity: ProducerIdentity | None
    partitions: frozenset[TopicPartition] = frozenset()
    group: ConsumerGroupMetadata | None = None
    offsets: Mapping[TopicPartition, CommittedOffset] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionResponse:
    """`error` of the whole response, `errors` by partition. `node_id`: the coordinator that was looked up. `identity`:
    the producer id and epoch from now on, None if the response has none."""

    error: Error = Error.NONE
    message: str | None = None
    errors: Mapping[TopicPartition, Error] = field(default_factory=dict)
    node_id: int = -1
    identity: ProducerIdentity | None = None
