"""ISR changes that the leader writes into the metadata store by itself (inter.broker.protocol.version below 2.7, before
KIP-497).

Each is one write of the partition's state that names the version which this leader knows, on top of a state that still
names it and its leader epoch: whoever was deposed, or does not know of the controller's last word, is refused. What was
written is announced to the controller afterwards. The state keeps the epoch of the controller that chose the leader.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import Protocol

from signalbox.common.ids import TopicPartition
from signalbox.common.lasting_trouble import LastingTrouble
from signalbox.metadata.json_text import BadEntry
from signalbox.metadata.layout import partition_state_path
from signalbox.metadata.partition_state import LeaderRecoveryState, PartitionState, decode_partition_state
from signalbox.metadata.store.port import CommitRefused, MetadataStore, StoreError, Write
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse

_log = logging.getLogger(__name__)

_WRITES_AT_ONCE = 256
_RETRY_S = 0.5  # what the store did not take is answered, and so asked again, after this

_Wanted = AlterPartitionRequest.PartitionData
_Result = AlterPartitionResponse.PartitionData


class Announcements(Protocol):
    """Who tells the controller (`isr_announcements.py`)."""

    def add(self, partitions: Iterable[TopicPartition]) -> None: ...

    async def stop(self) -> None: ...


async def _pause() -> None:
    await asyncio.sleep(_RETRY_S)


class StoredIsr:
    """`ports.AlterPartitionSender` without a controller: the answers are those that a controller would give."""

    def __init__(
        self, store: MetadataStore, announcements: Announcements, pause: Callable[[], Awaitable[None]] = _pause
    ) -> None:
        self._store = store
        self._announcements = announcements
        self._pause = pause
        self._storing: asyncio.Task[None] | None = None
        self._trouble = LastingTrouble(_log, "ISRs are stored again")

    def send(self, request: AlterPartitionRequest, on_answer: Callable[[AlterPartitionResponse | Error], None]) -> None:
        """Store what the request asks for. NETWORK_EXCEPTION when the store cannot be written."""
        self._storing = asyncio.get_running_loop().create_task(self._answer(request, on_answer))

    async def stop(self) -> None:
        """Store and announce nothing any more."""
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
            self._trouble.met(f"ISRs are not stored until the store takes them: {error}")
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
        except KafkaError as refusal:
            _log.info("%s: its ISR is not stored: %s", partition, refusal)
            return _Result(partition_index=partition.partition, error_code=refusal.error)
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
        """The state with what is wanted, however it came there. KafkaError with AlterPartition's codes; StoreError."""
        path = partition_state_path(*partition)
        isr = tuple(member.broker_id for member in wanted.new_isr_with_epochs)
        for _ in range(2):  # who is refused looks once more: an earlier try whose answer was lost may have come late
            state = await self._look(path)
            if (state.leader, state.leader_epoch) != (leader, wanted.leader_epoch):
                raise KafkaError(Error.FENCED_LEADER_EPOCH)
            after = replace(state, isr=isr, recovery=LeaderRecoveryState(wanted.leader_recovery_state))
            if after == state:
                return state
            if state.partition_epoch != wanted.partition_epoch:
                break
            try:
                [outcome] = await self._store.commit([Write(path, after.encode(), state.partition_epoch)])
            except CommitRefused as refused:
                _log.debug("%s: looked at once more: %s", partition, refused)
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
            # As the controller says: the proposal is taken back and comes again, and the entry may be mended by then.
            raise KafkaError(Error.OPERATION_NOT_ATTEMPTED, str(error)) from error
