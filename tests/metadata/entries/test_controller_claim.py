"""`/controller` and `/controller_epoch` are byte for byte the same as Kafka's."""

from __future__ import annotations

import asyncio

import pytest

from signalbox.metadata.entries import controller_claim as claim
from signalbox.metadata.entries.json_text import BadEntry
from signalbox.metadata.layout import CONTROLLER_EPOCH
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.metadata.store.port import Create


def test_payloads_are_kafkas() -> None:
    assert claim.encode_claim(2, 7) == b'{"version":2,"brokerid":2,"timestamp":"7","kraftControllerEpoch":-1}'
    assert claim.encode_controller_epoch(12) == b"12"


def test_version_1_is_read() -> None:
    assert claim.decode_claim(b'{"version":1,"brokerid":5,"timestamp":"7"}') == 5
    assert claim.decode_controller_epoch(b"12") == 12


@pytest.mark.parametrize("data", [None, b"", b"{}", b'{"brokerid":"x"}'])
def test_bad_payloads_are_named(data: bytes | None) -> None:
    with pytest.raises(BadEntry, match="/controller"):
        claim.decode_claim(data)
    with pytest.raises(BadEntry, match="/controller_epoch"):
        claim.decode_controller_epoch(data)


@pytest.mark.parametrize(("data", "expected"), [(None, 0), (b"12", 12), (b"torn", None)])
def test_the_stored_controller_epoch_is_0_before_the_first_and_none_if_it_is_corrupt(
    data: bytes | None, expected: int | None
) -> None:
    async def scenario() -> None:
        store = MemoryMetadataStore(SharedEntries())
        if data is not None:
            await store.commit([Create(CONTROLLER_EPOCH, data)])
        assert await claim.read_controller_epoch(store) == expected

    asyncio.run(scenario())
