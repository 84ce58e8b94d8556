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
from signalbox.common.transition_log import TransitionLog
from signalbox.metadata.json_text import BadEntry
from signalbox.metadata.layout import partition_state_path
from signalbox.metadata.partition_state import LeaderRecoveryState, PartitionState, decode_partition_state
from signalbox.metadata.store.port import CommitRejected, MetadataStore, StoreError, Write
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse

_log = logging.getLogger(__name__)

_WRITES_AT_ONCE = 256
_RETRY_S = 0.5  # after an error of the store: delay of the response, and so of the retry

_Wanted = AlterPartitionRequest.PartitionData
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
        self._storing: asyncio.Task[None] | None = None
        self._trouble = TransitionLog(_log, "ISRs are stored again")

    def send(self, request: AlterPartitionRequest, on_answer: Callable[[AlterPartitionResponse | Error], None]) -> None:
        """Store the ISRs of the request. NETWORK_EXCEPTION if the store cannot be written."""
        self._storing = asyncio.get_running_loop().create_task(self._answer(request, on_answer))

    async def stop(self) -> None:
        """Stop storing ISRs and notifying the controller."""
        if self._storing is not None:
            self._storing.cancel()
            await asyncio.gather(self._storing, return_exceptions=True)
        await self._announcements.stop()

    async def _answer(
        self, request: AlterPartitionRequest, on_answer: Callable[[AlterPartitionResponse | Error], None]
    ) -> None:
        try:
            answer: AlterPartitionResponse | Error = await self._store_all(request)
        except StoreError as error:
            self._trouble.met(f"ISR changes cannot be stored and are retried: {error}")
            await self._pause()
            answer = Error.NETWORK_EXCEPTION
        else:
            self._trouble.over()
        on_answer(answer)

    async def _store_all(self, request: AlterPartitionRequest) -> AlterPartitionResponse:
        topics = []
        for topic in request.topics:
            results: list[_Result] = []
            for start in range(0, len(topic.partitions), _WRITES_AT_ONCE):
                wanted = topic.partitions[start : start + _WRITES_AT_ONCE]
                results += await asyncio.gather(
                    *(self._store_one(request.broker_id, topic.topic_name, each) for each in wanted)
                )
            topics.append(
                AlterPartitionResponse.TopicData(
                    topic_name=topic.topic_name, topic_id=topic.topic_id, partitions=results
                )
            )
        return AlterPartitionResponse(topics=topics)

    async def _store_one(self, leader: int, topic: str, wanted: _Wanted) -> _Result:
        partition = TopicPartition(topic, wanted.partition_index)
        try:
            state = await self._write(leader, partition, wanted)
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

    async def _write(self, leader: int, partition: TopicPartition, wanted: _Wanted) -> PartitionState:
        """The state with the wanted ISR, written now or before. KafkaError with AlterPartition's codes; StoreError."""
        path = partition_state_path(*partition)
        isr = tuple(member.broker_id for member in wanted.new_isr_with_epochs)
        if leader not in isr:
            raise KafkaError(Error.INVALID_REQUEST, "below 2.7 no replica can take itself out of the ISR")
        for _ in range(2):  # once more after a rejection: an earlier write without a response may have succeeded
            state = await self._look(path)
            if (state.leader, state.leader_epoch) != (leader, wanted.leader_epoch):
                raise KafkaError(Error.FENCED_LEADER_EPOCH)
            unverified = tuple(member for member in state.unverified if member in isr)
            recovery = LeaderRecoveryState(wanted.leader_recovery_state)
            after = replace(state, isr=isr, unverified=unverified, recovery=recovery)
            if after == state:
                return state
            if state.partition_epoch != wanted.partition_epoch:
                break
            try:
                [outcome] = await self._store.commit([Write(path, after.encode(), state.partition_epoch)])
            except CommitRejected as rejected:
                _log.debug("%s: read again: %s", partition, rejected)
            else:
                return replace(after, partition_epoch=outcome.version)
        raise KafkaError(Error.INVALID_UPDATE_VERSION)

    async def _look(self, path: str) -> PartitionState:
        entry = await self._store.read(path)
        if entry is None:
            raise KafkaError(Error.UNKNOWN_TOPIC_OR_PARTITION)
        try:
            return decode_partition_state(path, entry.data, entry.version)
        except BadEntry as error:
            # As from the controller: the proposal is withdrawn and made again; the entry may be repaired by then.
            raise KafkaError(Error.OPERATION_NOT_ATTEMPTED, str(error)) from error
