"""`/controller` and `/controller_epoch` are byte for byte the same as Kafka's."""

from __future__ import annotations

import pytest

from signalbox.metadata.entries import controller_claim as claim
from signalbox.metadata.entries.json_text import BadEntry


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
