"""Blocks of producer ids: numbers as strings, as Kafka writes them."""

from __future__ import annotations

import pytest

from signalbox.metadata.entries.json_text import BadEntry
from signalbox.metadata.entries.producer_id_block import (
    BLOCK_SIZE,
    IDS_SKIPPED,
    ProducerIdBlock,
    above_later_blocks,
    decode_producer_id_block,
)


def test_payload_is_kafkas() -> None:
    block = ProducerIdBlock(1, 0, BLOCK_SIZE - 1)
    assert block.encode() == b'{"version":1,"broker":1,"block_start":"0","block_end":"999"}'
    assert decode_producer_id_block(block.encode()) == block


def test_no_block_yet_and_bad_ones() -> None:
    assert decode_producer_id_block(None) is None
    with pytest.raises(BadEntry, match="latest_producer_id_block"):
        decode_producer_id_block(b'{"broker":1}')


@pytest.mark.spec("D4")
@pytest.mark.parametrize("data", [None, b"", ProducerIdBlock(3, 5000, 5999).encode()])
def test_the_ids_of_an_older_copy_begin_above_those_given_out_after_it(data: bytes | None) -> None:
    before, block = decode_producer_id_block(data), decode_producer_id_block(above_later_blocks(data))
    assert block is not None
    assert block.first - (before.first if before else 0) == IDS_SKIPPED
    assert block.last - block.first == BLOCK_SIZE - 1


def test_a_block_that_cannot_be_read_stays_as_it_is() -> None:
    assert above_later_blocks(b"?") == b"?"
