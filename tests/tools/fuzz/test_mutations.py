from __future__ import annotations

import random

import crc32c
import pytest
from tools.fuzz.any_request import AnyRequest
from tools.fuzz.mutations import MUTATIONS, lying_batch, wrong_magic

from signalbox.protocol.api_table import API_TABLE, ApiKey

LYING = {"lying size", "another protocol"}


def request_frame() -> bytes:
    frame = AnyRequest(random.Random(1)).frame(API_TABLE[ApiKey.PRODUCE], 9, 1)
    return len(frame).to_bytes(4) + frame


@pytest.mark.parametrize("name", MUTATIONS)
def test_the_size_is_right_unless_it_is_the_lie(name: str) -> None:
    frame, random_ = request_frame(), random.Random(name)
    changed = 0
    for _ in range(200):
        wire = MUTATIONS[name][1](frame, random_)
        changed += wire != frame
        assert (int.from_bytes(wire[:4]) == len(wire) - 4) == (name not in LYING)
    assert (changed > 0) == (name != "untouched")


@pytest.mark.parametrize("name", MUTATIONS)
def test_the_shortest_frame_bears_every_mutation(name: str) -> None:
    shortest = (10).to_bytes(4) + b"\0\x12\0\0\0\0\0\x01\xff\xff"
    random_ = random.Random(name)
    assert all(isinstance(MUTATIONS[name][1](shortest, random_), bytes) for _ in range(200))


def test_a_lying_batch_has_a_right_checksum() -> None:
    frame, random_ = request_frame(), random.Random(3)
    at = frame.find(b"\xff\xff\xff\xff\x02") - 12
    assert at > 0
    seen = set()
    for _ in range(50):
        batch = lying_batch(frame, random_)[at:]
        size = 12 + int.from_bytes(batch[8:12])
        assert crc32c.crc32c(batch[21:size]) == int.from_bytes(batch[17:21])
        seen.add(batch)
    assert len(seen) > 40
    assert wrong_magic(frame, random_)[at + 16] != 2
