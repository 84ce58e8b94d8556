from __future__ import annotations

import random

import pytest
from tools.fuzz.any_request import AnyRequest, changes_the_cluster

from signalbox.protocol.api_table import API_TABLE, ApiKey, ApiRow
from signalbox.protocol.headers import decode_request_header
from signalbox.protocol.records.batch_header import iter_batch_headers


@pytest.mark.parametrize("row", API_TABLE.values(), ids=lambda row: row.name)
def test_what_is_drawn_can_be_read(row: ApiRow) -> None:
    requests = AnyRequest(random.Random(row.key))
    for version in range(row.min_version, row.max_version + 1):
        for number in range(3):
            frame = requests.frame(row, version, number)
            header, body_offset = decode_request_header(frame)
            assert header == (row.key, version, number, header.client_id)
            assert row.request.decode(frame, version, body_offset) is not None


def test_the_same_seed_draws_the_same_batch() -> None:
    batch = AnyRequest(random.Random(5)).batch()
    assert batch == AnyRequest(random.Random(5)).batch()
    assert len(list(iter_batch_headers(memoryview(batch)))) == 1


def test_destructive_apis_are_known() -> None:
    assert changes_the_cluster(API_TABLE[ApiKey.STOP_REPLICA])
    assert changes_the_cluster(API_TABLE[ApiKey.DELETE_TOPICS])
    assert not changes_the_cluster(API_TABLE[ApiKey.PRODUCE])
