"""The contract of every `CoordinatorLog`: subclass it, implement `open_log`, and the tests run against your log."""

from __future__ import annotations

import asyncio

import pytest

from signalbox.broker.api_request import as_future
from signalbox.coordinator.ports import CoordinatorLog
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.records.batch_header import iter_batch_headers
from signalbox.protocol.records.record_batch import Record, decode_records, encode_batch


def batch_of(*keys: str) -> bytearray:
    return bytearray(encode_batch([Record(key=key.encode(), value=b"v", timestamp=1) for key in keys]))


class CoordinatorLogContract:
    """Partition 0 is led at epoch 5 when `open_log` returns; partition 1 is led by another broker."""

    async def open_log(self) -> CoordinatorLog:
        raise TypeError("a subclass opens its log here")

    def test_an_empty_partition_begins_and_ends_at_the_same_offset(self) -> None:
        async def run() -> None:
            log = await self.open_log()
            assert log.start_offset(0) == log.end_offset(0)
            assert bytes(log.read(0, log.end_offset(0), 1_000)) == b""

        asyncio.run(run())

    def test_what_was_appended_is_read_in_order_with_offsets_and_epoch(self) -> None:
        async def run() -> None:
            log = await self.open_log()
            start = log.start_offset(0)
            waits = [log.append(0, 5, batch_of("a", "b")), log.append(0, 5, batch_of("c"))]
            for wait in waits:
                await as_future(wait)
            assert log.end_offset(0) == start + 3
            read = bytes(log.read(0, start, 1_000_000))
            assert [(record.offset, record.key) for record in decode_records(read)] == [
                (start, b"a"),
                (start + 1, b"b"),
                (start + 2, b"c"),
            ]
            assert {header.partition_leader_epoch for header in iter_batch_headers(memoryview(read))} == {5}

        asyncio.run(run())

    def test_a_read_gives_at_least_one_whole_batch(self) -> None:
        async def run() -> None:
            log = await self.open_log()
            start = log.start_offset(0)
            await as_future(log.append(0, 5, batch_of("a", "b")))
            await as_future(log.append(0, 5, batch_of("c")))
            first = list(decode_records(bytes(log.read(0, start, 1)), allow_partial_tail=True))
            assert [record.key for record in first] == [b"a", b"b"]
            inside = list(decode_records(bytes(log.read(0, start + 1, 1)), allow_partial_tail=True))
            assert inside[0].offset <= start + 1 <= inside[-1].offset

        asyncio.run(run())

    @pytest.mark.parametrize(("partition", "leader_epoch"), [(1, 5), (0, 4), (0, 6)])
    def test_only_the_leader_of_that_epoch_may_append(self, partition: int, leader_epoch: int) -> None:
        async def run() -> None:
            log = await self.open_log()
            with pytest.raises(KafkaError) as rejection:
                await as_future(log.append(partition, leader_epoch, batch_of("a")))
            assert rejection.value.error is Error.NOT_LEADER_OR_FOLLOWER

        asyncio.run(run())

    def test_a_partition_led_elsewhere_cannot_be_read(self) -> None:
        async def run() -> None:
            log = await self.open_log()
            with pytest.raises(KafkaError) as rejection:
                log.end_offset(1)
            assert rejection.value.error is Error.NOT_LEADER_OR_FOLLOWER

        asyncio.run(run())
