"""Blocks of producer ids: numbers as strings, as Kafka writes them."""

from __future__ import annotations

import pytest

from signalbox.metadata.json_text import BadEntry
from signalbox.metadata.producer_id_block import BLOCK_SIZE, ProducerIdBlock, decode_producer_id_block


def test_payload_is_kafkas() -> None:
    block = ProducerIdBlock(1, 0, BLOCK_SIZE - 1)
    assert block.encode() == b'{"version":1,"broker":1,"block_start":"0","block_end":"999"}'
    assert decode_producer_id_block(block.encode()) == block


def test_no_block_yet_and_bad_ones() -> None:
    assert decode_producer_id_block(None) is None
    with pytest.raises(BadEntry, match="latest_producer_id_block"):
        decode_producer_id_block(b'{"broker":1}')
