"""The requests of a transactional producer, one by one, to the only broker of a cluster."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from signalbox.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from signalbox.protocol.messages.end_txn import EndTxnRequest
from signalbox.protocol.messages.init_producer_id import InitProducerIdRequest
from signalbox.protocol.messages.list_offsets import ListOffsetsRequest
from signalbox.protocol.messages.offset_fetch import OffsetFetchRequest
from signalbox.protocol.messages.produce import ProduceRequest
from signalbox.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from signalbox.protocol.records.record_batch import Record, encode_batch
from tests.system.wire import Wire
from tests.waiting import until

PASSING = (
    Error.COORDINATOR_LOAD_IN_PROGRESS,
    Error.COORDINATOR_NOT_AVAILABLE,
    Error.NOT_COORDINATOR,
    Error.CONCURRENT_TRANSACTIONS,
)


class TransactionalRequests:
    """Of one transactional id; its group has the same name. `producer`: the id and epoch of the last `init`."""

    def __init__(self, wire: Wire, name: str, topic: str, timeout_ms: int = 60_000) -> None:
        self._wire, self._name, self._topic, self._timeout_ms = wire, name, topic, timeout_ms
        self.producer = (-1, -1)
        self._sequence = 0

    def init(self) -> Error:
        """Repeated while the coordinator is being loaded or ends an earlier transaction."""
        message = InitProducerIdRequest(transactional_id=self._name, transaction_timeout_ms=self._timeout_ms)

        def answered() -> Any:
            response = self._wire.ask(ApiKey.INIT_PRODUCER_ID, 5, message)
            return None if response.error_code in PASSING else response

        response = until(answered, f"a producer id for {self._name}")
        self.producer, self._sequence = (response.producer_id, response.producer_epoch), 0
        return Error.of(response.error_code)

    def add(self, partitions: Iterable[int] = (0,)) -> Error:
        topic = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name=self._topic, partitions=list(partitions))
        message = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self._name,
            v3_and_below_producer_id=self.producer[0],
            v3_and_below_producer_epoch=self.producer[1],
            v3_and_below_topics=[topic],
        )
        response = self._wire.ask(ApiKey.ADD_PARTITIONS_TO_TXN, 3, message)
        return Error.of(response.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code)

    def produce(self, partitions: Iterable[int] = (0,)) -> Error:
        """One record for each partition; the first error."""
        batch = encode_batch(
            [Record(value=b"in a transaction")],
            timestamp_ms=time.time_ns() // 1_000_000,
            producer_id=self.producer[0],
            producer_epoch=self.producer[1],
            base_sequence=self._sequence,
            transactional=True,
        )
        data = [ProduceRequest.PartitionProduceData(index=index, records=batch) for index in partitions]
        message = ProduceRequest(
            transactional_id=self._name,
            acks=-1,
            timeout_ms=30_000,
            topic_data=[ProduceRequest.TopicProduceData(name=self._topic, partition_data=data)],
        )
        self._sequence += 1
        response = self._wire.ask(ApiKey.PRODUCE, 11, message)
        codes = [partition.error_code for partition in response.responses[0].partition_responses]
        return Error.of(next((code for code in codes if code), Error.NONE))

    def add_offsets(self) -> Error:
        message = AddOffsetsToTxnRequest(
            transactional_id=self._name,
            producer_id=self.producer[0],
            producer_epoch=self.producer[1],
            group_id=self._name,
        )
        return Error.of(self._wire.ask(ApiKey.ADD_OFFSETS_TO_TXN, 4, message).error_code)

    def commit_offsets(self) -> Error:
        partition = TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=7)
        message = TxnOffsetCommitRequest(
            transactional_id=self._name,
            group_id=self._name,
            producer_id=self.producer[0],
            producer_epoch=self.producer[1],
            topics=[TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic(name=self._topic, partitions=[partition])],
        )

        def answered() -> Any:
            response = self._wire.ask(ApiKey.TXN_OFFSET_COMMIT, 4, message)
            error = Error.of(response.topics[0].partitions[0].error_code)
            return None if error in PASSING else (error,)

        (error,) = until(answered, f"offsets of {self._name}")
        assert isinstance(error, Error)
        return error

    def end(self, *, committed: bool) -> Error:
        message = EndTxnRequest(
            transactional_id=self._name,
            producer_id=self.producer[0],
            producer_epoch=self.producer[1],
            committed=committed,
        )
        return Error.of(self._wire.ask(ApiKey.END_TXN, 4, message).error_code)

    def committed_offset(self) -> int:
        """The group's stable offset; -1 without one."""
        topic = OffsetFetchRequest.OffsetFetchRequestTopic(name=self._topic, partition_indexes=[0])
        message = OffsetFetchRequest(group_id=self._name, topics=[topic], require_stable=True)

        def stable() -> Any:
            response = self._wire.ask(ApiKey.OFFSET_FETCH, 7, message)
            partition = response.topics[0].partitions[0]
            return None if response.error_code or partition.error_code else (partition.committed_offset,)

        (offset,) = until(stable, f"a stable offset of {self._name}")
        return int(offset)


def end_offsets(wire: Wire, topic: str, partitions: Iterable[int], *, stable: bool) -> dict[int, int]:
    """The last stable offset or the high watermark of each partition."""
    rows = [ListOffsetsRequest.ListOffsetsPartition(partition_index=index, timestamp=-1) for index in partitions]
    message = ListOffsetsRequest(
        replica_id=-1,
        isolation_level=int(stable),
        topics=[ListOffsetsRequest.ListOffsetsTopic(name=topic, partitions=rows)],
    )
    [found] = wire.ask(ApiKey.LIST_OFFSETS, 7, message).topics
    return {row.partition_index: row.offset for row in found.partitions}
