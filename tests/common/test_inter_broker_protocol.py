"""Kafka's version strings, and the gates among them."""

from __future__ import annotations

import pytest

from signalbox.common.inter_broker_protocol import (
    INTER_BROKER_PROTOCOL_KEY,
    forwards,
    is_inter_broker_protocol,
    read_inter_broker_protocol,
)


@pytest.mark.spec("F17", "L8")
@pytest.mark.parametrize(
    ("text", "release", "does_forward", "registers_features"),
    [
        ("0.8.2", "0.8.2", False, False),
        ("0.10.2-IV0", "0.10.2", False, False),
        ("0.11.0.3", "0.11.0", False, False),
        ("2.6", "2.6", False, False),
        ("2.6.3", "2.6", False, False),
        ("2.7-IV0", "2.7", False, True),
        (" 3.3.2 ", "3.3", False, True),
        ("3.4-IV0", "3.4", True, True),
        ("3.9", "3.9", True, True),
    ],
)
def test_versions(text: str, release: str, does_forward: bool, registers_features: bool) -> None:
    found = read_inter_broker_protocol(text)
    assert (found.release, found.forwards, found.registers_features) == (release, does_forward, registers_features)
    assert forwards({INTER_BROKER_PROTOCOL_KEY: text}) is does_forward
    assert is_inter_broker_protocol(text) is None


@pytest.mark.parametrize("text", ["", "3", "3.10", "4.0", "0.7.0", "3.4-IV", "newest", "3.4.1.1"])
def test_unsupported_versions_are_rejected(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not one of Kafka's versions from 0\.8\.0 to 3\.9"):
        read_inter_broker_protocol(text)
    assert "is not one of Kafka's versions" in (is_inter_broker_protocol(text) or "")
