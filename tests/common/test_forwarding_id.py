"""The id of a forwarded request is encoded and decoded."""

from __future__ import annotations

import pytest

from signalbox.common.forwarding_id import ForwardingId, decode_forwarding_id


def test_there_and_back() -> None:
    forwarding_id = ForwardingId(2, 1 << 40, 9, 7)
    assert len(forwarding_id.encode()) == 28
    assert decode_forwarding_id(forwarding_id.encode()) == forwarding_id
    assert forwarding_id.key == (2, 1 << 40, 9)


@pytest.mark.parametrize("data", [None, b"", b"short", ForwardingId(1, 2, 3).encode() + b"\0"])
def test_unknown_tagged_fields_are_no_forwarding_id(data: bytes | None) -> None:
    assert decode_forwarding_id(data) is None
