"""ISR changes that the leader itself writes to the metadata store (inter.broker.protocol.version below 2.7, before
KIP-497).

Each change is one conditional write of the partition's state: the stored version must be the one that this leader
knows, and the stored state must have this leader and its leader epoch. So a leader that was replaced, or that has not
received the controller's last change, is rejected. Then the controller is notified. The state keeps the epoch of the
controller that elected the leader.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import Protocol

from signalbox.common.ids import TopicPartition
from signalbox.common.log_limiter import TransitionLog
from signalbox.metadata.entries.json_text import BadEntry
from signalbox.metadata.entries.partition_state import LeaderRecoveryState, PartitionState, decode_partition_state
from signalbox.metadata.layout import partition_state_path
from signalbox.metadata.store.port import CommitRejected, MetadataStore, StoreError, Write
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse

_log = logging.getLogger(__name__)

_MAX_CONCURRENT_WRITES = 256
_RETRY_S = 0.5  # after an error of the store: delay of the response, and so of the retry

_PartitionData = AlterPartitionRequest.PartitionData
_Result = AlterPartitionResponse.PartitionData


class Announcements(Protocol):
    """Port: notifies the controller (`isr_announcements.py`)."""

    def add(self, partitions: Iterable[TopicPartition]) -> None: ...

    async def stop(self) -> None: ...


async def _pause() -> None:
    await asyncio.sleep(_RETRY_S)


class StoredIsr:
    """`ports.AlterPartitionSender` without a controller: the responses are those of a controller."""

    def __init__(
        self, store: MetadataStore, announcements: Announcements, pause: Callable[[], Awaitable[None]] = _pause
    ) -> None:
        self._store = store
        self._announcements = announcements
        self._pause = pause
        self._task: asyncio.Task[None] | None = None
        self._transitions = TransitionLog(_log, "ISRs are stored again")

    def send(
        self, request: AlterPartitionRequest, on_response: Callable[[AlterPartitionResponse | Error], None]
    ) -> None:
        """Store the ISRs of the request. NETWORK_EXCEPTION if the store cannot be written."""
        self._task = asyncio.get_running_loop().create_task(self._store_and_respond(request, on_response))

    async def stop(self) -> None:
        """Stop storing ISRs and notifying the controller."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._announcements.stop()

    async def _store_and_respond(
        self, request: AlterPartitionRequest, on_response: Callable[[AlterPartitionResponse | Error], None]
    ) -> None:
        try:
            response: AlterPartitionResponse | Error = await self._store_all(request)
        except StoreError as error:
            self._transitions.failed(f"ISR changes cannot be stored and are retried: {error}")
            await self._pause()
            response = Error.NETWORK_EXCEPTION
        else:
            self._transitions.recovered()
        on_response(response)

    async def _store_all(self, request: AlterPartitionRequest) -> AlterPartitionResponse:
        topics = []
        for topic in request.topics:
            results: list[_Result] = []
            for start in range(0, len(topic.partitions), _MAX_CONCURRENT_WRITES):
                batch = topic.partitions[start : start + _MAX_CONCURRENT_WRITES]
                results += await asyncio.gather(
                    *(self._store_one(request.broker_id, topic.topic_name, partition_data) for partition_data in batch)
                )
            topics.append(
                AlterPartitionResponse.TopicData(
                    topic_name=topic.topic_name, topic_id=topic.topic_id, partitions=results
                )
            )
        return AlterPartitionResponse(topics=topics)

    async def _store_one(self, leader: int, topic: str, partition_data: _PartitionData) -> _Result:
        partition = TopicPartition(topic, partition_data.partition_index)
        try:
            state = await self._write(leader, partition, partition_data)
        except KafkaError as rejection:
            _log.info("%s: ISR change not stored: %s", partition, rejection)
            return _Result(partition_index=partition.partition, error_code=rejection.error)
        self._announcements.add([partition])
        return _Result(
            partition_index=partition.partition,
            error_code=Error.NONE,
            leader_id=state.leader,
            leader_epoch=state.leader_epoch,
            isr=list(state.isr),
            leader_recovery_state=state.recovery,
            partition_epoch=state.partition_epoch,
        )

    async def _write(self, leader: int, partition: TopicPartition, partition_data: _PartitionData) -> PartitionState:
        """The state with the wanted ISR, written now or before. KafkaError with AlterPartition's codes; StoreError."""
        path = partition_state_path(*partition)
        isr = tuple(broker_id.broker_id for broker_id in partition_data.new_isr_with_epochs)
        if leader not in isr:
            raise KafkaError(Error.INVALID_REQUEST, "below 2.7 no replica can take itself out of the ISR")
        for _ in range(2):  # once more after a rejection: an earlier write without a response may have succeeded
            state = await self._read(path)
            if (state.leader, state.leader_epoch) != (leader, partition_data.leader_epoch):
                raise KafkaError(Error.FENCED_LEADER_EPOCH)
            unverified = tuple(broker_id for broker_id in state.unverified if broker_id in isr)
            recovery = LeaderRecoveryState(partition_data.leader_recovery_state)
            new_state = replace(state, isr=isr, unverified=unverified, recovery=recovery)
            if new_state == state:
                return state
            if state.partition_epoch != partition_data.partition_epoch:
                break
            try:
                [written] = await self._store.commit([Write(path, new_state.encode(), state.partition_epoch)])
            except CommitRejected as rejected:
                _log.debug("%s: read again: %s", partition, rejected)
            else:
                return replace(new_state, partition_epoch=written.version)
        raise KafkaError(Error.INVALID_UPDATE_VERSION)

    async def _read(self, path: str) -> PartitionState:
        entry = await self._store.read(path)
        if entry is None:
            raise KafkaError(Error.UNKNOWN_TOPIC_OR_PARTITION)
        try:
            return decode_partition_state(path, entry.data, entry.version)
        except BadEntry as error:
            # As from the controller: the proposal is withdrawn and made again; the entry may be repaired by then.
            raise KafkaError(Error.OPERATION_NOT_ATTEMPTED, str(error)) from error
